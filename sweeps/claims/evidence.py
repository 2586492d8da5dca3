"""Evidence of claims: the finished runs of their systems, and what verdicts on them rest on."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datamodules.nearest_copy import NEAREST_COPY
from lightning_modules.metrics.bleu import bleu
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.contrast_choices import RANGE, PairChoices
from lightning_modules.metrics.lengths import Bucket, length_buckets, sentence_lengths
from lightning_modules.metrics.metric import Array
from lightning_modules.metrics.systems import EvalSet
from lightning_modules.metrics.text_metrics import TEXT_METRICS
from lightning_modules.runs.checksums import BrokenFileError
from lightning_modules.runs.files import read_arrays, read_failure, read_result, read_run
from lightning_modules.runs.identity import Identity
from lightning_modules.runs.paths import FAILURE, STATISTICS
from lightning_modules.runs.schema import Result
from lightning_modules.testing.scoring import Scoring
from sweeps.claims.claim import Claim
from sweeps.claims.intervals import Draws, Quantity, Rows, SystemValues, values_of_samples
from sweeps.claims.measures import AgreementDifference, SentenceLengths
from sweeps.claims.pooling import PooledEffect
from sweeps.claims.trajectory import Trajectory
from sweeps.claims.verdict import Margin, Verdict
from sweeps.comparison.outputs import EvalSetCache, read_output

FARTHEST = 20  # distances of contrastive pairs beyond which all are in one group
Planned = Mapping[str, Sequence[tuple[int, Path]]]  # seeds and folders of the runs of each system


class UnusableError(Exception):
    """Why a claim has no verdict, in one line."""


@dataclass(frozen=True, eq=False)
class ClaimRun:
    """A run of a system of a claim: its record and counts, without its translations."""

    seed: int
    folder: Path
    result: Result
    test: EvalSet
    statistics: Mapping[str, Array]  # what each metric counts, `(sentences, columns)` by name
    contrast: PairChoices | None
    shortest: Bucket  # the test sentences of the shortest length group that has enough

    @cached_property
    def training(self) -> str:
        """A key that is equal for identical trainings."""
        return Identity.of_result(self.result).training

    @property
    def loss(self) -> float:
        """The validation loss of the tested weights, in nats per target token; NaN without."""
        loss = self.result.training.val_loss
        return np.nan if loss is None else loss

    @property
    def whole_bleu(self) -> float:
        """BLEU on the whole test set."""
        return float(bleu(self.statistics["bleu"].sum(0)))

    @property
    def reached(self) -> float:
        """BLEU on the shortest sentences."""
        return float(bleu(self.statistics["bleu"][self.shortest.index].sum(0)))

    @property
    def usual_floor(self) -> float | None:
        """BLEU of the nearest copies on the shortest sentences; None if not known."""
        found = self.result.baselines.get(NEAREST_COPY)
        scores = {} if found is None else found.by_length.get(self.shortest.bounds.label, {})
        return scores.get("bleu")


@dataclass(frozen=True, eq=False)
class Evidence:
    """The runs of a claim's systems, on rows that are test sentences or contrastive pairs."""

    runs: Mapping[str, Sequence[ClaimRun]]  # runs of each system, one for each seed
    statistics: Mapping[str, Sequence[Array]]
    """What the metric counts, ``(rows, columns)`` for each run."""
    lengths: Mapping[int, SentenceLengths]  # of the rows of each seed's test set
    draws: Draws | None
    """Resamples of the test set of all seeds; None where each seed has its own."""
    axis: str  # what `lengths` are, for readers

    def values(self, quantity: Callable[[SentenceLengths], Quantity], system: str) -> SystemValues:
        """Return a quantity of a system. Raises ``ValueError`` if a seed has no value."""
        found = [quantity(self.lengths[run.seed]) for run in self.runs[system]]
        if self.draws is None:
            return values_of_samples(found, self.statistics[system])
        return self.draws.values(found[0], self.statistics[system])

    def without(self, seeds: Mapping[str, Collection[int]], paired: bool) -> "Evidence":
        """Return the evidence without some seeds of systems; without them in all if ``paired``."""
        every = {seed for lost in seeds.values() for seed in lost}
        lost = {system: every if paired else seeds.get(system, ()) for system in self.runs}
        kept = {
            system: [
                (run, counts)
                for run, counts in zip(runs, self.statistics[system], strict=True)
                if run.seed not in lost[system]
            ]
            for system, runs in self.runs.items()
        }
        return replace(
            self,
            runs={system: [run for run, _ in of_system] for system, of_system in kept.items()},
            statistics={system: [counts for _, counts in of] for system, of in kept.items()},
        )

    @property
    def seeds(self) -> dict[str, list[int]]:
        """The seeds of each system."""
        return {system: [run.seed for run in runs] for system, runs in self.runs.items()}

    @property
    def one_training(self) -> bool:
        """Whether all systems have the same trainings, and differ in how these are tested."""
        first, *others = ([run.training for run in of_system] for of_system in self.runs.values())
        return bool(others) and all(each == first for each in others)

    @property
    def seconds(self) -> float:
        """Seconds of training of all runs together; a training with several tests counts once."""
        every = [run for of_system in self.runs.values() for run in of_system]
        return sum({run.training: run.result.training.seconds or 0.0 for run in every}.values())


