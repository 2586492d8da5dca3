"""What ``make quickstart`` must show, checked on the newest comparison: run after it.

Without attention, BLEU starts at 60 or more and loses 50 or more by the longest bucket that
training reached; with attention, no such bucket falls below 80; all within equal conditions.
"""

import json
import sys
from pathlib import Path


def broken_claims(comparison: dict) -> list[str]:
    """Return a line for each claim that does not hold."""
    broken = [f"{c['name']}: {c['text']}" for c in comparison["conditions"] if not c["holds"]]
    broken += [f"{job['label']} failed: {job['error']}" for job in comparison["failed"]]
    for variant in comparison["variants"]:
        limit = variant["runs"][0]["train_max_words"]
        inside = [
            bucket["bleu"]["mean"]
            for bucket in variant["bleu_by_length"]
            if bucket["length_high"] is not None and bucket["length_high"] <= limit
        ]
        told = f"{variant['label']}: " + " ".join(f"{bleu:.1f}" for bleu in inside)
        if variant["label"] == "seq2seq":
            if inside[0] < 60 or inside[0] - inside[-1] < 50:
                broken.append(told)
        elif min(inside) < 80:
            broken.append(told)
    if len(comparison["variants"]) != 5:
        broken.append(f"{len(comparison['variants'])} variants, not 5")
    return broken


if __name__ == "__main__":
    newest = max(Path("outputs/comparisons").glob("*-quickstart/comparison.json"))
    found = broken_claims(json.loads(newest.read_text(encoding="utf-8")))
    sys.exit("\n".join(found) or None)
