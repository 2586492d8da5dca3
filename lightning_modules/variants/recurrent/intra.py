"""A recurrent decoder that looks back at its own states."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from lightning_modules.attention import AttentionMemory, build_attention


class IntraAttention(nn.Module):
    """Paulus et al. 2018 (arXiv 1705.04304), section 2.2: ``s_t`` attends to ``s_0 … s_{t-1}``.

    Args:
        hidden_size: width of the states.
        options: further arguments of ``Attention``, ``model.intra_attention``.

    Raises:
        ValueError: as ``build_attention`` does, and for a window or a score by position.
    """

    def __init__(self, hidden_size: int, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.attention = build_attention("model.intra_attention", hidden_size, hidden_size, options)
        if options.get("window", "global") != "global" or not self.attention.score.looks_at_source:
            raise ValueError(
                "model.intra_attention: the past has no source positions to centre a window on or "
                "to weigh by place; leave out its window, and choose a score that looks at states"
            )

    def begin(self, start: Tensor) -> AttentionMemory:
        """Return the past of ``s_0``, which is empty: ``(batch, hidden)``."""
        return self._see(start.unsqueeze(1)[:, :0])

    def forward(
        self, past: AttentionMemory, before: Tensor, state: Tensor
    ) -> tuple[AttentionMemory, Tensor]:
        """Look back one step later.

        Args:
            past: ``s_0 … s_{t-2}``.
            before: ``s_{t-1}``, ``(batch, hidden)``.
            state: ``s_t``, ``(batch, hidden)``.

        Returns:
            ``s_0 … s_{t-1}`` and the context ``(batch, hidden)``.
        """
        new = self._see(before.unsqueeze(1))
        past = AttentionMemory(
            torch.cat([past.values, new.values], -2),
            torch.cat([past.keys, new.keys], -2),
            torch.cat([past.padding, new.padding], -1),
            past.lengths + new.lengths,
        )
        context, _ = self.attention(state.unsqueeze(1), past, past.lengths)
        return past, context.squeeze(1)

    def all_at_once(self, before: Tensor, states: Tensor) -> Tensor:
        """Look back from every position: ``s_0 … s_{T-1}`` and ``s_1 … s_T`` -> contexts.

        All three ``(batch, tgt, hidden)``.
        """
        length = states.shape[1]
        steps = torch.arange(length, device=states.device).unsqueeze(0)
        later = (steps > steps.T).unsqueeze(0)
        return self.attention(states, self._see(before)._replace(padding=later), steps)[0]

    def _see(self, states: Tensor) -> AttentionMemory:
        return self.attention.prepare(states, states.new_ones(states.shape[:2], dtype=torch.bool))
