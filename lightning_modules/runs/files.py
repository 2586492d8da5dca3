"""The one way from and to the files of a run folder; each is written whole or not at all."""

import csv
import io
import json
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf
from pydantic import BaseModel, ValidationError
from yaml import YAMLError

from datamodules.files import json_text, whole_file, write_json, write_text
from lightning_modules.metrics.contrast_choices import PairChoices
from lightning_modules.metrics.curves import CurvePoint, format_csv
from lightning_modules.metrics.metric import Statistics
from lightning_modules.runs import paths, schema
from lightning_modules.runs.checksums import (
    BrokenFileError,
    check_file,
    digests_of,
    is_there,
    write_sealed,
)

Model = TypeVar("Model", bound=BaseModel)


@dataclass
class RunScores:
    """What the test of a run finds out; ``read_run`` leaves curve and weights empty."""

    result: schema.Result
    predictions: Sequence[schema.Prediction]
    statistics: Statistics
    word_counts: schema.WordCounts | None = None
    choices: PairChoices | None = None  # choices between contrastive pairs; None without such pairs
    curve: Sequence[CurvePoint] = ()  # scores by length
    attention: Sequence[NDArray[np.floating] | None] = ()
    """Word weights of the search, ``(target words, source words)``; None without attention."""
    heads: schema.HeadWeights = field(default_factory=dict)
    """Word weights of single heads for a few sentences."""


def write_run(folder: Path, run: RunScores) -> None:
    """Write the files of a run; ``result.json`` comes last, since it marks a finished run."""
    write_predictions(folder, run.predictions)
    write_arrays(folder / paths.STATISTICS, run.statistics)
    write_attention(folder, run.attention)
    write_head_attention(folder, run.heads)
    if run.word_counts is not None:
        write_record(folder / paths.WORD_COUNTS, run.word_counts)
    if run.choices is not None:
        write_arrays(folder / paths.CONTRAST, run.choices._asdict())
    write_text(folder / paths.CURVE, format_csv(run.curve, run.result.draws))
    _write_sealed(folder, run.result.model_copy(update={"files": digests_of(folder)}))


def read_run(folder: Path) -> RunScores | None:
    """Return a finished run; None for another folder, and where a later job has failed.

    Raises ``BrokenFileError``, and ``MissingFileError`` if a file is gone that the test wrote,
    whether it is read now or later.
    """
    result = read_result(folder)
    if result is None or (folder / paths.FAILURE).is_file():
        return None
    trained = (paths.HISTORY, paths.LEARNING_CURVE, paths.ATTENTION_HISTORY)
    for name in (*paths.TEST_FILES, *trained):
        is_there(folder / name)
    predictions = read_predictions(folder)
    if not predictions:
        raise BrokenFileError(f"{folder / paths.PREDICTIONS} is missing or has no rows")
    statistics = read_arrays(folder / paths.STATISTICS) or {}
    for name, array in statistics.items():
        if array.ndim != 2 or len(array) != len(predictions):
            raise BrokenFileError(
                f"{folder / paths.STATISTICS} cannot be read: {name} is of other sentences"
            )
    counts = folder / paths.WORD_COUNTS
    word_counts = read_record(schema.WordCounts, counts) if is_there(counts) else None
    return RunScores(result, predictions, statistics, word_counts, _choices(folder))


def _choices(folder: Path) -> PairChoices | None:
    arrays = read_arrays(folder / paths.CONTRAST)
    if arrays is None:
        return None
    shapes = {array.shape for array in arrays.values()}
    if set(arrays) != set(PairChoices._fields) or len(shapes) != 1 or arrays["source"].ndim != 1:
        wanted = ", ".join(PairChoices._fields)
        raise BrokenFileError(
            f"{folder / paths.CONTRAST} cannot be read: wanted equal columns of {wanted}"
        )
    return PairChoices(**arrays)


