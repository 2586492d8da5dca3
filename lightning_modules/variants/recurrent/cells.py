"""Stacked recurrent layers, for a whole sequence, for single steps, or unrolled."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from typing_extensions import override

from lightning_modules.variants.recurrent.unrolled_cells import (
    CellState,
    InputProjection,
    UnrolledGru,
    UnrolledGru2014,
    UnrolledLstm,
    UnrolledStack,
    gru_2014,
)

Cell = Literal["gru", "gru_2014", "lstm"]


class Stack(nn.Module, ABC):
    """Stacked layers of one kind of cell, with dropout between the layers."""

    has_cell_state = False

    @abstractmethod
    def run(self, inputs: Tensor, state: CellState) -> Tensor:
        """Return the states of the last layer: ``(batch, tgt, input) -> (batch, tgt, hidden)``."""

    @abstractmethod
    def advance(self, inputs: Tensor, state: CellState) -> CellState:
        """Run one step over ``(batch, input)``; the numbers equal those of ``run``."""

    @abstractmethod
    def unroll(self, known: Tensor) -> UnrolledStack:
        """Unroll over a target whose inputs begin with ``known``, ``(batch, tgt, known)``."""


class FusedStack(Stack):
    """Torch's GRU or LSTM."""

    def __init__(
        self, cell: Cell, input_size: int, hidden_size: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        self.rnn = fused(cell, input_size, hidden_size, layers, dropout, bidirectional=False)
        self.has_cell_state = cell == "lstm"

    @override
    def run(self, inputs: Tensor, state: CellState) -> Tensor:
        hidden = torch.stack(state.hidden)
        if state.cell is None:
            return self.rnn(inputs, hidden)[0]
        return self.rnn(inputs, (hidden, torch.stack(state.cell)))[0]

    @override
    def advance(self, inputs: Tensor, state: CellState) -> CellState:
        # A kernel for whole sequences would spend most of the time of one step on its start.
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

    @override
    def unroll(self, known: Tensor) -> UnrolledStack:
        kind = UnrolledLstm if self.has_cell_state else UnrolledGru
        parts = [known, *[None] * (self.rnn.num_layers - 1)]
        cells = [kind(*pair) for pair in zip(parts, self.rnn.all_weights, strict=True)]
        return UnrolledStack(cells, self._drop)

    def _drop(self, inputs: Tensor) -> Tensor:
        return dropout(inputs, self.rnn.dropout, self.training)


class Gru2014(nn.Module):
    """Weights of the gated unit of Cho et al. 2014 and Bahdanau et al. 2015; see ``gru_2014``.

    The biases are not in the papers.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.inputs = nn.Linear(input_size, 3 * hidden_size)
        self.gates = nn.Linear(hidden_size, 2 * hidden_size, bias=False)
        self.candidate = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, inputs: Tensor, hidden: Tensor) -> Tensor:
        """Return ``s_t``: ``(batch, input), (batch, hidden) -> (batch, hidden)``."""
        return gru_2014(self.inputs(inputs), hidden, self.gates.weight, self.candidate.weight)

    def unroll(self, known: Tensor | None) -> UnrolledGru2014:
        """Return the unrolled cell; ``known`` is ``(batch, tgt, known)`` or None."""
        inputs = InputProjection(known, self.inputs.weight, self.inputs.bias)
        return UnrolledGru2014(inputs, self.gates.weight, self.candidate.weight)


class Stack2014(Stack):
    """Layers of ``Gru2014``."""

    def __init__(self, input_size: int, hidden_size: int, layers: int, dropout: float) -> None:
        super().__init__()
        sizes = [input_size] + [hidden_size] * (layers - 1)
        self.cells = nn.ModuleList(Gru2014(size, hidden_size) for size in sizes)
        self.dropout = nn.Dropout(dropout)

    def _layers(self) -> Iterable[Gru2014]:
        return cast(Iterable[Gru2014], self.cells)

    @override
    def run(self, inputs: Tensor, state: CellState) -> Tensor:
        for number, (cell, hidden) in enumerate(zip(self._layers(), state.hidden, strict=True)):
            unrolled = cell.unroll(self.dropout(inputs) if number else inputs)
            states = []
            for position in range(inputs.shape[1]):
                hidden, _ = unrolled(position, None, hidden, None)
                states.append(hidden)
            inputs = torch.stack(states, 1)
        return inputs

    @override
    def advance(self, inputs: Tensor, state: CellState) -> CellState:
        hidden = []
        for number, cell in enumerate(self._layers()):
            inputs = cell(self.dropout(inputs) if number else inputs, state.hidden[number])
            hidden.append(inputs)
        return CellState(tuple(hidden), None)

    @override
    def unroll(self, known: Tensor) -> UnrolledStack:
        first, *others = self._layers()
        cells = [first.unroll(known), *(cell.unroll(None) for cell in others)]
        return UnrolledStack(cells, self.dropout)


def build_stack(
    cell: Cell, input_size: int, hidden_size: int, layers: int, dropout: float
) -> Stack:
    """Build the stack of a decoder."""
    if cell == "gru_2014":
        return Stack2014(input_size, hidden_size, layers, dropout)
    return FusedStack(cell, input_size, hidden_size, layers, dropout)


def fused(
    cell: Cell, input_size: int, hidden_size: int, layers: int, dropout: float, bidirectional: bool
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
