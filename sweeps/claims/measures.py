"""What the file of a claim may measure, and the quantity and the differences behind each.

Every measure is made so that its effect is above 0 where the claim holds.
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from typing_extensions import override

from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.contrast_choices import RIGHT_CHOICES, PairChoices
from lightning_modules.metrics.lengths import Bucket
from lightning_modules.metrics.metric import Metric
from sweeps.claims.intervals import (
    Differences,
    Quantity,
    Rows,
    above,
    below,
    difference,
    optimum,
    order,
    score_on,
    share_left,
    slope_over,
)

ScoreName = Literal["bleu", "exact", "chrf", "length_ratio", "aer", "perplexity"]


def _rises(limits: tuple[int | None, int | None]) -> tuple[int | None, int | None]:
    low, high = limits
    if low is not None and high is not None and low > high:
        raise ValueError(f"holds no number; give [{high}, {low}]")
    return limits


Range = Annotated[tuple[int | None, int | None], AfterValidator(_rises)]
"""Lengths or distances in words, both ends inclusive; None: no limit."""
ALL: Range = (None, None)


class SentenceLengths(NamedTuple):
    """Lengths of the sentences of a test set."""

    words: NDArray[np.int64]  # source words of each sentence, `(sentences,)`
    buckets: Sequence[Bucket]  # length buckets with enough sentences
    longest_trained: int | None  # longest training sentence of all systems of the claim, in words
    trained_by_all: int | None
    """Longest sentence, in words, that no system's limit of training sentences left out."""


class ClaimPart(BaseModel):
    """A part of a claim; unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Measure(ClaimPart):
    """A quantity of systems, and the differences of systems that make the effect of a claim.

    The quantity is a score on the whole test set: BLEU unless ``score`` names another.
    """

    score: ScoreName = "bleu"
    named: ClassVar[tuple[str, ...]]  # the keys that name systems
    of_scores: ClassVar[bool] = True  # a difference of scores, and not of slopes or shares

    @model_validator(mode="after")
    def _names_each_system_once(self) -> Self:
        named = [*self.systems]
        for system in named:
            if named.count(system) > 1:
                raise ValueError(f"{system} is named twice; a claim compares different systems")
        return self

    @property
    def systems(self) -> Sequence[str]:
        """The systems whose outputs are read, in the order of ``differences``."""
        given = [getattr(self, key) for key in self.named]
        return given[0] if isinstance(given[0], list) else given

    @property
    def metric(self) -> Metric:
        """The metric of the score."""
        return METRICS[self.score]

    @property
    def differences(self) -> Differences:
        """The differences of systems that make the effect."""
        return difference()

    @property
    def every_length(self) -> bool:
        """Whether a score on the whole test set is measured, whatever the sentences' lengths."""
        return self.of_scores

    def quantity(self, lengths: SentenceLengths) -> Quantity:
        """Return what is computed for each seed of each system.

        Raises ``ValueError`` where the lengths of the sentences do not allow it.
        """
        return score_on(self.metric)

    def within_training(self, lengths: SentenceLengths) -> Quantity | None:
        """Return the score on sentences no longer than those of any system's training.

        None unless ``every_length`` is measured and both such and longer sentences are there.
        """
        limit = lengths.trained_by_all
        if not self.every_length or limit is None:
            return None
        if not lengths.words.min() <= limit < lengths.words.max():
            return None
        return score_on(self.metric, _rows(lengths.words, (None, limit)))


class _Single(Measure):
    """A measure of one system: how far a value lies above ``above``, or below ``below``."""

    named = ("system",)
    system: str
    above: float | None = None
    below: float | None = None

    @model_validator(mode="after")
    def _has_one_level(self) -> Self:
        if (self.above is None) == (self.below is None):
            raise ValueError("a level is either above or below a number: give one of both")
        return self

    @property
    @override
    def differences(self) -> Differences:
        return above(self.above) if self.above is not None else below(self.below or 0.0)


class _Pair(Measure):
    """A measure of two systems: that of ``more`` minus that of ``less``."""

    named = ("more", "less")
    more: str
    less: str


class _OnLengths(Measure):
    """A score on the sentences of some source lengths."""

    lengths: Range = ALL

    @property
    @override
    def every_length(self) -> bool:
        return self.lengths == ALL

    @override
    def quantity(self, lengths: SentenceLengths) -> Quantity:
        return score_on(
            self.metric, None if self.every_length else _rows(lengths.words, self.lengths)
        )


