"""Recurrent encoders."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn
from typing_extensions import override

from lightning_modules.variants.options import Options, Size
from lightning_modules.variants.recurrent.cells import Cell, Stack2014, fused
from lightning_modules.variants.recurrent.cpu_rnn import flip, mirror, run_on_cpu, run_packed
from lightning_modules.variants.recurrent.unrolled_cells import CellState


class EncoderOptions(Options):
    """``model.encoder``."""

    hidden_size: Size
    """Width of the states of each direction."""
    bidirectional: bool = False
    merge: Literal["concat", "sum"] = "concat"
    """How to join the states of two directions."""
    reverse_source: bool = False
    """Read the source backwards (Sutskever et al. 2014, section 3.3)."""

    @property
    def directions(self) -> int:
        """Number of directions, 1 or 2."""
        return 2 if self.bidirectional else 1

    @property
    def memory_size(self) -> int:
        """Width of a state of the memory."""
        return self.hidden_size * (self.directions if self.merge == "concat" else 1)


class Encoded(NamedTuple):
    """A source read by a recurrent encoder."""

    states: Tensor
    """``(batch, src, memory)``, zero at padding."""
    hidden: Tensor
    """Last hidden states, ``(batch, layers, directions, hidden)``; the backward direction ends at
    the token that the forward direction reads first."""
    cell: Tensor | None
    """Last cell states of an LSTM, ``(batch, layers, directions, hidden)``; None for a GRU."""

    @property
    def summary(self) -> Tensor:
        """The last forward state, ``(batch, hidden)`` (Bahdanau et al. 2015, section 2.1)."""
        return self.hidden[:, -1, 0]


class RecurrentEncoder(nn.Module, ABC):
    """Reads the embedded source, forward or in both directions.

    Padding never enters a state: the backward direction starts at each sentence's last token.
    """

    def __init__(self, options: EncoderOptions) -> None:
        super().__init__()
        self.options = options

    def forward(self, embedded: Tensor, mask: Tensor) -> Encoded:
        """Return states and last states of ``(batch, src, input)``, mask ``(batch, src)``."""
        backwards = self.options.reverse_source
        encoded = self.read(reverse(embedded, mask) if backwards else embedded, mask)
        states = encoded.states
        if self.options.bidirectional and self.options.merge == "sum":
            states = torch.stack(states.chunk(2, -1)).sum(0)
        # Windows and weights refer to positions in the order of the text.
        return encoded._replace(states=reverse(states, mask) if backwards else states)

    @abstractmethod
    def read(self, embedded: Tensor, mask: Tensor) -> Encoded:
        """Read from left to right; the states of two directions are concatenated."""


class FusedEncoder(RecurrentEncoder):
    """Torch's GRU or LSTM."""

    def __init__(
        self, cell: Cell, input_size: int, layers: int, dropout: float, options: EncoderOptions
    ) -> None:
        super().__init__(options)
        self.rnn = fused(
            cell, input_size, options.hidden_size, layers, dropout, options.bidirectional
        )

    @override
    def read(self, embedded: Tensor, mask: Tensor) -> Encoded:
        lengths = mask.sum(1)
        run = run_on_cpu if embedded.device.type == "cpu" else run_packed
        states, hidden, cell = run(self.rnn, embedded, lengths)
        return Encoded(
            states, self._by_layer(hidden), cell if cell is None else self._by_layer(cell)
        )

    def _by_layer(self, final: Tensor) -> Tensor:
        """Reorder ``(layers × directions, batch, hidden)`` to batch, layers, directions, hidden."""
        return final.transpose(0, 1).unflatten(1, (-1, self.options.directions))


class Encoder2014(RecurrentEncoder):
    """Layers of ``Gru2014``; each direction reads both directions of the layer below."""

    def __init__(
        self, input_size: int, layers: int, dropout: float, options: EncoderOptions
    ) -> None:
        super().__init__(options)
        self.dropout = nn.Dropout(dropout)
        width = options.hidden_size * options.directions
        self.layers = nn.ModuleList(
            nn.ModuleList(
                Stack2014(size, options.hidden_size, 1, 0.0) for _ in range(options.directions)
            )
            for size in [input_size] + [width] * (layers - 1)
        )

    @override
    def read(self, embedded: Tensor, mask: Tensor) -> Encoded:
        states, hidden, lengths = embedded, [], mask.sum(1)
        for number, layer in enumerate(cast(Iterable[Iterable[Stack2014]], self.layers)):
            inputs = self.dropout(states) if number else states
            forward, *backward = layer
            directions = [self._direction(forward, inputs, mask)]
            for stack in backward:
                mirrored = self._direction(stack, flip(inputs, lengths), mask)
                directions.append((flip(mirrored[0], lengths), mirrored[1]))
            states = torch.cat([states for states, _ in directions], -1)
            hidden.append(torch.stack([last for _, last in directions], 1))
        return Encoded(states, torch.stack(hidden, 1), None)

    def _direction(self, stack: Stack2014, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return states ``(batch, src, hidden)``, zero at padding, and last states."""
        start = inputs.new_zeros(len(inputs), self.options.hidden_size)
        states = stack.run(inputs, CellState((start,), None)) * mask.unsqueeze(-1)
        last = (mask.sum(1) - 1).view(-1, 1, 1).expand(-1, 1, states.shape[-1])
        return states, states.gather(1, last).squeeze(1)


def build_encoder(
    cell: Cell, input_size: int, layers: int, dropout: float, options: EncoderOptions
) -> RecurrentEncoder:
    """Build the encoder for a cell."""
    if cell == "gru_2014":
        return Encoder2014(input_size, layers, dropout, options)
    return FusedEncoder(cell, input_size, layers, dropout, options)


def reverse(sequences: Tensor, mask: Tensor) -> Tensor:
    """Reverse each sentence of ``(batch, src, …)`` except the last token (EOS).

    ``mask`` is True where a token is real, ``(batch, src)``.
    """
    return mirror(sequences, mask.sum(1) - 2)
