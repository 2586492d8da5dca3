"""A corpus in blocks: prepared as at once, by several processes, and after a kill."""

import json
import os
import random
import resource
import time
import zlib
from collections import Counter
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from datamodules import encoded_corpus, prepare
from datamodules.corpus import ParallelText
from datamodules.encoded_corpus import EncodedCorpus
from datamodules.errors import UserError
from datamodules.text import TextCorpus
from datamodules.tokenization import Bpe, TokenizerSettings, Words
from datamodules.translation_data import TranslationData
from lightning_modules.metrics.words import PLAIN
from tests.datamodules.samples import InParts, random_text
from tests.helpers.data_settings import NO_CLEANING, batch_sizes, cleaning_settings

WORDS = ["der", "Hund", "l'homme", "n'aime", "pas.", "(sehr)"]
WORDS += ["3.5", "1,000", "a.b", "-", "2-3", "…"]
SETTINGS = TokenizerSettings("words", 60, 1)
EVERYTHING = cleaning_settings(
    unicode=True, punctuation=True, ratio=3, copies=True, held_out=True, duplicates=True
)
context = get_context("forkserver")
context.set_forkserver_preload(["tests.datamodules.test_prepare"])


TRAIN, TEST = random_text(WORDS, 100, 0), random_text(WORDS, 20, 1)


def corpus_of(size, broken=()):
    """Return a corpus in parts of which each leaves out a pair."""
    return InParts(
        TRAIN,
        TEST,
        size,
        broken=broken,
        told=lambda number: {"left_out": {"empty": 1}, "examples": {"empty": [f"part {number}"]}},
    )


def prepared_from(corpus, folder, settings=SETTINGS, cleaned=NO_CLEANING):
    return EncodedCorpus.of(corpus, cleaned, settings, folder)


def everything(corpus):
    pairs = corpus.encoded["train"]
    sides = [
        [side.tokens[a : a + n].tolist() for a, n in zip(side.starts, side.lengths, strict=True)]
        for side in pairs.sides
    ]
    fingerprints = [tokenizer.fingerprint for tokenizer in corpus.tokenizers]
    return sides, fingerprints, corpus.word_counts, corpus.suspicions, corpus.text["test"]


@pytest.fixture
def whole(tmp_path):
    return everything(prepared_from(corpus_of(100), tmp_path / "whole"))


