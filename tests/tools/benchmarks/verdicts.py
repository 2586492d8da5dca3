"""Time verdicts: ``python -m tests.tools.benchmarks.verdicts [CLAIMS [SENTENCES [RESAMPLES]]]``.

Each claim compares BLEU, or BLEU's slope over six length buckets, of two systems of its own with
five seeds. No value is shared between claims, as if no system were in two of them.
"""

import sys
import time

import numpy as np

from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.lengths import length_buckets
from lightning_modules.metrics.resampling import Resamples
from sweeps.claims.intervals import Draws, Quantity, Spread, difference, score_on, slope_over
from sweeps.claims.verdict import Margin, judge

SEEDS = 5
EDGES = (10, 20, 30, 40, 50)


def made_counts(lengths: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """BLEU's counts of translations as long as their references, ``(sentences, 10)``."""
    total = np.maximum(lengths[:, None] - np.arange(4), 0)
    correct = rng.binomial(total, 0.7 ** np.arange(1, 5))
    return np.concatenate([lengths[:, None], lengths[:, None], correct, total], 1).astype(float)


def main() -> None:
    """Measure and print."""
    claims, sentences, resamples = [
        *map(int, sys.argv[1:]),
        *(50, 3000, 10_000)[len(sys.argv) - 1 :],
    ]
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 60, sentences)
    quantities: list[Quantity] = [
        score_on(METRICS["bleu"]),
        slope_over(METRICS["bleu"], length_buckets(lengths, EDGES)),
    ]
    systems = [[made_counts(lengths, rng) for _ in range(SEEDS)] for _ in range(2 * claims)]
    start, busy = time.perf_counter(), time.process_time()
    draws = Draws(np.arange(sentences), Resamples(resamples, 0))
    for number in range(claims):
        quantity = quantities[number % 2]
        pair = systems[2 * number : 2 * number + 2]
        spread = Spread.of([draws.values(quantity, seeds) for seeds in pair])
        judge(spread, difference(), Margin(1.0))
    wall, cpu = time.perf_counter() - start, time.process_time() - busy
    print(f"{claims} claims: {wall:.1f} s, of all processors {cpu:.1f} s")


if __name__ == "__main__":
    main()
