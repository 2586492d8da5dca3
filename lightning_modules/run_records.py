"""What a run may leave beside its results: weights of single heads, the course of training."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from datamodules.files import write_text
from lightning_modules.run_folder import (
    HEAD_ATTENTION,
    HISTORY,
    BrokenFileError,
    read_arrays,
    write_arrays,
)

HeadWeights = dict[int, NDArray[np.float64]]
"""By the sentence's number: of words, ``(layers, heads, target words, source words)``."""


def write_head_attention(folder: Path, weights: HeadWeights) -> None:
    """Keep the weights, in 16 bits; no file for none."""
    if weights:
        arrays = {str(number): part.astype(np.float16) for number, part in weights.items()}
        write_arrays(folder / HEAD_ATTENTION, arrays)


def read_head_attention(folder: Path) -> HeadWeights:
    """Weights by the sentence's number, empty when not recorded. Raises ``BrokenFileError``."""
    arrays = read_arrays(folder / HEAD_ATTENTION) or {}
    for name, part in arrays.items():
        if not name.isdecimal() or part.ndim != 4:
            raise BrokenFileError(f"{HEAD_ATTENTION} cannot be read: {name} holds no heads")
    return {int(name): part.astype(float) for name, part in arrays.items()}


class HistoryPoint(BaseModel):
    """A row of ``history.csv``: where training stood at a validation."""

    target_tokens: int
    """Real target tokens trained on."""
    seconds: float
    """Spent on them, validation left out."""
    train_loss: float
    """Nats a target token since the validation before."""
    val_loss: float
    """Nats a target token."""
    val_bleu: float


def write_history(folder: Path, points: Sequence[HistoryPoint]) -> None:
    """Keep the course of a training."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(HistoryPoint.model_fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(point.model_dump() for point in points)
    write_text(folder / HISTORY, text.getvalue())


def read_history(folder: Path) -> list[HistoryPoint]:
    """Points in the order of training, none when not recorded. Raises ``BrokenFileError``."""
    path = folder / HISTORY
    if not path.is_file():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [HistoryPoint.model_validate(row) for row in csv.DictReader(file)]
    except (ValueError, csv.Error):  # also text that is not UTF-8, and what is no number
        columns = ",".join(HistoryPoint.model_fields)
        raise BrokenFileError(f"{HISTORY} cannot be read: wanted rows of {columns}") from None
