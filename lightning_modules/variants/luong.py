"""Luong, Pham and Manning 2015 (arXiv 1508.04025): global and local attention."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from pydantic import validate_call
from torch import Tensor, nn

from lightning_modules.attention import Attention, AttentionMemory
from lightning_modules.variants.arguments import ARBITRARY, Dropout, Size
from lightning_modules.variants.base import Decoded, EncoderDecoder, Step
from lightning_modules.variants.recurrent import (
    Cell,
    RecurrentEncoder,
    RecurrentState,
    advance,
    reverse,
    rnn,
    run,
)


class LuongMemory(NamedTuple):
    """The encoder's top states, their keys, and where the decoder starts."""

    attention: AttentionMemory
    state: RecurrentState


class LuongState(NamedTuple):
    """The decoder between two steps."""

    recurrent: RecurrentState
    attentional: Tensor
    """``h̃_{t-1}``, ``(batch, width)``."""
    position: Tensor
    """t, ``(batch,)``."""


class Luong(EncoderDecoder):
    """Update the stacked decoder, then attend with its current top state (section 3).

    The attentional state ``h̃_t = tanh(W_c [c_t; h_t])`` feeds the output layer and, with input
    feeding (section 3.3), the next step's input. Without input feeding no step waits for another's
    attention, and a whole target is decoded in one batched pass.
    """

    @validate_call(config=ARBITRARY)
    def __init__(
        self,
        src_vocabulary: int,
        tgt_vocabulary: int,
        width: Size,
        hidden_size: Size,
        attention: Mapping[str, Any],
        layers: Size = 1,
        cell: Cell = "lstm",
        bidirectional: bool = False,
        reverse_source: bool = False,
        input_feeding: bool = True,
        dropout: Dropout = 0.0,
    ) -> None:
        super().__init__(src_vocabulary, tgt_vocabulary, width)
        if bidirectional and hidden_size % 2:
            raise ValueError(f"model.hidden_size={hidden_size}: two directions need an even size")
        self.reverse_source = reverse_source
        self.input_feeding = input_feeding
        self.dropout = nn.Dropout(dropout)
        # Two directions share the width, so that memory and decoder states can be compared.
        direction = hidden_size // 2 if bidirectional else hidden_size
        self.encoder = RecurrentEncoder(width, direction, layers, cell, bidirectional, dropout)
        self.bridge = nn.Linear(hidden_size, hidden_size)
        self.decoder = rnn(
            cell, 2 * width if input_feeding else width, hidden_size, layers, dropout
        )
        self.attention = Attention(hidden_size, hidden_size, **attention)
        self.combine = nn.Linear(2 * hidden_size, width, bias=False)

    def encode(self, src: Tensor, src_mask: Tensor) -> LuongMemory:
        """See the base class."""
        if self.reverse_source:
            src = reverse(src, src_mask)
        states, final = self.encoder(self.dropout(self.src_embedding(src)), src_mask)
        if self.reverse_source:  # windows and weights speak of positions as they are written
            states = reverse(states, src_mask)
        hidden = self.bridge(final.flatten(2)).tanh()
        cell = torch.zeros_like(hidden) if isinstance(self.decoder, nn.LSTM) else None
        return LuongMemory(self.attention.prepare(states, src_mask), RecurrentState(hidden, cell))

    def initial_state(self, memory: LuongMemory) -> LuongState:
        """See the base class."""
        hidden = memory.state.hidden
        attentional = hidden.new_zeros(len(hidden), self.combine.out_features)
        position = torch.zeros(len(hidden), dtype=torch.long, device=hidden.device)
        return LuongState(memory.state, attentional, position)

    def decode(self, memory: LuongMemory, tgt_in: Tensor) -> Decoded:
        """See the base class."""
        embedded = self.dropout(self.tgt_embedding(tgt_in))
        if self.input_feeding:
            return self._decode_stepwise(memory, embedded)
        top, _ = run(self.decoder, embedded, memory.state)
        steps = torch.arange(tgt_in.shape[1], device=tgt_in.device).unsqueeze(0)
        return Decoded(*self._attend(memory, top, steps))

    def step(self, memory: LuongMemory, state: LuongState, last_token: Tensor) -> Step:
        """See the base class."""
        state, weights = self._advance(memory, state, self.tgt_embedding(last_token))
        return Step(self.logits(state.attentional), state, weights)

    def _decode_stepwise(self, memory: LuongMemory, embedded: Tensor) -> Decoded:
        state = self.initial_state(memory)
        features, weights = [], []
        for token in embedded.unbind(1):
            state, weight = self._advance(memory, state, token)
            features.append(state.attentional)
            weights.append(weight)
        return Decoded(torch.stack(features, 1), torch.stack(weights, 1))

    def _advance(
        self, memory: LuongMemory, state: LuongState, embedded: Tensor
    ) -> tuple[LuongState, Tensor]:
        inputs = torch.cat([embedded, state.attentional], -1) if self.input_feeding else embedded
        top, recurrent = advance(self.decoder, inputs, state.recurrent)
        steps = state.position.unsqueeze(1)
        attentional, weights = self._attend(memory, top.unsqueeze(1), steps)
        state = LuongState(recurrent, attentional.squeeze(1), state.position + 1)
        return state, weights.squeeze(1)

    def _attend(self, memory: LuongMemory, top: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        context, weights = self.attention(top, memory.attention, steps)
        return self.dropout(self.combine(torch.cat([context, top], -1)).tanh()), weights
