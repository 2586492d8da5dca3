"""Subword weights to word alignments, on cases worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightning_modules.metrics.alignment.word_alignment import (
    format_pharaoh,
    format_soft_pharaoh,
    hard_alignment,
    parse_pharaoh,
    word_weights,
)


def test_source_pieces_are_summed_and_target_pieces_averaged():
    weights = np.array(
        [[0.5, 0.2, 0.2, 0.1], [0.1, 0.4, 0.4, 0.1], [0.0, 0.1, 0.1, 0.8], [0.0, 0.0, 0.0, 1.0]]
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
        [(source, target)] = parse_pharaoh(pair)
        read[target, source] = float(weight)
    np.testing.assert_allclose(read, weights, rtol=1e-3)
