"""What a metric is: a score of a set of sentences, computed from sums over the sentences.

Corpus scores, length buckets, bootstrap resamples and shuffled systems are sums over index sets of
the same arrays; nothing is counted twice.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from lightning_modules.metrics.words import BOTH_PLAIN, WordRules

Array = NDArray[np.float64]
Statistics = Mapping[str, Array]
"""Arrays ``(sentences, columns)`` by the names in ``Metric.statistics``."""


@dataclass(eq=False)
class ReferenceText:
    """What translations are scored against, and how words are cut."""

    references: Sequence[str]
    """The reference of each sentence; of several, the first, whose length is that of the sentence.
    """
    sources: Sequence[str] | None = None  # None where text files are evaluated without sources
    further_references: Sequence[Sequence[str]] = ()
    """The other references of each sentence, any number; empty if no sentence has any."""
    rules: WordRules = BOTH_PLAIN

    @property
    def streams(self) -> list[Sequence[str | None]]:
        """References as sacreBLEU takes them: the first of all sentences, then the second, …"""
        return [self.references, *zip_longest(*self.further_references)]

    @property
    def reference_count(self) -> int | None:
        """How many references each sentence has; None where the sentences differ."""
        counts = {1 + len(each) for each in self.further_references} or {1}
        return counts.pop() if len(counts) == 1 else None


class Metric(ABC):
    """A score of a set of sentences."""

    name: str  # key in files
    label: str  # name for readers, with the unit
    better: int  # 1: a higher score is better; -1: a lower score is better; 0: neither
    decimals: int = 1  # decimals in tables
    from_zero: bool = True  # whether a figure's axis begins at 0
    tested: bool = False  # whether differences between systems are tested for significance
    in_summary: bool = False  # whether the terminal shows the score of a finished run
    signature: str = ""
    """Version and settings of the metric, shown with every number; empty for none."""

    def signature_on(self, text: ReferenceText) -> str:
        """Return the signature for the references of a test set and its words."""
        return self.signature

    @property
    def statistics(self) -> str:
        """Name of the statistics; metrics with the same statistics are counted once."""
        return self.name

    @abstractmethod
    def score(self, sums: Array) -> Array:
        """Return scores ``(…)`` from sums ``(…, columns)``; NaN where a score is not defined."""


class TextMetric(Metric):
    """A score of translations, whose statistics are counted from texts."""

    tested = in_summary = True
    needs_sources: bool = False  # whether `count` cannot do without the source sentences

    @abstractmethod
    def count(self, text: ReferenceText, hypotheses: Sequence[str]) -> Array:
        """Return what is summed over sentences, ``(sentences, columns)``."""


def ratio(sums: Array) -> Array:
    """Return the first column divided by the second; NaN where the second is 0."""
    first, second = sums[..., 0], sums[..., 1]
    return np.divide(first, second, where=second != 0, out=np.full(first.shape, np.nan))


@dataclass(frozen=True)
class FormulaMetric(Metric):
    """A metric by a formula, from statistics that no text gives."""

    name: str
    label: str
    better: int
    counts: str  # name of the statistics
    formula: Callable[[Array], Array] = ratio  # scores `(…)` from sums `(…, columns)`
    decimals: int = 1
    from_zero: bool = True
    tested: bool = False
    in_summary: bool = False

    @property
    @override
    def statistics(self) -> str:
        return self.counts

    @override
    def score(self, sums: Array) -> Array:
        return self.formula(sums)


def check_aligned(**lists: Sized) -> None:
    """Raise ``ValueError`` that names both counts unless every list is as long as the first."""
    (first, expected), *others = ((name, len(entries)) for name, entries in lists.items())
    for name, count in others:
        if count != expected:
            raise ValueError(f"{count} {name} for {expected} {first}")
