"""Settings of a study: its search space, its sampler and its pruner, Optuna's or a user's."""

import math
import warnings
from collections.abc import Mapping
from inspect import signature
from typing import Annotated, Any, Literal, Self, TypeVar

import hydra.utils
import numpy as np
from optuna import pruners, samplers
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import BaseTrial
from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)
from typing_extensions import override

from datamodules.plugs import find_plug, make_plug

TRIAL_STEPS = 100  # steps of a trial for a pruner: hundredths of its budget, over all of its seeds
SAMPLERS: dict[str, type[samplers.BaseSampler]] = {
    "tpe": samplers.TPESampler,
    "multivariate_tpe": samplers.TPESampler,
    "cmaes": samplers.CmaEsSampler,
    "gp": samplers.GPSampler,
    "qmc": samplers.QMCSampler,
    "random": samplers.RandomSampler,
    "grid": samplers.RandomSampler,  # never asked: the slots have the points of the grid
}
PRUNERS: dict[str, type[pruners.BasePruner]] = {
    "median": pruners.MedianPruner,
    "hyperband": pruners.HyperbandPruner,
    "wilcoxon": pruners.WilcoxonPruner,
    "none": pruners.NopPruner,
}
PrunesBy = Literal["validations", "seeds", "nothing"]
Method = TypeVar("Method", samplers.BaseSampler, pruners.BasePruner)
Options = Mapping[str, Any]
GivenOptions = Annotated[
    dict[str, Any], BeforeValidator(lambda given: {} if given is None else given)
]
Value = str | int | float | bool | None


class Parameter(BaseModel, extra="forbid"):
    """One override of Hydra, and the values it may take."""

    when: dict[str, Value | list[Value]] = {}
    """Conditions: this parameter is tuned where the named parameters have these values."""

    def applies(self, chosen: Mapping[str, Value]) -> bool:
        """Return whether the conditions hold for the values chosen so far."""
        return all(
            other in chosen and chosen[other] in (wanted if isinstance(wanted, list) else [wanted])
            for other, wanted in self.when.items()
        )


class NumberRange(Parameter):
    """Numbers from ``low`` to ``high``, both included, uniform or uniform in the logarithm."""

    low: float
    high: float
    log: bool = False
    step: float | None = None

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"from {self.low:g} to {self.high:g} there is nothing to choose")
        with warnings.catch_warnings():  # that a step does not divide the range
            warnings.simplefilter("ignore")
            self.check()
        return self

    def check(self) -> None:
        """Raise ``ValueError`` for what Optuna refuses."""
        FloatDistribution(self.low, self.high, self.log, self.step)

    def has(self, value: Value) -> bool:
        """Return whether a value is in the range; it may stand between two steps."""
        return isinstance(value, int | float) and self.low <= value <= self.high

    def spaced(self, points: int) -> list[float]:
        """Return so many numbers, both ends among them, evenly spaced or so in the logarithm."""
        space = np.geomspace if self.log else np.linspace
        return [float(value) for value in space(self.low, self.high, points)]


class Floats(NumberRange):
    """Numbers."""

    type: Literal["float"]
    step: PositiveFloat | None = None

    def suggest(self, trial: BaseTrial, name: str) -> Value:
        """Ask a trial for a value."""
        return trial.suggest_float(name, self.low, self.high, log=self.log, step=self.step)

    def values(self, points: int) -> list[Value]:
        """Return the values of a grid: every step, or so many ``points`` of a range without."""
        if self.step is None:
            return [*self.spaced(points)]
        count = math.floor((self.high - self.low) / self.step + 1e-9) + 1
        return [self.low + place * self.step for place in range(count)]


class Integers(NumberRange):
    """Whole numbers."""

    type: Literal["int"]
    low: int
    high: int
    step: PositiveInt | None = None

    @override
    def check(self) -> None:
        """See ``NumberRange``."""
        IntDistribution(self.low, self.high, self.log, self.step or 1)

    @override
    def has(self, value: Value) -> bool:
        """See ``NumberRange``."""
        return isinstance(value, int) and super().has(value)

    def suggest(self, trial: BaseTrial, name: str) -> Value:
        """Ask a trial for a value."""
        return trial.suggest_int(name, self.low, self.high, log=self.log, step=self.step or 1)

    def values(self, points: int) -> list[Value]:
        """Return the values of a grid: every step, or at most ``points`` of a range without."""
        steps = range(self.low, self.high + 1, self.step or 1)
        if self.step is not None or len(steps) <= points:
            return [*steps]
        return [*dict.fromkeys(round(value) for value in self.spaced(points))]


