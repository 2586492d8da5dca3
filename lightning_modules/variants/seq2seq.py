"""Encoder-decoder without attention."""

from typing import NamedTuple

import torch
from pydantic import validate_call
from torch import Tensor, nn

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


class Seq2SeqMemory(NamedTuple):
    """The whole source in one vector."""

    summary: Tensor
    """``(batch, hidden)``."""
    state: RecurrentState
    """Where the decoder starts."""


class Seq2Seq(EncoderDecoder):
    """Cho et al. 2014 (arXiv 1406.1078): the last encoder state is all the decoder gets.

    The summary starts the decoder and enters every step and the readout. With ``cell=lstm`` and
    ``reverse_source=true`` it reads as Sutskever et al. 2014 (arXiv 1409.3215) do.
    """

    @validate_call(config=ARBITRARY)
    def __init__(
        self,
        src_vocabulary: int,
        tgt_vocabulary: int,
        width: Size,
        hidden_size: Size,
        layers: Size = 1,
        cell: Cell = "gru",
        reverse_source: bool = False,
        dropout: Dropout = 0.0,
    ) -> None:
        super().__init__(src_vocabulary, tgt_vocabulary, width)
        self.reverse_source = reverse_source
        self.dropout = nn.Dropout(dropout)
        self.encoder = RecurrentEncoder(width, hidden_size, layers, cell, False, dropout)
        self.bridge = nn.Linear(hidden_size, hidden_size)
        self.decoder = rnn(cell, width + hidden_size, hidden_size, layers, dropout)
        self.readout = nn.Linear(2 * hidden_size + width, width)

    def encode(self, src: Tensor, src_mask: Tensor) -> Seq2SeqMemory:
        """See the base class."""
        if self.reverse_source:
            src = reverse(src, src_mask)
        final = self.encoder(self.dropout(self.src_embedding(src)), src_mask).final.squeeze(2)
        hidden = self.bridge(final).tanh()
        cell = torch.zeros_like(hidden) if isinstance(self.decoder, nn.LSTM) else None
        return Seq2SeqMemory(final[:, -1], RecurrentState(hidden, cell))

    def initial_state(self, memory: Seq2SeqMemory) -> RecurrentState:
        """See the base class."""
        return memory.state

    def decode(self, memory: Seq2SeqMemory, tgt_in: Tensor) -> Decoded:
        """See the base class."""
        inputs = self._inputs(memory, tgt_in)
        return Decoded(self._read(run(self.decoder, inputs, memory.state)[0], inputs), None)

    def step(self, memory: Seq2SeqMemory, state: RecurrentState, last_token: Tensor) -> Step:
        """See the base class."""
        inputs = self._inputs(memory, last_token.unsqueeze(1)).squeeze(1)
        top, state = advance(self.decoder, inputs, state)
        return Step(self.logits(self._read(top, inputs)), state, None)

    def _inputs(self, memory: Seq2SeqMemory, tokens: Tensor) -> Tensor:
        """Embed ``(batch, tgt)`` tokens and put the summary beside each."""
        summary = memory.summary.unsqueeze(1).expand(-1, tokens.shape[1], -1)
        return torch.cat([self.dropout(self.tgt_embedding(tokens)), summary], -1)

    def _read(self, top: Tensor, inputs: Tensor) -> Tensor:
        return self.dropout(self.readout(torch.cat([top, inputs], -1)).tanh())
