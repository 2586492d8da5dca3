"""Samplers and pruners of Optuna and of a user, by dotted path."""

import csv

import optuna
import pytest
from hydra import initialize_config_dir
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState

from datamodules.errors import UserError
from lightning_modules.runs.paths import CONF
from sweeps.launch.compose import composed, use_hydra_config
from sweeps.studies.plan import open_study, study_plans
from sweeps.studies.storage import open_storage
from sweeps.studies.worker import TrialCallback, take_trials
from sweeps.tasks.study import enqueue
from tests.helpers.commands import TINY, example, mistake, places
from tests.sweeps.studies.test_studies import SCORE, chosen_rate, sweep_of, worked

IN_TURN = ["hydra/launcher=basic", "sweep.workers=1", "logger=csv"]  # one worker
QUICK = ["model=bahdanau", "scale=0.1", "decoding=greedy", "sweep.warmup_trials=1"]

METHODS = """
from optuna.pruners import BasePruner, MedianPruner
from optuna.samplers import RandomSampler

class Picky(RandomSampler):
    def __init__(self, seed=None, *, choices=2):
        super().__init__(seed)
        self.seed, self.choices = seed, choices

class Unfinished(BasePruner):
    ...

class Careful(MedianPruner):
    def __init__(self, n_startup_trials):
        super().__init__(n_startup_trials)
        self.first = n_startup_trials
"""


@pytest.fixture(autouse=True)
def methods(tmp_path, monkeypatch):
    (tmp_path / "my_methods.py").write_text(METHODS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


def test_arguments_of_the_harness_go_where_a_constructor_names_them():
    sampler = sweep_of(sampler="my_methods.Picky").make_sampler(9)
    assert (sampler.seed, sampler.choices) == (9, 2)  # type: ignore[attr-defined]
    given = {"choices": 3}
    sampler = sweep_of(sampler="my_methods.Picky", sampler_options=given).make_sampler(5)
    assert (sampler.seed, sampler.choices) == (5, 3)  # type: ignore[attr-defined]
    pruner = sweep_of(pruner="my_methods.Careful", warmup_trials=4).make_pruner()
    assert pruner.first == 4  # type: ignore[attr-defined]
    assert isinstance(
        sweep_of(pruner="optuna.pruners.NopPruner").make_pruner(), optuna.pruners.NopPruner
    )


def test_options_stand_before_the_arguments_of_a_name():
    sweep = sweep_of(
        sampler="multivariate_tpe", sampler_options={"multivariate": False, "group": False}
    )
    assert not sweep.make_sampler(1)._multivariate  # type: ignore[attr-defined]
    sweep = sweep_of(pruner="median", pruner_options={"n_min_trials": 3}, warmup_trials=4)
    pruner = sweep.make_pruner()
    assert (pruner._n_startup_trials, pruner._n_min_trials) == (4, 3)  # type: ignore[attr-defined]
    assert sweep.pruner_label == "median n_min_trials=3"


def test_a_pruner_takes_a_pruner():
    inner = {"_target_": "optuna.pruners.MedianPruner", "n_startup_trials": 2}
    options = {"wrapped_pruner": inner, "patience": 1}
    pruner = sweep_of(pruner="optuna.pruners.PatientPruner", pruner_options=options).make_pruner()
    wrapped = pruner._wrapped_pruner  # type: ignore[attr-defined]
    assert isinstance(wrapped, optuna.pruners.MedianPruner)


def test_a_sampler_of_optuna_fills_the_slots():
    sweep = sweep_of(sampler="optuna.samplers.BruteForceSampler", space={"score": SCORE}, trials=2)
    study = worked(
        sweep, lambda trial: float(trial.suggest_categorical("score", SCORE["choices"]) == "dot")
    )
    assert sorted(trial.params["score"] for trial in study.trials) == ["concat", "dot"]


def test_a_trial_reports_to_any_pruner_what_it_compares():
    def reports(pruner, **changes):
        sweep = sweep_of(pruner=pruner, seeds=[1, 2], **changes)
        trial = optuna.create_study(storage=InMemoryStorage()).ask()
        return TrialCallback(trial, sweep, 0, {}).reports_steps, sweep.prunes_by

    options = {"percentile": 25.0}
    percentile = reports("optuna.pruners.PercentilePruner", pruner_options=options)
    assert percentile == reports("my_methods.Careful") == (True, "validations")
    assert reports("optuna.pruners.WilcoxonPruner") == (False, "seeds")
    assert reports("optuna.pruners.NopPruner") == (False, "nothing")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sampler": "best"}, "sweep.sampler=best: choose one of tpe, multivariate_tpe, cmaes"),
        ({"sampler": "my_methods.Careful"}, "is not derived from optuna.samplers"),
        ({"pruner": "my_methods.Unfinished"}, "Unfinished: Unfinished lacks prune"),
        ({"sampler_options": {"sead": 1}}, "sweep.sampler=tpe: .*unexpected keyword .* 'sead'"),
        ({"pruner": "optuna.pruners.PercentilePruner"}, "missing 1 required .* 'percentile'"),
    ],
)
def test_a_method_that_cannot_be_used_is_told_in_a_line(changes, message):
    with pytest.raises(UserError, match=message):
        worked(sweep_of(**changes), chosen_rate)


@pytest.mark.long
@pytest.mark.parametrize("page", ["sampler", "pruner"])
@pytest.mark.exhaustive
def test_the_example_of_the_page_runs_a_study(page, tmp_path):
    """The worker takes the trials in this process."""
    [command] = example(page, tmp_path)
    given = [*command, *QUICK, *IN_TURN, *TINY, *places(tmp_path)]
    if page == "sampler":  # whether the median prunes a trial depends on the drawn sentences
        given.append("sweep.pruner=none")
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = composed(given)
        config.hydra.runtime.output_dir = str(tmp_path / "study")
        with use_hydra_config(config):
            plans = study_plans(config, given, tmp_path / "study")
            enqueue(plans, tmp_path / "study")
            take_trials(plans, tmp_path / "study")
            sweep = plans[0].sweep
            study = open_study(sweep, open_storage(sweep, tmp_path / "study"))
    later = TrialState.PRUNED if page == "pruner" else TrialState.COMPLETE
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE, later, later]
    for trial in (tmp_path / "study" / "trials" / f"000{slot}" for slot in range(3)):
        with (trial / "seed-1" / "logs" / "csv" / "metrics.csv").open() as rows:
            assert any(row["trial/bleu"] for row in csv.DictReader(rows))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep.sampler=pathlib.Path"], "sweep.sampler=pathlib.Path: is not derived from"),
        (["+sweep.pruner_options.first=3"], "sweep.pruner=median: "),
        (["sweep.pruner_options=3"], "sweep.pruner_options=3: give"),
    ],
)
def test_mistakes_are_told_before_the_first_training(arguments, message, tmp_path):
    line = mistake("sweep=recurrent", *QUICK, *IN_TURN, *TINY, *places(tmp_path), *arguments)
    assert message in line
    assert not list(tmp_path.rglob("seed-*"))
