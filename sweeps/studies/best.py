"""The best settings of a study as a file for Hydra."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import OmegaConf
from optuna.trial import FrozenTrial

from datamodules.files import write_text
from lightning_modules.redaction import redacted
from sweeps.errors import CONF
from sweeps.studies.compose import composed, own_settings
from sweeps.studies.places import SLOT
from sweeps.studies.settings import Sweep
from sweeps.studies.space import as_overrides

GROUP = "experiment"
NOT_OF_A_TRAINING = ("task", "sweep", "comparison", "logger", "hydra/help")
"""Groups."""
OF_THE_MACHINE = ("outputs", "cache_dir", "logger", "comparison_name", "seed")


class Best(NamedTuple):
    """A trial that no other is better than."""

    slot: int
    scores: str
    settings: dict[str, Any]
    command: str
    """That trains it again."""

    @property
    def told(self) -> str:
        """In a line."""
        return f"best: trial {self.slot}, {self.scores}; {self.command}"


def write_best(trial: FrozenTrial, sweep: Sweep, overrides: Sequence[str], folder: Path) -> Best:
    """Write what the trial was trained with as a file for Hydra.

    Of several best trials, each has a file of its own.
    """
    slot = trial.user_attrs[SLOT]
    name = sweep.name if len(sweep.objectives) == 1 else f"{sweep.name}-{slot}"
    scores = ", ".join(
        f"{objective} {value:.6g}"
        for objective, value in zip(sweep.objectives, trial.values, strict=True)
    )
    told = (
        f"# @package _global_\n# Trial {slot} of the study {sweep.name}: {scores} in validation.\n"
    )
    text = as_experiment([*overrides, *as_overrides(trial.params)])
    write_text(folder / GROUP / f"{name}.yaml", told + text)
    words = ["--config-dir", str(folder), f"+{GROUP}={name}", f"seed={sweep.seeds[0]}"]
    return Best(slot, scores, trial.params, f"python run.py {shlex.join(words)}")


def as_experiment(overrides: Sequence[str]) -> str:
    """The whole configuration as one file: the groups it came from, then every value.

    What comes from the file of a study or comparison, such as the number of threads, is kept.
    """
    config = composed(overrides)
    choices = config.hydra.runtime.choices
    groups = [
        {f"override /{group}": choice}
        for group, choice in choices.items()
        if choice and (CONF / group).is_dir() and group not in NOT_OF_A_TRAINING
    ]
    settings = own_settings(config)
    kept = OmegaConf.masked_copy(
        settings, [str(key) for key in settings if key not in OF_THE_MACHINE]
    )
    values: Any = redacted(OmegaConf.to_container(kept, resolve=False))
    return OmegaConf.to_yaml(OmegaConf.create({"defaults": [*groups, "_self_"], **values}))
