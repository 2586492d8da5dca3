"""Synthetic run folders, made without training."""

import json
import random
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from omegaconf import OmegaConf

from lightning_modules.figures.charts import INCH
from lightning_modules.metrics.bootstrap import score_subsets
from lightning_modules.metrics.chosen_metrics import METRICS, signatures
from lightning_modules.metrics.curves import curve_points
from lightning_modules.metrics.metric import ReferenceText
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.word_alignment import (
    alignment_statistics,
    attention_statistics,
    hard_alignment,
    parse_gold,
)
from lightning_modules.metrics.words import PLAIN, tokens
from lightning_modules.runs.checksums import digest
from lightning_modules.runs.files import (
    RunScores,
    read_result,
    write_attention_history,
    write_history,
    write_record,
    write_run,
)
from lightning_modules.runs.paths import CONF, FAILURE, RESULT, RESULT_DIGEST
from lightning_modules.runs.schema import (
    AttentionHistory,
    Failure,
    HistoryPoint,
    Prediction,
    Result,
    SentenceHistory,
    WordCounts,
)
from lightning_modules.testing.scoring import Scoring
from sweeps.comparison.collect import collect
from sweeps.comparison.evaluation import evaluate
from sweeps.report.findings import Findings
from sweeps.report.report import ReportSettings
from tests.helpers.commands import write
from tests.helpers.made_text import statistics_of


def scoring_of(**changes) -> Scoring:
    """The settings of scoring in ``conf/``, with changes."""
    settings = OmegaConf.load(CONF / "config.yaml").scoring
    return Scoring.model_validate({**settings, **changes})


SCORING = scoring_of(edges=[10, 20, 30], resamples=200)
REPORT = ReportSettings.model_validate(
    OmegaConf.to_container(OmegaConf.load(CONF / "report" / "default.yaml"))
)
WIDTHS = REPORT.figure_widths
TEXT_WIDTH, COLUMN = WIDTHS.text * INCH, WIDTHS.column * INCH
"""Widths of figures for papers in points, as ``conf/`` has them."""
SIZES = {(2, 10): 32, (11, 20): 31, (21, 24): 2}
"""Number of sentences by lowest and highest length: two large buckets and a thin bucket."""
DICTIONARY = {
    "the": "le", "old": "vieux", "sailor": "marin", "saw": "voyait", "red": "rouge",
    "house": "maison", "dog": "chien", "and": "et", "sleeps": "dort", "Paris": "Paris",
    "NATO": "OTAN", "9": "9",
}  # fmt: skip
ERRORS = {"none": 0.35, "luong": 0.12, "transformer": 0.1}
"""Share of the words that a variant gets wrong."""


class Text(NamedTuple):
    """A test set: its sentences, their references, and gold alignments."""

    sources: list[str]
    references: list[str]
    gold: list[str] | None


def text(seed=0) -> Text:
    """Random sentences, translated word by word."""
    rng = random.Random(seed)
    lengths = [rng.randint(*span) for span, count in SIZES.items() for _ in range(count)]
    rng.shuffle(lengths)
    sentences = [rng.choices(list(DICTIONARY), k=length) for length in lengths]
    return Text(
        [" ".join(words) for words in sentences],
        [" ".join(DICTIONARY[word] for word in words) for words in sentences],
        [" ".join(f"{place}-{place}" for place in range(len(words))) for words in sentences],
    )


TEXT = text()
CONFIG = {
    "optimizer": {"_target_": "torch.optim.Adam", "lr": 4e-3, "betas": [0.9, 0.98]},
    "scheduler": {"_target_": "lightning_modules.training.schedules.linear"},
    "teacher_forcing": {"start": 1, "end": 1},
    "label_smoothing": 0.1,
    "model": {"dropout": 0.0},
    "trainer": {"precision": "32-true"},
    "scoring": SCORING.model_dump(),
}
"""Settings of every run."""


def translations(references, variant="bahdanau", seed=1) -> list[str]:
    """Return the references with mistakes, which differ by variant and seed."""
    rng = random.Random(f"{variant} {seed}")
    rate = ERRORS.get(variant, 0.2)

    def mistaken(word: str) -> str:
        return rng.choice(["", "chat", word.lower(), f"{word} {word}"])

    return [
        " ".join(" ".join(mistaken(w) if rng.random() < rate else w for w in line.split()).split())
        for line in references
    ]


