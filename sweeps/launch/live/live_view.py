"""A part of the terminal that is drawn again and again, below the lines that are printed."""

import logging
import sys
from collections.abc import Callable
from threading import Event, Thread
from typing import Any, TextIO

from rich.console import Console, RenderableType
from rich.file_proxy import FileProxy
from rich.live import Live
from rich.text import Text

EVERY_SECONDS = 0.5
TIMEOUT_SECONDS = 5.0
"""Longest wait for a storage that does not answer, at the end."""


class LiveView:
    """A thread that shows what ``draw`` returns; None is not shown.

    Lines that the program prints meanwhile stand above, each in one piece, so that a path can be
    copied.
    """

    def __init__(self, draw: Callable[[], RenderableType | None], console: Console) -> None:
        self._draw, self._console = draw, console
        self._live = Live(
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._stdout, self._stderr = sys.stdout, sys.stderr
        self._over = Event()
        self._thread = Thread(target=self._keep_up, daemon=True)

    def start(self) -> None:
        """Show the view until ``stop``."""
        lines: Any = Lines(self._console, self._stdout)
        sys.stdout = lines
        _exchange(self._stdout, lines)
        self._thread.start()

    def stop(self) -> None:
        """Take the view away."""
        if self._over.is_set():
            return
        self._over.set()
        self._thread.join(TIMEOUT_SECONDS)
        self._live.stop()
        lines, sys.stdout, sys.stderr = sys.stdout, self._stdout, self._stderr
        _exchange(lines, self._stdout)

    def _keep_up(self) -> None:
        while not self._over.wait(EVERY_SECONDS):
            drawn = self._draw()
            if drawn is None or self._over.is_set():
                continue
            if not self._live.is_started:
                # Not earlier: the bars of a corpus that is read are drawn on standard error.
                sys.stderr = Lines(self._console, self._stderr)
                self._live.start()
            self._live.update(drawn, refresh=True)


class Lines(FileProxy):
    """A stream whose lines stand above the view; Rich's own would break long lines."""

    def __init__(self, console: Console, file: TextIO) -> None:
        super().__init__(console, file)
        self._console, self._rest = console, ""

    def write(self, text: str) -> int:
        """Print the lines that are complete."""
        lines, newline, self._rest = f"{self._rest}{text}".rpartition("\n")
        if newline:
            self._console.print(Text(lines), soft_wrap=True)
        return len(text)

    def flush(self) -> None:
        """Do nothing: a part of a line would be overwritten by the view."""


def _exchange(old: TextIO, new: TextIO) -> None:
    """Let the log write to ``new`` where it wrote to ``old``."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is old:
            handler.setStream(new)
