"""The best settings of a study as a file for Hydra."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from optuna.trial import FrozenTrial

from datamodules.files import write_text
from sweeps.errors import CONF
from sweeps.studies.settings import Sweep
from sweeps.studies.space import as_overrides
from sweeps.studies.study import SLOT

GROUP = "experiment"


def write_best(trial: FrozenTrial, sweep: Sweep, overrides: Sequence[str], folder: Path) -> str:
    """Write what the trial was trained with; return the command that trains it again.

    Of several best trials, each has a file of its own.
    """
    slot = trial.user_attrs[SLOT]
    name = sweep.name if len(sweep.objectives) == 1 else f"{sweep.name}-{slot}"
    text = as_experiment([*overrides, *as_overrides(trial.params)])
    scores = ", ".join(
        f"{objective} {value:.6g}"
        for objective, value in zip(sweep.objectives, trial.values, strict=True)
    )
    told = f"Trial {slot} of the study {sweep.name}: {scores} in validation."
    write_text(folder / GROUP / f"{name}.yaml", f"# @package _global_\n# {told}\n{text}")
    command = f"python run.py --config-dir {folder} +{GROUP}={name} seed={sweep.seeds[0]}"
    return f"best: trial {slot}, {scores}; {command}"


def as_experiment(overrides: Sequence[str]) -> str:
    """Overrides as a file of the configuration: groups in its defaults, values below.

    Raises ``ValueError`` for one that takes something away, which no file can.
    """
    groups: list[dict[str, Any]] = []
    values = OmegaConf.create({})
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        if override.is_delete():
            raise ValueError(f"{override.input_line} cannot be written into a file")
        key = override.key_or_group
        if (CONF / key).is_dir():
            groups.append({f"override /{key}": override.value()})
        else:
            OmegaConf.update(values, key, override.value(), force_add=True)
    defaults = {"defaults": [*groups, "_self_"]} if groups else {}
    return OmegaConf.to_yaml(OmegaConf.merge(defaults, values))