class Choices(Parameter):
    """Any of the choices, which have no order."""

    type: Literal["categorical"]
    choices: list[Value] = Field(min_length=1)

    def has(self, value: Value) -> bool:
        """Return whether a value is one of the choices."""
        return value in self.choices

    def suggest(self, trial: BaseTrial, name: str) -> Value:
        """Ask a trial for a value."""
        return trial.suggest_categorical(name, self.choices)

    def values(self, points: int) -> list[Value]:
        """Return all choices."""
        return self.choices


AnyParameter = Annotated[Floats | Integers | Choices, Field(discriminator="type")]
Space = Mapping[str, Floats | Integers | Choices]
"""Parameters by the name of their override, in the order in which a trial chooses them."""


def suggest(trial: BaseTrial, space: Space) -> dict[str, Value]:
    """Return the values of a trial for the parameters whose conditions hold."""
    chosen: dict[str, Value] = {}
    for name, parameter in space.items():
        if parameter.applies(chosen):
            chosen[name] = parameter.suggest(trial, name)
    return chosen


def as_overrides(chosen: Mapping[str, Any]) -> list[str]:
    """Return overrides as Hydra reads them on a command line."""
    return [f"{name}={hydra_value(value)}" for name, value in chosen.items()]


def hydra_value(value: Any) -> str:
    """Return a value as it follows the name of an override."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        # 0.3 for the third step of 0.1, which Optuna computes as 0.30000000000000004.
        written = float(f"{value:.12g}")
        return repr(written if abs(written - value) <= 2 * math.ulp(value) else value)
    return str(value)


def shown_value(value: Any) -> str:
    """Return a value for people: four digits of a number."""
    return f"{value:.4g}" if isinstance(value, float) else hydra_value(value)


def _keys(options: Options) -> set[str]:
    inner = [_keys(value) for value in options.values() if isinstance(value, Mapping)]
    return set(options).union(*inner)


Objective = Literal["bleu", "loss", "parameters", "seconds"]
DIRECTIONS: dict[Objective, Literal["minimize", "maximize"]] = {
    "bleu": "maximize",
    "loss": "minimize",
    "parameters": "minimize",
    "seconds": "minimize",
}


class Sweep(BaseModel, extra="forbid"):
    """Group ``sweep`` of the configuration, which ``conf/settings.yaml`` describes."""

    name: str = Field(pattern=r"^[\w.,+=-]+$")  # also of its folder and its group of tracked runs
    space: dict[str, AnyParameter] = Field(min_length=1)
    trials: int  # trials that finish, are pruned or diverge; those of dead workers do not count
    seeds: list[int] = Field(min_length=1)
    objectives: list[Objective] = Field(min_length=1)
    sampler: str
    sampler_options: GivenOptions
    sampler_seed: int
    grid_points: int
    pruner: str
    pruner_options: GivenOptions
    warmup_trials: int
    known: list[dict[str, Any]]
    storage: str | None
    workers: int
    worker: int | None
    retries: int
    heartbeat_seconds: int

    @field_validator("space", mode="before")
    @classmethod
    def _without_removed(cls, space: Any) -> Any:
        """Leave out parameters that an override has removed."""
        if not isinstance(space, Mapping):
            return space
        kept = {name: parameter for name, parameter in space.items() if parameter is not None}
        for name, parameter in kept.items():
            if not isinstance(parameter, Mapping | Parameter):
                raise ValueError(
                    f"{name}={parameter}: give a range, like {{type: float, low: 0.1, high: 0.5}}"
                )
        return kept

    @field_validator("space")
    @classmethod
    def _ordered(cls, space: Space) -> Space:
        known: set[str] = set()
        for name, parameter in space.items():
            if name == "seed":  # which a trial gets last
                raise ValueError("seed: a trial is trained with each of sweep.seeds; give those")
            for other in parameter.when:
                if other not in known:
                    raise ValueError(f"{name}: when: {other} is no parameter that stands above it")
            known.add(name)
        return space

    @field_validator("sampler_options")
    @classmethod
    def _without_seeds(cls, options: dict[str, Any]) -> dict[str, Any]:
        if "seed" in _keys(options):  # each trial would draw the same
            raise ValueError("seed: each trial has a seed of its own; give sweep.sampler_seed")
        return options

    @field_validator("seeds", "objectives")
    @classmethod
    def _once(cls, values: list[Any]) -> list[Any]:
        if len(set(values)) < len(values):
            raise ValueError("names one twice")
        return values

    @model_validator(mode="after")
    def _fitting(self) -> "Sweep":
        if len(self.objectives) > 1 and self.prunes_by != "nothing":
            raise ValueError(
                f"pruner={self.pruner}: several objectives cannot be pruned; give sweep.pruner=none"
            )
        if self.prunes_by == "seeds" and len(self.seeds) < 2:
            raise ValueError(
                f"pruner={self.pruner}: compares seeds; give several, like sweep.seeds=[1,2,3]"
            )
        for settings in self.known:
            unknown = settings.keys() - self.space.keys()
            if unknown:
                raise ValueError(f"known: {min(unknown)} is no parameter of the space")
            for name, value in settings.items():
                if not self.space[name].has(value):
                    raise ValueError(f"known: {name}={value} is not in the range of the space")
        if self.sampler != "grid" and len(self.known) > self.trials:
            raise ValueError(
                f"known: {len(self.known)} settings for {self.trials} trials; raise sweep.trials"
            )
        return self

    @property
    def directions(self) -> list[Literal["minimize", "maximize"]]:
        """Direction of each objective."""
        return [DIRECTIONS[objective] for objective in self.objectives]

    @property
    def prunes_by(self) -> PrunesBy:
        """What the pruner gets: values of validations, of whole seeds, or nothing.

        Raises ``UserError`` for a class that is no pruner.
        """
        kind = self._pruner_kind
        if issubclass(kind, pruners.NopPruner):
            return "nothing"
        return "seeds" if issubclass(kind, pruners.WilcoxonPruner) else "validations"

    @property
    def _pruner_kind(self) -> type[pruners.BasePruner]:
        return find_plug("sweep.pruner", self.pruner, PRUNERS, pruners.BasePruner)

    @property
    def sampler_label(self) -> str:
        """Name and options of the sampler."""
        return " ".join([self.sampler, *as_overrides(self.sampler_options)])

    @property
    def pruner_label(self) -> str:
        """Name and options of the pruner."""
        return " ".join([self.pruner, *as_overrides(self.pruner_options)])

    @property
    def sampler_kind(self) -> type[samplers.BaseSampler]:
        """Class of the sampler. Raises ``UserError`` for a class that is no sampler."""
        return find_plug("sweep.sampler", self.sampler, SAMPLERS, samplers.BaseSampler)

    def make_sampler(self, seed: int) -> samplers.BaseSampler:
        """Return a sampler. Raises ``UserError`` for a class or argument that cannot be used."""
        first = self.warmup_trials
        named: dict[str, Options] = {
            "tpe": {"constant_liar": True},
            "multivariate_tpe": {"multivariate": True, "group": True, "constant_liar": True},
            "cmaes": {"n_startup_trials": max(1, first)},
            "gp": {"n_startup_trials": max(1, first)},
            "qmc": {"scramble": True},
        }
        usual = {"seed": seed, "n_startup_trials": first}
        given = {**named.get(self.sampler, {}), **self.sampler_options}
        return _made("sweep.sampler", self.sampler, self.sampler_kind, usual, given)

    def make_pruner(self) -> pruners.BasePruner:
        """Return the pruner; its steps are ``TRIAL_STEPS``, or seeds for Wilcoxon's test.

        Raises ``UserError`` for a class or an argument that cannot be used.
        """
        named: dict[str, Options] = {
            "hyperband": {"min_resource": TRIAL_STEPS // 9, "max_resource": TRIAL_STEPS},
            "wilcoxon": {"n_startup_steps": 1},
        }
        usual = {"n_startup_trials": self.warmup_trials}
        given = {**named.get(self.pruner, {}), **self.pruner_options}
        return _made("sweep.pruner", self.pruner, self._pruner_kind, usual, given)


def _made(setting: str, name: str, kind: type[Method], usual: Options, given: Options) -> Method:
    """Make a sampler or pruner; ``usual`` arguments go only to a class whose constructor has them.

    Raises ``UserError`` for an argument that the class refuses.
    """
    taken = {key: usual[key] for key in usual.keys() & signature(kind).parameters.keys()}
    options = hydra.utils.instantiate({**taken, **given}, _convert_="all")  # a pruner in a pruner
    return make_plug(setting, name, kind, **options)
