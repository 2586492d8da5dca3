"""What a tracker can take from a run, besides the metrics that Lightning logs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lightning_modules.metrics.lengths import Bounds
from lightning_modules.runs.schema import Data, SentenceAttention
from lightning_modules.tracking.names import BY_LENGTH, LENGTH


class LengthPoint(NamedTuple):
    """BLEU of the test sentences of one length bucket."""

    bounds: Bounds
    bleu: float
    sentences: int

    @property
    def length(self) -> int:
        """Upper end of the bucket; of a bucket without one, the lower end."""
        return self.bounds.high or self.bounds.low

    @property
    def row(self) -> dict[str, float]:
        """The values by the names of metrics, with the length."""
        values = (self.bleu, self.sentences)
        return {LENGTH: self.length, **dict(zip(BY_LENGTH, values, strict=True))}


class Tracker(ABC):
    """Takes the configuration and the results of one run.

    A Lightning logger that is a tracker too, like that of W&B, is asked itself; any other logger is
    asked through a ``LightningTracker``.
    """

    @property
    @abstractmethod
    def takes_pictures(self) -> bool:
        """Whether ``log_attention`` keeps a picture."""

    @abstractmethod
    def describe(self, entries: Mapping[str, Any]) -> None:
        """Add entries to the configuration of the run."""

    @abstractmethod
    def label(self, tags: Sequence[str], notes: str) -> None:
        """Add tags and a note to the run, if the tracker takes them."""

    @abstractmethod
    def log_scores(self, scores: Mapping[str, float | str], step: int) -> None:
        """Log the numbers and words that sum up the run; ``step`` is its number of updates."""

    @abstractmethod
    def log_curve(self, curve: Sequence[LengthPoint]) -> None:
        """Log BLEU against sentence length."""

    @abstractmethod
    def log_attention(self, key: str, sentence: SentenceAttention, step: int | None = None) -> None:
        """Log the heat map of a sentence as a picture, if the tracker takes pictures."""

    @abstractmethod
    def log_table(self, key: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Log a table, if the tracker takes tables; an array in a cell holds attention weights."""

    @abstractmethod
    def log_files(self, folder: Path, data: Data) -> None:
        """Keep the best checkpoint, the tokenizers and the predictions in ``folder``, if wanted.

        ``data`` is the corpus that the model was trained on.
        """

    @abstractmethod
    def close(self, error: BaseException | None = None) -> None:
        """Write what is left, and end the run, as failed after an ``error``."""
