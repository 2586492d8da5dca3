"""Training from Python: the folder of the command, its errors, and a training to its end."""

import pytest

import attention_bench as ab
from attention_bench import training
from tests.helpers.commands import TINY, inside, places
from tests.helpers.refusals import refused


def test_the_run_is_that_of_the_command(space, monkeypatch):
    """Also the latest of several that ``force=true`` makes."""

    def run_inside(given, log):
        inside(*given)
        return 0, ""

    monkeypatch.setattr(training, "run_command", run_inside)
    given = [*TINY, *places(space), "logger=none", "decoding=greedy", "data=grammar_easy"]
    given += ["data.train_size=60", "budget.target_tokens=1000"]
    folders = []
    for more in ([], ["force=true"], ["force=true"]):
        run = ab.train(*given, *more)
        folders.append(run.folder)
        newest = max((space / "outputs" / "runs").iterdir(), key=lambda each: each.name)
        assert run.folder == newest
        assert run.result.seed == 1
    assert len(set(folders)) == 3


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("-m", "give overrides KEY=VALUE"),
        ("--config-dir=mine", "hydra.searchpath=[file:///DIR]"),
        ("model", "give overrides KEY=VALUE"),
        ("task=test", "train() trains one system"),
        ("comparison=quickstart", "then give its folder to compare()"),
    ],
)
def test_what_is_not_one_training_is_refused(override, words):
    with refused(override, words):
        ab.train(override)


def test_the_status_decides_the_error(monkeypatch):
    monkeypatch.setattr(training, "run_command", lambda given, log: (2, "error: seed=x: give"))
    with refused("seed=x: give"):
        ab.train("seed=x")
    monkeypatch.setattr(training, "run_command", lambda given, log: (-9, "update 7"))
    with refused("status -9: update 7", error=RuntimeError):
        ab.train("seed=1")


@pytest.mark.long
def test_a_command_is_run_with_own_modules(space, monkeypatch, capfd):
    (space / "my_score.py").write_text(
        "from lightning_modules.attention.scores import Dot\n\n\nclass MyDot(Dot):\n    pass\n"
    )
    monkeypatch.syspath_prepend(space)
    own = ["model=luong_global", "model.attention.score=my_score.MyDot"]
    run = ab.train(*TINY, *places(space), "logger=none", *own)
    assert run.result.config["model"]["attention"]["score"] == "my_score.MyDot"
    assert str(run.folder) in capfd.readouterr().out
    with refused("sed"):
        ab.train("sed=1", log=False)
