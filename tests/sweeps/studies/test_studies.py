"""Studies: search spaces, slots, and outcomes of trials."""

import json
import math
from types import SimpleNamespace

import optuna
import pytest
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from optuna.storages import InMemoryStorage
from optuna.trial import FixedTrial, TrialState
from pydantic import ValidationError

from datamodules.errors import UserError, validated
from lightning_modules.runs.files import write_record
from lightning_modules.training.module import TranslationModule
from sweeps.launch.compose import composed, use_hydra_config
from sweeps.studies.draws import SLOT
from sweeps.studies.plan import REASON, StudyPlan, create_study, open_study
from sweeps.studies.settings import Sweep, as_overrides, suggest
from sweeps.studies.storage import open_storage
from sweeps.studies.worker import (
    TRAINED,
    DivergedError,
    SeedResult,
    TrialCallback,
    run_all,
    train_seed,
    train_trial,
    trained_before,
)
from tests.helpers.commands import ROOT, TINY, places
from tests.helpers.refusals import refused

RATE = {"type": "float", "low": 1e-4, "high": 1e-1, "log": True}
SCORE = {"type": "categorical", "choices": ["dot", "concat"]}
HEADS = {"type": "int", "low": 1, "high": 4, "when": {"score": "dot"}}
SPACE = {"rate": RATE, "score": SCORE, "heads": HEADS}


def sweep_of(**changes) -> Sweep:
    settings = {
        "name": "study", "space": SPACE, "trials": 6, "seeds": [1], "objectives": ["bleu"],
        "sampler": "tpe", "sampler_options": {}, "sampler_seed": 1, "grid_points": 5,
        "pruner": "none", "pruner_options": {}, "warmup_trials": 2, "known": [],
        "storage": None, "workers": 1, "worker": 0, "retries": 2,
        "heartbeat_seconds": 20,
    }  # fmt: skip
    return Sweep.model_validate(settings | changes)


def worked(sweep, task, storage=None, overrides=()):
    """Plan a study, and let one worker do all trials."""
    storage = storage or InMemoryStorage()
    create_study(sweep, storage, overrides, "version")
    study = open_study(sweep, storage)
    run_all([(study, task)], storage)
    return study


def chosen_rate(trial):
    rate = suggest(trial, sweep_of().space)["rate"]
    assert isinstance(rate, float)
    return -abs(math.log10(rate) + 2)


def test_a_condition_decides_whether_a_parameter_is_asked_for():
    space = sweep_of().space
    given = {"rate": 0.01, "score": "dot", "heads": 3}
    assert suggest(FixedTrial(given), space) == given
    assert suggest(FixedTrial(given | {"score": "concat"}), space) == {
        "rate": 0.01,
        "score": "concat",
    }


def test_values_are_written_as_hydra_reads_them():
    given = {"a.b": 1e-05, "c": True, "d": None, "+e": 2, "f": "dot"}
    assert as_overrides(given) == ["a.b=1e-05", "c=true", "d=null", "+e=2", "f=dot"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"space": {"rate": RATE | {"high": 1e-4}}}, "there is nothing to choose"),
        ({"space": {"rate": RATE | {"low": 0.0}}}, "`low > 0` must hold for `log=True`"),
        ({"space": {"rate": RATE | {"step": 0.1}}}, "is not supported when"),
        ({"space": {"rate": RATE | {"kind": 1}}}, "Extra inputs"),
        ({"space": {"heads": HEADS}}, "score is no parameter that stands above it"),
        ({"space": {"score": {"type": "categorical", "choices": []}}}, "at least 1 item"),
        ({"space": {}}, "at least 1 item"),
        ({"seeds": [1, 1]}, "names one twice"),
        ({"objectives": ["bleu", "seconds"], "pruner": "median"}, "cannot be pruned"),
        ({"pruner": "wilcoxon"}, "give several, like sweep.seeds"),
        ({"known": [{"rat": 1}]}, "rat is no parameter of the space"),
        ({"space": {"seed": HEADS | {"when": {}}}}, "a trial is trained with each of sweep.seeds"),
        ({"known": [{"rate": 7}]}, "known: rate=7 is not in the range of the space"),
        ({"known": [{"score": "dott"}]}, "known: score=dott is not in the range of the space"),
        ({"known": [{"heads": 2.5}]}, "known: heads=2.5 is not in the range of the space"),
        ({"known": [{}, {}], "trials": 1}, "known: 2 settings for 1 trials; raise sweep.trials"),
        ({"name": "a/b"}, "should match pattern"),
    ],
)
def test_mistakes_in_a_sweep_are_told(changes, message):
    with pytest.raises(ValidationError, match=message):
        sweep_of(**changes)


