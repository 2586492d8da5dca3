"""Test sets and the translations of them by systems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.contrast_choices import PairChoices
from lightning_modules.metrics.metric import ReferenceText, Statistics, TextMetric
from lightning_modules.metrics.text_metrics import TEXT_METRICS
from lightning_modules.metrics.word_alignment import Gold

Subsets = Mapping[str, NDArray[np.int64]]
"""Numbers of sentences, ascending, by the name of the subset."""
WITHOUT_UNKNOWN = "without UNK"
"""Name of the subset of sentences without unknown words (Bahdanau et al. 2015, Table 1)."""


@dataclass(eq=False)
class EvalSet(ReferenceText):
    """References of a test set, with sources, alignments, word counts and labels where known."""

    gold: Sequence[Gold] | None = None  # gold word alignments of sources and references
    reference_counts: Mapping[str, int] | None = None
    """Occurrences of each token of references and hypotheses in the training text."""
    labels: Sequence[str] | None = None  # label of each sentence: a domain, for example
    sets: Sequence[str] | None = None
    """Name of the test set that each sentence is from, where a corpus has several."""
    files: Mapping[str, Sequence[str]] | None = None
    """The user's files that the test set was read from, by option."""
    unknown: set[int] | None = None
    """Numbers of the sentences with a word that the vocabularies of a system lack."""

    @property
    def named_sets(self) -> Subsets:
        """The sentences of each named test set, in order; empty unless there are several."""
        sets = np.array(self.sets or ())
        names = dict.fromkeys(self.sets or ())
        return {name: np.flatnonzero(sets == name) for name in names} if len(names) > 1 else {}

    @property
    def subsets(self) -> Subsets:
        """The named test sets, and the sentences without unknown words if others have some."""
        known = np.setdiff1d(np.arange(len(self.references)), list(self.unknown or ()))
        without = {WITHOUT_UNKNOWN: known} if self.unknown and len(known) else {}
        return {**self.named_sets, **without}

    def part(self, index: NDArray[np.int64]) -> "EvalSet":
        """Return the references and sources of some sentences."""
        return EvalSet(
            [self.references[number] for number in index],
            self.sources and [self.sources[number] for number in index],
            self.further_references and [self.further_references[number] for number in index],
            self.rules,
        )

    def complete(self, other: "EvalSet") -> None:
        """Fill missing fields, word counts and ``unknown`` from ``other`` of the same text."""
        for name, added in vars(other).items():
            known = getattr(self, name)
            if known is None:
                setattr(self, name, added)
            elif isinstance(known, dict) and isinstance(added, dict):
                # A run counts only words of its texts; counts of the user's files are no dict.
                setattr(self, name, added | known)
            elif isinstance(known, set) and isinstance(added, set):
                # What one system does not know is left out of the sentences for all.
                setattr(self, name, added | known)

    def same_text(self, other: "EvalSet") -> bool:
        """Return whether systems on both test sets can be compared sentence by sentence."""
        return self is other or (
            list(self.references) == list(other.references)
            and self.sources == other.sources
            and [*map(list, self.further_references)] == [*map(list, other.further_references)]
            and self.rules == other.rules
        )


@dataclass(frozen=True, eq=False)
class Output:
    """One translation of the test set, by a model of one seed or from one file."""

    seed: int
    hypotheses: Sequence[str]
    statistics: Statistics = field(repr=False)
    metrics: Sequence[TextMetric] = tuple(kind() for kind in TEXT_METRICS.values())
    """Metrics of translations to show, where the statistics have them."""
    folder: Path | None = None  # folder of the run that wrote the output
    file: str | None = None  # the user's file with the hypotheses, as the user named it
    contrast: PairChoices | None = None  # choices between right and wrong translations
    baselines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Translations without a model, made from the output's training text, by name."""
    attention_step: str | None = None
    """Decoder step whose attention aligned the references; see ``forced_decoding``."""


@dataclass(frozen=True, eq=False)
class System:
    """The outputs of one system, one for each seed."""

    name: str  # key in files, addresses and tests
    test: EvalSet
    outputs: Sequence[Output]
    label: str = ""  # what people read; without a label that is the name

    def __post_init__(self) -> None:
        """Show the name of a system without a label."""
        if not self.label:
            object.__setattr__(self, "label", self.name)
