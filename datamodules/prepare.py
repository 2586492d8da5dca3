"""Prepare a corpus for training: text, vocabularies, token numbers, and an index of all.

The training text is read once. Blocks of neighbouring pairs are cleaned and cut into words in
several processes, and appended to a text of word numbers (``GrowingText``). A word has the same
tokens in every line, so each different word is cut into tokens once.
"""

import json
import os
import shutil
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain, compress, islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import numpy as np
from tqdm import tqdm

from datamodules.cleaning import (
    CHECKED,
    Cleaner,
    Cleaning,
    StepCount,
    Text,
    equal_sides,
    nothing_left,
    pair_digests,
    swapped,
    total_counts,
)
from datamodules.corpus import (
    SPLITS,
    Corpus,
    ParallelText,
    Split,
    add_left_out,
    examples_of,
    join_texts,
    read_parts,
    read_split,
)
from datamodules.corpus_statistics import (
    CorpusStatistics,
    SideCounts,
    Suspicion,
    bins_of,
    side_statistics,
    suspicions_of_corpus,
)
from datamodules.errors import UserError
from datamodules.files import write_json, write_text
from datamodules.growing_text import SIDES, Block, BlockCounts, GrowingText, Pair
from datamodules.nearest_copy import MOST, nearest_copies
from datamodules.phrase_table import PhraseTable
from datamodules.sequences import Integers, Sequences, checksum, cores, save_sequences, sums
from datamodules.text_forms import form_suspicions
from datamodules.tokenization import UNK, Bpe, Tokenizer, Tokenizers, TokenizerSettings
from datamodules.words import (
    WordNumbers,
    lengths_in_words,
    letters_of_word,
    words_by_letters,
    words_of,
    written_without_spaces,
)

INDEX = "index.json"  # text of validation and test, and all that is small; written last
WORD_COUNTS = "word_counts.json"  # file with the frequency of each word of the training text
STATISTICS = "statistics.json"  # ``CorpusStatistics``
UNFINISHED = "unfinished"  # folder of the training text while it is prepared
HELD_OUT: tuple[Split, ...] = ("val", "test")
WORDS_AT_ONCE = 100_000  # words that are cut into tokens at once, so that memory stays bounded
WAITING = 2  # blocks for each worker that wait for it or are worked on
Part = TypeVar("Part")
Result = TypeVar("Result")
Checksums = dict[str, int]  # checksum of each file


@dataclass
class TrainingText:
    """The training text as numbers of words, and what was found while it was read."""

    words: GrowingText
    steps: list[StepCount] = field(default_factory=list)  # what limits and cleaning did
    told: ParallelText = field(default_factory=lambda: ParallelText([], []))
    """The first pairs, as given, and which pairs the limits of the corpus left out of all."""
    aligned: list[ParallelText] = field(default_factory=list)  # the text that has gold links


def build(corpus: Corpus, cleaning: Cleaning, settings: TokenizerSettings, folder: Path) -> None:
    """Write all files of a prepared corpus into ``folder``; an interrupted preparation continues.

    Raises the errors of the corpus and of the tokenizers, and ``OSError``.
    """
    ends = [time.perf_counter()]  # of the stages
    given = {split: read_split(corpus, split) for split in HELD_OUT}
    held_out = {split: cleaning.text(text, corpus.source) for split, text in given.items()}
    # As training has these sentences: the references too are cleaned.
    val, test = (
        ParallelText(text.source, cleaning.lines(text.target, corpus.target))
        for text in held_out.values()
    )
    sides = frozenset([*val.source, *test.source]), frozenset([*val.target, *test.target])
    cleaner = Cleaner(cleaning, (corpus.source, corpus.target), sides)
    training = _read_training(corpus, cleaner, test, folder / UNFINISHED)
    ends.append(time.perf_counter())
    tokenizers = Tokenizers.train(training.words.sample(settings.sample_pairs), settings)
    tokenizers.save(folder)
    ends.append(time.perf_counter())
    languages = corpus.source, corpus.target
    encoded = _encode_all(training.words, held_out, tokenizers, settings, languages, folder)
    checksums, counts = encoded
    ends.append(time.perf_counter())
    seconds = dict(zip(("text", "vocabularies", "tokens"), np.diff(ends).tolist(), strict=True))
    leaked = training.words.leaked(test)
    suspicions = suspicions_of_corpus(training.words.copied(), leaked, test)
    if not corpus.generated:
        suspicions += _swapped(corpus, {"training": training.told, "validation": given["val"]})
        suspicions += _forms(corpus, cleaning, training.told, test)
    index = _index(corpus, training, held_out) | {
        "checksums": checksums,
        "tokenizers": [tokenizer.fingerprint for tokenizer in tokenizers],
        "suspicions": list(map(str, suspicions)),
    }
    statistics = _statistics(training, held_out, counts, seconds, len(leaked))
    write_json(folder / STATISTICS, statistics.model_dump())
    write_json(folder / INDEX, index)
    shutil.rmtree(folder / UNFINISHED)


