"""The import of a task: what it loads, in which order, and the garbage collector after it."""

import gc
import json
import subprocess
import sys

import pytest
from omegaconf import OmegaConf

from sweeps.launch.task_import import import_task
from tests.helpers.commands import ROOT

HEAVY = ("wandb", "torch", "pytorch_lightning", "altair", "vl_convert")
WANDB = "lightning_modules.tracking.trackers.wandb_tracker.WandbTracker"


def loaded(path, logger):
    """Return the heavy packages that the import of a task loads, in order."""
    code = f"""
import json, sys
from omegaconf import OmegaConf
from sweeps.launch.task_import import import_task
import_task({path!r}, OmegaConf.create({{"logger": {logger!r}}}))
print(json.dumps([name for name in sys.modules if name in {HEAVY!r}]))
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return json.loads(done.stdout)


@pytest.mark.long
def test_wandb_is_imported_before_torch_and_pictures_wait():
    train = "lightning_modules.tasks.train.train"
    assert loaded(train, {"_target_": WANDB}) == ["wandb", "torch", "pytorch_lightning"]


def test_a_comparison_needs_neither_torch_nor_wandb():
    assert set(loaded("sweeps.tasks.compare.compare", {})) == {"altair", "vl_convert"}


def test_garbage_is_collected_after_an_import_that_fails():
    config = OmegaConf.create({"logger": None})
    with pytest.raises(ImportError):
        import_task("sweeps.nowhere.task", config)
    assert gc.isenabled()
    assert callable(import_task("json.dumps", config))
    assert gc.isenabled()
