"""Linear recurrences in the place of self-attention, with the projections and gates of each paper.

Each head keeps one matrix for all earlier positions, whose equation, and the terms q, k, v, α and β
in it, are those of ``kernels.linear_recurrences``. Results of a head are not divided by √d_k: the
norm behind them takes a scale away. Norms of single heads share their weights. Sizes of heads are
rounded up, so that any number of heads fits any width.
"""

import math
from abc import abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import logsigmoid, silu, softplus
from typing_extensions import override

from lightning_modules.kernels.linear_recurrences import Terms, advance, run, zero_state
from lightning_modules.kernels.products import LinearLayer
from lightning_modules.variants.transformer.mixers import Mixer
from lightning_modules.variants.transformer.positions import Rotary


class LinearState(NamedTuple):
    """What a linear recurrence keeps of earlier positions, of a constant size."""

    matrix: Tensor  # S of each head, `(rows, heads, key, value)`
    recent: Tensor | None  # what the projections need, rows first; see `LinearMixer.terms`


class LinearMixer(Mixer):
    """A linear recurrence in ``heads`` heads, of keys and values of these sizes."""

    def __init__(self, heads: int, key_size: int, value_size: int) -> None:
        super().__init__()
        self.heads, self.key_size, self.value_size = heads, key_size, value_size

    @abstractmethod
    def terms(self, inputs: Tensor, recent: Tensor | None) -> tuple[Terms, Any, Tensor | None]:
        """Return the terms of the equation for positions ``(rows, positions, width)``.

        Also return what ``finish`` needs, and ``recent`` for the position behind the last one.
        """

    @abstractmethod
    def finish(self, results: Tensor, gate: Any) -> Tensor:
        """Gate results ``(rows, positions, heads, value)``, and make ``size`` numbers of them."""

    def recent_at_start(self, rows: int, like: Tensor) -> Tensor | None:
        """Return ``recent`` before the first position."""
        return None

    @override
    def run(self, inputs: Tensor) -> Tensor:
        terms, gate, _ = self.terms(inputs, self.recent_at_start(len(inputs), inputs))
        return self.finish(run(terms).transpose(1, 2), gate)

    @override
    def start(self, rows: int, like: Tensor) -> LinearState:
        matrix = zero_state(rows, self.heads, self.key_size, self.value_size, like)
        return LinearState(matrix, self.recent_at_start(rows, like))

    @override
    def step(self, inputs: Tensor, state: LinearState) -> tuple[Tensor, LinearState]:
        terms, gate, recent = self.terms(inputs.unsqueeze(1), state.recent)
        now = terms.each(lambda part: part.squeeze(2))
        results, matrix = advance(now, state.matrix)
        return self.finish(results.unsqueeze(1), gate).squeeze(1), LinearState(matrix, recent)

    def by_head(self, projected: Tensor) -> Tensor:
        """Split ``(rows, positions, heads × n)`` into ``(rows, heads, positions, n)``."""
        return projected.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Retention(LinearMixer):
    """Multi-scale retention (Sun et al. 2023, section 2.2): each head forgets at a fixed rate.

    Queries and keys are rotated by position, as the paper's Θ does (eq. 5), and values are twice as
    wide as keys, as in its experiments. Head h keeps 1 - 2^(-5-h) of its state (eq. 8).
    """

    def __init__(self, width: int, heads: int, size: int) -> None:
        share = 2 * math.ceil(size / heads / 2)  # pairs of numbers are rotated
        super().__init__(heads, share, 2 * share)
        # q and k, which are rotated; v; gate
        self.sizes = [2 * heads * share, 2 * heads * share, 2 * heads * share]
        self.project = LinearLayer(width, sum(self.sizes), bias=False)
        self.rotary = Rotary()
        self.norm = nn.LayerNorm(self.value_size)  # GroupNorm of eq. 8, one group for each head
        self.out = LinearLayer(2 * heads * share, size, bias=False)

    @override
    def recent_at_start(self, rows: int, like: Tensor) -> Tensor:
        """Return the number of earlier positions, ``(rows,)``, which is equal in all rows."""
        return torch.zeros(rows, dtype=torch.long, device=like.device)

    @override
    def terms(self, inputs: Tensor, recent: Tensor | None) -> tuple[Terms, Tensor, Tensor]:
        assert recent is not None
        length = inputs.shape[1]
        asked, values, gate = self.project(inputs).split(self.sizes, -1)
        places = recent[:1] + torch.arange(length, device=inputs.device)
        asked = asked.unflatten(-1, (2 * self.heads, -1)).transpose(1, 2)
        queries, keys = self.rotary.rotate(asked, places).chunk(2, 1)
        dtype = torch.promote_types(inputs.dtype, torch.float32)
        heads = torch.arange(self.heads, dtype=dtype, device=inputs.device)
        log_decays = torch.log1p(-torch.exp2(-5 - heads)).view(1, -1, 1, 1)
        by_position = log_decays.expand(-1, -1, length, -1)  # not by row: every row's are equal
        return Terms(queries, keys, self.by_head(values), by_position), gate, recent + length

    @override
    def finish(self, results: Tensor, gate: Tensor) -> Tensor:
        return self.out(silu(gate) * self.norm(results).flatten(2))


