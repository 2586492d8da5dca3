"""Command, question and files of a comparison are read from Hydra's files."""

import os
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from lightning_modules.runs.paths import RESULT
from sweeps.comparison.record import command_of, origin_of

TASK = ["model=bahdanau,seq2seq", "sweep.storage=postgresql://me:secret@host/studies"]


@pytest.mark.parametrize(
    ("file", "given", "expected"),
    [
        ("multirun.yaml", ["hydra.mode=MULTIRUN"], "python run.py -m model=bahdanau,seq2seq "),
        ("multirun.yaml", [], "python run.py model=bahdanau,seq2seq "),
        (".hydra/hydra.yaml", [], "python run.py model=bahdanau,seq2seq "),
    ],
)
def test_the_command_is_told_without_passwords(file: str, given, expected, tmp_path: Path):
    kept = tmp_path / file
    kept.parent.mkdir(exist_ok=True)
    node = {"hydra": {"sweep": {"dir": "${folder:x}"}, "overrides": {"hydra": given, "task": TASK}}}
    OmegaConf.save(OmegaConf.create(node), kept)
    command = command_of(tmp_path)
    assert command is not None
    assert command.startswith(expected)
    assert "secret" not in command


def test_a_folder_without_files_of_hydra_tells_no_command(tmp_path: Path):
    assert command_of(tmp_path) is None


def test_question_and_date_are_read(tmp_path: Path):
    settings = {
        "about": {"title": "Who wins?", "question": None, "papers": ["https://example.org"]}
    }
    (tmp_path / ".hydra").mkdir()
    OmegaConf.save(OmegaConf.create(settings), tmp_path / ".hydra" / "config.yaml")
    run = tmp_path / "0"
    run.mkdir()
    (run / RESULT).touch()
    os.utime(run / RESULT, (1_700_000_000, 1_700_000_000))
    origin = origin_of(tmp_path, [run])
    assert (origin.title, origin.question) == ("Who wins?", None)
    assert origin.papers == ("https://example.org",)
    assert origin.date == "2023-11-14"


def test_a_folder_of_an_earlier_version_has_no_title(tmp_path: Path):
    OmegaConf.save(OmegaConf.create({"seed": 1}), tmp_path / "multirun.yaml")
    assert origin_of(tmp_path).title is None