class Records:
    """Runs, each read once, and the resamples that claims on one test set share."""

    def __init__(self, scoring: Scoring, scores: Collection[str]) -> None:
        """Read runs for claims that measure ``scores``."""
        self._scoring = scoring
        # Scores of translations that ``scoring.metrics`` left out are counted here.
        self._tests = EvalSetCache(None, scoring, [name for name in TEXT_METRICS if name in scores])
        self._names = {METRICS[name].statistics for name in ("bleu", *scores)}
        self._runs: dict[Path, ClaimRun] = {}
        self._known: dict[str, ClaimRun] = {}
        self._shortest: dict[int, Bucket] = {}
        self._draws: dict[bytes, Draws] = {}

    def evidence(self, claim: Claim, planned: Planned) -> Evidence:
        """Return what runs of the systems of a claim show.

        Raises ``UnusableError`` if a run is missing, or if runs cannot be compared.
        """
        runs = {system: self._of_system(claim, system, planned) for system in claim.systems}
        every = [run for of_system in runs.values() for run in of_system]
        shared = all(run.test is every[0].test for run in every)
        seeds = [*dict.fromkeys(run.seed for run in every)]
        groups = [every] if shared else [[r for r in every if r.seed == seed] for seed in seeds]
        samples = [self._sample(claim, group) for group in groups]
        lengths = dict(zip(seeds, (each.lengths for each in samples), strict=not shared))
        counts = {
            run: counted
            for group, sample in zip(groups, samples, strict=True)
            for run, counted in zip(group, sample.statistics, strict=True)
        }
        return Evidence(
            runs=runs,
            statistics={system: [counts[run] for run in of] for system, of in runs.items()},
            lengths=dict.fromkeys(seeds, samples[0].lengths) if shared else lengths,
            draws=self._drawn(samples[0].sentence) if shared else None,
            axis=samples[0].axis,
        )

    def _of_system(self, claim: Claim, system: str, planned: Planned) -> list[ClaimRun]:
        """Return the runs of a system in the order of their seeds, as pairs of systems need it."""
        if not planned.get(system):
            raise UnusableError(f"{system}: the command has no run of it")
        whole = isinstance(claim.measure, AgreementDifference)
        return [self._run(folder, seed, system, whole) for seed, folder in sorted(planned[system])]

    def _run(self, folder: Path, seed: int, system: str, whole: bool) -> ClaimRun:
        known = self._runs.get(folder)
        if known is None or (whole and known.contrast is None):
            try:
                known = (None if whole else self._light(folder)) or self._whole(folder)
            except BrokenFileError as error:
                raise UnusableError(f"{system}, seed {seed}: {error}") from None
            if known is None:
                failed = (folder / FAILURE).is_file()
                why = read_failure(folder).error if failed else "was not trained"
                raise UnusableError(f"{system}, seed {seed}: {why}")
            self._runs[folder] = known
        return known if known.seed == seed else replace(known, seed=seed)

    def _light(self, folder: Path) -> ClaimRun | None:
        """Return a run on a test set that is known; None if its translations must be read.

        A test set is known by the fingerprint of the text and the lengths of its references.
        """
        result = read_result(folder)
        if result is None or (folder / FAILURE).is_file():
            return None
        same = self._known.get(result.data.fingerprint or "")
        if same is None or result.signature != same.result.signature:
            return None
        statistics = read_arrays(folder / STATISTICS) or {}
        names = {metric.statistics for metric in self._tests.metrics}
        if not names <= statistics.keys():
            return None
        lengths, of_same = (each["bleu"][:, 1] for each in (statistics, same.statistics))
        if not np.array_equal(lengths, of_same):
            return None
        kept = self._kept(statistics)
        return replace(same, folder=folder, seed=result.seed, result=result, statistics=kept)

    def _whole(self, folder: Path) -> ClaimRun | None:
        run = read_run(folder)
        if run is None:
            return None
        read = read_output(folder, run, self._tests)
        if id(read.test) not in self._shortest:
            [buckets] = self._scoring.buckets([read.test])
            enough = [bucket for bucket in buckets if not bucket.thin]
            self._shortest[id(read.test)] = (enough or buckets)[0]
        found = ClaimRun(
            seed=read.result.seed,
            folder=folder,
            result=read.result,
            test=read.test,
            statistics=self._kept(read.output.statistics),
            contrast=read.output.contrast,
            shortest=self._shortest[id(read.test)],
        )
        if read.result.data.fingerprint is not None:
            self._known.setdefault(read.result.data.fingerprint, replace(found, contrast=None))
        return found

    def _kept(self, statistics: Mapping[str, Array]) -> dict[str, Array]:
        return {name: each for name, each in statistics.items() if name in self._names}

    def _sample(self, claim: Claim, runs: Sequence[ClaimRun]) -> "_Sample":
        if isinstance(claim.measure, AgreementDifference):
            return _choices_of(claim.measure, runs)
        test = runs[0].test
        if any(run.test is not test for run in runs):
            raise UnusableError("its systems were tested on different sentences")
        [buckets] = self._scoring.buckets([test])
        words = sentence_lengths(test, self._scoring.unit)
        return _Sample(
            lengths=SentenceLengths(words, [each for each in buckets if not each.thin]),
            sentence=np.arange(len(test.references)),
            statistics=[*_statistics(runs, claim.measure.metric.statistics)],
            axis=self._scoring.length_axis([test.rules]),
        )

    def _drawn(self, sentence: Rows) -> Draws:
        key = sentence.tobytes()
        if key not in self._draws:
            self._draws[key] = Draws(sentence, self._scoring.draws)
        return self._draws[key]


