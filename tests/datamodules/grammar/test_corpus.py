"""The built-in corpus as a whole: splits, reproducibility, presets, bad input."""

import gc
import hashlib
import os
import re
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from itertools import islice
from multiprocessing import get_context
from typing import Any, TypeVar

import pytest
from pydantic import ValidationError

from datamodules.corpus import SPLITS
from datamodules.errors import UserError
from datamodules.grammar import GrammarCorpus, disjoint
from datamodules.grammar import corpus as corpus_module
from datamodules.grammar.corpus import EDITION
from datamodules.grammar.disjoint import clause_text, template
from datamodules.grammar.knobs import Knobs
from datamodules.grammar.languages import find_language
from datamodules.grammar.languages.language import Cache
from datamodules.grammar.meaning.phrases import Clause, inner_clauses
from tests.datamodules.grammar.samples import SMALL, parsed_links, split
from tests.helpers.data_settings import grammar_corpus, grammar_preset
from tests.helpers.machine import slowness

SMALLEST_OBJECT = 24  # bytes: less than any string, number or tuple that a pair could leave behind
Result = TypeVar("Result")


@pytest.mark.long
@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("fr", "en"), ("en", "de")])
def test_splits_share_no_sentence(source, target):
    train, val, test = (split(name, source, target).source for name in SPLITS)
    assert len(set(val)) == len(val) == SMALL["val"]
    assert len(set(test)) == len(test) == SMALL["test"]
    assert len(train) == SMALL["train"]
    assert set(train).isdisjoint(val + test)
    assert set(val).isdisjoint(test)


@pytest.mark.parametrize("source", ["en", "fr"])
def test_test_sentences_fill_every_bucket(source):
    text = grammar_corpus(10, 6, 180, source=source, target="de").split("test")
    buckets = Counter((len(line.split()) - 1) // 10 for line in text.source)
    assert buckets == dict.fromkeys(range(6), 30)


def test_the_longest_sentence_is_a_setting():
    text = grammar_corpus(10, 6, 20, longest=195).split("test")
    buckets = Counter((len(line.split()) - 1) // 10 for line in text.source)
    assert buckets == dict.fromkeys(range(20), 1)
    assert max(len(line.split()) for line in text.source) <= 195


@pytest.mark.long
def test_training_lengths():
    text = split("train")
    lengths = [len(line.split()) for line in text.source]
    assert min(lengths) >= 2
    assert max(lengths) <= 50
    assert sum(length <= 10 for length in lengths) / len(lengths) == pytest.approx(0.75, rel=0.1)
    assert set(text.left_out) == {"longer than 50 words"}
    assert 50 < text.left_out["longer than 50 words"] < 400


@pytest.mark.long
def test_training_limit_counts_what_it_leaves_out():
    arguments = {**SMALL, "train": 500, "val": 12, "test": 60}
    whole = grammar_corpus(**arguments, train_max_words=None).split("train")
    short = grammar_corpus(**arguments, train_max_words=20).split("train")
    assert max(len(line.split()) for line in short.source) <= 20
    left_out = short.left_out["longer than 20 words"]
    kept = [line for line in whole.source if len(line.split()) <= 20]
    assert kept == short.source[: len(kept)]
    assert left_out > 500 - len(kept)


def test_the_other_direction_swaps_the_sides():
    english, french = (
        islice(grammar_corpus(source=source, target=target).training_pairs(), 50)
        for source, target in (("en", "fr"), ("fr", "en"))
    )
    for one, other in zip(english, french, strict=True):
        assert (one.source, one.target) == (other.target, other.source)
        turned = sorted((j, i, sure) for i, j, sure in parsed_links(one.links))
        assert parsed_links(other.links) == turned


def digest_and_fingerprint() -> tuple[str, str]:
    corpus = grammar_corpus(100, 30, 30, seed=3, paraphrase=0.2, noise=0.2, open_words=0.2)
    digest = hashlib.sha256()
    for name in SPLITS:
        text = corpus.split(name)
        digest.update("\n".join([*text.source, *text.target, *(text.alignments or [])]).encode())
    return digest.hexdigest(), corpus.fingerprint


def in_a_new_process(task: Callable[[], Result]) -> Result:
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(task).result()


def test_the_same_in_every_process(monkeypatch):
    other = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    monkeypatch.setenv("PYTHONHASHSEED", other)
    assert in_a_new_process(digest_and_fingerprint) == digest_and_fingerprint()


def test_seeds_write_other_sentences():
    one, other = (grammar_corpus(100, 6, 6, seed=seed).split("train").source for seed in (1, 2))
    assert len(set(one) & set(other)) < 10


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "target", "digest"),
    [("en", "fr", "b2ba13c507a2"), ("fr", "en", "608b2e4e8b5a"), ("en", "de", "0c4b9cc98172")],
)
def test_an_edition_is_its_sentences(source, target, digest):
    """If this test fails, the sentences have changed: raise ``EDITION`` and set new digests."""
    lines = [
        line
        for name in SPLITS
        for part in (split(name, source, target).source, split(name, source, target).target)
        for line in part
    ]
    written = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
    assert (EDITION, written) == (7, digest)