def read_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """Return arrays by name; None without the file. Raises as ``read_run`` does."""
    if not is_there(path):
        return None
    with _reading(path), np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Check the digest of a file; raise ``BrokenFileError`` for it, or for content of another form.

    A missing file stays a ``FileNotFoundError``.
    """
    check_file(path)
    try:
        yield
    except FileNotFoundError:
        raise
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BrokenFileError(f"{path} cannot be read: {where}: {first['msg']}") from error
    except (OSError, EOFError, ValueError, BadZipFile, zlib.error, csv.Error, YAMLError) as error:
        why = [*str(error).splitlines(), type(error).__name__][0]
        raise BrokenFileError(f"{path} cannot be read: {why}") from error


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
    if (folder / paths.RESULT).is_file() or (folder / paths.FAILURE).is_file():
        return True
    return (folder / paths.HYDRA).is_dir() and not (folder / paths.COMPARISON).is_file()


def _job_order(folder: Path) -> tuple[bool, int, str]:
    numbered = folder.name.isdecimal()
    return (not numbered, int(folder.name) if numbered else 0, folder.name)


def read_result(folder: Path) -> schema.Result | None:
    """Return the result of a finished run, else None. Raises ``BrokenFileError``."""
    path = folder / paths.RESULT
    return read_record(schema.Result, path) if path.is_file() else None


def read_failure(folder: Path) -> schema.Failure:
    """Return why a run has no result; "left no result" without a ``failure.json``.

    Raises ``BrokenFileError``.
    """
    path = folder / paths.FAILURE
    if path.is_file():
        return read_record(schema.Failure, path)
    overrides = folder / paths.HYDRA / "overrides.yaml"
    with _reading(overrides):
        written = OmegaConf.load(overrides) if overrides.is_file() else OmegaConf.create([])
        listed: Any = OmegaConf.to_container(written)
    return schema.Failure(error="left no result", overrides=[str(override) for override in listed])


def read_predictions(folder: Path) -> list[schema.Prediction]:
    """Return all predictions in file order; none without a file. Raises as ``read_run`` does."""
    path = folder / paths.PREDICTIONS
    if not is_there(path):
        return []
    with _reading(path):
        lines = path.read_text(encoding="utf-8").split("\n")
        return [schema.Prediction.model_validate(json.loads(line)) for line in lines if line]


def read_attention(
    folder: Path, predictions: Iterable[schema.Prediction]
) -> dict[int, schema.SentenceAttention] | None:
    """Return the attention of predictions by their numbers, empty for a model without attention.

    None without a file. Raises as ``read_run`` does.
    """
    arrays = read_arrays(folder / paths.ATTENTION)
    if arrays is None:
        return None
    shapes, weights = (arrays.get(name, np.zeros(0)) for name in (schema.SHAPES, schema.WEIGHTS))
    if shapes.ndim != 2 or shapes.shape[1] != 2 or weights.shape != (shapes.prod(1).sum(),):
        raise BrokenFileError(
            f"{folder / paths.ATTENTION} cannot be read: its shapes fit no weights"
        )
    parts = np.split(weights, np.cumsum(shapes.prod(1, dtype=np.int64))[:-1])
    return {
        each.id: schema.SentenceAttention.of(each, parts[each.id].reshape(shapes[each.id]))
        for each in predictions
        if each.id < len(shapes)
    }


def read_head_attention(folder: Path) -> schema.HeadWeights:
    """Return weights by sentence number, empty without a file. Raises as ``read_run`` does."""
    arrays = read_arrays(folder / paths.HEAD_ATTENTION) or {}
    for name, part in arrays.items():
        if not name.isdecimal() or part.ndim != 4:
            raise BrokenFileError(
                f"{folder / paths.HEAD_ATTENTION} cannot be read: {name} holds no heads"
            )
    return {int(name): part.astype(float) for name, part in arrays.items()}


def read_attention_history(folder: Path) -> schema.AttentionHistory | None:
    """Return the attention over a training; None without a file. Raises as ``read_run`` does."""
    path = folder / paths.ATTENTION_HISTORY
    arrays = read_arrays(path)
    if arrays is None:
        return None
    try:
        validations = arrays[schema.VALIDATIONS].tolist()
        sentences = [
            _sentence_history(
                int(number), arrays[name], arrays[f"{number}_text"], arrays[f"{number}_gold"]
            )
            for name in arrays
            if (number := name.removesuffix(f"_{schema.WEIGHTS}")) != name
        ]
        if any(each.weights.shape[:1] != (len(validations),) for each in sentences):
            raise ValueError("its weights are of other validations")
    except (KeyError, ValueError) as error:
        raise BrokenFileError(f"{path} cannot be read: {error}") from error
    return schema.AttentionHistory(validations, sentences)


def _sentence_history(
    number: int, weights: NDArray[Any], text: NDArray[Any], gold: NDArray[Any]
) -> schema.SentenceHistory:
    source, target = text.tolist()
    if weights.ndim != 3:
        raise ValueError(f"sentence {number} has no weights of target and source words")
    return schema.SentenceHistory(number, source, target, [*map(tuple, gold.tolist())], weights)


def read_curve(folder: Path) -> str:
    """Return the text of ``bleu_by_length.csv``. Raises as ``read_run`` does."""
    path = folder / paths.CURVE
    with _reading(path):
        return path.read_text(encoding="utf-8")


def read_history(folder: Path) -> list[schema.HistoryPoint]:
    """Return the validations of a training in order; none without a file.

    Raises as ``read_run`` does.
    """
    return _read_rows(schema.HistoryPoint, folder / paths.HISTORY)


def read_learning_curve(folder: Path) -> list[schema.LossPoint]:
    """Return the points of a learning curve in order; none without a file.

    Raises as ``read_run`` does.
    """
    return _read_rows(schema.LossPoint, folder / paths.LEARNING_CURVE)


def _read_rows(model: type[Model], path: Path) -> list[Model]:
    """Return the rows of a CSV file; an empty cell is None."""
    if not is_there(path):
        return []
    with _reading(path), path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return [model.model_validate({key: row[key] or None for key in row}) for row in rows]


def read_state(folder: Path) -> schema.JobState | None:
    """Return the progress of a job; None without a readable file."""
    try:
        return read_record(schema.JobState, folder / paths.PROGRESS)
    except (OSError, BrokenFileError):
        return None


def read_tracker_id(folder: Path) -> str | None:
    """Return the id of the W&B run; None without a file."""
    path = folder / paths.TRACKER_ID
    if not path.is_file():
        return None
    with _reading(path):
        return path.read_text(encoding="utf-8").strip()


def read_report_url(folder: Path) -> str | None:
    """Return the address of a comparison's W&B report; None where no server has it."""
    try:
        return json.loads((folder / paths.TRACKER_REPORT).read_text(encoding="utf-8")).get("url")
    except (OSError, ValueError, AttributeError):
        return None


