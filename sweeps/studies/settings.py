"""The group ``sweep`` of the configuration."""

from typing import Annotated, Any, Literal

from omegaconf import DictConfig, OmegaConf
from pydantic import (
    BaseModel,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    field_validator,
    model_validator,
)

from datamodules.errors import UserError, first_mistake
from sweeps.studies.space import Choices, Floats, Integers, Space, check_conditions

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
    """Of the study, of its folder and of its group of tracked runs."""
    space: dict[str, AnyParameter] = Field(min_length=1)
    trials: PositiveInt
    """Those that end for a reason of their own count: finished, pruned, diverged."""
    seeds: list[NonNegativeInt] = Field(min_length=1)
    """Each trial is trained with each, and scored by the mean."""
    objectives: list[Objective] = Field(min_length=1)
    sampler: Sampler
    sampler_seed: NonNegativeInt
    pruner: Pruner
    warmup_trials: NonNegativeInt
    """Nothing is pruned before so many have finished, nor sampled but at random."""
    known: list[dict[str, Any]]
    """Settings to try first, such as the papers'."""
    storage: str | None
    """A database's address or a file; None: a journal in the study's folder."""
    workers: PositiveInt
    worker: NonNegativeInt
    """The number of this one."""
    retries: NonNegativeInt
    """How often a trial is taken up again whose worker died."""
    heartbeat_seconds: PositiveInt
    """Between two signs of life in a database; a trial is given up after three times as long."""

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
        """Of the objectives."""
        return [DIRECTIONS[objective] for objective in self.objectives]


def build_sweep(config: DictConfig) -> Sweep:
    """Check the group. Raises ``UserError`` with the setting to change."""
    try:
        return Sweep.model_validate(OmegaConf.to_container(config.sweep, resolve=True))
    except ValidationError as error:
        raise UserError(first_mistake(error, "sweep")) from None
