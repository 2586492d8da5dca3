"""What budgets are worth to each system, and how its attention starts: for ``findings/starts.md``.

``python -m tests.tools.benchmarks.starts --outputs DIR --jobs 2`` trains every system of
``comparison=family``, and the same with other starts, on each corpus and seed: one training through
all budgets, with one thread, ``--jobs`` side by side. A finished training is taken as it is, so a
list of systems, seeds or corpora can be trained part by part. ``--data FOLDER`` has the folders
``multi30k`` and ``canlaw_en_fr``; without it, the built-in corpus alone is trained on.

``--write`` puts the finished trainings into ``docs/findings``: every number in ``starts.csv``,
beside those that are there, and a table for each corpus on the page.
"""

import argparse
import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from itertools import chain, product
from pathlib import Path
from statistics import mean, stdev

import pytorch_lightning as pl

from datamodules.files import write_text
from lightning_modules.attention import Attention
from lightning_modules.kernels.products import LinearLayer
from lightning_modules.runs.files import find_runs, read_history, read_result
from lightning_modules.runs.schema import Record
from tests.helpers.commands import ROOT
from tests.tools.findings import FINDINGS, edition_at, fill_pages

RANDOM = "model.attention.start=random"
SLOW = "+model.attention.score_rate=0.1"
TANH = "model.attention.activation=tanh"
OLD_HEADS = "+callbacks.start={_target_: tests.tools.benchmarks.starts.TorchStart}"
SYSTEMS: dict[str, list[str]] = {
    "no attention": ["model=seq2seq"],
    "no attention, reversed": ["model=seq2seq_reversed"],
    "additive (Bahdanau)": ["model=bahdanau"],
    "additive, score_rate 0.1": ["model=bahdanau", SLOW],
    "global dot": ["model=luong_global"],
    "global general": ["model=luong_general"],
    "global general, random": ["model=luong_general", RANDOM],
    "global concat": ["model=luong_concat"],
    "global concat, score_rate 0.1": ["model=luong_concat", SLOW],
    "global location": ["model=luong_location"],
    "global location, score_rate 0.1": ["model=luong_location", SLOW],
    "global scaled dot": ["model=luong_scaled_dot"],
    "global cosine": ["model=luong_cosine"],
    "global linear": ["model=luong_linear"],
    "global linear (tanh)": ["model=luong_linear", TANH],
    "global linear (tanh), score_rate 0.1": ["model=luong_linear", TANH, SLOW],
    "global heads": ["model=luong_multi_head"],
    "global heads, torch's start": ["model=luong_multi_head", OLD_HEADS],
    "local-m general": ["model=luong_local"],
    "local-m general, random": ["model=luong_local", RANDOM],
    "local-p general": ["model=luong_predictive"],
    "local-p general, random": ["model=luong_predictive", RANDOM],
    "Transformer": ["model=transformer"],
}
STEADY = ["scheduler=constant", "scheduler.warmup_updates=100", "callbacks=ema"]
TEXT = [*STEADY, "decoding=greedy", "scoring.metrics=[bleu]", "tokenizer=bpe"]
LAW = [
    *("data=text", "data.name=canlaw", "data.source=en", "data.target=fr", *TEXT),
    *("budget.target_tokens=4_000_000", "budget.rungs=[500_000,1_000_000,2_000_000]"),
]
CORPORA: dict[str, list[str]] = {
    "grammar": [
        *("tier=laptop", "budget.target_tokens=1_600_000", "trainer.val_check_interval=100"),
        "budget.rungs=[200_000,400_000,800_000]",
    ],
    "multi30k": [
        *("data=multi30k", *TEXT, "scoring.edges=[10,15,20,30]", "trainer.val_check_interval=100"),
        *("budget.target_tokens=600_000", "budget.rungs=[150_000,300_000]"),
    ],
    "canlaw": [*LAW, "data.limit=30_000"],
    "canlaw_all": LAW,
}
FOLDERS = {"multi30k": "multi30k", "canlaw": "canlaw_en_fr", "canlaw_all": "canlaw_en_fr"}
"""Corpora of text, and their folders in that of ``--data``."""
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


