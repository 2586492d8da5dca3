"""Rounded batches: few shapes, and the same sentences."""

import numpy as np
import pytest

from datamodules.batching import (
    EncodedPairs,
    LengthBatchSampler,
    Longest,
    Pieces,
    PieceSampler,
    Place,
    Sequences,
)
from datamodules.batching.rounded import NO_TARGET, largest, rounded
from datamodules.tokenization import EOS, PAD


def pairs(count: int, longest: int) -> EncodedPairs:
    generator = np.random.default_rng(0)
    lengths = generator.integers(1, longest, (2, count))
    sides = [[generator.integers(4, 20, length).tolist() for length in side] for side in lengths]
    return EncodedPairs(None, *map(Sequences.of, sides))


def updates(text: EncodedPairs, max_tokens: int, rounding: Longest):
    order = LengthBatchSampler(text, max_tokens, shuffle=True)
    pieces = Pieces(text, rounding=rounding)
    return [pieces[piece] for piece in PieceSampler(order, Place())]


@pytest.mark.parametrize("number", [*range(1, 70), 1000])
def test_sizes_are_rounded_up_by_a_sixteenth_at_most(number):
    assert number <= rounded(number) <= number * 17 / 16
    assert rounded(rounded(number)) == rounded(number)


@pytest.mark.parametrize("rounding", [Longest(), Longest(50, 41), Longest(41)])
def test_a_rounded_batch_has_the_sentences_of_the_batch(rounding):
    for batch in updates(pairs(300, 40), 500, rounding):
        rows, src_size = batch.src.shape
        tgt_size = batch.tgt_in.shape[1]
        form = batch.rounded
        assert form.src[:rows, :src_size].equal(batch.src)
        assert form.src_mask[:rows, :src_size].equal(batch.src_mask)
        assert form.tgt_in[:rows, :tgt_size].equal(batch.tgt_in)
        targets = batch.tgt_out.masked_fill(~batch.tgt_mask, NO_TARGET)
        assert form.tgt_out[:rows, :tgt_size].equal(targets)
        assert form.tgt_tokens == batch.update_tokens
        # What is added reads one token in each row, for attention, and predicts none.
        assert form.src_mask[rows:].sum(1).eq(1).all()
        assert form.src[rows:, 0].eq(EOS).all()
        assert form.src[:rows, src_size:].eq(PAD).all()
        assert form.src.shape[1] <= (rounding.src_tokens or 99)
        assert form.tgt_in.shape[1] <= (rounding.tgt_tokens or 99)
        assert form.tgt_in.shape == form.tgt_out.shape


def test_batches_have_a_few_dozen_shapes():
    found = updates(pairs(20_000, 100), 4000, Longest())
    shapes = {tuple(part.shape for part in batch.rounded) for batch in found}
    assert len(shapes) < 100 < len(found)
    most = largest(4000 // 100, 100, Longest())
    assert max(batch.rounded.src.shape[1] for batch in found) <= most.src.shape[1]


def test_other_batches_stay_as_they_are():
    text = pairs(5, 4)
    pieces = PieceSampler(LengthBatchSampler(text, 100), Place())
    assert [Pieces(text)[piece].rounded for piece in pieces] == [None]