def read_record(model: type[Model], path: Path) -> Model:
    """Return the content of a JSON file.

    Raises ``BrokenFileError`` for a damaged file or one of another version, ``FileNotFoundError``.
    """
    with _reading(path):
        content = json.loads(path.read_text(encoding="utf-8"))
        version = content.pop(schema.VERSION_KEY, None) if isinstance(content, dict) else None
        if isinstance(content, dict) and version != schema.SCHEMA:
            raise BrokenFileError(
                f"{path} was written by another version of the harness (schema {version}, "
                f"here {schema.SCHEMA}): make the run again, or read it with that version"
            )
        return model.model_validate(content)


def remove_earlier(folder: Path, names: Sequence[str] = paths.RUN_FILES) -> None:
    """Remove what an earlier run left in the folder, which would be taken for new results."""
    for path in (folder / name for name in names):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _write_sealed(folder: Path, result: schema.Result) -> None:
    write_sealed(folder / paths.RESULT, json_text(_with_version(result)))


def write_predictions(folder: Path, predictions: Iterable[schema.Prediction]) -> None:
    """Write a line of JSON for each test sentence."""
    lines = (json.dumps(each.model_dump(mode="json"), ensure_ascii=False) for each in predictions)
    write_text(folder / paths.PREDICTIONS, "".join(line + "\n" for line in lines))


def write_attention(folder: Path, weights: Sequence[NDArray[np.floating] | None]) -> None:
    """Write the word weights of every test sentence, ``(target words, source words)``, in 16 bits.

    A model without attention has None for every sentence.
    """
    known = [part for part in weights if part is not None]
    shapes = np.array([part.shape for part in known], np.int32).reshape(-1, 2)
    values = np.concatenate([np.zeros(0), *(part.ravel() for part in known)]).astype(np.float16)
    write_arrays(folder / paths.ATTENTION, {schema.SHAPES: shapes, schema.WEIGHTS: values})


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name into one compressed file, whole or not at all."""
    with whole_file(path) as temporary:
        np.savez_compressed(temporary, allow_pickle=False, **arrays)


def write_head_attention(folder: Path, weights: schema.HeadWeights) -> None:
    """Write the weights of single heads in 16 bits; no file without weights."""
    if weights:
        arrays = {str(number): part.astype(np.float16) for number, part in weights.items()}
        write_arrays(folder / paths.HEAD_ATTENTION, arrays)


def write_attention_history(folder: Path, history: schema.AttentionHistory) -> None:
    """Write the attention over a training, in 16 bits."""
    arrays: dict[str, NDArray[Any]] = {schema.VALIDATIONS: np.array(history.validations, np.int32)}
    for each in history.sentences:
        arrays[f"{each.id}_{schema.WEIGHTS}"] = each.weights.astype(np.float16)
        arrays[f"{each.id}_text"] = np.array([each.source, each.target])
        arrays[f"{each.id}_gold"] = np.array(each.gold, np.int32).reshape(-1, 2)
    write_arrays(folder / paths.ATTENTION_HISTORY, arrays)


def write_history(folder: Path, points: Sequence[schema.HistoryPoint]) -> None:
    """Write a row for each validation of a training."""
    _write_rows(schema.HistoryPoint, folder / paths.HISTORY, points)


def write_learning_curve(folder: Path, points: Sequence[schema.LossPoint]) -> None:
    """Write a row for each point of a learning curve."""
    _write_rows(schema.LossPoint, folder / paths.LEARNING_CURVE, points)


def _write_rows(model: type[BaseModel], path: Path, points: Sequence[BaseModel]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(model.model_fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(point.model_dump() for point in points)
    write_text(path, text.getvalue())


def write_tracker_id(folder: Path, number: str) -> None:
    """Write the id of the W&B run."""
    write_text(folder / paths.TRACKER_ID, f"{number}\n")


def write_record(path: Path, record: BaseModel) -> None:
    """Write the content of a JSON file with the version of the schema.

    Raises ``ValueError`` for NaN or infinity.
    """
    write_json(path, _with_version(record))


def _with_version(record: BaseModel) -> dict[str, Any]:
    return {schema.VERSION_KEY: schema.SCHEMA, **record.model_dump(mode="json")}
