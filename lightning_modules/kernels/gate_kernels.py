"""Triton's kernels of the gates of torch's LSTM and GRU cells, with their gradients.

A step of a loop has a dozen operators after its products, and their backward passes more: here one
kernel each way, which computes in float32. The forms with torch's operators, ``LstmGates`` and
``GruGates``, say what is computed. ``kernels.choice`` decides who uses this module, which needs
Triton.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from lightning_modules.kernels.row_kernels import load_vector, tanh

BLOCK = 512  # units of a cell in registers at a time


@triton.jit
def _store(first, units, numbers, size: tl.constexpr):
    tl.store(first + units, numbers.to(first.dtype.element_ty), mask=units < size)


@triton.jit
def _lstm_parts(gates, units, size: tl.constexpr):
    let_in = tl.sigmoid(load_vector(gates, units, size))
    keep = tl.sigmoid(load_vector(gates + size, units, size))
    candidate = tanh(load_vector(gates + 2 * size, units, size))
    return let_in, keep, candidate, tl.sigmoid(load_vector(gates + 3 * size, units, size))


@triton.jit
def _lstm(gates, cell, next_hidden, next_cell, size: tl.constexpr, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    units = tl.program_id(1) * block + tl.arange(0, block)
    let_in, keep, candidate, let_out = _lstm_parts(gates + row * 4 * size, units, size)
    new = keep * load_vector(cell + row * size, units, size) + let_in * candidate
    _store(next_cell + row * size, units, new, size)
    _store(next_hidden + row * size, units, let_out * tanh(new), size)


@triton.jit
def _lstm_gradient(
    gates,
    cell,
    grad_hidden,
    grad_next_cell,
    grad_gates,
    grad_cell,
    size: tl.constexpr,
    block: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    units = tl.program_id(1) * block + tl.arange(0, block)
    let_in, keep, candidate, let_out = _lstm_parts(gates + row * 4 * size, units, size)
    old = load_vector(cell + row * size, units, size)
    shown = tanh(keep * old + let_in * candidate)
    of_hidden = load_vector(grad_hidden + row * size, units, size)
    of_cell = load_vector(grad_next_cell + row * size, units, size)
    of_cell += of_hidden * let_out * (1 - shown * shown)
    _store(grad_cell + row * size, units, of_cell * keep, size)
    first = grad_gates + row * 4 * size
    _store(first, units, of_cell * candidate * let_in * (1 - let_in), size)
    _store(first + size, units, of_cell * old * keep * (1 - keep), size)
    _store(first + 2 * size, units, of_cell * let_in * (1 - candidate * candidate), size)
    _store(first + 3 * size, units, of_hidden * shown * let_out * (1 - let_out), size)


@triton.jit
def _gru_parts(x, h, units, size: tl.constexpr):
    reset = tl.sigmoid(load_vector(x, units, size) + load_vector(h, units, size))
    update = tl.sigmoid(load_vector(x + size, units, size) + load_vector(h + size, units, size))
    h_candidate = load_vector(h + 2 * size, units, size)
    candidate = tanh(load_vector(x + 2 * size, units, size) + reset * h_candidate)
    return reset, update, h_candidate, candidate


@triton.jit
def _gru(from_inputs, from_hidden, hidden, result, size: tl.constexpr, block: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    units = tl.program_id(1) * block + tl.arange(0, block)
    x, h = from_inputs + row * 3 * size, from_hidden + row * 3 * size
    _reset, update, _given, candidate = _gru_parts(x, h, units, size)
    old = load_vector(hidden + row * size, units, size)
    _store(result + row * size, units, candidate + update * (old - candidate), size)


@triton.jit
def _gru_gradient(
    from_inputs,
    from_hidden,
    hidden,
    grad_result,
    grad_inputs,
    grad_from_hidden,
    grad_hidden,
    size: tl.constexpr,
    block: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    units = tl.program_id(1) * block + tl.arange(0, block)
    x, h = from_inputs + row * 3 * size, from_hidden + row * 3 * size
    reset, update, h_candidate, candidate = _gru_parts(x, h, units, size)
    old = load_vector(hidden + row * size, units, size)
    given = load_vector(grad_result + row * size, units, size)
    _store(grad_hidden + row * size, units, given * update, size)
    of_update = given * (old - candidate) * update * (1 - update)
    of_candidate = given * (1 - update) * (1 - candidate * candidate)
    of_reset = of_candidate * h_candidate * reset * (1 - reset)
    x, h = grad_inputs + row * 3 * size, grad_from_hidden + row * 3 * size
    _store(x, units, of_reset, size)
    _store(x + size, units, of_update, size)
    _store(x + 2 * size, units, of_candidate, size)
    _store(h, units, of_reset, size)
    _store(h + size, units, of_update, size)
    _store(h + 2 * size, units, of_candidate * reset, size)


def lstm_gates(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Return the numbers of ``LstmGates``: h and c, ``(batch, hidden)``."""
    return _LstmGates.apply(gates, cell)


def gru_gates(from_inputs: Tensor, from_hidden: Tensor, hidden: Tensor) -> Tensor:
    """Return the numbers of ``GruGates``: the next h, ``(batch, hidden)``."""
    result: Tensor = _GruGates.apply(from_inputs, from_hidden, hidden)
    return result


def _launch(kernel: Any, size: int, *tensors: Tensor) -> None:
    """Run a kernel on tensors ``(batch, …)`` without gaps."""
    if batch := len(tensors[0]):
        block = min(BLOCK, triton.next_power_of_2(size))
        kernel[batch, triton.cdiv(size, block)](*tensors, size, block)


class _LstmGates(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        gates, cell = gates.contiguous(), cell.contiguous()
        ctx.save_for_backward(gates, cell)
        dtype = torch.promote_types(gates.dtype, cell.dtype)
        hidden, new = (torch.empty_like(cell, dtype=dtype) for _ in range(2))
        _launch(_lstm, cell.shape[1], gates, cell, hidden, new)
        return hidden, new

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_hidden: Tensor, grad_new: Tensor) -> tuple[Tensor, Tensor]:
        gates, cell = ctx.saved_tensors
        given = gates, cell, grad_hidden.contiguous(), grad_new.contiguous()
        gradients = torch.empty_like(gates), torch.empty_like(cell)
        _launch(_lstm_gradient, cell.shape[1], *given, *gradients)
        return gradients


class _GruGates(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, from_inputs: Tensor, from_hidden: Tensor, hidden: Tensor) -> Tensor:
        given = from_inputs.contiguous(), from_hidden.contiguous(), hidden.contiguous()
        ctx.save_for_backward(*given)
        result = torch.empty_like(given[2], dtype=from_inputs.dtype)
        _launch(_gru, hidden.shape[1], *given, result)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_result: Tensor) -> tuple[Tensor, ...]:
        given = ctx.saved_tensors
        gradients = tuple(torch.empty_like(tensor) for tensor in given)
        _launch(_gru_gradient, given[2].shape[1], *given, grad_result.contiguous(), *gradients)
        return gradients
