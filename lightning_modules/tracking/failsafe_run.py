"""A W&B run that neither stops nor delays its program."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import wandb

from datamodules.errors import one_line
from lightning_modules.runs.redaction import redacted
from lightning_modules.tracking.console_log import ConsoleLog
from lightning_modules.tracking.mode import call_with_timeout, sync_command

log = logging.getLogger(__name__)


class FailsafeRun:
    """A W&B run whose failures end the tracking and nothing else.

    Every call goes through ``send``. The first failure prints one line; earlier records stay in the
    folder of W&B, and later calls do nothing. The run gets what the program logs until ``close``.
    """

    def __init__(self, run: wandb.Run) -> None:
        self._run = run
        self._failed = False
        self._console = ConsoleLog(lambda line: self.send(lambda run: run.write_logs(line)))
        self._console.start()

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

    def close(self, error: BaseException | None = None) -> None:
        """End the run, so that the process can start another one.

        After an ``error`` the run ends as failed. Where a server is reached, it tells the user of
        an error, but of no interruption.
        """
        if isinstance(error, Exception) and self.online:
            self.send(partial(_alert, error=error))
        self._console.stop()
        self._attempt(partial(self._run.finish, exit_code=int(error is not None)))

    def _attempt(self, call: Callable[[], object], seconds: float | None = None) -> None:
        try:
            if seconds is None:
                call()
            else:
                call_with_timeout(seconds, call)
        except Exception as error:
            known, self._failed = self._failed, True
            if not known:
                log.warning("W&B stopped (%s); later: %s", one_line(error), self.sync_command)


def _alert(run: wandb.Run, error: Exception) -> None:
    run.alert(f"{run.name} failed", str(redacted(one_line(error))), level="ERROR")
