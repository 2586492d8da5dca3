"""How a test set is scored: the group ``scoring`` of the configuration."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field, NonNegativeInt, PositiveInt, field_validator

from lightning_modules.metrics.lengths import (
    Bounds,
    Bucket,
    LengthUnit,
    check_edges,
    equal_edges,
    length_buckets,
    merged_edges,
    sentence_lengths,
)
from lightning_modules.metrics.systems import TestSet
from lightning_modules.metrics.text_metrics import TEXT_METRICS
from lightning_modules.metrics.uncertainty.resampling import Resamples

StepRule = Literal["predicted", "read", "footnote14"]
"""The decoder step whose attention belongs to a word; see ``forced_decoding.step_by_rule``."""


class Scoring(BaseModel, extra="forbid"):
    """Settings that every score of a test set depends on."""

    edges: list[int]
    """Inclusive upper bounds of the length buckets, rising."""
    equal_buckets: PositiveInt | None = None
    """Number of buckets with about equally many sentences; None to use ``edges``."""
    least_sentences: NonNegativeInt = 0
    """Sentences that a bucket of ``edges`` has at least; see ``merged_edges``. 0 merges none."""
    unit: LengthUnit = "source_words"
    metrics: list[str] = list(TEXT_METRICS)
    """Names or dotted paths of metrics of translations; see ``chosen_metrics.find_metrics``."""
    resamples: Annotated[int, Field(ge=100)] = 10_000
    """Number of bootstrap resamples of the sentences, and of trials of the randomisation test."""
    seed: NonNegativeInt = 12345
    """Seed of the resamples; the default is sacreBLEU's."""
    attention_step: StepRule = "predicted"
    """Step rule for alignments of the references."""
    contrastive: bool = False
    """Whether the run also chooses between the contrastive pairs of its corpus."""

    @field_validator("edges")
    @classmethod
    def _usable(cls, edges: list[int]) -> list[int]:
        check_edges(edges)
        return edges

    @property
    def draws(self) -> Resamples:
        """Number and seed of the resamples."""
        return Resamples(self.resamples, self.seed)

    @property
    def length_axis(self) -> str:
        """Axis title of the unit."""
        side, _, counted = self.unit.partition("_")
        kinds = {"words": "whitespace-separated words", "tokens": "13a tokens"}
        return f"{side} length ({kinds[counted]})"

    def bucket_name(self, bounds: Bounds) -> str:
        """Return the name of a length bucket for readers, such as ``11–20 words``."""
        side, _, counted = self.unit.partition("_")
        kind = counted if (side, counted) == ("source", "words") else f"{side} {counted}"
        return f"{bounds.label} {kind}"

    def buckets(self, tests: Sequence[TestSet]) -> list[list[Bucket]]:
        """Return the length buckets of each test set; all test sets have the same edges.

        Raises ``ValueError`` if ``unit`` is a source length and a test set has no sources.
        """
        lengths = [sentence_lengths(test.sources, test.references, self.unit) for test in tests]
        edges = self.edges
        if self.equal_buckets is not None:
            edges = equal_edges([length for each in lengths for length in each], self.equal_buckets)
        elif self.least_sentences:
            edges = merged_edges(lengths, edges, self.least_sentences)
        return [length_buckets(each, edges) for each in lengths]
