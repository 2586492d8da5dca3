"""The files of a run folder: names and contents."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, field_validator

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
"""File with the id of the W&B run, for a resumed training."""
TEST_FILES = (
    *(RESULT, FAILURE, CURVE, STATISTICS, ATTENTION, HEAD_ATTENTION, PREDICTIONS, WORD_COUNTS),
)
TRAINING_FILES = (HISTORY, TRACKER_ID)
"""Files that a resumed training needs, besides checkpoints."""
RUN_FILES = (*TEST_FILES, *TRAINING_FILES)
"""All files of a run, besides checkpoints."""

HeadWeights = dict[int, NDArray[np.float64]]
"""Word weights by sentence number, ``(layers, heads, target words, source words)`` each."""


class Training(BaseModel):
    """Cost and best validation BLEU of a training."""

    target_tokens: int | None = None
    """Number of real target tokens trained on, EOS counted."""
    updates: int | None = None
    epochs: float | None = None
    """Number of passes over the training sentences."""
    flops: float | None = None
    """FLOPs of matrix products, forward and backward, padding left out."""
    seconds: float | None = None
    """Seconds of training, validation left out."""
    target_tokens_per_second: float | None = None
    data_order: str | None = None
    """Hash of the sentence numbers of all batches, in order."""
    data_order_at: dict[int, str] = {}
    """``data_order`` after 1, 2, 4, 8, … updates."""
    val_bleu: float | None = None
    """Best validation BLEU, which chose the tested weights."""


class Data(BaseModel):
    """The corpus a run was trained and tested on."""

    name: str = "unknown"
    source: str = "?"
    """Code of the source language."""
    target: str = "?"
    """Code of the target language."""
    fingerprint: str | None = None
    """Hash of the sentences and tokenizer settings."""
    pairs: dict[str, int] = {}
    """Number of sentence pairs by split."""
    left_out: dict[str, dict[str, int]] = {}
    """Number of dropped sentence pairs by split and reason."""


class Environment(BaseModel):
    """Hardware and versions of a training; further fields are kept."""

    model_config = ConfigDict(extra="allow")

    device: str | None = None
    """Name of the GPU, or ``cpu``."""


class Coverage(BaseModel):
    """Coverage of a vocabulary by a file of word vectors."""

    file: str
    covered: int
    """Number of tokens with a vector in the file."""
    missing: int
    """Number of tokens without a vector, which started at random."""
    fingerprint: str | None = None
    """Hash of the file's content; None for an unreadable file."""


class Result(BaseModel):
    """``result.json``: only the variant, the seed and the test BLEU must be there."""

    variant: str
    seed: int
    scores: dict[str, float]
    """Scores on the whole test set, by the names of ``metrics.statistics.METRICS``."""
    intervals: dict[str, tuple[float, float]] = {}
    """95% bootstrap intervals of the scores over test sentences."""
    overrides: list[str] = []
    """Overrides of the command line, without passwords."""
    signature: str | None = None
    """Signature of sacreBLEU for BLEU."""
    train_max_words: int | None = None
    """Largest number of words in a training sentence; None for no limit."""
    parameters: int | None = None
    """Number of trained parameters, without frozen word vectors."""
    vectors: dict[str, Coverage] = {}
    """Coverage of pretrained embeddings by side, ``source`` and ``target``."""
    training: Training = Training()
    decoding: dict[str, Any] = {}
    """Settings and speed of the search on the test set."""
    data: Data = Data()
    environment: Environment = Environment()
    peak_memory_mib: float | None = None
    """Peak memory of the process in MiB; jobs of a comparison share processes."""
    git_commit: str | None = None
    code: str | None = None
    """Version of the code; see ``provenance.code_of``."""
    config: dict[str, Any] = {}
    """The resolved configuration, without passwords."""

    @property
    def attention_step(self) -> str:
        """The decoder step whose attention aligned the references."""
        return str((self.config.get("scoring") or {}).get("attention_step", "predicted"))

    @field_validator("scores", mode="before")
    @classmethod
    def _known(cls, scores: Any) -> Any:
        """Drop scores that an earlier version wrote as null. Raises ``ValueError`` without BLEU."""
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
    """Index of the sentence in the test set."""
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
    """Training counts of the whitespace-separated source words."""
    target: dict[str, int]
    """Training counts of the tokens of references and hypotheses, as BLEU cuts tokens."""
    reference: dict[str, int] = {}
    """Training counts of the whitespace-separated reference words."""


class HistoryPoint(BaseModel):
    """A row of ``history.csv``: progress and losses at a validation."""

    target_tokens: int
    """Number of real target tokens trained on so far, EOS counted."""
    seconds: float
    """Seconds of training so far, validation left out."""
    train_loss: float
    """Mean loss since the previous validation, in nats per target token."""
    val_loss: float
    """Mean loss of the references, in nats per target token."""
    val_bleu: float
