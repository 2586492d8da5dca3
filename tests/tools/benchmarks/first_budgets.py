"""Where a doubling of the training gains little on a corpus: points of ``budgets.FIRST_BUDGETS``.

    python -m tests.tools.benchmarks.first_budgets --outputs DIR data=text data.root=DIR ...

Trains each model with ``budget=plateau`` on the corpus that the overrides name, several at a time,
and prints a Markdown table: the target tokens at which a doubling first took less than each share
off the validation loss, beyond its standard error. The same command continues what was interrupted.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

from lightning_modules.runs.files import read_learning_curve, read_result
from lightning_modules.runs.schema import LossPoint

ROOT = Path(__file__).parents[3]
SHARES = (0.2, 0.1, 0.05, 0.02)


def flat_at(points: Sequence[LossPoint], share: float) -> int | None:
    """Return the target tokens at which a doubling first took less than a share off the loss."""
    for point in points:
        if point.fall is not None and point.fall + (point.fall_error or 0) < share:
            return point.target_tokens
    return None


def train(folder: Path, model: str, seed: int, overrides: Sequence[str]) -> Path:
    """Train one model to its plateau in a folder. Raises ``CalledProcessError``."""
    given = [f"model={model}", f"seed={seed}", f"hydra.run.dir={folder}", "budget=plateau"]
    given += [f"budget.plateau={SHARES[-1]}", "threads=1", "decoding=greedy", "logger=none"]
    subprocess.run([sys.executable, "run.py", *given, *overrides], cwd=ROOT, check=True)
    return folder


def row(folder: Path, model: str, seed: int) -> list[str]:
    """Return the cells of a training."""
    result, points = read_result(folder), read_learning_curve(folder)
    assert result is not None
    at = [flat_at(points, share) for share in SHARES]
    found = ["not reached" if tokens is None else f"{tokens:,}" for tokens in at]
    spent, score = result.training.target_tokens or 0, result.scores["bleu"]
    pairs = f"{result.data.pairs['train']:,}"
    return [model, str(seed), pairs, *found, f"{spent:,}", f"{points[-1].val_loss:.3f}",
            f"{score:.1f}"]  # fmt: skip


def main() -> None:
    """Train, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--outputs", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--models", default="bahdanau,transformer")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time, a thread each")
    options, overrides = parser.parse_known_args()
    wanted = list(product(options.models.split(","), map(int, options.seeds.split(","))))
    folders = [options.outputs.absolute() / f"{model}-{seed}" for model, seed in wanted]
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = [
            pool.submit(train, folder, model, seed, overrides)
            for folder, (model, seed) in zip(folders, wanted, strict=True)
        ]
        for job in jobs:
            job.result()
    shares = [f"below {share:.0%}" for share in SHARES]
    titles = ["model", "seed", "pairs", *shares, "target tokens", "validation loss", "test BLEU"]
    rows = [row(folder, model, seed) for folder, (model, seed) in zip(folders, wanted, strict=True)]
    for cells in (titles, ["---"] * len(titles), *rows):
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
