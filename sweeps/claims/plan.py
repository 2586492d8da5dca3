"""The plan of a command on claims: the runs that its claims need, and how long they take.

A run that exists anywhere in ``outputs`` is used again. The plan is made once and passed on.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from datamodules.errors import UserError
from datamodules.grammar.contrast.errors import CATEGORIES
from lightning_modules.runs.checksums import BrokenFileError
from lightning_modules.runs.files import read_result
from lightning_modules.runs.identity import Identity
from lightning_modules.runs.paths import CHECKPOINTS, FAILURE, LAST, RESULT
from lightning_modules.runs.provenance import environment
from lightning_modules.runs.schema import Environment, Result
from lightning_modules.runs.setting_checks import check_settings
from lightning_modules.runs.settings import flatten, key_of
from lightning_modules.training.budgets import read_budget
from lightning_modules.training.factories import SMALL_VOCABULARY, build_model
from sweeps.claims.claim import Claim, TierName
from sweeps.claims.measures import AgreementDifference
from sweeps.comparison.numbers import format_duration
from sweeps.launch.compose import composed, training_config, use_hydra_config
from sweeps.launch.errors import as_user_error

RATE = "optimizer.lr"
GRAMMAR = "datamodules.grammar.GrammarCorpus"
"""The built-in corpus, whose categories of contrastive pairs are known."""
TESTED = 1.3
"""Time of a whole job as a multiple of its training: start, validation and test come on top."""
KINDS = ("target_tokens", "updates", "flops", "seconds")
"""Kinds of budgets whose amount a run has spent per second."""
DECISIVE = (
    *("data._target_", "data.name", "data.path", "variant", "tokenizer.kind"),
    *("tokenizer.vocabulary_size", "batching.max_tokens", "batching.by_length"),
    *("threads", "kernels", "packed", "capture", "compile"),
    *("trainer.precision", "trainer.devices", "trainer.num_nodes"),
)
"""Settings that decide the speed of a training, besides the sizes of the model."""
Speeds = Mapping[tuple[str, str], float]
"""Amount spent in a second of training, by workload and kind of budget."""


class Need(NamedTuple):
    """A system of a claim, trained with one seed."""

    claim: str
    system: str
    seed: int


class PlannedRun(NamedTuple):
    """A run that at least one system of a claim needs."""

    identity: str  # `Identity.run`, before data is read
    training: str
    """Runs with equal trainings differ only in how the model is tested, as in the search."""
    overrides: tuple[str, ...]
    folder: Path  # the folder that the same overrides have as a single run
    workload: str  # what decides the speed of the training; see `workload`
    budget: Mapping[str, float]  # the amount by its kind
    needs: list[Need]


class SkippedClaim(NamedTuple):
    """A claim that cannot be run at the tier."""

    claim: Claim
    why: str


class FinishedRuns(NamedTuple):
    """Folders of finished runs."""

    runs: dict[str, Path]  # by the identity of the run
    trainings: dict[str, Path]
    """By the training alone; a run whose checkpoints are gone does not count."""


@dataclass(frozen=True)
class ClaimsPlan:
    """The runs that chosen claims need."""

    claims: Sequence[Claim]
    skipped: Sequence[SkippedClaim]
    runs: Sequence[PlannedRun]
    finished: FinishedRuns  # the runs that existed when the plan was made
    untuned: Sequence[PlannedRun] = ()
    """The same runs with the learning rates of the files, where others are given."""

    @property
    def missing(self) -> list[PlannedRun]:
        """The runs that are to be trained."""
        return [run for run in self.runs if run.identity not in self.finished.runs]

    @property
    def missing_by_training(self) -> list[list[PlannedRun]]:
        """Missing runs, those together that differ only in how the model is tested."""
        together: dict[str, list[PlannedRun]] = {}
        for run in self.missing:
            together.setdefault(run.training, []).append(run)
        return [*together.values()]

    def folder(self, run: PlannedRun) -> Path:
        """Return where a run is, or will be."""
        return self.finished.runs.get(run.identity, run.folder)

    def runs_of(self, claim: Claim) -> list[PlannedRun]:
        """Return the runs that a claim needs, also those that another claim needs too."""
        return [run for run in self.runs if any(need.claim == claim.name for need in run.needs)]

    def is_one_training(self, claim: Claim) -> bool:
        """Return whether all systems of a claim are the same trainings, tested in several ways."""
        trainings: dict[str, set[str]] = {system: set() for system in claim.systems}
        for run in self.runs_of(claim):
            for need in run.needs:
                if need.claim == claim.name:
                    trainings[need.system].add(run.training)
        first, *others = trainings.values()
        return bool(others) and all(each == first for each in others)

    def seeds_of(self, claim: Claim) -> int:
        """Return the number of seeds of each system of a claim."""
        needs = [need for run in self.runs for need in run.needs if need.claim == claim.name]
        return len({need.seed for need in needs})


class Systems:
    """The systems of claims at a tier, each composed once: that takes a third of a second.

    Each run is made once too, however many claims need the run.

    ``shared`` are overrides of the command that every run takes.
    """

    def __init__(self, tier: TierName, shared: Sequence[str]) -> None:
        self.tier, self.shared = tier, shared
        self._composed: dict[tuple[str, ...], DictConfig] = {}
        self._runs: dict[tuple[str, ...], PlannedRun] = {}

    def config(self, claim: Claim, system: str) -> tuple[DictConfig, tuple[str, ...]]:
        """Return the configuration of a system, and its overrides.

        Raises ``UserError`` for overrides that do not fit or change the claim, with the claim.
        """
        self._refuse_replaced(claim, system)
        overrides = (*claim.overrides(system, self.tier), *self.shared)
        if overrides not in self._composed:
            self._composed[overrides] = _checked(overrides, f"{claim.name}, system {system}")
        config = self._composed[overrides]
        if isinstance(claim.measure, AgreementDifference):
            _check_choices(claim.name, claim.measure, config)
        return config, overrides

    def run(self, claim: Claim, system: str, seed: int, rate: float | None = None) -> PlannedRun:
        """Return a run of a system; ``rate`` is a learning rate other than the system's own."""
        config, overrides = self.config(claim, system)
        if rate is not None:
            config = config.copy()
            config.optimizer.lr = rate
            overrides = (*overrides, f"{RATE}={rate:g}")
        overrides = (*overrides, f"seed={seed}")
        if overrides not in self._runs:
            self._runs[overrides] = _with_seed(config, overrides, seed)
        return self._runs[overrides]._replace(needs=[])

    def _refuse_replaced(self, claim: Claim, system: str) -> None:
        own = claim.tiers[self.tier].systems.get(system, claim.systems[system])
        fixed = {"model", "data", *map(key_of, own)}
        for override in self.shared:
            if key_of(override) in fixed:
                raise UserError(
                    f"claim {claim.name}: the claim and its tier choose {key_of(override)}; leave "
                    f"{override} out"
                )


