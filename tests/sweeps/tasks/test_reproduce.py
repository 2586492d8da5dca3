"""``task=reproduce``: a run is trained again from its record."""

import io
import json
import re
from pathlib import Path
from shutil import copytree, ignore_patterns
from unittest.mock import patch

import pytest
from rich.console import Console

from lightning_modules.runs.paths import TRACKER_ID
from lightning_modules.runs.schema import ValueComparison
from sweeps.tasks.reproduce import MOST_ROWS, _table
from tests.helpers.commands import TINY, in_process, inside, mistake, places
from tests.helpers.run_folders import unsealed


@pytest.fixture(scope="module")
def run(space) -> Path:
    folder = space / "run"
    settings = ["model=luong_global", "seed=3", "model.dropout=0.3", "logger=none"]
    inside(*settings, *TINY, *places(space), f"hydra.run.dir={folder}")
    return folder


def reproduce(run: Path, space: Path, name: str) -> object:
    where = [*places(space), f"hydra.run.dir={space / name}"]
    return in_process("task=reproduce", f"run={run}", *where)


def change(run: Path, entries: dict) -> None:
    result = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps(result | entries))


def test_a_run_comes_to_the_same_again(run, space, capsys):
    assert reproduce(run, space, "same") == 0
    output = capsys.readouterr().out
    assert "the same versions, code and hardware" in output
    assert "every score and translation is the same" in output
    content = json.loads((space / "same" / "reproduction.json").read_text())
    assert content["bleu"]["then"] == content["bleu"]["now"]
    assert not (space / "same" / TRACKER_ID).exists()  # the record's logger is none
    for name in ("result.json", "predictions.jsonl", "history.csv"):
        assert (space / "same" / name).is_file()
    config = json.loads((space / "same" / "result.json").read_text())["config"]
    assert config["model"]["dropout"] == 0.3
    assert config["seed"] == 3


def test_a_reproduction_is_no_record_of_a_training(run, space):
    line = mistake("task=reproduce", f"run={space / 'same'}", *places(space), "logger=none")
    assert "its .hydra/ is of sweeps.tasks.reproduce.reproduce; give a run that was trained" in line


def test_threads_are_those_of_the_record(run, space, capsys):
    """Before the training sets the number of threads, the number differs."""
    with (
        patch("torch.set_num_threads") as asked,
        patch("torch.get_num_threads", lambda: 1 if asked.called else 5),
        patch("lightning_modules.kernels.threads.default_threads"),
    ):
        reproduce(run, space, "threads")
    assert "the same versions, code and hardware" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("config.yaml", "", "lacks about, with which the run was made"),
        ("config.yaml", "a: [1", r"cannot be read as the record of a run \(while parsing"),
        ("config.yaml", "- 1", "is no record of a run"),
        ("hydra.yaml", "", "is no record of a run"),
    ],
)
def test_a_broken_record_is_told_in_a_line(run, space, tmp_path, name, content, line):
    broken = tmp_path / "broken"
    copytree(run, broken, ignore=ignore_patterns("checkpoints"))
    (broken / ".hydra" / name).write_text(content)
    unsealed(broken)
    message = mistake("task=reproduce", f"run={broken}", *places(space), "logger=none")
    assert re.search(rf"{name}: {line}", message)


def test_what_differs_is_told_first_and_ends_with_status_1(run, space, capsys):
    result = json.loads((run / "result.json").read_text())
    versions = result["environment"] | {"torch": "1.0"}
    change(run, {"environment": versions, "scores": result["scores"] | {"bleu": 99.0}})
    unsealed(run)
    assert reproduce(run, space, "other") == 1
    output = capsys.readouterr().out
    assert output.index("torch") < output.index("training,")
    assert "not the same: bleu" in output


def test_a_table_of_any_length_is_short_and_begins_with_what_differs():
    values = {f"v{n}": ValueComparison(then=1, now=2 if n == 50 else 1) for n in range(60)}
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(_table("again", values), soft_wrap=True)
    lines = console.export_text().splitlines()
    assert len(lines) == MOST_ROWS + 2
    assert "9 of 60 values, reproduction.json has all" in lines[0]
    assert lines[2].split() == ["v50", "1", "2", "differs"]


def test_a_folder_without_a_finished_run_is_refused(space, tmp_path):
    line = mistake("task=reproduce", f"run={tmp_path}", *places(space), "logger=none")
    assert "holds no finished run" in line