class _Sample(NamedTuple):
    """The rows of a test set, and what runs on it count on them."""

    lengths: SentenceLengths
    sentence: Rows  # number of the sentence of each row
    statistics: Sequence[Array]  # of each run, `(rows, columns)`
    axis: str  # what `lengths` are, for readers


def _statistics(runs: Sequence[ClaimRun], name: str) -> Iterator[Array]:
    for run in runs:
        if name not in run.statistics:
            raise UnusableError(f"{run.result.variant} has no {name}")
        yield run.statistics[name]


def _choices_of(measure: AgreementDifference, runs: Sequence[ClaimRun]) -> _Sample:
    choices = [_choices(run) for run in runs]
    first, *others = choices
    if not all(map(first.on_pairs_of, others)):
        raise UnusableError("its systems chose between different translations")
    chosen = measure.chosen(first)
    if not chosen.any():
        raise UnusableError("no pair of translations has this category and distance")
    distances = first.distance[chosen]
    found = length_buckets(distances, range(RANGE, FARTHEST + 1, RANGE))
    _, sentence = np.unique(first.source[chosen], return_inverse=True)
    return _Sample(
        lengths=SentenceLengths(distances, [bucket for bucket in found if not bucket.thin]),
        sentence=sentence,
        statistics=[_right(each, chosen) for each in choices],
        axis="distance (words)",
    )


def _choices(run: ClaimRun) -> PairChoices:
    if run.contrast is None:
        raise UnusableError(f"{run.result.variant} was trained without scoring.contrastive=true")
    return run.contrast


def _right(choices: PairChoices, chosen: NDArray[np.bool_]) -> Array:
    """Return right choices and pairs, a row for each chosen pair: ``(pairs, 2)``."""
    right = choices.right_choices[chosen]
    return np.stack([right, np.ones(len(right))], axis=1)


@dataclass(frozen=True, eq=False)
class RungResult:
    """A claim at one amount of training, on one corpus; collapsed trainings are left out."""

    amount: float  # in units of the budget
    verdict: Verdict  # of this rung, before the gates of the ladder
    values: Mapping[str, Array]  # the quantity of each seed, by system
    seeds: Mapping[str, Sequence[int]]  # the seeds of `values`
    losses: Mapping[str, Array]  # validation loss of each seed; NaN where none was measured
    evidence: Evidence
    middle: float  # effect of the interquartile means
    improvement: float
    """Probability that trainings, one of each system, show an effect above 0."""
    beside: Estimate | None = None  # of claims about length: the effect on the slope of BLEU
    lost: Mapping[str, Sequence[ClaimRun]] = field(default_factory=dict)
    """The trainings of each system that collapsed."""


@dataclass(frozen=True, eq=False)
class CorpusResult:
    """A claim on one corpus, over its ladder of amounts of training."""

    corpus: str
    rungs: Sequence[RungResult] = ()  # by rising amount
    collapsed: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Seeds whose training never began, by system."""
    too_few: str | None = None  # why the others are too few; None if they are enough
    floors: Mapping[str, float] = field(default_factory=dict)
    """BLEU on the shortest sentences that each system must reach, by system."""
    reached: Mapping[str, float] = field(default_factory=dict)
    """BLEU on these sentences at the last rung, mean over seeds, by system."""
    margin: Margin | None = None  # in units of the quantity on this corpus
    trajectory: Trajectory | None = None
    verdict: Verdict | None = None  # of the last rung, after all gates
    failure: str | None = None  # why there is no verdict


@dataclass(frozen=True, eq=False)
class ClaimResult:
    """A claim with its verdicts and what led to them, or the reason why there are none."""

    claim: Claim
    corpora: Sequence[CorpusResult] = ()  # in the order of the command; random draws are one row
    pooled: Sequence[PooledEffect] = ()  # at most one over synthetic corpora and one over real text
    corrected: Verdict | None = None  # after the correction over the claims of the paper
    extension: str | None = None  # why the claim is more than a test of what the paper claims
    not_run: str | None = None  # why the claim cannot be run at the tier
    tuned: bool = False  # whether the learning rates were tuned alike

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the first corpus."""
        return self.corpora[0].verdict if self.corpora else None

    @property
    def failure(self) -> str | None:
        """Why the claim has no verdict on the first corpus, although it was run."""
        return self.corpora[0].failure if self.corpora else None
