"""What a finished run says of itself in the terminal."""

from collections.abc import Sequence
from pathlib import Path

from lightning_modules.metrics.lengths import BucketScore
from lightning_modules.run_folder import Result


def summary(result: Result, buckets: Sequence[BucketScore], folder: Path) -> str:
    """Return a few lines: scores by length, size, speed, and where the rest lies."""
    training, decoding = result.training, result.decoding
    columns = [("length", "BLEU", "sentences")] + [
        (bucket.label, "-" if bucket.bleu is None else f"{bucket.bleu:.1f}", str(bucket.sentences))
        for bucket in buckets
    ]
    rows = [
        "  " + " ".join(f"{column[row]:>9}" for column in columns) for row in range(len(columns[0]))
    ]
    lines = [
        f"{result.variant} seed {result.seed}: test BLEU {result.scores.bleu:.2f}, "
        f"chrF {result.scores.chrf:.2f} ({result.signature})",
        *([] if result.scores.aer is None else [f"alignment error {result.scores.aer:.1%}"]),
        f"by length in {result.length_unit}:",
        *rows,
        f"{result.parameters:,} parameters; {training.target_tokens or 0:,} target tokens in "
        f"{training.seconds or 0:.0f} s, {training.target_tokens_per_second or 0:,.0f} a second; "
        f"test set translated in {decoding['seconds']:.1f} s",
    ]
    left_out = [
        f"{count:,} {split} pairs {reason}"
        for split, counts in result.data.left_out.items()
        for reason, count in counts.items()
    ]
    if left_out:
        lines.append(f"left out: {', '.join(left_out)}")
    lines.append(f"everything is in {folder}")
    return "\n".join(lines)
