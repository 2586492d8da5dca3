"""Reading what one training run left in its folder, tolerant of what is missing."""

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator
from yaml import YAMLError

from datamodules.errors import UserError
from datamodules.files import whole_file
from lightning_modules.metrics.statistics import Statistics

RESULT = "result.json"
FAILURE = "failure.json"
CURVE = "bleu_by_length.csv"
STATISTICS = "statistics.npz"
ATTENTION = "attention.npz"
HEAD_ATTENTION = "head_attention.npz"
PREDICTIONS = "predictions.jsonl"
WORD_COUNTS = "word_counts.json"
HISTORY = "history.csv"
COMPARISON = "comparison.json"
TRACKER_ID = "wandb_id"
"""File with the id of the W&B run, which a resumed training goes on with."""
OF_THE_TEST = (
    *(RESULT, FAILURE, CURVE, STATISTICS, ATTENTION, HEAD_ATTENTION, PREDICTIONS, WORD_COUNTS),
)
OF_THE_TRAINING = (HISTORY, TRACKER_ID)
"""What a training that goes on needs, beside its checkpoints."""
FILES = (*OF_THE_TEST, *OF_THE_TRAINING)
"""What a run leaves, beside its checkpoints."""

Model = TypeVar("Model", bound=BaseModel)


class Training(BaseModel):
    """What the training budget bought."""

    target_tokens: int | None = None
    updates: int | None = None
    epochs: float | None = None
    flops: float | None = None
    """Of the products of matrices, forward and backward, padding left out."""
    seconds: float | None = None
    target_tokens_per_second: float | None = None
    data_order: str | None = None
    data_order_at: dict[int, str] = {}
    """The same after 1, 2, 4, 8, … updates."""
    val_bleu: float | None = None
    """Best BLEU in validation, which chose the weights that were tested."""


class Data(BaseModel):
    """The corpus a run was trained and tested on."""

    name: str = "unknown"
    source: str = "?"
    target: str = "?"
    fingerprint: str | None = None
    pairs: dict[str, int] = {}
    left_out: dict[str, dict[str, int]] = {}


class Environment(BaseModel):
    """Where a run was trained; further fields are kept."""

    model_config = ConfigDict(extra="allow")

    device: str | None = None


class Coverage(BaseModel):
    """How much of a vocabulary a file of word vectors has."""

    file: str
    covered: int
    """Tokens."""
    missing: int
    """Tokens that started at random."""
    fingerprint: str | None = None
    """Of the file's content."""


class Result(BaseModel):
    """``result.json``: only the variant, the seed and the test BLEU must be there."""

    variant: str
    seed: int
    scores: dict[str, float]
    """On the whole test set, by the names of ``metrics.statistics.METRICS``."""
    intervals: dict[str, tuple[float, float]] = {}
    """95% bootstrap intervals over test sentences."""
    overrides: list[str] = []
    signature: str | None = None
    train_max_words: int | None = None
    parameters: int | None = None
    vectors: dict[str, Coverage] = {}
    """Pretrained embeddings by side, ``source`` and ``target``."""
    training: Training = Training()
    decoding: dict[str, Any] = {}
    data: Data = Data()
    environment: Environment = Environment()
    peak_memory_mib: float | None = None
    """Most memory that its process has held; jobs of a comparison share processes."""
    git_commit: str | None = None
    code: str | None = None
    """``provenance.code_of``."""
    config: dict[str, Any] = {}

    @property
    def attention_step(self) -> str:
        """The step whose attention aligned the references."""
        return str((self.config.get("scoring") or {}).get("attention_step", "predicted"))

    @field_validator("scores", mode="before")
    @classmethod
    def _known(cls, scores: Any) -> Any:
        """Drop what an earlier version wrote as null. Raises ``ValueError`` without BLEU."""
        if not isinstance(scores, dict):
            return scores
        known = {name: score for name, score in scores.items() if score is not None}
        if "bleu" not in known:
            raise ValueError("bleu is missing")
        return known


class Failure(BaseModel):
    """``failure.json``: a job that ended with an error."""

    variant: str | None = None
    seed: int | None = None
    overrides: list[str] = []
    error: str = "failed without a message"


class SentenceAttention(BaseModel):
    """Word-level attention of one test sentence: weights (target words, source words)."""

    id: int
    source_words: list[str]
    target_words: list[str]
    weights: list[list[float]]


class Prediction(BaseModel):
    """One line of ``predictions.jsonl``."""

    id: int
    source: str
    reference: str
    hypothesis: str
    gold: str | None = None
    """Word alignment of source and reference, in Pharaoh format."""
    reference_nats: list[float] | None = None
    """Negative log-likelihood of each whitespace-separated word of the reference."""


class WordCounts(BaseModel):
    """``word_counts.json``: how often training had the words of the test set and its outputs."""

    source: dict[str, int]
    """Whitespace-separated words."""
    target: dict[str, int]
    """Tokens of references and translations, as BLEU cuts them."""
    reference: dict[str, int] = {}
    """Whitespace-separated words of the references."""


