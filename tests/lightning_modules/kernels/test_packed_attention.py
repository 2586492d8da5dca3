"""Attention of packed sentences against attention of each sentence by itself."""

import math

import pytest
import torch

from lightning_modules.kernels.packed_attention import Spans, packed_attention
from tests.helpers.gradients import TYPES, both, random
from tests.helpers.streams import KINDS, spans

SOURCE, TARGET = [5, 9, 1, 12], [6, 2, 1, 10]
ROOMS = {"encoder": (32, 32), "decoder": (24, 24), "across": (24, 32)}
"""Queries and keys of each kind; some places are free."""


def inputs_of(kind, *sizes, dtype=torch.float64):
    """Return queries, keys and values of two heads with numbers of these ``sizes``."""
    queries, keys = ROOMS[kind]
    rows = zip((queries, keys, keys), sizes, strict=True)
    return [random(each, 2, size, dtype=dtype) for each, size in rows]


def attend(inputs, seen):
    query, keys, values = inputs
    return packed_attention(query, keys, values, seen)


def sentence_by_sentence(kind, query, keys, values):
    """Attend within each pair of sentences; free places get 0."""
    lengths = {"encoder": (SOURCE, SOURCE), "decoder": (TARGET, TARGET), "across": (TARGET, SOURCE)}
    asking, asked = lengths[kind]
    parts = (
        torch.split(rows[: sum(each)], each)
        for rows, each in ((query, asking), (keys, asked), (values, asked))
    )
    results = []
    for q, k, v in zip(*parts, strict=True):
        energies = torch.einsum("thk,shk->hts", q, k) / math.sqrt(q.shape[2])
        if kind == "decoder":
            later = torch.ones_like(energies, dtype=torch.bool).triu(1)
            energies = energies.masked_fill(later, -math.inf)
        results.append(torch.einsum("hts,shv->thv", energies.softmax(-1), v))
    free = query.new_zeros(len(query) - sum(asking), *results[0].shape[1:])
    return torch.cat([*results, free])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_attention_of_each_sentence(kind, dtype):
    seen = spans(kind, SOURCE, TARGET, *ROOMS[kind])
    both(
        lambda q, k, v: packed_attention(q, k, v, seen),
        lambda q, k, v: sentence_by_sentence(kind, q, k, v),
        inputs_of(kind, 6, 6, 10, dtype=dtype),
        TYPES[dtype],
    )


@pytest.mark.parametrize("kind", KINDS)
def test_is_an_operator_that_torch_can_compile(kind):
    given = (*inputs_of(kind, 6, 6, 10), *spans(kind, SOURCE, TARGET, *ROOMS[kind]))
    torch.library.opcheck(torch.ops.attention_bench.packed_attention, given)


def test_half_precision_is_summed_in_float32():
    seen = spans("across", SOURCE, TARGET, *ROOMS["across"])
    halves = inputs_of("across", 8, 8, 8, dtype=torch.bfloat16)
    half = attend(halves, seen)
    assert half.dtype == torch.bfloat16
    whole = attend([each.double() for each in halves], seen)
    torch.testing.assert_close(half.double(), whole, rtol=2**-8, atol=2**-8)


def test_positions_begin_anew_with_each_sentence():
    seen = spans("encoder", SOURCE, TARGET, *ROOMS["encoder"])
    expected = [place for length in SOURCE for place in range(length)]
    assert seen.positions[: len(expected)].tolist() == expected


def test_an_empty_stream_has_no_results_and_no_gradients():
    nothing = torch.zeros(8, dtype=torch.int32)
    inputs = [random(8, 2, 4) for _ in range(3)]
    result = attend(inputs, Spans(nothing, nothing, nothing, nothing))
    assert not result.any()
    for gradient in torch.autograd.grad(result.sum(), inputs):
        assert not gradient.any()
