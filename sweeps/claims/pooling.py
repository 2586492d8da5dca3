"""One effect over several corpora, by random effects: statsmodels' ``combine_effects``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtrit

from lightning_modules.metrics.resampling import Interval
from sweeps.claims.verdict import LEVEL, Margin, Outcome

CommonScale = Literal["share of the attention effect", "log ratio", "as measured"]
"""A difference of BLEU as a share of what attention brings on its corpus, where that is known;
otherwise the logarithm of the ratio of both scores. Measures without a unit stay as they are."""


LEAST_ERROR, ITERATIONS = 1e-3, 200
"""Least standard error as a share of the range of effects, with which τ² is surely found from 0 on;
and the iterations that are allowed for it."""


class CorpusEffect(NamedTuple):
    """The effect on one corpus, on the common scale."""

    corpus: str
    effect: float
    error: float  # standard error, over seeds and sentences

    @property
    def interval(self) -> Interval:
        """The 95% interval of a normal distribution."""
        return Interval(self.effect - 1.96 * self.error, self.effect + 1.96 * self.error)


@dataclass(frozen=True)
class PooledEffect:
    """The mean effect over corpora, by Paule and Mandel's τ² and Hartung and Knapp's interval."""

    scale: CommonScale
    corpora: Sequence[CorpusEffect]  # all synthetic, or all of real text
    real: bool
    effect: float
    interval: Interval  # 95%, of the mean over corpora
    tau: float  # deviation of the true effects over corpora
    prediction: Interval  # 95%, of the true effect on a new corpus
    margin: Margin | None  # on the common scale; None where it has another on each corpus
    outcome: Outcome | None  # of the mean by the margin; None without one


def pool(
    corpora: Sequence[CorpusEffect], scale: CommonScale, real: bool, margin: Margin | None
) -> PooledEffect:
    """Return the mean effect over two corpora or more.

    The variance over corpora is that of Paule and Mandel (1982). The standard error of the mean is
    Hartung and Knapp's, with Student's t (IntHout et al. 2014), but never below the one that takes
    τ for known, as a few effects that are equal by chance would have it (Röver et al. 2015). The
    prediction interval has a degree of freedom less, for τ (Higgins et al. 2009).
    """
    from statsmodels.stats.meta_analysis import combine_effects  # loads pandas

    effects, errors = (np.array(each) for each in zip(*(one[1:] for one in corpora), strict=True))
    least = LEAST_ERROR * np.ptp(effects) + np.finfo(float).eps
    with np.errstate(divide="ignore"):  # its I², of effects that are all equal
        found = combine_effects(effects, np.maximum(errors, least) ** 2, maxiter=ITERATIONS)
    mean, tau2 = float(found.mean_effect_re), float(found.tau2)
    error = max(float(found.sd_eff_w_re_hksj), float(found.sd_eff_w_re))

    def within(level: float, deviation: float, degrees: int = len(corpora) - 1) -> Interval:
        half = float(stdtrit(degrees, (1 + level) / 2)) * deviation
        return Interval(mean - half, mean + half)

    new, degrees = float(np.hypot(np.sqrt(tau2), error)), max(1, len(corpora) - 2)
    outcome = None
    if margin is not None:
        shown = (
            rule.outcome
            for rule in margin.rules
            if rule.shown(*map(np.asarray, within(rule.level, error)))
        )
        outcome = next(shown, Outcome.UNDECIDED)
    return PooledEffect(
        scale=scale,
        corpora=corpora,
        real=real,
        effect=mean,
        interval=within(1 - LEVEL, error),
        tau=float(np.sqrt(tau2)),
        prediction=within(1 - LEVEL, new, degrees),
        margin=margin,
        outcome=outcome,
    )
