"""How often intervals and tests are right, over many simulations: a table for the documentation.

``python -m tests.tools.benchmarks.calibration [COUNT]``
"""

import sys
from unittest.mock import patch

import numpy as np

from lightning_modules.metrics import pair_tests
from tests.helpers.simulations import (
    LEVEL,
    equal_pairs,
    families,
    rejected,
    score_coverage,
    slope_coverage,
    trained_families,
    trained_pairs,
    unequal_pairs,
)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    of_bleu, of_ter = score_coverage(count)
    row("95% interval holds the true BLEU", of_bleu)
    row("95% interval holds the true TER", of_ter)
    row("95% interval holds the true slope", slope_coverage(count))
    equal = equal_pairs(count)
    for name in ("p_bootstrap", "p_randomisation", "p_moses"):
        row(f"equal systems differ, one seed, {name}", share(equal, name))
    for name, rate in zip(("bootstrap", "randomisation"), rejected(families(count)), strict=True):
        row(f"a family of 24 equal ones has a difference after Holm, {name}", rate)
    for seeds in (2, 3, 5):
        for deviation in (0.07, 0.3, 1.0):
            pairs = trained_pairs(count, deviation, seeds)
            row(f"equal systems, {seeds} seeds, deviation {deviation}", share(pairs, "p_bootstrap"))
            with patch.object(pair_tests, "degrees_of_freedom", lambda scores, spread: np.inf):
                pairs = trained_pairs(count, deviation, seeds)
            row("the same without Student's t", share(pairs, "p_bootstrap"))
        smallest = trained_families(count // 4, 1.0, seeds)
        row(f"families, {seeds} seeds, deviation 1.0", float(np.mean(np.array(smallest) <= LEVEL)))
    unequal = unequal_pairs(count // 4)
    for name in ("p_bootstrap", "p_randomisation"):
        row(f"a real difference is found, one seed, {name}", share(unequal, name))


def share(tests: list[pair_tests.PairTest], name: str) -> float:
    p_values = [getattr(test, name) for test in tests]
    return float(np.mean([p is not None and p <= LEVEL for p in p_values]))


def row(name: str, value: float) -> None:
    print(f"| {name} | {value:.1%} |", flush=True)


if __name__ == "__main__":
    main()