def test_the_same_command_goes_on_to_the_target_and_no_further(tmp_path):
    sweep = sweep_of(trials=3)
    storage = open_storage(sweep, tmp_path)
    assert len(worked(sweep, chosen_rate, storage).trials) == 3
    assert len(worked(sweep, chosen_rate, storage).trials) == 3
    assert len(worked(sweep_of(trials=5), chosen_rate, open_storage(sweep, tmp_path)).trials) == 5


@pytest.mark.parametrize(
    ("changes", "overrides", "code", "message"),
    [
        ({"space": {"rate": RATE}}, [], "version", "another search space"),
        ({"seeds": [2]}, [], "version", "another seeds"),
        ({}, ["model=transformer"], "version", "another list of overrides"),
        ({}, [], "other", "another version of the code that trains"),
    ],
)
def test_another_study_under_the_same_name_is_refused(changes, overrides, code, message):
    storage = InMemoryStorage()
    create_study(sweep_of(), storage, ["sweep.trials=6"], "version")
    longer = sweep_of(trials=9, sampler="random")
    create_study(longer, storage, ["sweep.trials=9", "logger=none"], "version")
    with refused("sweep.name=study: there is a study ", message):
        create_study(sweep_of(**changes), storage, overrides, code)


def test_failures_are_told_and_the_rest_go_on():
    errors = {0: DivergedError("no number"), 1: UserError("too wide"), 2: KeyError("defect")}

    def task(trial):
        if (error := errors.get(trial.user_attrs[SLOT])) is not None:
            raise error
        return 1.0

    study = worked(sweep_of(), task)
    states = [trial.state for trial in study.trials]
    assert states == [TrialState.FAIL] * 3 + [TrialState.COMPLETE] * 3
    reasons = [trial.user_attrs.get(REASON) for trial in study.trials[:3]]
    assert reasons == ["no number", "too wide", "KeyError: 'defect'"]


def test_ctrl_c_gives_the_slot_back():
    storage, sweep = InMemoryStorage(), sweep_of(trials=2)

    def interrupted(trial):
        suggest(trial, sweep.space)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        worked(sweep, interrupted, storage)
    study = worked(sweep, chosen_rate, storage)
    finished = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert sorted(trial.user_attrs[SLOT] for trial in finished) == [0, 1]
    given_up = next(trial for trial in study.trials if trial.state == TrialState.FAIL)
    again = next(one for one in finished if one.user_attrs[SLOT] == given_up.user_attrs[SLOT])
    assert again.params == given_up.params


LEVELS = {
    "rate": {"type": "float", "low": 1e-4, "high": 1e-1, "log": True},
    "dropout": {"type": "float", "low": 0.0, "high": 0.4},
    "layers": {"type": "int", "low": 1, "high": 3},
}


def height(rate, dropout, layers):
    """A known optimum: 30 at rate 0.005, dropout 0.15, two layers."""
    off = (math.log10(rate / 0.005)) ** 2 + 12 * (dropout - 0.15) ** 2 + 0.2 * (layers - 2) ** 2
    return 30 * math.exp(-off)


@pytest.mark.parametrize("seed", range(1, 6))
def test_tpe_with_pruning_finds_what_a_grid_finds_for_half_its_tokens(seed):
    """Each trial simulates a learning curve of 100 steps; the grid never prunes."""
    spent = 0

    def task(trial):
        nonlocal spent
        top = height(**suggest(trial, sweep.space))
        for step in range(10, 101, 10):
            spent += 10
            value = top * (1 - math.exp(-step / 30))
            trial.report(value, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    rates = [10 ** (-4 + 3 * place / 7) for place in range(8)]
    points = [(r, d / 10, n) for r in rates for d in range(5) for n in (1, 2, 3)]
    best = max(height(*point) for point in points) * (1 - math.exp(-100 / 30))
    sweep = sweep_of(
        space=LEVELS, trials=40, pruner="median", warmup_trials=5, sampler_seed=seed,
        sampler="multivariate_tpe",
    )  # fmt: skip
    study = worked(sweep, task)
    assert study.best_value >= 0.95 * best
    assert spent <= 100 * len(points) / 2
    assert any(trial.state == TrialState.PRUNED for trial in study.trials)


def test_what_was_trained_with_other_settings_is_not_taken_for_this(tmp_path):
    trained = SeedResult(
        bleu=1.0, loss=2.0, parameters=3, seconds=4.0, cost={}, reports=[], identity="a"
    )
    assert trained_before(tmp_path, "a") is None
    write_record(tmp_path / "trained.json", trained)
    assert trained_before(tmp_path, "a") == trained
    assert trained_before(tmp_path, "b") is None
    assert trained_before(tmp_path, "a") is None  # the result of other settings is removed


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