RANK, TEMPERATURE = 16, 16
"""How gated linear attention makes its decays (Yang et al. 2023, section 4.4): two projections, the
first to ``RANK`` numbers; their logarithms are divided by ``TEMPERATURE``, the paper's τ, so that a
state is forgotten slowly."""


class GatedLinearAttention(LinearMixer):
    """Gated linear attention (Yang et al. 2023, section 4.4): each key is forgotten at a rate that
    depends on the input. Keys are half as wide as values.
    """

    def __init__(self, width: int, heads: int, size: int) -> None:
        share = math.ceil(size / heads)
        super().__init__(heads, math.ceil(share / 2), share)
        keys, values = heads * self.key_size, heads * self.value_size
        self.sizes = [keys, keys, values, values, RANK]
        self.project = LinearLayer(width, sum(self.sizes), bias=False)
        self.decay = LinearLayer(RANK, keys)
        self.norm = nn.LayerNorm(self.value_size)
        self.out = LinearLayer(values, size, bias=False)

    @override
    def terms(self, inputs: Tensor, recent: Tensor | None) -> tuple[Terms, Tensor, None]:
        queries, keys, values, gate, low = self.project(inputs).split(self.sizes, -1)
        log_decays = logsigmoid(self.decay(low)) / TEMPERATURE
        return Terms(queries, keys, values, log_decays).each(self.by_head), gate, None

    @override
    def finish(self, results: Tensor, gate: Tensor) -> Tensor:
        return self.out(silu(gate) * self.norm(results).flatten(2))


TAPS = 4  # positions that a short convolution reads, in both papers


