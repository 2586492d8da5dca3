"""Errors of the process itself: out of memory, a narrow terminal, Ctrl-C during imports."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from sweeps.launch.errors import as_user_error
from tests.helpers.commands import ROOT, TINY, mistake, places

RUN = [sys.executable, "run.py"]


@pytest.mark.parametrize("error", [MemoryError(), torch.cuda.OutOfMemoryError("CUDA")])
def test_a_machine_without_memory_is_a_mistake_of_the_user(error):
    line = str(as_user_error(error))
    assert line.startswith("out of memory: give a smaller model (scale=0.5)")


def test_the_memory_that_a_cpu_refuses_is_told():
    with pytest.raises(RuntimeError) as refused:
        torch.empty(1 << 50)
    assert str(as_user_error(refused.value)).startswith("out of memory (4,194,304.0 GiB): give")


def test_gpus_that_are_not_there_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    line = mistake(*TINY, *places(tmp_path), "devices.gpus_per_job=3", "logger=none")
    assert "devices.gpus_per_job=3" in line


@pytest.mark.long
def test_a_terminal_of_ascii_shows_the_table(tmp_path):
    surroundings = os.environ | {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}
    surroundings["PYTHONCOERCECLOCALE"] = "0"
    command = [*RUN, "task=settings", "prefix=optimizer"]
    done = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"optimizer.lr" in done.stdout


@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.8])
def test_ctrl_c_in_the_first_second_prints_no_traceback(tmp_path, seconds):
    command = [*RUN, *TINY, *places(tmp_path), "logger=none"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    imports = Path(f"/proc/{process.pid}/maps")
    while "yaml" not in imports.read_text() and process.poll() is None:
        time.sleep(0.005)  # Python itself still starts
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)
    assert b"Traceback" not in errors
