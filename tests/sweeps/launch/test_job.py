"""The start and the end of a job: what its task loads, and a worker whose command is killed."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.helpers.commands import ROOT

HEAVY = ("wandb", "torch", "pytorch_lightning", "altair", "vl_convert")


def test_a_comparison_needs_neither_torch_nor_wandb():
    code = f"""
import json, sys, sweeps.tasks.compare
print(json.dumps([name for name in sys.modules if name in {HEAVY!r}]))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert set(json.loads(done.stdout)) == {"altair", "vl_convert"}


COMMAND = """
import os, signal, sys, time
from pathlib import Path
from joblib import Parallel, delayed
from sweeps.launch.job import end_with_parent

def job(folder):
    signal.signal(signal.SIGTERM, lambda *_: (folder / "saved").touch())
    end_with_parent(seconds_to_save=SECONDS)
    (folder / "worker").write_text(str(os.getpid()))
    while True:
        time.sleep(0.1)

if __name__ == "__main__":
    Parallel(2)(delayed(job)(Path(folder)) for folder in sys.argv[1:])
"""


def until(holds) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def works(process: int) -> bool:
    return psutil.pid_exists(process) and psutil.Process(process).status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("seconds", [0, 1])
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_saves_and_ends_when_its_command_is_killed(tmp_path, sent, seconds):
    program = tmp_path / "command.py"
    program.write_text(COMMAND.replace("SECONDS", str(seconds)))
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    files = [folder / "worker" for folder in folders]
    command = [sys.executable, program, *folders]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as running:
        until(lambda: all(file.is_file() and file.read_text() for file in files))
        workers = [int(file.read_text()) for file in files]
        assert all(map(works, workers))
        running.send_signal(sent)
    until(lambda: not any(map(works, workers)))
    assert [(folder / "saved").is_file() for folder in folders] == [bool(seconds)] * 2
