"""How long a study's storage takes per trial after 10,000: ``python -m tests.benchmarks.asks``.

One trial is opened, gets all its parameters and then its value; the times that a worker reads the
study are included. ``--postgresql`` measures on a server of its own instead of a journal file.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TypeVar

import numpy as np
import optuna
from hydra import compose, initialize_config_dir
from optuna.storages import BaseStorage
from optuna.trial import TrialState, create_trial

from datamodules.errors import validated
from sweeps.studies.plan import SLOT, create_study, open_study, requeue_dead, running, waiting
from sweeps.studies.settings import Sweep, suggest
from sweeps.studies.storage import open_storage, silence_optuna
from tests.helpers.commands import ROOT
from tests.helpers.postgres import postgres

T = TypeVar("T")
FINISHED, ASKED = 10_000, 5


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--finished", type=int, default=FINISHED)
    parser.add_argument("overrides", nargs="*", help="such as sweep.sampler=random")
    given = parser.parse_args()
    if not given.postgresql:
        measure(given.finished, given.overrides)
        return
    with postgres() as server:
        measure(given.finished, [*given.overrides, f"sweep.storage={server.address}"])


def measure(finished: int, overrides: list[str]) -> float:
    """Print the seconds that a worker waits; return the seconds of a trial without training."""
    silence_optuna()
    with tempfile.TemporaryDirectory() as space:
        sweep = _sweep([*overrides, f"sweep.trials={finished + ASKED}"])
        storage = open_storage(sweep, Path(space))
        seconds, _ = _timed(lambda: _fill(sweep, storage, finished))
        print(f"{finished} finished trials written in {seconds:.1f} s")
        seconds, storage = _timed(lambda: open_storage(sweep, Path(space)))  # as another worker
        study = open_study(sweep, storage)
        read, _ = _timed(lambda: waiting(study))
        print(f"a worker opens the study in {seconds + read:.2f} s")
        turns = [_timed(lambda: _turn(sweep, study, storage))[0] for _ in range(ASKED)]
        print(f"a trial without a training: {', '.join(f'{turn:.2f}' for turn in turns)} s")
    return median(turns)


def _turn(sweep: Sweep, study: optuna.Study, storage: BaseStorage) -> None:
    """Do all steps of a worker for a trial, except training."""
    requeue_dead(study, storage, sweep)
    assert waiting(study)
    study.optimize(lambda trial: _value(trial, sweep), n_trials=1)
    running(study)


def _value(trial: optuna.Trial, sweep: Sweep) -> float:
    return float(len(suggest(trial, sweep.space))) + trial.number


def _fill(sweep: Sweep, storage: BaseStorage, finished: int) -> None:
    """Fill the storage with finished trials, then plan the last trials."""
    study = optuna.create_study(study_name=sweep.name, storage=storage, directions=sweep.directions)
    generator = np.random.default_rng(0)
    sampler = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    for slot in range(finished):
        drawn = sampler.ask()
        suggest(drawn, sweep.space)
        template = create_trial(
            state=TrialState.COMPLETE,
            value=float(generator.random()),
            params=drawn.params,
            distributions=drawn.distributions,
            user_attrs={SLOT: slot, "worker": "elsewhere:1", "target_tokens": 1},
            intermediate_values=dict.fromkeys((25, 50, 75, 100), 0.5),
        )
        storage.create_new_trial(study._study_id, template)
    create_study(sweep, storage, [], "version")


def _sweep(overrides: list[str]) -> Sweep:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("config", ["sweep=recurrent", "sweep.name=asks", *overrides])
    return validated(Sweep, config.sweep, "sweep")


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


if __name__ == "__main__":
    main()