def test_fingerprint_names_the_arguments():
    base: dict[str, Any] = {"train": 10, "val": 6, "test": 6, "seed": 0}
    others: list[dict[str, Any]] = [{"train": 11}, {"val": 7}, {"test": 7}]
    others += [{"seed": 1}, {"train_max_words": 40}, {"source": "fr", "target": "en"}]
    others += [{"disjoint": "clauses"}, {"longest": 70}, {"vocabulary": 700}, {"zipf": 1.1}]
    others += [{field.name: 0.123} for field in fields(Knobs) if field.type is float]
    prints = [grammar_corpus(**{**base, **other}).fingerprint for other in [{}, *others]]
    assert len(set(prints)) == len(prints)
    assert grammar_corpus(**base).fingerprint == prints[0]
    assert all(re.fullmatch("[0-9a-f]{12}", value) for value in prints)


@pytest.mark.parametrize(
    ("arguments", "override"),
    [
        ({"target": "en"}, "data.target=en"),
        ({"target": "eo"}, "data.target=eo"),
        ({"source": "eo"}, "data.source=eo"),
        ({"train_max_words": 2}, "data.train_max_words=2"),
    ],
)
def test_wrong_arguments(arguments, override):
    with pytest.raises(UserError, match=f"^{override}:") as raised:
        grammar_corpus(**{**SMALL, **arguments}).split("test")
    assert "\n" not in str(raised.value)


def test_settings_that_leave_no_clause_to_a_split(monkeypatch):
    monkeypatch.setattr(disjoint, "HELD_OUT", 1)
    corpus = grammar_corpus(5, 3, 6, disjoint="templates")
    assert len(corpus.split("test")) == 6
    monkeypatch.setattr(corpus_module, "MOST_TRIES", 5)
    with pytest.raises(UserError, match=r"^data\.disjoint=templates: ") as raised:
        corpus.split("train")
    assert "\n" not in str(raised.value)