class _Convolution(torch.autograd.Function):
    """The sum of a short convolution, with a backward pass of fewer passes over memory.

    Autograd fills a tensor with zeros for each tap, and took 1.6 times as long, and so did oneDNN's
    convolution, for 16 sentences of 20 positions and 512 channels.
    """

    @staticmethod
    def forward(ctx: Any, known: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(known, weight)
        length = known.shape[1] - TAPS + 1
        total = torch.addcmul(bias, known[:, :length], weight[0])
        for tap in range(1, TAPS):
            total.addcmul_(known[:, tap : tap + length], weight[tap])
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        known, weight = ctx.saved_tensors
        length, grad_known, grad_weight = grad_output.shape[1], torch.zeros_like(known), []
        for tap in range(TAPS):
            grad_known[:, tap : tap + length].addcmul_(grad_output, weight[tap])
            grad_weight.append((grad_output * known[:, tap : tap + length]).sum((0, 1)))
        return grad_known, torch.stack(grad_weight), grad_output.sum((0, 1))


class ShortConvolution(nn.Module):
    """A causal convolution of each channel over the last positions, then SiLU."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        # As torch initialises a convolution of one channel.
        self.weight = nn.Parameter(torch.empty(TAPS, channels).uniform_(-1, 1) / math.sqrt(TAPS))
        self.bias = nn.Parameter(torch.zeros(channels))

    def start(self, rows: int, like: Tensor) -> Tensor:
        """Return the inputs before the first position, ``(rows, TAPS - 1, channels)``: zeros."""
        return like.new_zeros(rows, TAPS - 1, len(self.bias))

    def forward(self, inputs: Tensor, recent: Tensor) -> tuple[Tensor, Tensor]:
        """Return results ``(rows, positions, channels)``, and the last inputs for what follows."""
        length, known = inputs.shape[1], torch.cat([recent, inputs], 1)
        if torch.compiler.is_compiling():  # the compiler fuses the formula
            taps = (known[:, tap : tap + length] * weight for tap, weight in enumerate(self.weight))
            total = sum(taps, self.bias)
        else:
            total = _Convolution.apply(known, self.weight, self.bias)
        return silu(total), known[:, length:]


class SelectiveDecay(nn.Module):
    """A decay that depends on the input: ``ln α_t = -exp(a) Δ_t``, with ``Δ_t = softplus(x + b)``.

    As in Mamba-2 (Dao and Gu 2024), with the first values of its code: exp(a) of 1 to 16, and Δ of
    0.001 to 0.1.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.rate = nn.Parameter(torch.empty(heads).uniform_(1, 16).log())
        steps = torch.empty(heads).uniform_(math.log(0.001), math.log(0.1)).exp()
        self.bias = nn.Parameter(steps.expm1().log())  # of which softplus makes the steps

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return Δ and the logarithms of decays, ``(rows, heads, positions, 1)``.

        ``inputs`` are ``(rows, positions, heads)``.
        """
        steps = softplus(inputs + self.bias).transpose(1, 2).unsqueeze(-1)
        return steps, -self.rate.exp().view(-1, 1, 1) * steps


class GatedDeltaRule(LinearMixer):
    """Gated DeltaNet (Yang et al. 2024, section 3.4): the state corrects what a key returns.

    Queries and keys have length 1 (L2), and values are twice as wide as keys.
    """

    def __init__(self, width: int, heads: int, size: int) -> None:
        share = math.ceil(size / heads)
        super().__init__(heads, share, 2 * share)
        # q, k and v, which are convolved; gate; β; Δ
        self.sizes = [4 * heads * share, 2 * heads * share, heads, heads]
        self.project = LinearLayer(width, sum(self.sizes), bias=False)
        self.convolution = ShortConvolution(4 * heads * share)
        self.decay = SelectiveDecay(heads)
        self.norm = nn.RMSNorm(self.value_size, eps=1e-5)
        self.out = LinearLayer(2 * heads * share, size, bias=False)

    @override
    def recent_at_start(self, rows: int, like: Tensor) -> Tensor:
        return self.convolution.start(rows, like)

    @override
    def terms(self, inputs: Tensor, recent: Tensor | None) -> tuple[Terms, Tensor, Tensor]:
        assert recent is not None
        convolved, gate, strengths, decays = self.project(inputs).split(self.sizes, -1)
        convolved, recent = self.convolution(convolved, recent)
        asked, values = convolved.chunk(2, -1)
        asked = asked.unflatten(-1, (2, self.heads, -1))
        # As torch's ``normalize``, which divides, and so needs more passes over memory.
        lengths = torch.linalg.vector_norm(asked, dim=-1, keepdim=True).clamp(min=1e-12)
        queries, keys = (asked * lengths.reciprocal()).transpose(1, 3).unbind(2)
        _, log_decays = self.decay(decays)
        terms = Terms(
            queries, keys, self.by_head(values), log_decays, self.by_head(strengths.sigmoid())
        )
        return terms, gate, recent

    @override
    def finish(self, results: Tensor, gate: Tensor) -> Tensor:
        return self.out(silu(gate) * self.norm(results).flatten(2))


class Mamba2(LinearMixer):
    """Mamba-2's selective state space (Dao and Gu 2024, section 7.1, the parallel block).

    The inner width is twice ``size``. The terms are C for queries and B for keys, which all heads
    share, and Δ x for values; the size of B and C is that of a head.
    """

    def __init__(self, width: int, heads: int, size: int) -> None:
        share = math.ceil(2 * size / heads)
        inner = heads * share
        super().__init__(heads, share, share)
        self.sizes = [inner, inner + 2 * share, heads]  # gate; x, B and C; Δ
        self.project = LinearLayer(width, sum(self.sizes), bias=False)
        self.convolution = ShortConvolution(inner + 2 * share)
        self.decay = SelectiveDecay(heads)
        self.skip = nn.Parameter(torch.ones(heads, 1))  # D
        self.norm = nn.RMSNorm(inner, eps=1e-5)
        self.out = LinearLayer(inner, size, bias=False)

    @override
    def recent_at_start(self, rows: int, like: Tensor) -> Tensor:
        return self.convolution.start(rows, like)

    @override
    def terms(
        self, inputs: Tensor, recent: Tensor | None
    ) -> tuple[Terms, tuple[Tensor, Tensor], Tensor]:
        assert recent is not None
        gate, convolved, decays = self.project(inputs).split(self.sizes, -1)
        convolved, recent = self.convolution(convolved, recent)
        share = self.key_size
        values, keys, queries = convolved.split([self.heads * share, share, share], -1)
        steps, log_decays = self.decay(decays)
        split = self.by_head(values)
        terms = Terms(queries.unsqueeze(1), keys.unsqueeze(1), split * steps, log_decays)
        return terms, (gate, split.transpose(1, 2)), recent

    @override
    def finish(self, results: Tensor, gate: tuple[Tensor, Tensor]) -> Tensor:
        """Add D x, then gate before the norm; ``gate`` also has x, of the shape of results."""
        gated, values = gate
        skipped = torch.addcmul(results, self.skip, values)
        return self.out(self.norm(silu(gated) * skipped.flatten(2)))