@pytest.mark.parametrize("size", [99, 7])
def test_parts_make_no_difference(tmp_path, whole, size):
    prepared = prepared_from(corpus_of(size), tmp_path / "parts")
    assert everything(prepared) == whole
    parts = -(-100 // size)
    assert prepared.text["train"].left_out == {"empty": parts}
    [limit] = json.loads((prepared.folder / "statistics.json").read_text())["cleaning"]
    assert (limit["seen"], limit["count"]) == (100 + parts, parts)
    assert limit["examples"] == [f"part {number}" for number in range(parts)][:3]
    assert not (prepared.folder / prepare.UNFINISHED).exists()


def test_an_interrupted_preparation_continues_after_the_last_finished_block(tmp_path, whole):
    folder = tmp_path / "killed"
    with pytest.raises(KeyboardInterrupt):
        prepared_from(corpus_of(7, broken=[9]), folder)
    assert not (folder / "index.json").exists()
    unfinished = folder / prepare.UNFINISHED
    index = unfinished / "blocks.jsonl"
    index.write_text(index.read_text().replace('"read": 7', '"read": 1007', 1))
    for file in unfinished.iterdir():  # what a killed process has begun to write
        with file.open("ab") as content:
            content.write(b'{"sizes')
    prepared = prepared_from(corpus_of(7), folder)
    assert everything(prepared) == whole
    made = json.loads((folder / "statistics.json").read_text())
    assert made["pairs_read"] == 1100  # the first block was not cleaned again


def test_what_a_killed_process_half_wrote_is_removed(tmp_path):
    left = tmp_path / "x" / ".train.source.tokens.99999.part.npy"
    left.parent.mkdir()
    left.touch()
    prepared_from(corpus_of(100), tmp_path / "x")
    assert not left.exists()


def test_words_are_counted_as_bleu_cuts_whole_lines(whole):
    tokenize, train, counts = Tokenizer13a(), TRAIN, whole[2]
    assert counts == {
        "source": Counter(word for line in train.source for word in line.split()),
        "reference": Counter(word for line in train.target for word in line.split()),
    }
    tokens = Counter(word for line in train.target for word in tokenize(line).split())
    assert PLAIN.count_tokens(counts["reference"]) == tokens


def test_vocabularies_are_learned_from_a_sample(tmp_path):
    few = TokenizerSettings("words", 60, 1, sample_pairs=10)
    prepared = prepared_from(corpus_of(7), tmp_path / "few", few)
    words = {word for line in TRAIN.source[::10] for word in line.split()}
    assert {w for w in WORDS if w.isalpha() and "▁" + w in prepared.tokenizers.source.numbers} == {
        w for w in words if w.isalpha()
    }


def test_no_pairs_at_all(tmp_path):
    corpus = InParts(ParallelText([], []), TEST, 7)
    with pytest.raises(UserError, match=r"InParts\.parts\('train'\) has no sentences"):
        prepared_from(corpus, tmp_path / "none")
    assert not (tmp_path / "none").exists()


TEXT = ["Der Hund , (sehr) müde ; sieht l'homme .", "<2fr> n'aime pas.", "▁ a▁b  c\u00a0d\u2028e"]
TOKENIZERS = {"words": Words.train(TEXT, 60, 1), "bpe": Bpe.train(TEXT, 60, 1)}
LINES = st.lists(
    st.text(st.sampled_from("Hund ,.'▁<2fr>é\u2028\t\u00a0x"), max_size=30), max_size=8
)


@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(derandomize=True, deadline=None, database=None)
@given(LINES)
def test_tokens_of_lines_are_those_of_the_tokenizer(kind, lines):
    tokenizer = TOKENIZERS[kind]
    with patch.object(prepare, "WORDS_AT_ONCE", 3):
        tokens, _ = prepare.encode_lines(tokenizer, [*TEXT, *lines, *TEXT])
    found = np.split(tokens.tokens, np.cumsum(tokens.lengths)[:-1])
    assert [part.tolist() for part in found] == tokenizer.encode([*TEXT, *lines, *TEXT])


def test_an_error_of_a_worker_ends_the_work():
    with pytest.raises(ZeroDivisionError):
        list(prepare.for_each((1).__truediv__, [1, 2, 0, 4, 5, 6], 2))


def test_a_killed_worker_is_one_line():
    with pytest.raises(UserError, match="a process that prepares the corpus was killed"):
        list(prepare.for_each(os._exit, [1, 1, 1], 2))


@pytest.mark.parametrize(("count", "processes"), [(0, 2), (1, 2), (9, 1), (9, 2)])
def test_results_come_in_order(count, processes):
    assert list(prepare.for_each(abs, range(-count, 0), processes)) == list(range(count, 0, -1))


@pytest.mark.long
def test_no_worker_outlives_a_killed_preparation(tmp_path):
    process = context.Process(target=work_on_and_on, args=(tmp_path,))
    process.start()
    while len(working := [int(file.name) for file in tmp_path.iterdir()]) < 2:
        time.sleep(0.01)
    process.kill()
    process.join()
    until = time.monotonic() + 20
    while any(map(lives, working)):
        assert time.monotonic() < until
        time.sleep(0.01)


def work_on_and_on(folder):
    list(prepare.for_each(leave_a_trace, [folder] * 1000, 2))


def leave_a_trace(folder):
    (folder / str(os.getpid())).touch()
    time.sleep(0.05)


def lives(process):
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


GOLDEN = {"plain": ("f2706d4b53dc", 318875943), "cleaned": ("ae6fcb643c87", 3305441129)}
"""Fingerprint, and CRC-32 of the target tokens."""


@pytest.mark.parametrize(("name", "cleaned"), [("plain", NO_CLEANING), ("cleaned", EVERYTHING)])
def test_fingerprint_and_numbers_change_on_purpose_alone(tmp_path, name, cleaned):
    """Another fingerprint makes every user prepare the corpus anew.

    Other numbers under an old fingerprint would mix with old stores, so that ``FORMAT`` in
    ``translation_data.py`` must be raised.
    """
    lines = ["ein Hund, der bellt", "zwei «Hunde»", "drei Hunde bellen", "ein Hund, der bellt"]
    for split, pairs in {"train": lines, "val": ["vier Hunde"], "test": ["fünf Hunde"]}.items():
        content = "".join(f"{line}\n" for line in pairs)
        (tmp_path / f"{split}.de").write_text(content)
        (tmp_path / f"{split}.en").write_text(content.upper())
    data = TranslationData(
        TextCorpus(tmp_path, "de", "en", name="dogs"),
        cleaned,
        TokenizerSettings("bpe", 60, 1),
        batch_sizes(99, 99),
        None,
        1,
        tmp_path / "cache",
    )
    tokens = data.encoded_corpus.encoded["train"].tgt.tokens
    assert (data.fingerprint, zlib.crc32(tokens.astype("<u2").tobytes())) == GOLDEN[name]


FILES, PAIRS = 6, 1500
TIMES = {"statistics.json"}  # files that differ between two preparations
BPE = TokenizerSettings("bpe", 200, 1)
EXHAUSTIVE = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def syllables(tmp_path_factory):
    """Text in several files, each of which is a block."""
    root = tmp_path_factory.mktemp("text")
    draw = random.Random(1)
    for name in ["val", "test", *(f"train{number}" for number in range(FILES))]:
        lines = [
            " ".join("".join(draw.choices(["ba", "do", "é", "ku", "«la»"], k=2)) for _ in range(n))
            for n in draw.choices(range(1, 9), k=PAIRS)
        ]
        (root / f"{name}.xx").write_text("".join(f"{line}\n" for line in lines))
        (root / f"{name}.yy").write_text("".join(f"{line} a\n" for line in lines))
    return root


def prepare_files(root: Path, folder: Path, most_bytes: int = resource.RLIM_INFINITY) -> Any:
    """Prepare the text in ``folder``, with files of at most ``most_bytes``."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))
    corpus = TextCorpus(root, "xx", "yy", files={"train": ["train*"]})
    return EncodedCorpus.of(corpus, EVERYTHING, BPE, folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name not in TIMES}


@pytest.fixture(scope="module")
def untouched(syllables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "text"
    started = time.monotonic()
    prepare_files(syllables, folder)
    return contents(folder), time.monotonic() - started


@pytest.mark.long
@pytest.mark.parametrize(
    "share", [pytest.param(0.1, marks=EXHAUSTIVE), 0.4, pytest.param(0.8, marks=EXHAUSTIVE)]
)
def test_a_killed_preparation_ends_as_if_never_killed(syllables, untouched, tmp_path, share):
    expected, seconds = untouched
    folder = tmp_path / "text"
    process = context.Process(target=prepare_files, args=(syllables, folder))
    process.start()
    while not (folder / prepare.UNFINISHED).is_dir():
        time.sleep(0.01)
    time.sleep(share * seconds)
    process.kill()
    process.join()
    prepare_files(syllables, folder)
    assert contents(folder) == expected


def prepare_and_tell(root: Path, folder: Path) -> None:
    """Prepare the text, and leave a file beside ``folder`` if this process did the work."""

    def build(*given: Any) -> None:
        (folder.parent / f"built-by-{os.getpid()}").touch()
        prepare.build(*given)

    with patch.object(encoded_corpus, "build", build):
        prepare_files(root, folder)


@pytest.mark.long
def test_two_processes_prepare_once(syllables, untouched, tmp_path):
    folder = tmp_path / "text"
    both = [context.Process(target=prepare_and_tell, args=(syllables, folder)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert len(list(tmp_path.glob("built-by-*"))) == 1
    assert contents(folder) == untouched[0]


@pytest.mark.long
@pytest.mark.parametrize("most_bytes", [2_000, pytest.param(60_000, marks=EXHAUSTIVE)])
def test_a_full_disk_is_one_line_and_the_preparation_continues(
    syllables, untouched, tmp_path, most_bytes
):
    folder = tmp_path / "text"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(UserError, match=r"cannot be written \(File too large\); .*cache_dir="):
            prepare_files(syllables, folder, most_bytes)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not (folder / "index.json").exists()
    prepare_files(syllables, folder)
    assert contents(folder) == untouched[0]


def test_lengths_in_a_language_without_spaces_come_from_letters(tmp_path):
    for name, count in {"train": 12, "val": 2, "test": 2}.items():
        (tmp_path / f"{name}.en").write_text("a dog sees Anna .\n" * count)
        (tmp_path / f"{name}.zh").write_text("一只小狗看见安娜\n" * count)
    for target, words in (("zh", 4), ("xx", 1)):
        (tmp_path / "test.xx").write_text((tmp_path / "test.zh").read_text())
        for name in ("train", "val"):
            (tmp_path / f"{name}.xx").write_text((tmp_path / f"{name}.zh").read_text())
        prepared = prepared_from(TextCorpus(tmp_path, "en", target), tmp_path / f"made-{target}")
        for split in ("train", "test"):
            sides = prepared.statistics.splits[split]
            assert sides["source"].in_words.longest == 5
            assert sides["target"].in_words.longest == words
        unspaced = [line for line in prepared.suspicions if "written without spaces" in line]
        assert len(unspaced) == (target == "xx")