def test_more_sentences_than_there_are(monkeypatch):
    monkeypatch.setattr(corpus_module, "buckets", lambda longest: [(60, 60)])
    monkeypatch.setattr(corpus_module, "MOST_TRIES", 1)
    with pytest.raises(UserError, match=r"^data\.test_size=600: ") as raised:
        grammar_corpus(5, 3, 600).split("test")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "wrong", [{"val_size": "none"}, {"zipf": "high"}, {"disjoint": "words"}, {"colour": 1}]
)
def test_wrong_values(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        grammar_corpus(**wrong)


def caches() -> list[Cache[Any, Any]]:
    gc.collect()
    return [kept for kept in gc.get_objects() if type(kept) is Cache]


def kept_by_a_stream() -> float:
    """Return the bytes that a pair leaves behind, besides the pieces, whose number is bounded."""
    Cache.LIMIT = 300
    corpus = grammar_corpus(10, 6, 6, open_words=0.5, vocabulary=60, longest=12, zipf=0.0)
    stream = corpus.training_pairs()

    def held(pairs: int) -> int:
        """Bytes held after that many more pairs."""
        for _ in islice(stream, pairs):
            pass
        for kept in caches():
            assert len(kept) <= Cache.LIMIT
            kept.clear()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    first = held(10_000)  # fills the tables but a few rare ones
    return (held(5000) - first) / 5000


@pytest.mark.long
@pytest.mark.exhaustive
def test_streamed_pairs_take_no_memory():
    """In a process of its own: other tests leave pieces of other corpora."""
    assert in_a_new_process(kept_by_a_stream) < SMALLEST_OBJECT


@pytest.mark.parametrize("name", ["grammar_de", "grammar_easy", "grammar_hard", "grammar_tiny"])
def test_presets(name):
    corpus = grammar_corpus(
        **grammar_preset(name) | {"train_size": 100, "val_size": 20, "test_size": 40}
    )
    assert len(corpus.split("train")) == 100
    assert len(corpus.split("test")) == 40


def clauses(corpus: GrammarCorpus, name: str, count: int) -> list[Clause]:
    sentences = corpus._sentences(name)  # type: ignore[arg-type]
    meanings = [corpus._pair(sentences, 5 + number % 30).meaning for number in range(count)]
    return [
        inner
        for meaning in meanings
        for joined in meaning
        for inner in inner_clauses(joined.clause)
    ]


@pytest.mark.long
@pytest.mark.parametrize("source", ["en", "fr"])
def test_clauses_of_the_test_set_are_not_in_training(source):
    target = "fr" if source == "en" else "en"
    language = find_language(source)
    shared = {}
    for units in ("sentences", "clauses"):
        corpus = grammar_corpus(
            **SMALL, source=source, target=target, disjoint=units, vocabulary=60
        )
        train, test = (
            {clause_text(clause, language) for clause in clauses(corpus, name, count)}
            for name, count in (("train", 3000), ("test", 200))
        )
        shared[units] = len(train & test) / len(test)
    assert shared["clauses"] == 0
    assert shared["sentences"] > 0.01


def test_templates_of_the_test_set_are_not_in_training():
    corpus = grammar_corpus(**SMALL, disjoint="templates")
    train, test, val = (
        {template(clause) for clause in clauses(corpus, name, count)}
        for name, count in (("train", 1000), ("test", 60), ("val", 60))
    )
    assert not train & test
    assert not train & val
    assert len(test) > 50


@pytest.mark.long
def test_the_shares_are_told():
    arguments = SMALL | {"train": 1500, "val": 12, "test": 60}
    arguments |= {"vocabulary": 60, "zipf": 1.5}
    usual = grammar_corpus(**arguments).split("train").seen
    assert set(usual) == {"clauses", "templates"}
    assert 0 < usual["clauses"] < usual["templates"] < 1
    assert grammar_corpus(**arguments, disjoint="clauses").split("train").seen["clauses"] == 0
    assert grammar_corpus(**arguments, disjoint="templates").split("train").seen["templates"] == 0


PAIRS = 3_000
LEAST_WORDS_A_SECOND = 50_000
"""Source and target words on one core; twice as many on an idle machine."""


@pytest.mark.long
@pytest.mark.timed
@pytest.mark.parametrize("target", ["fr", "de"])
def test_pairs_are_written_fast(target):
    started = time.perf_counter()
    pairs = grammar_corpus(target=target, short_share=0.5).training_pairs()  # of 17 words
    next(pairs)
    assert time.perf_counter() - started < slowness()  # the tables
    started = time.process_time()
    words = sum(pair.source_words + pair.target_words for pair in islice(pairs, PAIRS))
    seconds = time.process_time() - started
    assert words / seconds > LEAST_WORDS_A_SECOND / slowness()
