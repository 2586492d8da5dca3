"""How a test set is scored: the group ``scoring`` of the configuration."""

from collections.abc import Sequence
from typing import Literal

from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel, NonNegativeInt, PositiveInt, ValidationError, field_validator

from datamodules.errors import UserError, first_mistake
from lightning_modules.metrics.lengths import (
    Bucket,
    LengthUnit,
    check_edges,
    equal_edges,
    length_buckets,
    sentence_lengths,
)
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.metrics.systems import TestSet

StepRule = Literal["predicted", "read", "footnote14"]
"""The decoder step whose attention belongs to a word; see ``forced.step_by_rule``."""


class Scoring(BaseModel, extra="forbid"):
    """Settings that every score of a test set depends on."""

    edges: list[int]
    """Inclusive upper bounds of the length buckets, rising."""
    equal_buckets: PositiveInt | None = None
    """That many buckets with about as many sentences each, instead of ``edges``."""
    unit: LengthUnit = "source_words"
    ter: bool = True
    """Whether TER is counted, which takes long for long and wrong sentences."""
    resamples: int = 10_000
    """Of the sentences: bootstrap resamples, and trials of the randomisation test."""
    seed: NonNegativeInt = 12345
    """Of the resamples; sacreBLEU's own."""
    attention_step: StepRule = "predicted"
    """For alignments of the references."""

    @field_validator("edges")
    @classmethod
    def _usable(cls, edges: list[int]) -> list[int]:
        check_edges(edges)
        return edges

    @field_validator("resamples")
    @classmethod
    def _enough(cls, resamples: int) -> int:
        if resamples < 100:
            raise ValueError("give at least 100, of which 95% mean something")
        return resamples

    @property
    def draws(self) -> Resamples:
        """Number and seed."""
        return Resamples(self.resamples, self.seed)

    @property
    def length_axis(self) -> str:
        """The unit as an axis title tells it."""
        side, _, counted = self.unit.partition("_")
        kinds = {"words": "whitespace-separated words", "tokens": "13a tokens"}
        return f"{side} length ({kinds[counted]})"

    def buckets(self, tests: Sequence[TestSet]) -> list[list[Bucket]]:
        """The length buckets of each test set; all have the same edges.

        Raises ``ValueError`` if source lengths are asked for and there are no sources.
        """
        lengths = [sentence_lengths(test.sources, test.references, self.unit) for test in tests]
        edges = self.edges
        if self.equal_buckets is not None:
            edges = equal_edges([length for each in lengths for length in each], self.equal_buckets)
        return [length_buckets(each, edges) for each in lengths]


def build_scoring(config: DictConfig) -> Scoring:
    """Check how lengths are bucketed, before anything is trained."""
    try:
        return Scoring.model_validate(OmegaConf.to_container(config.scoring, resolve=True))
    except ValidationError as error:
        raise UserError(first_mistake(error, "scoring")) from None
