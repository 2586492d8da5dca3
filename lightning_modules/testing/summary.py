"""The summary of a finished run in the terminal."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tabulate import tabulate

from lightning_modules.metrics.chosen_metrics import METRICS, find_metrics, in_order
from lightning_modules.runs.files import RunScores
from lightning_modules.runs.job import label_of, label_with_changes, search_in_words
from lightning_modules.runs.schema import Result, Training
from lightning_modules.testing.alarms import in_a_line
from lightning_modules.testing.scoring import Scoring
from lightning_modules.training.budgets import find_kind, kind_of


def summary(run: RunScores, scoring: Scoring, folder: Path) -> str:
    """Return a few lines: alarms, scores by length, size, speed, and the folder of all files."""
    table = tabulate(_by_length(run), tablefmt="plain", disable_numparse=True, stralign="right")
    return "\n".join(
        [
            *(f"ALARM: {in_a_line(alarm)}" for alarm in run.result.alarms),
            *_scores(run.result, scoring),
            f"BLEU by {_length_axis(run.result, scoring)}:",
            *(f"  {row}" for row in table.splitlines()),
            *_costs(run.result),
            f"results: {folder}",
        ]
    )


def _length_axis(result: Result, scoring: Scoring) -> str:
    return scoring.length_axis([scoring.rules(result.data.source, result.data.target)])


def _scores(result: Result, scoring: Scoring) -> Iterator[str]:
    """Yield the scores of the whole test set and of its parts."""
    metrics = [each for each in in_order(find_metrics(scoring.metrics)) if each.in_summary]
    scores = ", ".join(
        _score(each.label, each.name, result.scores, result.intervals)
        for each in metrics
        if each.name in result.scores
    )
    label = label_of(result.variant, result.overrides, result.config)
    label = label_with_changes(label, result.overrides)
    yield f"{label} seed {result.seed}: test {scores}"
    for name, subset in result.subsets.items():
        bleu = _score("BLEU", "bleu", subset.scores, subset.intervals)
        yield f"{name}: {bleu} on {subset.sentences:,} sentences"
    if (words := result.replaced) is not None:
        yield (
            f"of {words.unknown:,} <unk> in the translations, {words.copied:,} became the source "
            f"word, {words.translated:,} a word of the dictionary"
        )
    if result.baselines:
        yield f"without a model: {_baselines(result)}"
    for everything in result.contrast.get("all", {}).values():
        yield (
            f"right translation preferred in {everything.value:.1f}% of {everything.pairs:,} "
            "contrastive pairs"
        )
    yield (
        f"95% over test sentences: {scoring.resamples} resamples, seed {scoring.seed}; "
        f"{result.signature}"
    )


def _costs(result: Result) -> Iterator[str]:
    """Yield size, cost and speed, and what is odd about the text."""
    data, training = result.data, result.training
    kind = kind_of(result.config)
    spent = None if kind in Training.model_fields else training.spent(kind)
    other = "" if spent is None else f"{spent:,.9g} {find_kind(kind).unit}, "
    yield (
        f"{result.parameters:,} parameters; {training.target_tokens or 0:,} target tokens in "
        f"{training.updates or 0:,} updates, {training.flops or 0:.3g} FLOPs, {other}"
        f"{training.seconds or 0:.0f} s, {training.target_tokens_per_second or 0:,.0f} a second; "
        f"test set translated in {result.decoding['seconds']:.1f} s by "
        f"{search_in_words(result.decoding)}"
    )
    if (learned := training.convergence.sentence) is not None:
        yield learned
    left_out = [
        f"{count:,} {split} pairs {reason}"
        for split, counts in data.left_out.items()
        for reason, count in counts.items()
    ]
    if left_out:
        yield f"left out: {', '.join(left_out)}"
    if data.seen:
        shares = [f"{share:.1%} of its {name}" for name, share in data.seen.items()]
        yield f"of the test set, training contains {', '.join(shares)}"
    yield from (f"warning: {each}" for each in result.all_suspicions)


def _by_length(run: RunScores) -> list[list[str]]:
    """Return rows of cells: lengths, BLEU of the model and of each baseline, sentences."""
    bleu = {"BLEU": [point.bleu for point in run.curve]}
    for name, baseline in run.result.baselines.items():
        bleu[name] = [bucket.get("bleu") for bucket in baseline.by_length.values()]
    return [
        ["length", *(point.bounds.label for point in run.curve)],
        *(
            [name, *("-" if score is None else f"{score:.1f}" for score in row)]
            for name, row in bleu.items()
        ),
        ["sentences", *(str(point.sentences) for point in run.curve)],
    ]


def _baselines(result: Result) -> str:
    """Return ``phrase table BLEU 73.85, exact match (%) 14.33; copy …`` on the whole test set."""
    parts = []
    for name, baseline in result.baselines.items():
        scores = (f"{METRICS[metric].label} {each:.2f}" for metric, each in baseline.scores.items())
        parts.append(f"{name} {', '.join(scores)}")
    return "; ".join(parts)


def _score(
    label: str, name: str, scores: Mapping[str, float], intervals: Mapping[str, tuple[float, float]]
) -> str:
    """Return ``BLEU 61.20 [60.12, 62.30]``."""
    low, high = intervals.get(name, (None, None))
    interval = "" if low is None else f" [{low:.2f}, {high:.2f}]"
    return f"{label} {scores[name]:.2f}{interval}"
