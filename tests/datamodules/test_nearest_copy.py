"""Nearest copies against a cosine that is computed word by word."""

import math
from collections import Counter

import numpy as np
import pytest

from datamodules.corpus import ParallelText
from datamodules.nearest_copy import AT_ONCE, nearest_copies


def text(*sources):
    return ParallelText(list(sources), [f"copy of {source}" for source in sources])


def likeness(one, other, training):
    """The cosine of two lines by its definition."""

    def weighted(line):
        having = {word: sum(word in each.split() for each in training) for word in line.split()}
        counts = Counter(line.split())
        return {word: counts[word] * math.log(len(training) / n) for word, n in having.items() if n}

    first, second = weighted(one), weighted(other)
    lengths = math.hypot(*first.values()) * math.hypot(*second.values())
    product = sum(first[word] * second.get(word, 0) for word in first)
    return product / lengths if lengths else 0.0


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    lines = [
        " ".join(rng.choice([*"abcdefghij"], rng.integers(1, 9))) for _ in range(30 + AT_ONCE + 5)
    ]
    training, sources = lines[:30], lines[30:]
    found = nearest_copies(text(*training), sources)
    for source, copy in zip(sources, found, strict=True):
        known = [likeness(source, each, training) for each in training]
        chosen = known[training.index(copy.removeprefix("copy of "))]
        assert chosen == pytest.approx(max(known))


def test_a_known_sentence_is_its_own_nearest():
    training = text("the cat sleeps", "the dog sleeps", "a dog")
    assert nearest_copies(training, ["the dog sleeps"]) == ["copy of the dog sleeps"]


def test_a_rare_word_counts_more_than_a_frequent_one():
    training = text("the old man", "the the cat", "the dog")
    assert nearest_copies(training, ["the the zebra man"]) == ["copy of the old man"]


def test_of_equals_the_first_counts_also_where_nothing_is_alike():
    training = text("a b", "a b", "c")
    assert nearest_copies(training, ["b", "x", ""]) == ["copy of a b"] * 3
    assert nearest_copies(text("c"), ["c"]) == ["copy of c"]
