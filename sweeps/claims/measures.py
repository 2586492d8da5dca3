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
    Spread,
    SystemValues,
    above,
    agreement_spread,
    below,
    difference,
    optimum,
    rank_agreement,
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
    def of_bleu_differences(self) -> bool:
        """Whether the effect is a difference of BLEU, which may be a share of another one."""
        return False

    @property
    def beside(self) -> "Measure | None":
        """The fall of BLEU for every ten words, to be shown beside a measure without a floor."""
        return None

    def quantity(self, lengths: SentenceLengths) -> Quantity:
        """Return what is computed for each seed of each system.

        Raises ``ValueError`` where the lengths of the sentences do not allow it.
        """
        return score_on(self.metric)

    def compared(self, values: Sequence[SystemValues]) -> list[SystemValues]:
        """Return what ``differences`` compare: the quantity of each of ``systems``, as given.

        Raises ``ValueError`` if the values do not fit together.
        """
        return [*values]

    def spread(self, values: Sequence[SystemValues]) -> Spread:
        """Return the means of what is compared, and what they vary by."""
        return Spread.of(values)

    def effect(self, values: Sequence[float]) -> float:
        """Return the effect of one value of each of ``systems``, such as published ones."""
        one = [SystemValues(np.array([value])) for value in values]
        means = np.array([each.observed[0] for each in self.compared(one)])
        return float(self.differences.effect(means))


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

    @override
    def quantity(self, lengths: SentenceLengths) -> Quantity:
        whole = self.lengths == ALL
        return score_on(self.metric, None if whole else _rows(lengths.words, self.lengths))


class _OverLength(Measure):
    """The slope of a score over the length, for every ten words.

    The slope of a score has a floor: a system that translates nothing has nothing to lose. That of
    its logarithm (``log``) is the share that is lost.
    """

    of_scores = False
    log: bool = False

    @override
    def quantity(self, lengths: SentenceLengths) -> Quantity:
        if len(lengths.buckets) < 2:
            raise ValueError(
                "a slope needs two length buckets with enough sentences: scoring.edges"
            )
        return slope_over(self.metric, lengths.buckets, self.log)


class _Kept(Measure):
    """The score on long sentences, as a share of that on short ones; 1 is no loss."""

    of_scores = False
    long: Range
    short: Range

    @override
    def quantity(self, lengths: SentenceLengths) -> Quantity:
        long, short = (_rows(lengths.words, each) for each in (self.long, self.short))
        return share_left(self.metric, long, short)


class ScoreDifference(_Pair, _OnLengths):
    """Difference of a score on the sentences of some source lengths."""

    kind: Literal["difference"]

    @property
    @override
    def of_bleu_differences(self) -> bool:
        return self.score == "bleu"


class SlopeDifference(_Pair, _OverLength):
    """Difference of the slopes of a score."""

    kind: Literal["slope_difference"]

    @property
    @override
    def beside(self) -> Measure | None:
        return self.model_copy(update={"log": False}) if self.log else None


class KeptDifference(_Pair, _Kept):
    """Difference of the shares that are kept on long sentences."""

    kind: Literal["kept_difference"]

    @property
    @override
    def beside(self) -> Measure:
        return SlopeDifference(kind="slope_difference", more=self.more, less=self.less)


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


class Kept(_Single, _Kept):
    """How far the share that is kept on long sentences is from a level."""

    kind: Literal["kept"]

    @property
    @override
    def beside(self) -> Measure:
        return Slope(kind="slope", system=self.system, sign=1 if self.above is not None else -1)


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

    @property
    @override
    def beside(self) -> Measure | None:
        return self.model_copy(update={"log": False}) if self.log else None


class Order(Measure):
    """Kendall's τ between ``order``, the highest score first, and the order of a seed's scores.

    1: all pairs of systems are in the claimed order; -1: none is.
    """

    named = ("order",)
    kind: Literal["order"]
    order: Annotated[list[str], Field(min_length=3)]

    @property
    @override
    def differences(self) -> Differences:
        return above(0.0)

    @override
    def compared(self, values: Sequence[SystemValues]) -> list[SystemValues]:
        if len({len(each.observed) for each in values}) > 1:
            raise ValueError("an order needs the same seeds of each system")
        return [rank_agreement(values)]

    @override
    def spread(self, values: Sequence[SystemValues]) -> Spread:
        [agreement] = values
        return agreement_spread(agreement)


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

    @property
    @override
    def of_bleu_differences(self) -> bool:
        return self.score == "bleu"


AnyMeasure = Annotated[
    ScoreDifference
    | Level
    | Slope
    | SlopeDifference
    | KeptDifference
    | Kept
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
