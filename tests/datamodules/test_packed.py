"""Packed batches: the same sentences as streams of tokens, and the room that they need."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from datamodules.batching import (
    NO_TARGET,
    LengthBatchSampler,
    MixedBatchSampler,
    Pieces,
    PieceSampler,
    Place,
    collate,
    room_for,
)
from datamodules.batching.packed import STEP
from datamodules.tokenization import PAD
from tests.datamodules.samples import encoded, random_pairs

repeatable = settings(derandomize=True, deadline=None, database=None)
sentences = st.lists(st.integers(4, 99), max_size=12)
ROOM = 160


@repeatable
@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=12))
def test_streams_are_the_real_tokens_in_the_order_of_the_batch(pairs):
    padded = collate(encoded(pairs))
    packed: Any = padded.pack(ROOM).packed
    real = {"src": padded.src_mask, "tgt_in": padded.tgt_mask, "tgt_out": padded.tgt_mask}
    for name, mask in real.items():
        stream, tokens = getattr(packed, name), getattr(padded, name)[mask]
        assert stream[: len(tokens)].equal(tokens)
        free = NO_TARGET if name == "tgt_out" else PAD
        assert stream[len(tokens) :].tolist() == [free] * (ROOM - len(tokens))
    assert packed.tgt_tokens == padded.update_tokens
    assert {len(part) if part.dim() == 1 else part.shape[1] for part in packed} == {ROOM}


@repeatable
@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=12))
def test_spans_are_those_of_the_own_and_of_the_other_sentence(pairs):
    batch = collate(encoded(pairs)).pack(ROOM)
    packed, (src, tgt) = batch.packed, batch.lengths.tolist()
    bounds = [
        [[sum(side[:number]), sum(side[: number + 1])] for number in range(len(side))]
        for side in (src, tgt)
    ]
    expected = {
        "src_spans": (bounds[0], src),
        "tgt_spans": (bounds[1], tgt),
        "src_of_tgt": (bounds[0], tgt),
        "tgt_of_src": (bounds[1], src),
    }
    for name, (spans, repeats) in expected.items():
        each = [span for span, times in zip(spans, repeats, strict=True) for _ in range(times)]
        each += [[0, 0]] * (ROOM - len(each))
        assert getattr(packed, name).T.tolist() == each
        assert getattr(packed, name).dtype == torch.int32


def test_sentences_that_do_not_fit_are_refused():
    batch: Any = collate(encoded([([4] * 99, [5]), ([4] * 59, [6])]))
    assert batch.pack(ROOM).packed.src[-1] != PAD
    with pytest.raises(ValueError, match="160 tokens do not fit a stream of 159"):
        batch.pack(ROOM - 1)


@pytest.mark.parametrize("sampler", [LengthBatchSampler, MixedBatchSampler])
@pytest.mark.parametrize("pieces", [1, 3, 8])
@pytest.mark.parametrize("max_tokens", [60, 700])
def test_every_piece_of_every_batch_fits_its_room(sampler, pieces, max_tokens):
    data = random_pairs(500)
    longest = int(data.longest.max())
    room = room_for(max_tokens, longest, pieces)
    assert room % STEP == 0
    assert room < min(max_tokens, max_tokens / pieces + longest) + STEP
    updates = sampler(data, max_tokens, shuffle=True)
    items = Pieces(data, room=room)
    for rank in range(pieces):
        for piece in PieceSampler(updates, Place(rank, pieces, pieces)):
            batch: Any = items[piece]
            assert batch.packed.tgt_tokens == batch.lengths[1].sum()


def test_batches_are_padded_only_unless_a_room_is_given():
    data = random_pairs(20)
    [piece, *_] = PieceSampler(LengthBatchSampler(data, 100), Place())
    batch = Pieces(data)[piece]
    assert batch.packed is None
    packed = Pieces(data, room=128)[piece]
    for name, part in batch._asdict().items():
        if name != "packed":
            assert np.array_equal(part, getattr(packed, name))
