"""Runs collected into a comparison: names, conditions of fairness, failed jobs."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from lightning_modules.metrics.systems import EvalSet, System
from lightning_modules.metrics.words import AS_LANGUAGES, WordSettings
from lightning_modules.runs.files import BrokenFileError, read_failure, read_run
from lightning_modules.runs.job import label_of, label_with_changes
from lightning_modules.runs.schema import Failure, Result
from lightning_modules.runs.settings import labelling_overrides
from sweeps.comparison.conditions import Condition, check_conditions
from sweeps.comparison.outputs import EvalSetCache, RunOutput, read_output


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
    labels = [label_of(each.variant, each.overrides, each.config) for each in results]
    overrides_by_variant: dict[str, list[list[str]]] = {}
    variants_by_label: dict[str, set[str]] = {}
    for result, label in zip(results, labels, strict=True):
        overrides = labelling_overrides(result.overrides, result.variant)
        overrides_by_variant.setdefault(result.variant, []).append(overrides)
        variants_by_label.setdefault(label, set()).add(result.variant)
    named: list[SystemName] = []
    repetitions: Counter[tuple[str, int]] = Counter()
    for result, label in zip(results, labels, strict=True):
        shared = set.intersection(*map(set, overrides_by_variant[result.variant]))
        overrides = labelling_overrides(result.overrides, result.variant)
        own = [part for part in overrides if part not in shared]
        if len(variants_by_label[label]) > 1:
            label = f"{label} ({result.variant})"
        each = SystemName(
            ", ".join([result.variant, *own]), label_with_changes(label, result.overrides, own)
        )
        repetitions[each.name, result.seed] += 1
        repetition = repetitions[each.name, result.seed]
        named.append(each if repetition == 1 else each.with_ending(f" #{repetition}"))
    return named


class FailedJob(NamedTuple):
    """A job without a result."""

    label: str
    folder: Path
    error: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """Finished runs, failed jobs, and the conditions of a fair comparison."""

    runs: list[RunOutput]
    """In run order, those of systems without attention first: others are compared with them."""
    failed: list[FailedJob]
    conditions: list[Condition]

    @cached_property
    def by_system(self) -> dict[System, list[RunOutput]]:
        """The runs of each system, one for each seed, in the order of their first runs."""
        groups: dict[str, list[RunOutput]] = {}
        for run in self.runs:
            groups.setdefault(run.name, []).append(run)
        return {
            System(name, runs[0].test, [run.output for run in runs], runs[0].label): runs
            for name, runs in groups.items()
        }

    @property
    def systems(self) -> list[System]:
        """The systems to be scored."""
        return list(self.by_system)

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
    words: WordSettings = AS_LANGUAGES,
) -> Comparison:
    """Read run folders into a comparison; a folder without a readable result is a failed job.

    BLEU and ``metrics`` are counted for runs that lack them or that cut ``words`` in another way.
    With ``recorded``, ``metrics`` are those of an earlier comparison, and a user's metric may be
    gone. ``tuned`` are the keys of the settings that studies have chosen.
    """
    finished: list[RunOutput] = []
    failed: list[FailedJob] = []
    failures: dict[int, Failure] = {}  # by the place in `failed`
    tests = EvalSetCache(None, words, metrics, recorded)
    for folder in run_dirs:
        try:
            if not folder.is_dir():
                failed.append(FailedJob(folder.name, folder, "the folder is missing"))
            elif (run := read_run(folder)) is None:
                failures[len(failed)] = read_failure(folder)
                failed.append(FailedJob(folder.name, folder, failures[len(failed)].error))
            else:
                finished.append(read_output(folder, run, tests))
        except BrokenFileError as error:
            failed.append(FailedJob(folder.name, folder, str(error)))
    results = [run.result for run in finished]
    given = [set(each.overrides) for each in results]
    given += [set(each.overrides) for each in failures.values()]
    shared = set.intersection(*given) if len(given) > 1 else set()
    for place, failure in failures.items():
        if label := _label_of_failure(failure, shared):
            failed[place] = failed[place]._replace(label=label)
    named = _name_test_sets(name_runs(results), [run.test for run in finished])
    runs = [
        replace(run, name=each.name, label=each.label)
        for run, each in zip(finished, named, strict=True)
    ]
    labels = [run.label for run in runs]
    runs.sort(key=lambda run: has_attention(run.result))
    return Comparison(runs, failed, check_conditions(labels, results, tuned) if runs else [])


def has_attention(result: Result) -> bool:
    """Return whether the decoder attends to the source; every system but a recurrent one does."""
    model = result.config.get("model") or {}
    return model.get("attention", True) is not None


def _label_of_failure(failure: Failure, shared: Collection[str]) -> str:
    """Return the variant and the seed of a failed job, and overrides that not all jobs have."""
    if failure.variant is None:  # the job ended before its configuration was known
        return " ".join(failure.overrides)
    names = [failure.variant, None if failure.seed is None else f"seed {failure.seed}"]
    others = labelling_overrides(failure.overrides, failure.variant)
    return ", ".join(part for part in [*names, *others] if part and part not in shared)


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
