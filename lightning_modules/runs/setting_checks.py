"""Check the values of a configuration against the table of settings, before anything is read."""

from typing import Any

from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from lightning_modules.runs.provenance import HARNESS
from lightning_modules.runs.settings_table import flatten, settings

PACKAGES = (*HARNESS, "torch", "pytorch_lightning")
"""Packages whose classes take what the table of settings says."""


def check_settings(config: DictConfig) -> None:
    """Raise ``UserError`` for the first value that the table of settings does not allow.

    Values with an interpolation are checked by the classes that take the values, and so are the
    arguments of a user's class, which may mean something else by a name of the table.
    """
    plain: Any = OmegaConf.to_container(config)
    values = flatten(plain)
    own = tuple(
        key.removesuffix("_target_")
        for key, value in values.items()
        if key.endswith("._target_") and str(value).partition(".")[0] not in PACKAGES
    )
    for key, value in values.items():
        setting = settings().get(key)
        if setting is None or (isinstance(value, str) and "${" in value):
            continue
        if key.startswith(own) and not key.endswith("._target_"):
            continue
        if not setting.type.allows(value):
            shown = "null" if value is None else value
            raise UserError(f"{key}={shown}: give {setting.type}")
