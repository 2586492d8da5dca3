"""The group ``sweep`` of the configuration: search space, sampler, pruner, workers."""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from optuna import pruners, samplers
from optuna.trial import BaseTrial
from pydantic import (
    BaseModel,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)

TRIAL_STEPS = 100
"""Steps of a trial for a pruner: hundredths of its budget, over all of its seeds."""

Value = str | int | float | bool | None


class Parameter(BaseModel, ABC, extra="forbid"):
    """One override of Hydra, and the values it may take."""

    when: dict[str, Value | list[Value]] = {}
    """Conditions: this parameter is tuned where the named parameters have these values."""

    @abstractmethod
    def suggest(self, trial: BaseTrial, name: str) -> Value:
        """Ask a trial for a value."""

    @abstractmethod
    def grid(self) -> list[Value]:
        """Return all values. Raises ``ValueError`` for a range without steps."""

    @property
    @abstractmethod
    def example(self) -> Value:
        """One value of the parameter."""


class Floats(Parameter):
    """Numbers from ``low`` to ``high``, both included."""

    type: Literal["float"]
    low: float
    high: float
    log: bool = False
    step: PositiveFloat | None = None

    @model_validator(mode="after")
    def _usable(self) -> Self:
        _check_range(self.low, self.high, self.log, self.step)
        return self

    def suggest(self, trial: BaseTrial, name: str) -> float:
        """Suggest a number, uniform in the number or in its logarithm."""
        return trial.suggest_float(name, self.low, self.high, log=self.log, step=self.step)

    def grid(self) -> list[Value]:
        """Return all steps."""
        if self.step is None:
            raise ValueError("has no step, which a grid needs")
        count = math.floor((self.high - self.low) / self.step + 1e-9) + 1
        return [self.low + place * self.step for place in range(count)]

    @property
    def example(self) -> float:
        """The lowest value."""
        return self.low


class Integers(Parameter):
    """Whole numbers from ``low`` to ``high``, both included."""

    type: Literal["int"]
    low: int
    high: int
    log: bool = False
    step: PositiveInt = 1

    @model_validator(mode="after")
    def _usable(self) -> Self:
        _check_range(self.low, self.high, self.log, None if self.step == 1 else self.step)
        return self

    def suggest(self, trial: BaseTrial, name: str) -> int:
        """Suggest a number, uniform in the number or in its logarithm."""
        return trial.suggest_int(name, self.low, self.high, log=self.log, step=self.step)

    def grid(self) -> list[Value]:
        """Return all steps."""
        return list(range(self.low, self.high + 1, self.step))

    @property
    def example(self) -> int:
        """The lowest value."""
        return self.low


class Choices(Parameter):
    """Any of the choices."""

    type: Literal["categorical"]
    choices: list[Value] = Field(min_length=1)

    def suggest(self, trial: BaseTrial, name: str) -> Value:
        """Suggest a choice; choices have no order."""
        return trial.suggest_categorical(name, self.choices)

    def grid(self) -> list[Value]:
        """Return the choices in their order."""
        return list(self.choices)

    @property
    def example(self) -> Value:
        """The first choice."""
        return self.choices[0]


def _check_range(low: float, high: float, log: bool, step: float | None) -> None:
    if not low < high:
        raise ValueError(f"from {low:g} to {high:g} there is nothing to choose")
    if log and low <= 0:
        raise ValueError(f"log=true needs a range above 0, not from {low:g}")
    if log and step is not None:
        raise ValueError("log=true has no step; leave one of them out")


Space = Mapping[str, Floats | Integers | Choices]
"""Parameters by the name of their override, in the order in which a trial chooses them."""


def check_conditions(space: Space) -> None:
    """Raise ``ValueError`` for a parameter that depends on a later one."""
    known: set[str] = set()
    for name, parameter in space.items():
        for other in parameter.when:
            if other not in known:
                raise ValueError(f"{name}: when: {other} is no parameter that stands above it")
        known.add(name)


def suggest(trial: BaseTrial, space: Space) -> dict[str, Value]:
    """Return the values of a trial for the parameters whose conditions hold."""
    chosen: dict[str, Value] = {}
    for name, parameter in space.items():
        if _applies(parameter, chosen):
            chosen[name] = parameter.suggest(trial, name)
    return chosen


def grid(space: Space) -> list[dict[str, Value]]:
    """Return every combination once. Raises ``ValueError`` for a parameter without a grid."""
    axes: list[Sequence[tuple[str, Value]]] = []
    for name, parameter in space.items():
        try:
            axes.append([(name, value) for value in parameter.grid()])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    points: list[dict[str, Value]] = []
    for point in itertools.product(*axes):
        chosen: dict[str, Value] = {}
        for name, value in point:
            if _applies(space[name], chosen):
                chosen[name] = value
        if chosen not in points:
            points.append(chosen)
    return points


def _applies(parameter: Parameter, chosen: Mapping[str, Value]) -> bool:
    return all(
        other in chosen and chosen[other] in (wanted if isinstance(wanted, list) else [wanted])
        for other, wanted in parameter.when.items()
    )


