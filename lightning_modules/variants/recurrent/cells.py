"""Stacked recurrent layers: a whole sequence at once, or one step after the other."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

Cell = Literal["gru", "gru_2014", "lstm"]


class CellState(NamedTuple):
    """State of stacked layers, batch first."""

    hidden: Tensor
    """``(batch, layers, hidden)``."""
    cell: Tensor | None
    """The same for an LSTM's cells, None for a GRU."""

    @property
    def top(self) -> Tensor:
        """Hidden state of the last layer, ``(batch, hidden)``."""
        return self.hidden[:, -1]


class Stack(nn.Module, ABC):
    """Layers of one cell on top of each other; dropout acts between them."""

    has_cell_state = False

    @abstractmethod
    def run(self, inputs: Tensor, state: CellState) -> Tensor:
        """Run over ``(batch, tgt, input)``; return the top states ``(batch, tgt, hidden)``."""

    @abstractmethod
    def advance(self, inputs: Tensor, state: CellState) -> CellState:
        """Run one step over ``(batch, input)``: the same numbers as ``run``."""


class FusedStack(Stack):
    """Torch's GRU or LSTM."""

    def __init__(
        self, cell: Cell, input_size: int, hidden_size: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.rnn = fused(cell, input_size, hidden_size, layers, dropout, bidirectional=False)
        self.has_cell_state = cell == "lstm"

    def run(self, inputs: Tensor, state: CellState) -> Tensor:
        """See the base class."""
        hidden = state.hidden.transpose(0, 1).contiguous()
        if state.cell is None:
            return self.rnn(inputs, hidden)[0]
        return self.rnn(inputs, (hidden, state.cell.transpose(0, 1).contiguous()))[0]

    def advance(self, inputs: Tensor, state: CellState) -> CellState:
        """See the base class.

        By the cell functions: a whole-sequence kernel called for every step spends most of its time
        on preparing itself.
        """
        hidden, cells = [], []
        for layer, weights in enumerate(self.rnn.all_weights):
            before = state.hidden[:, layer]
            if state.cell is None:
                inputs = torch.gru_cell(inputs, before, *weights)
            else:
                inputs, cell = torch.lstm_cell(inputs, (before, state.cell[:, layer]), *weights)
                cells.append(cell)
            hidden.append(inputs)
            if layer < self.rnn.num_layers - 1:
                inputs = dropout(inputs, self.rnn.dropout, self.training)
        return CellState(torch.stack(hidden, 1), torch.stack(cells, 1) if cells else None)


class Gru2014(nn.Module):
    """The gated unit as Cho et al. 2014 (section 2.3) and Bahdanau et al. 2015 (A.1.1) define it.

    ``s_t = (1 - z)∘s_{t-1} + z∘tanh(W x + U [r∘s_{t-1}])``: the reset gate acts *before* the
    product with U. Fused kernels, torch's among them, apply it after. Biases are ours.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.inputs = nn.Linear(input_size, 3 * hidden_size)
        self.gates = nn.Linear(hidden_size, 2 * hidden_size, bias=False)
        self.candidate = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, projected: Tensor, hidden: Tensor) -> Tensor:
        """``inputs(x) (batch, 3 · hidden), s_{t-1} (batch, hidden) -> s_t``."""
        of_gates, of_candidate = projected.tensor_split([self.gates.out_features], -1)
        update, reset = (of_gates + self.gates(hidden)).sigmoid().chunk(2, -1)
        candidate = (of_candidate + self.candidate(reset * hidden)).tanh()
        return torch.lerp(hidden, candidate.to(hidden.dtype), update.to(hidden.dtype))


class Stack2014(Stack):
    """Layers of ``Gru2014``."""

    def __init__(self, input_size: int, hidden_size: int, layers: int, dropout: float) -> None:
        super().__init__()
        sizes = [input_size] + [hidden_size] * (layers - 1)
        self.cells = nn.ModuleList(Gru2014(size, hidden_size) for size in sizes)
        self.dropout = nn.Dropout(dropout)

    def _layers(self) -> Iterable[Gru2014]:
        return cast(Iterable[Gru2014], self.cells)

    def run(self, inputs: Tensor, state: CellState) -> Tensor:
        """See the base class."""
        for layer, cell in enumerate(self._layers()):
            inputs = self.dropout(inputs) if layer else inputs
            hidden, states = state.hidden[:, layer], []
            for projected in cell.inputs(inputs).unbind(1):
                hidden = cell(projected, hidden)
                states.append(hidden)
            inputs = torch.stack(states, 1)
        return inputs

    def advance(self, inputs: Tensor, state: CellState) -> CellState:
        """See the base class."""
        hidden = []
        for layer, cell in enumerate(self._layers()):
            inputs = self.dropout(inputs) if layer else inputs
            inputs = cell(cell.inputs(inputs), state.hidden[:, layer])
            hidden.append(inputs)
        return CellState(torch.stack(hidden, 1), None)


def build_stack(
    cell: Cell, input_size: int, hidden_size: int, layers: int, dropout: float
) -> Stack:
    """Build the layers of a decoder."""
    if cell == "gru_2014":
        return Stack2014(input_size, hidden_size, layers, dropout)
    return FusedStack(cell, input_size, hidden_size, layers, dropout)


def fused(
    cell: Cell,
    input_size: int,
    hidden_size: int,
    layers: int,
    dropout: float,
    bidirectional: bool,
) -> nn.GRU | nn.LSTM:
    """Build torch's stacked, batch-first RNN."""
    kind = nn.LSTM if cell == "lstm" else nn.GRU
    return kind(
        input_size,
        hidden_size,
        layers,
        batch_first=True,
        dropout=dropout if layers > 1 else 0.0,
        bidirectional=bidirectional,
    )
