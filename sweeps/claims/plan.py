"""What a command on claims would train, and about how long that would take."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lightning_modules.runs.checksums import BrokenFileError
from lightning_modules.runs.files import read_result
from lightning_modules.runs.identity import Identity
from lightning_modules.runs.paths import CHECKPOINTS, LAST, RESULT
from sweeps.claims.claim import Claim
from sweeps.claims.planned_runs import PlannedRun, Rates
from sweeps.comparison.numbers import format_duration

TESTED = 1.3
"""Time of a whole job as a multiple of its training: start, validation and test come on top."""


class SkippedClaim(NamedTuple):
    """A claim that cannot be run at the tier."""

    claim: Claim
    why: str


@dataclass(frozen=True)
class Plan:
    """The runs that chosen claims need; those that exist are used again."""

    claims: Sequence[Claim]
    left_out: Sequence[SkippedClaim]
    wanted: Sequence[PlannedRun]
    finished: Mapping[str, Path]
    """Folders of finished runs by identity."""
    trained: Mapping[str, Path]
    """Folders of finished runs by training."""

    @property
    def missing(self) -> list[PlannedRun]:
        """The runs that are to be trained."""
        return [run for run in self.wanted if run.identity not in self.finished]

    @property
    def trainings(self) -> list[list[PlannedRun]]:
        """All runs, those together that differ only in how the model is tested."""
        together: dict[str, list[PlannedRun]] = {}
        for run in self.wanted:
            together.setdefault(run.training, []).append(run)
        return [*together.values()]

    def folder(self, run: PlannedRun) -> Path:
        """Return where a run is, or will be."""
        return self.finished.get(run.identity, run.folder)

    def runs_of(self, claim: Claim) -> list[PlannedRun]:
        """Return the runs that a claim needs, also those that another claim needs too."""
        return [run for run in self.wanted if any(need.claim == claim.name for need in run.needs)]

    def is_one_training(self, claim: Claim) -> bool:
        """Return whether all systems of a claim are the same trainings, tested in several ways."""
        trainings: dict[str, set[str]] = {system: set() for system in claim.systems}
        for run in self.wanted:
            for need in run.needs:
                if need.claim == claim.name:
                    trainings[need.system].add(run.training)
        first, *others = trainings.values()
        return bool(others) and all(each == first for each in others)

    def seeds_of(self, claim: Claim) -> int:
        """Return the number of seeds of each system of a claim."""
        needs = [need for run in self.wanted for need in run.needs if need.claim == claim.name]
        return len({need.seed for need in needs})


class JobTime(NamedTuple):
    """Estimate of the summed time of jobs."""

    seconds: float
    """Time of the jobs for which a finished run gives the rate."""
    unknown: int
    """Number of jobs without such a run."""

    def text(self, at_once: int = 1) -> str:
        """Return the time in words, with some jobs at the same time."""
        time = format_duration(self.seconds / at_once)
        if not self.unknown:
            return time
        return f"≥ {time}" if self.seconds else "unknown"


def job_time(runs: Sequence[PlannedRun], rates: Rates, trained: Iterable[str] = ()) -> JobTime:
    """Estimate the summed time of jobs; a rate comes from finished runs of the same workload.

    Each training counts once, and not at all if it is in ``trained``.
    """
    total, unknown, done = 0.0, 0, set(trained)
    for run in runs:
        [(kind, amount)] = run.budget.items()
        rate = rates.get((run.workload, kind))
        if rate is None:
            unknown += 1
        else:
            total += (TESTED - (run.training in done)) * amount / rate
        done.add(run.training)
    return JobTime(total, unknown)


class FinishedRuns(NamedTuple):
    """Folders of finished runs."""

    runs: dict[str, Path]
    """By the identity of the run."""
    trainings: dict[str, Path]
    """By the training alone; a run whose checkpoints are gone does not count."""


def finished_runs(outputs: Path) -> FinishedRuns:
    """Return the finished runs in ``outputs``.

    A run counts wherever it was trained: alone, for claims, or in a comparison.
    """
    found = FinishedRuns({}, {})
    for file in sorted(outputs.glob(f"**/{RESULT}")):
        try:
            result = read_result(file.parent)
        except BrokenFileError:
            continue
        if result is not None:
            identity = Identity.of_result(result).before_data()
            found.runs[identity.run] = file.parent
            if (file.parent / CHECKPOINTS / LAST).is_file():
                found.trainings[identity.training] = file.parent
    return found
