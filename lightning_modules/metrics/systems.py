"""Test sets and the translations of them by systems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lightning_modules.metrics.alignment.gold import Gold
from lightning_modules.metrics.contrast import Choices
from lightning_modules.metrics.metric import Statistics, TextMetric
from lightning_modules.metrics.text_metrics import TEXT_METRICS

Labels = Sequence[Sequence[str]]
"""A label for every whitespace-separated word of every sentence."""


@dataclass(eq=False)
class TestSet:
    """References of a test set, with sources, alignments, word counts and labels where known."""

    __test__ = False  # pytest must not collect this class

    references: Sequence[str]
    sources: Sequence[str] | None = None
    gold: Sequence[Gold] | None = None
    """Gold word alignments of sources and references."""
    source_counts: Mapping[str, int] | None = None
    """Occurrences of each whitespace-separated source word in the training text."""
    reference_counts: Mapping[str, int] | None = None
    """Occurrences of each 13a token of references and hypotheses in the training text."""
    reference_word_counts: Mapping[str, int] | None = None
    """Occurrences of each whitespace-separated reference word in the training text."""
    labels: Sequence[str] | None = None
    """Label of each sentence: a domain, for example."""
    word_labels: Labels | None = None
    """Labels of the words of the references."""

    def complete(self, other: "TestSet") -> None:
        """Fill missing fields and word counts from ``other`` of the same text; known ones stay."""
        for name, added in vars(other).items():
            known = getattr(self, name)
            if known is None:
                setattr(self, name, added)
            elif isinstance(known, dict) and isinstance(added, dict):
                # A run counts only words of its texts; counts of the user's files are no dict.
                setattr(self, name, added | known)

    def same_text(self, other: "TestSet") -> bool:
        """Return whether systems on both test sets can be compared sentence by sentence."""
        return self is other or (
            list(self.references) == list(other.references) and self.sources == other.sources
        )


@dataclass(frozen=True, eq=False)
class Output:
    """One translation of the test set, by a model of one seed or from one file."""

    seed: int
    hypotheses: Sequence[str]
    statistics: Statistics = field(repr=False)
    metrics: Sequence[TextMetric] = tuple(kind() for kind in TEXT_METRICS.values())
    """Metrics of translations to show, where the statistics have them."""
    folder: Path | None = None
    """Folder of the run that wrote the output."""
    word_labels: Labels | None = None
    """Labels of the words of the hypotheses."""
    reference_nats: Sequence[Sequence[float]] | None = None
    """Negative log-likelihood of each whitespace-separated word of each reference."""
    contrast: Choices | None = None
    """Choices between right and wrong translations."""
    phrase_table: Sequence[str] | None = None
    """Translations by the phrase table of the output's training text; see ``baselines``."""
    attention_step: str | None = None
    """Decoder step whose attention aligned the references; see ``forced_decoding``."""


@dataclass(frozen=True, eq=False)
class System:
    """The outputs of one system, one for each seed."""

    name: str
    test: TestSet
    outputs: Sequence[Output]
