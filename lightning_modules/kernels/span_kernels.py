"""Triton's kernels of ``packed_attention``: a program computes a tile of queries, or of keys.

The spans of a tile rise along the stream, so that the keys of all its queries are one run of the
stream, which the program reads tile by tile (Dao 2023, arXiv 2307.08691, algorithms 1 and 2, with
exponentials of base 2). Bounds of loops are read on the device, and shapes never vary: a CUDA graph
of these kernels serves all batches.

Products of float32 are as exact as ``matmul_precision`` asks. Import this module only where
Triton is installed.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor


class Tile(NamedTuple):
    """What a program computes at a time, and with what."""

    queries: int = 64
    keys: int = 64
    warps: int = 4
    stages: int = 2


TILE = Tile()
SMALL = Tile(queries=32, keys=32)
"""The tile of heads with more than 64 numbers, and of float32, for which the registers are too few
otherwise."""
SMALLEST = 16  # numbers of a side that tensor cores multiply at least


@triton.jit
def _load(start, rows, real, heads: tl.constexpr, size: tl.constexpr, block: tl.constexpr):
    """Load rows of this program's head from ``(rows, heads, size)``, as ``(rows, block)``."""
    columns = tl.arange(0, block)
    places = rows[:, None] * (heads * size) + tl.program_id(1) * size + columns[None, :]
    mask = real[:, None]
    if block > size:
        mask = mask & (columns < size)[None, :]
    return tl.load(start + places, mask=mask, other=0.0)


@triton.jit
def _store(
    start, rows, real, numbers, heads: tl.constexpr, size: tl.constexpr, block: tl.constexpr
):
    """Store ``(rows, block)`` to rows of this program's head in ``(rows, heads, size)``."""
    columns = tl.arange(0, block)
    places = rows[:, None] * (heads * size) + tl.program_id(1) * size + columns[None, :]
    mask = real[:, None]
    if block > size:
        mask = mask & (columns < size)[None, :]
    tl.store(start + places, numbers.to(start.dtype.element_ty), mask=mask)


@triton.jit
def _spans(first, end, rows, real, length):
    """Return the spans of rows, and the run of the other side that contains all of them."""
    low = tl.load(first + rows, mask=real, other=0)
    high = tl.load(end + rows, mask=real, other=0)
    begin = tl.min(tl.where(high > low, low, length), 0)
    stop = tl.max(tl.where(high > low, high, 0), 0)
    return low, high, begin, stop


