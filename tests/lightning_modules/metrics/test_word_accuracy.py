"""Accuracy of words by frequency: worked by hand, by a second implementation and by sacreBLEU."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from lightning_modules.metrics.word_accuracy import (
    FREQUENCY_GROUPS,
    precision_recall_f1,
    word_accuracy,
)
from lightning_modules.metrics.words import PLAIN, tokens

examples = settings(deadline=None, derandomize=True, max_examples=60, database=None)
sentences = st.lists(st.sampled_from("abc"), max_size=7)
pairs = st.lists(st.tuples(sentences, sentences), max_size=4)


def test_tokens_are_those_of_tokeniser_13a():
    lines = ["Don't, she said.", "3,000.5 end-\n", "&lt;b&gt;", "你好，世界 3.5", "", " \n"]
    assert tokens(lines, PLAIN) == [
        ["Don't", ",", "she", "said", "."],
        ["3,000.5", "end-"],
        ["<", "b", ">"],
        ["你好，世界", "3.5"],
        [],
        [],
    ]
    assert tokens([], PLAIN) == []


def test_all_groups_together_are_the_unigrams_of_bleu():
    references = ["Don't go, she said.", "the the cat", "语 言 。", "nothing of it"]
    hypotheses = ["She said: don't go.", "the the the", "语 语 。 ", ""]
    counts = word_accuracy(tokens(references, PLAIN), tokens(hypotheses, PLAIN), {"the": 9})
    bleu = BLEU().corpus_score(hypotheses, [references])
    assert counts.sum(axis=(0, 1)).tolist() == [bleu.counts[0], bleu.totals[0], bleu.ref_len]


def test_edges_of_frequency():
    ends = [0, 1, 2, 3, 4, 5, 9, 10, 99, 100, 999, 1000, 10**7]
    found = [int(word_accuracy([["x"]], [[]], {"x": end})[0, :, 2].argmax()) for end in ends]
    assert found == [0, 1, 2, 3, 4, 5, 5, 6, 6, 7, 7, 8, 8]


def test_accuracy_by_frequency_by_hand():
    counts = Counter({"the": 2000, "cat": 7, "sat": 1})
    references, hypotheses = (
        [["the", "cat", "sat"], ["the", "dog"]],
        [["the", "the", "cat", "dog"], []],
    )
    accuracy = word_accuracy(references, hypotheses, counts)
    assert accuracy.shape == (2, len(FREQUENCY_GROUPS), 3)
    of = {name: accuracy[:, group].tolist() for group, name in enumerate(FREQUENCY_GROUPS)}
    assert of.pop("1000+") == [[1, 2, 1], [0, 0, 1]]
    assert of.pop("5–9") == [[1, 1, 1], [0, 0, 0]]
    assert of.pop("1") == [[0, 0, 1], [0, 0, 0]]
    # "dog" was never seen; it is in the hypothesis of one sentence and the reference of another
    assert of.pop("0") == [[0, 1, 0], [0, 0, 1]]
    assert not np.any(list(of.values()))
    assert "dog" not in counts


@examples
@given(pairs)
def test_words_with_a_group_each_are_clipped_as_in_bleu(couples):
    references, hypotheses = [list(side) for side in zip(*couples, strict=True)] or [[], []]
    accuracy = word_accuracy(references, hypotheses, {"a": 1, "b": 2, "c": 3})
    expected = [
        [
            [min(hyp.count(word), ref.count(word)), hyp.count(word), ref.count(word)]
            for word in "abc"
        ]
        for ref, hyp in couples
    ]
    np.testing.assert_array_equal(accuracy[:, 1:4], np.reshape(expected, (len(couples), 3, 3)))
    assert accuracy.sum() == accuracy[:, 1:4].sum()


def test_precision_recall_and_f1_by_hand():
    sums = np.array([[[3, 4, 6], [0, 0, 0]], [[0, 0, 5], [0, 2, 0]], [[0, 1, 1], [7, 7, 7]]])
    nan = np.nan
    expected = np.array(
        [[[75, 50, 60], [nan, nan, nan]], [[nan, 0, 0], [0, nan, 0]], [[0, 0, 0], [100, 100, 100]]]
    )
    np.testing.assert_allclose(precision_recall_f1(sums), expected)
    np.testing.assert_allclose(precision_recall_f1(sums[0, 0]), expected[0, 0])


def test_lists_of_unequal_length_name_both_counts():
    with pytest.raises(ValueError, match="1 hypotheses for 2 references"):
        word_accuracy([["a"], ["b"]], [["a"]], {})
