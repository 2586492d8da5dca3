"""Stacked recurrent layers: a whole sequence at once, one step after the other, or in a loop."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from lightning_modules.variants.recurrent.loops import (
    CellState,
    Gru2014Layer,
    GruLayer,
    Inputs,
    Loop,
    LstmLayer,
    gru_2014,
)

Cell = Literal["gru", "gru_2014", "lstm"]


class Stack(nn.Module, ABC):
    """Layers of one cell on top of each other; dropout acts between them."""

    has_cell_state = False

    @abstractmethod
    def run(self, inputs: Tensor, state: CellState) -> Tensor:
        """Run over ``(batch, tgt, input)``; return the top states ``(batch, tgt, hidden)``."""

    @abstractmethod
    def advance(self, inputs: Tensor, state: CellState) -> CellState:
        """Run one step over ``(batch, input)``: the same numbers as ``run``."""

    @abstractmethod
    def loop(self, known: Tensor) -> Loop:
        """Begin a run whose inputs at each step are ``known`` ``(batch, tgt, …)`` and others."""


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
        hidden = torch.stack(state.hidden)
        if state.cell is None:
            return self.rnn(inputs, hidden)[0]
        return self.rnn(inputs, (hidden, torch.stack(state.cell)))[0]

    def advance(self, inputs: Tensor, state: CellState) -> CellState:
        """See the base class.

        By the cell functions: a whole-sequence kernel called for every step spends most of its time
        on preparing itself.
        """
        hidden, cells = [], []
        for layer, weights in enumerate(self.rnn.all_weights):
            inputs = self._drop(inputs) if layer else inputs
            if state.cell is None:
                inputs = torch.gru_cell(inputs, state.hidden[layer], *weights)
            else:
                before = (state.hidden[layer], state.cell[layer])
                inputs, cell = torch.lstm_cell(inputs, before, *weights)
                cells.append(cell)
            hidden.append(inputs)
        return CellState(tuple(hidden), tuple(cells) or None)

    def loop(self, known: Tensor) -> Loop:
        """See the base class."""
        kind = LstmLayer if self.has_cell_state else GruLayer
        knowns = [known, *[None] * (self.rnn.num_layers - 1)]
        layers = [kind(*pair) for pair in zip(knowns, self.rnn.all_weights, strict=True)]
        return Loop(layers, self._drop)

    def _drop(self, inputs: Tensor) -> Tensor:
        return dropout(inputs, self.rnn.dropout, self.training)


class Gru2014(nn.Module):
    """Weights of the gated unit of Cho et al. 2014 and Bahdanau et al. 2015; see ``gru_2014``.

    Biases are ours.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.inputs = nn.Linear(input_size, 3 * hidden_size)
        self.gates = nn.Linear(hidden_size, 2 * hidden_size, bias=False)
        self.candidate = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, inputs: Tensor, hidden: Tensor) -> Tensor:
        """``x (batch, input), s_{t-1} (batch, hidden) -> s_t``."""
        return gru_2014(self.inputs(inputs), hidden, self.gates.weight, self.candidate.weight)

    def layer(self, known: Tensor | None) -> Gru2014Layer:
        """Return the layer of a loop."""
        inputs = Inputs(known, self.inputs.weight, self.inputs.bias)
        return Gru2014Layer(inputs, self.gates.weight, self.candidate.weight)


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
        for number, (cell, hidden) in enumerate(zip(self._layers(), state.hidden, strict=True)):
            layer = cell.layer(self.dropout(inputs) if number else inputs)
            states = []
            for position in range(inputs.shape[1]):
                hidden, _ = layer(position, None, hidden, None)
                states.append(hidden)
            inputs = torch.stack(states, 1)
        return inputs

    def advance(self, inputs: Tensor, state: CellState) -> CellState:
        """See the base class."""
        hidden = []
        for number, cell in enumerate(self._layers()):
            inputs = cell(self.dropout(inputs) if number else inputs, state.hidden[number])
            hidden.append(inputs)
        return CellState(tuple(hidden), None)

    def loop(self, known: Tensor) -> Loop:
        """See the base class."""
        first, *others = self._layers()
        return Loop([first.layer(known), *(cell.layer(None) for cell in others)], self.dropout)


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