def _statistics(
    training: TrainingText,
    held_out: Mapping[Split, ParallelText],
    counts: Mapping[tuple[str, str], SideCounts],
    seconds: dict[str, float],
    leaked: int,
) -> CorpusStatistics:
    bins = bins_of(counts.values())
    return CorpusStatistics(
        pairs_read=training.words.pairs_read,
        left_out={split: text.left_out for split, text in held_out.items()},
        cleaning=training.steps,
        seconds=seconds,
        leaked=leaked,
        bins=bins,
        splits={
            split: {side: side_statistics(counts[split, side], bins) for side in SIDES}
            for split in SPLITS
        },
    )


def _index(
    corpus: Corpus, training: TrainingText, held_out: Mapping[Split, ParallelText]
) -> dict[str, Any]:
    """Return the texts of validation and test, what was left out, and the baselines."""
    left_out = {step.step: step.count for step in training.steps if step.leaves_out and step.count}
    return {
        "train": asdict(ParallelText([], [], None, left_out, seen=training.told.seen)),
        **{split: asdict(text) for split, text in held_out.items()},
        "phrase_table": _phrase_table(corpus, training.aligned, held_out["test"]),
        "nearest_copies": nearest_copies(training.words.sample(MOST), held_out["test"].source),
    }


def for_each(
    work: Callable[[Part], Result], parts: Iterable[Part], workers: int
) -> Iterator[Result]:
    """Yield ``work(part)`` for each part, in order, from several processes.

    A single part is worked on in this process, since processes take a second to start. The first
    error of a worker ends the loop. Raises ``UserError`` if a worker is killed.
    """
    remaining = iter(parts)
    first = list(islice(remaining, 2))
    if len(first) < 2 or workers < 2:
        yield from map(work, chain(first, remaining))
        return
    context = get_context("forkserver")  # a process with threads must not fork
    try:
        with ProcessPoolExecutor(workers, context, _follow_parent) as pool:
            results: deque[Future[Result]] = deque()
            for part in chain(first, remaining):
                if len(results) >= WAITING * workers:
                    yield results.popleft().result()
                results.append(pool.submit(work, part))
            while results:
                yield results.popleft().result()
    except BrokenProcessPool as error:
        raise UserError(
            "a process that prepares the corpus was killed, perhaps for lack of memory: the same "
            "command continues where the preparation was"
        ) from error


def tokens_of_words(
    cut: Callable[[Sequence[str]], list[list[int]]], words: Sequence[str]
) -> Sequences:
    """Return the tokens of each word by ``cut``, which encodes lines."""
    parts = [
        Sequences.of(cut(words[first : first + WORDS_AT_ONCE]))
        for first in range(0, len(words), WORDS_AT_ONCE)
    ] or [Sequences.of([])]
    tokens, _, lengths = map(np.concatenate, zip(*parts, strict=True))
    return Sequences.joined(tokens, lengths)


