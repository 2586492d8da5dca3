"""The same systems here and in JoeyNMT: ``python -m tests.tools.benchmarks.parity PYTHON OUT``.

``PYTHON`` is the interpreter of an environment of its own with ``joeynmt`` 2.3 and
``importlib_metadata``. Trainings are kept in ``OUT``: the same command goes on where an earlier one
ended. Writes ``OUT/parity.json`` and prints a line for each system; ``task=evaluate`` draws the
curves of the translations named there.
"""

import argparse
import json
import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from datamodules.files import write_json
from lightning_modules.metrics.chosen_metrics import translation_statistics
from lightning_modules.metrics.metric import ReferenceText
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.metrics.text_metrics import Bleu
from sweeps.claims.intervals import Draws, Spread, difference, score_on
from sweeps.claims.verdict import Margin, Verdict, judge
from tests.tools.benchmarks.parity.systems import RATES, SYSTEMS
from tests.tools.benchmarks.parity.trainings import OURS, THEIRS, Bench, Job, Trained
from tests.tools.benchmarks.workloads import MULTI30K

MARGIN = Margin(1.0, says="no_difference")  # BLEU within which two toolkits count as equal


def tuned(
    bench: Bench, systems: Iterable[str], tokens: int, workers: int
) -> dict[tuple[str, str], float]:
    """Return the rate with the highest validation BLEU, by toolkit and system; seed 0."""
    jobs = [
        Job(toolkit, system, rate, 0, tokens)
        for system in systems
        for toolkit in (OURS, THEIRS)
        for rate in RATES
    ]
    best: dict[tuple[str, str], tuple[float, float]] = {}
    for job, trained in zip(jobs, _all(bench, jobs, workers), strict=True):
        found, key = (trained.validation, job.rate), (job.toolkit, job.system)
        best[key] = max(best.get(key, found), found)
    return {key: rate for key, (_, rate) in best.items()}


def equal(references: list[str], ours: Iterable[Path], theirs: Iterable[Path]) -> Verdict:
    """Return whether two systems are equal within the margin, over seeds and sentences."""
    bleu, draws = Bleu(), Draws(np.arange(len(references)), Resamples(1000, 12345))
    values = []
    for files in (ours, theirs):
        lines = [file.read_text(encoding="utf-8").splitlines() for file in files]
        counts = [translation_statistics([bleu], ReferenceText(references), each) for each in lines]
        values.append(draws.values(score_on(bleu), [each[bleu.statistics] for each in counts]))
    return judge(Spread.of(values), difference(), MARGIN)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("out", type=Path)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--tokens", type=int, default=300_000, help="target tokens of a training")
    parser.add_argument("--tuning-tokens", type=int, default=300_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if shutil.which(options.python) is None:
        parser.error(f"{options.python} is no program; give the Python of JoeyNMT's environment")
    if not MULTI30K.is_dir():
        parser.error(f"{MULTI30K} is missing; put the files of Multi30k there")
    bench = Bench(options.out, options.python)
    rates = tuned(bench, options.systems, options.tuning_tokens, options.workers)
    jobs = [
        Job(toolkit, system, rate, seed, options.tokens)
        for (toolkit, system), rate in rates.items()
        for seed in range(1, options.seeds + 1)
    ]
    done = dict(zip(jobs, _all(bench, jobs, options.workers), strict=True))
    references = list(bench.data.encoded_corpus.text["test"].target)
    rows: dict[str, Any] = {}
    for system in options.systems:
        finished = {
            toolkit: [
                trained
                for job, trained in done.items()
                if (job.toolkit, job.system) == (toolkit, system)
            ]
            for toolkit in (OURS, THEIRS)
        }
        files = {toolkit: [each.test for each in found] for toolkit, found in finished.items()}
        verdict = equal(references, files[OURS], files[THEIRS])
        rows[system] = {
            "rates": {toolkit: rates[toolkit, system] for toolkit in files},
            "nats": {toolkit: [each.nats for each in found] for toolkit, found in finished.items()},
            "files": {toolkit: list(map(str, paths)) for toolkit, paths in files.items()},
            "difference": verdict.effect,
            "interval": verdict.interval,
            "equal": verdict.outcome,
        }
        print(f"{system}: {json.dumps(rows[system])}", flush=True)
    write_json(options.out / "parity.json", rows)


def _all(bench: Bench, jobs: list[Job], workers: int) -> list[Trained]:
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(bench.train, jobs))


if __name__ == "__main__":
    main()
