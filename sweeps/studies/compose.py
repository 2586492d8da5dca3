"""Configurations of jobs that Hydra did not start."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import compose
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from datamodules.files import write_text
from lightning_modules.redaction import redacted

OF_THE_STUDY = ("sweep=", "sweep.", "task=", "seed=", "comparison=")
"""Overrides on a study's command line that are none of its trials."""


def base_overrides(overrides: Sequence[str]) -> list[str]:
    """The overrides that a study's command line has for its trials."""
    return [override for override in overrides if not override.startswith(OF_THE_STUDY)]


@contextmanager
def as_job(overrides: Sequence[str], folder: Path) -> Iterator[DictConfig]:
    """Let what runs inside believe that Hydra started it in ``folder``, with these overrides.

    Raises what Hydra raises for overrides that do not fit.
    """
    config = compose("config", list(overrides), return_hydra_config=True)
    with open_dict(config):
        config.hydra.runtime.output_dir = str(folder)
        config.hydra.mode = RunMode.MULTIRUN  # its progress is read from a file
        config.hydra.job.num = 0
    outer = HydraConfig.instance().cfg
    HydraConfig.instance().set_config(config)
    try:
        own: Any = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / ".hydra" / "config.yaml", redacted(OmegaConf.to_yaml(own)))
        write_text(
            folder / ".hydra" / "overrides.yaml", redacted(OmegaConf.to_yaml(list(overrides)))
        )
        yield own
    finally:
        HydraConfig.instance().cfg = outer
