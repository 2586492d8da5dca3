"""Several runs side by side: distinct labels, fairness conditions, what failed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lightning_modules.metrics.systems import Output, System, TestSet
from lightning_modules.run_folder import (
    BrokenFileError,
    Failure,
    Result,
    read_failure,
    read_result,
)
from sweeps.conditions import Condition, check_conditions
from sweeps.evaluation.runs import TestSets, read_output


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run under the label that its line in the figure carries."""

    label: str
    folder: Path
    result: Result
    test: TestSet
    output: Output


@dataclass(frozen=True)
class FailedJob:
    """A job without a result."""

    label: str
    folder: Path
    error: str


@dataclass(frozen=True, eq=False)
class Variant:
    """The runs of one label, one for each seed: a line of the figure."""

    label: str
    runs: list[Run]

    @property
    def system(self) -> System:
        """Its outputs, to be scored."""
        return System(self.label, self.runs[0].test, [run.output for run in self.runs])


@dataclass(frozen=True, eq=False)
class Comparison:
    """Finished runs in run order, failed jobs, and whether the comparison is fair."""

    runs: list[Run]
    failed: list[FailedJob]
    conditions: list[Condition]

    @property
    def variants(self) -> list[Variant]:
        """The runs grouped by label, in the order in which the labels first appear."""
        groups: dict[str, list[Run]] = {}
        for run in self.runs:
            groups.setdefault(run.label, []).append(run)
        return [Variant(label, runs) for label, runs in groups.items()]

    @property
    def train_limits(self) -> list[int]:
        """The longest training sentences, in words, where known."""
        limits = {run.result.train_max_words for run in self.runs}
        return sorted(limit for limit in limits if limit is not None)


def collect(run_dirs: Sequence[Path], ter: bool = False) -> Comparison:
    """Read run folders into a comparison; a folder without a readable result is a failed job.

    ``ter``: count TER where a run did not.
    """
    finished: list[tuple[Path, Result, TestSet, Output]] = []
    failed: list[FailedJob] = []
    tests = TestSets(None, ter)
    for folder in run_dirs:
        if not folder.is_dir():
            failed.append(FailedJob(folder.name, folder, "the folder is missing"))
            continue
        try:
            result = read_result(folder)
            if result is None:
                failed.append(_failed_job(folder, read_failure(folder)))
            else:
                finished.append((folder, result, *read_output(folder, result, tests)))
        except BrokenFileError as error:
            failed.append(FailedJob(folder.name, folder, str(error)))
    results = [result for _, result, _, _ in finished]
    labels = _apart(label_runs(results), [test for _, _, test, _ in finished])
    runs = [Run(label, *parts) for label, parts in zip(labels, finished, strict=True)]
    return Comparison(runs, failed, check_conditions(labels, results) if runs else [])


def _failed_job(folder: Path, failure: Failure) -> FailedJob:
    named = [failure.variant, None if failure.seed is None else f"seed {failure.seed}"]
    own = [o for o in failure.overrides if not o.startswith(("model=", "seed=", "comparison="))]
    label = ", ".join(part for part in [*named, *own] if part) or " ".join(failure.overrides)
    return FailedJob(label or folder.name, folder, failure.error)


def label_runs(results: Sequence[Result]) -> list[str]:
    """A label for each run: its variant, and the overrides in which runs of the variant differ.

    Seeds of one variant share a label. A run that repeats label and seed gets ``#2``, ``#3``, …
    """
    settings = [_settings(result) for result in results]
    labels: list[str] = []
    seen: Counter[tuple[str, int]] = Counter()
    for result, own in zip(results, settings, strict=True):
        siblings = [
            s for r, s in zip(results, settings, strict=True) if r.variant == result.variant
        ]
        shared = set(siblings[0]).intersection(*siblings)
        label = ", ".join([result.variant, *(part for part in own if part not in shared)])
        seen[label, result.seed] += 1
        repetition = seen[label, result.seed]
        labels.append(label if repetition == 1 else f"{label} #{repetition}")
    return labels


def _apart(labels: Sequence[str], tests: Sequence[TestSet]) -> list[str]:
    """Seeds that were tested on other text than the first of their label get another label.

    That happens where a corpus changed between two runs of the same command.
    """
    known: dict[str, list[TestSet]] = {}
    apart = []
    for label, test in zip(labels, tests, strict=True):
        own = known.setdefault(label, [])
        if test not in own:
            own.append(test)
        place = own.index(test) + 1
        apart.append(label if place == 1 else f"{label}, test set {place}")
    return apart


def _settings(result: Result) -> list[str]:
    """The overrides of a run, less its seed and its variant, which are shown anyway."""
    shown = {f"model={result.variant}", f"variant={result.variant}", f"seed={result.seed}"}
    return [override for override in result.overrides if override not in shown]
