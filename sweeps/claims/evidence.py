"""What the finished runs of a claim's systems show, read once for all claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.contrast import RANGE, Choices
from lightning_modules.metrics.lengths import length_buckets, sentence_lengths
from lightning_modules.metrics.metric import Array
from lightning_modules.metrics.systems import Output, TestSet
from lightning_modules.metrics.text_metrics import TEXT_METRICS
from lightning_modules.runs.checksums import BrokenFileError
from lightning_modules.runs.identity import RunIdentity
from lightning_modules.runs.reader import read_failure, read_result
from lightning_modules.runs.schema import FAILURE, Result
from lightning_modules.testing.scoring_settings import Scoring
from sweeps.claims.claim import Claim
from sweeps.claims.measures import Agreement, Lengths
from sweeps.claims.planning.plan import Plan
from sweeps.claims.statistics.draws import Draws, Values
from sweeps.claims.statistics.quantities import Quantity, Rows
from sweeps.evaluation.outputs import TestSetCache, read_output

FARTHEST = 20
"""Distances of contrastive pairs beyond which all are in one group."""


class UnusableError(Exception):
    """Why a claim has no verdict, in one line."""


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run of a system."""

    result: Result
    test: TestSet
    output: Output


@dataclass(frozen=True, eq=False)
class Evidence:
    """The runs of a claim's systems, on rows that are test sentences or contrastive pairs."""

    runs: Mapping[str, Sequence[Run]]
    """Runs of each system, one for each seed."""
    statistics: Mapping[str, Sequence[Array]]
    """What the metric counts, ``(rows, columns)`` for each run."""
    draws: Draws
    lengths: Lengths
    axis: str
    """What ``lengths`` are, for readers."""

    def values(self, quantity: Quantity, system: str) -> Values:
        """Return a quantity of a system. Raises ``ValueError`` if a seed has no value."""
        return self.draws.values(quantity, self.statistics[system])

    @property
    def one_training(self) -> bool:
        """Whether all systems have the same trainings, and differ in how these are tested."""
        first, *others = ([*map(_training, of_system)] for of_system in self.runs.values())
        return bool(others) and all(each == first for each in others)

    @property
    def sentences(self) -> int:
        """Number of test sentences."""
        return self.draws.sentences

    @property
    def seconds(self) -> float:
        """Seconds of training of all runs together; a training with several tests counts once."""
        every = [run for of_system in self.runs.values() for run in of_system]
        return sum({_training(run): run.result.training.seconds or 0.0 for run in every}.values())


class Records:
    """The runs of a plan, each read once, and the resamples that claims on one test set share."""

    def __init__(self, plan: Plan, scoring: Scoring) -> None:
        self._plan, self._scoring = plan, scoring
        scores = {claim.measure.score for claim in plan.claims}
        # Scores of translations that ``scoring.metrics`` left out are counted here.
        self._tests = TestSetCache(None, [name for name in TEXT_METRICS if name in scores])
        self._runs: dict[Path, Run] = {}
        self._draws: dict[bytes, Draws] = {}

    def evidence(self, claim: Claim) -> Evidence:
        """Return what the runs of a claim show.

        Raises ``UnusableError`` if a run is missing, or if runs cannot be compared.
        """
        runs = {system: self._of_system(claim, system) for system in claim.measure.systems}
        if isinstance(claim.measure, Agreement):
            return self._of_choices(claim.measure, runs)
        return self._of_translations(claim, runs)

    def _of_system(self, claim: Claim, system: str) -> list[Run]:
        """Return the runs of a system in the order of their seeds, as pairs of systems need it."""
        needed = sorted(
            (need.seed, self._plan.folder(run))
            for run in self._plan.wanted
            for need in run.needs
            if (need.claim, need.system) == (claim.name, system)
        )
        if not needed:
            raise UnusableError(f"{system}: the command has no run of it")
        return [self._run(folder, f"{system}, seed {seed}") for seed, folder in needed]

    def _run(self, folder: Path, name: str) -> Run:
        if folder not in self._runs:
            try:
                result = read_result(folder)
                if result is None:
                    raise UnusableError(f"{name}: {_why_missing(folder)}")
                self._runs[folder] = Run(result, *read_output(folder, result, self._tests))
            except BrokenFileError as error:
                raise UnusableError(f"{name}: {error}") from None
        return self._runs[folder]

    def _of_translations(self, claim: Claim, runs: Mapping[str, Sequence[Run]]) -> Evidence:
        every = [run for of_system in runs.values() for run in of_system]
        test = every[0].test
        if any(run.test is not test for run in every):
            raise UnusableError("its systems were tested on different sentences")
        limits = [run.result.train_max_words for run in every]
        known = [limit for limit in limits if limit is not None]
        all_known = len(known) == len(limits)
        [buckets] = self._scoring.buckets([test])
        name = claim.measure.metric.statistics
        return Evidence(
            runs=runs,
            statistics={key: [_statistics(run, name) for run in of] for key, of in runs.items()},
            draws=self._drawn(np.arange(len(test.references))),
            lengths=Lengths(
                words=sentence_lengths(test.sources, test.references, self._scoring.unit),
                buckets=[bucket for bucket in buckets if not bucket.thin],
                longest_trained=max(known) if all_known else None,
                trained_by_all=min(known) if all_known else None,
            ),
            axis=self._scoring.length_axis,
        )

    def _of_choices(self, measure: Agreement, runs: Mapping[str, Sequence[Run]]) -> Evidence:
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
            lengths=Lengths(distances, buckets, longest_trained=None, trained_by_all=None),
            axis="distance (words)",
        )

    def _drawn(self, sentence: Rows) -> Draws:
        key = sentence.tobytes()
        if key not in self._draws:
            self._draws[key] = Draws(sentence, self._scoring.draws)
        return self._draws[key]


def _training(run: Run) -> str:
    """Return by what equal trainings are known."""
    return RunIdentity.of_result(run.result).digest(("weights",))


def _why_missing(folder: Path) -> str:
    return read_failure(folder).error if (folder / FAILURE).is_file() else "was not trained"


def _statistics(run: Run, name: str) -> Array:
    if name not in run.output.statistics:
        raise UnusableError(f"{run.result.variant} has no {name}")
    return run.output.statistics[name]


def _choices(run: Run) -> Choices:
    if run.output.contrast is None:
        raise UnusableError(f"{run.result.variant} was trained without scoring.contrastive=true")
    return run.output.contrast


def _right(choices: Choices, chosen: NDArray[np.bool_]) -> Array:
    """Return right choices and pairs, a row for each chosen pair: ``(pairs, 2)``."""
    right = choices.right_choices[chosen]
    return np.stack([right, np.ones(len(right))], axis=1)
