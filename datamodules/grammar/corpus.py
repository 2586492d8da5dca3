"""The corpus written by the grammar: splits of given sizes without shared sentences."""

import hashlib
from collections.abc import Callable
from functools import cached_property
from itertools import accumulate, cycle, islice
from random import Random

from pydantic import PositiveInt, validate_call
from typing_extensions import override

from datamodules.corpus import Corpus, ParallelText, Split
from datamodules.errors import UserError
from datamodules.grammar.lexicon.zipf import Table
from datamodules.grammar.sentences import Sentence, Sentences

SHORTEST, LONGEST = 3, 60
"""Smallest and largest number of English words in a sentence."""

BUCKETS = tuple(range(10, LONGEST + 1, 10))
"""Largest number of words in each bucket: 1-10, 11-20 ... 51-60."""

SHORT = 10
"""Largest number of words in a short training sentence; all short lengths are equally common."""

SHORT_SHARE = 0.75
"""Share of short sentences among the training sentences."""

DECAY = 0.98
"""Ratio of training sentences with n + 1 words to training sentences with n words, n > SHORT."""

EDITION = 1
"""Part of the fingerprint: raise the edition if any sentence changes (a test checks this)."""

_LANGUAGES = ("en", "fr")


def _training_lengths() -> Table[int]:
    """Return the distribution of training sentence lengths: many short sentences, and a long tail.

    Short sentences teach the words, even to a model without attention. In the tail every length is
    common enough to be learnt. The mean length is about 12 words.
    """
    short = range(SHORTEST, SHORT + 1)
    tail = list(accumulate([DECAY] * (LONGEST - SHORT), lambda weight, ratio: weight * ratio))
    share = (1 - SHORT_SHARE) / sum(tail)
    weights = [SHORT_SHARE / len(short)] * len(short) + [share * weight for weight in tail]
    return Table(range(SHORTEST, LONGEST + 1), weights)


class GrammarCorpus(Corpus):
    """English and French sentences of the grammar; equal arguments give equal sentences.

    Sizes count pairs within the limits. ``train_max_words`` limits the source words of training
    sentences; longer sentences are left out and counted. Validation and test sentences are spread
    evenly over ``BUCKETS`` of source words and are all different. The training text may repeat
    short sentences, as any text does, but skips sentences of the other splits without counting
    the skipped sentences.

    Raises ``UserError`` for impossible arguments.
    """

    name = "grammar"

    @validate_call
    def __init__(
        self,
        train_size: PositiveInt,
        val_size: PositiveInt,
        test_size: PositiveInt,
        seed: int,
        train_max_words: PositiveInt | None = 50,
        source: str = "en",
        target: str = "fr",
    ) -> None:
        if train_max_words is not None and train_max_words < SHORTEST:
            raise UserError(
                f"data.train_max_words={train_max_words}: "
                f"the shortest sentences have {SHORTEST} words; give at least that, or null."
            )
        for key, language in (("source", source), ("target", target)):
            if language not in _LANGUAGES:
                raise UserError(f"data.{key}={language}: the grammar writes only en and fr.")
        if source == target:
            raise UserError(f"data.target={target}: is the source language too; give the other.")
        self.source, self.target = source, target
        self.seed, self.train_max_words = seed, train_max_words
        self._sizes = {"train": train_size, "val": val_size, "test": test_size}

    @override
    @property
    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits of the arguments and the edition of the grammar."""
        arguments = (self.source, self.target, self.seed, self.train_max_words, self._sizes)
        return hashlib.sha256(repr((EDITION, *arguments)).encode()).hexdigest()[:12]

    @override
    def split(self, name: Split) -> ParallelText:
        """Write one split. Raises no error, because the arguments are already checked."""
        if name == "train":
            return self._train
        return self._val if name == "val" else self._test

    @cached_property
    def _test(self) -> ParallelText:
        return self._bucketed("test", [])

    @cached_property
    def _val(self) -> ParallelText:
        return self._bucketed("val", self._test.source)

    @cached_property
    def _train(self) -> ParallelText:
        held_out = {*self._test.source, *self._val.source}
        lengths = _training_lengths()
        write, random = self._writer("train")
        kept: list[Sentence] = []
        left_out = 0
        while len(kept) < self._sizes["train"]:
            sentence = write(lengths.draw(random))
            if self.train_max_words and sentence.source_words > self.train_max_words:
                left_out += 1
            elif sentence.source not in held_out:
                kept.append(sentence)
        reason = f"longer than {self.train_max_words} words"
        return _parallel(kept, {reason: left_out} if left_out else {})

    def _bucketed(self, name: Split, held_out: list[str]) -> ParallelText:
        """Write distinct sentences that are not in ``held_out``, for each bucket in turn."""
        write, random = self._writer(name)
        seen = set(held_out)
        kept: list[Sentence] = []
        for most in islice(cycle(BUCKETS), self._sizes[name]):
            least = max(SHORTEST, most - 9)
            while True:
                sentence = write(least + int(random() * (most - least + 1)))
                if least <= sentence.source_words <= most and sentence.source not in seen:
                    break
            seen.add(sentence.source)
            kept.append(sentence)
        return _parallel(kept, {})

    def _writer(self, name: Split) -> tuple[Callable[[int], Sentence], Callable[[], float]]:
        """Return a function that writes a sentence of a split, and its random generator."""
        random = Random(f"{name} {self.seed}").random
        write = Sentences(random).sentence
        if self.source == "en":
            return write, random
        return lambda words: write(words).swapped(), random


def _parallel(sentences: list[Sentence], left_out: dict[str, int]) -> ParallelText:
    return ParallelText(
        [sentence.source for sentence in sentences],
        [sentence.target for sentence in sentences],
        [sentence.links for sentence in sentences],
        left_out,
    )
