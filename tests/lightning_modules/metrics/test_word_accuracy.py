"""Accuracy of words by group, on cases worked by hand, a second implementation and sacreBLEU."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from lightning_modules.metrics.word_accuracy import (
    CASE_GROUPS,
    FREQUENCY_GROUPS,
    case_group,
    frequency_group,
    group_by_case,
    group_by_frequency,
    group_by_label,
    label_names,
    precision_recall_f1,
    source_recall,
    tokens,
    word_accuracy,
)

examples = settings(deadline=None, derandomize=True, max_examples=200, database=None)
sentences = st.lists(st.sampled_from("abc"), max_size=7)
pairs = st.lists(st.tuples(sentences, sentences), max_size=4)
labelled = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("XY")), max_size=6)


def unzip(couples):
    return [list(side) for side in zip(*couples, strict=True)] or [[], []]


def group_by(sentences_with_labels, names):
    words = [[word for word, _ in sentence] for sentence in sentences_with_labels]
    return group_by_label(words, [[lab for _, lab in s] for s in sentences_with_labels], names)


def partner_by_counting(reference, hypothesis, place):
    """The position of the n-th equal word in the reference; None if there are fewer than n."""
    word = hypothesis[place]
    equal = [i for i, other in enumerate(reference) if other == word]
    number = hypothesis[:place].count(word)
    return equal[number] if number < len(equal) else None


def test_tokens_are_those_of_tokeniser_13a():
    lines = ["Don't, she said.", "3,000.5 end-\n", "&lt;b&gt;", "你好，世界 3.5", "", " \n"]
    assert tokens(lines) == [
        ["Don't", ",", "she", "said", "."],
        ["3,000.5", "end-"],
        ["<", "b", ">"],
        ["你好，世界", "3.5"],
        [],
        [],
    ]
    assert tokens([]) == []


def test_all_groups_together_are_the_unigrams_of_bleu():
    references = ["Don't go, she said.", "the the cat", "语 言 。", "nothing of it"]
    hypotheses = ["She said: don't go.", "the the the", "语 语 。 ", ""]
    counts = word_accuracy(group_by_case(tokens(references)), group_by_case(tokens(hypotheses)))
    bleu = BLEU().corpus_score(hypotheses, [references])
    assert counts.sum(axis=(0, 1)).tolist() == [bleu.counts[0], bleu.totals[0], bleu.ref_len]


@pytest.mark.parametrize(
    ("group", "members"),
    [
        ("0", [0]),
        ("1", [1]),
        ("2", [2]),
        ("3", [3]),
        ("4", [4]),
        ("5–9", [5, 9]),
        ("10–99", [10, 99]),
        ("100–999", [100, 999]),
        ("1000+", [1000, 10**7]),
    ],
)
def test_edges_of_frequency(group, members):
    assert [frequency_group(count) for count in members] == [group] * len(members)


@pytest.mark.parametrize(
    ("group", "members"),
    [
        ("lower", ["word", "5th", "l'eau", "élan", "don't", "ß"]),
        ("Capitalised", ["Word", "A", "Élan", "McDonald", "L'Oréal", "(Paris)", "B2", "ǅungla"]),
        ("ALL CAPS", ["UN", "U.S.", "ÉTÉ", "COVID-19"]),
        ("other", ["42", ".", "—", "語", "3,5", "iPhone"]),
    ],
)
def test_case_of_words(group, members):
    assert [case_group(word) for word in members] == [group] * len(members)


def test_accuracy_by_frequency_by_hand():
    counts = Counter({"the": 2000, "cat": 7, "sat": 1})
    references = group_by_frequency([["the", "cat", "sat"], ["the", "dog"]], counts)
    hypotheses = group_by_frequency([["the", "the", "cat", "dog"], []], counts)
    accuracy = word_accuracy(references, hypotheses)
    assert accuracy.shape == (2, len(FREQUENCY_GROUPS), 3)
    of = {name: accuracy[:, group].tolist() for group, name in enumerate(FREQUENCY_GROUPS)}
    assert of.pop("1000+") == [[1, 2, 1], [0, 0, 1]]
    assert of.pop("5–9") == [[1, 1, 1], [0, 0, 0]]
    assert of.pop("1") == [[0, 0, 1], [0, 0, 0]]
    # "dog" was never seen; it is in the hypothesis of one sentence and the reference of another
    assert of.pop("0") == [[0, 1, 0], [0, 0, 1]]
    assert not np.any(list(of.values()))
    assert "dog" not in counts


def test_first_of_equal_words_matches_first():
    reference = [[("to", "PART"), ("go", "VERB"), ("to", "ADP")]]
    hypothesis = [[("to", "ADP"), ("to", "ADP"), ("to", "PART"), ("up", "ADP")]]
    names = label_names([["PART", "VERB", "ADP"]], [["ADP"]])
    assert names == ("ADP", "PART", "VERB")
    accuracy = word_accuracy(group_by(reference, names), group_by(hypothesis, names))
    # Matched words take the labels of the reference: PART, then ADP; a third "to" has no partner.
    assert accuracy.tolist() == [[[1, 2, 1], [1, 2, 1], [0, 0, 1]]]


@examples
@given(st.lists(st.tuples(labelled, labelled), min_size=1, max_size=3))
def test_labelled_words_against_counting_them_one_by_one(couples):
    expected = np.zeros((len(couples), 2, 3), dtype=int)
    for row, (reference, hypothesis) in zip(expected, couples, strict=True):
        for _, label in reference:
            row["XY".index(label), 2] += 1
        for place, (_, label) in enumerate(hypothesis):
            words = [word for word, _ in reference], [word for word, _ in hypothesis]
            partner = partner_by_counting(*words, place)
            if partner is None:
                row["XY".index(label), 1] += 1
            else:
                row["XY".index(reference[partner][1]), :2] += 1
    references, hypotheses = (group_by(side, "XY") for side in unzip(couples))
    np.testing.assert_array_equal(word_accuracy(references, hypotheses), expected)


@examples
@given(pairs)
def test_words_with_a_group_each_are_clipped_as_in_bleu(couples):
    references, hypotheses = unzip(couples)
    counts = {"a": 1, "b": 2, "c": 3}
    accuracy = word_accuracy(
        group_by_frequency(references, counts), group_by_frequency(hypotheses, counts)
    )
    expected = [
        [
            [min(hyp.count(word), ref.count(word)), hyp.count(word), ref.count(word)]
            for word in "abc"
        ]
        for ref, hyp in couples
    ]
    np.testing.assert_array_equal(accuracy[:, 1:4], np.reshape(expected, (len(couples), 3, 3)))
    assert accuracy.sum() == accuracy[:, 1:4].sum()


def test_rows_of_a_resample_are_those_of_its_sentences():
    references = [["a", "B"], ["C"], [], ["语", "D", "a"]]
    hypotheses = [["a"], ["B", "c"], ["x"], ["语", "a", "a"]]
    drawn = [3, 3, 0, 2]
    counts = word_accuracy(group_by_case(references), group_by_case(hypotheses))
    resampled = word_accuracy(
        group_by_case([references[i] for i in drawn]), group_by_case([hypotheses[i] for i in drawn])
    )
    np.testing.assert_array_equal(counts[drawn], resampled)


def test_precision_recall_and_f1_by_hand():
    sums = np.array([[[3, 4, 6], [0, 0, 0]], [[0, 0, 5], [0, 2, 0]], [[0, 1, 1], [7, 7, 7]]])
    nan = np.nan
    expected = np.array(
        [[[75, 50, 60], [nan, nan, nan]], [[nan, 0, 0], [0, nan, 0]], [[0, 0, 0], [100, 100, 100]]]
    )
    np.testing.assert_allclose(precision_recall_f1(sums), expected)
    np.testing.assert_allclose(precision_recall_f1(sums[0, 0]), expected[0, 0])


@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 9))
@examples
def test_f1_is_the_harmonic_mean(wrong, missing, matched):
    sums = np.array([matched, matched + wrong, matched + missing])
    precision, recall, f1 = precision_recall_f1(sums)
    assert f1 == pytest.approx(2 / (1 / precision + 1 / recall))


def test_no_sentences_have_no_words():
    accuracy = word_accuracy(group_by_case([]), group_by_case([]))
    assert accuracy.shape == (0, len(CASE_GROUPS), 3)
    assert np.isnan(precision_recall_f1(accuracy.sum(axis=0))).all()
    assert source_recall(group_by_case([]), [], [], []).shape == (0, len(CASE_GROUPS), 2)


def test_source_recall_by_hand():
    sources = group_by_case([["Peter", "does", "not", "go"], ["no"]])
    references = [["Pierre", "ne", "va", "pas"], ["non"]]
    hypotheses = [["Pierre", "va", "pas", "pas"], []]
    alignments = [[(0, 0), (2, 1), (2, 3), (3, 2), (2, 3)], [(0, 0)]]
    recall = source_recall(sources, references, hypotheses, alignments)
    assert recall[:, CASE_GROUPS.index("Capitalised")].tolist() == [[1, 1], [0, 0]]
    # "not" is half there, "does" has no link, and the link given twice counts once
    assert recall[:, CASE_GROUPS.index("lower")].tolist() == [[2, 3], [0, 1]]
    assert recall.sum() == 2 + 3 + 2 + 1


def test_a_word_produced_once_recalls_one_of_its_links():
    sources = group_by_label([["x", "y"]], [["X", "Y"]], "XY")
    links = [[(1, 1), (0, 0)]]
    assert source_recall(sources, [["w", "w"]], [["w"]], links).tolist() == [[[1, 1], [0, 1]]]


@st.composite
def aligned_sentences(draw):
    source, reference = draw(labelled), draw(sentences)
    every = [(i, j) for i in range(len(source)) for j in range(len(reference))]
    links = draw(st.lists(st.sampled_from(every), max_size=6)) if every else []
    return source, reference, draw(sentences), links


@examples
@given(st.lists(aligned_sentences(), min_size=1, max_size=3))
def test_source_recall_against_counting_links_one_by_one(corpus):
    expected = np.zeros((len(corpus), 2, 2), dtype=int)
    for row, (source, reference, hypothesis, links) in zip(expected, corpus, strict=True):
        for i, j in set(links):
            places = range(len(hypothesis))
            recalled = any(partner_by_counting(reference, hypothesis, p) == j for p in places)
            row["XY".index(source[i][1])] += (recalled, 1)
    sources, references, hypotheses, alignments = (list(side) for side in zip(*corpus, strict=True))
    recall = source_recall(group_by(sources, "XY"), references, hypotheses, alignments)
    np.testing.assert_array_equal(recall, expected)


@pytest.mark.parametrize("link", [(2, 0), (0, 1), (-1, 0), (0, -1)])
def test_a_link_past_its_sentence_is_named(link):
    sources = group_by_case([["a"], ["a", "b"]])
    message = f"sentence 2: link {link[0]}-{link[1]} points past 2 source and 1 reference words"
    with pytest.raises(ValueError, match=message):
        source_recall(sources, [["c"], ["c"]], [[], []], [[(0, 0)], [(0, 0), link]])


def test_lists_of_unequal_length_name_both_counts():
    one, two = group_by_case([["a"]]), group_by_case([["a"], ["b"]])
    with pytest.raises(ValueError, match="1 hypotheses for 2 references"):
        word_accuracy(two, one)
    with pytest.raises(ValueError, match="1 references for 2 sources"):
        source_recall(two, [["a"]], [[], []], [[], []])
    with pytest.raises(ValueError, match="3 alignments for 1 sources"):
        source_recall(one, [["a"]], [[]], [[], [], []])
    with pytest.raises(ValueError, match="0 labels for 1 sentences"):
        group_by_label([["a"]], [], "X")


def test_labels_must_fit_their_words():
    with pytest.raises(ValueError, match="sentence 2: 1 labels for 2 words"):
        group_by_label([["a"], ["a", "b"]], [["X"], ["X"]], "X")
    with pytest.raises(ValueError, match="sentence 1: unknown label 'Z'"):
        group_by_label([["a", "b"]], [["X", "Z"]], "XY")


def test_groups_must_agree():
    words = [["a"]]
    with pytest.raises(ValueError, match=r"groups .*lower.*, hypotheses .*1000.*: group both"):
        word_accuracy(group_by_case(words), group_by_frequency(words, {}))
