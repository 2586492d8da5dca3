"""A corpus in parts: prepared as at once, by several processes, and after a kill."""

import json
import os
import resource
import time
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from datamodules.cleaning import Cleaning
from datamodules.corpus import Corpus, ParallelText
from datamodules.encoded_corpus import EncodedCorpus
from datamodules.errors import UserError
from datamodules.preparation import training_text, workers
from datamodules.tokenization import TokenizerSettings

WORDS = [
    "der",
    "Hund",
    "l'homme",
    "n'aime",
    "pas.",
    "(sehr)",
    "3.5",
    "1,000",
    "a.b",
    "-",
    "2-3",
    "…",
]
SETTINGS = TokenizerSettings("words", 60, 1, shared=False)


def text(count, seed):
    random = np.random.default_rng(seed)
    source, target = (
        [" ".join(random.choice(WORDS, n)) for n in random.integers(1, 9, count)] for _ in range(2)
    )
    return ParallelText(source, target)


class InParts(Corpus):
    """A training text of 100 pairs in parts of some size; ``broken`` part numbers fail."""

    name, source, target = "parts", "de", "en"

    def __init__(self, size, broken=()):
        self.size, self.broken = size, broken
        self.train = text(100, 0)

    def split(self, name):
        return self.train if name == "train" else text(20, 1)

    def parts(self, name):
        whole = self.split(name)
        for number, first in enumerate(range(0, len(whole), self.size)):
            if number in self.broken:
                raise KeyboardInterrupt
            lines = slice(first, first + self.size)
            left_out, examples = {"empty": 1}, {"empty": [f"part {number}"]}
            yield ParallelText(whole.source[lines], whole.target[lines], None, left_out, examples)


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
    return everything(EncodedCorpus.of(InParts(100), Cleaning(), SETTINGS, tmp_path / "whole"))


@pytest.mark.parametrize("size", [100, 99, 7])
def test_parts_make_no_difference(tmp_path, whole, size):
    prepared = EncodedCorpus.of(InParts(size), Cleaning(), SETTINGS, tmp_path / "parts")
    assert everything(prepared) == whole
    parts = -(-100 // size)
    assert prepared.text["train"].left_out == {"empty": parts}
    [limit] = json.loads((prepared.folder / "statistics.json").read_text())["cleaning"]
    assert (limit["seen"], limit["count"]) == (100 + parts, parts)
    assert limit["examples"] == [f"part {number}" for number in range(parts)][:3]
    assert not (tmp_path / "parts" / "parts").exists()


def test_a_killed_preparation_goes_on(tmp_path, whole):
    folder = tmp_path / "killed"
    with pytest.raises(KeyboardInterrupt):
        EncodedCorpus.of(InParts(7, broken=[5]), Cleaning(), SETTINGS, folder)
    assert not (folder / "index.json").exists()
    kept = folder / "parts/00000.text.json"
    kept.write_text(kept.read_text().replace('"read":7', '"read":1007'))
    (folder / "parts/00001.numbers.json").write_text('{"checksums": {}}')  # of another version
    prepared = EncodedCorpus.of(InParts(7), Cleaning(), SETTINGS, folder)
    assert everything(prepared) == whole
    made = json.loads((folder / "statistics.json").read_text())
    assert made["pairs_read"] == 1100  # the part was kept


@pytest.mark.long
def test_open_files_do_not_grow_with_the_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(training_text, "cores", lambda: 1)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(int(file.name) for file in Path("/proc/self/fd").iterdir()) + 40
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, limits[1]))
    settings = TokenizerSettings("bpe", 100, 1, dropout=0.1)
    try:
        made = EncodedCorpus.of(InParts(1), Cleaning(duplicates=True), settings, tmp_path / "x")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len(made.encoded["train"]) > 80


def test_what_a_killed_process_half_wrote_is_removed(tmp_path):
    left = tmp_path / "x" / ".train.source.tokens.99999.part.npy"
    left.parent.mkdir()
    left.touch()
    EncodedCorpus.of(InParts(100), Cleaning(), SETTINGS, tmp_path / "x")
    assert not left.exists()


def test_words_are_counted_as_bleu_cuts_whole_lines(whole):
    tokenize = Tokenizer13a()
    counted: Counter[str] = Counter()
    for line in InParts(1).train.target:
        counted.update(tokenize(line).split())
    assert whole[2]["target"] == counted


def test_vocabularies_are_learned_from_a_sample(tmp_path):
    few = TokenizerSettings("words", 60, 1, shared=False, sample_pairs=10)
    prepared = EncodedCorpus.of(InParts(7), Cleaning(), few, tmp_path / "few")
    train = InParts(7).train
    words = {word for line in train.source[::10] for word in line.split()}
    assert {w for w in WORDS if w.isalpha() and "▁" + w in prepared.tokenizers.source.numbers} == {
        w for w in words if w.isalpha()
    }


def test_no_pairs_at_all(tmp_path):
    corpus = InParts(7)
    corpus.train = ParallelText([], [])
    with pytest.raises(UserError, match=r"InParts\.parts\('train'\) has no sentences"):
        EncodedCorpus.of(corpus, Cleaning(), SETTINGS, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_an_error_of_a_worker_ends_the_work():
    with pytest.raises(ZeroDivisionError):
        list(workers.for_each((1).__truediv__, [1, 2, 0, 4, 5, 6], 2))


def test_a_killed_worker_is_one_line():
    with pytest.raises(UserError, match="a process that prepares the corpus was killed"):
        list(workers.for_each(os._exit, [1, 1, 1], 2))


@pytest.mark.parametrize("count", [0, 1, 2, 9])
@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_order(count, processes):
    assert list(workers.for_each(abs, range(-count, 0), processes)) == list(range(count, 0, -1))


@pytest.mark.long
def test_no_worker_outlives_a_killed_preparation(tmp_path):
    process = get_context("forkserver").Process(target=work_on_and_on, args=(tmp_path,))
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
    list(workers.for_each(leave_a_trace, [folder] * 1000, 2))


def leave_a_trace(folder):
    (folder / str(os.getpid())).touch()
    time.sleep(0.05)


def lives(process):
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
