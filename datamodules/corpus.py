"""The interface of a corpus: named splits of line-aligned sentences, and a fingerprint."""

from dataclasses import dataclass, field
from typing import Literal, Protocol

Split = Literal["train", "val", "test"]
SPLITS: tuple[Split, ...] = ("train", "val", "test")


@dataclass(frozen=True)
class ParallelText:
    """One split: ``source[i]`` is translated by ``target[i]``.

    A *word* is a whitespace-separated piece of a line, everywhere in the harness. ``alignments``
    holds the gold word alignments, if the corpus has any: for each sentence one line of Pharaoh
    pairs (``0-0 1-2``, source word then target word, counted from 0). ``left_out`` counts the
    excluded pairs by reason.
    """

    source: list[str]
    target: list[str]
    alignments: list[str] | None = None
    left_out: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.source)


class Corpus(Protocol):
    """A parallel corpus in one direction, built by Hydra from a file of ``conf/data``."""

    name: str
    source: str
    """Source language, as a two-letter code."""
    target: str
    """Target language, as a two-letter code."""
    train_max_words: int | None
    """Limit on the words of a training sentence; None for no limit."""

    @property
    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits that change with any sentence of any split."""

    def split(self, name: Split) -> ParallelText:
        """Read or generate one split. Raises ``UserError`` if the text is wrong."""
