"""What a terminal shows while jobs run: a bar of one run, or a table of many."""

import csv
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from hydra import compose
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from lightning_modules.figures.palette import COLOURS, Look, looks_of
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.runs.files import read_state
from lightning_modules.runs.job import QUIET, label_with_changes
from lightning_modules.runs.paths import CURVE, FAILURE, PROGRESS, RESULT
from lightning_modules.runs.schema import TRAINING, VALIDATION, JobState
from lightning_modules.runs.settings import key_of, system_names
from sweeps.comparison.numbers import NOTHING, in_words

TIMES_A_SECOND = 2
SHORTEST_BAR, GAP = 10, 2  # columns of the terminal
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
        starting = Text.assemble(label, "  ", ("starting", "dim"))
        return run_bar(label, state, width) if fresh and state is not None else starting

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


Label = str | Text
Enter = Callable[[str], None]
"""Says which phase of a command begins."""


def silent(phase: str) -> None:
    """Say nothing of a phase."""


@contextmanager
def shown_phases(labels: Mapping[Path, Label] | None = None) -> Iterator[Enter]:
    """Yield what says which phase of a report begins: a terminal shows it with its seconds.

    The table of the jobs whose labels are given, by folder, stays above.
    """
    if not is_terminal():
        yield silent
        return
    phase, view = Phase(), JobView(labels) if labels else None

    def draw() -> RenderableType:
        return Group(*([view(), ""] if view else []), phase.line)

    with live_view(draw):
        yield phase.enter


class Phase:
    """What a command does now, and for how long."""

    def __init__(self) -> None:
        self._doing, self._began = "", time.monotonic()

    def enter(self, doing: str) -> None:
        """Begin a phase; the same phase continues if the words before the colon are the same."""
        if doing.partition(":")[0] != self._doing.partition(":")[0]:
            self._began = time.monotonic()
        self._doing = doing

    @property
    def line(self) -> Text:
        """The phase and its seconds."""
        return Text.assemble((self._doing, "cyan"), f"  {time.monotonic() - self._began:.0f} s")


class JobView:
    """What a terminal shows of jobs; call it to draw it.

    One line for all jobs with the time at which they are expected to end, then the jobs, of which
    those that run come first and those without room are counted, then BLEU by length.
    """

    def __init__(self, labels: Mapping[Path, Label], height: int | None = None) -> None:
        self._labels, self._height = labels, height
        self._began = time.time()
        self._before = sum(job.share for job in self._jobs())

    def __call__(self) -> RenderableType:
        """Return the view, no higher than the terminal."""
        jobs = sorted(self._jobs(), key=lambda job: ORDER.index(job.state))
        curves = [(job.label, curve) for job in jobs if (curve := _curve(job.folder))]
        room = (self._height or Console().height) - OTHER_LINES
        running = sum(job.state == RUNNING for job in jobs)
        drawn = curves[:MOST_CURVES] if len(curves) > 1 else []
        if running + len(drawn) + LINES_OF_CURVES > room:
            drawn = []
        room -= len(drawn) + LINES_OF_CURVES if drawn else 0
        shown = jobs if len(jobs) <= room else jobs[: max(room - 1, 1)]
        parts: list[RenderableType] = [self._overall(jobs), job_table(shown)]
        if rest := Counter(job.state for job in jobs[len(shown) :]):
            parts.append(Text(f"and {in_words([f'{n} {state}' for state, n in rest.items()])}"))
        if drawn:
            parts += ["", curve_table(drawn)]
        return Group(*parts)

    def _jobs(self) -> list["JobRow"]:
        return [JobRow.of(folder, label) for folder, label in self._labels.items()]

    def _overall(self, jobs: Sequence["JobRow"]) -> Text:
        """Return how many jobs are in which state, the share of all budgets, and the end."""
        counts = Counter(job.state for job in jobs)
        states = [f"{counts[state]} {state}" for state in (DONE, RUNNING, FAILED) if counts[state]]
        done = sum(job.share for job in jobs)
        count = f"{len(jobs)} {'job' if len(jobs) == 1 else 'jobs'}"
        line = f"{count}: {', '.join(states) or 'none has begun'}; {done / len(jobs):.0%}"
        gained, now = done - self._before, time.time()
        if counts[DONE] + counts[FAILED] < len(jobs) and gained >= LEAST_GAIN:
            left = (now - self._began) / gained * (len(jobs) - done)
            end = datetime.fromtimestamp(now + left)
            line += f", ends about {end:{'%H:%M' if left < A_DAY else '%a %H:%M'}}"
        return Text(line, "bold")


