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

from lightning_modules.runs.checksums import verifying
from lightning_modules.runs.redaction import redact_multirun
from sweeps.launch.errors import exit_on_error
from sweeps.launch.task_import import Task, import_task

TRAINING = "lightning_modules.tasks.train.train"


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
        self._table: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the table: Hydra sends a copy of this object to each job."""
        return self.__dict__ | {"_table": None}

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Call the functions, then show a table of trainings where there is a terminal."""
        _call(map(get_method, self._at_start), config)
        atexit.register(redact_multirun, Path(config.hydra.sweep.dir))
        if not sys.stdout.isatty() or config.task != TRAINING:
            return
        from rich.console import Console

        from sweeps.launch.live_table import LiveTable, jobs_of

        self._table = LiveTable(Path(config.hydra.sweep.dir), jobs_of(config), Console())
        self._table.start()

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Take the table away, then call the functions."""
        if self._table is not None:
            self._table.stop()
        _call((import_task(path, config) for path in self._at_end), config)


def _call(functions: Iterable[Task], config: DictConfig) -> None:
    HydraConfig.instance().set_config(config)  # Hydra sets it for jobs alone
    with exit_on_error(), verifying(config.verify):
        for function in functions:
            function(config)
