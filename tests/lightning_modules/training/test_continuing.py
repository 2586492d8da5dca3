"""A larger budget continues a training as if it had never stopped."""

import csv
import random
import time
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hydra import initialize_config_dir
from hydra.core.hydra_config import HydraConfig

from lightning_modules.runs.files import read_history
from lightning_modules.runs.paths import BEST, EARLIER
from lightning_modules.tasks.train import identity_of, sized_for_data, tracked_training
from lightning_modules.tasks.train import train as train_task
from lightning_modules.training.continuing import run_to_continue
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.setup import fit
from sweeps.launch.compose import hydra_job
from tests.helpers.commands import ROOT, places
from tests.helpers.ranks import Job, on_ranks, run_jobs
from tests.helpers.refusals import refused
from tests.helpers.run_folders import result_of
from tests.lightning_modules.training.test_resume import (
    SELDOM,
    SETTINGS,
    Course,
    Killed,
    at,
    course,
    killed,
)

TRUNK = [
    *(given for given in SETTINGS if not given.startswith(("budget", "teacher_forcing"))),
    *["scheduler=constant", SELDOM],
]
"""Settings of trainings that are validated after every third update, of four an epoch."""
SMALL, LARGE = ["budget=updates", "budget.updates=7"], ["budget=updates", "budget.updates=14"]


@pytest.fixture(scope="module")
def train(space):
    """Train in a folder of the space as ``task=train`` does, without the test."""
    HydraConfig.instance().cfg = None

    def trained(name: str, *overrides: str) -> Course:
        folder = space / name
        with hydra_job([*TRUNK, *places(space), *overrides], folder) as (job, config):
            data = sized_for_data(config)
            config["continue"] = run_to_continue(config, folder, identity_of(config, data))
            with tracked_training(config, data, job) as (trainer, setup, _):
                training = fit(trainer, setup)
        return course(folder, training)

    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        yield trained


@pytest.fixture(scope="module")
def straight(train):
    """A training of 14 updates that never stopped."""
    return train("straight/run", *LARGE)


@pytest.fixture(scope="module")
def small(train, space):
    """A training of 7 updates, whose end is not one of the regular validations."""
    train("small/run", *SMALL)
    return space / "small" / "run"


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_larger_budget_continues_to_the_digit(train, space, small, straight, caplog):
    caplog.set_level("INFO")
    before = contents(small)
    assert train("small/longer", *LARGE) == straight
    assert f"{small}: training continues after its update 7" in caplog.messages
    assert contents(small) == before


def test_a_run_keeps_the_best_until_a_longer_training_would_not_have_validated(small):
    kept, best = (torch.load(small / "checkpoints" / name) for name in (f"{EARLIER}{BEST}", BEST))
    assert (kept["global_step"], best["global_step"]) == (6, 7)


def test_a_named_run_is_continued_elsewhere_and_with_another_kind_of_budget(train, space, small):
    budget = ["budget=target_tokens", "budget.target_tokens=3000"]
    straight = train("tokens/run", *budget)
    assert straight.training["updates"] > 7
    assert train("elsewhere/run", *budget, f"continue={small}") == straight


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "amounts"), [("flops", (7e7, 1.5e8)), ("target_tokens", (1300, 2500))]
)
def test_other_budgets_continue_too(train, kind, amounts):
    first, *_, last = ([f"budget={kind}", f"budget.{kind}={amount:.0f}"] for amount in amounts)
    shorter, longer = train(f"{kind}/first", *first), train(f"{kind}/last", *last)
    assert longer == train(f"{kind}-straight/run", *last)
    assert shorter.training["updates"] < longer.training["updates"]


@pytest.mark.long
def test_seconds_continue_too(train, monkeypatch):
    """On a clock that says how often it was asked, in exact fractions."""
    clock = SimpleNamespace(monotonic=time.monotonic)
    monkeypatch.setattr("lightning_modules.training.callbacks.time", clock)

    def trained(name: str, seconds: int) -> Course:
        ticks = count()
        clock.perf_counter = lambda: next(ticks) / 4
        return train(name, "budget=seconds", f"budget.seconds={seconds}")

    shorter, longer = trained("seconds/first", 2), trained("seconds/last", 4)
    assert longer == trained("seconds-straight/run", 4)
    assert shorter.training["updates"] < longer.training["updates"]


@pytest.mark.long
@pytest.mark.parametrize("minutes", ["0", "1000"])
def test_a_continued_training_that_is_killed_goes_on(train, straight, small, monkeypatch, minutes):
    given = [*LARGE, f"continue={small}", f"callbacks.resume_checkpoint.minutes={minutes}"]
    for update in random.Random(minutes).sample(range(1, 5), 2):
        with monkeypatch.context() as patched:
            at(patched, TranslationModule, "training_step", update, killed)
            with pytest.raises(Killed):
                train(f"killed-{minutes}/run", *given)
    assert train(f"killed-{minutes}/run", *given) == straight


