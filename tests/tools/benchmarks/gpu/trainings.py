"""Trainings that show more than a rate: claims on real text, and systems of published size."""

import csv
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from datamodules.errors import UserError
from lightning_modules.runs.files import read_result
from lightning_modules.runs.provenance import ROOT
from tests.tools.benchmarks.gpu.items import Bench

OUTPUTS = ROOT / "outputs" / "benchmarks" / "gpu" / "runs"
CLAIMS = (
    *("cho2014.falls_with_length", "sutskever2014.reversal", "bahdanau2015.figure2_falls"),
    *("bahdanau2015.figure2_gap", "bahdanau2015.figure2_stays", "bahdanau2015.table1_50"),
)
"""The claims that were re-tested at the tier ``bench`` on a CPU, with three seeds."""
SEEDS, AT_ONCE = 5, 8
LAST = 10.0  # seconds in which what is finished is read
SHOWN = ("claim", "published", "ours", "seeds", "verdict", "corrected")
TRAINED = 60_000_000  # target tokens


def retest_claims(bench: Bench) -> None:
    """Re-test six claims with five seeds, side by side on one GPU; keep BLEU of finished runs.

    Raises ``UserError`` without Multi30k.
    """
    text = bench.data / "multi30k"
    if not (bench.miniature or text.is_dir()):
        raise UserError(f"{text}: no such folder; give DATA=FOLDER that holds multi30k/")
    claims = CLAIMS[-1:] if bench.miniature else CLAIMS
    tier = ["tier=bench", f"roots.multi30k={text}", f"seed_count={SEEDS}", f"workers={AT_ONCE}"]
    if bench.miniature:
        small = ["data.train_size=200", "data.test_size=40", "rungs=[750,1500]"]
        tier = ["tier=laptop", "seed_count=2", "workers=1", "scale=0.1", *small]
    place = OUTPUTS / ("claims_in_miniature" if bench.miniature else "claims")
    ended = _run(
        [f"claims=[{','.join(claims)}]", *tier, f"devices.jobs_per_gpu={AT_ONCE}"], place, bench
    )
    runs = []
    for folder in sorted({file.parent for file in place.glob("**/result.json")}):
        result = read_result(folder)
        if result is not None:
            bleu, speed = result.scores["bleu"], result.training.target_tokens_per_second
            kernels = result.environment.kernels
            system = [result.variant, str(result.seed)]
            runs.append([*system, f"{bleu:.2f}", f"{speed or 0:,.0f}", kernels])
    titles = ["system", "seed", "BLEU", "tokens/s", "kernels"]
    bench.say({"table": "Runs of the claims", "titles": titles, "rows": runs})
    for file in place.glob("**/tables/claims.csv"):
        with file.open(encoding="utf-8", newline="") as lines:
            rows = [[row.get(key, "") for key in SHOWN] for row in csv.DictReader(lines)]
        bench.say({"table": "Claims", "titles": list(SHOWN), "rows": rows})
    if ended:
        raise RuntimeError(ended)


def train_system(model: str, bench: Bench) -> None:
    """Train a published system on the built-in corpus; keep BLEU by length, speed and memory."""
    size = ["data.train_size=200_000", "data.longest=100", "data.train_max_words=100"]
    given = [
        *("tokenizer=bpe", "tokenizer.shared=true", "tokenizer.vocabulary_size=8000"),
        *("batching.max_tokens=25_000", "trainer.precision=bf16-mixed", "decoding.bf16=true"),
        *("scheduler=inverse_sqrt", "scheduler.warmup_updates=400", "scoring.metrics=[bleu]"),
        "scoring.edges=[10,20,30,40,50,60,80]",
        f"budget.target_tokens={TRAINED}",
    ]
    if bench.miniature:
        size = ["data=grammar_tiny"]
        given = ["budget=updates", "budget.updates=4", "scale=0.02", "tokenizer.shared=true"]
    place = OUTPUTS / ("miniature" if bench.miniature else "published")
    folder = place / model
    job = [f"model={model}", *size, *given, "devices.gpus_per_job=0", f"hydra.run.dir={folder}"]
    ended = _run(job, place, bench)
    if ended:
        raise RuntimeError(ended)
    result = read_result(folder)
    assert result is not None
    training = result.training
    with (folder / "bleu_by_length.csv").open(encoding="utf-8", newline="") as lines:
        buckets = list(csv.DictReader(lines))
    rows = [
        ["BLEU", f"{result.scores['bleu']:.2f}"],
        *([f"BLEU from {each['length_low']} words", each["bleu"]] for each in buckets),
        ["target tokens", f"{training.target_tokens or 0:,}"],
        ["tokens/s", f"{training.target_tokens_per_second or 0:,.0f}"],
        ["seconds", f"{training.seconds or 0:,.0f}"],
        ["kernels", result.environment.kernels],
    ]
    titles = ["figure", "value"]
    bench.say({"table": f"`model={model}` on the built-in corpus", "titles": titles, "rows": rows})


def _run(overrides: Sequence[str], place: Path, bench: Bench) -> str | None:
    """Run a command in time; return why it did not end as it should, or None."""
    where = [f"outputs={place}", f"cache_dir={OUTPUTS / 'cache'}", "logger=none"]
    process = subprocess.Popen(
        [sys.executable, "run.py", *overrides, *where], cwd=ROOT, start_new_session=True
    )
    try:
        status = process.wait(max(1.0, bench.seconds - LAST))
    except subprocess.TimeoutExpired:
        return f"out of time after {bench.seconds:.0f} s"
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                os.killpg(process.pid, number)
                try:
                    process.wait(LAST / 2)
                except subprocess.TimeoutExpired:
                    continue
    return None if status == 0 else f"run.py ended with status {status}"
