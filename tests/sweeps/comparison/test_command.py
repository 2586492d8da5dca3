"""The command that made a comparison is read from Hydra's files."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from sweeps.comparison.command import command_of

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
