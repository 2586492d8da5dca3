"""Writing the files of a run folder, each whole or not at all."""

import csv
import io
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from datamodules.files import json_text, whole_file, write_json, write_text
from lightning_modules.metrics.contrast import Choices
from lightning_modules.metrics.curves import CurvePoint, format_csv
from lightning_modules.metrics.metric import Statistics
from lightning_modules.metrics.uncertainty.resampling import Resamples
from lightning_modules.runs import schema
from lightning_modules.runs.checksums import digests_of, write_sealed


class RunFiles(NamedTuple):
    """Files of a run besides ``result.json``."""

    predictions: Sequence[schema.Prediction]
    statistics: Statistics
    attention: Sequence[NDArray[np.floating] | None]
    """Word weights through the search, ``(target words, source words)``."""
    heads: schema.HeadWeights
    word_counts: schema.WordCounts
    curve: Sequence[CurvePoint]
    resamples: Resamples
    """Number and seed of the resamples for the intervals of ``curve``."""
    choices: Choices | None = None
    """Choices between contrastive pairs; None without such pairs."""


def write_run(folder: Path, result: schema.Result, files: RunFiles) -> None:
    """Write the files of a run; ``result.json`` comes last, since it marks a finished run."""
    write_predictions(folder, files.predictions)
    write_statistics(folder, files.statistics)
    write_attention(folder, files.attention)
    write_head_attention(folder, files.heads)
    write_word_counts(folder, files.word_counts)
    write_curve(folder, files.curve, files.resamples)
    if files.choices is not None:
        write_choices(folder, files.choices)
    write_result(folder, result)


def clear_results(folder: Path, names: Sequence[str] = schema.RUN_FILES) -> None:
    """Remove what an earlier run left in the folder, which would be taken for new results."""
    for path in (folder / name for name in names):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def write_result(folder: Path, result: schema.Result) -> None:
    """Write the result, which marks a finished run, with the digests of all files of the run."""
    _write_sealed(folder, result.model_copy(update={"files": digests_of(folder)}))


def renew_hydra_digests(folder: Path, result: schema.Result) -> None:
    """Write the digests of ``.hydra/`` anew: Hydra writes it at the start of every command."""
    hydra = {name: digits for name, digits in digests_of(folder).items() if name[0] == "."}
    if result.files and not hydra.items() <= result.files.items():
        _write_sealed(folder, result.model_copy(update={"files": result.files | hydra}))


def _write_sealed(folder: Path, result: schema.Result) -> None:
    write_sealed(folder / schema.RESULT, json_text(_with_version(result)))


def write_failure(folder: Path, failure: schema.Failure) -> None:
    """Write why a job has no result."""
    write_record(folder / schema.FAILURE, failure)


def write_predictions(folder: Path, predictions: Iterable[schema.Prediction]) -> None:
    """Write a line of JSON for each test sentence."""
    lines = (json.dumps(each.model_dump(mode="json"), ensure_ascii=False) for each in predictions)
    write_text(folder / schema.PREDICTIONS, "".join(line + "\n" for line in lines))


def write_word_counts(folder: Path, counts: schema.WordCounts) -> None:
    """Write how often training had each word."""
    write_record(folder / schema.WORD_COUNTS, counts)


def write_statistics(folder: Path, statistics: Statistics) -> None:
    """Write the sufficient statistics of each test sentence."""
    write_arrays(folder / schema.STATISTICS, statistics)


def write_attention(folder: Path, weights: Sequence[NDArray[np.floating] | None]) -> None:
    """Write the word weights of every test sentence, ``(target words, source words)``, in 16 bits.

    A model without attention has None for every sentence.
    """
    known = [part for part in weights if part is not None]
    shapes = np.array([part.shape for part in known], np.int32).reshape(-1, 2)
    values = np.concatenate([np.zeros(0), *(part.ravel() for part in known)]).astype(np.float16)
    write_arrays(folder / schema.ATTENTION, {schema.SHAPES: shapes, schema.WEIGHTS: values})


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name into one compressed file, whole or not at all."""
    with whole_file(path) as temporary:
        np.savez_compressed(temporary, allow_pickle=False, **arrays)


def write_head_attention(folder: Path, weights: schema.HeadWeights) -> None:
    """Write the weights of single heads in 16 bits; no file without weights."""
    if weights:
        arrays = {str(number): part.astype(np.float16) for number, part in weights.items()}
        write_arrays(folder / schema.HEAD_ATTENTION, arrays)


def write_curve(folder: Path, points: Sequence[CurvePoint], resamples: Resamples) -> None:
    """Write the scores by length of a run or comparison."""
    write_text(folder / schema.CURVE, format_csv(points, resamples))


def write_choices(folder: Path, choices: Choices) -> None:
    """Write the losses of a model on contrastive pairs."""
    write_arrays(folder / schema.CONTRAST, choices._asdict())


def write_history(folder: Path, points: Sequence[schema.HistoryPoint]) -> None:
    """Write a row for each validation of a training."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(schema.HistoryPoint.model_fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(point.model_dump() for point in points)
    write_text(folder / schema.HISTORY, text.getvalue())


def write_state(folder: Path, state: schema.JobState) -> None:
    """Write the progress of a job."""
    write_record(folder / schema.PROGRESS, state)


def write_tracker_id(folder: Path, number: str) -> None:
    """Write the id of the W&B run."""
    write_text(folder / schema.TRACKER_ID, f"{number}\n")


def write_record(path: Path, record: BaseModel) -> None:
    """Write the content of a JSON file with the version of the schema.

    Raises ``ValueError`` for NaN or infinity.
    """
    write_json(path, _with_version(record))


def _with_version(record: BaseModel) -> dict[str, Any]:
    return {schema.VERSION_KEY: schema.SCHEMA, **record.model_dump(mode="json")}
