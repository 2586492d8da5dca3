"""What a trial tries is what it would try in one undisturbed study, for each sampler."""

import os
import signal
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

import optuna
import pytest
from hydra import initialize_config_dir
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState
from pydantic import ValidationError

from datamodules.errors import UserError, validated
from lightning_modules.runs.paths import CONF
from sweeps.launch.compose import composed, use_hydra_config
from sweeps.studies.draws import SLOT, check_draws, grid
from sweeps.studies.plan import create_study, open_study, study_plans
from sweeps.studies.settings import Sweep, suggest
from sweeps.studies.storage import open_storage
from sweeps.studies.worker import DivergedError, run_all, run_in_fork
from tests.helpers.refusals import refused
from tests.sweeps.studies.test_studies import HEADS, SCORE, chosen_rate, sweep_of, worked

OF_OPTUNA = ["optuna.samplers.NSGAIISampler", "optuna.samplers.BruteForceSampler"]
LEARNING = ["tpe", "multivariate_tpe", "cmaes", "gp"]
SAMPLERS = [*LEARNING, "random", "qmc", *OF_OPTUNA]
SPACE = {
    "rate": {"type": "float", "low": 1e-4, "high": 1e-1, "log": True},
    "width": {"type": "int", "low": 1, "high": 100},
    "drop": {"type": "float", "low": 0.0, "high": 0.4, "step": 0.1},
    "score": {"type": "categorical", "choices": ["dot", "concat"]},
    "heads": {"type": "int", "low": 1, "high": 4, "when": {"score": "dot"}},
}
STEPS = {name: each for name, each in SPACE.items() if name != "rate"}
"""A space that can be counted, as ``BruteForceSampler`` needs it."""


def study_of(sampler, **changes) -> Sweep:
    space = STEPS if "BruteForce" in sampler else SPACE
    return sweep_of(**{"sampler": sampler, "space": space, "pruner": "median", **changes})


def width_of(trial, sweep) -> float:
    chosen: Any = suggest(trial, sweep.space)
    return float(chosen["width"])


def outcome(trial):
    """Return a value; the trial of slot 1 fails, and that of slot 3 is pruned."""
    chosen: Any = suggest(trial, study_of(trial.study.user_attrs["sampler"]).space)
    slot = trial.user_attrs[SLOT]
    if slot == 1:
        raise DivergedError("no number")
    trial.report(1.0, 1)
    if slot == 3:
        raise optuna.TrialPruned
    return float(chosen["width"]) - 100 * float(chosen["drop"])


def undisturbed(sampler, trials=10, **changes):
    return draws(finish(study_of(sampler, trials=trials, **changes), InMemoryStorage()))


def finish(sweep, storage):
    """Continue a study up to its number of trials, as a new command does."""
    create_study(sweep, storage, [], "version").set_user_attr("sampler", sweep.sampler)
    study = open_study(sweep, storage)
    run_all([(study, outcome)], storage)
    return study


def draws(study):
    """Return the settings of each slot, those of the last attempt."""
    return {each.user_attrs[SLOT]: each.params for each in study.trials if SLOT in each.user_attrs}


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_study_that_is_continued_equals_one_of_as_many_trials(sampler):
    storage = InMemoryStorage()
    for trials in (2, 4, 7, 10):
        study = finish(study_of(sampler, trials=trials), storage)
    assert draws(study) == undisturbed(sampler)
    settings = {str(chosen) for chosen in draws(study).values()}
    assert len(settings) >= 9  # a Gaussian process takes no notice of the pruned trial


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_another_seed_draws_otherwise(sampler):
    assert undisturbed(sampler, 6, sampler_seed=2) != undisturbed(sampler, 6)


def work(sweep, folder, deadly):
    """Take all trials; die in the slot ``deadly``, before or after its settings are chosen."""

    def task(trial):
        slot = trial.user_attrs[SLOT]
        if (slot, "before") == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        value = -abs(width_of(trial, sweep) - 50)
        if (slot, "after") == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    storage = open_storage(sweep, folder)
    run_all([(open_study(sweep, storage), task)], storage)


