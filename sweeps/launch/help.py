"""What ``--help`` lists: the groups with their choices, and the settings outside groups."""

from itertools import groupby

from omegaconf import OmegaConf

from lightning_modules.runs.settings.table import CONF, settings


def help_on_groups() -> str:
    """Return a line for each group with its choices; claims are no choices of a training."""
    files = sorted(CONF.glob("*/*.yaml"))
    groups = groupby(files, key=lambda file: file.parent.name)
    return "\n".join(f"{group}: {', '.join(file.stem for file in of)}" for group, of in groups)


def help_on_settings() -> str:
    """Return a line for each setting that a training reads and that is in no group."""
    shown = [
        setting
        for setting in settings().values()
        if "." not in setting.key and not setting.is_group and "train" in setting.tasks
    ]
    return "\n".join(f"  {setting.key:<23} {setting.meaning}" for setting in shown)


OmegaConf.register_new_resolver("help_on_groups", help_on_groups, replace=True)
OmegaConf.register_new_resolver("help_on_settings", help_on_settings, replace=True)
