"""A trial whose worker died goes on from its last checkpoint, and comes to the same values."""

import json
from types import SimpleNamespace

import optuna
import pytest
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig

from datamodules.errors import validated
from lightning_modules.training.module import TranslationModule
from sweeps.launch.compose import composed, use_hydra_config
from sweeps.studies.plan import StudyPlan
from sweeps.studies.settings import Sweep
from sweeps.studies.slots import SLOT
from sweeps.studies.trial import TRAINED, train_seed, train_trial
from sweeps.studies.trial_callback import TrialCallback
from tests.helpers.commands import ROOT, TINY, places
from tests.sweeps.studies.test_studies import sweep_of


class Killed(BaseException):
    """Ends a training as a killed process would: nothing catches this exception."""


@pytest.fixture
def overrides(tmp_path):
    HydraConfig.instance().cfg = None
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        given = [*TINY, *places(tmp_path), "model=bahdanau", "scale=0.1", "logger=none"]
        with use_hydra_config(composed(given)):
            yield given


@pytest.fixture
def updates(monkeypatch):
    """Record the updates that are trained; a worker is killed at an update in ``deadly``."""
    original, seen = TranslationModule.training_step, SimpleNamespace(done=[], deadly=[])

    def step(self, *arguments):
        if self.global_step in seen.deadly:
            seen.deadly.remove(self.global_step)
            raise Killed
        seen.done.append(self.global_step)
        return original(self, *arguments)

    monkeypatch.setattr(TranslationModule, "training_step", step)
    return seen


def watched():
    trial = optuna.create_study().ask()
    return trial, TrialCallback(trial, sweep_of(objectives=["loss"], pruner="median"), 0, {})


def reports(trial):
    [frozen] = [one for one in trial.study.get_trials() if one.number == trial.number]
    return frozen.intermediate_values


@pytest.mark.long
def test_a_trial_goes_on_where_a_dead_worker_left_off(overrides, updates, tmp_path):
    first, straight = watched()
    once = train_seed([*overrides, "seed=1"], tmp_path / "whole", straight)
    count, updates.deadly = len(updates.done), [4]
    _, dead = watched()
    with pytest.raises(Killed):
        train_seed([*overrides, "seed=1"], tmp_path / "cut", dead)
    second, rest = watched()
    resumed = train_seed([*overrides, "seed=1"], tmp_path / "cut", rest)
    assert updates.done == [*range(count), *range(4), *range(4, count)]
    timed = {"seconds": 0.0, "cost": {}}
    assert resumed.model_copy(update=timed) == once.model_copy(update=timed)
    assert reports(second) == reports(first)
    for kind in ("target_tokens", "updates", "flops"):
        assert rest.cost[kind] == straight.cost[kind] > 0


@pytest.mark.long
@pytest.mark.exhaustive
def test_what_another_study_left_in_the_folder_is_not_taken(overrides, updates, tmp_path):
    trial = optuna.create_study().ask()
    config = compose("config", ["sweep=recurrent", "sweep.name=x", "sweep.objectives=[loss]"])
    sweep = validated(Sweep, config.sweep, "sweep")
    plan = StudyPlan("bahdanau", sweep, overrides, "version", tmp_path, labels=())
    folder = tmp_path / "0000"
    trial.set_user_attr(SLOT, 0)
    train_trial(trial, plan, overrides, folder)
    file = folder / "seed-1" / TRAINED
    trained = json.loads(file.read_text())
    file.write_text(json.dumps(trained | {"loss": 123.0}))
    assert train_trial(trial, plan, overrides, folder) == [123.0]
    other = [*overrides, "optimizer.lr=0.005"]
    updates.deadly = [1]
    with pytest.raises(Killed):
        train_trial(trial, plan, other, folder)
    [loss] = train_trial(trial, plan, other, folder)
    assert loss != 123.0
