"""Triton's kernels of rows: loss and gradient of logits, best tokens, additive energies.

Numbers are read and written in any type of ``TYPES_OF_ROWS``, and computed in float32. No kernel
makes the processor wait, so that all may be part of a CUDA graph. Widths are constants of the
compiler, so that it knows how addresses are aligned; lengths are not, since every batch has others.
``kernels.choice`` decides who uses this module, which needs Triton.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

LOSS_BLOCK, LOSS_WARPS = 8192, 16
BEST_BLOCK, BEST_WARPS = 4096, 8
"""Logits of a row in registers at a time, and the warps that share them."""
SRC_BLOCK, SIZE_BLOCK = 16, 128
"""Source positions and numbers of an alignment layer in registers at a time."""


@triton.jit
def _numbers(row, columns, low: tl.constexpr, width: tl.constexpr):
    """Return numbers of a row; -inf outside of ``[low, width)``."""
    x = tl.load(row + columns, mask=columns < width, other=-float("inf")).to(tl.float32)
    return tl.where(columns >= low, x, -float("inf"))


@triton.jit
def _log_sum_exp(row, low: tl.constexpr, width: tl.constexpr, block: tl.constexpr):
    largest = -float("inf")
    total = tl.zeros([block], tl.float32)
    for start in range(0, width, block):
        x = _numbers(row, start + tl.arange(0, block), low, width)
        higher = tl.maximum(largest, tl.max(x, 0))
        total = total * tl.exp(largest - higher) + tl.exp(x - higher)
        largest = higher
    return largest + tl.log(tl.sum(total, 0))


@triton.jit
def _loss(logits, targets, losses, smoothing, stride, width: tl.constexpr, block: tl.constexpr):
    place = tl.program_id(0).to(tl.int64)
    row = logits + place * stride
    target = tl.load(targets + place)
    if target < 0:
        for start in range(0, width, block):
            columns = start + tl.arange(0, block)
            tl.store(row + columns, 0.0, mask=columns < width)
        tl.store(losses + place, 0.0)
    else:
        log_total = _log_sum_exp(row, 0, width, block)
        expected = tl.zeros([block], tl.float32)
        for start in range(0, width, block):
            columns = start + tl.arange(0, block)
            inside = columns < width
            x = tl.load(row + columns, mask=inside, other=0.0).to(tl.float32)
            goal = smoothing / width + tl.where(columns == target, 1 - smoothing, 0.0)
            expected += x * goal
            gradient = tl.exp(x - log_total) - goal
            tl.store(row + columns, gradient.to(logits.dtype.element_ty), mask=inside)
        tl.store(losses + place, log_total - tl.sum(expected, 0))


def loss_rows(
    logits: Tensor,
    targets: Tensor,
    smoothing: float,
    block: int = LOSS_BLOCK,
    warps: int = LOSS_WARPS,
) -> Tensor:
    """Return the cross-entropy of each row in float32, and turn ``logits`` into its gradient.

    Logits are ``(rows, vocabulary)``, targets and results ``(rows,)``. A row with target -1 has
    loss 0 and gradient 0. ``smoothing`` is that of Szegedy et al. 2016 (arXiv 1512.00567).
    """
    rows, width = logits.shape
    losses = logits.new_empty(rows, dtype=torch.float32)
    block = min(block, triton.next_power_of_2(width))
    if rows:
        _loss[(rows,)](
            *(logits, targets, losses, float(smoothing), logits.stride(0), width, block),
            num_warps=_warps(block, warps),
        )
    return losses


def _warps(block: int, most: int) -> int:
    """Return how many warps share a block, at least four numbers for each thread."""
    return max(1, min(most, block // 128))


@triton.jit
def _best(
    logits,
    scores,
    tokens,
    stride,
    count: tl.constexpr,
    low: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
):
    place = tl.program_id(0).to(tl.int64)
    row = logits + place * stride
    log_total = _log_sum_exp(row, low, width, block)
    last = float("inf")
    last_token = -1
    for rank in range(count):
        best = tl.full([block], -float("inf"), tl.float32)
        found = tl.zeros([block], tl.int32)
        for start in range(0, width, block):
            columns = start + tl.arange(0, block)
            x = _numbers(row, columns, low, width)
            # What comes after the last token, by number and then by place.
            later = (x < last) | ((x == last) & (columns > last_token))
            better = later & (x > best)
            best = tl.where(better, x, best)
            found = tl.where(better, columns, found)
        last = tl.max(best, 0)
        last_token = tl.min(tl.where(best == last, found, width), 0)
        tl.store(scores + place * count + rank, last - log_total)
        tl.store(tokens + place * count + rank, last_token.to(tl.int64))


def best_of_rows(logits: Tensor, count: int, impossible: int) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities (float32) and ids of the best tokens of each row, best first.

    Of equal logits, the first comes first. The first ``impossible`` tokens have probability 0.
    Logits are ``(rows, vocabulary)``, both results ``(rows, count)``.
    """
    rows, width = logits.shape
    scores = logits.new_empty(rows, count, dtype=torch.float32)
    tokens = logits.new_empty(rows, count, dtype=torch.int64)
    block = min(BEST_BLOCK, triton.next_power_of_2(width))
    if logits.stride(1) != 1:
        logits = logits.contiguous()
    if rows:
        _best[(rows,)](
            *(logits, scores, tokens, logits.stride(0), count, impossible, width, block),
            num_warps=_warps(block, BEST_WARPS),
        )
    return scores, tokens


