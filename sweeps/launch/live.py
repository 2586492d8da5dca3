"""What a terminal shows while jobs run: a bar of one run, or a table of many."""

import csv
import logging
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from hydra import compose
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from lightning_modules.metrics.lengths import Bounds
from lightning_modules.runs.files import read_state
from lightning_modules.runs.job import QUIET, label_with_changes
from lightning_modules.runs.paths import CURVE, FAILURE, PROGRESS, RESULT
from lightning_modules.runs.schema import TRAINING, VALIDATION, JobState
from lightning_modules.runs.settings import key_of
from sweeps.comparison.numbers import NOTHING

TIMES_A_SECOND = 2
SHORTEST_BAR, GAP = 10, 2  # columns of the terminal
EMPTY = Group()
BARS = "▁▂▃▄▅▆▇█"
MOST_CURVES = 8  # finished jobs whose BLEU is drawn; the report has all


def is_terminal() -> bool:
    """Whether somebody watches."""
    return sys.stdout.isatty()


@contextmanager
def live_view(draw: Callable[[], RenderableType]) -> Iterator[None]:
    """Show what ``draw`` returns during the block, below the lines that are printed meanwhile."""
    # soft_wrap: a long path stays in one piece, so that it can be copied.
    console = Console(soft_wrap=True)
    live = Live(
        get_renderable=draw, console=console, refresh_per_second=TIMES_A_SECOND, transient=True
    )
    stdout = sys.stdout
    with live:
        _move_log(stdout, sys.stdout)
        try:
            yield
        finally:
            _move_log(sys.stdout, stdout)


