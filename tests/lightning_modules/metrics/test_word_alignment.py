"""Subword weights to word alignments, on cases worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodules.corpus import ParallelText
from lightning_modules.metrics.word_alignment import (
    Gold,
    alignment_statistics,
    error_precision_recall,
    format_pharaoh,
    format_soft_pharaoh,
    hard_alignment,
    links_of_translation,
    parse_gold,
    read_gold,
    word_weights,
)
from tests.helpers.data_settings import grammar_corpus


def test_source_pieces_are_summed_and_target_pieces_averaged():
    weights = np.array(
        [[0.5, 0.2, 0.2, 0.1], [0.1, 0.4, 0.4, 0.1], [0.0, 0.1, 0.1, 0.8], [0.0, 0.0, 0.0, 1.0]]
    )
    # Source: word 0, two pieces of word 1, EOS. Target: word 0, two pieces of word 1, EOS.
    merged = word_weights(weights, src_words=[0, 1, 1, -1], tgt_words=[0, 1, 1, -1])
    np.testing.assert_allclose(merged, [[0.5, 0.4], [0.05, 0.5]])
    assert hard_alignment(merged) == [(0, 0), (1, 1)]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8).map(sorted), st.integers(1, 6))
def test_a_row_without_special_tokens_keeps_its_sum(src_words, rows):
    weights = np.random.default_rng(0).dirichlet(np.ones(len(src_words)), size=rows)
    merged = word_weights(weights, src_words, [0] * rows)
    assert merged.sum() == pytest.approx(1)


def test_a_word_without_pieces_stays_unaligned():
    merged = word_weights(np.array([[0.3, 0.7]]), [0, 1], [1])
    assert merged.tolist() == [[0, 0], [0.3, 0.7]]
    assert hard_alignment(merged) == [(1, 1)]


def test_an_empty_hypothesis_has_no_alignment():
    merged = word_weights(np.array([[0.5, 0.5]]), [0, -1], [-1])
    assert merged.shape == (0, 1)
    assert hard_alignment(merged) == []
    assert format_pharaoh([]) == ""


@given(st.sets(st.tuples(st.integers(0, 200), st.integers(0, 200))))
def test_pharaoh_is_sorted_and_reads_back(pairs):
    line = format_pharaoh(pairs)
    assert line == " ".join(f"{source}-{target}" for source, target in sorted(pairs))
    assert parse_gold(line) == Gold.of(pairs)


@pytest.mark.parametrize("piece", ["0", "0-", "1?", "-1-0", "0:1", "a-b", "0-1-2", "0–1", "٣-0"])
def test_what_is_no_pair_is_named(piece):
    with pytest.raises(ValueError, match="is no alignment pair"):
        parse_gold(f"0-0 {piece}")


def test_leading_dimensions_are_merged_alike():
    weights = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 3, 5))
    src_words, tgt_words = [0, 1, 1, -1], [0, 0, 1, 2, -1]
    merged = word_weights(weights, src_words, tgt_words)
    assert merged.shape == (2, 3, 3, 2)
    for layer, head in np.ndindex(2, 3):
        one = word_weights(weights[layer, head], src_words, tgt_words)
        np.testing.assert_array_equal(merged[layer, head], one)


def test_soft_pharaoh_is_one_target_word_after_the_other():
    weights = np.array([[0.93, 0.05, 0.02], [0.009, 0.990999, 0.0], [0.0, 0.0, 0.0]])
    assert format_soft_pharaoh(weights) == "0-0:0.93 1-0:0.05 2-0:0.02 1-1:0.991"
    assert format_soft_pharaoh(weights, at_least=0.5) == "0-0:0.93 1-1:0.991"
    assert format_soft_pharaoh(weights, at_least=0) == (
        "0-0:0.93 1-0:0.05 2-0:0.02 0-1:0.009 1-1:0.991"
    )
    assert format_soft_pharaoh(np.zeros((0, 3))) == ""


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_soft_pharaoh_tells_the_weights(targets, sources, seed):
    weights = np.random.default_rng(seed).dirichlet(np.ones(sources), size=targets)
    read = np.zeros_like(weights)
    for piece in format_soft_pharaoh(weights, at_least=0).split():
        pair, weight = piece.split(":")
        [(source, target)] = parse_gold(pair).sure
        read[target, source] = float(weight)
    np.testing.assert_allclose(read, weights, rtol=1e-3)


TEXT = ParallelText(["a b c", "a b", "a b c d e"], ["a b c d", "a b", "a b c d e"])
LINKS = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)))


def measures(predicted, gold):
    return error_precision_recall(alignment_statistics(predicted, gold).sum(0)).tolist()


def test_sure_and_possible_links_of_a_line():
    gold = parse_gold("0-0 1?2 2-1")
    assert gold.sure == {(0, 0), (2, 1)}
    assert gold.possible == {(0, 0), (2, 1), (1, 2)}
    assert parse_gold("") == Gold.of([])


def test_links_go_with_the_words_that_a_translation_shares_with_its_reference():
    gold = [(0, 0), (1, 2), (2, 1), (2, 3)]
    reference = ["le", "chat", "noir", "dort"]
    assert links_of_translation(gold, reference, reference) == gold
    assert links_of_translation(gold, reference, ["oh", "le", "chien", "noir"]) == [(0, 1), (1, 3)]
    assert links_of_translation(gold, reference, []) == []


def test_naacl_file():
    lines = [
        "0001 1 1 S",
        "0001 3 4 P 0.5",
        "0001 2 0",  # linked to nothing
        "0001 NULL 2 S",
        "",
        "3 5 5 0.875",
        "3 5 5 P",  # sure above
        " 3\t1   2 ",
    ]
    assert read_gold(lines, TEXT) == [
        Gold.of([(0, 0)], [(2, 3)]),
        Gold.of([]),
        Gold.of([(4, 4), (0, 1)]),
    ]


def test_the_two_formats_say_the_same():
    pharaoh = ["0-0 1?2", "", "4-0 0?4 2-2"]
    naacl = ["1 1 1 S", "1 2 3 P", "3 5 1", "3 1 5 P", "3 3 3 S"]
    gold = [Gold.of([(0, 0)], [(1, 2)]), Gold.of([]), Gold.of([(4, 0), (2, 2)], [(0, 4)])]
    assert read_gold(pharaoh, TEXT) == read_gold(naacl, TEXT) == gold
    assert read_gold(["", "", ""], TEXT) == [Gold.of([])] * 3


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0-0", "0-0 x-1", ""], "line 2: 'x-1' is not a link"),
        (
            ["0-0", "2-0", ""],
            "line 2: 2-0 points past its sentence pair .2 source and 2 target words",
        ),
        (["0-0 0?4", "", ""], "line 1: 0-4 points past .*3 source and 4 target words, counted"),
        (["0-0", f"{10**20}-0", ""], "line 2: '10*-0' is not a link"),
        (["0-0", "1-1"], "2 lines for 3 sentence pairs"),
        (["1 1 1", "2 1 1 X"], "line 2: '2 1 1 X' is no link"),
        (["1 1 1", "4 1 1"], "line 2: there is no sentence 4: the text has 3, counted from 1"),
        (["0 1 1"], "line 1: there is no sentence 0"),
        (
            ["1 1 1", "2 3 1"],
            "line 2: 3 1 points past .*2 source and 2 target words, counted from 1",
        ),
    ],
)
def test_mistakes_name_their_line(lines, message):
    with pytest.raises(ValueError, match=message) as error:
        read_gold(lines, TEXT)
    assert "\n" not in str(error.value)


def test_measures_by_hand():
    """|A| = 4, |S| = 3, |A∩S| = 2, |A∩P| = 3."""
    gold = [Gold.of([(0, 0), (1, 1), (2, 2)], [(3, 2), (3, 3)])]
    predicted = [[(0, 0), (1, 1), (3, 3), (0, 3)]]
    assert alignment_statistics(predicted, gold).tolist() == [[2, 3, 4, 3]]
    assert measures(predicted, gold) == pytest.approx([1 - 5 / 7, 3 / 4, 2 / 3])


def test_where_there_is_nothing_to_divide_by():
    empty = Gold.of([])
    assert np.isnan(measures([[]], [empty])).all()
    error, precision, recall = measures([[(0, 0)]], [empty])
    assert (error, precision) == (1, 0)
    assert np.isnan(recall)
    assert np.isnan(measures([[]], [Gold.of([(0, 0)])])[1])
    assert alignment_statistics([], []).sum(0).tolist() == [0, 0, 0, 0]


def test_measures_take_leading_dimensions():
    counts = np.array([[[2, 3, 4, 3], [0, 0, 0, 0]], [[1, 1, 1, 1], [0, 0, 5, 5]]])
    error, precision, recall = error_precision_recall(counts)
    np.testing.assert_allclose(error, [[2 / 7, np.nan], [0.0, 1.0]])
    np.testing.assert_allclose(precision, [[3 / 4, np.nan], [1.0, 0.0]])
    np.testing.assert_allclose(recall, [[2 / 3, np.nan], [1.0, 0.0]])


@given(LINKS, LINKS, LINKS, LINKS)
def test_more_possible_links_never_raise_the_error(predicted, sure, possible, more):
    before = measures([predicted], [Gold.of(sure, possible)])[0]
    after = measures([predicted], [Gold.of(sure, possible | more)])[0]
    assert np.isnan(before) or 0 <= after <= before <= 1


@given(LINKS, LINKS, LINKS)
def test_sure_links_and_any_of_the_possible_ones_have_no_error(sure, possible, some):
    predicted = sure | (possible & some)
    if predicted:
        assert measures([predicted], [Gold.of(sure, possible)])[0] == 0


@given(st.lists(st.tuples(LINKS, LINKS, LINKS), min_size=1, max_size=4))
def test_a_corpus_is_counted_as_one_long_sentence(sentences):
    """Brute force over all links of all sentences."""
    links = [
        {(row, *pair) for row, one in enumerate(part) for pair in one}
        for part in zip(*sentences, strict=True)
    ]
    predicted, sure, possible = links[0], links[1], links[1] | links[2]
    gold = [Gold.of(s, p) for _, s, p in sentences]
    counts = alignment_statistics([a for a, _, _ in sentences], gold).sum(0)
    expected = [len(predicted & sure), len(predicted & possible), len(predicted), len(sure)]
    assert counts.tolist() == expected


def test_gold_of_the_grammar_against_itself_has_no_error():
    corpus = grammar_corpus(20, 20, 50)
    text = corpus.split("test")
    assert text.alignments is not None
    gold = read_gold(text.alignments, text)
    assert sum(len(sentence.sure) for sentence in gold) > 50
    assert measures([sentence.sure for sentence in gold], gold) == [0, 1, 1]
