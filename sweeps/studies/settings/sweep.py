"""The group ``sweep`` of the configuration: what is tuned, how, and by how many workers."""

from typing import Annotated, Any, Literal

from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler
from pydantic import BaseModel, Field, NonNegativeInt, PositiveInt, field_validator, model_validator

from sweeps.studies.settings.methods import PrunesBy, make_pruner, make_sampler, prunes_by
from sweeps.studies.settings.space import (
    Choices,
    Floats,
    Integers,
    Space,
    as_overrides,
    check_conditions,
)

Objective = Literal["bleu", "loss", "parameters", "seconds"]
DIRECTIONS: dict[Objective, Literal["minimize", "maximize"]] = {
    "bleu": "maximize",
    "loss": "minimize",
    "parameters": "minimize",
    "seconds": "minimize",
}
AnyParameter = Annotated[Floats | Integers | Choices, Field(discriminator="type")]


class Sweep(BaseModel, extra="forbid"):
    """Group ``sweep`` of the configuration: search space, number of trials, sampler, pruner."""

    name: str = Field(pattern=r"^[\w.,+=-]+$")
    """Name of the study, of its folder and of its group of tracked runs."""
    space: dict[str, AnyParameter] = Field(min_length=1)
    trials: PositiveInt
    """Number of trials that finish, are pruned or diverge; trials of dead workers do not count."""
    seeds: list[NonNegativeInt] = Field(min_length=1)
    """Seeds of each trial, which is scored by the mean over them."""
    objectives: list[Objective] = Field(min_length=1)
    sampler: str
    """Name in ``methods.SAMPLERS``, or the dotted path of an Optuna sampler."""
    sampler_options: dict[str, Any] = {}
    """Arguments of the sampler's class, before those that the harness gives."""
    sampler_seed: NonNegativeInt
    pruner: str
    """Name in ``methods.PRUNERS``, or the dotted path of an Optuna pruner."""
    pruner_options: dict[str, Any] = {}
    """Arguments of the pruner's class, before those that the harness gives."""
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
        return self

    @property
    def directions(self) -> list[Literal["minimize", "maximize"]]:
        """Direction of each objective."""
        return [DIRECTIONS[objective] for objective in self.objectives]

    @property
    def prunes_by(self) -> PrunesBy:
        """What the pruner is told: values of validations, of whole seeds, or nothing."""
        return prunes_by(self.pruner)

    @property
    def sampler_label(self) -> str:
        """Name and options of the sampler."""
        return " ".join([self.sampler, *as_overrides(self.sampler_options)])

    @property
    def pruner_label(self) -> str:
        """Name and options of the pruner."""
        return " ".join([self.pruner, *as_overrides(self.pruner_options)])

    def make_sampler(self, worker: int = 0) -> BaseSampler:
        """Return the sampler of a worker; each has random numbers of its own."""
        return make_sampler(
            self.sampler, self.sampler_options, self.sampler_seed, worker, self.warmup_trials
        )

    def make_pruner(self) -> BasePruner:
        """Return the pruner."""
        return make_pruner(self.pruner, self.pruner_options, self.warmup_trials)
