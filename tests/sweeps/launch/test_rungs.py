"""A training with rungs leaves the runs of the commands with these budgets, to the digit."""

from pathlib import Path

import pytest

from lightning_modules.runs.files import read_history
from tests.helpers.commands import TINY, in_process, mistake, places
from tests.helpers.run_folders import result_of

SETTINGS = [
    *(given for given in TINY if not given.startswith("budget")),
    *["model=seq2seq", "scheduler=constant", "budget=updates", "trainer.val_check_interval=3"],
    *["scoring.resamples=100", "scoring.metrics=[bleu]", "logger=none"],
]
RUNGS = "budget.rungs=[4,6]"
COUNTED = ("updates", "target_tokens", "flops", "data_order", "val_loss", "val_bleu", "ended_by")


def outcome(run: Path):
    result = result_of(run)
    points = [point.model_copy(update={"seconds": 0.0}) for point in read_history(run)]
    training = result.training.model_dump(include={*COUNTED})
    return training, points, result.scores, (run / "predictions.jsonl").read_text()


def runs_in(folder: Path) -> dict[int, Path]:
    """Return the runs by their updates."""
    found = {}
    for file in folder.glob("*/result.json"):
        updates = result_of(file.parent).training.updates
        assert updates is not None
        found[updates] = file.parent
    return found


@pytest.mark.long
def test_each_rung_is_the_run_of_its_budget(space):
    rungs, straight = space / "rungs", space / "straight"
    assert in_process(*SETTINGS, *places(rungs), "budget.updates=9", RUNGS) == 0
    made = runs_in(rungs / "outputs" / "runs")
    assert sorted(made) == [4, 6, 9]
    for updates in made:
        given = [*places(straight), f"budget.updates={updates}", "force=true"]
        assert in_process(*SETTINGS, *given, f"hydra.run.dir={straight}/{updates}/run") == 0
        assert outcome(made[updates]) == outcome(straight / str(updates) / "run")
    begun = {updates: result_of(made[updates]).config["continue"] for updates in made}
    assert begun == {4: None, 6: str(made[4]), 9: str(made[6])}


@pytest.mark.long
def test_the_command_of_a_rung_finds_it(space, caplog):
    caplog.set_level("INFO")
    out = places(space / "found")
    assert in_process(*SETTINGS, *out, "budget.updates=6", "budget.rungs=[4]") == 0
    before = {run: (run / "result.json").stat().st_mtime_ns for run in made_in(space / "found")}
    assert in_process(*SETTINGS, *out, "budget.updates=4") == 0
    assert in_process(*SETTINGS, *out, "budget.updates=6", RUNGS) == 0
    assert {run: (run / "result.json").stat().st_mtime_ns for run in before} == before
    assert len(made_in(space / "found")) == 2


def made_in(folder: Path) -> list[Path]:
    return list(runs_in(folder / "outputs" / "runs").values())


@pytest.mark.long
def test_the_checkpoints_of_rungs_may_go_once_the_training_has_ended(space):
    given = [*places(space / "room"), "budget.updates=9", RUNGS, "budget.rung_checkpoints=false"]
    assert in_process(*SETTINGS, *given) == 0
    runs = runs_in(space / "room" / "outputs" / "runs")
    kept = {updates for updates, run in runs.items() if (run / "checkpoints").exists()}
    assert (sorted(runs), kept) == ([4, 6, 9], {9})


@pytest.mark.long
@pytest.mark.usefixtures("quick_reports")
def test_a_comparison_of_seeds_has_rungs_beside_it(space):
    out = places(space / "seeds")
    given = [*SETTINGS, *out, "budget.updates=6", "budget.rungs=[4]"]
    assert in_process("-m", "seed=1,2", "hydra/launcher=basic", *given) == 0
    rungs = sorted((space / "seeds" / "outputs" / "runs").glob("*/result.json"))
    assert [result_of(file.parent).seed for file in rungs] == [1, 2]
    compared = sorted((space / "seeds" / "outputs" / "comparisons").glob("*/*/result.json"))
    results = [result_of(file.parent) for file in compared]
    assert [(each.seed, each.training.updates) for each in results] == [(1, 6), (2, 6)]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["budget.rungs=[6,4]"], "budget.rungs=[6, 4]: give amounts that rise"),
        (["budget.rungs=[4,30]"], "30 is more than budget.updates=9; give a larger budget.updates"),
        (["budget.rungs=[2.5]"], "2.5 is no budget.updates; give a whole number, at least 1"),
        (["budget.rungs=[0]"], "0 is no budget.updates; give a whole number, at least 1"),
        ([RUNGS, "scheduler=linear"], "scheduler ends with the budget, so that nothing can follow"),
        (
            [RUNGS, "teacher_forcing=scheduled"],
            "teacher_forcing=always or teacher_forcing.total_updates=N",
        ),
        (
            ["task=study", "sweep=recurrent", RUNGS],
            "the trials of a study start from the beginning",
        ),
    ],
)
def test_rungs_that_cannot_be_are_refused(tmp_path, given, line):
    kept = [each for each in SETTINGS if not each.startswith("model") or "task=study" not in given]
    assert line in mistake(*kept, *places(tmp_path), "budget.updates=9", *given)