class BrokenFileError(UserError):
    """A file of a run that is not what it should be."""


def clear_results(folder: Path, names: Sequence[str] = FILES) -> None:
    """Remove what an earlier run left in the same folder: results belong to the run that ends."""
    for name in names:
        (folder / name).unlink(missing_ok=True)


def find_runs(folder: Path) -> list[Path]:
    """``folder`` itself when it is a run, else the runs directly inside it by job number.

    A run is a folder with ``.hydra/``, a result or a failure; a comparison is none.
    """
    if _is_run(folder):
        return [folder]
    if not folder.is_dir():
        return []
    return sorted(filter(_is_run, folder.iterdir()), key=_job_order)


def _is_run(folder: Path) -> bool:
    if (folder / RESULT).is_file() or (folder / FAILURE).is_file():
        return True
    return (folder / ".hydra").is_dir() and not (folder / COMPARISON).is_file()


def _job_order(folder: Path) -> tuple[bool, int, str]:
    numbered = folder.name.isdecimal()
    return (not numbered, int(folder.name) if numbered else 0, folder.name)


def read_result(folder: Path) -> Result | None:
    """The result of a finished run, ``None`` when there is none. Raises ``BrokenFileError``."""
    path = folder / RESULT
    return _validated(Result, _json(path), path) if path.is_file() else None


def read_failure(folder: Path) -> Failure:
    """Why a run has no result; a folder without a word of it gets "left no result".

    Raises ``BrokenFileError``.
    """
    path = folder / FAILURE
    if path.is_file():
        return _validated(Failure, _json(path), path)
    overrides = folder / ".hydra" / "overrides.yaml"
    try:
        named = list(OmegaConf.load(overrides)) if overrides.is_file() else []
    except (OSError, ValueError, YAMLError) as error:
        why = str(error).splitlines()[0]
        raise BrokenFileError(f"{overrides.name} cannot be read: {why}") from error
    return Failure(error="left no result", overrides=[str(override) for override in named])


def read_predictions(folder: Path) -> list[Prediction]:
    """All predictions, in file order; none without the file. Raises ``BrokenFileError``."""
    path = folder / PREDICTIONS
    if not path.is_file():
        return []
    lines = _text(path).split("\n")
    return [_validated(Prediction, _parsed(line, path), path) for line in lines if line]


def read_word_counts(folder: Path) -> WordCounts | None:
    """How often training had words, ``None`` when not recorded. Raises ``BrokenFileError``."""
    path = folder / WORD_COUNTS
    return _validated(WordCounts, _json(path), path) if path.is_file() else None


def write_statistics(folder: Path, statistics: Statistics) -> None:
    """Keep what each test sentence adds to the scores."""
    write_arrays(folder / STATISTICS, statistics)


def read_statistics(folder: Path, sentences: int) -> Statistics | None:
    """What each test sentence adds, ``None`` when not recorded. Raises ``BrokenFileError``."""
    path = folder / STATISTICS
    statistics = read_arrays(path)
    for name, array in (statistics or {}).items():
        if array.ndim != 2 or len(array) != sentences:
            raise BrokenFileError(f"{path.name} cannot be read: {name} is of other sentences")
    return statistics


def write_attention(folder: Path, weights: Sequence[NDArray[np.floating] | None]) -> None:
    """Keep the word weights of every test sentence, (target words, source words), in 16 bits.

    Nothing but ``None`` is a model without attention.
    """
    known = [part for part in weights if part is not None]
    arrays = {
        "shapes": np.array([part.shape for part in known], np.int32).reshape(-1, 2),
        "weights": np.concatenate([np.zeros(0), *(part.ravel() for part in known)]),
    }
    write_arrays(folder / ATTENTION, arrays | {"weights": arrays["weights"].astype(np.float16)})


def read_attention(
    folder: Path, predictions: Iterable[Prediction]
) -> dict[int, SentenceAttention] | None:
    """Attention of some predictions by their numbers, empty for a model without.

    ``None``: not recorded. Raises ``BrokenFileError``.
    """
    arrays = read_arrays(folder / ATTENTION)
    if arrays is None:
        return None
    shapes, weights = arrays["shapes"], arrays["weights"]
    ends = np.cumsum(shapes[:, 0] * shapes[:, 1], dtype=np.int64)
    return {
        prediction.id: SentenceAttention(
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


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name into one compressed file, whole or not at all."""
    with whole_file(path) as temporary:
        np.savez_compressed(temporary, allow_pickle=False, **arrays)


def read_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """Arrays by name, ``None`` without the file. Raises ``BrokenFileError``."""
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, EOFError, ValueError, BadZipFile, zlib.error) as error:
        raise BrokenFileError(f"{path.name} cannot be read: {error}") from error


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
