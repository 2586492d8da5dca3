"""The table of a running study: trials with rounded values, and what a terminal shows of them."""

import io
import sys

import optuna
import pytest
from optuna.storages import InMemoryStorage
from rich.console import Console

from lightning_modules.runs.files import write_record
from lightning_modules.runs.paths import PROGRESS
from lightning_modules.runs.schema import JobState
from sweeps.studies.live_trials import ENDED, study_table
from sweeps.studies.plan import StudyPlan, create_study, seed_folder, trial_folder
from sweeps.studies.settings import as_overrides
from tests.helpers.commands import ROOT, TINY, places
from tests.sweeps.launch.test_live import watch
from tests.sweeps.studies.test_studies import sweep_of

DROPOUT = {"type": "float", "low": 0.0, "high": 0.4, "step": 0.1}
RATE = {"type": "float", "low": 3e-4, "high": 1e-2, "log": True}


def planned(folder, **changes):
    sweep = sweep_of(space={"rate": RATE, "dropout": DROPOUT}, **changes)
    plan = StudyPlan("bahdanau", sweep, [], "version", folder, ())
    storage = InMemoryStorage()
    create_study(sweep, storage, [], "version")
    return plan, storage, optuna.load_study(study_name=sweep.name, storage=storage)


def begin(study, rate=0.0013838487450596182, dropout=0.30000000000000004):
    trial = study.ask()
    study._storage.set_trial_param(
        trial._trial_id, "rate", rate, optuna.distributions.FloatDistribution(3e-4, 1e-2, log=True)
    )
    study._storage.set_trial_param(
        trial._trial_id, "dropout", dropout,
        optuna.distributions.FloatDistribution(0.0, 0.4, step=0.1),
    )  # fmt: skip
    return trial


def shown(renderable):
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(renderable)
    return [line.split() for line in console.export_text().splitlines()]


def test_running_trials_stand_first_then_the_best_with_rounded_values(tmp_path):
    plan, _, study = planned(tmp_path, trials=6, seeds=[1, 2])
    for value in (10.0, 12.3456789):
        study.tell(begin(study), value)
    study.tell(begin(study), state=optuna.trial.TrialState.PRUNED)
    begin(study)
    begin(study)
    folder = trial_folder(tmp_path, 3)
    done = JobState(doing="training", updates=9, share=1.0, val_bleu=1.0)
    half = JobState(doing="validation", updates=5, share=0.5, val_bleu=4.321, seconds_left=65.0)
    for seed, state in ((1, done), (2, half)):
        seed_folder(folder, seed).mkdir(parents=True)
        write_record(seed_folder(folder, seed) / PROGRESS, state)
    title, head, *rows = shown(study_table(plan, study.get_trials()))
    chosen = ["0.001384", "0.3"]
    assert title == ["study", "study:", "3", "of", "6", "trials", "ended,", "best", "bleu", "12.35"]
    assert head == ["trial", "state", "done", "left", "bleu", "rate", "dropout"]
    assert rows == [
        ["3", *["validation,", "seed", "2", "of", "2"], "75%", "1:05", "4.32", *chosen],
        ["4", *["starting,", "seed", "1", "of", "2"], "0%", "–", "–", *chosen],
        ["1", "done", "–", "–", "12.35", *chosen],
        ["0", "done", "–", "–", "10", *chosen],
        ["2", "pruned", "–", "–", "–", *chosen],
    ]


def test_a_long_study_shows_its_best_trials_alone(tmp_path):
    plan, _, study = planned(tmp_path, trials=30)
    for value in range(20):
        study.tell(begin(study), value)
    begin(study)
    _, _, running, *ended = shown(study_table(plan, study.get_trials()))
    assert running[1] == "starting"
    assert [row[4] for row in ended] == [str(value) for value in range(19, 19 - ENDED, -1)]


def test_a_study_that_has_ended_is_one_line(tmp_path):
    plan, _, study = planned(tmp_path, trials=1)
    study.tell(begin(study), 5.0)
    [line] = shown(study_table(plan, study.get_trials()))
    assert " ".join(line) == "study study: 1 of 1 trials ended, best bleu 5"


@pytest.mark.parametrize(
    ("value", "written"),
    [(3 * 0.1, "0.3"), (0.7 - 0.1, "0.6"), (0.0013838487450596182, "0.0013838487450596182")],
)
def test_steps_are_written_as_a_person_writes_them_and_other_numbers_exactly(value, written):
    assert as_overrides({"x": value}) == [f"x={written}"]


@pytest.mark.exhaustive
@pytest.mark.long
def test_a_terminal_sees_the_trials_and_at_the_end_the_outcome(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    command = [
        sys.executable, "run.py", "sweep=recurrent", "model=seq2seq", "sweep.trials=3", *TINY,
        *places(tmp_path), "logger=none", "budget.target_tokens=5000", "sweep.warmup_trials=1",
    ]  # fmt: skip
    status, screen, screens = watch(command)
    seen = [line for lines in screens for line in lines]
    assert status == 0, screen.shown
    assert any("of 3 trials ended" in line for line in seen)
    assert any("training" in line for line in seen)
    assert not any("of 3 trials ended" in line for line in screen.shown)
    assert not any("Launching" in line or "Joblib" in line for line in seen)
    assert not any("00000000" in line for line in screen.shown)
    assert screen.shown[-1].endswith("report.html in a browser")
    assert screen.shows_cursor