class Point(Record):
    """A training at one of its budgets: a row of ``starts.csv``."""

    corpus: str
    system: str
    seed: int
    budget: int  # in target tokens
    bleu: float  # on the test set
    val_loss: float | None  # of the tested weights, in nats per target token
    aer: float | None  # alignment error rate of attention, in per cent, where the truth is known
    begun: int | None  # target tokens at the first validation BLEU above `BEGUN`
    start_spread: float | None  # of attention before the first update; None without attention
    spread: float | None  # and at the budget
    commit: str

    @property
    def place(self) -> tuple[int, int, int, int]:
        """Place in the file: no two points have the same."""
        corpus, system = [*CORPORA].index(self.corpus), [*SYSTEMS].index(self.system)
        return corpus, system, self.seed, self.budget


def folder_of(outputs: Path, corpus: str, system: str, seed: int) -> Path:
    """Return the folder in which a training makes its ``outputs``."""
    name = "".join(letter if letter.isalnum() else "_" for letter in system)
    return outputs / corpus / f"{name}-{seed}"


def train(outputs: Path, corpus: str, system: str, seed: int, data: Path | None) -> None:
    """Train through all budgets, unless that is done. Raises ``RuntimeError`` with the failure."""
    folder = folder_of(outputs, corpus, system, seed)
    folder.mkdir(parents=True, exist_ok=True)
    place = [f"data.root={data / FOLDERS[corpus]}"] if data and corpus in FOLDERS else []
    settings = [*CORPORA[corpus], *SYSTEMS[system], *place, "threads=1", "logger=none"]
    settings += [f"seed={seed}", f"cache_dir={outputs / 'cache'}"]
    command = [sys.executable, str(ROOT / "run.py"), *settings]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    for point in points_of(outputs, corpus, system, seed):
        print(corpus, system, seed, point.budget, f"{point.bleu:.1f}", sep="  ", flush=True)


def points_of(outputs: Path, corpus: str, system: str, seed: int) -> list[Point]:
    """Return a training at its budgets, the smallest first; none if it has not been trained."""
    points = []
    for run in find_runs(folder_of(outputs, corpus, system, seed) / "outputs" / "runs"):
        result, history = read_result(run), read_history(run)
        if result is None:  # not finished
            continue
        point = Point(
            corpus=corpus,
            system=system,
            seed=seed,
            budget=result.config["budget"]["target_tokens"],
            bleu=result.scores["bleu"],
            val_loss=result.training.val_loss,
            aer=result.scores.get("aer"),
            begun=next((each.target_tokens for each in history if each.val_bleu > BEGUN), None),
            start_spread=result.training.start_spread,
            spread=history[-1].attention_spread,
            commit=str(result.git_commit)[:8],
        )
        points.append(point)
    return sorted(points, key=lambda point: point.budget)


def read_points(file: Path) -> list[Point]:
    """Return the rows of ``starts.csv``; none without the file."""
    if not file.is_file():
        return []
    with file.open(newline="", encoding="utf-8") as rows:
        read = csv.DictReader(rows)
        return [Point.model_validate({name: row[name] or None for name in row}) for row in read]