def plan_runs(
    claims: Iterable[Claim],
    systems: Systems,
    seeds: Sequence[int] | None = None,
    rates: Mapping[str, float] = MappingProxyType({}),
) -> list[PlannedRun]:
    """Return the runs that claims need, each once, in the order of the claims.

    ``seeds`` replace those of the claims, ``rates`` the learning rates of the files, by
    ``key_of_system``. Raises ``UserError`` for overrides that do not fit, and for two systems of a
    claim that are the same run, with the claim.
    """
    planned: dict[str, PlannedRun] = {}
    for claim in claims:
        for system in claim.systems:
            rate = rates.get(key_of_system(claim, system, systems.tier))
            for seed in seeds or claim.seeds(systems.tier):
                run = systems.run(claim, system, seed, rate)
                planned.setdefault(run.identity, run).needs.append(Need(claim.name, system, seed))
        _refuse_equal_systems(claim, planned.values())
    return list(planned.values())


def _refuse_equal_systems(claim: Claim, planned: Iterable[PlannedRun]) -> None:
    for run in planned:
        first: dict[int, str] = {}
        for need in run.needs:
            if need.claim != claim.name or first.setdefault(need.seed, need.system) == need.system:
                continue
            pair = (first[need.seed], need.system)
            raise UserError(
                f"claim {claim.name}: its systems {' and '.join(pair)} are the same run; systems "
                "of a claim differ in a setting"
            )


def key_of_system(claim: Claim, system: str, tier: TierName) -> str:
    """Return the key of a system in all claims: its overrides."""
    return " ".join(claim.overrides(system, tier))


def _checked(overrides: Sequence[str], where: str) -> DictConfig:
    try:
        config = composed(overrides)
        check_settings(config, overrides)
        if read_budget(config).plateau is not None:
            raise UserError(
                "budget.plateau: the systems of a claim train equally long; leave it out"
            )
        with torch.device("meta"):  # sizes that do not fit; the vocabularies do not matter
            build_model(config, SMALL_VOCABULARY, SMALL_VOCABULARY)
    except (HydraException, OmegaConfBaseException, UserError) as error:
        raise UserError(f"claim {where}: {as_user_error(error)}") from None
    return config