def _move_log(old: object, new: object) -> None:
    """Let the log write to ``new`` where it wrote to ``old``."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream is old:
            handler.setStream(new)


@contextmanager
def quiet_view(draw: Callable[[], RenderableType]) -> Iterator[None]:
    """Show a view of jobs, whose lines go to their own logs alone meanwhile."""
    os.environ[QUIET] = "1"
    try:
        with live_view(draw):
            yield
    finally:
        os.environ.pop(QUIET, None)


@contextmanager
def live_bar(folder: Path, label: str) -> Iterator[None]:
    """Show a bar while the run in ``folder`` writes its progress."""
    started, width = time.time(), Console().width

    def draw() -> RenderableType:
        state = read_state(folder)
        # A training that was interrupted has left its file.
        fresh = state is not None and (folder / PROGRESS).stat().st_mtime >= started
        return run_bar(label, state, width) if fresh and state is not None else EMPTY

    with live_view(draw):
        yield


def run_bar(label: str, state: JobState, width: int) -> RenderableType:
    """Return a line: the run and its phase, the bar, share of the budget, speed, BLEU, time left.

    The label of the run is cut where the terminal, ``width`` characters wide, has no room for it.
    A test without a training has no budget, so its line names the phase alone.
    """
    phase, numbers = Text(state.doing, "cyan"), "  ".join(_numbers(state))
    if not state.updates:
        return Text.assemble(label, "  ", phase)
    name = Text(label)
    room = width - len(phase) - len(numbers) - SHORTEST_BAR - 4 * GAP
    name.truncate(max(0, room), overflow="ellipsis")
    texts = [Column(no_wrap=True, overflow="ellipsis") for _ in range(3)]
    bar = Table.grid(*texts[:2], Column(ratio=1), texts[2], padding=(0, GAP, 0, 0), expand=True)
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


def job_view(labels: Mapping[Path, str]) -> RenderableType:
    """Return the table of all jobs, and from the second finished job on their BLEU by length."""
    curves = [(label, curve) for folder, label in labels.items() if (curve := _curve(folder))]
    table = job_table(labels)
    return table if len(curves) < 2 else Group(table, "", curve_table(curves[:MOST_CURVES]))


def _curve(folder: Path) -> dict[str, float]:
    """Return the BLEU of a finished job by the names of the lengths; empty for any other job."""
    if (folder / FAILURE).is_file() or not (folder / RESULT).is_file():
        return {}
    try:
        with (folder / CURVE).open(encoding="utf-8", newline="") as file:
            return {
                _bounds(row["length_low"], row["length_high"]).label: float(row["bleu"])
                for row in csv.DictReader(file)
                if row["bleu"]
            }
    except (OSError, ValueError, KeyError):  # the job starts anew, or the file is damaged
        return {}


def _bounds(low: str, high: str) -> Bounds:
    return Bounds(int(low), int(high) if high else None)


def curve_table(curves: Sequence[tuple[str, Mapping[str, float]]]) -> Table:
    """Return a row for each job: BLEU by length as bars, of which a full one is 100, and numbers.

    ``curves`` are labels with BLEU by the names of the lengths.
    """
    table = Table(box=None, padding=(0, 1, 0, 0), title_justify="left")
    table.title = "BLEU by sentence length"
    table.add_column("job", overflow="fold", min_width=11)
    table.add_column("", no_wrap=True)
    lengths = list(dict.fromkeys(name for _, curve in curves for name in curve))
    for name in lengths:
        table.add_column(name, justify="right", no_wrap=True)
    for label, curve in curves:
        bars = "".join(_bar(curve[name]) if name in curve else " " for name in lengths)
        numbers = [f"{curve[name]:.1f}" if name in curve else NOTHING for name in lengths]
        table.add_row(Text(label), Text(bars, "cyan"), *numbers)
    return table


def _bar(bleu: float) -> str:
    return BARS[min(int(bleu / 100 * len(BARS)), len(BARS) - 1)]


def job_table(labels: Mapping[Path, str]) -> Table:
    """Return a row for each job: its label, state, updates, share, speed, BLEU and time left.

    The labels are given by the folders of the jobs.
    """
    table = Table(box=None, padding=(0, 1, 0, 0), title_justify="left")
    table.add_column("job", overflow="fold", min_width=11)
    table.add_column("state")
    for name in ("updates", "done", "tokens/s", "val BLEU", "left"):
        table.add_column(name, justify="right", no_wrap=True)
    for folder, label in labels.items():
        table.add_row(Text(label), *_cells(folder))
    return table


def _cells(folder: Path) -> list[Text | str]:
    state = read_state(folder)
    if (folder / FAILURE).is_file():
        doing = Text("failed", "bold red")
    elif (folder / RESULT).is_file():
        doing = Text("done", "green")
    elif state is not None:
        doing = Text(state.doing, "cyan")
    else:
        doing = Text("starting" if folder.is_dir() else "waiting", "dim")
    state = state or JobState(doing="")
    left = state.seconds_left if state.doing in (TRAINING, VALIDATION) else None
    return [
        doing,
        f"{state.updates:,}" if state.updates else NOTHING,
        f"{state.share:.0%}" if state.updates else NOTHING,
        f"{state.tokens_per_second:,.0f}" if state.tokens_per_second else NOTHING,
        NOTHING if state.val_bleu is None else f"{state.val_bleu:.2f}",
        NOTHING if left is None else clock(left),
    ]


def labels_of(jobs: Sequence[Sequence[str]]) -> list[str]:
    """Return a label for each list of overrides: its model, and where it differs from the others.

    Such as ``Bahdanau, additive, seed=2``.
    """
    shared = set(jobs[0]).intersection(*jobs) if len(jobs) > 1 else set()
    return [", ".join(_parts(job, shared)) for job in jobs]


def _parts(job: Sequence[str], shared: Collection[str]) -> Iterator[str]:
    model = next((each for each in job if each.startswith("model=")), None)
    for each in job:
        if each == model:
            yield label_with_changes(_label(model, job), job)
        elif each not in shared and not (model and key_of(each).startswith("model.")):
            yield each


def _label(model: str, job: Sequence[str]) -> str:
    """Return the label of a job's model, given by ``model=NAME``."""
    name = model.partition("=")[2]
    changes = [each for each in job if key_of(each).startswith("model.")]
    try:
        return str(compose(f"model/{name}", changes).label)
    except (HydraException, OmegaConfBaseException):  # a model without a label, or a wrong name
        return name
