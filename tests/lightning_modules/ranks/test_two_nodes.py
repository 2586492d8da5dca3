"""Two nodes train as one; each node is a network namespace of this machine."""

import csv
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from lightning_modules.tasks.score import score
from lightning_modules.tasks.train import train
from tests.helpers.commands import ROOT, places
from tests.helpers.ranks import Job, on_ranks, run_jobs
from tests.lightning_modules.ranks.test_ranks import SHORT, TOLERANCE, devices, read, trained_as

ADDRESSES = ("10.97.31.1", "10.97.31.2")
TWO_NODES = ["trainer=ddp_cpu", "trainer.devices=1", "trainer.num_nodes=2"]
TRAINED = [("luong_local", "32-true"), ("transformer", "64-true")]

pytestmark = pytest.mark.long


def ip(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *arguments], check=check, capture_output=True, text=True)


@pytest.fixture(scope="module")
def nodes():
    """Names of two namespaces with a cable between them."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and the command ip (iproute2)")
    names = [f"node{number}-{os.getpid()}" for number in range(2)]
    with ExitStack() as ends:
        for name in names:
            made = ip("netns", "add", name, check=False)
            if made.returncode:
                pytest.skip(f"no network namespaces here: {made.stderr.strip()}")
            ends.callback(ip, "netns", "del", name)
        cable = ["type", "veth", "peer", "name", "cable", "netns", names[1]]
        ip("link", "add", "cable", "netns", names[0], *cable)
        for name, address in zip(names, ADDRESSES, strict=True):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
            for link in ("lo", "cable"):
                ip("-n", name, "link", "set", link, "up")
        yield names


def on_nodes(nodes: list[str], *given: str) -> list[str]:
    """Run one command on both nodes with torchrun, and return the output of each."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
    torchrun.append(f"--master-addr={ADDRESSES[0]}")
    running = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, *torchrun, f"--node-rank={number}", "run.py", *given],
            cwd=ROOT,
            env=os.environ | {"GLOO_SOCKET_IFNAME": "cable", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, name in enumerate(nodes)
    ]
    try:
        outputs = [node.communicate(timeout=240) for node in running]
    finally:
        for node in running:
            node.kill()
    assert [node.returncode for node in running] == [0, 0], outputs
    return [out for out, _ in outputs]


OF_TRAINING = ("budget", "callbacks", "scale", "model", "logger", "val_sentences")
"""Beginnings of settings that ``task=test`` does not read."""


@pytest.fixture(scope="module", params=TRAINED, ids=lambda trained: trained[0])
def runs(nodes, tmp_path_factory, request) -> tuple[str, Path]:
    """Train on one node and on two, and test the model of the one node on both."""
    space, (model, precision) = tmp_path_factory.mktemp("nodes"), request.param
    common = [*SHORT, *places(space)]
    trained = [*common, f"model={model}", *trained_as(precision, pieces=2)]
    read = [given for given in common if not given.startswith(OF_TRAINING)]
    tested = [*read, "task=test", f"checkpoint={space}/trained-1"]
    jobs = [
        Job(train, space / "trained-1", [*trained, *devices(1)]),
        # Without the command line, which takes the model of the checkpoint.
        Job(score, space / "tested-1", [*tested, f"model={model}", *devices(1)]),
    ]
    on_ranks(1, run_jobs, jobs)
    for name, given in (("trained-2", trained), ("tested-2", tested)):
        outputs = on_nodes(nodes, *given, *TWO_NODES, f"hydra.run.dir={space}/{name}")
        assert [each.count("test BLEU") for each in outputs] == [1, 0]
        assert (space / name / "run.log").read_text().count("test BLEU") == 1
    return precision, space


@pytest.mark.exhaustive
def test_two_nodes_make_the_updates_of_one(runs):
    precision, space = runs
    alone, shared = (read(space / f"trained-{count}" / "losses.json") for count in (1, 2))
    assert len(alone) >= 50
    assert shared == pytest.approx(alone, rel=TOLERANCE[precision])
    assert read(space / "trained-2" / "result.json")["config"]["trainer"]["num_nodes"] == 2


@pytest.mark.exhaustive
def test_two_nodes_score_a_checkpoint_as_one(runs):
    _, space = runs
    alone, shared = (space / f"tested-{count}" for count in (1, 2))
    name = "predictions.jsonl"
    assert (shared / name).read_bytes() == (alone / name).read_bytes()
    curves = [
        [*csv.DictReader((folder / "bleu_by_length.csv").open(encoding="utf-8"))]
        for folder in (alone, shared)
    ]
    for one, other in zip(*curves, strict=True):
        # Sums over other batches round otherwise, and the file has seven digits.
        losses = [float(row.pop("perplexity") or 0) for row in (one, other)]
        assert losses[0] == pytest.approx(losses[1], rel=2e-6)
        assert one == other
