"""The recurrent skeleton that the variants of 2014 and 2015 share."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

Cell = Literal["gru", "lstm"]


class Encoded(NamedTuple):
    """A source read by a recurrent encoder."""

    states: Tensor
    """``(batch, src, directions × hidden)``, zero at padding."""
    final: Tensor
    """Last hidden state of each layer and direction, ``(batch, layers, directions, hidden)``."""


class RecurrentEncoder(nn.Module):
    """GRU or LSTM over the embedded source, forward or in both directions.

    Padding never enters a state: the backward direction starts at each sentence's last token.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        layers: int,
        cell: Cell,
        bidirectional: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.layers = layers
        self.rnn = rnn(cell, input_size, hidden_size, layers, dropout, bidirectional)

    def forward(self, embedded: Tensor, mask: Tensor) -> Encoded:
        """``(batch, src, input), (batch, src)`` -> states and final states."""
        lengths = mask.sum(1).cpu()
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        output, final = self.rnn(packed)
        states, _ = pad_packed_sequence(output, batch_first=True, total_length=mask.shape[1])
        hidden = final[0] if isinstance(final, tuple) else final  # an LSTM returns cells too
        batch = mask.shape[0]
        return Encoded(
            states, hidden.transpose(0, 1).reshape(batch, self.layers, -1, hidden.shape[-1])
        )


def rnn(
    cell: Cell,
    input_size: int,
    hidden_size: int,
    layers: int,
    dropout: float,
    bidirectional: bool = False,
) -> nn.GRU | nn.LSTM:
    """Build a stacked, batch-first RNN; dropout acts between its layers."""
    kind = nn.GRU if cell == "gru" else nn.LSTM
    return kind(
        input_size,
        hidden_size,
        layers,
        batch_first=True,
        dropout=dropout if layers > 1 else 0.0,
        bidirectional=bidirectional,
    )


class RecurrentState(NamedTuple):
    """State of a stacked decoder RNN, batch first."""

    hidden: Tensor
    """``(batch, layers, hidden)``."""
    cell: Tensor | None
    """The same for an LSTM's cells, None for a GRU."""


def run(
    network: nn.GRU | nn.LSTM, inputs: Tensor, state: RecurrentState
) -> tuple[Tensor, RecurrentState]:
    """Run over ``(batch, tgt, input)``: top states ``(batch, tgt, hidden)`` and the last state."""
    hidden = state.hidden.transpose(0, 1).contiguous()
    if state.cell is None:
        output, hidden = network(inputs, hidden)
        return output, RecurrentState(hidden.transpose(0, 1), None)
    output, (hidden, cell) = network(inputs, (hidden, state.cell.transpose(0, 1).contiguous()))
    return output, RecurrentState(hidden.transpose(0, 1), cell.transpose(0, 1))


def advance(
    network: nn.GRU | nn.LSTM, inputs: Tensor, state: RecurrentState
) -> tuple[Tensor, RecurrentState]:
    """Run one step over ``(batch, input)``: top state ``(batch, hidden)`` and the new state.

    The same numbers as ``run`` with one position, by the cell functions: a whole-sequence kernel
    called for every step spends most of its time on preparing itself.
    """
    hidden, cells = [], []
    for layer, weights in enumerate(network.all_weights):
        before = state.hidden[:, layer]
        if state.cell is None:
            inputs = torch.gru_cell(inputs, before, *weights)
        else:
            inputs, cell = torch.lstm_cell(inputs, (before, state.cell[:, layer]), *weights)
            cells.append(cell)
        hidden.append(inputs)
        if layer < network.num_layers - 1:
            inputs = dropout(inputs, network.dropout, network.training)
    return hidden[-1], RecurrentState(
        torch.stack(hidden, 1), torch.stack(cells, 1) if cells else None
    )


def reverse(sequences: Tensor, mask: Tensor) -> Tensor:
    """Reverse each sentence's tokens; its last one (EOS) and the padding stay where they are.

    Args:
        sequences: ids ``(batch, src)`` or states ``(batch, src, size)``.
        mask: ``(batch, src)``, True where a token is real.
    """
    positions = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    mirrored = mask.sum(1, keepdim=True) - 2 - positions
    index = torch.where(mirrored >= 0, mirrored, positions)
    if sequences.dim() == 3:
        index = index.unsqueeze(-1).expand_as(sequences)
    return sequences.gather(1, index)
