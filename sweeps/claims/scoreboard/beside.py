"""Published values beside ours, in the paper's own flavour of a score."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from sweeps.claims.claim import Claim
from sweeps.claims.evidence import Evidence, Run
from sweeps.claims.flavours import FLAVOURS, Flavour
from sweeps.claims.statistics.agreement import Agreement, agreement

LEAST_VALUES = 3
"""Fewest values of a table whose agreement says anything."""


class Beside(NamedTuple):
    """Values of a paper and of our runs, in one flavour."""

    flavour: str
    systems: Sequence[str]
    published: Sequence[float]
    ours: Sequence[float]
    """Means over seeds."""
    agreement: Agreement | None
    """For tables of at least three values; the data of both sides are unlike."""


def beside(claim: Claim, evidence: Evidence) -> Beside | None:
    """Return the published BLEU of a claim beside ours; None without published BLEU."""
    published = claim.published
    if published is None or published.flavour is None:
        return None
    systems = [system for system in published.values if system in evidence.runs]
    if not systems:
        return None
    theirs = [published.values[system] for system in systems]
    flavour = FLAVOURS[published.flavour]
    ours = [
        float(np.mean([_score(flavour, run) for run in evidence.runs[system]]))
        for system in systems
    ]
    many = len(systems) >= LEAST_VALUES
    return Beside(
        flavour=flavour.name,
        systems=systems,
        published=theirs,
        ours=ours,
        agreement=agreement(theirs, ours) if many else None,
    )


@cache
def _score(flavour: Flavour, run: Run) -> float:
    """Return the score of a run, which several claims may share."""
    return flavour.score(run.output.hypotheses, run.test.references, run.result.data.target)
