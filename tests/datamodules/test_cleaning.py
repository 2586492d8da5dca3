"""Cleaning: each step against a plain reading of the same rule, over whole corpora."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacremoses import MosesPunctNormalizer

from datamodules import cleaning as module
from datamodules.cleaning import (
    Cleaner,
    StepCount,
    first_occurrences,
    normalise_punctuation,
    nothing_left,
    pair_digests,
    swapped,
    total_counts,
)
from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from tests.helpers.data_settings import NO_CLEANING, cleaning_settings

EVERYTHING = settings(derandomize=True, deadline=None, database=None)
MARKS = st.text(st.sampled_from("ab 1.,\"'<>«»„“”–—…%:;?!()\u00a0\u2019`´\r"), max_size=12)
NONE = (frozenset[str](), frozenset[str]())


def cleaned(pairs, cleaning, held_out=NONE):
    text = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    (source, target), counts = Cleaner(cleaning, ("de", "en"), held_out).clean(text)
    return list(zip(source, target, strict=True)), {step.step: step for step in counts}


@EVERYTHING
@given(st.lists(MARKS, max_size=6), st.sampled_from(["en", "fr", "de", "cs", "xx"]))
@example(['He said "no."', "a", 'b."', "<", "c <"], "en")
def test_punctuation_is_that_of_moses_line_by_line(lines, language):
    moses = MosesPunctNormalizer(language)
    assert normalise_punctuation(lines, language) == [moses.normalize(line) for line in lines]


def test_characters_are_composed():
    pairs = [("e\u0301te\u0301", "sum\u0323mer"), ("été", "summer")]
    found, counts = cleaned(pairs, cleaning_settings(unicode=True))
    assert found == [("été", "suṃmer"), ("été", "summer")]
    step = counts["characters composed (NFC)"]
    assert (step.leaves_out, step.seen, step.count, step.examples) == (
        False, 2, 1, ["e\u0301te\u0301"],
    )  # fmt: skip


def test_a_line_that_cleaning_empties_is_left_out():
    found, counts = cleaned([("\r", "a"), ("b", "c")], cleaning_settings(punctuation=True))
    assert found == [("b", "c")]
    assert counts["empty after cleaning"].count == 1


PAIRS = [("a b", "a b"), ("a b c", "a"), ("a b c d", "a"), ("x y", "z"), ("p", "q r")]


@pytest.mark.parametrize(
    ("cleaning", "left_out", "examples_of"),
    [
        (NO_CLEANING, [], []),
        (cleaning_settings(copies=True), [0], [0]),
        (cleaning_settings(ratio=3), [2], [2]),
        (cleaning_settings(ratio=1.5), [1, 2, 3, 4], [1, 2, 3]),  # three examples at most
        (cleaning_settings(held_out=True), [3, 4], [3, 4]),
        (cleaning_settings(held_out=True, copies=True, ratio=3), [0, 2, 3, 4], [0, 2, 3, 4]),
    ],
)
def test_pairs_are_left_out(cleaning, left_out, examples_of):
    held_out = frozenset(["x y", "p."]), frozenset(["o", "q r"])
    found, counts = cleaned(PAIRS, cleaning, held_out)
    assert found == [pair for number, pair in enumerate(PAIRS) if number not in left_out]
    assert sum(step.count for step in counts.values()) == len(left_out)
    examples = {example for step in counts.values() for example in step.examples}
    assert examples == {PAIRS[number][0] for number in examples_of}


GERMAN, ENGLISH = "Der Hund schläft unter dem Tisch.", "The dog sleeps under the table."


def test_another_language_is_left_out():
    pairs = [(GERMAN, ENGLISH), (GERMAN, GERMAN), (ENGLISH, ENGLISH), (ENGLISH, GERMAN)]
    found, counts = cleaned(pairs, cleaning_settings(language=0.1))
    assert found == [(GERMAN, ENGLISH)]
    assert counts["another language"].count == 3


def test_a_language_that_the_classifier_does_not_know():
    with pytest.raises(
        UserError, match=r"does not know the language 'leet'; set cleaning.language"
    ):
        Cleaner(cleaning_settings(language=0.1), ("leet", "en"), NONE).clean((["a"], ["b"]))


def test_swapped_languages_are_noticed():
    right = ParallelText([GERMAN] * 3, [ENGLISH] * 3)
    wrong = ParallelText(right.target, right.source)
    assert swapped(right, ("de", "en")) == ([], 3)
    assert swapped(wrong, ("de", "en")) == ([ENGLISH] * 3, 3)
    assert swapped(wrong, ("xx", "en")) == ([], 0)
    assert swapped(ParallelText([], []), ("de", "en")) == ([], 0)
    many = ParallelText([ENGLISH] * 450, [GERMAN] * 450)
    assert swapped(many, ("de", "en")) == ([ENGLISH] * 150, 150)


@pytest.mark.parametrize("language", ["zh", "zh-CN"])
def test_the_ratio_counts_letters_where_words_have_no_spaces(language):
    chinese = "一只棕色的小狗在绿色的草地上追着一个红色的球跑。"
    english = "A small brown dog runs after a red ball on the green grass ."
    cleaner = Cleaner(cleaning_settings(ratio=3), (language, "en"), NONE)
    (kept, _), _ = cleaner.clean(([chinese, chinese, "狗"], [english, "A dog .", english]))
    assert kept == [chinese]


def test_a_cleaning_that_leaves_nothing_says_why():
    changed = StepCount("punctuation normalised", False, 9, 4, [], 0)
    foreign = StepCount("another language", True, 9, 6, [], 0)
    long = StepCount("one side 3 times as long", True, 9, 3, [], 0)
    why = "cleaning leaves no training pair (6 another language, 3 one side 3 times as long): "
    hint = "see if data.source and data.target are swapped, or set cleaning=none"
    assert nothing_left([changed, foreign, long]) == why + hint
    long = replace(long, count=9)
    why = "cleaning leaves no training pair (9 one side 3 times as long): set cleaning=none"
    assert nothing_left([changed, replace(foreign, count=0), long]) == why


@EVERYTHING
@given(st.lists(st.sampled_from("abcde"), max_size=20), st.integers(1, 9))
def test_the_first_occurrence_stays(lines, at_once):
    expected = [each not in lines[:place] for place, each in enumerate(lines)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "AT_ONCE", at_once)
        assert first_occurrences(pair_digests(lines, lines)).tolist() == expected


def test_digests_at_the_ends_of_the_range(monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 1)
    ends = np.array([0, 2**64 - 1, 2**63, 0, 2**64 - 1], np.uint64)
    assert first_occurrences(ends).tolist() == [True, True, True, False, False]


def test_digests_tell_the_sides_apart():
    assert len(set(pair_digests(["a b", "a", "ab"], ["c", "b c", "c"]).tolist())) == 3


def test_counts_of_parts_add_up():
    first, second = (StepCount("same", True, 9, n, [str(n)], 0.5) for n in (1, 2))
    [total] = total_counts([first, second])
    assert total == StepCount("same", True, 18, 3, ["1", "2"], 1.0)


def test_words_under_gold_links_stay():
    text = ParallelText(["a\u00a0?", "«\u00a0b"], ["c", "d"], ["0-0", "0-0"])
    with pytest.raises(
        UserError, match=r"number of words of sentence 1, .* cleaning.punctuation=fa"
    ):
        cleaning_settings(punctuation=True).text(text, "fr")
    assert cleaning_settings(unicode=True).text(text, "fr") == text
