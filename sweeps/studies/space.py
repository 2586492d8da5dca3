"""Search spaces: which overrides a study tries, and in which ranges."""

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
    """Parameters of the same space with the values under which this one is tuned at all."""

    @abstractmethod
    def suggest(self, trial: BaseTrial, name: str) -> Value:
        """Ask a trial for a value."""

    @abstractmethod
    def grid(self) -> list[Value]:
        """All values. Raises ``ValueError`` for a range without steps."""

    @property
    @abstractmethod
    def example(self) -> Value:
        """One of its values."""


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
        """Uniform in the number or in its logarithm."""
        return trial.suggest_float(name, self.low, self.high, log=self.log, step=self.step)

    def grid(self) -> list[Value]:
        """By steps."""
        if self.step is None:
            raise ValueError("has no step, which a grid needs")
        count = math.floor((self.high - self.low) / self.step + 1e-9) + 1
        return [self.low + place * self.step for place in range(count)]

    @property
    def example(self) -> float:
        """The lowest."""
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
        """Uniform in the number or in its logarithm."""
        return trial.suggest_int(name, self.low, self.high, log=self.log, step=self.step)

    def grid(self) -> list[Value]:
        """By steps."""
        return list(range(self.low, self.high + 1, self.step))

    @property
    def example(self) -> int:
        """The lowest."""
        return self.low


class Choices(Parameter):
    """Any of the values."""

    type: Literal["categorical"]
    choices: list[Value] = Field(min_length=1)

    def suggest(self, trial: BaseTrial, name: str) -> Value:
        """Without an order."""
        return trial.suggest_categorical(name, self.choices)

    def grid(self) -> list[Value]:
        """In their order."""
        return list(self.choices)

    @property
    def example(self) -> Value:
        """The first."""
        return self.choices[0]


def _check_range(low: float, high: float, log: bool, step: float | None) -> None:
    if not low < high:
        raise ValueError(f"from {low:g} to {high:g} there is nothing to choose")
    if log and low <= 0:
        raise ValueError(f"log=true needs a range above 0, not from {low:g}")
    if log and step is not None:
        raise ValueError("log=true has no step; leave one of them out")


Space = Mapping[str, Floats | Integers | Choices]
"""By the name of the override, in the order in which they are asked for."""


def check_conditions(space: Space) -> None:
    """Check that parameters depend on earlier ones only. Raises ``ValueError``."""
    known: set[str] = set()
    for name, parameter in space.items():
        for other in parameter.when:
            if other not in known:
                raise ValueError(f"{name}: when: {other} is no parameter that stands above it")
        known.add(name)


def suggest(trial: BaseTrial, space: Space) -> dict[str, Value]:
    """The values of a trial, of those parameters whose conditions hold."""
    chosen: dict[str, Value] = {}
    for name, parameter in space.items():
        if _applies(parameter, chosen):
            chosen[name] = parameter.suggest(trial, name)
    return chosen


def grid(space: Space) -> list[dict[str, Value]]:
    """Every combination once. Raises ``ValueError`` for a parameter that has no grid."""
    axes: list[Sequence[tuple[str, Value]]] = []
    for name, parameter in space.items():
        try:
            axes.append([(name, value) for value in parameter.grid()])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    found: list[dict[str, Value]] = []
    for point in itertools.product(*axes):
        chosen: dict[str, Value] = {}
        for name, value in point:
            if _applies(space[name], chosen):
                chosen[name] = value
        if chosen not in found:
            found.append(chosen)
    return found


def _applies(parameter: Parameter, chosen: Mapping[str, Value]) -> bool:
    return all(
        other in chosen and chosen[other] in (wanted if isinstance(wanted, list) else [wanted])
        for other, wanted in parameter.when.items()
    )


def as_overrides(chosen: Mapping[str, Any]) -> list[str]:
    """Values as Hydra reads them on a command line."""
    return [f"{name}={written(value)}" for name, value in chosen.items()]


def written(value: Any) -> str:
    """A value as it stands behind an override's name."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)