class _OverLength(Measure):
    """The slope of a score over the length, for every ten words."""

    of_scores = False

    @override
    def quantity(self, lengths: SentenceLengths) -> Quantity:
        if len(lengths.buckets) < 2:
            raise ValueError(
                "a slope needs two length buckets with enough sentences: scoring.edges"
            )
        return slope_over(self.metric, lengths.buckets)


class _BeyondTraining(Measure):
    """The score on sentences longer than those of training, as a share of that on others."""

    of_scores = False

    @override
    def quantity(self, lengths: SentenceLengths) -> Quantity:
        limit = lengths.longest_trained
        if limit is None:
            raise ValueError("the lengths of the training sentences are not known")
        beyond, inside = (
            _rows(lengths.words, (limit + 1, None)),
            _rows(lengths.words, (None, limit)),
        )
        return share_left(self.metric, beyond, inside)


class ScoreDifference(_Pair, _OnLengths):
    """Difference of a score on the sentences of some source lengths."""

    kind: Literal["difference"]


class SlopeDifference(_Pair, _OverLength):
    """Difference of the slopes of a score."""

    kind: Literal["slope_difference"]


class BeyondDifference(_Pair, _BeyondTraining):
    """Difference of what is left of a score beyond the lengths of training; 1 is no loss."""

    kind: Literal["beyond"]


class AgreementDifference(_Pair):
    """Difference of the share of right choices between two translations, in points.

    Its rows are pairs of translations.
    """

    kind: Literal["agreement"]
    of_scores = False
    category: str | None = None
    distances: Range = ALL

    @model_validator(mode="after")
    def _counts_right_choices(self) -> Self:
        if "score" in self.model_fields_set:
            raise ValueError("an agreement counts right choices: leave score out")
        return self

    @property
    @override
    def metric(self) -> Metric:
        return RIGHT_CHOICES

    def chosen(self, choices: PairChoices) -> NDArray[np.bool_]:
        """Return which pairs count, ``(pairs,)``."""
        of_category = choices.category == self.category if self.category else True
        return np.asarray(of_category & _inside(choices.distance, self.distances))


class Level(_Single, _OnLengths):
    """How far a score on the sentences of some source lengths is from a level."""

    kind: Literal["level"]


class LeftBeyond(_Single, _BeyondTraining):
    """How far the share of a score that is left beyond the lengths of training is from a level."""

    kind: Literal["left_beyond"]


class Slope(_OverLength):
    """Slope of a score, times ``sign``."""

    named = ("system",)
    kind: Literal["slope"]
    system: str
    sign: Literal[1, -1] = 1

    @property
    @override
    def differences(self) -> Differences:
        return above(0.0) if self.sign > 0 else below(0.0)


class Order(Measure):
    """The smallest step down between neighbours in ``order``, the highest score first."""

    named = ("order",)
    kind: Literal["order"]
    order: Annotated[list[str], Field(min_length=3)]

    @property
    @override
    def differences(self) -> Differences:
        return order(len(self.order))


class Optimum(Measure):
    """How far the score at ``best`` lies above the best score of all other rungs."""

    named = ("rungs",)
    kind: Literal["optimum"]
    rungs: Annotated[list[str], Field(min_length=3)]
    best: str

    @model_validator(mode="after")
    def _best_is_a_rung(self) -> Self:
        if self.best not in self.rungs:
            raise ValueError(f"best={self.best}: give one of the rungs {', '.join(self.rungs)}")
        return self

    @property
    @override
    def differences(self) -> Differences:
        return optimum(len(self.rungs), self.rungs.index(self.best), self.metric.better or 1)


AnyMeasure = Annotated[
    ScoreDifference
    | Level
    | Slope
    | SlopeDifference
    | BeyondDifference
    | LeftBeyond
    | Order
    | Optimum
    | AgreementDifference,
    Field(discriminator="kind"),
]


def _rows(words: NDArray[np.int64], lengths: Range) -> Rows:
    """Return the sentences of these lengths. Raises ``ValueError`` if there are none."""
    found = np.flatnonzero(_inside(words, lengths))
    if not len(found):
        low, high = lengths
        upper = f"{low} words or more" if high is None else f"{low} to {high} words"
        raise ValueError(
            f"no test sentence has {f'at most {high} words' if low is None else upper}"
        )
    return found


def _inside(numbers: NDArray[Any], limits: Range) -> NDArray[np.bool_]:
    low, high = limits
    least = numbers.min() if low is None else low
    return (numbers >= least) & (numbers <= (numbers.max() if high is None else high))
