"""Runs collected into a comparison: names, conditions of fairness, failed jobs."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.runs.files import BrokenFileError, read_failure, read_run
from lightning_modules.runs.job import label_of, label_with_changes
from lightning_modules.runs.schema import Failure, Result
from lightning_modules.runs.settings import labelling_overrides
from sweeps.comparison.conditions import Condition, check_conditions
from sweeps.comparison.outputs import EvalSetCache, read_output


class SystemName(NamedTuple):
    """The name of a run's system, which is a key, and its label, which people read."""

    name: str
    label: str

    def with_ending(self, ending: str) -> "SystemName":
        """Return both with an ending."""
        return SystemName(self.name + ending, self.label + ending)


def name_runs(results: Sequence[Result]) -> list[SystemName]:
    """Return the name of each run: its variant, and overrides that its variant's runs do not share.

    Seeds of one variant share a name. A run that repeats name and seed gets ``#2``, ``#3``, …
    Variants of one label are told apart by their names in parentheses.
    """
    all_overrides = [labelling_overrides(result.overrides, result.variant) for result in results]
    labels = [label_of(result.variant, result.overrides, result.config) for result in results]
    variants_by_label: dict[str, set[str]] = {}
    for result, label in zip(results, labels, strict=True):
        variants_by_label.setdefault(label, set()).add(result.variant)
    named: list[SystemName] = []
    repetitions: Counter[tuple[str, int]] = Counter()
    for result, label, overrides in zip(results, labels, all_overrides, strict=True):
        siblings = [
            o for r, o in zip(results, all_overrides, strict=True) if r.variant == result.variant
        ]
        shared = set(siblings[0]).intersection(*siblings)
        own = [part for part in overrides if part not in shared]
        if len(variants_by_label[label]) > 1:
            label = f"{label} ({result.variant})"
        each = SystemName(", ".join([result.variant, *own]), label_with_changes(label, own))
        repetitions[each.name, result.seed] += 1
        repetition = repetitions[each.name, result.seed]
        named.append(each if repetition == 1 else each.with_ending(f" #{repetition}"))
    return named


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run, with the name of its system."""

    name: str  # key of the system; its seeds share the name
    label: str  # what people read in place of the name
    folder: Path
    result: Result
    test: EvalSet
    output: Output


@dataclass(frozen=True)
class FailedJob:
    """A job without a result."""

    label: str
    folder: Path
    error: str


@dataclass(frozen=True, eq=False)
class Variant:
    """The runs of one name, one for each seed: a line of the figure."""

    name: str
    label: str
    runs: list[Run]

    @property
    def system(self) -> System:
        """The runs' outputs as one system to be scored."""
        outputs = [run.output for run in self.runs]
        return System(self.name, self.runs[0].test, outputs, self.label)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Finished runs, failed jobs, and the conditions of a fair comparison."""

    runs: list[Run]
    """In run order, those of systems without attention first: others are compared with them."""
    failed: list[FailedJob]
    conditions: list[Condition]

    @property
    def variants(self) -> list[Variant]:
        """The runs grouped by name, in the order in which the names first appear."""
        groups: dict[str, list[Run]] = {}
        for run in self.runs:
            groups.setdefault(run.name, []).append(run)
        return [Variant(name, runs[0].label, runs) for name, runs in groups.items()]

    @property
    def train_limits(self) -> list[int]:
        """Lengths of the longest training sentences, in words, where known."""
        limits = {run.result.train_max_words for run in self.runs}
        return sorted(limit for limit in limits if limit is not None)


def collect(
    run_dirs: Sequence[Path],
    metrics: Sequence[str] = (),
    recorded: bool = False,
    tuned: Collection[str] = (),
) -> Comparison:
    """Read run folders into a comparison; a folder without a readable result is a failed job.

    BLEU and ``metrics`` are counted for runs that lack them. With ``recorded``, ``metrics`` are
    those of an earlier comparison, and a user's metric may be gone. ``tuned`` are the keys of the
    settings that studies have chosen.
    """
    finished: list[tuple[Path, Result, EvalSet, Output]] = []
    failed: list[FailedJob] = []
    tests = EvalSetCache(None, metrics, recorded)
    for folder in run_dirs:
        if not folder.is_dir():
            failed.append(FailedJob(folder.name, folder, "the folder is missing"))
            continue
        try:
            run = read_run(folder)
            if run is None:
                failed.append(_failed_job(folder, read_failure(folder)))
            else:
                finished.append((folder, run.result, *read_output(folder, run, tests)))
        except BrokenFileError as error:
            failed.append(FailedJob(folder.name, folder, str(error)))
    results = [result for _, result, _, _ in finished]
    named = _name_test_sets(name_runs(results), [test for _, _, test, _ in finished])
    labels = [each.label for each in named]
    runs = [Run(each.name, each.label, *parts) for each, parts in zip(named, finished, strict=True)]
    runs.sort(key=lambda run: has_attention(run.result))
    return Comparison(runs, failed, check_conditions(labels, results, tuned) if runs else [])


def has_attention(result: Result) -> bool:
    """Return whether the decoder attends to the source; every system but a recurrent one does."""
    model = result.config.get("model") or {}
    return model.get("attention", True) is not None


def _failed_job(folder: Path, failure: Failure) -> FailedJob:
    names = [failure.variant, None if failure.seed is None else f"seed {failure.seed}"]
    if failure.variant is None:  # the job ended before its configuration was known
        return FailedJob(" ".join(failure.overrides) or folder.name, folder, failure.error)
    others = labelling_overrides(failure.overrides, failure.variant)
    label = ", ".join(part for part in [*names, *others] if part)
    return FailedJob(label, folder, failure.error)


def _name_test_sets(named: Sequence[SystemName], tests: Sequence[EvalSet]) -> list[SystemName]:
    """Add the number of the test set to the names of seeds that were tested on another text.

    The text differs where a corpus changed between two runs of the same command.
    """
    tests_by_name: dict[str, list[EvalSet]] = {}
    distinct = []
    for each, test in zip(named, tests, strict=True):
        earlier = tests_by_name.setdefault(each.name, [])
        if test not in earlier:
            earlier.append(test)
        number = earlier.index(test) + 1
        distinct.append(each if number == 1 else each.with_ending(f", test set {number}"))
    return distinct
