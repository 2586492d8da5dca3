"""Check the values of a configuration against the table of settings, before anything is read."""

from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from lightning_modules.runs.settings_table import flatten, settings


def check_settings(config: DictConfig) -> None:
    """Raise ``UserError`` for the first value that the table of settings does not allow.

    Values with an interpolation are checked by the classes that take the values.
    """
    values = flatten(OmegaConf.to_container(config))  # type: ignore[arg-type]
    for key, value in values.items():
        setting = settings().get(key)
        if setting is None or (isinstance(value, str) and "${" in value):
            continue
        if not setting.type.allows(value):
            shown = "null" if value is None else value
            raise UserError(f"{key}={shown}: give {setting.type}")