@pytest.mark.long
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("sampler", ["random", "qmc", "grid", "tpe", "cmaes", "gp"])
def test_a_killed_worker_changes_no_draw(sampler, when, tmp_path):
    """The last of the trials: those that learn draw from the trials that have ended."""
    trials = 6 if sampler != "grid" else 1
    space = {"width": {"type": "int", "low": 1, "high": 100}, "rate": SPACE["rate"]}
    if sampler == "grid":
        space = {"width": {"type": "int", "low": 1, "high": 6, "step": 1}}
    sweep = sweep_of(
        sampler=sampler, space=space, trials=trials, warmup_trials=2, heartbeat_seconds=1
    )
    create_study(sweep, open_storage(sweep, tmp_path), [], "version")
    with pytest.raises(BrokenProcessPool):
        run_in_fork(work, sweep, tmp_path, (5, when))
    run_in_fork(work, sweep, tmp_path, None)
    killed = draws(open_study(sweep, open_storage(sweep, tmp_path)))
    create_study(sweep, open_storage(sweep, tmp_path / "whole"), [], "version")
    run_in_fork(work, sweep, tmp_path / "whole", None)
    assert killed == draws(open_study(sweep, open_storage(sweep, tmp_path / "whole")))
    assert len(killed) == 6


@pytest.mark.long
@pytest.mark.parametrize("sampler", ["random", "qmc", "tpe", "cmaes", "gp"])
def test_workers_side_by_side_draw_what_one_draws(sampler, tmp_path):
    """Samplers that learn are compared during their random warm-up."""
    sweep = sweep_of(sampler=sampler, space=SPACE, trials=8, warmup_trials=8, heartbeat_seconds=20)
    create_study(sweep, open_storage(sweep, tmp_path), [], "version")
    context = get_context("fork")
    workers = [context.Process(target=work, args=(sweep, tmp_path, None)) for _ in range(3)]
    for each in workers:
        each.start()
    for each in workers:
        each.join(120)
    study = open_study(sweep, open_storage(sweep, tmp_path))
    alone = worked(sweep, lambda trial: width_of(trial, sweep))
    assert draws(study) == draws(alone)


@pytest.mark.parametrize("sampler", LEARNING)
def test_known_settings_come_first_and_fill_slots(sampler):
    study = worked(sweep_of(sampler=sampler, known=[{"rate": 0.01}]), chosen_rate)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 6
    assert sorted(trial.user_attrs[SLOT] for trial in study.trials) == list(range(6))
    assert study.best_trial.params["rate"] == 0.01  # the known one is the optimum, and came first
    assert study.best_trial.number == 0


def test_settings_that_become_known_later_get_the_next_trials():
    storage = InMemoryStorage()
    worked(sweep_of(trials=2, known=[{"rate": 0.01}]), chosen_rate, storage)
    known = [{"rate": 0.01}, {"rate": 0.02}]
    with refused("sweep.known: 1 of these settings has no trial yet; give sweep.trials=3"):
        worked(sweep_of(trials=2, known=known), chosen_rate, storage)
    study = worked(sweep_of(trials=4, known=known), chosen_rate, storage)
    rates = [trial.params["rate"] for trial in study.trials]
    assert (rates[0], rates[2]) == (0.01, 0.02)
    assert len(rates) == 4


def test_a_seed_among_the_options_is_refused():
    """All trials would draw the same."""
    inner = {"independent_sampler": {"_target_": "optuna.samplers.RandomSampler", "seed": 3}}
    for options in ({"seed": 3}, inner):
        with pytest.raises(ValidationError, match=r"give sweep\.sampler_seed"):
            sweep_of(sampler_options=options)


@pytest.mark.parametrize("sampler", [*SAMPLERS, "grid"])
def test_every_sampler_passes_the_check_before_a_study(sampler):
    check_draws(study_of(sampler))


