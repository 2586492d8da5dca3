"""Runs collected into a comparison: distinct labels, conditions of fairness, failed jobs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lightning_modules.metrics.systems import Output, System, TestSet
from lightning_modules.runs.reader import BrokenFileError, read_failure, read_result
from lightning_modules.runs.schema import Failure, Result
from lightning_modules.runs.settings.table import labelling_overrides
from sweeps.comparison.conditions import Condition, check_conditions
from sweeps.evaluation.outputs import TestSetCache, read_output


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run, with the label of its line in the figure."""

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
        """The runs' outputs as one system to be scored."""
        return System(self.label, self.runs[0].test, [run.output for run in self.runs])


@dataclass(frozen=True, eq=False)
class Comparison:
    """Finished runs in run order, failed jobs, and the conditions of a fair comparison."""

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
        """Lengths of the longest training sentences, in words, where known."""
        limits = {run.result.train_max_words for run in self.runs}
        return sorted(limit for limit in limits if limit is not None)


def collect(
    run_dirs: Sequence[Path], metrics: Sequence[str] = (), recorded: bool = False
) -> Comparison:
    """Read run folders into a comparison; a folder without a readable result is a failed job.

    BLEU and ``metrics`` are counted for runs that lack them. With ``recorded``, ``metrics`` are
    those of an earlier comparison, and a user's metric may be gone.
    """
    finished: list[tuple[Path, Result, TestSet, Output]] = []
    failed: list[FailedJob] = []
    tests = TestSetCache(None, metrics, recorded)
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
    labels = _label_test_sets(label_runs(results), [test for _, _, test, _ in finished])
    runs = [Run(label, *parts) for label, parts in zip(labels, finished, strict=True)]
    return Comparison(runs, failed, check_conditions(labels, results) if runs else [])


def _failed_job(folder: Path, failure: Failure) -> FailedJob:
    names = [failure.variant, None if failure.seed is None else f"seed {failure.seed}"]
    if failure.variant is None:  # the job ended before its configuration was known
        return FailedJob(" ".join(failure.overrides) or folder.name, folder, failure.error)
    others = labelling_overrides(failure.overrides, failure.variant)
    label = ", ".join(part for part in [*names, *others] if part)
    return FailedJob(label, folder, failure.error)


def label_runs(results: Sequence[Result]) -> list[str]:
    """Return a label for each run: its variant, and overrides that its variant's runs do not share.

    Seeds of one variant share a label. A run that repeats label and seed gets ``#2``, ``#3``, …
    """
    all_overrides = [labelling_overrides(result.overrides, result.variant) for result in results]
    labels: list[str] = []
    repetitions: Counter[tuple[str, int]] = Counter()
    for result, overrides in zip(results, all_overrides, strict=True):
        siblings = [
            o for r, o in zip(results, all_overrides, strict=True) if r.variant == result.variant
        ]
        shared = set(siblings[0]).intersection(*siblings)
        label = ", ".join([result.variant, *(part for part in overrides if part not in shared)])
        repetitions[label, result.seed] += 1
        repetition = repetitions[label, result.seed]
        labels.append(label if repetition == 1 else f"{label} #{repetition}")
    return labels


def _label_test_sets(labels: Sequence[str], tests: Sequence[TestSet]) -> list[str]:
    """Add the number of the test set to the labels of seeds that were tested on another text.

    The text differs where a corpus changed between two runs of the same command.
    """
    tests_by_label: dict[str, list[TestSet]] = {}
    distinct_labels = []
    for label, test in zip(labels, tests, strict=True):
        earlier = tests_by_label.setdefault(label, [])
        if test not in earlier:
            earlier.append(test)
        number = earlier.index(test) + 1
        distinct_labels.append(label if number == 1 else f"{label}, test set {number}")
    return distinct_labels
