"""Whether a killed training ends the same: ``python -m tests.benchmarks.kills [COUNT]``.

One command runs to its end. The same command is then killed (``kill -9``) after a random time
of training, and started again, until COUNT kills have happened and the command ends by itself.
Weights, history, data order and scores of both must be the same to the last bit.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

import torch

from tests.helpers.commands import ROOT

ARGUMENTS = [
    "scale=0.25", "model.dropout=0.2", "teacher_forcing=scheduled", "logger=none", "threads=1",
    "data.train_size=2000", "data.val_size=40", "data.test_size=24", "val_sentences=20",
    "batching.max_tokens=600", "trainer.val_check_interval=60", "budget.target_tokens=150000",
    "callbacks.resume_checkpoint.minutes=0.01", "scoring.metrics=[bleu]", "scoring.resamples=100",
]  # fmt: skip
LONGEST = 6.0
"""Seconds between the first sign of training and a kill."""


def start(space: Path, name: str) -> "subprocess.Popen[bytes]":
    """Start the command in a folder ``name``."""
    folders = [f"hydra.run.dir={space / name}", f"cache_dir={space}/cache", f"outputs={space}"]
    command = [sys.executable, "run.py", *ARGUMENTS, *folders]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)


def killed(space: Path, name: str, seconds: float) -> bool:
    """Kill the command ``seconds`` after training began; return False if it ended before."""
    folder = space / name / "checkpoints"
    before = changed(folder)
    process = start(space, name)
    while process.poll() is None and changed(folder) == before:
        time.sleep(0.005)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def changed(folder: Path) -> list[tuple[str, int]]:
    """Return names and inodes of the checkpoints, which change when a process trains."""
    if not folder.is_dir():
        return []
    return sorted((entry.name, entry.inode()) for entry in os.scandir(folder))


def course(folder: Path) -> dict[str, str]:
    """Return the values that two equal trainings share."""
    weights = {}
    for name in ("last", "best"):
        content = torch.load(folder / "checkpoints" / f"{name}.ckpt", weights_only=True)
        state = content["state_dict"]
        weight_bytes = b"".join(state[key].numpy().tobytes() for key in sorted(state))
        weights[name] = sha256(weight_bytes).hexdigest()[:16]
    rows = [line.split(",") for line in (folder / "history.csv").read_text().splitlines()]
    history = "\n".join(",".join([row[0], *row[2:]]) for row in rows)
    result = json.loads((folder / "result.json").read_text())
    return {
        **weights,
        "history": sha256(history.encode()).hexdigest()[:16],
        "data order": result["training"]["data_order"],
        "updates": result["training"]["updates"],
        "scores": json.dumps(result["scores"]),
        "predictions": sha256((folder / "predictions.jsonl").read_bytes()).hexdigest()[:16],
    }


def main(count: int) -> None:
    """Print both courses; end with status 1 where they differ."""
    space = Path(mkdtemp(prefix="kills-"))
    assert start(space, "whole").wait() == 0
    draw, done, trainings = random.Random(1), 0, 1
    while done < count:
        if (space / f"cut{trainings}" / "result.json").is_file():
            trainings += 1
        done += killed(space, f"cut{trainings}", draw.uniform(0, LONGEST))
    assert start(space, f"cut{trainings}").wait() == 0
    whole = course(space / "whole")
    print(f"killed {done} times over {trainings} trainings")
    print(json.dumps(whole, indent=2))
    for number in range(1, trainings + 1):
        cut = course(space / f"cut{number}")
        if cut != whole:
            sys.exit(f"differs: {json.dumps(cut, indent=2)}")
    print("all the same")
    shutil.rmtree(space)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
