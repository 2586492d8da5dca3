"""The built-in corpus as a whole: word links, splits, reproducibility and speed."""

import hashlib
import math
import os
import re
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from datamodules.corpus import SPLITS
from datamodules.errors import UserError
from datamodules.grammar import GrammarCorpus
from datamodules.grammar.corpus import EDITION
from datamodules.grammar.lexicon.words import ADJECTIVES, NOUNS
from tests.datamodules.grammar.samples import SMALL, bare_words, parsed_links, split


@pytest.mark.parametrize("source", ["en", "fr"])
@pytest.mark.parametrize("name", SPLITS)
def test_every_word_is_linked(source, name):
    text = split(name, source)
    assert text.alignments is not None
    for read, written, line in zip(text.source, text.target, text.alignments, strict=True):
        pairs = parsed_links(line)
        assert pairs == sorted(set(pairs))
        assert {i for i, _ in pairs} == set(range(len(read.split())))
        assert {j for _, j in pairs} == set(range(len(written.split())))


def translations() -> dict[str, set[str]]:
    """Return the French words of English nouns and adjectives that are not part of compounds."""
    french: dict[str, set[str]] = {}
    for noun in NOUNS:
        if " " not in noun.english + noun.french:
            french.setdefault(noun.english, set()).add(noun.french.lstrip("*"))
            french.setdefault(noun.english_plural, set()).add(noun.french_plural.lstrip("*"))
    for item in ADJECTIVES:
        forms = {item.masculine, item.feminine, item.liaison}
        french.setdefault(item.english.lower(), set()).update(
            forms, {item.masculine_plural, item.feminine_plural}
        )
    compounds = {word for noun in NOUNS if " " in noun.english for word in noun.english.split()}
    return {word: forms for word, forms in french.items() if word and word not in compounds}


def test_content_words_link_to_their_translation():
    known, text, checked = translations(), split("train"), 0
    for read, written, line in zip(text.source, text.target, text.alignments or [], strict=True):
        english, french = read.split(), written.split()
        for i, word in enumerate(english):
            lemma = word.lower().strip(",.").removesuffix("'s")
            if lemma in known:
                linked = [french[j] for k, j in parsed_links(line) if k == i]
                assert known[lemma] & {bare_words(piece)[-1] for piece in linked}, (read, word)
                checked += 1
    assert checked > 20000


def test_words_follow_zipf():
    """On log-log axes, the counts of a class of nouns fall with a slope of about -3/2."""
    counts = Counter(word for line in split("train").source for word in bare_words(line))
    places = [noun for noun in NOUNS if noun.kind == "place" and " " not in noun.english]
    frequencies = [counts[noun.english] + counts[noun.english_plural] for noun in places]
    ranks = [
        rank
        for rank, noun in enumerate([noun for noun in NOUNS if noun.kind == "place"], 1)
        if noun in places
    ]
    x, y = [math.log(rank) for rank in ranks], [math.log(count) for count in frequencies]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    slope = covariance / sum((a - mean_x) ** 2 for a in x)
    assert -1.75 < slope < -1.25


@pytest.mark.parametrize("source", ["en", "fr"])
def test_splits_share_no_sentence(source):
    train, val, test = (split(name, source).source for name in SPLITS)
    assert len(set(val)) == len(val) == SMALL["val_size"]
    assert len(set(test)) == len(test) == SMALL["test_size"]
    assert len(train) == SMALL["train_size"]
    assert set(train).isdisjoint(val + test)
    assert set(val).isdisjoint(test)


