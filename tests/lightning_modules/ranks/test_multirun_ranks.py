"""Trainings of several ranks, in single runs and multiruns; the devices that they take."""

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from datamodules.errors import UserError
from lightning_modules.kernels.device import peak_device_memory_mib
from lightning_modules.ranks.devices import on_gpus
from lightning_modules.ranks.launch import run_on_ranks
from lightning_modules.runs.files import read_failure
from tests.helpers.commands import ROOT, TINY, in_process, mistake, places, run, succeed
from tests.helpers.run_folders import make_run
from tests.lightning_modules.ranks import rank_jobs

RANKS = ["trainer=ddp_cpu", *TINY, "decoding=greedy", "logger.mode=offline"]


@pytest.mark.long
def test_rank_zero_answers_for_all_and_logs_as_the_job_does(tmp_path, monkeypatch):
    file = logging.FileHandler(tmp_path / "run.log")
    monkeypatch.setattr(logging.getLogger(), "handlers", [file])
    monkeypatch.setattr(logging.getLogger(), "level", logging.INFO)
    assert run_on_ranks(2, rank_jobs.add_up, 10) == 2 * 10 + 0 + 1
    lines = (tmp_path / "run.log").read_text().splitlines()
    assert sorted(lines) == ["an error of rank 0", "an error of rank 1", "information of rank 0"]


@pytest.mark.long
def test_a_mistake_on_one_rank_ends_all_at_once():
    started = time.monotonic()
    with pytest.raises(UserError) as caught:
        run_on_ranks(2, rank_jobs.make_a_mistake)
    assert str(caught.value) == "model.width=0: too little"
    assert time.monotonic() - started < 600  # a rank that waits would take half an hour


@pytest.mark.long
def test_a_defect_of_one_rank_is_that_of_the_job_and_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError) as caught:
        run_on_ranks(2, rank_jobs.have_a_defect)
    assert "rank_jobs.py" in caught.value.__notes__[0]


@pytest.mark.long
def test_a_rank_that_dies_ends_all():
    with pytest.raises(RuntimeError, match="rank 1 died, exit status 3"):
        run_on_ranks(2, rank_jobs.die)


@pytest.mark.long
def test_a_rank_that_hangs_ends_all_with_the_message_of_gloo():
    with pytest.raises(RuntimeError, match=r"(?i)timed out") as caught:
        run_on_ranks(2, rank_jobs.hang)
    assert "rank 0:" in caught.value.__notes__[0]


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGKILL, -signal.SIGKILL),
        pytest.param(signal.SIGTERM, 128 + signal.SIGTERM, marks=pytest.mark.exhaustive),
        pytest.param(signal.SIGINT, 128 + signal.SIGINT, marks=pytest.mark.exhaustive),
    ],
)
def test_no_rank_outlives_the_job(tmp_path, number, status):
    command = [sys.executable, "-m", "tests.lightning_modules.ranks.rank_jobs", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT) as job:
        try:
            wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
            job.send_signal(number)
            assert job.wait(timeout=600) == status
        finally:
            job.kill()  # the job never ends by itself, and the context waits for its end
    ranks = [int(file.name) for file in tmp_path.iterdir()]
    wait_until(lambda: not any(alive(rank) for rank in ranks))


