"""A part of the terminal that is drawn again and again, below the lines that are printed."""

import atexit
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, TextIO

from hydra import compose
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from rich.console import Console, RenderableType
from rich.file_proxy import FileProxy
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text
from typing_extensions import override

from lightning_modules.runs.files import read_state
from lightning_modules.runs.job import QUIET
from lightning_modules.runs.paths import FAILURE, PROGRESS, RESULT
from lightning_modules.runs.schema import TRAINING, VALIDATION, JobState
from sweeps.comparison.numbers import NOTHING

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


SHORTEST_BAR, GAP = 10, 2
"""Columns of the terminal."""


@contextmanager
def live_bar(folder: Path, label: str) -> Iterator[None]:
    """Show a bar in the terminal while the block's run, in ``folder``, writes its progress."""
    started, console = time.time(), Console()

    def draw() -> RenderableType | None:
        state = read_state(folder)
        # A training that was interrupted has left its file.
        fresh = state is not None and (folder / PROGRESS).stat().st_mtime >= started
        return run_bar(label, state, console.width) if fresh and state is not None else None

    view = LiveView(draw, console)
    view.start()
    try:
        yield
    finally:
        view.stop()


def run_bar(label: str, state: JobState, width: int) -> RenderableType:
    """Return a line: the run and its phase, the bar, share of the budget, speed, BLEU, time left.

    The label of the run is cut where the terminal, ``width`` characters wide, has no room for it.
    A test without a training has no budget, so its line names the phase alone.
    """
    phase, numbers = Text(state.doing, "cyan"), "  ".join(_numbers(state))
    if not state.updates:
        return Text.assemble(label, "  ", phase)
    room = max(0, width - len(phase) - len(numbers) - SHORTEST_BAR - 4 * GAP)
    name = Text(label)
    name.truncate(room, overflow="ellipsis")
    texts = (Column(no_wrap=True, overflow="ellipsis") for _ in range(3))
    columns = [next(texts), next(texts), Column(ratio=1), next(texts)]
    bar = Table.grid(*columns, padding=(0, GAP, 0, 0), expand=True)
    bar.add_row(name, phase, ProgressBar(1.0, state.share, width=None), numbers)
    return bar


def _numbers(state: JobState) -> Iterator[str]:
    yield f"{state.share:.0%}"
    if state.doing not in (TRAINING, VALIDATION):
        return
    if state.seconds_left is not None:
        yield f"{clock(state.seconds_left)} left"
    yield f"{state.tokens_per_second:,.0f} tokens/s"
    if state.val_bleu is not None:
        yield f"BLEU {state.val_bleu:.2f}"


def clock(seconds: float) -> str:
    """Return ``1:05`` or, from an hour on, ``2:03:05``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class QuietView(LiveView):
    """A view of jobs, whose lines go to their own logs alone meanwhile."""

    @override
    def start(self) -> None:
        """Show the view until ``stop`` or the end of the program."""
        os.environ[QUIET] = "1"
        super().start()
        atexit.register(self.stop)

    @override
    def stop(self) -> None:
        """Take the view away."""
        super().stop()
        os.environ.pop(QUIET, None)


class LiveTable(QuietView):
    """The table while the jobs of ``folder`` run.

    ``jobs`` are the labels of the jobs, in the order of their numbers.
    """

    def __init__(self, folder: Path, jobs: Sequence[str], console: Console) -> None:
        super().__init__(partial(job_table, folder, jobs), console)


def view_of(config: DictConfig) -> LiveTable:
    """Return the table of a multirun."""
    labels = [job_label(overrides) for overrides in jobs_of(config)]
    return LiveTable(Path(config.hydra.sweep.dir), labels, Console())


def job_table(folder: Path, jobs: Sequence[str]) -> Table:
    """Return a row for each job: its label, state, updates, share, speed, BLEU and time left."""
    table = Table(box=None, padding=(0, 1, 0, 0), title_justify="left")
    table.add_column("job", overflow="fold", min_width=11)
    table.add_column("state")
    for name in ("updates", "done", "tokens/s", "val BLEU", "left"):
        table.add_column(name, justify="right", no_wrap=True)
    for number, label in enumerate(jobs):
        table.add_row(Text(label), *_cells(folder / str(number)))
    return table


def job_label(overrides: Sequence[str]) -> str:
    """Return the label of the model, then the other overrides in which the jobs differ.

    Such as ``Bahdanau, additive, seed=2``.
    """
    return ", ".join(map(_labelled, overrides))


def _labelled(override: str) -> str:
    key, _, name = override.partition("=")
    if key != "model":
        return override
    try:
        return str(compose(f"model/{name}").label)
    except (HydraException, OmegaConfBaseException):  # a model without a label, or a wrong name
        return name


def _cells(folder: Path) -> list[Text | str]:
    state = read_state(folder)
    if (folder / RESULT).is_file():
        doing = Text("done", "green")
    elif (folder / FAILURE).is_file():
        doing = Text("failed", "bold red")
    elif state is not None:
        doing = Text(state.doing, "cyan")
    else:
        doing = Text("starting" if folder.is_dir() else "waiting", "dim")
    return [doing, *_job_numbers(state or JobState(doing=""))]


def _job_numbers(state: JobState) -> list[str]:
    bleu, left = state.val_bleu, state.seconds_left
    return [
        f"{state.updates:,}" if state.updates else NOTHING,
        f"{state.share:.0%}" if state.updates else NOTHING,
        f"{state.tokens_per_second:,.0f}" if state.tokens_per_second else NOTHING,
        NOTHING if bleu is None else f"{bleu:.2f}",
        NOTHING if left is None or state.doing not in (TRAINING, VALIDATION) else clock(left),
    ]


def jobs_of(config: DictConfig) -> list[list[str]]:
    """Return the overrides in which the jobs of a multirun differ, in their order."""
    from sweeps.launch.hydra_internals import split_into_jobs

    lists = [f"{key}={values}" for key, values in (config.hydra.sweeper.params or {}).items()]
    jobs = split_into_jobs([*lists, *config.hydra.overrides.task])
    shared = set(jobs[0]).intersection(*jobs) if len(jobs) > 1 else set()
    differing = [[override for override in job if override not in shared] for job in jobs]
    models = [next((each for each in job if each.startswith("model=")), None) for job in jobs]
    return [
        kept if model is None or model in kept else [model, *kept]
        for kept, model in zip(differing, models, strict=True)
    ]