@triton.jit
def tanh(x):
    """Return tanh(x), which Triton does not have."""
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def load_vector(first, columns, width: tl.constexpr):
    """Return numbers from ``first`` on, in float32; 0 beyond ``width``."""
    return tl.load(first + columns, mask=columns < width, other=0.0).to(tl.float32)


@triton.jit
def _tile(first, rows, columns, height, width: tl.constexpr):
    inside = (rows[:, None] < height) & (columns[None] < width)
    places = first + rows[:, None] * width + columns[None]
    return tl.load(places, mask=inside, other=0.0).to(tl.float32)


@triton.jit(do_not_specialize=["tgt", "src"])
def _energies(
    query,
    keys,
    energy,
    energies,
    tgt,
    src,
    size: tl.constexpr,
    src_block: tl.constexpr,
    size_block: tl.constexpr,
):
    sentence = tl.program_id(0).to(tl.int64)
    position = sentence * tgt + tl.program_id(1)
    words = tl.program_id(2) * src_block + tl.arange(0, src_block)
    total = tl.zeros([src_block, size_block], tl.float32)
    for start in range(0, size, size_block):
        units = start + tl.arange(0, size_block)
        q = load_vector(query + position * size, units, size)
        v = load_vector(energy, units, size)
        k = _tile(keys + sentence * src * size, words, units, src, size)
        total += tanh(q[None] + k) * v[None]
    tl.store(energies + position * src + words, tl.sum(total, 1), mask=words < src)


def energies_of_rows(query: Tensor, keys: Tensor, energy: Tensor) -> Tensor:
    """Return ``v · tanh(q_t + k_s)``, ``(batch, tgt, src)``, in float32.

    Queries are ``(batch, tgt, size)``, keys ``(batch, src, size)``, ``energy`` is v, ``(size,)``.
    """
    (batch, tgt, size), src = query.shape, keys.shape[1]
    energies = query.new_empty(batch, tgt, src, dtype=torch.float32)
    if energies.numel():
        grid = batch, tgt, triton.cdiv(src, SRC_BLOCK)
        tensors = query.contiguous(), keys.contiguous(), energy.contiguous(), energies
        _energies[grid](*tensors, tgt, src, size, SRC_BLOCK, SIZE_BLOCK)
    return energies