def test_one_objective_is_all_that_some_samplers_take():
    with pytest.raises(UserError, match=r"sweep\.sampler=cmaes: .*multi-objective"):
        check_draws(study_of("cmaes", objectives=["bleu", "seconds"], pruner="none"))


def test_a_sampler_that_cannot_draw_from_the_space_is_told_first():
    with pytest.raises(UserError, match=r"sweep\.sampler=optuna.*: .*step must be given"):
        check_draws(sweep_of(sampler="optuna.samplers.BruteForceSampler"))


def test_a_grid_has_every_combination_once():
    half = {"type": "float", "low": 0.0, "high": 1.0, "step": 0.5}
    points = grid(sweep_of(space={"half": half, "score": SCORE, "heads": HEADS}).space, 5)
    assert len(points) == 3 * (4 + 1)
    assert {"half": 0.5, "score": "concat"} in points
    assert {"half": 1.0, "score": "dot", "heads": 4} in points


def test_a_grid_takes_points_of_a_range_without_steps():
    rate = {"type": "float", "low": 1e-4, "high": 1e-2, "log": True}
    share = {"type": "float", "low": 0.0, "high": 1.0}
    updates = {"type": "int", "low": 50, "high": 400, "log": True}
    layers = {"type": "int", "low": 1, "high": 7}
    assert [each["x"] for each in grid(sweep_of(space={"x": rate}).space, 3)] == pytest.approx(
        [1e-4, 1e-3, 1e-2]
    )
    for space, values in ((share, [0.0, 0.5, 1.0]), (updates, [50, 141, 400]), (layers, [1, 4, 7])):
        assert [each["x"] for each in grid(sweep_of(space={"x": space}).space, 3)] == values
    every = sweep_of(space={"x": layers | {"step": 1}}).space
    assert [each["x"] for each in grid(every, 3)] == [1, 2, 3, 4, 5, 6, 7]


def test_a_grid_is_tried_point_by_point_and_continues_with_the_rest():
    space, storage = {"score": SCORE, "heads": HEADS}, InMemoryStorage()
    sweep = sweep_of(space=space, sampler="grid", trials=1)

    def task(trial):
        suggest(trial, sweep.space)
        if trial.number == 3:
            raise KeyboardInterrupt
        return 1.0

    with pytest.raises(KeyboardInterrupt):
        worked(sweep, task, storage)
    known = sweep_of(space=space, sampler="grid", known=[{"score": "dot", "heads": 4}])
    study = worked(known, task, storage)
    tried = [trial.params for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert len(tried) == 5
    assert all(point in tried for point in grid(sweep.space, 5))


def test_a_grid_of_millions_is_refused():
    space = {f"x{n}": {"type": "float", "low": 0.0, "high": 1.0} for n in range(9)}
    with refused("sweep.sampler=grid: the space has 1,953,125 combinations", "sweep.grid_points"):
        worked(sweep_of(space=space, sampler="grid"), chosen_rate)


@pytest.mark.parametrize(
    ("family", "points"),
    [("shared", 5 * 3), ("recurrent", 5 * 3 * 5), ("attention", 5 * 3 * 5 * 7),
     ("transformer", 5 * 3 * 5 * 2 * 5)],
)  # fmt: skip
def test_every_shipped_space_has_a_grid(family, points):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = composed([f"sweep={family}", "sweep.sampler=grid"])
        with use_hydra_config(config):
            sweep = validated(Sweep, config.sweep, "sweep")
    assert len(grid(sweep.space, sweep.grid_points)) == points


def test_a_grid_cannot_give_equally_many_trials(tmp_path):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = composed(["comparison=tuned", "sweep.sampler=grid"])
        with use_hydra_config(config), refused("sweep.sampler=grid: ", "give another sampler"):
            study_plans(config, ["sweep.sampler=grid"], tmp_path)
