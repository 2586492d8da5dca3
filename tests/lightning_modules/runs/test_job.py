"""Commands to copy: a shell and then Hydra read the path that was meant."""

import shlex
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from lightning_modules.runs.job import next_steps

FOLDERS = ["/a/outputs/runs/bahdanau-1-4a3e", "a b", "it's", "x,y=[1]", 'with "quotes"', "$HOME"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_shell_and_hydra_read_the_folder_from_the_next_commands(folder):
    compare, translate = (
        shlex.split(line.partition(": ")[2]) for line in next_steps(Path(folder)).splitlines()
    )
    assert compare[:3] == ["python", "run.py", "task=compare"]
    assert translate[:3] == ["python", "run.py", "task=translate"]
    read = {
        override.key_or_group: override.value()
        for override in OverridesParser.create().parse_overrides([*compare[2:], *translate[3:]])
    }
    assert str(read["checkpoint"]).strip("'\"") == folder.strip("'\"")
    runs = read["runs"]
    assert isinstance(runs, list)
    assert str(runs[1]) == "RUN_DIR"
