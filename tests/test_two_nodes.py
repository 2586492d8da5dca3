"""Training on two nodes: two network namespaces of this machine, which see each other alone."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack

import pytest

from tests.commands import ROOT, TINY, places

ADDRESSES = ("10.97.31.1", "10.97.31.2")


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


@pytest.mark.long
def test_two_nodes_train_one_model(nodes, tmp_path):
    folder = tmp_path / "run"
    trainer = ["trainer=ddp_cpu", "trainer.devices=1", "trainer.num_nodes=2"]
    given = [*trainer, *TINY, "decoding=greedy", "scale=0.25", *places(tmp_path), "logger=none"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
    torchrun.append(f"--master-addr={ADDRESSES[0]}")
    program = ["run.py", *given, f"hydra.run.dir={folder}"]
    running = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, *torchrun, f"--node-rank={number}", *program],
            cwd=ROOT,
            env=os.environ | {"GLOO_SOCKET_IFNAME": "cable", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, name in enumerate(nodes)
    ]
    try:
        said = [node.communicate(timeout=240) for node in running]
    finally:
        for node in running:
            node.kill()
    assert [node.returncode for node in running] == [0, 0], said
    assert [out.count("test BLEU") for out, _ in said] == [1, 0]
    assert (folder / "run.log").read_text().count("test BLEU") == 1
    config = json.loads((folder / "result.json").read_text())["config"]
    assert config["trainer"]["num_nodes"] == 2
