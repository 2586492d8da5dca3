"""The import of a task: what it loads, in which order, and the garbage collector after it."""

import gc
import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from omegaconf import OmegaConf

from sweeps.launch.job import import_task
from tests.helpers.commands import ROOT

HEAVY = ("wandb", "torch", "pytorch_lightning", "altair", "vl_convert")


def loaded(path, logger):
    """Return the heavy packages that the import of a task loads, in order."""
    code = f"""
import json, sys
from omegaconf import OmegaConf
from sweeps.launch.job import import_task
import_task({path!r}, OmegaConf.create({{"logger": {logger!r}}}))
print(json.dumps([name for name in sys.modules if name in {HEAVY!r}]))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return json.loads(done.stdout)


def test_a_comparison_needs_neither_torch_nor_wandb():
    assert set(loaded("sweeps.tasks.compare.compare", {})) == {"altair", "vl_convert"}


def test_garbage_is_collected_after_an_import_that_fails():
    config = OmegaConf.create({"logger": None})
    with pytest.raises(ImportError):
        import_task("sweeps.nowhere.task", config)
    assert gc.isenabled()
    assert callable(import_task("json.dumps", config))
    assert gc.isenabled()


JOB = """
from sweeps.launch.job import import_task
import_task("stubborn.task", OmegaConf.create({"logger": None}))
"""
MULTIRUN = """
from hydra import initialize
from sweeps.launch.compose import composed
from sweeps.launch.multirun_callback import MultirunCallback
with initialize("conf", version_base="1.3"):
    MultirunCallback(["stubborn.task"]).on_multirun_start(composed([]))
"""


@pytest.mark.parametrize("command", [JOB, MULTIRUN], ids=["job", "multirun"])
def test_ctrl_c_ends_an_import_that_catches_it(tmp_path, command):
    """NumPy and torch catch it; the half imported packages raised ``RecursionError`` later."""
    (tmp_path / "stubborn.py").write_text(
        "import os, signal\n"
        "try:\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "except KeyboardInterrupt:\n    print('caught')\n"
        "def task(config): pass\n"
    )
    code = f"import sys; from omegaconf import OmegaConf; sys.path.append({str(tmp_path)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code + command], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stdout) == (-signal.SIGINT, ""), done.stderr


def test_after_the_import_ctrl_c_raises_again():
    import_task("json.dumps", OmegaConf.create({"logger": "none"}))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


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
