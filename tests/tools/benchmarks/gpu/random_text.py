"""Sentences of random words, as long as those of news, for measurements."""

from dataclasses import dataclass

import numpy as np

from datamodules.corpus import Corpus, ParallelText, Split

MEDIAN, SPREAD = 24, 0.55
"""Parameters of the log-normal lengths of source sentences: 28 subwords on average, as in WMT's
news."""
RATIO_SPREAD = 0.15  # spread of the logarithm of target over source length
SHORTEST, LONGEST = 3, 99  # words; the end of a sentence is one token more


@dataclass
class RandomWords(Corpus):
    """Pairs of sentences whose words are drawn from one vocabulary, each as often."""

    words: int
    train_size: int
    val_size: int
    test_size: int
    name: str = "random_words"
    source: str = "en"
    target: str = "de"
    generated: bool = True

    def split(self, name: Split) -> ParallelText:
        sizes = {"train": self.train_size, "val": self.val_size, "test": self.test_size}
        random = np.random.default_rng([*sizes].index(name))
        lengths = np.exp(random.normal(np.log(MEDIAN), SPREAD, sizes[name]))
        ratios = np.exp(random.normal(0, RATIO_SPREAD, sizes[name]))
        src, tgt = (self._sentences(random, each) for each in (lengths, lengths * ratios))
        return ParallelText(src, tgt)

    def _sentences(self, random: np.random.Generator, lengths: np.ndarray) -> list[str]:
        whole = lengths.round().clip(SHORTEST, LONGEST).astype(np.int64)
        words = [f"w{number}" for number in random.integers(0, self.words, whole.sum())]
        ends = whole.cumsum()
        pairs = zip(ends - whole, ends, strict=True)
        return [" ".join(words[start:end]) for start, end in pairs]

    @property
    def fingerprint(self) -> str:
        return f"{self.words}-{self.train_size}-{self.val_size}-{self.test_size}"