def _check_choices(name: str, measure: AgreementDifference, config: DictConfig) -> None:
    if not config.scoring.contrastive:
        raise UserError(
            f"claim {name}: kind agreement needs scoring.contrastive=true in the tier's overrides"
        )
    of_grammar = config.data._target_ == GRAMMAR
    if of_grammar and measure.category is not None and measure.category not in CATEGORIES:
        raise UserError(
            f"claim {name}: category={measure.category}: give one of {', '.join(CATEGORIES)}"
        )


def _with_seed(config: DictConfig, overrides: tuple[str, ...], seed: int) -> PlannedRun:
    config.seed = seed
    OmegaConf.clear_cache(config)  # the folder of the seed before
    with use_hydra_config(config):
        folder = Path(config.hydra.run.dir)
        identity, budget = Identity.of_config(training_config(config)), read_budget(config)
    return PlannedRun(
        identity=identity.run,
        training=identity.training,
        overrides=overrides,
        folder=folder,
        workload=workload(identity.config),
        budget={budget.kind: budget.amount},
        needs=[],
    )


def finished_runs(outputs: Path) -> FinishedRuns:
    """Return the finished runs in ``outputs``.

    A run counts wherever it was trained: alone, for claims, or in a comparison; not where a later
    job has failed.
    """
    found = FinishedRuns({}, {})
    for file in sorted(outputs.glob(f"**/{RESULT}")):
        try:
            result = read_result(file.parent)
        except BrokenFileError:
            continue
        if result is not None and not (file.parent / FAILURE).is_file():
            identity = Identity.of_result(result).before_data()
            found.runs[identity.run] = file.parent
            if (file.parent / CHECKPOINTS / LAST).is_file():
                found.trainings[identity.training] = file.parent
    return found


def workload(config: Mapping[str, Any]) -> str:
    """Return the settings that decide the speed of a training, as JSON."""
    values = flatten(config)
    sizes = {
        key: value
        for key, value in values.items()
        if key.startswith("model.") and isinstance(value, int) and not isinstance(value, bool)
    }
    return json.dumps({key: values.get(key) for key in DECISIVE} | sizes, sort_keys=True)


def speeds_of(finished: Mapping[str, Path]) -> Speeds:
    """Return the median speed of each workload, from the finished runs of this machine."""
    found: dict[tuple[str, str], list[float]] = {}
    for result in results_here(finished.values()):
        for kind in KINDS:
            if (spent := result.training.spent(kind)) and result.training.seconds:
                key = workload(result.config), kind
                found.setdefault(key, []).append(spent / result.training.seconds)
    return {key: median(values) for key, values in found.items()}


def results_here(folders: Iterable[Path]) -> Iterator[Result]:
    """Yield the results of the finished runs of this machine."""
    here = Environment.model_validate(environment())
    for folder in folders:
        result = read_result(folder)
        if result is not None and _same_machine(result.environment, here):
            yield result


def _same_machine(one: Environment, other: Environment) -> bool:
    """Return whether two machines train on the same GPU or, without one, on the same processor."""
    first, second = ((each.model_extra or {}).get("cpu") for each in (one, other))
    return one.device == other.device and (other.device != "cpu" or first == second)


class JobTime(NamedTuple):
    """Estimate of the summed time of jobs."""

    seconds: float  # time of the jobs for which a finished run gives the speed
    unknown: int  # number of jobs without such a run

    def text(self, at_once: int = 1) -> str:
        """Return the time in words, with some jobs at the same time."""
        time = format_duration(self.seconds / at_once)
        if not self.unknown:
            return time
        return f"≥ {time}" if self.seconds else "unknown"


def job_time(runs: Sequence[PlannedRun], speeds: Speeds, trained: Iterable[str] = ()) -> JobTime:
    """Estimate the summed time of jobs; a training counts once, and not if it is ``trained``."""
    total, unknown, done = 0.0, 0, set(trained)
    for run in runs:
        [(kind, amount)] = run.budget.items()
        speed = speeds.get((run.workload, kind))
        if speed is None:
            unknown += 1
        else:
            total += (TESTED - (run.training in done)) * amount / speed
        done.add(run.training)
    return JobTime(total, unknown)
