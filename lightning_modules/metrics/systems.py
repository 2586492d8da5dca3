"""What is evaluated: a test set, and what systems made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lightning_modules.metrics.gold import Gold
from lightning_modules.metrics.statistics import Statistics

Labels = Sequence[Sequence[str]]
"""A label beside every whitespace-separated word of every sentence."""


@dataclass(eq=False)
class TestSet:
    """Sentences with their references, and what is known about them."""

    __test__ = False  # no test case of pytest's

    references: Sequence[str]
    sources: Sequence[str] | None = None
    gold: Sequence[Gold] | None = None
    """Word alignments of sources and references."""
    source_counts: Mapping[str, int] | None = None
    """How often training had each word (whitespace-separated) of the sources."""
    reference_counts: Mapping[str, int] | None = None
    """How often training had each token (13a) of references and hypotheses."""
    reference_word_counts: Mapping[str, int] | None = None
    """How often training had each whitespace-separated word of the references."""
    labels: Sequence[str] | None = None
    """Of the sentences: their domain, for example."""
    word_labels: Labels | None = None
    """Of the words of the references."""

    def complete(self, other: "TestSet") -> None:
        """Take from ``other``, of the same text, what is not known here: the first word counts."""
        for name, known in vars(other).items():
            own = getattr(self, name)
            if own is None:
                setattr(self, name, known)
            elif isinstance(own, dict) and isinstance(known, dict):
                setattr(self, name, known | own)  # only what a run wrote needs words of its own

    def same_text(self, other: "TestSet") -> bool:
        """Whether systems that translated them can be compared sentence by sentence."""
        return self is other or (
            list(self.references) == list(other.references) and self.sources == other.sources
        )


@dataclass(frozen=True, eq=False)
class Output:
    """One translation of the test set: a training seed's, or a file."""

    seed: int
    hypotheses: Sequence[str]
    statistics: Statistics = field(repr=False)
    folder: Path | None = None
    """Of the run that wrote it."""
    word_labels: Labels | None = None
    reference_nats: Sequence[Sequence[float]] | None = None
    """Negative log-likelihood of each whitespace-separated word of each reference."""
    attention_step: str | None = None
    """The step whose attention aligned the references; see ``forced``."""


@dataclass(frozen=True, eq=False)
class System:
    """The outputs of one system, one for each seed."""

    name: str
    test: TestSet
    outputs: Sequence[Output]
