"""Evidence of claims: finished runs, read and given to ``judge`` of ``verdict.py``.

Each claim is judged on its own systems alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.contrast_choices import RANGE, PairChoices
from lightning_modules.metrics.lengths import length_buckets, sentence_lengths
from lightning_modules.metrics.metric import Array
from lightning_modules.metrics.text_metrics import TEXT_METRICS
from lightning_modules.runs.checksums import BrokenFileError
from lightning_modules.runs.files import read_failure, read_run
from lightning_modules.runs.identity import Identity
from lightning_modules.runs.paths import FAILURE
from lightning_modules.testing.scoring import Scoring
from sweeps.claims.claim import Claim
from sweeps.claims.intervals import (
    Differences,
    Draws,
    Quantity,
    Rows,
    Spread,
    SystemValues,
    pair_differences,
)
from sweeps.claims.measures import AgreementDifference, Measure, SentenceLengths
from sweeps.claims.plan import ClaimsPlan
from sweeps.claims.pooling import PooledEffect
from sweeps.claims.trajectory import Trajectory
from sweeps.claims.verdict import Margin, Verdict
from sweeps.comparison.outputs import EvalSetCache, RunOutput, read_output

FARTHEST = 20  # distances of contrastive pairs beyond which all are in one group


class UnusableError(Exception):
    """Why a claim has no verdict, in one line."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The runs of a claim's systems, on rows that are test sentences or contrastive pairs."""

    runs: Mapping[str, Sequence[RunOutput]]  # runs of each system, one for each seed
    statistics: Mapping[str, Sequence[Array]]
    """What the metric counts, ``(rows, columns)`` for each run."""
    draws: Draws
    lengths: SentenceLengths
    axis: str  # what `lengths` are, for readers

    def values(self, quantity: Quantity, system: str) -> SystemValues:
        """Return a quantity of a system. Raises ``ValueError`` if a seed has no value."""
        return self.draws.values(quantity, self.statistics[system])

    @property
    def one_training(self) -> bool:
        """Whether all systems have the same trainings, and differ in how these are tested."""
        first, *others = ([*map(_training, of_system)] for of_system in self.runs.values())
        return bool(others) and all(each == first for each in others)

    @property
    def seconds(self) -> float:
        """Seconds of training of all runs together; a training with several tests counts once."""
        every = [run for of_system in self.runs.values() for run in of_system]
        return sum({_training(run): run.result.training.seconds or 0.0 for run in every}.values())


