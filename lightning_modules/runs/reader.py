"""Reading the files of a run folder, tolerant of what is missing."""

import csv
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf
from pydantic import BaseModel, ValidationError
from yaml import YAMLError

from datamodules.errors import UserError
from lightning_modules.metrics.statistics import Statistics
from lightning_modules.runs import schema

Model = TypeVar("Model", bound=BaseModel)


class BrokenFileError(UserError):
    """A damaged file of a run."""


def find_runs(folder: Path) -> list[Path]:
    """Return ``folder`` itself if it is a run, else the runs directly inside it by job number.

    A run is a folder with ``.hydra/``, a result or a failure; a comparison is not a run.
    """
    if _is_run(folder):
        return [folder]
    if not folder.is_dir():
        return []
    return sorted(filter(_is_run, folder.iterdir()), key=_job_order)


def _is_run(folder: Path) -> bool:
    if (folder / schema.RESULT).is_file() or (folder / schema.FAILURE).is_file():
        return True
    return (folder / ".hydra").is_dir() and not (folder / schema.COMPARISON).is_file()


def _job_order(folder: Path) -> tuple[bool, int, str]:
    numbered = folder.name.isdecimal()
    return (not numbered, int(folder.name) if numbered else 0, folder.name)


def read_result(folder: Path) -> schema.Result | None:
    """Return the result of a finished run, else None. Raises ``BrokenFileError``."""
    path = folder / schema.RESULT
    return _validated(schema.Result, _json(path), path) if path.is_file() else None


def read_failure(folder: Path) -> schema.Failure:
    """Return why a run has no result; "left no result" without a ``failure.json``.

    Raises ``BrokenFileError``.
    """
    path = folder / schema.FAILURE
    if path.is_file():
        return _validated(schema.Failure, _json(path), path)
    overrides = folder / ".hydra" / "overrides.yaml"
    try:
        listed = list(OmegaConf.load(overrides)) if overrides.is_file() else []
    except (OSError, ValueError, YAMLError) as error:
        why = str(error).splitlines()[0]
        raise BrokenFileError(f"{overrides.name} cannot be read: {why}") from error
    return schema.Failure(error="left no result", overrides=[str(override) for override in listed])


def read_predictions(folder: Path) -> list[schema.Prediction]:
    """Return all predictions in file order; none without a file. Raises ``BrokenFileError``."""
    path = folder / schema.PREDICTIONS
    if not path.is_file():
        return []
    lines = _text(path).split("\n")
    return [_validated(schema.Prediction, _parsed(line, path), path) for line in lines if line]


def read_word_counts(folder: Path) -> schema.WordCounts | None:
    """Return how often training had each word; None without a file. Raises ``BrokenFileError``."""
    path = folder / schema.WORD_COUNTS
    return _validated(schema.WordCounts, _json(path), path) if path.is_file() else None


def read_statistics(folder: Path, sentences: int) -> Statistics | None:
    """Return the statistics of each sentence; None without a file. Raises ``BrokenFileError``."""
    path = folder / schema.STATISTICS
    statistics = read_arrays(path)
    for name, array in (statistics or {}).items():
        if array.ndim != 2 or len(array) != sentences:
            raise BrokenFileError(f"{path.name} cannot be read: {name} is of other sentences")
    return statistics


def read_attention(
    folder: Path, predictions: Iterable[schema.Prediction]
) -> dict[int, schema.SentenceAttention] | None:
    """Return the attention of predictions by their numbers, empty for a model without attention.

    None without a file. Raises ``BrokenFileError``.
    """
    arrays = read_arrays(folder / schema.ATTENTION)
    if arrays is None:
        return None
    shapes, weights = arrays["shapes"], arrays["weights"]
    ends = np.cumsum(shapes[:, 0] * shapes[:, 1], dtype=np.int64)
    return {
        prediction.id: schema.SentenceAttention(
            id=prediction.id,
            source_words=prediction.source.split(),
            target_words=prediction.hypothesis.split(),
            weights=part.reshape(shape).astype(float).round(4).tolist(),
        )
        for prediction in predictions
        if prediction.id < len(shapes)
        for shape in [shapes[prediction.id]]
        for part in [weights[ends[prediction.id] - shape[0] * shape[1] : ends[prediction.id]]]
    }


def read_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """Return arrays by name; None without the file. Raises ``BrokenFileError``."""
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, EOFError, ValueError, BadZipFile, zlib.error) as error:
        raise BrokenFileError(f"{path.name} cannot be read: {error}") from error


def read_head_attention(folder: Path) -> schema.HeadWeights:
    """Return weights by sentence number, empty without a file. Raises ``BrokenFileError``."""
    arrays = read_arrays(folder / schema.HEAD_ATTENTION) or {}
    for name, part in arrays.items():
        if not name.isdecimal() or part.ndim != 4:
            raise BrokenFileError(f"{schema.HEAD_ATTENTION} cannot be read: {name} holds no heads")
    return {int(name): part.astype(float) for name, part in arrays.items()}


def read_history(folder: Path) -> list[schema.HistoryPoint]:
    """Return the validations of a training in order; none without a file.

    Raises ``BrokenFileError``.
    """
    path = folder / schema.HISTORY
    if not path.is_file():
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [schema.HistoryPoint.model_validate(row) for row in csv.DictReader(file)]
    except (ValueError, csv.Error):  # also for text that is not UTF-8 or not a number
        columns = ",".join(schema.HistoryPoint.model_fields)
        raise BrokenFileError(
            f"{schema.HISTORY} cannot be read: wanted rows of {columns}"
        ) from None


def _json(path: Path) -> Any:
    return _parsed(_text(path), path)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BrokenFileError(f"{path.name} cannot be read: {error}") from error


def _parsed(text: str, path: Path) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BrokenFileError(f"{path.name} cannot be read: {error}") from error


def _validated(model: type[Model], value: Any, path: Path) -> Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BrokenFileError(f"{path.name} cannot be read: {where}: {first['msg']}") from error