@triton.jit
def _attend(
    query, keys, values, result, totals, first, end, scale, queries, places,
    heads: tl.constexpr, size: tl.constexpr, size_block: tl.constexpr,
    value: tl.constexpr, value_block: tl.constexpr,
    tile_queries: tl.constexpr, tile_keys: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Results of a tile of queries, and the logarithms of their sums of exponentials."""
    rows = tl.program_id(0) * tile_queries + tl.arange(0, tile_queries)
    real = rows < queries
    low, high, begin, stop = _spans(first, end, rows, real, places)
    q = _load(query, rows, real, heads, size, size_block)
    largest = tl.full([tile_queries], -float("inf"), tl.float32)
    total = tl.zeros([tile_queries], tl.float32)
    mixed = tl.zeros([tile_queries, value_block], tl.float32)
    for start in range((begin // tile_keys) * tile_keys, stop, tile_keys):
        columns = start + tl.arange(0, tile_keys)
        there = columns < places
        k = _load(keys, columns, there, heads, size, size_block)
        energies = tl.dot(q, tl.trans(k), input_precision=precision) * scale
        sees = (columns[None, :] >= low[:, None]) & (columns[None, :] < high[:, None])
        energies = tl.where(sees, energies, -float("inf"))
        higher = tl.maximum(largest, tl.max(energies, 1))
        base = tl.where(higher == -float("inf"), 0.0, higher)  # queries without keys so far
        weights = tl.exp2(energies - base[:, None])
        kept = tl.exp2(largest - base)
        v = _load(values, columns, there, heads, value, value_block)
        total = total * kept + tl.sum(weights, 1)
        mixed = mixed * kept[:, None]
        mixed += tl.dot(weights.to(v.dtype), v, input_precision=precision)
        largest = higher
    some = total > 0
    total = tl.where(some, total, 1.0)
    _store(result, rows, real, mixed / total[:, None], heads, value, value_block)
    logarithms = tl.where(some, largest + tl.log2(total), 0.0)
    tl.store(totals + tl.program_id(1) * queries + rows, logarithms, mask=real)


@triton.jit
def _grad_queries(
    grad, query, keys, values, result, totals, grad_query, slopes, first, end,
    scale, natural_scale, queries, places,
    heads: tl.constexpr, size: tl.constexpr, size_block: tl.constexpr,
    value: tl.constexpr, value_block: tl.constexpr,
    tile_queries: tl.constexpr, tile_keys: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Gradients of a tile of queries, and of the logarithms of their sums, which keys need."""
    rows = tl.program_id(0) * tile_queries + tl.arange(0, tile_queries)
    real = rows < queries
    low, high, begin, stop = _spans(first, end, rows, real, places)
    q = _load(query, rows, real, heads, size, size_block)
    g = _load(grad, rows, real, heads, value, value_block)
    out = _load(result, rows, real, heads, value, value_block)
    slope = tl.sum(g.to(tl.float32) * out.to(tl.float32), 1)
    numbers = tl.program_id(1) * queries + rows
    tl.store(slopes + numbers, slope, mask=real)
    total = tl.load(totals + numbers, mask=real, other=0.0)
    collected = tl.zeros([tile_queries, size_block], tl.float32)
    for start in range((begin // tile_keys) * tile_keys, stop, tile_keys):
        columns = start + tl.arange(0, tile_keys)
        there = columns < places
        k = _load(keys, columns, there, heads, size, size_block)
        v = _load(values, columns, there, heads, value, value_block)
        energies = tl.dot(q, tl.trans(k), input_precision=precision) * scale
        sees = (columns[None, :] >= low[:, None]) & (columns[None, :] < high[:, None])
        weights = tl.exp2(tl.where(sees, energies - total[:, None], -float("inf")))
        grad_weights = tl.dot(g, tl.trans(v), input_precision=precision)
        grad_energies = weights * (grad_weights - slope[:, None])
        collected += tl.dot(grad_energies.to(k.dtype), k, input_precision=precision)
    _store(grad_query, rows, real, collected * natural_scale, heads, size, size_block)


@triton.jit
def _grad_keys(
    grad, query, keys, values, totals, slopes, grad_keys, grad_values, seen_from, seen_to,
    scale, natural_scale, queries, places,
    heads: tl.constexpr, size: tl.constexpr, size_block: tl.constexpr,
    value: tl.constexpr, value_block: tl.constexpr,
    tile_queries: tl.constexpr, tile_keys: tl.constexpr, precision: tl.constexpr,
):  # fmt: skip
    """Gradients of a tile of keys and of their values."""
    columns = tl.program_id(0) * tile_keys + tl.arange(0, tile_keys)
    there = columns < places
    low, high, begin, stop = _spans(seen_from, seen_to, columns, there, queries)
    k = _load(keys, columns, there, heads, size, size_block)
    v = _load(values, columns, there, heads, value, value_block)
    collected_keys = tl.zeros([tile_keys, size_block], tl.float32)
    collected_values = tl.zeros([tile_keys, value_block], tl.float32)
    for start in range((begin // tile_queries) * tile_queries, stop, tile_queries):
        rows = start + tl.arange(0, tile_queries)
        real = rows < queries
        q = _load(query, rows, real, heads, size, size_block)
        g = _load(grad, rows, real, heads, value, value_block)
        numbers = tl.program_id(1) * queries + rows
        total = tl.load(totals + numbers, mask=real, other=0.0)
        slope = tl.load(slopes + numbers, mask=real, other=0.0)
        energies = tl.dot(k, tl.trans(q), input_precision=precision) * scale
        sees = (rows[None, :] >= low[:, None]) & (rows[None, :] < high[:, None])
        weights = tl.exp2(tl.where(sees, energies - total[None, :], -float("inf")))
        collected_values += tl.dot(weights.to(g.dtype), g, input_precision=precision)
        grad_weights = tl.dot(v, tl.trans(g), input_precision=precision)
        grad_energies = weights * (grad_weights - slope[None, :])
        collected_keys += tl.dot(grad_energies.to(q.dtype), q, input_precision=precision)
    _store(grad_keys, columns, there, collected_keys * natural_scale, heads, size, size_block)
    _store(grad_values, columns, there, collected_values, heads, value, value_block)


def attend(
    query: Tensor, keys: Tensor, values: Tensor, first: Tensor, end: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the results, and the logarithms of the sums, ``(heads, queries)``, in base 2."""
    queries, heads, _ = query.shape
    settings = _settings(query, values)
    result = query.new_empty(queries, heads, values.shape[2])
    totals = query.new_empty(heads, queries, dtype=torch.float32)
    scale = 1 / math.sqrt(query.shape[2])
    grid = triton.cdiv(queries, settings["tile_queries"]), heads
    _attend[grid](
        *(query, keys, values, result, totals, first, end),
        *(scale * math.log2(math.e), queries, len(keys)),
        **settings,
    )
    return result, totals


def gradients(
    grad: Tensor,
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    result: Tensor,
    totals: Tensor,
    spans: Sequence[Tensor],
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of queries, keys and values; see ``Spans``."""
    first, end, seen_from, seen_to = spans
    queries, heads, _ = query.shape
    settings = _settings(query, values)
    grad_query, grad_keys, grad_values = map(torch.empty_like, (query, keys, values))
    slopes = torch.empty_like(totals)
    scale = 1 / math.sqrt(query.shape[2])
    numbers = scale * math.log2(math.e), scale, queries, len(keys)
    _grad_queries[triton.cdiv(queries, settings["tile_queries"]), heads](
        *(grad, query, keys, values, result, totals, grad_query, slopes, first, end),
        *numbers,
        **settings,
    )
    _grad_keys[triton.cdiv(len(keys), settings["tile_keys"]), heads](
        *(grad, query, keys, values, totals, slopes, grad_keys, grad_values),
        *(seen_from, seen_to, *numbers),
        **settings,
    )
    return grad_query, grad_keys, grad_values


def _settings(query: Tensor, values: Tensor) -> dict[str, Any]:
    """Return the constants with which a kernel is compiled."""
    (_, heads, size), value = query.shape, values.shape[2]
    blocks = [max(SMALLEST, triton.next_power_of_2(each)) for each in (size, value)]
    tile = TILE if max(blocks) <= 64 and query.itemsize == 2 else SMALL
    exact = torch.get_float32_matmul_precision() == "highest"
    return {
        "heads": heads,
        "size": size,
        "size_block": blocks[0],
        "value": value,
        "value_block": blocks[1],
        "tile_queries": tile.queries,
        "tile_keys": tile.keys,
        "precision": "ieee" if exact else "tf32",
        "num_warps": tile.warps,
        "num_stages": tile.stages,
    }
