"""What a command on claims would train, and about how long that would take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.table import Table

from lightning_modules.runs.reader import read_result
from sweeps.claims.claim import Claim
from sweeps.claims.runs import Wanted
from sweeps.report.opening.costs import duration

TESTED = 1.3
"""Time of a whole job as a multiple of its training: start, validation and test come on top."""
KINDS = ("target_tokens", "updates", "flops", "seconds")
"""Kinds of budgets whose amount a run has spent per second."""
Rates = Mapping[tuple[str, str], float]
"""Amount spent in a second of training, by variant and kind of budget."""


@dataclass(frozen=True)
class Plan:
    """The runs that chosen claims need; those that exist are used again."""

    claims: Sequence[Claim]
    left_out: Mapping[str, str]
    """Claims that cannot be run at the tier, with the reason."""
    wanted: Sequence[Wanted]
    finished: Mapping[str, Path]
    """Folders of finished runs by identity."""

    @property
    def missing(self) -> list[Wanted]:
        """The runs that are to be trained."""
        return [run for run in self.wanted if run.identity not in self.finished]

    def folder(self, run: Wanted) -> Path:
        """Return where a run is, or will be."""
        return self.finished.get(run.identity, run.folder)

    def runs_of(self, claim: Claim) -> list[Wanted]:
        """Return the runs that a claim needs, also those that another claim needs too."""
        return [run for run in self.wanted if any(need.claim == claim.name for need in run.needs)]

    def seeds_of(self, claim: Claim) -> int:
        """Return the number of seeds of each system of a claim."""
        needs = [need for run in self.wanted for need in run.needs if need.claim == claim.name]
        return len({need.seed for need in needs})


def rates_of(finished: Mapping[str, Path]) -> Rates:
    """Return the median rates of training on this machine, from finished runs."""
    found: dict[tuple[str, str], list[float]] = {}
    for folder in finished.values():
        result = read_result(folder)
        if result is None or not result.training.seconds:
            continue
        for kind in KINDS:
            if spent := result.training.spent(kind):
                rate = spent / result.training.seconds
                found.setdefault((result.variant, kind), []).append(rate)
    return {key: median(values) for key, values in found.items()}


def job_seconds(runs: Sequence[Wanted], rates: Rates) -> float | None:
    """Estimate the summed time of jobs; None for a budget whose rate no finished run tells.

    A variant without a rate counts as the slowest that is known.
    """
    total = 0.0
    for run in runs:
        [(kind, amount), *others] = run.budget.items()
        known = {variant: rate for (variant, of), rate in rates.items() if of == kind}
        if others or not known:
            return None
        total += TESTED * amount / known.get(run.variant, min(known.values()))
    return total


def plan_table(plan: Plan, powers: Mapping[str, str], at_once: int) -> Table:
    """Return what each claim needs: systems, runs, those that exist, job time, power.

    ``powers`` are the chances of a decision as text, by the names of claims.
    """
    rates = rates_of(plan.finished)
    total = job_seconds(plan.missing, rates)
    cost = "time unknown (no run was timed here)" if total is None else duration(total / at_once)
    title = (
        f"{len(plan.claims)} claims need {len(plan.wanted)} runs; {len(plan.missing)} are missing: "
        f"{cost} with {at_once} at a time"
    )
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    table.add_column("claim", no_wrap=True)
    for column in ("systems", "seeds", "runs", "missing", "job time", "decides"):
        table.add_column(column, justify="right")
    missing = {run.identity for run in plan.missing}
    for claim in plan.claims:
        runs = plan.runs_of(claim)
        lacking = [run for run in runs if run.identity in missing]
        spent = job_seconds(lacking, rates)
        table.add_row(
            claim.name,
            str(len(claim.systems)),
            str(plan.seeds_of(claim)),
            str(len(runs)),
            str(len(lacking)),
            "–" if spent is None else duration(spent),
            powers.get(claim.name, "–"),
        )
    return table
