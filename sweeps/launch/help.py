"""``${help_on_settings:}``: the settings at the top of the configuration, for ``--help``."""

from omegaconf import OmegaConf

from lightning_modules.runs.settings.table import settings


def help_on_settings() -> str:
    """Return a line for each setting that a training reads and that is in no group."""
    shown = [
        setting
        for setting in settings().values()
        if "." not in setting.key and not setting.is_group and "train" in setting.tasks
    ]
    return "\n".join(f"  {setting.key:<23} {setting.meaning}" for setting in shown)


OmegaConf.register_new_resolver("help_on_settings", help_on_settings, replace=True)
