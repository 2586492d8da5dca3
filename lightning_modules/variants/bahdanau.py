"""Bahdanau, Cho and Bengio 2015 (arXiv 1409.0473): RNNsearch."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from pydantic import validate_call
from torch import Tensor, nn

from lightning_modules.attention import Attention, AttentionMemory
from lightning_modules.variants.arguments import ARBITRARY, Dropout, Size
from lightning_modules.variants.base import Decoded, EncoderDecoder, Step
from lightning_modules.variants.recurrent import RecurrentEncoder


class BahdanauMemory(NamedTuple):
    """Both directions' states, their keys, and where the decoder starts."""

    attention: AttentionMemory
    first: Tensor
    """``s_0``, ``(batch, hidden)``."""


class BahdanauState(NamedTuple):
    """The decoder between two steps."""

    hidden: Tensor
    """``s_{t-1}``, ``(batch, hidden)``."""
    position: Tensor
    """t, ``(batch,)``."""


class Bahdanau(EncoderDecoder):
    """Attend with the previous state, then update it with the context (appendix A.1 and A.2).

    ``s_0 = tanh(W_s · backward h̄_1)``, ``s_t = GRU(s_{t-1}, [E y_{t-1}; c_t])``, and a maxout
    readout over ``[s_t; E y_{t-1}; c_t]``, ``width`` wide.
    """

    @validate_call(config=ARBITRARY)
    def __init__(
        self,
        src_vocabulary: int,
        tgt_vocabulary: int,
        width: Size,
        hidden_size: Size,
        attention: Mapping[str, Any],
        dropout: Dropout = 0.0,
    ) -> None:
        super().__init__(src_vocabulary, tgt_vocabulary, width)
        self.dropout = nn.Dropout(dropout)
        self.encoder = RecurrentEncoder(width, hidden_size, 1, "gru", True, dropout)
        self.bridge = nn.Linear(hidden_size, hidden_size)
        self.attention = Attention(hidden_size, 2 * hidden_size, **attention)
        self.cell = nn.GRUCell(width + 2 * hidden_size, hidden_size)
        self.readout = nn.Linear(3 * hidden_size + width, 2 * width)

    def encode(self, src: Tensor, src_mask: Tensor) -> BahdanauMemory:
        """See the base class."""
        states, final = self.encoder(self.dropout(self.src_embedding(src)), src_mask)
        backward = final[:, 0, 1]
        return BahdanauMemory(
            self.attention.prepare(states, src_mask), self.bridge(backward).tanh()
        )

    def initial_state(self, memory: BahdanauMemory) -> BahdanauState:
        """See the base class."""
        position = torch.zeros(len(memory.first), dtype=torch.long, device=memory.first.device)
        return BahdanauState(memory.first, position)

    def decode(self, memory: BahdanauMemory, tgt_in: Tensor) -> Decoded:
        """See the base class."""
        embedded = self.dropout(self.tgt_embedding(tgt_in))
        state = self.initial_state(memory)
        hiddens, contexts, weights = [], [], []
        for token in embedded.unbind(1):
            state, context, weight = self._advance(memory, state, token)
            hiddens.append(state.hidden)
            contexts.append(context)
            weights.append(weight)
        # The readout looks at no later step: one product for all positions.
        features = self._read(torch.stack(hiddens, 1), embedded, torch.stack(contexts, 1))
        return Decoded(features, torch.stack(weights, 1))

    def step(self, memory: BahdanauMemory, state: BahdanauState, last_token: Tensor) -> Step:
        """See the base class."""
        embedded = self.tgt_embedding(last_token)
        state, context, weights = self._advance(memory, state, embedded)
        return Step(self.logits(self._read(state.hidden, embedded, context)), state, weights)

    def _advance(
        self, memory: BahdanauMemory, state: BahdanauState, embedded: Tensor
    ) -> tuple[BahdanauState, Tensor, Tensor]:
        query, position = state.hidden.unsqueeze(1), state.position.unsqueeze(1)
        context, weights = self.attention(query, memory.attention, position)
        context = context.squeeze(1)
        hidden = self.cell(torch.cat([embedded, context], -1), state.hidden)
        return BahdanauState(hidden, state.position + 1), context, weights.squeeze(1)

    def _read(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        candidates = self.readout(torch.cat([hidden, embedded, context], -1))
        return self.dropout(candidates.unflatten(-1, (-1, 2)).amax(-1))
