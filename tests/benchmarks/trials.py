"""What a study adds to the time of its trainings: ``python -m tests.benchmarks.trials``.

A worker takes trials of a small training from a journal (``--postgresql``: from a server of its
own). All time besides preparing and training is the study's: storage, sampler, pruner, composing
the configuration of each trial, and writing its files.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir

import sweeps.studies.trial as trials
from sweeps.launch.compose import use_hydra_config
from sweeps.studies.lifecycle import begin
from sweeps.studies.worker import Worker, take_trials
from tests.helpers.commands import ROOT, TINY
from tests.helpers.postgres import postgres


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--trials", type=int, default=20)
    given = parser.parse_args()
    if not given.postgresql:
        measure(given.trials, [])
        return
    with postgres() as server:
        measure(given.trials, [f"sweep.storage={server.address}"])


def measure(number: int, overrides: list[str]) -> float:
    """Print and return the seconds a trial takes besides its training."""
    training = _Clock()
    trials.tracked_training = training.around(trials.tracked_training)
    with tempfile.TemporaryDirectory() as space, _study(number, space, overrides) as config:
        begin(config)
        started = time.perf_counter()
        take_trials(Worker.of(config, config.hydra))
        whole = time.perf_counter() - started
    beside = (whole - training.seconds) / number
    print(f"{number} trials in {whole:.1f} s, {training.seconds:.1f} s of them in trainings")
    print(f"a trial takes {beside:.2f} s besides")
    return beside


class _Clock:
    """Adds up the time inside a context."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, manager: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def timed(*arguments: Any) -> Iterator[Any]:
            started = time.perf_counter()
            try:
                with manager(*arguments) as inside:
                    yield inside
            finally:
                self.seconds += time.perf_counter() - started

        return timed


@contextmanager
def _study(number: int, space: str, overrides: list[str]) -> Iterator[Any]:
    overrides = [
        *("sweep=recurrent", "model=bahdanau", f"sweep.trials={number}", "logger=none"),
        *(f"outputs={space}/outputs", f"cache_dir={space}/cache", *TINY, *overrides),
    ]
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("config", overrides, return_hydra_config=True)
        folder = Path(space) / "outputs"
        config.hydra.sweep.dir = str(folder)
        config.hydra.runtime.output_dir = str(folder)
        config.hydra.overrides.task = overrides
        with use_hydra_config(config):
            yield config


if __name__ == "__main__":
    main()
