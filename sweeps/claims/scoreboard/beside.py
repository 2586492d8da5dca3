"""Published values beside ours, in the paper's own flavour of a score."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from lightning_modules.runs.reader import read_predictions
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
    """Return the published BLEU of a claim beside ours.

    None without published BLEU, and where no sentence counts in its flavour.
    """
    published = claim.published
    if published is None or published.flavour is None:
        return None
    systems = [system for system in published.values if system in evidence.runs]
    if not systems:
        return None
    theirs = [published.values[system] for system in systems]
    flavour = FLAVOURS[published.flavour]
    rows = _rows(flavour, evidence)
    if not rows:
        return None
    ours = [
        float(np.mean([_score(flavour, run, rows) for run in evidence.runs[system]]))
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


def _rows(flavour: Flavour, evidence: Evidence) -> tuple[int, ...]:
    """Return the numbers of the sentences that count.

    An unknown word is one that the vocabularies of a system of the claim lack.
    """
    every = [run for of_system in evidence.runs.values() for run in of_system]
    unknown = set[int]().union(*map(_unknown, every)) if flavour.no_unknown else set[int]()
    return tuple(row for row in range(len(every[0].test.references)) if row not in unknown)


@cache
def _unknown(run: Run) -> set[int]:
    """Return the sentences with a word that this run does not know; its test set has all runs'."""
    folder = run.output.folder
    predictions = read_predictions(folder) if folder else []
    return {row for row, each in enumerate(predictions) if each.unknown}


@cache
def _score(flavour: Flavour, run: Run, rows: tuple[int, ...]) -> float:
    """Return the score of a run on some sentences, which several claims may share."""
    hypotheses = [run.output.hypotheses[row] for row in rows]
    references = [run.test.references[row] for row in rows]
    return flavour.score(hypotheses, references, run.result.data.target)