@pytest.mark.parametrize("source", ["en", "fr"])
def test_test_sentences_fill_every_bucket(source):
    buckets = Counter((len(line.split()) - 1) // 10 for line in split("test", source).source)
    assert buckets == dict.fromkeys(range(6), 150)


def test_training_lengths():
    text = split("train")
    lengths = [len(line.split()) for line in text.source]
    assert min(lengths) >= 3
    assert max(lengths) == 50
    assert 0.73 < sum(length <= 10 for length in lengths) / len(lengths) < 0.80
    assert 0.03 < sum(length > 40 for length in lengths) / len(lengths) < 0.06
    assert 10.5 < sum(lengths) / len(lengths) < 12.5
    assert set(text.left_out) == {"longer than 50 words"}
    assert 100 < text.left_out["longer than 50 words"] < 400


def test_training_limit_counts_what_it_leaves_out():
    arguments = {**SMALL, "train_size": 500}
    whole = GrammarCorpus(**arguments, train_max_words=None).split("train")
    short = GrammarCorpus(**arguments, train_max_words=20).split("train")
    assert whole.left_out == {}
    assert max(len(line.split()) for line in short.source) <= 20
    left_out = short.left_out["longer than 20 words"]
    kept = [line for line in whole.source if len(line.split()) <= 20]
    assert kept == short.source[: len(kept)]
    assert left_out > 500 - len(kept)


def test_the_other_direction_swaps_the_sides():
    english, french = split("train"), split("train", "fr")
    assert french.source[0] == english.target[0]
    assert french.target[0] == english.source[0]
    assert french.alignments is not None
    assert english.alignments is not None
    turned = sorted((j, i) for i, j in parsed_links(english.alignments[0]))
    assert parsed_links(french.alignments[0]) == turned
    assert max(len(line.split()) for line in french.source) <= 50


DIGEST = """
import hashlib, sys
from datamodules.grammar import GrammarCorpus
from datamodules.grammar.corpus import EDITION
corpus = GrammarCorpus(300, 60, 60, seed=3)
digest = hashlib.sha256()
for name in ("train", "val", "test"):
    text = corpus.split(name)
    digest.update("\\n".join(text.source + text.target + text.alignments).encode())
print(digest.hexdigest(), corpus.fingerprint)
"""


def test_the_same_in_every_process():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1


def test_seeds_write_other_sentences():
    one, other = (GrammarCorpus(100, 6, 6, seed).split("train").source for seed in (1, 2))
    assert len(set(one) & set(other)) < 10


@pytest.mark.parametrize(("source", "digest"), [("en", "3e65f78c0025"), ("fr", "4aab07e73e1e")])
def test_an_edition_is_its_sentences(source, digest):
    """If this test fails, the sentences have changed: raise ``EDITION`` and set new digests."""
    lines = [
        line
        for name in SPLITS
        for part in (split(name, source).source, split(name, source).target)
        for line in part
    ]
    written = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
    assert (EDITION, written) == (1, digest)


def test_fingerprint_names_the_arguments():
    base: dict[str, Any] = {"train_size": 10, "val_size": 6, "test_size": 6, "seed": 0}
    others: list[dict[str, Any]] = [
        {"train_size": 11},
        {"val_size": 7},
        {"test_size": 7},
        {"seed": 1},
    ]
    others += [{"train_max_words": 40}, {"source": "fr", "target": "en"}]
    prints = [GrammarCorpus(**{**base, **other}).fingerprint for other in [{}, *others]]
    assert len(set(prints)) == len(prints)
    assert GrammarCorpus(**base).fingerprint == prints[0]
    assert all(re.fullmatch("[0-9a-f]{12}", value) for value in prints)


@pytest.mark.parametrize(
    ("arguments", "override"),
    [
        ({"target": "en"}, "data.target=en"),
        ({"target": "de"}, "data.target=de"),
        ({"source": "de"}, "data.source=de"),
        ({"train_max_words": 2}, "data.train_max_words=2"),
    ],
)
def test_wrong_arguments(arguments, override):
    with pytest.raises(UserError, match=f"^{override}:") as raised:
        GrammarCorpus(**{**SMALL, **arguments})
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("size", [{"train_size": 0}, {"test_size": -1}, {"val_size": "none"}])
def test_wrong_sizes(size):
    with pytest.raises(ValidationError, match=next(iter(size))):
        GrammarCorpus(**{**SMALL, **size})


def test_speed():
    """At least 10,000 pairs a second; best of several tries, because the machine may be busy."""
    best = 0.0
    for seed in range(5):
        corpus = GrammarCorpus(5000, 6, 6, seed)
        start = time.perf_counter()
        corpus.split("train")
        best = max(best, 5000 / (time.perf_counter() - start))
        if best > 10000:
            break
    assert best > 10000
