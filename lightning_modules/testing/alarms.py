"""Alarms: signs that a training has learned too little for its scores to mean much.

This is the one place that decides. A run records its alarms; its page, the pages of comparisons and
claims, and the terminal show them before anything else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from datamodules.corpus import examples_of
from datamodules.nearest_copy import NEAREST_COPY
from lightning_modules.metrics.curves import CurvePoint
from lightning_modules.metrics.lengths import THIN
from lightning_modules.metrics.words import WordRule
from lightning_modules.runs.files import RunScores
from lightning_modules.runs.schema import (
    STILL_FALLS,
    Alarm,
    AlarmKind,
    Baseline,
    Convergence,
    Result,
)
from lightning_modules.testing.scoring import PHRASE_TABLE, Scoring

FLOORS = (PHRASE_TABLE, NEAREST_COPY)
"""Translations without a model; BLEU of the first that is known is the floor on short sentences."""
RISES = 0.05
"""Share of the last validation BLEU from which on the last fifth of a training has added too much
for its end to be the end of learning."""
ALIKE = 0.05
"""Share of the references' distinct word pairs below which translations are alike. Distinct word
pairs are a measure of diversity (distinct-2 of Li et al. 2016, section 5)."""
HEADINGS: dict[AlarmKind, str] = {
    "below": "on short sentences worse than a translation without a model",
    "alike": "translations of different sentences are alike",
    "rising": "still improving when the training ended",
}
"""What each kind of alarm says, the worst first."""


def alarms_of(run: RunScores, scoring: Scoring) -> list[Alarm]:
    """Return the alarms of a run whose test and training are over, the worst first."""
    result = run.result
    rule = scoring.rules(result.data.source, result.data.target).target
    pairs = [(each.reference, each.hypothesis) for each in run.predictions]
    return [
        *_below(run.curve, result, scoring),
        *_alike(pairs, rule),
        *_rising(result.training.convergence),
    ]


def in_a_line(alarm: Alarm) -> str:
    """Return an alarm of one run in a line."""
    return f"{HEADINGS[alarm.kind]}: {alarm.text}"


def floor_of(baselines: Mapping[str, Baseline], lengths: str) -> tuple[str, float] | None:
    """Return name and BLEU of the translation without a model that is the floor on ``lengths``.

    None where no such translation was scored, or none on these lengths.
    """
    for name in FLOORS:
        if (found := baselines.get(name)) and lengths in found.by_length:
            bleu = found.by_length[lengths].get("bleu")
            return None if bleu is None else (name, bleu)
    return None


def _below(curve: Sequence[CurvePoint], result: Result, scoring: Scoring) -> Iterator[Alarm]:
    """Compare BLEU on the shortest group with enough sentences with the floor."""
    short = next((point for point in curve if point.sentences >= THIN), None)
    if short is None or short.bleu is None:
        return
    floor = floor_of(result.baselines, short.bounds.label)
    if floor is not None and short.bleu < floor[1]:
        name, bleu = floor
        where = scoring.bucket_name(short.bounds)
        text = f"BLEU {short.bleu:.1f} at {where}, {name} {bleu:.1f}"
        learned = result.training.convergence
        flat = learned.fall is not None and learned.fall < STILL_FALLS
        if flat and (learned.last_fifth_bleu or 0.0) < RISES:
            text += "; its loss no longer falls, so more training is unlikely to help"
        yield Alarm(kind="below", text=text)


def _alike(pairs: Sequence[tuple[str, str]], rule: WordRule) -> Iterator[Alarm]:
    references, hypotheses = zip(*pairs, strict=True)
    wanted, written = word_pairs(references, rule), word_pairs(hypotheses, rule)
    if len(written) < ALIKE * len(wanted):
        [example] = examples_of([max(set(hypotheses), key=hypotheses.count)])
        yield Alarm(
            kind="alike",
            text=f"{len(written):,} different word pairs, the references have {len(wanted):,}; "
            f"such as “{example}”",
        )


def word_pairs(lines: Iterable[str], rule: WordRule) -> set[tuple[str, str]]:
    """Return the distinct pairs of neighbouring words of some lines."""
    cut = map(rule.words, lines)
    return {pair for words in cut for pair in pairwise(words)}


def _rising(learned: Convergence) -> Iterator[Alarm]:
    gained = learned.last_fifth_bleu
    if gained is not None and gained >= RISES:
        text = f"the last fifth brought {gained:.0%} of the last validation BLEU"
        if learned.last_fifth_fall is not None:
            text += f", and {learned.moved_loss}"
        yield Alarm(kind="rising", text=text)
