"""What a budget within a longer training is worth, against a training scheduled for that budget.

``python -m tests.tools.benchmarks.rungs`` trains each variant in several ways, tests it at every
budget, and prints BLEU, validation loss and cost with the differences to ``scheduled``. Each budget
is trained from the start here, one job a thread; where the schedule does not end with the budget,
that is to the digit what one training through all budgets has at that budget, and the cost is
counted so. Give further settings at the end, such as ``data=multi30k data.root=DIR``.

The same command, given again, trains only what is missing. ``OUT/rungs.json`` keeps the figures.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from datamodules.files import write_json
from lightning_modules.runs.files import read_result
from lightning_modules.runs.schema import Training
from tests.tools.benchmarks.workloads import machine

ROOT = Path(__file__).resolve().parents[3]
SCHEDULED = "scheduled"
STEADY = ["scheduler=constant", "scheduler.warmup_updates=100"]
WAYS = {SCHEDULED: ["scheduler=linear"], "average": [*STEADY, "callbacks=ema"], "constant": STEADY}
SETTINGS = ["threads=1", "logger=none", "decoding=greedy", "scoring.metrics=[bleu]"]


class Job(NamedTuple):
    """A training to make: its system, seed and budget."""

    way: str
    variant: str
    budget: int  # in target tokens
    seed: int


class Outcome(NamedTuple):
    """Scores and speed of a finished training."""

    bleu: float  # on the test set
    loss: float  # in validation, in nats per target token
    tokens_per_second: float


def run(job: Job, out: Path, further: Sequence[str]) -> Outcome:
    """Train and test, unless a start before has done so. Raises ``RuntimeError``."""
    folder = out / "-".join(map(str, job))
    command = [
        *[sys.executable, "run.py", f"model={job.variant}", f"seed={job.seed}"],
        *[f"budget.target_tokens={job.budget}", *WAYS[job.way], *SETTINGS, *further],
        *[f"cache_dir={out / 'cache'}", f"hydra.run.dir={folder}"],
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    result = read_result(folder) if done.returncode == 0 else None
    if result is None:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    print(f"{folder.name}: BLEU {result.scores['bleu']:.2f}", flush=True)
    training: Training = result.training
    assert training.val_loss is not None
    assert training.target_tokens_per_second is not None
    return Outcome(result.scores["bleu"], training.val_loss, training.target_tokens_per_second)


def tokens_of(way: str, budgets: Sequence[int]) -> int:
    """Return the target tokens to train on in order to test at all budgets."""
    return sum(budgets) if way == SCHEDULED else max(budgets)


def rows(tested: dict[Job, Outcome]) -> list[dict[str, Any]]:
    """Return a row for each variant, budget and way: means over seeds, and pairs by seed."""
    seeds = sorted({job.seed for job in tested})
    found = []
    for variant, budget, way in dict.fromkeys((j.variant, j.budget, j.way) for j in tested):
        own, other = (
            [tested[Job(each, variant, budget, seed)] for seed in seeds]
            for each in (way, SCHEDULED)
        )
        pairs = list(zip(own, other, strict=True))
        found.append(
            {
                "variant": variant,
                "budget": budget,
                "way": way,
                "bleu": mean(each.bleu for each in own),
                "bleu_more": [one.bleu - two.bleu for one, two in pairs],
                "loss": mean(each.loss for each in own),
                "loss_more": [one.loss / two.loss - 1 for one, two in pairs],
                "tokens_per_second": mean(each.tokens_per_second for each in own),
            }
        )
    return found


def show(found: Sequence[dict[str, Any]], budgets: Sequence[int]) -> None:
    """Print all rows, then each way over all variants and budgets with its cost."""
    table = Table(title=f"tested weights at each budget; differences to {SCHEDULED}, by seed")
    for name in ("variant", "budget", "way", "BLEU", "more", "by seed", "val loss", "more"):
        table.add_column(name, justify="left" if name in ("variant", "way") else "right")
    for row in found:
        by_seed = " ".join(f"{each:+.2f}" for each in row["bleu_more"])
        table.add_row(
            *[row["variant"], f"{row['budget']:,}", row["way"], f"{row['bleu']:.2f}"],
            *[f"{mean(row['bleu_more']):+.2f}", by_seed, f"{row['loss']:.3f}"],
            f"{mean(row['loss_more']):+.1%}",
        )
    costs = Table(title="over all variants, budgets and seeds; cost of a variant with one seed")
    for name in ("way", "BLEU more", "least", "most", "val loss more", "tokens", "minutes"):
        costs.add_column(name, justify="left" if name == "way" else "right")
    for way in dict.fromkeys(row["way"] for row in found):
        own = [row for row in found if row["way"] == way]
        bleu = [mean(row["bleu_more"]) for row in own]
        tokens = tokens_of(way, budgets)
        minutes = tokens / mean(row["tokens_per_second"] for row in own) / 60
        costs.add_row(
            *[way, f"{mean(bleu):+.2f}", f"{min(bleu):+.2f}", f"{max(bleu):+.2f}"],
            f"{mean(mean(row['loss_more']) for row in own):+.1%}",
            *[f"{tokens:,.0f}", f"{minutes:.1f}"],
        )
    console = Console(width=110)
    console.print(table)
    console.print(costs)


def main() -> None:
    """Train what is missing, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    variants = ["bahdanau", "luong_global", "transformer", "seq2seq"]
    parser.add_argument("--variants", nargs="+", default=variants)
    parser.add_argument("--budgets", nargs="+", type=int, default=[250_000, 500_000, 1_000_000])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="jobs at a time")
    parser.add_argument("--out", type=Path, default=Path("outputs/benchmarks/rungs"))
    options, further = parser.parse_known_args()
    out = options.out.resolve()
    ways = dict.fromkeys([SCHEDULED, *options.ways])
    jobs = [
        Job(way, variant, budget, seed)
        for budget, variant, seed, way in product(
            sorted(options.budgets, reverse=True), options.variants, options.seeds, ways
        )
    ]
    with ThreadPoolExecutor(options.workers) as pool:
        tested = dict(zip(jobs, pool.map(lambda job: run(job, out, further), jobs), strict=True))
    found = rows(dict(sorted(tested.items(), key=lambda item: item[0][1:3])))
    write_json(out / "rungs.json", {"machine": machine(), "settings": further, "rows": found})
    show(found, options.budgets)


if __name__ == "__main__":
    main()
