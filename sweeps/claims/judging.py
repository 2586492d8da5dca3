"""From finished runs to verdicts: each claim is judged alone, on its own systems."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lightning_modules.metrics.metric import Array
from lightning_modules.testing.scoring_settings import Scoring
from sweeps.claims.claim import Claim
from sweeps.claims.evidence import Evidence, Records, UnusableError
from sweeps.claims.measures import Measure
from sweeps.claims.planning.plan import Plan
from sweeps.claims.statistics.differences import Differences
from sweeps.claims.statistics.intervals import Spread
from sweeps.claims.statistics.pairing import paired
from sweeps.claims.statistics.power import Needed, needed
from sweeps.claims.statistics.quantities import Quantity
from sweeps.claims.statistics.verdict import Outcome, Verdict, correct_verdicts, judge


@dataclass(frozen=True, eq=False)
class Judged:
    """A claim with its verdict and what led to it, or the reason why there is none."""

    claim: Claim
    evidence: Evidence | None = None
    means: Array | None = None
    """Mean over seeds of each of ``claim.measure.systems``."""
    verdict: Verdict | None = None
    corrected: Verdict | None = None
    """The verdict after Holm's correction over all claims that were judged together."""
    needed: Needed | None = None
    """What would decide a claim that is not decidable."""
    failure: str | None = None
    not_run: str | None = None
    """Why the claim cannot be run at the tier."""
    untuned: Verdict | None = None
    """The verdict with the learning rates of the files, where the systems were tuned and both
    exist."""
    on_trained: Verdict | None = None
    """The verdict on test sentences no longer than those of training, where longer ones count too:
    most papers' test sentences are no longer."""
    tuned: bool = False
    """Whether the learning rates were tuned alike."""


def judge_all(plan: Plan, scoring: Scoring) -> list[Judged]:
    """Return the verdicts on the claims of a plan, each independent of the others, in order.

    Claims that cannot be run at the tier come last.
    """
    records = Records(plan, scoring)
    judged = [_judged(claim, records) for claim in plan.claims]
    verdicts = {one.claim.name: one.verdict for one in judged if one.verdict is not None}
    corrected = dict(zip(verdicts, correct_verdicts([*verdicts.values()]), strict=True))
    return [
        *(replace(one, corrected=corrected.get(one.claim.name)) for one in judged),
        *(Judged(claim, not_run=why) for claim, why in plan.left_out),
    ]


def beside_untuned(judged: Sequence[Judged], untuned: Sequence[Judged]) -> list[Judged]:
    """Return verdicts on tuned systems with those on the same systems, untuned, beside them."""
    known = {one.claim.name: one.verdict for one in untuned}
    return [replace(one, untuned=known.get(one.claim.name), tuned=True) for one in judged]


def _judged(claim: Claim, records: Records) -> Judged:
    measure = claim.measure
    try:
        evidence = records.evidence(claim)
        compared = _compared(measure, evidence, measure.quantity(evidence.lengths))
        shorter = measure.within_training(evidence.lengths)
        within = None if shorter is None else _compared(measure, evidence, shorter)
    except (UnusableError, ValueError) as error:
        return Judged(claim, failure=str(error))
    margin = claim.rule
    verdict = judge(compared.spread, compared.differences, margin)
    missing = None
    if verdict.outcome is Outcome.UNDECIDED:
        missing = needed(compared.spread, compared.differences, margin, evidence.sentences)
    return Judged(
        claim,
        evidence,
        compared.means,
        verdict,
        needed=missing,
        on_trained=None if within is None else judge(within.spread, within.differences, margin),
    )


class _Compared(NamedTuple):
    """The values of a claim's systems, and how they are compared."""

    means: Array
    """Mean over seeds of each system."""
    spread: Spread
    differences: Differences


def _compared(measure: Measure, evidence: Evidence, quantity: Quantity) -> _Compared:
    values = [evidence.values(quantity, system) for system in measure.systems]
    means = np.array([each.observed.mean() for each in values])
    differences = measure.differences
    if evidence.one_training:
        values, differences = paired(values, differences)
    return _Compared(means, Spread.of(values), differences)
