"""What ``make quickstart`` must show, checked on the newest comparison: run after it.

Inside the training lengths, the model without attention loses at least half of its BLEU from the
first bucket to the last. Bahdanau's model loses at most a tenth, and stands at least 30 BLEU above
there, with intervals apart. The phrase table has at most 50 BLEU. All within equal conditions, on
at least 3,000 test sentences.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sweeps.comparison.record import ComparisonRecord, read_comparison

VARIANTS = {"seq2seq", "bahdanau", "luong_global", "luong_local", "transformer"}
LEAST_LEAD = 30.0
MOST_PHRASE_TABLE = 50.0
LEAST_SENTENCES = 3_000

Cell = dict[str, float]
"""Mean ``value`` over seeds, with the bounds ``low`` and ``high`` of its interval."""


def broken_claims(folder: Path) -> list[str]:
    """Return a line for each claim that does not hold."""
    comparison = read_comparison(folder)
    broken = [f"{each.name}: {each.text}" for each in comparison.conditions if not each.holds]
    broken += [f"{job.label} failed: {job.error}" for job in comparison.failed]
    labels = {run.label for run in comparison.runs}
    if labels != VARIANTS:
        return [*broken, f"the variants are {', '.join(sorted(labels))}"]
    return broken + list(_broken_curves(comparison, folder))


def _broken_curves(comparison: ComparisonRecord, folder: Path) -> Iterator[str]:
    by_length, scores = _rows(folder, "bleu_by_length"), _rows(folder, "scores")
    first, last = _ends(by_length["seq2seq"], comparison.runs[0].train_max_words)
    plain = by_length["seq2seq"][first], by_length["seq2seq"][last]
    attentive = by_length["bahdanau"][first], by_length["bahdanau"][last]
    curves = f"seq2seq {_said(plain)}, bahdanau {_said(attentive)}"
    if plain[1]["value"] > plain[0]["value"] / 2:
        yield f"the model without attention loses less than half: {curves}"
    if attentive[1]["value"] < 0.9 * attentive[0]["value"]:
        yield f"Bahdanau's model loses more than a tenth: {curves}"
    if attentive[1]["value"] < plain[1]["value"] + LEAST_LEAD:
        yield f"Bahdanau's model leads by less than {LEAST_LEAD:.0f} BLEU: {curves}"
    if attentive[1]["low"] <= plain[1]["high"]:
        yield f"the intervals overlap: {curves}"
    table = scores["phrase table"]["bleu"]["value"]
    if table > MOST_PHRASE_TABLE:
        yield f"the phrase table has {table:.1f} BLEU"
    sentences = comparison.runs[0].data.pairs["test"]
    if sentences < LEAST_SENTENCES:
        yield f"{sentences} test sentences are fewer than {LEAST_SENTENCES}"


def _rows(folder: Path, table: str) -> dict[str, dict[str, Any]]:
    rows = json.loads((folder / f"tables/{table}.json").read_text(encoding="utf-8"))["rows"]
    return {row["system"]: row for row in rows}


def _ends(row: dict[str, Any], limit: int | None) -> tuple[str, str]:
    """Return the first bucket, and the last one whose lengths training reached."""
    buckets = [name for name in row if "–" in name]
    inside = [name for name in buckets if limit is None or int(name.split("–")[1]) <= limit]
    return inside[0], inside[-1]


def _said(ends: tuple[Cell, Cell]) -> str:
    return " to ".join(f"{end['value']:.1f} [{end['low']:.1f}, {end['high']:.1f}]" for end in ends)


if __name__ == "__main__":
    finished = Path("outputs/comparisons").glob("quickstart-*/comparison.json")
    newest = max(finished, key=lambda file: file.stat().st_mtime)
    sys.exit("\n".join(broken_claims(newest.parent)) or None)
