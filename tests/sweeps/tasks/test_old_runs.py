"""Run folders in ``tests/old_runs``, written by the version before the folders moved.

They are two tiny jobs of a comparison, and ``comparison=tuned`` with one study of two trials. Both
have an override whose name has changed since.
"""

import io
import json
import shutil
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from datamodules.errors import UserError
from lightning_modules.runs.renamed import refuse_old_names, with_new_names
from sweeps.comparison.record import read_comparison
from tests.helpers.commands import ROOT, TESTED, inside, mistake

RECORDED = ROOT / "tests" / "old_runs"
HERE = ["outputs=old", "cache_dir=old/cache", "logger=none"]


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    """The folder in which the old commands were given."""
    space = tmp_path_factory.mktemp("old")
    shutil.copytree(RECORDED / "comparison", space / "old/comparisons/old-31a9b2a7")
    shutil.copytree(RECORDED / "tuned", space / "old/comparisons/oldtuned")
    return space


@pytest.fixture
def comparison(space, monkeypatch):
    monkeypatch.chdir(space)
    return Path("old/comparisons/old-31a9b2a7")


def output_of(*arguments: str) -> str:
    text = io.StringIO()
    with redirect_stdout(text):
        inside(*arguments)
    return text.getvalue()


def test_an_old_run_is_not_tested_on_another_edition_of_its_corpus(comparison):
    given = [*TESTED, "decoding.max_ratio=1.5", *HERE[:2], "scoring.resamples=200"]
    line = mistake("task=test", f"checkpoint={comparison}/0", "hydra.run.dir=old/tested", *given)
    assert "was trained on grammar" in line


def test_an_old_run_translates_and_aligns(comparison, tmp_path):
    (tmp_path / "input").write_text("The old friend sees the house .\n")
    run = f"checkpoint={comparison}/0"
    inside("task=translate", run, f"input={tmp_path}/input", f"output={tmp_path}/output")
    assert (tmp_path / "output").read_text().endswith("\n")
    inside("task=align", run, "hydra.run.dir=old/aligned", "sentences=[]")
    assert Path("old/aligned/alignment.json").is_file()


def test_an_old_run_on_another_edition_of_its_corpus_is_not_reproduced(comparison):
    """The built-in corpus writes other sentences now, and the command says so."""
    with pytest.raises(SystemExit):
        inside("task=reproduce", f"run={comparison}/1", "hydra.run.dir=old/reproduced", *HERE)
    again = json.loads(Path("old/reproduced/reproduction.json").read_text())
    assert again["data order"]["then"] != again["data order"]["now"]


def test_old_runs_are_compared(comparison, quick_reports):
    output = output_of("task=compare", f"runs={comparison}", "hydra.run.dir=old/compared", *HERE)
    assert "held data: fingerprint" in output
    systems = json.loads(Path("old/compared/comparison.json").read_text())["systems"]
    assert [system["name"] for system in systems] == ["seq2seq", "bahdanau"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["old-31a9b2a7", "oldtuned"])
def test_the_report_of_an_old_comparison_is_built_again(comparison, name, quick_reports):
    folder = comparison.parent / name
    before = read_comparison(folder)
    output = output_of("task=report", f"runs={folder}", *HERE)
    after = read_comparison(folder)
    assert sorted(map(repr, after.runs)) == sorted(map(repr, before.runs))
    assert sorted(after.tables) == sorted(before.tables)
    new = {"products": "multiplied by torch", "matmul precision": "highest"}
    names = {condition.name for condition in before.conditions}
    known = [condition for condition in after.conditions if condition.name in names]
    assert known == before.conditions
    added = [condition for condition in after.conditions if condition not in known]
    assert {"learning rate", "dropout"} < {condition.name for condition in added}
    assert new.items() <= {condition.name: condition.text for condition in added}.items()
    assert all(condition.holds or condition.by_design for condition in added)
    assert ("held tuning: 2 trials" in output) == (name == "oldtuned")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("callbacks.last.minutes=5", "callbacks.resume_checkpoint.minutes=5"),
        ("~callbacks.finite", "~callbacks.divergence"),
        (
            "scheduler._target_=lightning_modules.schedules.linear",
            "scheduler._target_=lightning_modules.training.control.schedules.linear",
        ),
        ("scoring.ter=false", "scoring.metrics=[bleu,chrf,chrf++]"),
        ("++scoring.ter=True", "scoring.metrics=[bleu,chrf,chrf++,ter]"),
        ("scoring.ter=true,false", "scoring.metrics=[bleu,chrf,chrf++,ter],[bleu,chrf,chrf++]"),
    ],
)
def test_an_old_name_on_the_command_line_gets_the_new_one(old, new):
    with pytest.raises(UserError, match="this name has changed") as caught:
        refuse_old_names(["model=bahdanau", old])
    assert str(caught.value) == f"{old}: this name has changed; give {new}"
    refuse_old_names([new, "model=luong_local", "callbacks.lasting=1", "notsweeps.evaluate=1"])


def test_the_program_refuses_an_old_name():
    assert "give callbacks.resume_checkpoint.minutes=5" in mistake("callbacks.last.minutes=5")


def test_new_names_are_left_alone():
    config = {
        "callbacks": {"last": {"_target_": "lightning_modules.callbacks.LastCheckpoint"}, "b": 1},
        "scoring": {"edges": [10], "ter": False, "unit": "source_words"},
        "other": ["callbacks.last.minutes=5", "last", None, 3],
    }
    once = with_new_names(config)
    assert once == {
        "callbacks": {
            "resume_checkpoint": {
                "_target_": "lightning_modules.training.callbacks.ResumeCheckpoint"
            },
            "b": 1,
        },
        "scoring": {"edges": [10], "unit": "source_words", "metrics": ["bleu", "chrf", "chrf++"]},
        "other": ["callbacks.resume_checkpoint.minutes=5", "last", None, 3],
    }
    assert with_new_names(once) == once
