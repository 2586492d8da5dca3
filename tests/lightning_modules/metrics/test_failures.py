"""Kinds of translations: hand-made sentences, and properties of any."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_modules.metrics.failures import (
    COUNTS,
    SHARES,
    UNKNOWN_WORD,
    TranslationKind,
    kind_counts,
    kind_of,
    loops,
    repeated_words,
    translation_kinds,
)
from lightning_modules.metrics.metric import ReferenceText
from lightning_modules.metrics.text_metrics import ExactMatch

RIGHT, WRONG, UNKNOWN, SHORT, LONG = TranslationKind
REFERENCE = "le vieux marin voyait la maison rouge et le chien"


@pytest.mark.parametrize(
    ("hypothesis", "reference", "kind"),
    [
        (REFERENCE, REFERENCE, RIGHT),
        (f"  {REFERENCE.replace(' ', '  ')} ", REFERENCE, RIGHT),
        ("", "", RIGHT),
        (REFERENCE.replace("rouge", "verte"), REFERENCE, WRONG),
        (REFERENCE.replace("rouge", "<unk>"), REFERENCE, UNKNOWN),
        (REFERENCE.replace("rouge", "<unk>"), REFERENCE.replace("chien", "<unk>"), WRONG),
        # 7 of 10 words are not too short, 6 are; 13 are not too long, 14 are.
        ("le vieux marin voyait la maison rouge", REFERENCE, WRONG),
        ("le vieux marin voyait la maison", REFERENCE, SHORT),
        ("", REFERENCE, SHORT),
        (f"{REFERENCE} qui dort là", REFERENCE, WRONG),
        (f"{REFERENCE} qui dort là bas", REFERENCE, LONG),
        # A single word more or less is no matter of length.
        ("le chien", "le vieux chien", WRONG),
        ("le vieux chien", "le chien", WRONG),
        ("chien", "le vieux chien", SHORT),
        # Length comes before an unknown word, a loop before all but a right translation.
        ("le vieux <unk> voyait la maison", REFERENCE, SHORT),
        ("le chien dort et le chien dort et le chien <unk>", REFERENCE, LONG),
        # Two of ten words repeat a group of four? A group has four words: 4 of 10 repeat here.
        ("le vieux marin voyait rouge et le vieux marin voyait", REFERENCE, LONG),
        ("le vieux marin voyait rouge et le vieux marin dort", REFERENCE, WRONG),
        # The reference repeats the same words.
        ("a b c d a b c d x", "a b c d a b c d y", WRONG),
        ("<unk> <unk> <unk> <unk> <unk> <unk>", "le chien et la maison dort", UNKNOWN),
        ("le le le le le le le le", "le chien et la maison dort bien là", LONG),
    ],
)
def test_kinds_of_hand_made_sentences(hypothesis, reference, kind):
    assert kind_of(hypothesis.split(), [reference.split()]) is kind


def test_of_several_references_one_equals_or_the_closest_in_length_counts():
    references = [["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"], ["k", "l", "m", "n"]]
    assert kind_of(["k", "l", "m", "n"], references) is RIGHT
    assert kind_of(["k", "l", "m"], references) is WRONG
    assert kind_of(["k", "l", "m"], references[:1]) is SHORT


def test_words_that_stood_earlier_repeat():
    words = ["a", "b", "c", "d", "x", "a", "b", "c", "d", "e", "f"]
    assert np.flatnonzero(repeated_words(words)).tolist() == [5, 6, 7, 8]
    assert np.flatnonzero(repeated_words(["a", "a", "a", "a", "a"])).tolist() == [1, 2, 3, 4]
    assert not repeated_words(["a", "b", "c"]).any()
    # A fifth of the words is a loop, less is none.
    group, others = words[:4], [f"w{number}" for number in range(13)]
    assert loops([*group, *others[:12], *group], [])
    assert not loops([*group, *others, *group], [])


examples = settings(deadline=None, derandomize=True, max_examples=50, database=None)
WORDS = st.text("abcd?", max_size=20).map(
    lambda letters: [UNKNOWN_WORD if letter == "?" else letter for letter in letters]
)
LINES = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4)


def text_of(lines):
    references = [" ".join(reference) for _, reference in lines]
    return ReferenceText(references), [" ".join(words) for words, _ in lines]


@examples
@given(LINES)
def test_each_translation_is_of_exactly_one_kind_and_right_means_an_exact_match(lines):
    text, hypotheses = text_of(lines)
    kinds = translation_kinds(text, hypotheses)
    counts = kind_counts(kinds)
    assert set(counts.sum(1)) == {1}
    assert (kinds == [kind_of(words, [reference]) for words, reference in lines]).all()
    assert ((kinds == RIGHT) == ExactMatch().count(text, hypotheses)[:, 0]).all()
    shares = [metric.score(counts.sum(0)) for metric in SHARES.values()]
    assert sum(shares) == pytest.approx(100)
    assert {metric.statistics for metric in SHARES.values()} == {COUNTS}


@examples
@given(WORDS, WORDS, st.permutations(["a", "b", "c", "d", "e"]))
def test_other_words_of_the_same_shape_are_of_the_same_kind(words, reference, others):
    """The kinds do not depend on which words they are, unless a word is unknown."""
    renamed = dict(zip("abcde", others, strict=True))
    turned = [[renamed.get(word, word) for word in line] for line in (words, reference)]
    assert kind_of(turned[0], [turned[1]]) is kind_of(words, [reference])


@examples
@given(LINES, st.randoms())
def test_the_order_of_the_sentences_and_of_the_references_does_not_matter(lines, rng):
    shuffled = list(lines)
    rng.shuffle(shuffled)
    counts = [kind_counts(translation_kinds(*text_of(each))).sum(0) for each in (lines, shuffled)]
    assert (counts[0] == counts[1]).all()
    words, references = lines[0][0], [reference for _, reference in lines]
    assert kind_of(words, references) is kind_of(words, references[::-1])


@examples
@given(WORDS, WORDS)
def test_more_of_the_same_never_cures_a_loop(words, reference):
    """A translation said twice more is a loop, unless it is too short to have a group of words."""
    said = words * 3
    if len(words) >= 4 and said != reference and UNKNOWN_WORD not in words:
        assert kind_of(said, [reference]) is LONG or repeated_words(reference).any()


def test_unequal_numbers_of_lines_are_refused():
    with pytest.raises(ValueError, match="2 hypotheses for 1 references"):
        translation_kinds(ReferenceText(["a"]), ["a", "b"])
