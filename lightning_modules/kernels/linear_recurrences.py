"""Recurrences whose state is a matrix: one equation for four papers, and its form in chunks.

At position t, a head of key size K and value size V has the state ``S_t`` ``(K, V)``, and returns

    S_t = Diag(α_t) S_{t-1} + k_t u_tᵀ        o_t = S_tᵀ q_t

- retention (Sun et al. 2023, arXiv 2307.08621): α is one constant of each head, u_t = v_t;
- gated linear attention (Yang et al. 2023, arXiv 2312.06635): α_t has a number for each key;
- selective state space (Dao and Gu 2024, arXiv 2405.21060): α_t is one number of each head;
- gated delta rule (Yang et al. 2024, arXiv 2412.06464): likewise, and the state learns what it does
  not yet return for the key, ``u_t = β_t (v_t - S_{t-1}ᵀ Diag(α_t) k_t)``.

``advance`` is this equation. ``run`` gives the same numbers for a whole sequence by products of
matrices: positions of one chunk see each other directly, and earlier chunks through the state.
Decays are logarithms, and only exponentials of sums of them are taken, none of which exceeds 1.
Both compute in float32, or float64 if given. On a GPU, ``run`` may be a kernel of
flash-linear-attention instead (``kernels.flash_recurrences``).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from lightning_modules.kernels.choice import kernels_in_use, only_equations
from lightning_modules.kernels.precision import without_autocast

CHUNK, CHUNK_BY_KEY = 64, 16
"""Most positions of a chunk, with one decay of each head and with one for each key, which needs a
tensor ``(…, chunk, chunk, key)``."""


class Terms(NamedTuple):
    """What the equation reads, at ``(rows, heads, positions)``, or at ``(rows, heads)`` for one.

    All heads may share one of queries and keys, ``(rows, 1, …)``, and all rows decays,
    ``(1, heads, …)``.
    """

    queries: Tensor  # q, `(…, key)`
    keys: Tensor  # k, `(…, key)`
    values: Tensor  # v, `(…, value)`
    log_decays: Tensor  # ln α ≤ 0, `(…, key)`, or `(…, 1)` for one of each head
    strengths: Tensor | None = None  # β of the delta rule, `(…, 1)`; None: u = v

    def each(self, change: Callable[[Tensor], Tensor]) -> "Terms":
        """Return the terms with ``change`` applied to each."""
        strengths = None if self.strengths is None else change(self.strengths)
        first = (self.queries, self.keys, self.values, self.log_decays)
        queries, keys, values, log_decays = (change(part) for part in first)
        return Terms(queries, keys, values, log_decays, strengths)


def zero_state(rows: int, heads: int, key: int, value: int, like: Tensor) -> Tensor:
    """Return the state before the first position, ``(rows, heads, key, value)``."""
    return _at_least_float32(like.new_zeros(rows, heads, key, value))


def advance(terms: Terms, state: Tensor) -> tuple[Tensor, Tensor]:
    """Return the results of one position, ``(rows, heads, value)``, and the next state."""
    with without_autocast(state):
        query, key, value, log_decay, strength = terms.each(_at_least_float32)
        state = log_decay.exp().unsqueeze(-1) * state
        if strength is not None:
            value = strength * (value - _read(state, key))
        state = state + key.unsqueeze(-1) * value.unsqueeze(-2)
        return _read(state, query).to(terms.values.dtype), state


def run(terms: Terms) -> Tensor:
    """Return the results of whole sequences, ``(rows, heads, positions, value)``, from state 0."""
    if kernels_in_use().flash and terms.values.is_cuda:
        from lightning_modules.kernels.flash_recurrences import run_flash

        return run_flash(terms)
    with without_autocast(terms.values):
        return _run(terms.each(_at_least_float32)).to(terms.values.dtype)


def _run(terms: Terms) -> Tensor:
    length, by_key = terms.queries.shape[2], terms.log_decays.shape[-1] > 1
    # Chunks of equal length: few positions are added to the last one.
    most = 1 if only_equations() else CHUNK_BY_KEY if by_key else CHUNK
    count = -(-length // most)
    queries, keys, values, log_decays, strengths = _in_chunks(terms, count, -(-length // count))
    since_start = log_decays.cumsum(-2)  # (rows, heads, chunks, chunk, 1 or key)
    decays = _decays_between(since_start)
    answers = None
    if strengths is not None:
        # u at all positions of a chunk, which is linear in the state S before it: U - answers S.
        width = values.shape[-1]
        if count > 1:  # before a first chunk, S is 0
            values = torch.cat([values, keys * since_start.exp()], -1)
        overlap = strengths * _products(keys, keys, decays)
        solved = _solve(overlap, strengths * values)
        values, answers = solved.tensor_split([width], -1)
    reads = _products(queries, keys, decays)
    if count > 1:
        states = _states(keys, values, answers, since_start)
        values = values if answers is None else values - answers @ states
        results = reads @ values + (queries * since_start.exp()) @ states
    else:
        results = reads @ values
    return results.flatten(2, 3)[:, :, :length]


def _solve(lower: Tensor, right: Tensor) -> Tensor:
    """Return x of ``(I + L) x = right``, with L the part of ``lower`` below the diagonal."""
    if torch.compiler.is_compiling():
        return torch.linalg.solve_triangular(lower, right, upper=False, unitriangular=True)
    return _Solution.apply(lower, right)


class _Solution(torch.autograd.Function):
    """What ``_solve`` returns, in less time on a CPU.

    Torch solves one system after the other, and again in the backward pass. With the inverse, which
    takes a third of the time of the first solution, the rest is products of all matrices at once.
    """

    @staticmethod
    def forward(ctx: Any, lower: Tensor, right: Tensor) -> Tensor:
        one = torch.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device).expand_as(lower)
        inverse = torch.linalg.solve_triangular(lower, one, upper=False, unitriangular=True)
        solution = inverse @ right
        ctx.save_for_backward(inverse, solution)
        return solution

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        inverse, solution = ctx.saved_tensors
        grad_right = inverse.transpose(-1, -2) @ grad_output
        return -(grad_right @ solution.transpose(-1, -2)).tril_(-1), grad_right


def _states(keys: Tensor, values: Tensor, answers: Tensor | None, since_start: Tensor) -> Tensor:
    """Return the state before each chunk, ``(rows, heads, chunks, key, value)``.

    All products but those of one state with the next are computed for all chunks together.
    """
    until_end = since_start[..., -1:, :]
    kept = until_end.exp().transpose(-1, -2)
    left = (keys * (until_end - since_start).exp()).transpose(-1, -2)  # of keys at the end
    added = (left @ values).unbind(2)
    states = [torch.zeros_like(added[0])]
    if answers is None:
        for more, share in zip(added[:-1], kept.unbind(2), strict=False):
            states.append(torch.addcmul(more, share, states[-1]))
    else:
        size = keys.shape[-1]
        changes = kept * torch.eye(size, dtype=kept.dtype, device=kept.device) - left @ answers
        for more, change in zip(added[:-1], changes.unbind(2), strict=False):
            states.append(more + change @ states[-1])
    return torch.stack(states, 2)


def _in_chunks(terms: Terms, count: int, size: int) -> Terms:
    """Split positions into chunks, ``(rows, heads, chunks, size, …)``, in memory of this order.

    Positions that are added keep the state as it is: they write 0, and 0 is the logarithm of 1.
    Views of a projection would be copied again for every product.
    """
    added = count * size - terms.queries.shape[2]

    def split(part: Tensor) -> Tensor:
        padded = pad(part, (0, 0, 0, added)) if added else part.contiguous()
        return padded.unflatten(2, (count, size))

    return terms.each(split)


def _decays_between(since_start: Tensor) -> Tensor:
    """Return how much of position j is left at i ≥ j, else 0: ``(…, chunk, chunk, 1 or key)``."""
    size = since_start.shape[-2]
    later = since_start.new_full((size, size), float("-inf")).triu(1).unsqueeze(-1)
    # In place, and by a sum: the gradient then passes through as it is.
    return (since_start.unsqueeze(-2) - since_start.unsqueeze(-3)).add_(later).exp_()


def _products(left: Tensor, right: Tensor, decays: Tensor) -> Tensor:
    """Return ``Σ_key left_i decays_ij right_j``, ``(…, chunk, chunk)``."""
    if decays.shape[-1] == 1:
        return left @ right.transpose(-1, -2) * decays.squeeze(-1)
    return (left.unsqueeze(-2) * decays * right.unsqueeze(-3)).sum(-1)


def _read(state: Tensor, key: Tensor) -> Tensor:
    """Return ``Sᵀ k``, ``(rows, heads, value)``."""
    return (key.unsqueeze(-2) @ state).squeeze(-2)


def _at_least_float32(tensor: Tensor) -> Tensor:
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