RUNNING, FAILED, DONE, WAITING = "running", "failed", "done", "waiting"
ORDER = (RUNNING, FAILED, DONE, WAITING)  # of the rows
OTHER_LINES = 5  # of the view besides jobs and curves: all jobs, titles, the rest, the phase
LINES_OF_CURVES = 3  # besides the rows of the curves
LEAST_GAIN = 0.02  # share of a job from which on the end can be told
A_DAY = 86_400.0  # seconds


class JobRow(NamedTuple):
    """A job as its folder says."""

    folder: Path
    label: Label
    state: str
    progress: JobState | None  # None before the job writes any

    @classmethod
    def of(cls, folder: Path, label: Label) -> "JobRow":
        """Read the folder of a job."""
        progress = read_state(folder)
        if (folder / FAILURE).is_file():
            state = FAILED
        elif (folder / RESULT).is_file():
            state = DONE
        else:
            state = RUNNING if folder.is_dir() else WAITING
        return cls(folder, label, state, progress)

    @property
    def share(self) -> float:
        """The share of the budget that is spent, 0 to 1; a job that has ended counts whole."""
        if self.state in (DONE, FAILED):
            return 1.0
        return self.progress.share if self.progress and self.state == RUNNING else 0.0

    @property
    def doing(self) -> Text:
        """What the job does."""
        if self.state == RUNNING:
            return Text(self.progress.doing, "cyan") if self.progress else Text("starting", "dim")
        return Text(self.state, {FAILED: "bold red", DONE: "green"}.get(self.state, "dim"))


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


def curve_table(curves: Sequence[tuple[Label, Mapping[str, float]]]) -> Table:
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
        table.add_row(Text.assemble(label), Text(bars, "cyan"), *numbers)
    return table


def _bar(bleu: float) -> str:
    return BARS[min(int(bleu / 100 * len(BARS)), len(BARS) - 1)]


def job_table(jobs: Sequence[JobRow]) -> Table:
    """Return a row for each job: its label, state, updates, share, speed, BLEU and time left."""
    table = Table(box=None, padding=(0, 1, 0, 0), title_justify="left")
    table.add_column("job", no_wrap=True, overflow="ellipsis", min_width=11)
    table.add_column("state", no_wrap=True, overflow="ellipsis")
    for name in ("updates", "done", "tokens/s", "val BLEU", "left"):
        table.add_column(name, justify="right", no_wrap=True)
    for job in jobs:
        table.add_row(Text.assemble(job.label), *_cells(job))
    return table


def _cells(job: JobRow) -> list[Text | str]:
    state = job.progress or JobState(doing="")
    left = state.seconds_left if state.doing in (TRAINING, VALIDATION) else None
    return [
        job.doing,
        f"{state.updates:,}" if state.updates else NOTHING,
        f"{state.share:.0%}" if state.updates else NOTHING,
        f"{state.tokens_per_second:,.0f}" if state.updates else NOTHING,
        NOTHING if state.val_bleu is None else f"{state.val_bleu:.2f}",
        NOTHING if left is None else clock(left),
    ]


def mark_of(look: Look) -> Text:
    """Return the mark of a system in its colour; black is the terminal's own ink."""
    return Text(look.glyph, "bold" if look.colour == COLOURS[0] else look.colour)


def marked_labels(jobs: Sequence[Sequence[str]], labels: Sequence[str]) -> list[Text]:
    """Return the label of each list of overrides after the mark of its system."""
    names = system_names(jobs)
    looks = looks_of(names)
    return [
        Text.assemble(mark_of(looks[name]), " ", label)
        for name, label in zip(names, labels, strict=True)
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
