"""The tracked run of a training: its start, its configuration and its end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from omegaconf import DictConfig

from lightning_modules.ranks.rank_environment import is_rank_zero
from lightning_modules.runs.environment import environment
from lightning_modules.runs.job import Job
from lightning_modules.runs.provenance import git_commit
from lightning_modules.runs.settings_table import labelling_overrides
from lightning_modules.tracking.tracker import Tracker
from lightning_modules.training.factories import build
from lightning_modules.variants import EncoderDecoder, count_parameters


@contextmanager
def tracked(config: DictConfig, describe: Callable[[], dict[str, Any]]) -> Iterator[Tracker | None]:
    """Start the tracked run of a training, and end it with the context.

    Yields None with ``logger=none`` and on ranks other than the first. ``describe`` returns entries
    for the configuration of the run. Raises ``UserError`` if no run starts in the wanted mode.
    """
    if not config.logger or not is_rank_zero():
        yield None
        return
    tracker: Tracker = build(config, "logger")
    try:
        tracker.log_hyperparams(describe())
        yield tracker
    except BaseException:
        tracker.close(exit_code=1)
        raise
    tracker.close()


def tracker_config(model: EncoderDecoder, job: Job, variant: str) -> dict[str, Any]:
    """Return entries for the tracker's tables beside a run's configuration.

    All seeds of a system share ``system``: the variant, and the overrides that affect its results.
    """
    return {
        "model_name": job.model_name,
        "system": ", ".join([variant, *labelling_overrides(job.overrides, variant)]),
        "parameters": count_parameters(model),
        "folder": str(job.folder),
        "git_commit": git_commit(),
        "environment": environment(),
    }