def _read_training(
    corpus: Corpus, cleaner: Cleaner, test: ParallelText, folder: Path
) -> TrainingText:
    """Read the training text; what an interrupted preparation has cleaned is not cleaned again.

    Raises ``UserError`` if cleaning leaves nothing.
    """
    training = TrainingText(GrowingText(folder))
    text = training.words
    new = islice(_texts(corpus, training), len(text.blocks), None)
    tested = frozenset(zip(test.source, test.target, strict=True))
    # disable=None: no bar in files and pipes
    with tqdm(desc="reading", unit=" pairs", unit_scale=True, disable=None, leave=False) as bar:
        for block in for_each(partial(_clean, cleaner, tested), new, cores()):
            text.append(block)
            bar.update(block[0].read)
    steps = total_counts(step for block in text.blocks for step in block.steps)
    if cleaner.cleaning.duplicates:
        steps.append(text.leave_duplicates_out())
    if not text.pairs:
        raise UserError(nothing_left(steps))
    left_out, examples = training.told.left_out, training.told.examples
    seen = text.pairs_read + sum(left_out.values())
    limits = (
        StepCount(why, True, seen, count, examples.get(why, []), 0.0)
        for why, count in left_out.items()
    )
    training.steps = [*limits, *steps]
    return training


def _texts(corpus: Corpus, training: TrainingText) -> Iterator[Text]:
    told = training.told
    for text in read_parts(corpus, "train"):
        add_left_out(told, text)
        told.seen.update(text.seen)
        if text.alignments is not None:
            training.aligned.append(text)
        if len(text):
            if not len(told):
                told.source.extend(text.source[:CHECKED])
                told.target.extend(text.target[:CHECKED])
            yield text.source, text.target


def _clean(cleaner: Cleaner, tested: frozenset[Pair], text: Text) -> Block:
    # A line feed inside a line is white space.
    given_source, given_target = ([line.replace("\n", " ") for line in side] for side in text)
    (source, target), steps = cleaner.clean((given_source, given_target))
    copies = equal_sides(source, target)
    copied = examples_of(compress(source, copies))
    leaked = sorted(tested.intersection(zip(source, target, strict=True)))
    counts = BlockCounts(len(text[0]), len(source), steps, copied, leaked)
    duplicates = cleaner.cleaning.duplicates
    digests = pair_digests(source, target) if duplicates else np.zeros(0, np.uint64)
    return counts, (words_of(source), words_of(target)), copies, digests


