"""Attention put together from a score and a window."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from lightning_modules.attention.scores import Score
from lightning_modules.attention.windows import Window
from lightning_modules.kernels.products import LinearLayer
from lightning_modules.kernels.shared import accumulate_once, weighted_sum


class AttentionMemory(NamedTuple):
    """The encoded source, prepared for attention once per sentence."""

    values: Tensor
    """Encoder states, ``(batch, src, memory)``; with heads, ``(batch, heads, src, head)``."""
    keys: Tensor  # states projected by the score, `(batch, src, key)` or `(batch, heads, src, key)`
    padding: Tensor  # True where a query may not look, `(batch, 1, src)` or `(batch, tgt, src)`
    lengths: Tensor  # number of real positions, `(batch, 1)`


class Attention(nn.Module):
    """Attention of queries to a memory.

    Inputs move to the device of the parameters, and results move back to the device of the
    queries: ``model.placement`` may make these devices different.

    Args:
        query_size: width of the queries.
        memory_size: width of the encoder states.
        score: made for these widths; with heads, for two widths of memory_size / heads.
        window: made for queries of this width.
        renormalise: make the weights sum to 1 again after the factors of a window; local-p's paper
            does not.
        heads: number of parallel attentions, each to its projections of query and memory (Vaswani
            et al. 2017, section 3.2.2); None for one attention without projections. Projections
            start as Glorot and Bengio 2010 draw them, with biases of 0.
    """

    device_probe: Tensor

    def __init__(
        self,
        query_size: int,
        memory_size: int,
        score: Score,
        window: Window,
        renormalise: bool = False,
        heads: int | None = None,
    ) -> None:
        super().__init__()
        # Empty buffer that knows the device, for an attention without parameters.
        self.register_buffer("device_probe", torch.empty(0), persistent=False)
        self.heads = heads
        self.renormalise = renormalise
        self.window = window
        self.score = score
        if heads is not None:
            self.query = LinearLayer(query_size, memory_size)
            # A score by position alone needs no keys.
            content_based = score.is_content_based
            self.key = LinearLayer(memory_size, memory_size) if content_based else None
            self.value, self.out = (LinearLayer(memory_size, memory_size) for _ in range(2))
            for layer in (self.query, self.key, self.value, self.out):
                if layer is not None:
                    nn.init.xavier_uniform_(layer.weight)
                    nn.init.zeros_(layer.bias)

    def prepare(self, memory: Tensor, mask: Tensor) -> AttentionMemory:
        """Project encoder states ``(batch, src, memory)``, once per sentence.

        The mask, ``(batch, src)``, is True where a token is real.
        """
        device = self.device_probe.device
        memory, mask = memory.to(device), mask.to(device)
        keys = values = memory
        if self.heads is not None:
            values = self._split(self.value(memory))
            keys = values if self.key is None else self._split(self.key(memory))
        lengths = mask.sum(1, keepdim=True)
        return AttentionMemory(values, self.score.project_keys(keys), ~mask.unsqueeze(1), lengths)

    def share(self, memory: AttentionMemory) -> AttentionMemory:
        """Return a memory for a loop over the target; see ``kernels.shared``."""
        values, keys = accumulate_once(memory.values), self.score.share_keys(memory.keys)
        return memory._replace(values=values, keys=keys)

    def forward(
        self, query: Tensor, memory: AttentionMemory, steps: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return context ``(batch, tgt, memory)``, and weights averaged over the heads.

        Steps are the target positions of the queries, from 0, ``(batch, tgt)`` or ``(1, tgt)``.
        """
        weights = self._weigh(query, memory, steps)
        context = weighted_sum(weights.to(memory.values.dtype), memory.values)
        if self.heads is not None:
            context, weights = self.out(context.transpose(1, 2).flatten(2)), weights.mean(1)
        return context.to(query.device), weights.to(query.device)

    def head_weights(self, query: Tensor, memory: AttentionMemory, steps: Tensor) -> Tensor:
        """Return the weights of each head, ``(batch, heads, tgt, src)``; one for ``heads=None``."""
        weights = self._weigh(query, memory, steps).to(query.device)
        return weights.unsqueeze(1) if self.heads is None else weights

    def _weigh(self, query: Tensor, memory: AttentionMemory, steps: Tensor) -> Tensor:
        """Return weights ``(batch, tgt, src)``; with heads, ``(batch, heads, tgt, src)``."""
        device = self.device_probe.device
        query, steps = query.to(device), steps.to(device)
        outside, factor = self.window(query, steps, memory.lengths, memory.values.shape[-2])
        masked = memory.padding if outside is None else memory.padding | outside
        if self.heads is not None:
            query = self._split(self.query(query))
            masked = masked.unsqueeze(1)
            factor = None if factor is None else factor.unsqueeze(1)
        energies = self.score(query, memory.keys)
        weights = energies.masked_fill(masked, float("-inf")).softmax(-1)
        if factor is not None:
            weights = weights * factor
            if self.renormalise:
                weights = weights / weights.sum(-1, keepdim=True)
        return weights

    def _split(self, projected: Tensor) -> Tensor:
        """Return ``(batch, heads, positions, head)``."""
        return projected.unflatten(-1, (self.heads, -1)).transpose(1, 2)