def attention(source: str, target: str):
    """A roughly diagonal attention of two lines; each row sums to 1."""
    words = (len(target.split()), len(source.split()))
    centres = np.arange(words[0])[:, None] * words[1] / max(words[0], 1)
    weights = 2.0 ** -np.abs(np.arange(words[1]) - centres)
    return weights / weights.sum(1, keepdims=True)


def result(variant="bahdanau", seed=1, **changes):
    """A complete ``result.json``; ``changes`` replace whole top-level entries."""
    config = changes.get("config", {})
    made = {
        "variant": variant, "seed": seed, "overrides": [f"model={variant}", f"seed={seed}"],
        "scores": {"bleu": 85.2 + seed / 10, "chrf": 91.0},
        "signature": signatures(ReferenceText([]))["bleu"],
        "train_max_words": 15, "parameters": 812_345 + 1_000 * len(variant),
        "training": {
            "target_tokens": 1_500_000, "updates": 1200, "epochs": 1.3, "seconds": 63.2,
            "target_tokens_per_second": 23_000.1, "data_order": f"9f3a{seed}", "val_bleu": 86.1,
        },
        "decoding": {
            "beam_size": 4, "length_penalty": 0.6, "seconds": 4.1 + seed,
            "sentences_per_second": 290.2 - seed,
        },
        "data": {
            "name": "grammar", "source": "en", "target": "fr", "fingerprint": "0123456789ab",
            "pairs": {"train": 60_000, "val": 600, "test": 1200},
            "left_out": {"train": {"longer than 50 words": 8123}},
        },
        "environment": {
            "python": "3.11.7", "torch": "2.13.0", "cpu": "a processor", "threads": 1,
            "device": "cpu",
        },
        "peak_memory_mib": 612.5, "git_commit": "0123abcd", "code": "ba9876543210",
    }  # fmt: skip
    scoring = CONFIG["scoring"] | config.get("scoring", {})
    return made | changes | {"config": CONFIG | config | {"scoring": scoring}}


def history(seed=1, validations=4) -> list[HistoryPoint]:
    """A training that learns less and less."""
    return [
        HistoryPoint(
            target_tokens=1000 * place + seed,
            seconds=2.5 * place,
            train_loss=4 / place,
            val_loss=5 / place + seed / 100,
            val_bleu=60 - 40 / place,
        )
        for place in range(1, validations + 1)
    ]


def attention_history(validations=4, text: Text = TEXT, numbers=(0, 1)) -> AttentionHistory:
    """Attention that begins equal everywhere, and sharpens."""
    sentences = []
    for number in numbers:
        source, target = text.sources[number], text.references[number]
        sharp = attention(source, target)
        blend = np.linspace(0, 1, validations)[:, None, None]
        weights = blend * sharp + (1 - blend) / sharp.shape[1]
        gold = sorted(parse_gold(text.gold[number]).possible) if text.gold else []
        sentences.append(SentenceHistory(number, source, target, gold, weights))
    return AttentionHistory([*range(1, validations + 1)], sentences)


def write_systems(folder: Path) -> None:
    """Write the test set, and two seeds of one system and one seed of another, into files."""
    files = {"ref": TEXT.references, "src": TEXT.sources, "gold": TEXT.gold or []}
    for variant, seed in (("luong", 1), ("luong", 2), ("none", 1)):
        files[f"{variant}{seed}"] = translations(TEXT.references, variant, seed)
    for name, lines in files.items():
        write(folder / name, lines)


def result_of(run: Path) -> Result:
    """Return the result of a finished run."""
    found = read_result(run)
    assert found is not None
    return found


def unsealed(run: Path) -> Path:
    """Make the record of a run list no checksums, so that a test may change the other files."""
    record = run / RESULT
    with suppress(ValueError):  # the test has damaged the record
        record.write_text(json.dumps(json.loads(record.read_text()) | {"files": {}}))
    (run / RESULT_DIGEST).write_text(digest(record))
    return run


