"""Jobs side by side, each with GPUs of its own. The GPUs are pretended, the processes are real."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from datamodules.errors import UserError
from lightning_modules.ranks import devices
from sweeps.launch import gpu_leases as leases
from tests.helpers.commands import ROOT

JOB = """
import logging, os, sys
from pathlib import Path
from tests.sweeps.launch.test_gpu_leases import lease_of

logging.basicConfig(level="INFO", format="%(message)s", stream=sys.stdout)
with lease_of(Path(sys.argv[1]), *sys.argv[2:]):
    print(os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
    sys.stdin.readline()
"""


def settings(*overrides):
    given = OmegaConf.from_dotlist(["devices.jobs_per_gpu=1", "trainer.devices=1", *overrides])
    base = {"devices": {"gpus_per_job": None}, "trainer": {"accelerator": "gpu"}}
    return OmegaConf.merge(base, given)


def lease_of(place: Path, *overrides: str):
    """A lease of a machine with two GPUs, kept in a folder of its own."""
    leases.FOLDER = place
    leases.POLL_SECONDS = 0.02
    leases.visible_gpus = lambda: ["GPU-a", "GPU-b"]
    return leases.leased(settings(*overrides))


@pytest.fixture
def started(tmp_path):
    """Start a job with settings of its own; all end with the test."""
    with ExitStack() as ends:

        def start(*overrides: str) -> subprocess.Popen[str]:
            command = [sys.executable, "-c", JOB, str(tmp_path), *overrides]
            job = subprocess.Popen(
                command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            ends.callback(job.wait)
            ends.callback(job.kill)
            return job

        yield start


def next_line(job: subprocess.Popen[str]) -> str:
    assert job.stdout is not None
    return job.stdout.readline().strip()


@pytest.mark.long
def test_jobs_take_gpus_of_their_own_and_the_next_waits_for_one_that_dies(started):
    first, second = started(), started()
    assert {next_line(first), next_line(second)} == {"GPU-a", "GPU-b"}
    third = started()
    assert next_line(third) == "waiting for 1 of 2 GPUs: other jobs have them"
    first.kill()
    assert next_line(third) in ("GPU-a", "GPU-b")


@pytest.mark.long
@pytest.mark.exhaustive
def test_a_job_of_two_gpus_waits_for_both(started):
    one = started()
    assert next_line(one) == "GPU-a"
    both = started("trainer.devices=2")
    assert next_line(both) == "waiting for 2 of 2 GPUs: other jobs have them"
    one.communicate("done\n", timeout=20)
    assert next_line(both) == "GPU-a,GPU-b"


def test_two_jobs_share_a_gpu_once_all_have_one(tmp_path, monkeypatch):
    pretend(monkeypatch)
    with ExitStack() as jobs:
        for expected in ("GPU-a", "GPU-b", "GPU-a", "GPU-b"):
            jobs.enter_context(lease_of(tmp_path, "devices.jobs_per_gpu=2"))
            assert leases.os.environ["CUDA_VISIBLE_DEVICES"] == expected


@pytest.mark.parametrize(
    ("overrides", "seen"),
    [
        (["trainer.devices=-1"], "GPU-a,GPU-b"),
        (["trainer.devices=[1]"], "GPU-a,GPU-b"),  # by number
        (["devices.gpus_per_job=2"], "GPU-a,GPU-b"),
        (["model.placement.encoder=cpu", "model.placement.decoder=cuda:1"], "GPU-a,GPU-b"),
    ],
)
def test_what_a_job_needs_is_read_off_its_settings(tmp_path, monkeypatch, overrides, seen):
    pretend(monkeypatch)
    with lease_of(tmp_path, *overrides):
        assert leases.os.environ["CUDA_VISIBLE_DEVICES"] == seen


def pretend(monkeypatch):
    """Put back what ``lease_of`` changes."""
    for name in ("FOLDER", "POLL_SECONDS", "visible_gpus"):
        monkeypatch.setattr(leases, name, getattr(leases, name))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["trainer.devices=3"], "trainer.devices=3: there are 2 GPUs on this machine"),
        (["trainer.devices=[0,2]"], "there are 2 GPUs on this machine"),
        (["trainer.devices=none"], "trainer.devices=none: give a number"),
        (["trainer.devices=0"], "trainer.devices=0: give a number"),
        (["devices.gpus_per_job=3"], "devices.gpus_per_job=3: this machine has 2"),
    ],
)
def test_a_job_that_needs_more_than_there_is_says_so_at_once(
    tmp_path, monkeypatch, overrides, message
):
    pretend(monkeypatch)
    with pytest.raises(UserError) as caught, lease_of(tmp_path, *overrides):
        pass
    assert message in str(caught.value)


def test_without_gpus_nothing_is_taken(tmp_path, monkeypatch):
    pretend(monkeypatch)
    lease = lease_of(tmp_path / "none", "trainer.accelerator=auto")
    monkeypatch.setattr(leases, "visible_gpus", list)
    with lease:
        assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("visible", "seen"),
    [
        (None, ["GPU-a", "GPU-b"]),
        ("1", ["GPU-b"]),
        ("1,0", ["GPU-b", "GPU-a"]),
        ("GPU-b", ["GPU-b"]),
    ],
)
def test_gpus_have_the_same_name_in_every_process(monkeypatch, visible, seen):
    """The names do not depend on the way in which a scheduler or user chose the GPUs."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    done = subprocess.CompletedProcess([], 0, stdout="GPU-a\nGPU-b\n")
    monkeypatch.setattr(devices.subprocess, "run", lambda *_, **__: done)
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert devices.visible_gpus() == seen
