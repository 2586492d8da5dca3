"""A table of a multirun's jobs in the terminal, kept up to date while they run."""

import atexit
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hydra import compose
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typing_extensions import override

from lightning_modules.runs.job import QUIET
from lightning_modules.runs.reader import read_state
from lightning_modules.runs.schema import FAILURE, RESULT, TRAINING, VALIDATION, JobState
from sweeps.evaluation.numbers import NOTHING
from sweeps.launch.live.live_bar import clock
from sweeps.launch.live.live_view import LiveView


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
    return [doing, *_numbers(state or JobState(doing=""))]


def _numbers(state: JobState) -> list[str]:
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