@pytest.mark.long
@pytest.mark.parametrize(
    ("hook", "time"), [("training_step", 5), ("validation_step", 8), ("on_save_checkpoint", 3)]
)
def test_a_run_that_was_killed_is_continued(train, straight, monkeypatch, hook, time):
    """At an update, in the last validation, which is its third, and before that."""
    with monkeypatch.context() as patched:
        at(patched, TranslationModule, hook, time, killed)
        with pytest.raises(Killed):
            train(f"unfinished-{hook}/run", *SMALL)
    assert train(f"unfinished-{hook}/longer", *LARGE) == straight


MORE = [
    "scheduler=plateau scheduler.patience=0 callbacks=early_stopping "
    "callbacks.early_stopping.patience=1 optimizer.lr=0.1",
    "+batching.pieces=2",
    "teacher_forcing=scheduled teacher_forcing.total_updates=10",
    "callbacks=ema",
    "callbacks=average callbacks.average.k=2",
]


@pytest.mark.long
@pytest.mark.parametrize("more", MORE)
def test_state_of_schedules_and_callbacks_continues(train, more):
    name, given = more.split()[0], more.split()
    train(f"{name}/small", *given, *SMALL)
    assert train(f"{name}/large", *given, *LARGE) == train(f"{name}-straight/run", *given, *LARGE)


@pytest.mark.long
def test_a_training_goes_on_beyond_a_plateau(train):
    """Without the plateau; with it, more budget changes nothing."""
    flat = ["budget=plateau", "budget.target_tokens=20000", "budget.plateau=0.9"]
    large = ["budget=target_tokens", "budget.target_tokens=6000"]
    ended = train("plateau/run", *flat)
    assert ended.training["ended_by"] == "budget.plateau=0.9"
    assert train("plateau/large", *large) == train("plateau-straight/run", *large)
    more = train("plateau/more", *flat, "budget.target_tokens=30000")
    assert more.training["updates"] == ended.training["updates"]


def test_other_trainings_beside_a_run_are_not_continued(space, small):
    def continued(*given):
        folder = space / "small" / "other"
        eight = ["budget=updates", "budget.updates=8"]
        with hydra_job([*TRUNK, *places(space), *eight, *given], folder) as (_, config):
            return run_to_continue(config, folder, identity_of(config, sized_for_data(config)))

    assert continued() == str(small)
    for given in ("seed=2", "scheduler=linear", "force=true"):
        assert continued(given) is None


def test_a_named_run_that_cannot_be_continued_is_refused(train, small):
    named = f"continue={small}"
    with refused(f"{named}: budget.updates=7 is spent", "has trained on 7 updates", "larger"):
        train("refused/run", *SMALL, named)
    with refused(f"{named}: is a training with other data", "give the settings of that run"):
        train("refused/run", *LARGE, named, "data.seed=9")
    with refused(f"{named}: is a training with another label_smoothing"):
        train("refused/run", *LARGE, named, "label_smoothing=0")


@pytest.mark.long
def test_ranks_continue_too(tmp_path):
    given = [*TRUNK, *places(tmp_path), "trainer=ddp_cpu", "batching.pieces=2"]
    given += ["scoring.resamples=100", "trainer.log_every_n_steps=5"]
    names = {"both/small": SMALL, "both/large": LARGE, "straight/large": LARGE}
    jobs = [Job(train_task, tmp_path / name, [*given, *more]) for name, more in names.items()]
    on_ranks(2, run_jobs, jobs)
    courses, results = {}, {}
    for name in names:
        results[name] = result_of(tmp_path / name)
        courses[name] = course(tmp_path / name, results[name].training)
    assert results["both/large"].config["continue"] == str(tmp_path / "both" / "small")
    assert courses["both/large"] == courses["straight/large"]
    assert results["both/large"].scores == results["straight/large"].scores


def test_the_tracker_gets_the_curve_of_the_run_that_is_continued(train, space, small):
    train("tracked/run", *LARGE, f"continue={small}", "logger=csv")
    [file] = (space / "tracked").rglob("metrics.csv")
    with file.open(newline="") as text:
        rows = [row for row in csv.DictReader(text) if row.get("val/loss")]
    points = read_history(space / "tracked" / "run")
    assert [float(row["val/loss"]) for row in rows] == [point.val_loss for point in points]
    assert [int(row["step"]) for row in rows][:2] == [3, 6]
