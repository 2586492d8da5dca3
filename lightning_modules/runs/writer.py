"""Writing the files of a run folder, each whole or not at all."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from datamodules.files import whole_file, write_json, write_text
from lightning_modules.metrics.statistics import Statistics
from lightning_modules.runs import schema


class RunFiles(NamedTuple):
    """Files of a run besides ``result.json``."""

    predictions: Sequence[Mapping[str, Any]]
    """Lines of ``predictions.jsonl``."""
    statistics: Statistics
    attention: Sequence[NDArray[np.floating] | None]
    """Word weights through the search, ``(target words, source words)``."""
    heads: schema.HeadWeights
    word_counts: Mapping[str, Mapping[str, int]]
    curve: str
    """``bleu_by_length.csv``."""


def write_run(folder: Path, result: schema.Result, files: RunFiles) -> None:
    """Write the files of a run; ``result.json`` comes last, since it marks a finished run."""
    lines = (json.dumps(prediction, ensure_ascii=False) for prediction in files.predictions)
    write_text(folder / schema.PREDICTIONS, "".join(line + "\n" for line in lines))
    write_statistics(folder, files.statistics)
    write_attention(folder, files.attention)
    write_head_attention(folder, files.heads)
    write_json(folder / schema.WORD_COUNTS, files.word_counts)
    write_text(folder / schema.CURVE, files.curve)
    write_json(folder / schema.RESULT, result.model_dump(mode="json"))


def clear_results(folder: Path, names: Sequence[str] = schema.RUN_FILES) -> None:
    """Remove the files of an earlier run in the folder, which would be taken for new results."""
    for name in names:
        (folder / name).unlink(missing_ok=True)


def write_statistics(folder: Path, statistics: Statistics) -> None:
    """Write the sufficient statistics of each test sentence."""
    write_arrays(folder / schema.STATISTICS, statistics)


def write_attention(folder: Path, weights: Sequence[NDArray[np.floating] | None]) -> None:
    """Write the word weights of every test sentence, ``(target words, source words)``, in 16 bits.

    A model without attention has None for every sentence.
    """
    known = [part for part in weights if part is not None]
    arrays = {
        "shapes": np.array([part.shape for part in known], np.int32).reshape(-1, 2),
        "weights": np.concatenate([np.zeros(0), *(part.ravel() for part in known)]),
    }
    write_arrays(
        folder / schema.ATTENTION, arrays | {"weights": arrays["weights"].astype(np.float16)}
    )


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name into one compressed file, whole or not at all."""
    with whole_file(path) as temporary:
        np.savez_compressed(temporary, allow_pickle=False, **arrays)


def write_head_attention(folder: Path, weights: schema.HeadWeights) -> None:
    """Write the weights of single heads in 16 bits; no file without weights."""
    if weights:
        arrays = {str(number): part.astype(np.float16) for number, part in weights.items()}
        write_arrays(folder / schema.HEAD_ATTENTION, arrays)


def write_history(folder: Path, points: Sequence[schema.HistoryPoint]) -> None:
    """Write a row for each validation of a training."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(schema.HistoryPoint.model_fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(point.model_dump() for point in points)
    write_text(folder / schema.HISTORY, text.getvalue())
