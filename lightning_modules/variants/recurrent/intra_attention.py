"""Intra-attention: a recurrent decoder attends to its earlier states."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from datamodules.errors import UserError
from lightning_modules.attention import AttentionMemory, Global, build_attention


class IntraAttention(nn.Module):
    """Paulus et al. 2018 (arXiv 1705.04304), section 2.2: ``s_t`` attends to ``s_0 … s_{t-1}``.

    Args:
        hidden_size: width of the states.
        options: ``model.intra_attention``; see ``AttentionOptions``.

    Raises:
        UserError: as ``build_attention`` does, and for a window or a score by position.
    """

    def __init__(self, hidden_size: int, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.attention = build_attention("model.intra_attention", hidden_size, hidden_size, options)
        score, window = self.attention.score, self.attention.window
        positional = not score.is_content_based or score.max_length is not None
        if positional or not isinstance(window, Global):
            raise UserError(
                "model.intra_attention: earlier decoder states have no source positions; leave out "
                "window, and choose a score that looks at states"
            )

    def empty_past(self, start: Tensor) -> AttentionMemory:
        """Return the empty past of the first state ``s_0`` ``(batch, hidden)``."""
        return self._prepare(start.unsqueeze(1)[:, :0])

    def forward(
        self, past: AttentionMemory, before: Tensor, state: Tensor
    ) -> tuple[AttentionMemory, Tensor]:
        """Attend to the past of one step.

        Args:
            past: ``s_0 … s_{t-2}``.
            before: ``s_{t-1}``, ``(batch, hidden)``.
            state: ``s_t``, ``(batch, hidden)``.

        Returns:
            The past ``s_0 … s_{t-1}`` of the next step, and the context ``(batch, hidden)``.
        """
        new = self._prepare(before.unsqueeze(1))
        past = AttentionMemory(
            torch.cat([past.values, new.values], -2),
            torch.cat([past.keys, new.keys], -2),
            torch.cat([past.padding, new.padding], -1),
            past.lengths + new.lengths,
        )
        context, _ = self.attention(state.unsqueeze(1), past, past.lengths)
        return past, context.squeeze(1)

    def attend_all(self, before: Tensor, states: Tensor) -> Tensor:
        """Return the contexts of all positions, ``(batch, tgt, hidden)``.

        Args:
            before: ``s_0 … s_{T-1}``, ``(batch, tgt, hidden)``.
            states: ``s_1 … s_T``, ``(batch, tgt, hidden)``.
        """
        length = states.shape[1]
        steps = torch.arange(length, device=states.device).unsqueeze(0)
        later = (steps > steps.T).unsqueeze(0)
        return self.attention(states, self._prepare(before)._replace(padding=later), steps)[0]

    def _prepare(self, states: Tensor) -> AttentionMemory:
        return self.attention.prepare(states, states.new_ones(states.shape[:2], dtype=torch.bool))
