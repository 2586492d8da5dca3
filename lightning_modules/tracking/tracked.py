"""A W&B run that nobody waits for."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import wandb

from lightning_modules.tracking.mode import in_a_line, sync_command, within

log = logging.getLogger(__name__)


class TrackedRun:
    """A W&B run that its program never waits for nor fails with.

    Every call goes through ``tell``. The first that fails is told in one line; what was logged
    before stays in W&B's folder, and nothing more is tracked.
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
        """What tells it from all others of its project."""
        return str(self._run.id)

    @property
    def online(self) -> bool:
        """Whether what is logged arrives at a server."""
        return not (self._failed or self._run.offline or self._run.disabled)

    @property
    def sync_command(self) -> str:
        """What sends the run to W&B later."""
        return sync_command(Path(self._run.dir).parent)

    def tell(self, what: Callable[[wandb.Run], object], seconds: float | None = None) -> None:
        """Do something with the run; give up after ``seconds`` if it may ask the server."""
        if not self._failed:
            self._attempt(partial(what, self._run), seconds)

    def describe(self, about: Mapping[str, Any]) -> None:
        """Add to the run's configuration."""
        self.tell(lambda run: run.config.update(dict(about), allow_val_change=True))

    def close(self, exit_code: int = 0) -> None:
        """End the run, so that the next of this process is one of its own."""
        self._attempt(partial(self._run.finish, exit_code=exit_code))

    def _attempt(self, call: Callable[[], object], seconds: float | None = None) -> None:
        try:
            if seconds is None:
                call()
            else:
                within(seconds, call)
        except Exception as error:
            if not self._failed:
                log.warning("W&B stopped (%s); later: %s", in_a_line(error), self.sync_command)
            self._failed = True
