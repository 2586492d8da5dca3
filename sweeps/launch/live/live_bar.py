"""One bar for a run in the terminal: the share of its budget, the time left, the phase."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from lightning_modules.runs.reader import read_state
from lightning_modules.runs.schema import PROGRESS, TRAINING, VALIDATION, JobState
from sweeps.launch.live.live_view import LiveView

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
