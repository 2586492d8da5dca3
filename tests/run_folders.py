"""Synthetic run folders: what a run leaves, made without training."""

import json
from pathlib import Path

from lightning_modules.metrics.lengths import BucketScore, format_csv

EDGES = (10, 20, 30, 40, 50, 60)
CURVES = {
    "none": [88.0, 80.1, 61.5, 40.2, 24.7, 12.3],
    "bahdanau": [90.2, 89.0, 86.4, 84.9, 82.0, 74.6],
    "luong": [89.5, 88.8, 85.0, 83.2, 80.4, 70.1],
    "transformer": [91.3, 90.1, 88.8, 85.5, 79.9, 51.0],
}
SOURCE = ["the", "old", "sailor", "saw", "the", "red", "house", "."]
TARGET = ["le", "vieux", "marin", "voyait", "la", "maison", "rouge", "."]


def result(variant="bahdanau", seed=1, **changes):
    """A complete ``result.json``; ``changes`` replace whole top-level entries."""
    return {
        "variant": variant,
        "seed": seed,
        "overrides": [f"model={variant}", f"seed={seed}"],
        "scores": {"bleu": 85.2 + seed / 10, "chrf": 91.0},
        "signature": "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0",
        "length_unit": "source words",
        "train_max_words": 50,
        "parameters": 812_345 + 1_000 * len(variant),
        "training": {
            "target_tokens": 1_500_000,
            "updates": 1200,
            "epochs": 1.3,
            "seconds": 63.2,
            "target_tokens_per_second": 23_000.1,
            "data_order": f"9f3a{seed}",
            "val_bleu": 86.1,
        },
        "decoding": {
            "beam_size": 4,
            "length_penalty": 0.6,
            "seconds": 4.1 + seed,
            "sentences_per_second": 290.2 - seed,
        },
        "data": {
            "name": "grammar",
            "source": "en",
            "target": "fr",
            "fingerprint": "0123456789ab",
            "pairs": {"train": 60_000, "val": 600, "test": 1200},
            "left_out": {"train": {"longer than 50 words": 8123}},
        },
        "environment": {
            "python": "3.11.7",
            "torch": "2.13.0",
            "cpu": "a processor",
            "threads": 1,
            "device": "cpu",
        },
        "peak_memory_mib": 612.5,
        "git_commit": "0123abcd",
        "config": {},
    } | changes


def bucket_scores(variant="bahdanau", seed=1, open_bucket=False):
    """Scores of the default buckets, a little different for each seed."""
    curve = CURVES.get(variant, CURVES["bahdanau"])
    lows = [1, *(edge + 1 for edge in EDGES)]
    scores = [
        BucketScore(low, high, 200 - 10 * i, bleu + seed * 0.5)
        for i, (low, high, bleu) in enumerate(zip(lows, EDGES, curve, strict=False))
    ]
    return [*scores, BucketScore(61, None, 7, 50.0)] if open_bucket else scores


def attention(source=SOURCE, target=TARGET):
    """A roughly diagonal attention over one sentence; each row sums to 1."""
    rows = []
    for j in range(len(target)):
        centre = j * len(source) / len(target)
        raw = [2.0 ** -abs(i - centre) for i in range(len(source))]
        rows.append([value / sum(raw) for value in raw])
    return {"id": "7", "source_words": source, "target_words": target, "weights": rows}


def make_run(
    folder: Path, variant="bahdanau", seed=1, *, words=None, scores=None, aer=None, **changes
):
    """Write a finished run into ``folder`` and return it; ``words`` is (source, target) words."""
    folder.mkdir(parents=True, exist_ok=True)
    source, target = words or (SOURCE, TARGET)
    content = result(variant, seed, **changes)
    content["scores"] |= {} if aer is None else {"aer": aer}
    (folder / "result.json").write_text(json.dumps(content))
    rows = [(variant, seed, score) for score in scores or bucket_scores(variant, seed)]
    (folder / "bleu_by_length.csv").write_text(format_csv(rows))
    kept = None if variant == "none" else [attention(source, target)]
    (folder / "attention.json").write_text(json.dumps(kept))
    prediction = {
        "id": "7",
        "source": " ".join(source),
        "reference": " ".join(target),
        "hypothesis": " ".join(target),
        "score": 100.0,
        "alignment": None,
    }
    (folder / "predictions.jsonl").write_text(json.dumps(prediction) + "\n")
    return folder


def make_failure(folder: Path, variant="luong", seed=1, error="the loss is not a number"):
    """Write a failed job into ``folder`` and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    failure = {
        "variant": variant,
        "seed": seed,
        "overrides": [f"model={variant}", f"seed={seed}"],
        "error": error,
    }
    (folder / "failure.json").write_text(json.dumps(failure))
    return folder
