"""What ``make quickstart`` must show, checked on the newest comparison: run after it.

Without attention, BLEU starts at 60 or more and loses 50 or more by the longest bucket that
training reached; with attention, no such bucket falls below 80; all within equal conditions.
"""

import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean

from lightning_modules.runs.reader import read_curve
from sweeps.comparison.record import read_comparison


def broken_claims(folder: Path) -> list[str]:
    """Return a line for each claim that does not hold."""
    comparison = read_comparison(folder)
    broken = [f"{each.name}: {each.text}" for each in comparison.conditions if not each.holds]
    broken += [f"{job.label} failed: {job.error}" for job in comparison.failed]
    limits = {
        run.label: run.train_max_words for run in comparison.runs if run.train_max_words is not None
    }
    curves = _curves(folder)
    for label, limit in limits.items():
        inside = [bleu for high, bleu in curves[label].items() if high <= limit]
        curve = f"{label}: " + " ".join(f"{bleu:.1f}" for bleu in inside)
        if label == "seq2seq":
            if inside[0] < 60 or inside[0] - inside[-1] < 50:
                broken.append(curve)
        elif min(inside) < 80:
            broken.append(curve)
    if len(limits) != 5:
        broken.append(f"{len(limits)} variants, not 5")
    return broken


def _curves(folder: Path) -> dict[str, dict[int, float]]:
    """Mean BLEU over seeds, by variant and upper bound of the bucket, shortest first."""
    scores: defaultdict[str, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for point, *_ in read_curve(folder):
        if point.bounds.high is not None and point.bleu is not None:
            scores[point.variant][point.bounds.high].append(point.bleu)
    return {
        variant: {high: mean(by_seed) for high, by_seed in sorted(curve.items())}
        for variant, curve in scores.items()
    }


if __name__ == "__main__":
    finished = Path("outputs/comparisons").glob("quickstart-*/comparison.json")
    newest = max(finished, key=lambda file: file.stat().st_mtime)
    sys.exit("\n".join(broken_claims(newest.parent)) or None)
