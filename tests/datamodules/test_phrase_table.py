"""Phrases that the definition gives, of which the most frequent translate."""

from collections import Counter
from random import Random

import pytest

from datamodules.corpus import ParallelText
from datamodules.phrase_table import LONGEST, PhraseTable


def learn(*pairs):
    """The phrase table of sentence pairs: source, target, links."""
    source, target, links = map(list, zip(*pairs, strict=True))
    return PhraseTable.of(ParallelText(source, target, links))


def phrases_by_definition(source, target, links):
    """Yield the phrase pairs of a sentence pair, as Koehn et al. (2003) define these."""
    for first in range(len(source)):
        for last in range(first, min(first + LONGEST, len(source))):
            ends = [j for i, j in links if first <= i <= last]
            if ends:
                low, high = min(ends), max(ends)
                if all(first <= i <= last for i, j in links if low <= j <= high):
                    yield " ".join(source[first : last + 1]), " ".join(target[low : high + 1])


def random_pair(random):
    words = [random.choices("abc", k=random.randint(0, 7)) for _ in range(2)]
    places = [(i, j) for i in range(len(words[0])) for j in range(len(words[1]))]
    return *words, sorted(random.sample(places, random.randint(0, min(6, len(places)))))


@pytest.mark.parametrize("seed", range(20))
def test_phrases_are_those_of_the_definition(seed):
    random = Random(seed)
    pairs = [random_pair(random) for _ in range(30)]
    counted: dict[str, Counter[str]] = {}
    for pair in pairs:
        for source, target in phrases_by_definition(*pair):
            counted.setdefault(source, Counter())[target] += 1
    lines = [" ".join(f"{i}{random.choice('-?')}{j}" for i, j in links) for *_, links in pairs]
    text = [(" ".join(s), " ".join(t), line) for (s, t, _), line in zip(pairs, lines, strict=True)]
    # Of equal counts, a Counter has the first of the text first.
    expected = {source: targets.most_common(1)[0][0] for source, targets in counted.items()}
    assert learn(*text).phrases == expected


def test_unaligned_words_of_the_target_stay_outside_but_not_between():
    table = learn(("a b", "u x v y w", "0-1 1-3"))
    assert table.phrases == {"a": "x", "b": "y", "a b": "x v y"}


def test_words_that_share_links_are_one_phrase():
    table = learn(("do not go", "ne va pas", "1-0 1-2 2?1"))
    assert table.phrases == {"go": "va", "not go": "ne va pas", "do not go": "ne va pas"}


def test_the_more_frequent_phrase_wins_and_of_equals_the_first():
    pairs = [("a", target, "0-0") for target in "yxxy"]
    assert learn(*pairs).translate("a") == "y"
    assert learn(*pairs, ("a", "x", "0-0")).translate("a") == "x"


def test_the_longest_phrase_translates_and_unknown_words_are_copied():
    table = learn(("a b", "y x", "0-1 1-0"), ("b", "z", "0-0"), ("b", "z", "0-0"))
    assert table.translate("b a b new  b") == "z y x new z"
    assert table.translate("") == ""


def test_no_phrase_is_longer_than_the_limit():
    words = list("abcdef")
    table = learn((" ".join(words), " ".join(words), " ".join(f"{i}-{i}" for i in range(6))))
    assert {len(phrase.split()) for phrase in table.phrases} == set(range(1, LONGEST + 1))


def test_text_without_links_teaches_nothing():
    assert learn(("a b", "x y", ""), ("", "", "")).translate("a b") == "a b"


@pytest.mark.parametrize(
    ("links", "why"),
    [
        ("0-0 1", "line 2: '1' is not a link like 0-0 or 1"),
        ("0-0-1", "line 2: '0-0-1' is not a link"),
        ("0:0", "line 2: '0:0' is not a link"),
        ("0-0 2-0", r"line 2: 2-0 points past its sentence pair \(2 source and 1 target words"),
        ("0?1", "line 2: 0-1 points past its sentence pair"),
    ],
)
def test_a_wrong_line_is_named(links, why):
    with pytest.raises(ValueError, match=why):
        learn(("a", "x", "0-0"), ("a b", "x", links))