@triton.jit(do_not_specialize=["tgt", "src"])
def _query_gradient(
    query,
    keys,
    energy,
    grad_energies,
    grad_query,
    tgt,
    src,
    size: tl.constexpr,
    src_block: tl.constexpr,
    size_block: tl.constexpr,
):
    sentence = tl.program_id(0).to(tl.int64)
    position = sentence * tgt + tl.program_id(1)
    units = tl.program_id(2) * size_block + tl.arange(0, size_block)
    q = load_vector(query + position * size, units, size)
    total = tl.zeros([src_block, size_block], tl.float32)
    for start in range(0, src, src_block):
        words = start + tl.arange(0, src_block)
        places = grad_energies + position * src + words
        g = tl.load(places, mask=words < src, other=0.0).to(tl.float32)
        hidden = tanh(q[None] + _tile(keys + sentence * src * size, words, units, src, size))
        total += g[:, None] * (1 - hidden * hidden)
    gradient = tl.sum(total, 0) * load_vector(energy, units, size)
    places = grad_query + position * size + units
    tl.store(places, gradient.to(grad_query.dtype.element_ty), mask=units < size)


def query_gradient(query: Tensor, keys: Tensor, energy: Tensor, grad_energies: Tensor) -> Tensor:
    """Return the gradient of the queries of ``energies_of_rows``; ``(batch, tgt, src)`` given."""
    (batch, tgt, size), src = query.shape, keys.shape[1]
    gradient = torch.empty_like(query, memory_format=torch.contiguous_format)
    if gradient.numel():
        grid = batch, tgt, triton.cdiv(size, SIZE_BLOCK)
        given = (tensor.contiguous() for tensor in (query, keys, energy, grad_energies))
        _query_gradient[grid](*given, gradient, tgt, src, size, SRC_BLOCK, SIZE_BLOCK)
    return gradient


@triton.jit(do_not_specialize=["tgt", "src"])
def _keys_gradient(
    query,
    keys,
    energy,
    grad_energies,
    grad_keys,
    grad_energy,
    tgt,
    src,
    size: tl.constexpr,
    src_block: tl.constexpr,
    size_block: tl.constexpr,
):
    sentence = tl.program_id(0).to(tl.int64)
    words = tl.program_id(1) * src_block + tl.arange(0, src_block)
    units = tl.program_id(2) * size_block + tl.arange(0, size_block)
    k = _tile(keys + sentence * src * size, words, units, src, size)
    of_keys = tl.zeros([src_block, size_block], tl.float32)
    of_energy = tl.zeros([src_block, size_block], tl.float32)
    for step in range(0, tgt):
        position = sentence * tgt + step
        q = load_vector(query + position * size, units, size)
        places = grad_energies + position * src + words
        g = tl.load(places, mask=words < src, other=0.0).to(tl.float32)
        hidden = tanh(q[None] + k)
        of_keys += g[:, None] * (1 - hidden * hidden)
        of_energy += g[:, None] * hidden
    gradient = of_keys * load_vector(energy, units, size)[None]
    inside = (words[:, None] < src) & (units[None] < size)
    places = grad_keys + (sentence * src + words[:, None]) * size + units[None]
    tl.store(places, gradient.to(grad_keys.dtype.element_ty), mask=inside)
    part = sentence * tl.num_programs(1) + tl.program_id(1)
    tl.store(grad_energy + part * size + units, tl.sum(of_energy, 0), mask=units < size)


def keys_gradient(
    query: Tensor, keys: Tensor, energy: Tensor, grad_energies: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients of keys and v of ``energies_of_rows``; ``(batch, tgt, src)`` given."""
    (batch, tgt, size), src = query.shape, keys.shape[1]
    blocks = triton.cdiv(src, SRC_BLOCK)
    of_keys = torch.empty_like(keys, memory_format=torch.contiguous_format)
    of_energy = keys.new_empty(batch * blocks, size, dtype=torch.float32)
    if of_energy.numel():
        grid = batch, blocks, triton.cdiv(size, SIZE_BLOCK)
        given = (tensor.contiguous() for tensor in (query, keys, energy, grad_energies))
        _keys_gradient[grid](*given, of_keys, of_energy, tgt, src, size, SRC_BLOCK, SIZE_BLOCK)
    return of_keys, of_energy.sum(0).to(energy.dtype)
