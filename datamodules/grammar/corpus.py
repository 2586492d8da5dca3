"""The corpus written by the grammar: splits of given sizes without shared sentences."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cached_property
from itertools import cycle, islice
from random import Random
from typing import Any

from pydantic import validate_call
from typing_extensions import override

from datamodules.contrast_pairs import ContrastPair
from datamodules.corpus import Corpus, ParallelText, Split, add_left_out
from datamodules.errors import UserError
from datamodules.grammar.contrast.drawing import draw_contrast
from datamodules.grammar.disjoint import Disjoint, Overlap, chooser
from datamodules.grammar.drawing.sentences import Sentences
from datamodules.grammar.drawing.vocabulary import Vocabulary
from datamodules.grammar.drawing.writer import NothingLeftError
from datamodules.grammar.knobs import SHORTEST, Knobs, Lengths, buckets, training_lengths
from datamodules.grammar.languages import LANGUAGES, find_language
from datamodules.grammar.languages.language import Language
from datamodules.grammar.pairs import SentencePair, add_noise, write_pair

EDITION = 7  # part of the fingerprint: raise it if any sentence changes
LONGEST_GAPS = 5.0  # the knob ``distance`` for contrastive pairs
MOST_TRIES = 1500  # sentences drawn for one place of a test set before the settings are refused


class GrammarCorpus(Corpus):
    """Sentence pairs of the grammar; equal arguments give equal sentences on every platform.

    Sizes count pairs within the limits. ``train_max_words`` limits the source words of training
    sentences; longer sentences are left out and counted. Validation and test sentences are spread
    evenly over buckets of source words and are all different. The training text may repeat short
    sentences, as any text does, but skips sentences of the other splits without counting the
    skipped sentences. ``disjoint`` keeps whole clauses, or templates of clauses, of the other
    splits out of the training text as well. ``knobs`` are the settings of ``Knobs``.

    Raises ``UserError`` for impossible arguments.
    """

    name = "grammar"
    generated = True

    @validate_call
    def __init__(
        self,
        train_size: int,
        val_size: int,
        test_size: int,
        seed: int,
        train_max_words: int | None,
        source: str,
        target: str,
        disjoint: Disjoint,
        **knobs: Any,
    ) -> None:
        if train_max_words is not None and train_max_words < SHORTEST:
            raise UserError(
                f"data.train_max_words={train_max_words}: "
                f"the shortest sentences have {SHORTEST} words; give at least that, or null."
            )
        for key, language in (("source", source), ("target", target)):
            if language not in LANGUAGES:
                known = ", ".join(LANGUAGES)
                raise UserError(f"data.{key}={language}: the grammar writes only {known}.")
        if source == target:
            raise UserError(f"data.target={target}: is the source language too; give another.")
        self.source, self.target = source, target
        self.seed, self.train_max_words = seed, train_max_words
        self.disjoint, self.knobs = disjoint, Knobs(**knobs)
        self._sizes = {"train": train_size, "val": val_size, "test": test_size}

    @override
    @property
    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits of the arguments and the edition of the grammar."""
        arguments = (self.source, self.target, self.seed, self.train_max_words, self._sizes)
        content = (EDITION, *arguments, self.disjoint, asdict(self.knobs))
        return hashlib.sha256(repr(content).encode()).hexdigest()[:12]

    @override
    def split(self, name: Split) -> ParallelText:
        """Write one split. Raises ``UserError`` if the settings leave too few sentences."""
        if name == "train":
            return self._train
        text = ParallelText([], [], [])
        for pair in self._val if name == "val" else self._test:
            _append(text, pair)
        return text

    def training_pairs(self) -> Iterator[SentencePair]:
        """Write training pairs without end, of any length and with noise; nothing is kept."""
        sentences, longest = self._sentences("train"), self.knobs.longest
        lengths = Lengths(training_lengths(longest, self.knobs.short_share), sentences.random)

        def written() -> Iterator[SentencePair]:
            while True:
                pair = self._pair(sentences, lengths.next())
                lengths.count(sentences.length)
                if sentences.length <= longest:
                    yield pair

        return add_noise(written(), self.knobs.noise, sentences.random)

    @override
    def contrastive_pairs(self) -> list[ContrastPair]:
        """Write contrastive pairs with gaps as long as the grammar has them."""
        knobs = replace(self.knobs, distance=LONGEST_GAPS, paraphrase=0.0)
        sentences = Sentences(self._vocabulary, knobs, Random(f"contrast {self.seed}").random)
        return draw_contrast(sentences, *self._languages, self.knobs.longest)

    @cached_property
    def _test(self) -> list[SentencePair]:
        return self._bucketed("test", set())

    @cached_property
    def _val(self) -> list[SentencePair]:
        return self._bucketed("val", {pair.source for pair in self._test})

    @cached_property
    def _train(self) -> ParallelText:
        held_out = {pair.source for pair in self._test + self._val}
        overlap = Overlap(self._test)
        text = ParallelText([], [], [])
        limit = self.train_max_words or self.knobs.longest
        why = f"longer than {limit} words"
        for pair in self.training_pairs():
            if pair.source_words > limit:
                add_left_out(text, ParallelText([], [], None, {why: 1}, {why: [pair.source]}))
            elif pair.source not in held_out:
                overlap.see(pair)
                _append(text, pair)
                if len(text) == self._sizes["train"]:
                    break
        text.seen.update(overlap.shares)
        return text

    def _bucketed(self, name: Split, held_out: set[str]) -> list[SentencePair]:
        """Write distinct sentences that are not in ``held_out``, for each bucket in turn."""
        sentences = self._sentences(name)
        kept: list[SentencePair] = []
        for least, most in islice(cycle(buckets(self.knobs.longest)), self._sizes[name]):
            for _ in range(MOST_TRIES):
                words = least + int(sentences.random() * (most - least + 1))
                pair = self._pair(sentences, words)
                if least <= pair.source_words <= most and pair.source not in held_out:
                    break
            else:
                raise UserError(
                    f"data.{name}_size={self._sizes[name]}: the grammar finds no further sentence "
                    f"of {least} to {most} words; give fewer, or a larger data.vocabulary."
                )
            held_out.add(pair.source)
            kept.append(pair)
        return kept

    def _sentences(self, name: Split) -> Sentences:
        language = find_language(self.source)
        keep = chooser(self.disjoint, language, training=name == "train")
        random = Random(f"{name} {self.seed}").random
        return Sentences(self._vocabulary, self.knobs, random, keep)

    def _pair(self, sentences: Sentences, words: int) -> SentencePair:
        """Write a pair of about ``words`` words. Raises ``UserError`` if no clause is left."""
        for _ in range(MOST_TRIES):
            with suppress(NothingLeftError):
                return write_pair(sentences.sentence(words), *self._languages)
        raise UserError(
            f"data.disjoint={self.disjoint}: no clause is left for one of the splits; give a "
            "larger data.vocabulary, or data.disjoint=sentences"
        )

    @property
    def _languages(self) -> tuple[Language, Language]:
        return find_language(self.source), find_language(self.target)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        knobs = self.knobs
        return Vocabulary(knobs.vocabulary, knobs.zipf, knobs.separable)


def _append(text: ParallelText, pair: SentencePair) -> None:
    text.source.append(pair.source)
    text.target.append(pair.target)
    assert text.alignments is not None
    text.alignments.append(pair.links)
