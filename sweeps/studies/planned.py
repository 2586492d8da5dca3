"""The studies that a command line asks for, and the trainings after them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, Field, NonNegativeInt, ValidationError

from datamodules.errors import UserError, first_mistake
from sweeps.errors import as_user_error
from sweeps.studies.compose import base_overrides, composed, current
from sweeps.studies.settings import Sweep, build_sweep
from sweeps.studies.space import Value, as_overrides


class Tuned(BaseModel, extra="forbid"):
    """The group ``tuned``: variants, each with the family whose space is searched."""

    variants: dict[str, str] = Field(min_length=1)
    seeds: list[NonNegativeInt] = Field(min_length=1)
    """Of the runs that are compared."""


@dataclass(frozen=True)
class Planned:
    """A study to be made."""

    variant: str
    sweep: Sweep
    overrides: list[str]
    """Of each of its trainings."""
    folder: Path


def planned(config: DictConfig, hydra: Any) -> list[Planned]:
    """The studies of a command line: one, or one for each variant that is tuned.

    ``hydra`` is Hydra's own part of the configuration. Raises ``UserError`` for settings that
    cannot be used, such as seeds of trials among the fresh ones.
    """
    base, out = base_overrides(hydra.overrides.task), Path(hydra.sweep.dir)
    tuned = build_tuned(config)
    if tuned is None:
        return [Planned(config.variant, build_sweep(config), _of_all_workers(base), out)]
    made = []
    for variant, family in tuned.variants.items():
        overrides = [*base, f"sweep={family}", f"model={variant}"]
        own = _composed(overrides, f"tuned.variants.{variant}={family}")
        with current(own):
            sweep = build_sweep(own)
        if len(sweep.objectives) > 1:
            raise UserError("sweep.objectives: comparison=tuned chooses by one; give one")
        seen = set(sweep.seeds) & set(tuned.seeds)
        if seen:
            raise UserError(
                f"tuned.seeds: {min(seen)} is a seed of the trials too; give fresh ones"
            )
        made.append(Planned(variant, sweep, _of_all_workers(overrides), out / "studies" / variant))
    return made


def _of_all_workers(overrides: list[str]) -> list[str]:
    return [override for override in overrides if not override.startswith("sweep.worker=")]


def build_tuned(config: DictConfig) -> Tuned | None:
    """The group ``tuned``, of ``comparison=tuned`` alone. Raises ``UserError``."""
    if "tuned" not in config:
        return None
    try:
        return Tuned.model_validate(dict(config.tuned))
    except ValidationError as error:
        raise UserError(first_mistake(error, "tuned")) from None


def check_space(study: Planned) -> None:
    """Check that every parameter is an override that Hydra takes. Raises ``UserError``."""
    for name, parameter in study.sweep.space.items():
        chosen: dict[str, Value] = {
            other: wanted[0] if isinstance(wanted, list) else wanted
            for other, wanted in parameter.when.items()
        }
        chosen[name] = parameter.example
        _composed([*study.overrides, *as_overrides(chosen)], f"sweep.space.{name}")


def _composed(overrides: list[str], what: str) -> DictConfig:
    try:
        return composed(overrides)
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(f"{what}: {as_user_error(error)}") from None
