"""One effect over several corpora, by random effects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lightning_modules.metrics.resampling import Interval
from sweeps.claims.verdict import Outcome

CommonScale = Literal["share of the attention effect", "log ratio", "as measured"]
"""A difference of BLEU as a share of what attention brings on its corpus, where that is known;
otherwise the logarithm of the ratio of both scores. Measures without a unit stay as they are."""


@dataclass(frozen=True)
class CorpusEffect:
    """The effect on one corpus on the common scale."""

    corpus: str
    effect: float
    interval: Interval  # 95%, over seeds


@dataclass(frozen=True)
class PooledEffect:
    """The mean effect over corpora, by Paule and Mandel's τ² with Hartung and Knapp's interval."""

    scale: CommonScale
    corpora: Sequence[CorpusEffect]  # that are pooled, all synthetic or all real
    effect: float
    interval: Interval  # 95%
    tau: float  # deviation of the true effects over corpora
    prediction: Interval  # 95%, of the true effect on a new corpus
    margin: float | None  # on the common scale; None where it has another on each corpus
    outcome: Outcome | None  # of the mean effect by the margin
