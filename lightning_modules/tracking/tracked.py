"""The tracker of a training: found and made, described, closed with the training."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hydra.utils
from omegaconf import DictConfig
from pydantic import ValidationError
from pytorch_lightning.loggers import Logger

from datamodules.errors import UserError, first_mistake, one_line
from datamodules.plugs import find_plug
from lightning_modules.ranks.environment import is_rank_zero
from lightning_modules.runs.environment import environment
from lightning_modules.runs.job import Job, label_of, label_with_changes
from lightning_modules.runs.paths import MULTIRUN
from lightning_modules.runs.provenance import git_commit
from lightning_modules.runs.settings import labelling_overrides
from lightning_modules.tracking.names import tag_of
from lightning_modules.tracking.trackers.lightning_tracker import LightningTracker
from lightning_modules.tracking.trackers.tracker import Tracker
from lightning_modules.training.module import TranslationModule
from lightning_modules.variants import count_parameters


@contextmanager
def tracked(
    config: DictConfig, job: Job, describe: Callable[[], dict[str, Any]]
) -> Iterator[tuple[Logger | None, Tracker | None]]:
    """Make the logger of a training, and close it with the context, as failed after an error.

    Yields the logger for the trainer, and the tracker that takes all else; None and None with
    ``logger=none`` and on ranks other than the first. ``describe`` returns entries for the
    configuration of the run; the run of a ``job`` in a comparison gets the comparison's tag. Raises
    ``UserError`` for a logger that cannot be made.
    """
    if not config.logger or not is_rank_zero():
        yield None, None
        return
    logger = make_logger(config.logger)
    tracker = logger if isinstance(logger, Tracker) else LightningTracker(logger)
    try:
        tracker.describe(describe())
        comparison = comparison_of(job.folder)
        tracker.label([tag_of(comparison)] if comparison else [], command_of(job))
        yield logger, tracker
    except BaseException as error:
        tracker.close(error)
        raise
    tracker.close()


def comparison_of(folder: Path) -> str | None:
    """Return the name of the comparison that a training belongs to, with its id; None if alone."""
    inside = (parent for parent in folder.absolute().parents if (parent / MULTIRUN).is_file())
    comparison = next(inside, None)
    return None if comparison is None else comparison.name


def command_of(job: Job) -> str:
    """Return the command that repeats one training."""
    return f"python run.py {shlex.join(job.overrides)}"


def make_logger(node: DictConfig) -> Logger:
    """Make the logger that the group ``logger`` of the configuration names.

    Raises ``UserError`` for a class that is no Lightning logger, and for whatever its constructor
    raises, such as a package that is missing.
    """
    name = str(node._target_)
    kind = find_plug("logger._target_", name, {}, Logger)
    given = {key: value for key, value in node.items() if key != "_target_"}
    try:
        return kind(**hydra.utils.instantiate(given, _convert_="all"))
    except UserError:
        raise
    except ValidationError as error:
        raise UserError(first_mistake(error, "logger")) from None
    except ModuleNotFoundError as error:
        raise UserError(
            f"logger._target_={name}: {one_line(error)}; install the package, or give logger=none"
        ) from None
    except Exception as error:  # a user's class and a server may raise anything
        raise UserError(
            f"logger._target_={name}: {one_line(error)}; correct logger.KEY=VALUE, or begin with "
            "logger=lightning, which gives no arguments"
        ) from error


def tracker_config(module: TranslationModule, job: Job, config: DictConfig) -> dict[str, Any]:
    """Return the configuration of a training with entries for the tracker's tables.

    All seeds of a system share ``system``: the variant's label, and the overrides that affect its
    results.
    """
    label = label_of(config.variant, job.overrides, {"label": config.label})
    return {
        **module.hparams_initial,
        "model_name": job.model_name,
        "system": label_with_changes(label, labelling_overrides(job.overrides, config.variant)),
        "parameters": count_parameters(module.model),
        "comparison": comparison_of(job.folder),
        "command": command_of(job),
        "folder": str(job.folder),
        "git_commit": git_commit(),
        "environment": environment(),
    }