class Records:
    """The runs of a plan, each read once, and the resamples that claims on one test set share."""

    def __init__(self, plan: ClaimsPlan, scoring: Scoring) -> None:
        self._plan, self._scoring = plan, scoring
        scores = {claim.measure.score for claim in plan.claims}
        # Scores of translations that ``scoring.metrics`` left out are counted here.
        self._tests = EvalSetCache(None, scoring, [name for name in TEXT_METRICS if name in scores])
        self._runs: dict[Path, RunOutput] = {}
        self._draws: dict[bytes, Draws] = {}

    def evidence(self, claim: Claim) -> Evidence:
        """Return what the runs of a claim show.

        Raises ``UnusableError`` if a run is missing, or if runs cannot be compared.
        """
        runs = {system: self._of_system(claim, system) for system in claim.measure.systems}
        if isinstance(claim.measure, AgreementDifference):
            return self._of_choices(claim.measure, runs)
        return self._of_translations(claim, runs)

    def _of_system(self, claim: Claim, system: str) -> list[RunOutput]:
        """Return the runs of a system in the order of their seeds, as pairs of systems need it."""
        needed = sorted(
            (need.seed, self._plan.folder(run))
            for run in self._plan.runs
            for need in run.needs
            if (need.claim, need.system) == (claim.name, system)
        )
        if not needed:
            raise UnusableError(f"{system}: the command has no run of it")
        return [self._run(folder, f"{system}, seed {seed}") for seed, folder in needed]

    def _run(self, folder: Path, name: str) -> RunOutput:
        if folder not in self._runs:
            try:
                run = read_run(folder)
                if run is None:
                    failed = (folder / FAILURE).is_file()
                    why = read_failure(folder).error if failed else "was not trained"
                    raise UnusableError(f"{name}: {why}")
                self._runs[folder] = read_output(folder, run, self._tests)
            except BrokenFileError as error:
                raise UnusableError(f"{name}: {error}") from None
        return self._runs[folder]

    def _of_translations(self, claim: Claim, runs: Mapping[str, Sequence[RunOutput]]) -> Evidence:
        every = [run for of_system in runs.values() for run in of_system]
        test = every[0].test
        if any(run.test is not test for run in every):
            raise UnusableError("its systems were tested on different sentences")
        [buckets] = self._scoring.buckets([test])
        name = claim.measure.metric.statistics
        return Evidence(
            runs=runs,
            statistics={key: [_statistics(run, name) for run in of] for key, of in runs.items()},
            draws=self._drawn(np.arange(len(test.references))),
            lengths=SentenceLengths(
                words=sentence_lengths(test, self._scoring.unit),
                buckets=[bucket for bucket in buckets if not bucket.thin],
            ),
            axis=self._scoring.length_axis([test.rules]),
        )

    def _of_choices(
        self, measure: AgreementDifference, runs: Mapping[str, Sequence[RunOutput]]
    ) -> Evidence:
        choices = {key: [_choices(run) for run in of] for key, of in runs.items()}
        first, *others = [each for of_system in choices.values() for each in of_system]
        if not all(map(first.on_pairs_of, others)):
            raise UnusableError("its systems chose between different translations")
        chosen = measure.chosen(first)
        if not chosen.any():
            raise UnusableError("no pair of translations has this category and distance")
        distances = first.distance[chosen]
        found = length_buckets(distances, range(RANGE, FARTHEST + 1, RANGE))
        buckets = [bucket for bucket in found if not bucket.thin]
        _, sentence = np.unique(first.source[chosen], return_inverse=True)
        return Evidence(
            runs=runs,
            statistics={key: [_right(each, chosen) for each in of] for key, of in choices.items()},
            draws=self._drawn(sentence),
            lengths=SentenceLengths(distances, buckets),
            axis="distance (words)",
        )

    def _drawn(self, sentence: Rows) -> Draws:
        key = sentence.tobytes()
        if key not in self._draws:
            self._draws[key] = Draws(sentence, self._scoring.draws)
        return self._draws[key]


def _training(run: RunOutput) -> str:
    """Return a key that is equal for identical trainings."""
    return Identity.of_result(run.result).training


def _statistics(run: RunOutput, name: str) -> Array:
    if name not in run.output.statistics:
        raise UnusableError(f"{run.result.variant} has no {name}")
    return run.output.statistics[name]


def _choices(run: RunOutput) -> PairChoices:
    if run.output.contrast is None:
        raise UnusableError(f"{run.result.variant} was trained without scoring.contrastive=true")
    return run.output.contrast


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
    middle: float | None  # effect of the interquartile means; None for tables of differences
    improvement: float | None
    """Probability that a training of the first system is better than one of the second."""
    slope: float | None = None  # of claims about length: effect in BLEU for every ten words


@dataclass(frozen=True, eq=False)
class CorpusResult:
    """A claim on one corpus, over its ladder of amounts of training."""

    corpus: str
    rungs: Sequence[RungResult] = ()  # by rising amount
    collapsed: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Seeds whose training never began, by system."""
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


def judge_all(plan: ClaimsPlan, scoring: Scoring) -> list[ClaimResult]:
    """Return the verdicts on the claims of a plan, each independent of the others, in order.

    Claims that cannot be run at the tier come last.
    """
    raise NotImplementedError


def _compare(
    measure: Measure, evidence: Evidence, quantity: Quantity
) -> tuple[Array, Spread, Differences]:
    """Return the mean over seeds of each system, and what the verdict is about."""
    of_systems = [evidence.values(quantity, system) for system in measure.systems]
    means = np.array([each.observed.mean() for each in of_systems])
    values, differences = measure.compared(of_systems), measure.differences
    if evidence.one_training:
        values, differences = pair_differences(values, differences)
    return means, Spread.of(values), differences
