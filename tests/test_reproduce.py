"""``task=reproduce``: a run again from its own record."""

import json
from pathlib import Path

import pytest

from tests.commands import TINY, in_process, inside, mistake, places


@pytest.fixture(scope="module")
def space(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("reproduce")


@pytest.fixture(scope="module")
def run(space) -> Path:
    folder = space / "run"
    own = ["model=luong_global", "seed=3", "model.dropout=0.3", "logger=none"]
    inside(*own, *TINY, *places(space), f"hydra.run.dir={folder}")
    return folder


def reproduce(run: Path, space: Path, name: str) -> object:
    where = [*places(space), f"hydra.run.dir={space / name}", "logger=none"]
    return in_process("task=reproduce", f"run={run}", *where)


def change(run: Path, told: dict) -> None:
    result = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps(result | told))


def test_a_run_comes_to_the_same_again(run, space, capsys):
    assert reproduce(run, space, "same") == 0
    said = capsys.readouterr().out
    assert "the same versions, code and hardware" in said
    assert "every score and translation is the same" in said
    told = json.loads((space / "same" / "reproduction.json").read_text())
    assert told["bleu"]["then"] == told["bleu"]["now"]
    for name in ("result.json", "predictions.jsonl", "history.csv"):
        assert (space / "same" / name).is_file()
    config = json.loads((space / "same" / "result.json").read_text())["config"]
    assert config["model"]["dropout"] == 0.3
    assert config["seed"] == 3


def test_what_differs_is_told_first_and_ends_with_status_1(run, space, capsys):
    result = json.loads((run / "result.json").read_text())
    versions = result["environment"] | {"torch": "1.0"}
    change(run, {"environment": versions, "scores": result["scores"] | {"bleu": 99.0}})
    assert reproduce(run, space, "other") == 1
    said = capsys.readouterr().out
    assert said.index("torch") < said.index("training,")
    assert "not the same: bleu" in said


def test_a_folder_without_a_finished_run_is_refused(space, tmp_path):
    line = mistake("task=reproduce", f"run={tmp_path}", *places(space), "logger=none")
    assert "holds no finished run" in line
