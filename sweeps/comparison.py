"""Several runs side by side: distinct labels, means over seeds, fairness conditions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from lightning_modules.metrics.lengths import BucketScore
from lightning_modules.run_folder import (
    SCORES,
    BrokenFileError,
    Failure,
    Result,
    read_failure,
    read_result,
    read_scores,
)
from sweeps.conditions import Condition, check_conditions


@dataclass(frozen=True)
class Run:
    """A finished run under the label that its line in the figure carries."""

    label: str
    folder: Path
    result: Result
    buckets: list[BucketScore]


@dataclass(frozen=True)
class FailedJob:
    """A job without a result."""

    label: str
    folder: Path
    error: str


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation (``None`` for one value) over seeds."""

    mean: float
    deviation: float | None
    low: float
    high: float


@dataclass(frozen=True)
class MeanBucket:
    """One length bucket of a variant; ``bleu`` is ``None`` where no seed has a score."""

    bucket: BucketScore
    bleu: Spread | None


@dataclass(frozen=True)
class Variant:
    """The runs of one label, one for each seed: a line of the figure."""

    label: str
    runs: list[Run]

    @property
    def seeds(self) -> list[int]:
        """Seeds in the order of the runs."""
        return [run.result.seed for run in self.runs]

    @property
    def bleu(self) -> Spread:
        """BLEU on the whole test set, over seeds."""
        return _spread([run.result.scores.bleu for run in self.runs])

    @property
    def aer(self) -> Spread | None:
        """Alignment error rate in percent, over seeds."""
        rates = (run.result.scores.aer for run in self.runs)
        return _spread_or_none(None if rate is None else 100 * rate for rate in rates)

    @property
    def buckets(self) -> list[MeanBucket]:
        """BLEU by length, over seeds."""
        return [
            MeanBucket(scores[0], _spread_or_none(score.bleu for score in scores))
            for scores in _by_bounds(self.runs)
        ]

    @property
    def bleu_by_bounds(self) -> dict[tuple[int, int | None], Spread | None]:
        """BLEU over seeds under the bounds of each bucket."""
        return {mean.bucket.bounds: mean.bleu for mean in self.buckets}


@dataclass(frozen=True)
class Comparison:
    """Finished runs in run order, failed jobs, and whether the comparison is fair."""

    name: str
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
    def buckets(self) -> list[BucketScore]:
        """Every length bucket that a run has, shortest first; the scores are the first run's."""
        return [scores[0] for scores in _by_bounds(self.runs)]

    @property
    def aligned(self) -> bool:
        """Whether any run was compared with gold alignments."""
        return any(run.result.scores.aer is not None for run in self.runs)

    @property
    def train_limits(self) -> list[int]:
        """The longest training sentences, in words, where known."""
        limits = {run.result.train_max_words for run in self.runs}
        return sorted(limit for limit in limits if limit is not None)


def collect(run_dirs: Sequence[Path], name: str = "comparison") -> Comparison:
    """Read run folders into a comparison; a folder without a readable result is a failed job."""
    finished: list[tuple[Path, Result, list[BucketScore]]] = []
    failed: list[FailedJob] = []
    for folder in run_dirs:
        try:
            result = read_result(folder)
            if result is None:
                failed.append(_failed_job(folder, read_failure(folder)))
            else:
                finished.append((folder, result, _scores(folder)))
        except BrokenFileError as error:
            failed.append(FailedJob(folder.name, folder, str(error)))
    results = [result for _, result, _ in finished]
    labels = label_runs(results)
    runs = [Run(label, *parts) for label, parts in zip(labels, finished, strict=True)]
    return Comparison(name, runs, failed, check_conditions(labels, results) if runs else [])


def _scores(folder: Path) -> list[BucketScore]:
    scores = read_scores(folder)
    if not scores:
        raise BrokenFileError(f"{SCORES} is missing or has no rows")
    return scores


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


def _settings(result: Result) -> list[str]:
    """The overrides of a run, less its seed and its variant, which are shown anyway."""
    shown = {f"model={result.variant}", f"variant={result.variant}", f"seed={result.seed}"}
    return [override for override in result.overrides if override not in shown]


def _by_bounds(runs: Iterable[Run]) -> list[list[BucketScore]]:
    """The scores of all runs for each bucket, shortest bucket first, the open one last."""
    groups: dict[tuple[int, int | None], list[BucketScore]] = {}
    for run in runs:
        for score in run.buckets:
            groups.setdefault(score.bounds, []).append(score)
    ordered = sorted(groups, key=lambda bounds: (bounds[0], bounds[1] or float("inf")))
    return [groups[bounds] for bounds in ordered]


def _spread(values: Sequence[float]) -> Spread:
    deviation = stdev(values) if len(values) > 1 else None
    return Spread(fmean(values), deviation, min(values), max(values))


def _spread_or_none(values: Iterable[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    return _spread(known) if known else None
