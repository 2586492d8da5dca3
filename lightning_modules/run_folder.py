"""Reading what one training run left in its folder, tolerant of what is missing."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import OmegaConf
from pydantic import BaseModel, ConfigDict, ValidationError

from lightning_modules.metrics.lengths import BucketScore, parse_csv

RESULT = "result.json"
FAILURE = "failure.json"
SCORES = "bleu_by_length.csv"
ATTENTION = "attention.json"
PREDICTIONS = "predictions.jsonl"
COMPARISON = "comparison.json"

Model = TypeVar("Model", bound=BaseModel)


class Scores(BaseModel):
    """Test scores; BLEU and chrF from 0 to 100."""

    bleu: float
    chrf: float | None = None
    aer: float | None = None
    """Alignment error rate of the references' strongest links, 0 to 1, where gold is known."""


class Training(BaseModel):
    """What the training budget bought."""

    target_tokens: int | None = None
    updates: int | None = None
    epochs: float | None = None
    seconds: float | None = None
    target_tokens_per_second: float | None = None
    data_order: str | None = None
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


class Result(BaseModel):
    """``result.json``: only the variant, the seed and the test BLEU must be there."""

    variant: str
    seed: int
    scores: Scores
    overrides: list[str] = []
    signature: str | None = None
    length_unit: str = "source words"
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
    config: dict[str, Any] = {}


class Failure(BaseModel):
    """``failure.json``: a job that ended with an error."""

    variant: str | None = None
    seed: int | None = None
    overrides: list[str] = []
    error: str = "failed without a message"


class SentenceAttention(BaseModel):
    """Word-level attention of one test sentence: weights (target words, source words)."""

    id: str | int
    source_words: list[str]
    target_words: list[str]
    weights: list[list[float]]


class Prediction(BaseModel):
    """One line of ``predictions.jsonl``."""

    id: str | int
    source: str
    reference: str
    hypothesis: str


class BrokenFileError(Exception):
    """A file of a run that is not what it should be; the message is one line."""


def clear_results(folder: Path) -> None:
    """Remove what an earlier run left in the same folder: results belong to the run that ends."""
    for name in (RESULT, FAILURE, SCORES, ATTENTION, PREDICTIONS):
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
    """Why a run has no result; a folder without a word of it gets "left no result"."""
    path = folder / FAILURE
    if path.is_file():
        return _validated(Failure, _json(path), path)
    overrides = folder / ".hydra" / "overrides.yaml"
    named = list(OmegaConf.load(overrides)) if overrides.is_file() else []
    return Failure(error="left no result", overrides=[str(override) for override in named])


def read_scores(folder: Path) -> list[BucketScore]:
    """BLEU by length of a run, empty when the file is missing. Raises ``BrokenFileError``."""
    path = folder / SCORES
    if not path.is_file():
        return []
    try:
        return [score for _, _, score in parse_csv(path.read_text(encoding="utf-8"))]
    except ValueError as error:
        raise BrokenFileError(f"{path.name} cannot be read: {error}") from error


def read_attention(folder: Path) -> list[SentenceAttention] | None:
    """Attention of the kept test sentences, empty for a model without; ``None``: not recorded.

    Raises ``BrokenFileError``.
    """
    path = folder / ATTENTION
    if not path.is_file():
        return None
    return [_validated(SentenceAttention, sentence, path) for sentence in _json(path) or []]


def read_predictions(folder: Path, ids: Iterable[str | int]) -> list[Prediction]:
    """The predictions of the sentences ``ids``, in file order. Raises ``BrokenFileError``."""
    path = folder / PREDICTIONS
    if not path.is_file():
        return []
    wanted = set(ids)
    with path.open(encoding="utf-8") as lines:
        predictions = (_validated(Prediction, _parsed(line, path), path) for line in lines)
        return [prediction for prediction in predictions if prediction.id in wanted]


def _json(path: Path) -> Any:
    return _parsed(path.read_text(encoding="utf-8"), path)


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
