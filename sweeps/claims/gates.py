"""Gates before any verdict: trainings that never began, and floors that systems must reach.

The third gate, that the effect has settled, is in ``trajectory.py``.
"""

from collections.abc import Mapping, Sequence

from sweeps.claims.claim import Claim, TierName
from sweeps.claims.verdict import LEAST_SEEDS
from sweeps.comparison.numbers import in_words

COLLAPSED = 0.7
"""Share of the BLEU of its system's best seed below which a training has collapsed."""
ENOUGH_SEEDS = 5
"""Seeds from which on collapsed trainings may be left out: of fewer, what is left says too little
about the others. ``tests.tools.simulate_claims`` shows both."""
Seeds = Mapping[str, Sequence[int]]  # by system


def find_collapsed(bleu: Mapping[str, Mapping[int, float]]) -> dict[str, list[int]]:
    """Return the seeds of each system that collapsed, by the BLEU of its seeds at the last rung."""
    found = {
        system: [seed for seed, score in of.items() if score < COLLAPSED * max(of.values())]
        for system, of in bleu.items()
    }
    return {system: seeds for system, seeds in found.items() if seeds}


def why_too_few(seeds: Seeds, collapsed: Seeds) -> str | None:
    """Return why collapsed trainings leave a claim undecided; None if enough are left.

    ``seeds`` are all that were trained.
    """
    for system, lost in collapsed.items():
        count = len(seeds[system])
        which = f"seed{'s'[: len(lost) > 1]} {in_words([str(seed) for seed in lost])}"
        if count < ENOUGH_SEEDS:
            return f"{system}: {which} collapsed, and {count} seeds are too few to leave any out"
        if count - len(lost) < LEAST_SEEDS:
            return f"{system}: {which} of {count} collapsed, which leaves fewer than {LEAST_SEEDS}"
    return None


def why_not_fair(
    reached: Mapping[str, float], floors: Mapping[str, float], shortest: str
) -> str | None:
    """Return which system has not learned to translate; None if each reaches its floor.

    ``reached`` is the BLEU on sentences of the length ``shortest``, by system; a system without a
    floor needs none.
    """
    for system, floor in floors.items():
        if not reached[system] >= floor:
            return (
                f"“{system}” has not learned to translate: it reaches {reached[system]:.1f} BLEU "
                f"on sentences of {shortest}, and its floor is {floor:.1f}"
            )
    return None


def why_no_plateau(claim: Claim, tier: TierName, rungs: int) -> str | None:
    """Return why losses and effect of a claim need not have settled; None if they must have."""
    if any(claim.has_own_budget(system, tier) for system in claim.systems):
        return "the claim is about the amount of training"
    if tier == "paper" and rungs == 1:
        return "the amount of training is the paper's"
    return None