def make_run(
    folder: Path,
    variant="bahdanau",
    seed=1,
    *,
    text: Text = TEXT,
    hypotheses=None,
    statistics=True,
    word_counts=True,
    heads=None,
    history=(),
    attention_history=None,
    phrase_table=None,
    nearest_copies=None,
    choices=None,
    sets=None,
    unknown=(),
    **changes,
):
    """Write a finished run into ``folder`` and return it; ``none`` is without attention.

    ``phrase_table`` and ``nearest_copies`` have the translations without a model, ``sets`` the name
    of the test set of each sentence, ``unknown`` the numbers of the sentences with unknown words.
    Without ``statistics`` the comparison counts the run's sentences.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = hypotheses or translations(text.references, variant, seed)
    sides = list(zip(text.sources, lines, strict=True))
    weights = [None if variant == "none" else attention(*pair) for pair in sides]
    counted = _counted(text, lines, weights)
    predictions = _predictions(text, lines, phrase_table, nearest_copies)
    for each in predictions:
        each.set, each.unknown = sets and sets[each.id], each.id in unknown
    if history:
        write_history(folder, history)
    if attention_history is not None:
        write_attention_history(folder, attention_history)
    run = RunScores(
        result=Result(**result(variant, seed, **changes)),
        predictions=predictions,
        statistics=counted if statistics else {},
        word_counts=_word_counts(text, lines) if word_counts else None,
        choices=choices,
        curve=_curve(text, variant, Output(seed, lines, counted)),
        attention=weights,
        heads=heads or {},
    )
    write_run(folder, run)
    return folder


def _counted(text: Text, hypotheses, weights):
    rng = np.random.default_rng(0)
    lengths = np.array([len(line.split()) + 1.0 for line in text.references])
    counted = dict(statistics_of(hypotheses, text.references))
    counted["likelihood"] = np.stack([lengths * rng.uniform(0.5, 1.5, len(lengths)), lengths], 1)
    known = [part for part in weights if part is not None]
    if known:
        rows = np.stack([attention_statistics(part) for part in known], axis=1)
        counted |= dict(zip(("entropy", "distance", "coverage"), rows, strict=True))
    if known and text.gold:
        forced = map(attention, text.sources, text.references)
        gold = [parse_gold(line) for line in text.gold]
        links = alignment_statistics([hard_alignment(part) for part in forced], gold)
        counted["links"] = links.astype(float)
    return counted


def _word_counts(text: Text, hypotheses):
    """Count words of a training text with every reference three times, and nothing else."""
    seen = Counter(word for line in tokens(text.references, PLAIN) for word in line)
    needed = sorted(
        {word for line in tokens([*text.references, *hypotheses], PLAIN) for word in line}
    )
    return WordCounts(target={word: 3 * seen[word] for word in needed})


def _predictions(text: Text, hypotheses, phrase_table, nearest_copies):
    nothing = [None] * len(hypotheses)
    known = [each or nothing for each in (text.gold, phrase_table, nearest_copies)]
    rows = zip(text.sources, text.references, hypotheses, *known, strict=True)
    return [
        Prediction(
            id=number,
            source=source,
            reference=reference,
            hypothesis=hypothesis,
            gold=links,
            phrase_table=phrases,
            nearest_copy=copy,
        )
        for number, (source, reference, hypothesis, links, phrases, copy) in enumerate(rows)
    ]


def _curve(text: Text, variant: str, output: Output):
    system = System(variant, EvalSet(text.references, text.sources), [output])
    [buckets] = SCORING.buckets([system.test])
    scored = score_subsets([system], list(METRICS.values()), buckets, SCORING.draws)
    return curve_points([system], scored)


def make_failure(folder: Path, variant="luong", seed=1, error="the loss is not a number"):
    """Write a failed job into ``folder`` and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    overrides = [f"model={variant}", f"seed={seed}"]
    write_record(
        folder / FAILURE, Failure(variant=variant, seed=seed, overrides=overrides, error=error)
    )
    return folder


def findings_of(runs, scoring=SCORING, **more) -> Findings:
    """Return what a comparison of run folders has found."""
    comparison = collect(runs)
    return Findings("a sweep", evaluate(comparison.systems, scoring), comparison, **more)
