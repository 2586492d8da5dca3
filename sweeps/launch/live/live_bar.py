"""One bar for a run in the terminal: the share of its budget, the time left, the phase."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from lightning_modules.runs.reader import read_state
from lightning_modules.runs.schema import PROGRESS, TRAINING, VALIDATION, JobState
from sweeps.launch.live.live_view import LiveView


@contextmanager
def live_bar(folder: Path, label: str) -> Iterator[None]:
    """Show a bar in the terminal while the block's run, in ``folder``, writes its progress."""
    started = time.time()

    def draw() -> Table | None:
        state = read_state(folder)
        # A training that was interrupted has left its file.
        fresh = state is not None and (folder / PROGRESS).stat().st_mtime >= started
        return run_bar(label, state) if fresh and state is not None else None

    view = LiveView(draw, Console())
    view.start()
    try:
        yield
    finally:
        view.stop()


def run_bar(label: str, state: JobState) -> Table:
    """Return a line: the run and its phase, the bar, share of the budget, speed, BLEU, time left.

    A test without a training has no budget, so its line names the phase alone.
    """
    text, numbers = (Column(no_wrap=True, overflow="ellipsis") for _ in range(2))
    bar = Table.grid(text, Column(ratio=1), numbers, padding=(0, 2, 0, 0), expand=True)
    phase = Text.assemble(label, "  ", (state.doing, "cyan"))
    if not state.updates:
        bar.add_row(phase)
    else:
        bar.add_row(phase, ProgressBar(1.0, state.share, width=None), "  ".join(_numbers(state)))
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
