"""The statistics of a prepared corpus, as its store and the results of runs record them."""

from pydantic import BaseModel

from datamodules.cleaning.steps import StepCount


class _Record(BaseModel, extra="forbid"):
    """A part of the statistics; an unknown field is an error."""


class Lengths(_Record):
    """Lengths of the sentences of one side of a split."""

    mean: float
    median: int
    """Least length that half of the sentences do not exceed."""
    percentile_95: int
    """Least length that 95% of the sentences do not exceed."""
    longest: int


class SideStatistics(_Record):
    """The text of one side of a split."""

    words: int
    """Whitespace-separated words."""
    types: int
    """Different words."""
    tokens: int
    """Tokens of the vocabulary, without EOS."""
    unknown: int
    """Tokens that stand for what the vocabulary lacks."""
    in_words: Lengths
    in_tokens: Lengths
    """Lengths in tokens, without EOS."""
    histogram: list[int]
    """Number of sentences in each of ``CorpusStatistics.bins``."""

    @property
    def unknown_share(self) -> float:
        """Share of unknown tokens, from 0 to 1."""
        return self.unknown / max(1, self.tokens)


class CorpusStatistics(_Record):
    """What the preparation of a corpus read, did and left."""

    pairs_read: int
    """Training pairs that the corpus gave, before cleaning."""
    left_out: dict[str, dict[str, int]]
    """Pairs of validation and test beyond the limits of the corpus, by split and reason."""
    cleaning: list[StepCount]
    """What each limit of the corpus and each step of cleaning did to the training text."""
    seconds: dict[str, float]
    """Seconds of each stage; after an interruption, of the last process."""
    leaked: int
    """Test pairs that are training pairs too, after cleaning."""
    bins: list[int]
    """Least number of words of each bin of the histograms; the last bin has no upper end."""
    splits: dict[str, dict[str, SideStatistics]]
    """Statistics by split and side, ``source`` and ``target``."""

    @property
    def pairs_per_second(self) -> float:
        """Training pairs that the whole preparation read in a second."""
        return self.pairs_read / max(1e-9, sum(self.seconds.values()))
