"""The report of a comparison: one page that opens from disk and needs no network."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader

from lightning_modules.heat_map import attention_map
from lightning_modules.run_folder import (
    BrokenFileError,
    Prediction,
    Result,
    SentenceAttention,
    read_attention,
    read_predictions,
)
from sweeps import wording
from sweeps.comparison import Comparison, Run
from sweeps.figures import length_curve

READABLE_WORDS = 20
NO_ATTENTION = "This model has no attention: there are no weights to draw."


@dataclass(frozen=True)
class AttentionCard:
    """One variant's attention over the shared sentence: a chart, or a note that says why none."""

    label: str
    chart: dict[str, Any] | None
    note: str
    prediction: Prediction | None


def render_report(comparison: Comparison) -> str:
    """The page as text. All words from the runs are escaped; Vega is inlined once."""
    environment = Environment(
        loader=PackageLoader("sweeps"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"mean": wording.mean, "seeds": wording.seeds}
    cards = attention_cards(comparison)
    return environment.get_template("report.html.j2").render(
        comparison=comparison,
        vega=vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"),
        curve=length_curve(comparison, width="container").to_dict(),
        cards=cards,
        sentence=next((card.prediction for card in cards if card.prediction), None),
        method=method(comparison),
    )


def attention_cards(comparison: Comparison) -> list[AttentionCard]:
    """One card a variant, from its first run, all on one sentence that all of them kept."""
    runs = [variant.runs[0] for variant in comparison.variants]
    kept: dict[str, list[SentenceAttention]] = {}
    notes: dict[str, str] = {}
    for run in runs:
        try:
            sentences = read_attention(run.folder)
        except BrokenFileError as error:
            notes[run.label] = str(error)
            continue
        if sentences:
            kept[run.label] = sentences
        else:
            notes[run.label] = "No attention was recorded." if sentences is None else NO_ATTENTION
    sentence_id = _shared_sentence(list(kept.values()))
    return [_card(run, kept.get(run.label, []), notes.get(run.label), sentence_id) for run in runs]


def _shared_sentence(kept: list[list[SentenceAttention]]) -> str | int | None:
    """The sentence that tells most and is still easily read: the longest of at most 20 words."""
    if not kept:
        return None
    shared = set.intersection(*({sentence.id for sentence in own} for own in kept))
    candidates = [sentence for sentence in kept[0] if sentence.id in shared] or kept[0]
    return min(candidates, key=_reading_effort).id


def _reading_effort(sentence: SentenceAttention) -> tuple[bool, int]:
    words = len(sentence.source_words)
    too_long = words > READABLE_WORDS
    return (too_long, words if too_long else -words)


def _card(
    run: Run, kept: list[SentenceAttention], note: str | None, sentence_id: str | int | None
) -> AttentionCard:
    attention = next((sentence for sentence in kept if sentence.id == sentence_id), None)
    try:
        predictions = [] if sentence_id is None else read_predictions(run.folder, [sentence_id])
    except BrokenFileError as error:
        predictions, note = [], str(error)
    return AttentionCard(
        label=run.label,
        chart=attention_map(attention).to_dict() if attention else None,
        note=note or ("" if attention else "This run kept other sentences."),
        prediction=predictions[0] if predictions else None,
    )


def method(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """How the numbers came about: (aspect, what the runs say, once each where they agree)."""
    aspects: dict[str, Callable[[Result], str]] = {
        "Corpus": _corpus,
        "Left out": _left_out,
        "Training": _training,
        "Decoding": lambda result: _listed(result.decoding, "not recorded"),
        "Scores": _scoring,
        "Environment": lambda result: _listed(result.environment.model_dump(), "not recorded"),
        "Code": lambda result: f"commit {result.git_commit or 'not recorded'}",
    }
    results = [run.result for run in comparison.runs]
    return [(name, list(dict.fromkeys(map(say, results)))) for name, say in aspects.items()]


def _corpus(result: Result) -> str:
    data = result.data
    pairs = ", ".join(f"{count:,} {split}" for split, count in data.pairs.items())
    fingerprint = data.fingerprint or "not recorded"
    return f"{data.name}, {data.source} → {data.target}; pairs: {pairs}; fingerprint {fingerprint}"


def _left_out(result: Result) -> str:
    reasons = [
        f"{count:,} {split} pairs {reason}"
        for split, counts in result.data.left_out.items()
        for reason, count in counts.items()
    ]
    return "; ".join(reasons) or "nothing"


def _training(result: Result) -> str:
    training = result.training
    if training.target_tokens is None:
        return "not recorded"
    updates = "" if training.updates is None else f", {training.updates:,} updates"
    return f"a budget of {training.target_tokens:,} target tokens{updates}"


def _scoring(result: Result) -> str:
    return (
        "corpus BLEU by sacreBLEU on detokenised text, computed afresh over the sentences of each "
        f"length bucket; lengths are {result.length_unit}; signature {result.signature}"
    )


def _listed(settings: dict[str, Any], otherwise: str) -> str:
    """Settings as one line; timings are measurements, not settings."""
    shown = {
        key: value
        for key, value in settings.items()
        if value is not None and key not in ("seconds", "sentences_per_second")
    }
    return (
        ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in shown.items()) or otherwise
    )