def write_points(file: Path, points: Iterable[Point]) -> None:
    """Write ``starts.csv``; four digits are enough for the tables."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(Point.model_fields), lineterminator="\n")
    writer.writeheader()
    for point in points:
        cells = point.model_dump().items()
        rounded = {name: f"{cell:.4g}" for name, cell in cells if isinstance(cell, float)}
        writer.writerow(point.model_dump() | rounded)
    write_text(file, text.getvalue())


def tables(points: Sequence[Point]) -> dict[str, list[list[str]]]:
    """Return the table of each corpus."""
    of_corpus = {name: [one for one in points if one.corpus == name] for name in CORPORA}
    return {name: table(chosen) for name, chosen in of_corpus.items() if chosen}


def table(points: Sequence[Point]) -> list[list[str]]:
    """Return the table of a corpus, the header first: a row for each system, over all its seeds.

    A corpus without gold links has no alignment errors.
    """
    budgets = sorted({point.budget for point in points})
    heads = [f"{budget / 1e6:.3g} M" for budget in budgets]
    rows = [["system", "seeds", *heads, "fall of the loss", "begins at", "spread", "AER"]]
    for system in SYSTEMS:
        at = [[one for one in points if (one.system, one.budget) == (system, b)] for b in budgets]
        if not at[-1]:  # no seed has come so far
            continue
        seeds = {point.seed for point in at[-1]}
        at = [[point for point in each if point.seed in seeds] for each in at]
        before, last = (mean(float(point.val_loss or 0) for point in each) for each in at[-2:])
        final = mean(point.bleu for point in at[-1])
        fall = f"{1 - last / before:.0%}"
        scores = [bleu_cell([point.bleu for point in each], final) for each in at]
        errors = [point.aer for point in at[-1] if point.aer is not None]
        aer = f"{mean(errors):.0f}%" if errors else "–"
        ends = [fall, begun_cell(at[-1]), spread_cell(at[-1]), aer]
        cells = (cell.replace(" ", "\N{NO-BREAK SPACE}") for cell in (*scores, *ends))
        rows.append([system, str(len(seeds)), *cells])
    known = any(point.aer is not None for point in points)
    return rows if known else [row[:-1] for row in rows]


def bleu_cell(scores: Sequence[float], final: float) -> str:
    """Return the mean, the standard deviation over seeds, and the share of the final mean."""
    deviation = f" ± {stdev(scores):.1f}" if len(scores) > 1 else ""
    return f"{mean(scores):.1f}{deviation} ({mean(scores) / final:.0%})"


def begun_cell(points: Sequence[Point]) -> str:
    """Return the range of target tokens in thousands, and how many trainings never began."""
    tokens = sorted(point.begun // 1000 for point in points if point.begun is not None)
    ends = [f"{end}" for end in dict.fromkeys((*tokens[:1], *tokens[-1:]))]
    never = len(points) - len(tokens)
    found = [f"{'–'.join(ends)} k"] if ends else []
    if not tokens:
        return "never"
    return ", ".join([*found, *([f"{never} never"] if never else [])])


def spread_cell(points: Sequence[Point]) -> str:
    """Return the mean spread of attention before the first update and at the end."""
    ends = [(one.start_spread, one.spread) for one in points]
    known = [(start, end) for start, end in ends if start is not None and end is not None]
    if not known:
        return "–"
    start, end = (mean(side) for side in zip(*known, strict=True))
    return f"{start:.2f} → {end:.2f}"


def write_findings(new: Iterable[Point], day: str) -> None:
    """Put points in the place of those of the same training, and write tables and page anew."""
    file = FINDINGS / "starts.csv"
    points = {point.place: point for point in (*read_points(file), *new)}
    write_points(file, [points[place] for place in sorted(points)])
    commits = sorted({point.commit for point in points.values()})
    content = {
        "commit": " and ".join(commits),
        "edition": edition_at(commits[0]),
        "date": day,
        "tables": tables(read_points(file)),
    }
    text = json.dumps(content, ensure_ascii=False, indent=1)
    write_text(FINDINGS / "results" / "starts.json", text + "\n")
    fill_pages()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=Path, default=Path("outputs/benchmarks/starts"))
    parser.add_argument("--data", type=Path, help="folder of the corpora of text")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA), choices=list(CORPORA))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="into docs/findings; trains nothing")
    options = parser.parse_args()
    outputs, data = options.outputs.absolute(), options.data and options.data.absolute()
    corpora = [name for name in options.corpora if data or name not in FOLDERS]
    jobs = list(product(options.seeds, corpora, options.systems))  # first one seed of all
    if options.write:
        found = (points_of(outputs, corpus, system, seed) for seed, corpus, system in jobs)
        write_findings(chain.from_iterable(found), date.today().isoformat())
        return
    with ThreadPoolExecutor(options.jobs) as pool:
        started = [
            pool.submit(train, outputs, corpus, system, seed, data) for seed, corpus, system in jobs
        ]
        for job in started:
            job.result()


if __name__ == "__main__":
    main()
