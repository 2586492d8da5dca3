"""Stacked recurrent layers, for a whole sequence, for single steps, or unrolled."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from typing_extensions import override

from lightning_modules.kernels import Pack, Packable
from lightning_modules.kernels.rnn import advance_layer, run_stack
from lightning_modules.variants.recurrent.cells import CellKind, RecurrentCell, make_cell
from lightning_modules.variants.recurrent.compiled_step import (
    compile_step,
    first_state,
    inputs_of_steps,
)
from lightning_modules.variants.recurrent.packed_cells import PackedCell, PackedGru, PackedLstm
from lightning_modules.variants.recurrent.unrolled_cells import (
    CellState,
    UnrolledGru,
    UnrolledLstm,
    UnrolledStack,
)


class Stack(nn.Module, ABC):
    """Stacked layers of one kind of cell, with dropout between the layers."""

    @abstractmethod
    def run(self, inputs: Tensor, state: CellState) -> Tensor:
        """Return the states of the last layer: ``(batch, tgt, input) -> (batch, tgt, hidden)``."""

    @abstractmethod
    def advance(self, inputs: Tensor, state: CellState) -> CellState:
        """Run one step over ``(batch, input)``; the numbers equal those of ``run``."""

    @abstractmethod
    def unroll(self, known: Tensor) -> UnrolledStack:
        """Unroll over a target whose inputs begin with ``known``, ``(batch, tgt, known)``."""


class FusedStack(Stack, Packable):
    """Torch's GRU or LSTM."""

    _packed: Sequence[PackedCell] | None = None

    def __init__(
        self,
        kind: type[nn.LSTM] | type[nn.GRU],
        input_size: int,
        hidden_size: int,
        layers: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.rnn = fused(kind, input_size, hidden_size, layers, dropout, bidirectional=False)

    @override
    def run(self, inputs: Tensor, state: CellState) -> Tensor:
        hidden = torch.stack(state.hidden)
        cell = None if state.cell is None else torch.stack(state.cell)
        return run_stack(self.rnn, inputs, None, hidden, cell).states

    @override
    def advance(self, inputs: Tensor, state: CellState) -> CellState:
        # A kernel for whole sequences would spend most of the time of one step on its start.
        hidden, cells = [], []
        for layer in range(self.rnn.num_layers):
            inputs = self._drop(inputs) if layer else inputs
            inputs, cell = self._advance_layer(layer, inputs, *state.of_layer(layer))
            hidden.append(inputs)
            if cell is not None:
                cells.append(cell)
        return CellState(tuple(hidden), tuple(cells) or None)

    def _advance_layer(
        self, layer: int, inputs: Tensor, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        weights = self.rnn.all_weights[layer]
        if torch.compiler.is_compiling():  # the compiler fuses the formula
            return self._unrolled(None, weights)(0, inputs, hidden, cell)
        if self._packed is not None:
            return self._packed[layer](inputs, hidden, cell)
        return advance_layer(inputs, hidden, cell, weights)

    @override
    def pack(self, pack: Pack | None) -> None:
        kind = PackedLstm if isinstance(self.rnn, nn.LSTM) else PackedGru
        layers = self.rnn.all_weights
        self._packed = None if pack is None else [kind(weights, pack) for weights in layers]

    @override
    def unroll(self, known: Tensor) -> UnrolledStack:
        parts = [known, *[None] * (self.rnn.num_layers - 1)]
        cells = [self._unrolled(*pair) for pair in zip(parts, self.rnn.all_weights, strict=True)]
        return UnrolledStack(cells, self._drop)

    @property
    def _unrolled(self) -> type[UnrolledLstm] | type[UnrolledGru]:
        return UnrolledLstm if isinstance(self.rnn, nn.LSTM) else UnrolledGru

    def _drop(self, inputs: Tensor) -> Tensor:
        return dropout(inputs, self.rnn.dropout, self.training)


class CellStack(Stack):
    """Layers of a ``RecurrentCell``."""

    _compiled_step: Callable[[Tensor, CellState], CellState] | None = None

    def __init__(
        self,
        kind: type[RecurrentCell],
        input_size: int,
        hidden_size: int,
        layers: int,
        dropout: float,
    ) -> None:
        super().__init__()
        sizes = [input_size] + [hidden_size] * (layers - 1)
        self.cells = nn.ModuleList(make_cell(kind, size, hidden_size) for size in sizes)
        self.dropout = nn.Dropout(dropout)

    def _layers(self) -> Iterable[RecurrentCell]:
        return cast(Iterable[RecurrentCell], self.cells)

    @override
    def run(self, inputs: Tensor, state: CellState) -> Tensor:
        return self.run_both(inputs, state)[0]

    def run_both(self, inputs: Tensor, state: CellState) -> tuple[Tensor, Tensor | None]:
        """Return the hidden and cell states of the last layer, each ``(batch, tgt, hidden)``."""
        if self._compiled_step is not None:
            return self._run_by_steps(self._compiled_step, inputs, state)
        cells: list[Tensor] = []
        for number, layer in enumerate(self._layers()):
            unrolled = layer.unroll(self.dropout(inputs) if number else inputs)
            hidden, cell = state.of_layer(number)
            states, cells = [], []
            for position in range(inputs.shape[1]):
                hidden, cell = unrolled(position, None, hidden, cell)
                states.append(hidden)
                if cell is not None:
                    cells.append(cell)
            inputs = torch.stack(states, 1)
        return inputs, torch.stack(cells, 1) if cells else None

    def compile_steps(self, **options: Any) -> None:
        """Compile the step by which ``run`` proceeds; ``options`` are those of torch.compile."""
        self._compiled_step = compile_step(self.advance, **options)

    def _run_by_steps(
        self, step: Callable[[Tensor, CellState], CellState], inputs: Tensor, state: CellState
    ) -> tuple[Tensor, Tensor | None]:
        state, hidden, cells = first_state(state), [], []
        for position in inputs_of_steps(inputs):
            state = step(position, state)
            hidden.append(state.top)
            if state.cell is not None:
                cells.append(state.cell[-1])
        return torch.stack(hidden, 1), torch.stack(cells, 1) if cells else None

    @override
    def advance(self, inputs: Tensor, state: CellState) -> CellState:
        hidden, cells = [], []
        for number, layer in enumerate(self._layers()):
            inputs = self.dropout(inputs) if number else inputs
            inputs, cell = layer.advance(inputs, *state.of_layer(number))
            hidden.append(inputs)
            if cell is not None:
                cells.append(cell)
        return CellState(tuple(hidden), tuple(cells) or None)

    @override
    def unroll(self, known: Tensor) -> UnrolledStack:
        first, *others = self._layers()
        cells = [first.unroll(known), *(cell.unroll(None) for cell in others)]
        return UnrolledStack(cells, self.dropout)


def build_stack(
    kind: CellKind, input_size: int, hidden_size: int, layers: int, dropout: float
) -> Stack:
    """Build the stack of a decoder. Raises ``UserError`` for a cell that cannot run."""
    if issubclass(kind, RecurrentCell):
        return CellStack(kind, input_size, hidden_size, layers, dropout)
    return FusedStack(kind, input_size, hidden_size, layers, dropout)


def fused(
    kind: type[nn.LSTM] | type[nn.GRU],
    input_size: int,
    hidden_size: int,
    layers: int,
    dropout: float,
    bidirectional: bool,
) -> nn.GRU | nn.LSTM:
    """Build torch's stacked, batch-first RNN."""
    return kind(
        input_size,
        hidden_size,
        layers,
        batch_first=True,
        dropout=dropout if layers > 1 else 0.0,
        bidirectional=bidirectional,
    )
