"""Where attention starts and how large its steps are: BLEU, when learning begins, and the spread.

``python -m tests.tools.benchmarks.starts --root MULTI30K --jobs 2``: trainings of all systems,
corpora and seeds, ``--jobs`` side by side with a thread each. A finished training is taken as it
is. Prints a line for each training, and writes a table for each corpus to ``starts.md``.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pytorch_lightning as pl
from tabulate import tabulate

from datamodules.files import write_text
from lightning_modules.attention import Attention
from lightning_modules.kernels.products import LinearLayer
from lightning_modules.runs.files import read_history, read_run
from lightning_modules.runs.paths import RESULT
from tests.helpers.commands import ROOT

RANDOM = "model.attention.start=random"
SLOW = "+model.attention.score_rate=0.1"
TANH = "model.attention.activation=tanh"
OLD_HEADS = "+callbacks.start={_target_: tests.tools.benchmarks.starts.TorchStart}"
SYSTEMS: dict[str, list[str]] = {
    "global dot": ["model=luong_global"],
    "global general, random": ["model=luong_general", RANDOM],
    "global general, simple": ["model=luong_general"],
    "local-m general, random": ["model=luong_local", RANDOM],
    "local-m general, simple": ["model=luong_local"],
    "local-p general, random": ["model=luong_predictive", RANDOM],
    "local-p general, simple": ["model=luong_predictive"],
    "heads, torch's start": ["model=luong_multi_head", OLD_HEADS],
    "heads, Glorot's start": ["model=luong_multi_head"],
    "additive": ["model=bahdanau"],
    "additive, score_rate 0.1": ["model=bahdanau", SLOW],
    "concat": ["model=luong_concat"],
    "concat, score_rate 0.1": ["model=luong_concat", SLOW],
    "linear (tanh)": ["model=luong_linear", TANH],
    "linear (tanh), score_rate 0.1": ["model=luong_linear", TANH, SLOW],
    "location": ["model=luong_location"],
    "location, score_rate 0.1": ["model=luong_location", SLOW],
}
CORPORA: dict[str, list[str]] = {
    "grammar": [
        *("tier=laptop", "data.target=de", "budget.target_tokens=200_000", "budget.rungs=[]"),
        "trainer.val_check_interval=40",
    ],
    "multi30k": [
        *("data=multi30k", "tokenizer=bpe", "decoding=greedy", "scoring.metrics=[bleu]"),
        *("scoring.edges=[10,15,20,30]", "budget.target_tokens=300_000"),
        "trainer.val_check_interval=100",
    ],
}
TRAINING = ["logger=none", "threads=1"]
BEGUN = 10.0
"""Validation BLEU of a system that has begun to learn where words go."""


class TorchStart(pl.Callback):
    """Draw the projections of the heads as torch draws linear layers."""

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        for part in pl_module.modules():
            if isinstance(part, Attention):
                for layer in part.children():
                    if isinstance(layer, LinearLayer):
                        layer.reset_parameters()


class Job(NamedTuple):
    corpus: str
    system: str
    seed: int


class Outcome(NamedTuple):
    bleu: float  # on the test set
    begun: int | None  # target tokens at the first validation BLEU above `BEGUN`
    spreads: tuple[float, float]  # of attention, before the first update and at the end


def train(job: Job, folder: Path, further: Sequence[str]) -> Outcome:
    """Train, unless the job has finished. Raises ``RuntimeError`` with the end of a failure."""
    name = "".join(letter if letter.isalnum() else "_" for letter in job.system)
    run = folder / job.corpus / f"{name}-{job.seed}"
    if not (run / RESULT).is_file():
        settings = [*CORPORA[job.corpus], *SYSTEMS[job.system], *TRAINING, *further]
        places = [f"seed={job.seed}", f"hydra.run.dir={run}", f"cache_dir={folder}/cache"]
        command = [sys.executable, str(ROOT / "run.py"), *settings, *places]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    outcome = outcome_of(run)
    print(*job, *outcome, sep="  ", flush=True)
    return outcome


def outcome_of(run: Path) -> Outcome:
    scores, history = read_run(run), read_history(run)
    assert scores is not None
    result = scores.result
    begun = next((point.target_tokens for point in history if point.val_bleu > BEGUN), None)
    start, end = result.training.start_spread, history[-1].attention_spread
    assert start is not None
    assert end is not None
    return Outcome(result.scores["bleu"], begun, (start, end))


def table(corpus: str, outcomes: Mapping[Job, Outcome], seeds: Sequence[int]) -> str:
    """Return a table in Markdown, with a row for each system."""
    rows = []
    for system in SYSTEMS:
        jobs = (Job(corpus, system, seed) for seed in seeds)
        of_system = [outcomes[job] for job in jobs if job in outcomes]
        if not of_system:
            continue
        begun = ["never" if one.begun is None else f"{one.begun // 1000}k" for one in of_system]
        spreads = (
            f"{mean(each):.2f}" for each in zip(*(one.spreads for one in of_system), strict=True)
        )
        scores = [one.bleu for one in of_system]
        listed = ", ".join(f"{score:.1f}" for score in scores)
        rows.append([system, listed, f"{mean(scores):.1f}", ", ".join(begun), *spreads])
    heads = ["system", f"test BLEU of seeds {', '.join(map(str, seeds))}", "mean"]
    heads += [f"tokens until validation BLEU > {BEGUN:.0f}", "spread at the start", "at the end"]
    return tabulate(rows, heads, "pipe", disable_numparse=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", help="folder of Multi30k; without it, the built-in corpus alone")
    parser.add_argument("--systems", nargs="+", default=[""], help="parts of names; all without")
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA), choices=list(CORPORA))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("outputs/benchmarks/starts"))
    parser.add_argument("overrides", nargs="*", help="further overrides of every training")
    options = parser.parse_args()
    folder = options.folder.resolve()
    corpora = [name for name in options.corpora if options.root or name != "multi30k"]
    systems = [name for name in SYSTEMS if any(part in name for part in options.systems)]
    # The first seed of every system comes first.
    jobs = [
        Job(corpus, system, seed)
        for seed, corpus, system in product(options.seeds, corpora, systems)
    ]
    roots = {"multi30k": [f"data.root={options.root}"]}
    with ThreadPoolExecutor(options.jobs) as pool:
        further = ([*roots.get(job.corpus, []), *options.overrides] for job in jobs)
        outcomes = dict(
            zip(jobs, pool.map(train, jobs, [folder] * len(jobs), further), strict=True)
        )
    tables = (f"{name}\n\n{table(name, outcomes, options.seeds)}\n" for name in corpora)
    write_text(folder / "starts.md", "\n".join(tables))


if __name__ == "__main__":
    main()
