"""Subword weights to word alignments, on cases worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightning_modules.metrics.alignments import (
    alignment_error_rate,
    format_pharaoh,
    hard_alignment,
    parse_pharaoh,
    word_weights,
)


def test_source_pieces_are_summed_and_target_pieces_averaged():
    weights = np.array(
        [
            [0.5, 0.2, 0.2, 0.1],
            [0.1, 0.4, 0.4, 0.1],
            [0.0, 0.1, 0.1, 0.8],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
    # Source: word 0, two pieces of word 1, EOS. Target: word 0, two pieces of word 1, EOS.
    merged = word_weights(weights, src_words=[0, 1, 1, -1], tgt_words=[0, 1, 1, -1])
    np.testing.assert_allclose(merged, [[0.5, 0.4], [0.05, 0.5]])
    assert hard_alignment(merged) == [(0, 0), (1, 1)]


def test_pieces_together_outweigh_a_single_heavier_piece():
    merged = word_weights(np.array([[0.4, 0.3, 0.3]]), [0, 1, 1], [0])
    assert hard_alignment(merged) == [(1, 0)]


def test_one_piece_a_word_changes_nothing():
    weights = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    np.testing.assert_array_equal(word_weights(weights, [0, 1], [0, 1, 2]), weights)


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


def test_shapes_and_indices_are_checked():
    with pytest.raises(ValueError, match=r"shape \(1, 2\), the tokens ask for \(1, 3\)"):
        word_weights(np.ones((1, 2)), [0, 1, 2], [0])
    with pytest.raises(ValueError, match="-1 or more"):
        word_weights(np.ones((1, 1)), [-2], [0])


def test_pharaoh_is_source_first_and_sorted():
    assert format_pharaoh([(2, 0), (0, 1), (10, 2)]) == "0-1 2-0 10-2"
    assert parse_pharaoh("0-1 2-0\t10-2\n") == [(0, 1), (2, 0), (10, 2)]


@given(st.sets(st.tuples(st.integers(0, 200), st.integers(0, 200))))
def test_pharaoh_round_trip(pairs):
    assert parse_pharaoh(format_pharaoh(pairs)) == sorted(pairs)


@pytest.mark.parametrize("piece", ["0", "0-", "-1-0", "0:1", "a-b", "0-1-2", "0–1", "٣-0"])
def test_what_is_no_pair_is_named(piece):
    with pytest.raises(ValueError, match="is no alignment pair"):
        parse_pharaoh(f"0-0 {piece}")


def test_negative_positions_are_refused():
    with pytest.raises(ValueError, match="count from 0"):
        format_pharaoh([(0, 0), (-1, 2)])


def test_alignment_error_rate_by_hand():
    found = [[(0, 0), (1, 1)], [(2, 0)]]
    gold = [[(0, 0), (2, 1)], [(2, 0), (2, 1)]]
    # |A| = 3, |S| = 4, two links in common
    assert alignment_error_rate(found, gold) == pytest.approx(1 - 4 / 7)
    assert alignment_error_rate(gold, gold) == 0
    assert alignment_error_rate([[(1, 1)]], [[(0, 0)]]) == 1


def test_alignment_error_rate_wants_links_and_as_many_sentences():
    with pytest.raises(ValueError, match="no alignment links"):
        alignment_error_rate([[]], [[]])
    with pytest.raises(ValueError, match="shorter"):
        alignment_error_rate([[(0, 0)]], [])
