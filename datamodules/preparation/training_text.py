"""The training text while it is prepared, part by part."""

import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path

from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from datamodules.cleaning import Cleaner, StepCount, nothing_left, total_counts
from datamodules.cleaning.language import CHECKED
from datamodules.corpus import (
    Corpus,
    ParallelText,
    add_left_out,
    examples_of,
    first_pairs,
    read_parts,
)
from datamodules.corpus_statistics import SideCounts, Suspicion, suspicions_of_corpus
from datamodules.errors import UserError
from datamodules.phrase_table import PhraseTable
from datamodules.preparation.parts import SIDES, Pair, PartNumbers, Parts, Text
from datamodules.preparation.progress import progress
from datamodules.preparation.store import save_side
from datamodules.preparation.word_table import save_words
from datamodules.preparation.workers import cores, for_each
from datamodules.tokenization import Bpe, Tokenizers, TokenizerSettings

ENOUGH = 100
"""Duplicates among which examples are found."""


class TrainingText:
    """Reads the training text of a corpus once, and keeps what the preparation needs of it."""

    def __init__(self, corpus: Corpus, cleaner: Cleaner, folder: Path) -> None:
        """Read the text into parts in ``folder``, unless a killed preparation has left them.

        Raises ``UserError`` if cleaning leaves nothing.
        """
        self.first = ParallelText([], [])
        """The first pairs, as given."""
        self._corpus = corpus
        self._parts = Parts(folder)
        self._aligned: list[ParallelText] = []
        self._limits = ParallelText([], [])
        self._seen: dict[str, float] = {}
        self._pairs_read = 0
        self._pairs: list[int] = []
        self._steps: list[StepCount] = []
        self._words: dict[str, Counter[str]] = {side: Counter() for side in SIDES}
        self._counts = dict.fromkeys(SIDES, SideCounts())
        self._copies = 0
        self._copied: list[str] = []
        self._leaked: set[Pair] = set()
        self._read(cleaner)
        if cleaner.cleaning.duplicates:
            self._leave_duplicates_out()
        if not sum(self._pairs):
            raise UserError(nothing_left(self._steps))

    def sample(self, most: int) -> ParallelText:
        """Return at most ``most`` pairs, evenly spaced over the text."""
        step = -(-sum(self._pairs) // most)
        lines: tuple[list[str], list[str]] = [], []
        before = 0
        for number, pairs in enumerate(self._pairs):
            for kept, side in zip(lines, self._parts.read_text(number), strict=True):
                kept += side[-before % step :: step]
            before += pairs
        return ParallelText(*lines)

    def write_numbers(
        self,
        folder: Path,
        tokenizers: Tokenizers,
        settings: TokenizerSettings,
        tested: frozenset[Pair],
    ) -> dict[str, int]:
        """Write the token numbers of the text into ``folder``; return the checksum of each file.

        With ``dropout``, word numbers are written too. ``folder`` holds the files of
        ``tokenizers``. ``tested`` holds the test pairs, which are looked for.
        """
        work = partial(self._parts.write_numbers, folder, settings, tested)
        arrays: list[dict[str, int]] = []
        with progress("cutting words into tokens", sum(self._pairs)) as bar:
            for part in for_each(work, range(len(self._pairs)), cores()):
                bar.update(self._pairs[len(arrays)])
                arrays.append(part.checksums)
                self._copies += part.copies
                self._copied = examples_of(self._copied + part.copied)
                self._leaked.update(part.leaked)
                for side in SIDES:
                    self._words[side].update(part.words[side])
                    self._counts[side] += part.counts[side]
        checksums: dict[str, int] = {}
        for side, tokenizer in zip(SIDES, tokenizers, strict=True):
            numbers = PartNumbers(self._parts, side, arrays)
            checksums |= save_side(folder, f"train.{side}", numbers)
            if settings.dropout:
                assert isinstance(tokenizer, Bpe)
                checksums |= save_words(folder, numbers, self._words[side], tokenizer)
        return checksums

    @property
    def pairs_read(self) -> int:
        """Number of pairs before cleaning."""
        return self._pairs_read

    @property
    def steps(self) -> list[StepCount]:
        """What each limit of the corpus and each step of cleaning did."""
        left_out, examples = self._limits.left_out, self._limits.examples
        seen = self._pairs_read + sum(left_out.values())
        limits = [
            StepCount(why, True, seen, count, examples.get(why, []), 0.0)
            for why, count in left_out.items()
        ]
        return [*limits, *self._steps]

    @property
    def counts(self) -> dict[str, tuple[SideCounts, int]]:
        """Counts of each side, and its number of different words."""
        return {side: (self._counts[side], len(self._words[side])) for side in SIDES}

    def leaked(self, test: ParallelText) -> int:
        """Return how many test pairs are training pairs too."""
        return sum(pair in self._leaked for pair in zip(test.source, test.target, strict=True))

    def left_out(self) -> ParallelText:
        """Return how many pairs were left out, and what the test set shares; no sentences."""
        left_out = {step.step: step.count for step in self.steps if step.leaves_out and step.count}
        return ParallelText([], [], None, left_out, seen=self._seen)

    def word_counts(self) -> dict[str, dict[str, int]]:
        """Return the frequency of each word, sorted, since each worker counts in another order.

        ``source`` and ``reference`` count the whitespace-separated words of the two sides,
        ``target`` the tokens of sacreBLEU's ``13a``, which cuts each word by itself.
        """
        tokens: Counter[str] = Counter()
        tokenize = Tokenizer13a()
        for word, frequency in self._words["target"].items():
            for token in tokenize(word).split():
                tokens[token] += frequency
        counts = {"source": self._words["source"], "target": tokens}
        counts["reference"] = self._words["target"]
        return {name: dict(sorted(words.items())) for name, words in counts.items()}

    def suspicions(self, test: ParallelText) -> list[Suspicion]:
        """Return what looks wrong in the corpus."""
        what, examples = "training sources equal their target", examples_of(self._copied)
        copies = Suspicion(what, self._copies, sum(self._pairs), examples)
        return suspicions_of_corpus(copies, self._leaked, test)

    def phrase_table(self, test: ParallelText) -> list[str] | None:
        """Translate the test set by a phrase table; None for text without gold links."""
        if not self._aligned:
            return None
        source, target, links = (
            [line for text in self._aligned for line in getattr(text, side) or ()]
            for side in ("source", "target", "alignments")
        )
        try:
            table = PhraseTable.of(ParallelText(source, target, links))
        except ValueError as error:
            raise UserError(f"data={self._corpus.name}, train: gold alignments, {error}") from None
        return [table.translate(line) for line in test.source]

    def _read(self, cleaner: Cleaner) -> None:
        work = partial(self._parts.write_text, cleaner)
        with progress("reading the training text", None) as bar:
            for summary in for_each(work, enumerate(self._texts()), cores()):
                bar.update(summary.read)
                self._pairs_read += summary.read
                self._pairs.append(summary.pairs)
                self._steps = total_counts([*self._steps, *summary.steps])

    def _leave_duplicates_out(self) -> None:
        started = time.process_time()
        counts = self._parts.leave_duplicates_out(len(self._pairs))
        seconds = time.process_time() - started
        found = chain.from_iterable(
            self._parts.duplicates(number) for number, count in enumerate(counts) if count
        )
        examples = examples_of(islice(found, ENOUGH))
        seen, count = sum(self._pairs), sum(counts)
        self._pairs = [pairs - count for pairs, count in zip(self._pairs, counts, strict=True)]
        self._steps.append(StepCount("came before", True, seen, count, examples, seconds))

    def _texts(self) -> Iterator[Text]:
        for text in read_parts(self._corpus, "train"):
            add_left_out(self._limits, text)
            self._seen = self._seen or text.seen
            if text.alignments is not None:
                self._aligned.append(text)
            if len(text):
                if not len(self.first):
                    self.first = first_pairs(text, CHECKED)
                yield text.source, text.target
