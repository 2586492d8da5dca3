"""Hydra callback around a multirun: a table while it runs, further work before and after it."""

import atexit
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.utils import get_method
from omegaconf import DictConfig

from lightning_modules.runs.checksums import verify_files
from lightning_modules.runs.redaction import redact_multirun
from sweeps.launch.errors import exit_on_error
from sweeps.launch.job import Task, ctrl_c_ends_at_once, import_task

VIEWS = {
    "lightning_modules.tasks.train.train": "sweeps.launch.live.view_of",
    "sweeps.studies.worker.work": "sweeps.studies.live_trials.view_of",
}
"""Tasks of jobs that a terminal shows, and what makes the view of a configuration."""


class MultirunCallback(Callback):
    """Call functions of a configuration before the first and after the last job of a multirun.

    Hydra makes this object for every command, so the functions are imported where they are called.
    The process ends with status 2 for a mistake of the user: Hydra turns the exceptions of a
    callback into warnings, and ``SystemExit`` is the only way out.

    Args:
        at_start: dotted paths of functions of the configuration, called in order.
        at_end: dotted paths of functions that are called once all jobs have ended.
    """

    def __init__(self, at_start: Sequence[str] = (), at_end: Sequence[str] = ()) -> None:
        self._at_start, self._at_end = list(at_start), list(at_end)
        self._view: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the view: Hydra sends a copy of this object to each job."""
        return self.__dict__ | {"_view": None}

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Call the functions, then show trainings or trials where there is a terminal."""
        _call(map(_imported, self._at_start), config)
        atexit.register(redact_multirun, Path(config.hydra.sweep.dir))
        if sys.stdout.isatty() and config.task in VIEWS:
            self._view = _imported(VIEWS[config.task])(config)
            self._view.start()

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Take the view away, then call the functions."""
        if self._view is not None:
            self._view.stop()
        _call((import_task(path, config) for path in self._at_end), config)


def _imported(path: str) -> Task:
    with ctrl_c_ends_at_once():
        return get_method(path)


def _call(functions: Iterable[Task], config: DictConfig) -> None:
    HydraConfig.instance().set_config(config)  # Hydra sets it for jobs alone
    with exit_on_error(), verify_files(config.verify):
        for function in functions:
            function(config)
