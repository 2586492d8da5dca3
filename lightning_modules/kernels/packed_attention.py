"""Attention of packed sentences: two streams of tokens in which a query attends to a span of keys.

The span of a query is the sentence that it attends to, or in causal self-attention the beginning of
its own. So one function serves all attentions of a Transformer, no position is padding, and shapes
stay the same whatever the lengths. On a GPU it is Triton's kernels (``span_kernels``); elsewhere,
and in float64, the formula itself, which needs memory for all pairs of a query and a key.

``torch.compile`` sees one operator, without a graph break.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lightning_modules.kernels import choice


class Spans(NamedTuple):
    """Which keys each query attends to: those from ``first`` up to, but not including, ``end``.

    The other two say the same of the queries that attend to each key. Both kinds of spans rise
    along their stream, besides empty spans, whose end is not after their first place. All are
    int32.
    """

    first: Tensor  # `(queries,)`
    end: Tensor  # `(queries,)`
    seen_from: Tensor  # `(keys,)`
    seen_to: Tensor  # `(keys,)`

    @property
    def positions(self) -> Tensor:
        """Position of each token in its sentence, ``(queries,)``, in a self-attention."""
        return torch.arange(len(self.first), device=self.first.device) - self.first


def packed_attention(query: Tensor, keys: Tensor, values: Tensor, spans: Spans) -> Tensor:
    """Return ``softmax(QKᵀ/√d_k) V`` within the spans, ``(queries, heads, value)``.

    Takes ``(queries, heads, key)``, ``(keys, heads, key)`` and ``(keys, heads, value)`` of one
    dtype. The result of an empty span is 0.
    """
    result, _ = _attend(query.contiguous(), keys.contiguous(), values.contiguous(), *spans)
    return result


@torch.library.custom_op("attention_bench::packed_attention", mutates_args=())
def _attend(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    first: Tensor,
    end: Tensor,
    seen_from: Tensor,
    seen_to: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the results, and the logarithms of the sums of exponentials, ``(heads, queries)``."""
    if _by_triton(query):
        from lightning_modules.kernels import span_kernels

        return span_kernels.attend(query, keys, values, first, end)
    query, keys, single = _at_least_float32(query, keys, values)
    with torch.autocast(query.device.type, enabled=False):
        energies, sees = _energies(query, keys, first, end)
        totals = energies.logsumexp(-1).masked_fill(first >= end, 0)
        weights = torch.where(sees, (energies - totals.unsqueeze(-1)).exp(), 0)
        result = torch.einsum("hts,shv->thv", weights, single)
    return result.to(values.dtype).contiguous(), totals


@_attend.register_fake
def _(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    first: Tensor,
    end: Tensor,
    seen_from: Tensor,
    seen_to: Tensor,
) -> tuple[Tensor, Tensor]:
    queries, heads, _ = query.shape
    result = query.new_empty(queries, heads, values.shape[2])
    return result, query.new_empty(heads, queries, dtype=_sum_type(query))


@torch.library.custom_op("attention_bench::packed_attention_backward", mutates_args=())
def _gradients(
    grad: Tensor,
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    result: Tensor,
    totals: Tensor,
    first: Tensor,
    end: Tensor,
    seen_from: Tensor,
    seen_to: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of queries, keys and values."""
    if _by_triton(query):
        from lightning_modules.kernels import span_kernels

        spans = first, end, seen_from, seen_to
        return span_kernels.gradients(grad, query, keys, values, result, totals, spans)
    dtype = query.dtype
    grad, query, keys, values, result = _at_least_float32(grad, query, keys, values, result)
    with torch.autocast(query.device.type, enabled=False):
        energies, sees = _energies(query, keys, first, end)
        weights = torch.where(sees, (energies - totals.unsqueeze(-1)).exp(), 0)
        slopes = (grad * result).sum(-1).T.unsqueeze(-1)
        grad_weights = torch.einsum("thv,shv->hts", grad, values)
        grad_energies = weights * (grad_weights - slopes) / math.sqrt(query.shape[2])
        gradients = (
            torch.einsum("hts,shk->thk", grad_energies, keys),
            torch.einsum("hts,thk->shk", grad_energies, query),
            torch.einsum("hts,thv->shv", weights, grad),
        )
    grad_query, grad_keys, grad_values = (each.to(dtype).contiguous() for each in gradients)
    return grad_query, grad_keys, grad_values


@_gradients.register_fake
def _(
    grad: Tensor, query: Tensor, keys: Tensor, values: Tensor, *_: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(query), torch.empty_like(keys), torch.empty_like(values)


def _keep(ctx: Any, inputs: tuple, output: tuple) -> None:
    query, keys, values, *spans = inputs
    ctx.save_for_backward(query, keys, values, *output, *spans)


def _backward(ctx: Any, grad: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
    return *_gradients(grad.contiguous(), *ctx.saved_tensors), None, None, None, None


_attend.register_autograd(_backward, setup_context=_keep)


def _by_triton(query: Tensor) -> bool:
    return query.device.type == choice.DEVICE_OF_TRITON and query.dtype in choice.TYPES_OF_ROWS


def _at_least_float32(*tensors: Tensor) -> tuple[Tensor, ...]:
    return tuple(tensor.to(_sum_type(tensor)) for tensor in tensors)


def _sum_type(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)


def _energies(query: Tensor, keys: Tensor, first: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """Return the energies ``(heads, queries, keys)``, -∞ outside the spans, and what they see."""
    places = torch.arange(len(keys), device=keys.device)
    sees = (places >= first.unsqueeze(1)) & (places < end.unsqueeze(1))
    energies = torch.einsum("thk,shk->hts", query, keys) / math.sqrt(query.shape[2])
    return energies.masked_fill(~sees, -math.inf), sees