def wait_until(met: Callable[[], bool], seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end
        time.sleep(0.05)


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def processes_with(text: str) -> list[str]:
    """Command lines or environments of processes that mention a folder of this test."""
    processes = []
    for place in Path("/proc").glob("[0-9]*"):
        if place.name == str(os.getpid()):
            continue
        try:
            content = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
        except OSError:
            continue
        if text.encode() in content:
            processes.append(place.name)
    return processes


@pytest.mark.exhaustive
@pytest.mark.long
def test_a_multirun_of_four_jobs_stays_one_multirun(space):
    lists = ["model=bahdanau,luong_global", "seed=1,2"]
    output = succeed("-m", *RANKS, *lists, *places(space), PLACE=str(space))
    assert output.count("test BLEU") == 4
    [sweep] = (space / "outputs" / "comparisons").iterdir()
    comparison = json.loads((sweep / "comparison.json").read_text())
    runs = [(run["label"], run["seed"]) for run in comparison["runs"]]
    assert runs == [("bahdanau", 1), ("bahdanau", 2), ("luong_global", 1), ("luong_global", 2)]
    jobs = sorted(folder.parent.name for folder in sweep.glob("*/.hydra"))
    assert jobs == ["0", "1", "2", "3"]
    # Every job is tracked once, and the comparison is too.
    assert len(list((space / "outputs" / "wandb").glob("offline-run-*"))) == 4 + 1
    assert not (space / "outputs" / "runs").exists()
    wait_until(lambda: not processes_with(str(space)), seconds=20)


@pytest.mark.exhaustive
@pytest.mark.long
def test_jobs_side_by_side_have_ranks_of_their_own(space):
    sweep = space / "side"
    jobs = ["hydra/launcher=side_by_side", "seed=1,2", "logger=none", f"hydra.sweep.dir={sweep}"]
    succeed("-m", *RANKS[:-1], *jobs, *places(space), PLACE=str(sweep))
    orders = [
        json.loads(result.read_text())["training"]["data_order"]
        for result in sorted(sweep.glob("*/result.json"))
    ]
    assert len(set(orders)) == 2
    assert sorted(file.parent.name for file in sweep.glob("*/run.log")) == ["0", "1"]
    wait_until(lambda: not processes_with(str(sweep)), seconds=20)


@pytest.mark.long
@pytest.mark.exhaustive
def test_a_mistake_that_only_ranks_find_is_one_line(space):
    given = [*RANKS[:-1], "logger=none", *places(space)]
    assert "batching.pieces=3: set it to a multiple of 2" in mistake(*given, "batching.pieces=3")
    wrong = space / "wrong"
    assert in_process("-m", *given, "batching.max_tokens=5", f"hydra.sweep.dir={wrong}") == 2
    assert "batching.max_tokens=5" in read_failure(wrong / "0").error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trainer.accelerator=gpu"], "trainer.accelerator=gpu: torch finds no GPU"),
        (["trainer=ddp_cpu", "trainer.devices=0"], "trainer.devices=0: give a number"),
        (["trainer=ddp_cpu", "trainer.strategy=ddp_spawn"], "trainer.strategy=ddp_spawn: give ddp"),
        (["trainer=ddp_cpu", "trainer.num_nodes=2"], "takes 4 processes"),
        (["trainer=ddp_cpu", "trainer.num_nodes=x"], "trainer.num_nodes=x: give a whole number"),
        (["trainer=ddp_cpu", "trainer.num_nodes=0"], "trainer.num_nodes=0: give a whole number"),
        (["trainer=ddp_cpu", "trainer.devices=[0,1]"], "trainer.devices=[0, 1]: names GPUs"),
        (["trainer=ddp_cpu", "trainer.devices=-1"], "trainer.devices=-1: names GPUs"),
    ],
)
def test_ranks_that_cannot_be_are_refused_before_anything_starts(
    space, monkeypatch, arguments, message
):
    monkeypatch.setattr("lightning_modules.ranks.devices.visible_gpus", list)
    assert message in mistake(*arguments, *TINY, *places(space), "logger=none")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m"], "torchrun and srun start the ranks of one training"),
        (["sweep=recurrent"], "task=study: is for one process"),
        (["force=true"], "give hydra.run.dir=DIR too"),
        (["task=test", "checkpoint=x"], "give hydra.run.dir=DIR too"),
        (["task=translate", "checkpoint=x"], "task=translate: is for one process"),
    ],
)
def test_what_ranks_from_elsewhere_cannot_do_together_is_refused(
    space, monkeypatch, arguments, message
):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.chdir(space)
    make_run(space / "x")
    (space / "x" / "checkpoints").mkdir(exist_ok=True)
    (space / "x" / "checkpoints" / "best.ckpt").write_text("a checkpoint")
    assert message in mistake(*arguments, *places(space))


@pytest.mark.long
@pytest.mark.exhaustive
def test_ranks_that_were_started_elsewhere_share_a_folder(space):
    """Start two whole programs, as torchrun does."""
    failed = run("trainer=ddp_cpu", "force=true", WORLD_SIZE="2", RANK="0")
    assert failed.returncode == 2
    assert failed.stderr.startswith("error: force=true: give hydra.run.dir=DIR too")
    assert len(failed.stderr.splitlines()) == 1
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "run.py"]
    given = [*RANKS[:-1], *places(space / "torchrun"), "logger=none"]
    done = subprocess.run(
        [sys.executable, *command, *given], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("test BLEU") == 1
    [folder] = (space / "torchrun" / "outputs" / "runs").iterdir()
    assert (folder / "run.log").read_text().count("test BLEU") == 1


def of(accelerator):
    return OmegaConf.create({"accelerator": accelerator})


def test_the_gpu_of_a_mac_is_not_taken_unless_it_is_named(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with pytest.raises(UserError) as refused:
        on_gpus(of("auto"), 0)
    line = str(refused.value)
    assert line.startswith("trainer.accelerator=auto: would take the GPU of this Mac")
    assert "trainer.accelerator=cpu" in line
    assert "\n" not in line
    assert not on_gpus(of("cpu"), 0)
    assert not on_gpus(of("mps"), 0)


def test_the_memory_of_a_device_is_told_where_the_device_tells_it(monkeypatch):
    assert peak_device_memory_mib(torch.device("cpu")) is None
    monkeypatch.setattr(torch.accelerator, "max_memory_allocated", lambda device: 3 * 2**20)
    assert peak_device_memory_mib(torch.device("cuda")) == 3.0

    def silent(device):
        raise RuntimeError("no statistics")

    monkeypatch.setattr(torch.accelerator, "max_memory_allocated", silent)
    assert peak_device_memory_mib(torch.device("mps")) is None
