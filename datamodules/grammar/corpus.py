"""The corpus written by the grammar: splits of wanted sizes without leaks."""

import hashlib
from collections.abc import Callable
from functools import cached_property
from itertools import accumulate, cycle, islice
from pathlib import Path
from random import Random

from pydantic import PositiveInt, validate_call

from datamodules.corpus import ParallelText, Split
from datamodules.errors import UserError
from datamodules.grammar.sentences import Sentence, Sentences
from datamodules.grammar.zipf import Table

SHORTEST, LONGEST = 3, 60
"""English words of a sentence."""

BUCKETS = tuple(range(10, LONGEST + 1, 10))
"""Longest sentence of each bucket, in words: 1-10, 11-20 ... 51-60."""

SHORT = 10
"""Longest of the short training sentences, in words: as common as one another."""

SHORT_SHARE = 0.75
"""Share of the training sentences that are short."""

DECAY = 0.98
"""Ratio of the training sentences of n + 1 words to those of n, past the short ones."""

_LANGUAGES = ("en", "fr")


def _training_lengths() -> Table[int]:
    """Return the lengths of training sentences: many short ones, and a long tail.

    Short ones teach the words, even to a model without attention; in the tail every length is
    common enough to be learnt. The mean is about 12 words.
    """
    short = range(SHORTEST, SHORT + 1)
    tail = list(accumulate([DECAY] * (LONGEST - SHORT), lambda weight, ratio: weight * ratio))
    share = (1 - SHORT_SHARE) / sum(tail)
    weights = [SHORT_SHARE / len(short)] * len(short) + [share * weight for weight in tail]
    return Table(range(SHORTEST, LONGEST + 1), weights)


class GrammarCorpus:
    """English and French sentences that the grammar writes, the same for the same arguments.

    Sizes count pairs after the limits. ``train_max_words`` limits the source side of training
    sentences; those above it are left out and counted. Validation and test sentences are spread
    evenly over ``BUCKETS`` of their source words and are all different; the training text may
    repeat short sentences, as any text does, but skips those of the other splits, uncounted.

    Raises ``UserError`` for arguments that no corpus can meet.
    """

    name = "grammar"

    @validate_call
    def __init__(
        self,
        train_size: PositiveInt,
        val_size: PositiveInt,
        test_size: PositiveInt,
        seed: int,
        train_max_words: int | None = 50,
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

    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits over the arguments and the sources of this package."""
        digest = hashlib.sha256(
            repr((self.source, self.target, self.seed, self.train_max_words, self._sizes)).encode()
        )
        for path in sorted(Path(__file__).parent.glob("*.py")):
            digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
        return digest.hexdigest()[:12]

    def split(self, name: Split) -> ParallelText:
        """Write one split. Raises nothing: the arguments were checked."""
        if name == "train":
            return self._train
        return self._val if name == "val" else self._test

    @cached_property
    def _test(self) -> ParallelText:
        return self._even("test", [])

    @cached_property
    def _val(self) -> ParallelText:
        return self._even("val", self._test.source)

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

    def _even(self, name: Split, held_out: list[str]) -> ParallelText:
        """Write different sentences, none of them in ``held_out``, for each bucket in turn."""
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
        """Return what writes sentences of a split, and the random numbers it draws on."""
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
