"""Composing the configuration of a job that Hydra did not start, such as a trial."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from datamodules.files import write_text
from lightning_modules.runs.job import Job
from lightning_modules.runs.paths import CONF, HYDRA, RESULT
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.setting_checks import check_settings
from lightning_modules.runs.settings import belongs_to_study
from sweeps.launch.errors import as_user_error
from sweeps.launch.resolvers import register
from sweeps.launch.run_record import record_overrides


def composed(overrides: Sequence[str]) -> DictConfig:
    """Compose the configuration of a command line, with Hydra's own node.

    Raises what Hydra raises for wrong overrides.
    """
    return compose("config", list(overrides), return_hydra_config=True)


def command_config(overrides: Sequence[str]) -> DictConfig:
    """Compose the configuration of a command in a process without Hydra, such as a notebook.

    A task that uses a run starts from the settings of the run, as on the command line. Hydra's own
    node is there too. Raises ``UserError`` for overrides that Hydra cannot use.
    """
    register()
    try:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            return composed([*overrides, *record_overrides(overrides)])
    except Exception as error:
        if (mistake := as_user_error(error)) is not None:
            raise mistake from None
        raise


def task_settings(overrides: Sequence[str]) -> DictConfig:
    """Return the checked and resolved settings of a command's task, without Hydra's node.

    Raises ``UserError`` for a setting that cannot be used.
    """
    config = command_config(overrides)
    with open_dict(config):  # which Hydra sets; the task writes nothing there
        config.hydra.runtime.output_dir = str(Path.cwd())
        config.hydra.mode = RunMode.RUN
    keys = [key for key in map(str, config) if key != "hydra"]
    settings: Any = OmegaConf.masked_copy(config, keys)
    with use_hydra_config(config):
        check_settings(settings, overrides)
        OmegaConf.resolve(settings)
    return settings


@contextmanager
def hydra_job(overrides: Sequence[str], folder: Path) -> Iterator[tuple[Job, DictConfig]]:
    """Yield a job in ``folder`` with these overrides, and its configuration.

    As for a job that Hydra starts, ``folder`` gets ``.hydra/`` unless it holds a finished run, and
    ``${hydra:…}`` resolves. Raises ``UserError`` for a setting that cannot be used.
    """
    config = composed(overrides)
    with open_dict(config):
        config.hydra.runtime.output_dir = str(folder)
        config.hydra.mode = RunMode.MULTIRUN  # the job writes its progress to a file
        config.hydra.job.num = 0
    settings = training_config(config)
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "config": settings,
        "overrides": OmegaConf.create(list(overrides)),
        "hydra": OmegaConf.create({"hydra": config.hydra}),
    }
    for name, content in {} if (folder / RESULT).is_file() else files.items():
        write_text(folder / HYDRA / f"{name}.yaml", redacted(OmegaConf.to_yaml(content)))
    with use_hydra_config(config):
        check_settings(OmegaConf.masked_copy(config, [*settings, "task"]))
        yield Job.of(config.hydra), settings


@contextmanager
def use_hydra_config(config: Any) -> Iterator[None]:
    """Let ``${hydra:…}`` resolve from this configuration."""
    outer = HydraConfig.instance().cfg
    HydraConfig.instance().cfg = config
    try:
        yield
    finally:
        HydraConfig.instance().cfg = outer


def training_config(config: DictConfig) -> DictConfig:
    """Return the settings of a training without those of its study; interpolations stay."""
    keys = [key for key in map(str, config) if not belongs_to_study(key)]
    kept: Any = OmegaConf.masked_copy(config, keys)
    return kept
