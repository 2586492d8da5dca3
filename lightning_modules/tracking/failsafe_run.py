"""A W&B run that neither stops nor delays its program."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import wandb

from datamodules.errors import one_line
from lightning_modules.tracking.mode import call_with_timeout, sync_command

log = logging.getLogger(__name__)


class FailsafeRun:
    """A W&B run whose failures end the tracking and nothing else.

    Every call goes through ``send``. The first failure prints one line; earlier records stay in the
    folder of W&B, and later calls do nothing.
    """

    def __init__(self, run: wandb.Run) -> None:
        self._run = run
        self._failed = False

    @property
    def project(self) -> str:
        """The project."""
        return str(self._run.project)

    @property
    def id(self) -> str:
        """The id of the run, unique in its project."""
        return str(self._run.id)

    @property
    def online(self) -> bool:
        """Whether records reach a server."""
        return not (self._failed or self._run.offline or self._run.disabled)

    @property
    def sync_command(self) -> str:
        """The command that sends the run to W&B later."""
        return sync_command(Path(self._run.dir).parent)

    def send(self, call: Callable[[wandb.Run], object], seconds: float | None = None) -> None:
        """Call a function with the run; ``seconds`` limit a call that may ask the server."""
        if not self._failed:
            self._attempt(partial(call, self._run), seconds)

    def describe(self, entries: Mapping[str, Any]) -> None:
        """Add entries to the configuration of the run."""
        self.send(lambda run: run.config.update(dict(entries), allow_val_change=True))

    def close(self, failed: bool = False) -> None:
        """End the run, so that the process can start another one."""
        self._attempt(partial(self._run.finish, exit_code=int(failed)))

    def _attempt(self, call: Callable[[], object], seconds: float | None = None) -> None:
        try:
            if seconds is None:
                call()
            else:
                call_with_timeout(seconds, call)
        except Exception as error:
            if not self._failed:
                log.warning("W&B stopped (%s); later: %s", one_line(error), self.sync_command)
            self._failed = True
