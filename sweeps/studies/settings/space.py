"""The search space of a study: overrides of Hydra and the values that they may take."""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from optuna.trial import BaseTrial
from pydantic import BaseModel, Field, PositiveFloat, PositiveInt, model_validator

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
    return repr(_as_written(value)) if isinstance(value, float) else str(value)


def shown_value(value: Any) -> str:
    """Return a value for people: four digits of a number."""
    return f"{value:.4g}" if isinstance(value, float) else hydra_value(value)


def _as_written(value: float) -> float:
    """Return 0.3 for the third step of 0.1, which Optuna computes as 0.30000000000000004."""
    written = float(f"{value:.12g}")
    return written if abs(written - value) <= 2 * math.ulp(value) else value
