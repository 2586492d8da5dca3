"""Steps that leave training pairs out, and the count of what each step did."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datamodules.cleaning.language import probabilities
from datamodules.cleaning.settings import Cleaning
from datamodules.corpus import ParallelText, examples_of
from datamodules.words import lengths_in_words

Mask = NDArray[np.bool_]
Lines = Sequence[str]
FOREIGN = "another language"


@dataclass(frozen=True)
class StepCount:
    """What one step did to the training text."""

    step: str
    """What was done to the lines, or why pairs were left out."""
    leaves_out: bool
    """Whether the step leaves pairs out; other steps change lines."""
    seen: int
    """Pairs that the step looked at."""
    count: int
    """Pairs that the step changed or left out."""
    examples: list[str]
    """Sources of the first such pairs, shortened."""
    seconds: float
    """Processor time of the step; 0 for a limit of the corpus, whose time is that of reading."""


@dataclass(frozen=True)
class HeldOut:
    """Different sentences of validation and test, on each side."""

    source: frozenset[str] = frozenset()
    target: frozenset[str] = frozenset()

    @classmethod
    def of(cls, texts: Iterable[ParallelText]) -> "HeldOut":
        """Collect the sentences of several splits."""
        sides = [(text.source, text.target) for text in texts]
        source, target = (
            frozenset(line for side in each for line in side) for each in zip(*sides, strict=True)
        )
        return cls(source, target)


class Step(NamedTuple):
    """A reason to leave pairs out, and the pairs to leave out."""

    why: str
    leave_out: Callable[[Lines, Lines], Mask]


def steps_of(cleaning: Cleaning, languages: tuple[str, str], held_out: HeldOut) -> list[Step]:
    """Return the steps that look at one pair alone, in the order of their cost."""
    steps: list[Step] = []
    if cleaning.unicode or cleaning.punctuation:
        steps.append(Step("empty after cleaning", _empty))
    if cleaning.copies:
        steps.append(Step("target is the source", _copies))
    if cleaning.held_out:
        found = "a side stands in validation or test"
        steps.append(Step(found, lambda *sides: _known(sides, held_out)))
    if (ratio := cleaning.ratio) is not None:
        longer = f"one side {ratio:g} times as long"
        steps.append(Step(longer, lambda *sides: _unequal(sides, languages, ratio)))
    if (least := cleaning.language) is not None:
        steps.append(Step(FOREIGN, lambda *sides: _foreign(sides, languages, least)))
    return steps


def total_counts(counts: Iterable[StepCount]) -> list[StepCount]:
    """Add the counts of the same steps of several parts."""
    totals: dict[str, StepCount] = {}
    for new in counts:
        old = totals.get(new.step, StepCount(new.step, new.leaves_out, 0, 0, [], 0.0))
        totals[new.step] = StepCount(
            new.step,
            new.leaves_out,
            old.seen + new.seen,
            old.count + new.count,
            examples_of([*old.examples, *new.examples]),
            old.seconds + new.seconds,
        )
    return list(totals.values())


def nothing_left(steps: Iterable[StepCount]) -> str:
    """Return the message of a cleaning that leaves no training pair."""
    counts = {step.step: step.count for step in steps if step.leaves_out and step.count}
    shown = ", ".join(f"{count} {why}" for why, count in counts.items())
    swapped = counts.get(FOREIGN, 0) > sum(counts.values()) / 2
    hint = "see if data.source and data.target are swapped, or " if swapped else ""
    return f"cleaning leaves no training pair ({shown}): {hint}set cleaning=none"


def _empty(source: Lines, target: Lines) -> Mask:
    return np.array([not (s.strip() and t.strip()) for s, t in zip(source, target, strict=True)])


def _copies(source: Lines, target: Lines) -> Mask:
    return np.array([s == t for s, t in zip(source, target, strict=True)])


def _known(sides: tuple[Lines, Lines], held_out: HeldOut) -> Mask:
    known = held_out.source, held_out.target
    found = [list(map(which.__contains__, side)) for which, side in zip(known, sides, strict=True)]
    return np.logical_or(*map(np.array, found))


def _unequal(sides: tuple[Lines, Lines], languages: tuple[str, str], ratio: float) -> Mask:
    words = list(map(lengths_in_words, sides, languages))
    return np.maximum(*words) > ratio * np.minimum(*words)


def _foreign(sides: tuple[Lines, Lines], languages: tuple[str, str], least: float) -> Mask:
    each = [probabilities(side, own) for side, own in zip(sides, languages, strict=True)]
    return np.minimum(*each) < least
