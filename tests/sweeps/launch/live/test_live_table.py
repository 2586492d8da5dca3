"""The table of a running multirun: its content, and a terminal without other lines."""

import io
import os
import pty
import re
import sys

import pytest
from hydra import compose, initialize_config_dir
from rich.console import Console

from lightning_modules.runs.reader import read_state
from lightning_modules.runs.schema import JobState
from lightning_modules.runs.writer import write_state
from sweeps.launch.errors import CONF
from sweeps.launch.live.live_table import job_label, job_table, jobs_of
from tests.helpers.commands import ROOT, TINY, places


def shown(folder, jobs):
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(job_table(folder, jobs))
    return [line.split() for line in console.export_text().splitlines()]


def test_each_job_stands_where_its_folder_says(tmp_path):
    jobs = ["a", "b, seed=2", "c", "d", "e", "f"]
    for number in range(5):
        (tmp_path / str(number)).mkdir()
    training = JobState(
        doing="training", updates=1200, share=0.25, tokens_per_second=2345.6, seconds_left=75.4
    )
    testing = JobState(
        doing="testing",
        updates=90,
        share=1.0,
        tokens_per_second=12.0,
        val_bleu=31.456,
        seconds_left=0.0,
    )
    for number, state in enumerate((training, testing, testing)):
        write_state(tmp_path / str(number), state)
    (tmp_path / "2" / "result.json").touch()
    (tmp_path / "3" / "failure.json").touch()
    head, *rows = shown(tmp_path, jobs)
    assert head == ["job", "state", "updates", "done", "tokens/s", "val", "BLEU", "left"]
    assert rows == [
        ["a", "training", "1,200", "25%", "2,346", "–", "1:15"],
        ["b,", "seed=2", "testing", "90", "100%", "12", "31.46", "–"],
        ["c", "done", "90", "100%", "12", "31.46", "–"],
        ["d", "failed", "–", "–", "–", "–", "–"],
        ["e", "starting", "–", "–", "–", "–", "–"],
        ["f", "waiting", "–", "–", "–", "–", "–"],
    ]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"doing": "x", "other": 1}'])
def test_a_file_that_cannot_be_read_is_no_state(tmp_path, content):
    assert read_state(tmp_path) is None
    (tmp_path / "progress.json").write_text(content)
    assert read_state(tmp_path) is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["model=bahdanau,seq2seq"], [["model=bahdanau"], ["model=seq2seq"]]),
        (["model=seq2seq", "seed=1,2"], [["model=seq2seq", "seed=1"], ["model=seq2seq", "seed=2"]]),
        (
            ["comparison=quickstart", "model=bahdanau,seq2seq", "seed=3"],
            [["model=bahdanau"], ["model=seq2seq"]],
        ),
        (["scale=0.5,1"], [["scale=0.5"], ["scale=1"]]),
        (["model=seq2seq"], [["model=seq2seq"]]),
    ],
)
def test_jobs_are_named_by_what_they_differ_in(arguments, expected):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose("config", ["hydra.mode=MULTIRUN"], return_hydra_config=True)
    config.hydra.overrides.task = arguments
    assert jobs_of(config) == expected


def test_a_job_has_the_label_of_its_model():
    with initialize_config_dir(str(CONF), version_base="1.3"):
        assert job_label(["model=bahdanau", "seed=2"]) == "Bahdanau, additive, seed=2"
        assert job_label(["scale=0.5"]) == "scale=0.5"
        assert job_label(["model=unknown", "seed=1"]) == "unknown, seed=1"


@pytest.mark.long
@pytest.mark.parametrize("terminal", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
def test_a_terminal_sees_the_table_and_others_the_lines(tmp_path, monkeypatch, terminal):
    written = io.BytesIO()

    def read(descriptor):
        data = os.read(descriptor, 1 << 16)
        written.write(data)
        return data

    command = [
        sys.executable, "run.py", "-m", "model=seq2seq", "seed=1,2", *TINY, *places(tmp_path),
        "logger=none", f"hydra.sweep.dir={tmp_path}/sweep",
    ]  # fmt: skip
    if not terminal:
        command = ["/bin/sh", "-c", '"$@" | cat', "sh", *command]
    monkeypatch.chdir(ROOT)
    status = pty.spawn(command, read, lambda descriptor: b"")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.getvalue().decode())
    assert status == 0, text
    assert "BLEU, whole test set" in text
    assert ("No attention (Cho et al.), seed=2" in text) == terminal
    assert "Launching" not in text
    assert ("parameters; " in text) != terminal
    assert ("  100%  " in text) != terminal
    if terminal:
        assert written.getvalue().count(b"\x1b[?25h") >= 1  # the cursor is back
        assert "training" in text
        assert "val loss" not in text
    assert "val loss" in (tmp_path / "sweep" / "1" / "run.log").read_text()
