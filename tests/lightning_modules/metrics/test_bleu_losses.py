"""Parts of the loss of BLEU: they sum to it, and each sees the one fault that is its own."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from lightning_modules.metrics.bleu_losses import (
    LOST,
    PARTS,
    common_subsequence,
    in_order,
    loss_counts,
    ngram_matches,
)
from lightning_modules.metrics.metric import ReferenceText
from lightning_modules.metrics.text_metrics import Bleu

REFERENCE = "a b c d e f g h i j"
RANDOM = np.random.default_rng(3)


def losses(hypotheses, references, *further) -> tuple[float, list[float]]:
    """The loss of BLEU, and its parts: length, words, order."""
    text = ReferenceText(references, None, list(zip(*further, strict=True)))
    counts = loss_counts(Bleu().count(text, hypotheses), hypotheses, text)
    sums = counts.sum(0)
    return float(LOST.score(sums)), [float(part.score(sums)) for part in PARTS]


def draws(lines: int, words: str = "abcdefg", longest: int = 12) -> list[str]:
    lengths = RANDOM.integers(1, longest + 1, lines)
    return [" ".join(RANDOM.choice([*words], length)) for length in lengths]


@pytest.mark.parametrize("further", [0, 2])
def test_the_parts_sum_to_the_loss_and_none_is_negative(further):
    for _ in range(50):
        hypotheses, references = draws(6), draws(6)
        lost, parts = losses(hypotheses, references, *(draws(6) for _ in range(further)))
        assert sum(parts) == pytest.approx(lost, abs=1e-9)
        assert min(parts) >= -1e-9
        assert -1e-9 <= lost <= 100


def test_the_loss_is_what_sacrebleu_leaves():
    hypotheses, references = draws(30), draws(30)
    [scored] = [Bleu().score(Bleu().count(ReferenceText(references), hypotheses).sum(0))]
    assert losses(hypotheses, references)[0] == pytest.approx(100 - scored, abs=1e-9)


def test_a_perfect_translation_loses_nothing():
    lost, parts = losses([REFERENCE], [REFERENCE])
    assert [lost, *parts] == pytest.approx([0] * 4, abs=1e-9)


@pytest.mark.parametrize(
    ("hypothesis", "fault"),
    [
        ("a b c d e f", 0),  # too short
        (f"{REFERENCE} x y z", 0),  # too long
        ("a b c d x f g h i j", 1),
        ("x x x x x f g h i j", 1),  # wrong words together
        ("f g h i j a b c d e", 2),
        ("j i h g f e d c b a", 2),
    ],
)
def test_one_fault_is_one_part(hypothesis, fault):
    lost, parts = losses([hypothesis], [REFERENCE])
    assert lost > 5
    assert parts[fault] == pytest.approx(lost, abs=1e-9)


def test_parts_by_hand():
    """Of eight words one is wrong and two are exchanged; two words of ten are missing."""
    lost, (length, words, order) = losses(["a b d c x f g h"], [REFERENCE])
    brevity = np.exp(1 - 10 / 8)
    # Matches of n = 1 to 4, of 8, 7, 6 and 5: a b c d x f g h has ab bc cd fg gh, abc bcd fgh,
    # abcd; without the order ab fg gh, fgh and none, whose half counts.
    in_its_order = (7 / 8 * 5 / 7 * 3 / 6 * 1 / 5) ** (1 / 4)
    as_it_is = (7 / 8 * 3 / 7 * 1 / 6 * 0.5 / 5) ** (1 / 4)
    assert length == pytest.approx(100 * (1 - brevity))
    assert words == pytest.approx(100 * brevity * (1 - in_its_order))
    assert order == pytest.approx(100 * brevity * (in_its_order - as_it_is))
    assert lost == pytest.approx(100 * (1 - brevity * as_it_is))


def test_a_translation_without_words_has_the_wrong_length():
    assert losses([""], [REFERENCE]) == (100, [100, 0, 0])


def test_matches_are_those_of_sacrebleu():
    for hypothesis, reference in zip(draws(40), draws(40), strict=True):
        [counted] = Bleu().count(ReferenceText([reference]), [hypothesis])
        assert ngram_matches(hypothesis.split(), reference.split()) == counted[2:6].tolist()


def test_the_common_subsequence_is_a_longest_one():
    for one, other in zip(draws(60, "abc", 8), draws(60, "abc", 8), strict=True):
        left, right = one.split(), other.split()
        found = common_subsequence(left, right)
        assert [left[here] for here, _ in found] == [right[there] for _, there in found]
        for places in zip(*found, strict=True):
            assert list(places) == sorted(set(places))
        subsequences = {
            each for size in range(len(left) + 1) for each in combinations(left, size)
        } & {each for size in range(len(right) + 1) for each in combinations(right, size)}
        assert len(found) == max(map(len, subsequences))


def test_only_right_words_change_their_places():
    for one, other in zip(draws(60), draws(60), strict=True):
        hypothesis, reference = one.split(), other.split()
        ordered = in_order(hypothesis, reference)
        assert Counter(ordered) == Counter(hypothesis)
        right = Counter(hypothesis) & Counter(reference)
        common = [word for word in reference if right[word]]
        assert len(common_subsequence(ordered, reference)) == right.total() <= len(common)
        assert in_order(ordered, reference) == ordered


@pytest.mark.parametrize(
    ("hypothesis", "reference", "ordered"),
    [
        ("xabyc", "azbc", "xabyc"),  # nothing is wrong but words
        ("hc", "hdshc", "hc"),  # the second of two equal words
        ("cxab", "abc", "axbc"),
        ("bb", "b", "bb"),
    ],
)
def test_words_in_the_right_order_stay(hypothesis, reference, ordered):
    assert in_order([*hypothesis], [*reference]) == [*ordered]