def _follow_parent() -> None:
    """Leave interrupts to the parent, and end when the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    Thread(target=end_with_parent, daemon=True).start()


def _encode_all(
    text: GrowingText,
    held_out: Mapping[Split, ParallelText],
    tokenizers: Tokenizers,
    settings: TokenizerSettings,
    languages: tuple[str, str],
    folder: Path,
) -> tuple[Checksums, dict[tuple[str, str], SideCounts]]:
    checksums: Checksums = {}
    counts: dict[tuple[str, str], SideCounts] = {}
    frequencies = []
    for side, tokenizer, language in zip(SIDES, tokenizers, languages, strict=True):
        written, counts["train", side], of_words = _encode_training(
            text, side, tokenizer, language, folder
        )
        checksums |= written
        frequencies.append(of_words)
        if settings.dropout:
            assert isinstance(tokenizer, Bpe)
            checksums |= _save_words(text, side, tokenizer, folder)
        for split, held in held_out.items():
            tokens, words = encode_lines(tokenizer, getattr(held, side))
            checksums |= _save(folder, f"{split}.{side}", tokens)
            counts[split, side] = SideCounts(
                np.bincount(lengths_in_words(getattr(held, side), language)),
                np.bincount(tokens.lengths),
                int(np.count_nonzero(tokens.tokens == UNK)),
                len(words.distinct),
            )
    # Without line breaks: the writer of indented JSON takes ten times as long.
    write_text(folder / WORD_COUNTS, json.dumps(_word_counts(*frequencies), ensure_ascii=False))
    return checksums | {WORD_COUNTS: checksum(folder / WORD_COUNTS)}, counts


def _encode_training(
    text: GrowingText, side: str, tokenizer: Tokenizer, language: str, folder: Path
) -> tuple[Checksums, SideCounts, dict[str, int]]:
    """Write one side of the training text; return also the frequency of each word."""
    words = text.words(side)
    tokens = tokens_of_words(tokenizer.encode, words)
    frequencies = np.zeros(len(words), np.int64)
    letters = np.array(list(map(len, words)), np.int64)
    in_words, in_tokens = [], []
    for lines in text.lines(side):
        frequencies += np.bincount(lines.tokens, minlength=len(words))
        in_line = sums(letters[lines.tokens], lines.lengths)
        pieces = lines.lengths.astype(np.int64)
        in_words.append(_narrow(words_by_letters(pieces, in_line, language)))
        in_tokens.append(_narrow(sums(tokens.lengths[lines.tokens], lines.lengths)))
    used = np.flatnonzero(frequencies)
    largest = int(tokens.select(used).flat().max(initial=0))
    lengths = np.concatenate(in_tokens)
    cut = (tokens.select(lines.tokens).flat() for lines in text.lines(side))
    checksums = save_sequences(folder, f"train.{side}", lengths, cut, largest)
    unknown = int(sums(tokens.tokens == UNK, tokens.lengths) @ frequencies)
    counted = {words[number]: int(frequencies[number]) for number in used.tolist()}
    per_line = np.bincount(np.concatenate(in_words)), np.bincount(lengths)
    return checksums, SideCounts(*per_line, unknown, len(used)), counted


def _save_words(text: GrowingText, side: str, tokenizer: Bpe, folder: Path) -> dict[str, int]:
    words = text.words(side)
    lengths = np.concatenate([_narrow(lines.lengths) for lines in text.lines(side)])
    numbers = (lines.tokens for lines in text.lines(side))
    name, most = f"train.{side}.words", max(0, len(words) - 1)
    characters = tokens_of_words(tokenizer.characters, words)
    return {
        **save_sequences(folder, name, lengths, numbers, most),
        **_save(folder, f"train.{side}.characters", characters),
    }


def encode_lines(tokenizer: Tokenizer, lines: Sequence[str]) -> tuple[Sequences, WordNumbers]:
    """Return the tokens of each line, equal to ``tokenizer.encode`` and faster, and its words."""
    words = words_of(lines)
    tokens = tokens_of_words(tokenizer.encode, words.distinct)
    numbers, lengths = words.numbers.tokens, words.numbers.lengths
    cut = tokens.select(numbers).flat()
    return Sequences.joined(cut, sums(tokens.lengths[numbers], lengths)), words


def _save(folder: Path, name: str, sequences: Sequences) -> dict[str, int]:
    largest = int(sequences.tokens.max(initial=0))
    return save_sequences(folder, name, sequences.lengths, [sequences.tokens], largest)


def _narrow(lengths: Integers) -> Integers:
    return lengths.astype(np.min_scalar_type(int(lengths.max(initial=0))))


def _word_counts(source: Mapping[str, int], target: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return the frequency of each whitespace-separated word, sorted."""
    counts = {"source": source, "reference": target}
    return {name: dict(sorted(each.items())) for name, each in counts.items()}


def _swapped(corpus: Corpus, texts: Mapping[str, ParallelText]) -> Iterator[Suspicion]:
    for split, text in texts.items():
        found, checked = swapped(text, (corpus.source, corpus.target))
        what = f"{split} pairs have the languages swapped (data.source, data.target)"
        if found:
            yield Suspicion(what, len(found), checked, examples_of(found))


def _forms(
    corpus: Corpus, cleaning: Cleaning, training: ParallelText, test: ParallelText
) -> Iterator[Suspicion]:
    """Yield in which form the test set is and training is not, and text that spaces do not cut."""
    for side, language in zip(SIDES, (corpus.source, corpus.target), strict=True):
        of_training = cleaning.lines(getattr(training, side), language)
        of_test: list[str] = getattr(test, side)
        yield from form_suspicions({f"training {side}s": of_training, f"test {side}s": of_test}, {})
        if letters_of_word(language) is None and written_without_spaces(of_test):
            what = (
                f"test {side}s are written without spaces, so that each counts as one word; "
                f"data.{side}={language} is no such language"
            )
            yield Suspicion(what, len(of_test), len(of_test), examples_of(of_test))


def _phrase_table(
    corpus: Corpus, aligned: Sequence[ParallelText], test: ParallelText
) -> list[str] | None:
    """Translate the test set by a phrase table; None for training text without gold links."""
    if not aligned:
        return None
    try:
        table = PhraseTable.of(join_texts(aligned))
    except ValueError as error:
        raise UserError(f"data={corpus.name}, train: gold alignments, {error}") from None
    return [table.translate(line) for line in test.source]
