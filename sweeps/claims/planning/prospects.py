"""How probably a plan decides a claim, and with how many seeds, before anything is trained."""

from typing import NamedTuple

import numpy as np

from sweeps.claims.claim import Claim
from sweeps.claims.planning.plan import Plan
from sweeps.claims.statistics.intervals import Spread
from sweeps.claims.statistics.pairing import paired_spread
from sweeps.claims.statistics.power import MOST_SEEDS, needed_seeds, power
from sweeps.claims.statistics.verdict import LEAST_SEEDS

EFFECT = 3.0
"""Assumed effect of a claim without published values, in multiples of its margin; 0 where the claim
says that the effect is not smaller, or that there is no difference."""
SEEDS, BOTH, SENTENCES, TOGETHER = 1.0, 0.3, 0.5, 0.8
"""Assumed deviations in multiples of the margin, over seeds, over seeds and sentences, and over
sentences; and the correlation of two systems over sentences."""
MANY = 1000
"""Seeds from which an assumed variance is as good as known."""
NOTE = (
    "decides: the chance of a verdict under two assumptions. First, the true effect is the "
    "published effect; without published values, it is three times the smallest effect that "
    "counts, or 0 if the claim says that there is no difference or no loss. Second, the scores of "
    "seeds deviate by the smallest effect that counts; searches of one training deviate together. "
    "for 80%: the seeds of each system that decide with a chance of 80% under these assumptions."
)


class Prospect(NamedTuple):
    """How probably a plan decides a claim, as text."""

    chance: str
    """With the seeds of the plan."""
    seeds: str
    """Seeds that decide with a chance of 80%."""


def prospects(plan: Plan) -> dict[str, Prospect]:
    """Return the prospects of the claims that lack runs, by name."""
    missing = {run.identity for run in plan.missing}
    lacking = [
        claim for claim in plan.claims if any(r.identity in missing for r in plan.runs_of(claim))
    ]
    return {claim.name: _prospect(claim, plan) for claim in lacking}


def _prospect(claim: Claim, plan: Plan) -> Prospect:
    margin, seeds = claim.rule, plan.seeds_of(claim)
    spread, differences = assumed(claim), claim.measure.differences
    if plan.is_one_training(claim):
        spread, differences = paired_spread(spread, differences)
    enough = needed_seeds(spread, differences, margin)
    if seeds < LEAST_SEEDS:
        chance = f"never with {seeds}"
    else:
        chance = f"{power(spread, differences, margin, seeds):.0%}"
    return Prospect(chance, str(enough) if enough else f"> {MOST_SEEDS}")


def assumed(claim: Claim) -> Spread:
    """Return the means and variances that are assumed of the systems of a claim."""
    differences, unit = claim.measure.differences, claim.margin.value
    effect = claim.published_effect
    if effect is None:
        effect = EFFECT * unit if claim.says == "larger" else 0.0
    systems = differences.weights.shape[-1]
    # Means with which every difference is the effect.
    entries = differences.weights.reshape(-1, systems)
    wanted = np.full(len(entries), effect + differences.reference)
    means = np.linalg.lstsq(entries, wanted, rcond=None)[0]
    together = np.full((systems, systems), TOGETHER) + (1 - TOGETHER) * np.eye(systems)
    return Spread(
        means=means,
        seeds=np.full(systems, MANY),
        between_seeds=np.full(systems, (SEEDS * unit) ** 2 + (BOTH * unit) ** 2),
        both=np.full(systems, (BOTH * unit) ** 2),
        sentences=together * (SENTENCES * unit) ** 2,
    )