def as_overrides(chosen: Mapping[str, Any]) -> list[str]:
    """Return overrides as Hydra reads them on a command line."""
    return [f"{name}={hydra_value(value)}" for name, value in chosen.items()]


def hydra_value(value: Any) -> str:
    """Return a value as it follows the name of an override."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)


Objective = Literal["bleu", "loss", "parameters", "seconds"]
DIRECTIONS: dict[Objective, Literal["minimize", "maximize"]] = {
    "bleu": "maximize",
    "loss": "minimize",
    "parameters": "minimize",
    "seconds": "minimize",
}
Sampler = Literal["tpe", "multivariate_tpe", "cmaes", "gp", "random", "grid", "qmc"]
Pruner = Literal["median", "hyperband", "wilcoxon", "none"]
AnyParameter = Annotated[Floats | Integers | Choices, Field(discriminator="type")]


class Sweep(BaseModel, extra="forbid"):
    """What is tuned, how, and how much."""

    name: str = Field(pattern=r"^[\w.,+=-]+$")
    """Name of the study, of its folder and of its group of tracked runs."""
    space: dict[str, AnyParameter] = Field(min_length=1)
    trials: PositiveInt
    """Number of trials that finish, are pruned or diverge; trials of dead workers do not count."""
    seeds: list[NonNegativeInt] = Field(min_length=1)
    """Seeds of each trial, which is scored by the mean over them."""
    objectives: list[Objective] = Field(min_length=1)
    sampler: Sampler
    sampler_seed: NonNegativeInt
    pruner: Pruner
    warmup_trials: NonNegativeInt
    """Number of trials that are drawn at random, and must finish before the first is pruned."""
    known: list[dict[str, Any]]
    """Settings to try first, such as those of a paper."""
    storage: str | None
    """Address of a database, or a file; None: a journal in the folder of the study."""
    workers: PositiveInt
    worker: NonNegativeInt
    """Number of this worker, from 0."""
    retries: NonNegativeInt
    """How often a trial goes on after the death of its worker."""
    heartbeat_seconds: PositiveInt
    """Interval of the heartbeat in a database; after three silent intervals a worker is dead."""

    @field_validator("space")
    @classmethod
    def _ordered(cls, space: Space) -> Space:
        check_conditions(space)
        return space

    @field_validator("seeds", "objectives")
    @classmethod
    def _once(cls, values: list[Any]) -> list[Any]:
        if len(set(values)) < len(values):
            raise ValueError("names one twice")
        return values

    @model_validator(mode="after")
    def _fitting(self) -> "Sweep":
        if len(self.objectives) > 1 and self.pruner != "none":
            raise ValueError(
                f"pruner={self.pruner}: several objectives cannot be pruned; give sweep.pruner=none"
            )
        if self.pruner == "wilcoxon" and len(self.seeds) < 2:
            raise ValueError(
                "pruner=wilcoxon: compares seeds; give several, like sweep.seeds=[1,2,3]"
            )
        for settings in self.known:
            unknown = settings.keys() - self.space.keys()
            if unknown:
                raise ValueError(f"known: {min(unknown)} is no parameter of the space")
        return self

    @property
    def directions(self) -> list[Literal["minimize", "maximize"]]:
        """Direction of each objective."""
        return [DIRECTIONS[objective] for objective in self.objectives]


def build_sampler(sweep: Sweep, worker: int) -> samplers.BaseSampler:
    """Build the sampler of a worker; each has random numbers of its own.

    A grid needs no random numbers: its points are in the slots already.
    """
    seed = sweep.sampler_seed + worker
    start = sweep.warmup_trials
    match sweep.sampler:
        case "tpe":
            return samplers.TPESampler(seed=seed, n_startup_trials=start, constant_liar=True)
        case "multivariate_tpe":
            return samplers.TPESampler(
                seed=seed, n_startup_trials=start, multivariate=True, group=True, constant_liar=True
            )
        case "cmaes":
            return samplers.CmaEsSampler(seed=seed, n_startup_trials=max(1, start))
        case "gp":
            return samplers.GPSampler(seed=seed, n_startup_trials=max(1, start))
        case "qmc":
            return samplers.QMCSampler(seed=sweep.sampler_seed, scramble=True)
        case "random" | "grid":
            return samplers.RandomSampler(seed=seed)


def build_pruner(sweep: Sweep) -> pruners.BasePruner:
    """Build the pruner; its steps are ``TRIAL_STEPS``, or seeds for the test of Wilcoxon."""
    match sweep.pruner:
        case "median":
            return pruners.MedianPruner(n_startup_trials=sweep.warmup_trials)
        case "hyperband":
            return pruners.HyperbandPruner(min_resource=TRIAL_STEPS // 9, max_resource=TRIAL_STEPS)
        case "wilcoxon":
            return pruners.WilcoxonPruner(n_startup_steps=1)
        case "none":
            return pruners.NopPruner()
