"""Recurrent cells, and stacks of their layers: for a whole sequence, for one step, or in a loop.

A loop is for steps that need the attention of the step before. Inputs that are known before the
loop are projected for all positions at once, and the weights are shared (see ``kernels.shared``):
a step of the loop computes only two products and the gates.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from datamodules.plugs import find_plug, make_plug
from lightning_modules.kernels import products
from lightning_modules.kernels.choice import computes_by_rows
from lightning_modules.kernels.products import LinearLayer, Pack, Packable
from lightning_modules.kernels.rnn import advance_layer, run_stack
from lightning_modules.kernels.shared import accumulate_once, linear

State = Tensor | tuple[Tensor, Tensor]
"""Hidden state, ``(batch, hidden)``, or hidden and cell state, as in torch's LSTM cell."""
LayerStep = Callable[[Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor | None]]
"""One step of a layer: inputs, hidden and cell state -> new hidden and cell state."""
LoopStep = Callable[[int, Tensor | None, Tensor, Tensor | None], tuple[Tensor, Tensor | None]]
"""The same in a loop: position, the part of the inputs that was not known before the loop, hidden
and cell state -> new hidden and cell state."""


class CellState(NamedTuple):
    """State of a stack of layers."""

    hidden: tuple[Tensor, ...]  # hidden state of each layer, `(batch, hidden)`
    cell: tuple[Tensor, ...] | None
    """Cell state of each layer, ``(batch, hidden)``; None for cells without one."""

    @property
    def top(self) -> Tensor:
        """Hidden state of the last layer, ``(batch, hidden)``."""
        return self.hidden[-1]

    def of_layer(self, number: int) -> tuple[Tensor, Tensor | None]:
        """Return the hidden and the cell state of one layer, ``(batch, hidden)``."""
        return self.hidden[number], None if self.cell is None else self.cell[number]


class LstmGates(nn.Module):
    """Torch's LSTM cell after its products."""

    def forward(self, gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """Return h and c, ``(batch, hidden)``; ``gates`` are ``W x + U h + b``, 4 · hidden wide."""
        if computes_by_rows(gates):
            from lightning_modules.kernels.gate_kernels import lstm_gates

            return lstm_gates(gates, cell)
        let_in, keep, candidate, let_out = gates.chunk(4, 1)
        cell = keep.sigmoid() * cell + let_in.sigmoid() * candidate.tanh()
        return let_out.sigmoid() * cell.tanh(), cell


class GruGates(nn.Module):
    """Torch's GRU cell after its products."""

    def forward(self, from_inputs: Tensor, from_hidden: Tensor, hidden: Tensor) -> Tensor:
        """Return the next h, from ``W x + b`` and ``U h + b'``, ``(batch, 3 · hidden)``."""
        if computes_by_rows(from_inputs):
            from lightning_modules.kernels.gate_kernels import gru_gates

            return gru_gates(from_inputs, from_hidden, hidden)
        parts = [2 * hidden.shape[1], hidden.shape[1]]
        x_gates, x_candidate = from_inputs.split(parts, 1)
        h_gates, h_candidate = from_hidden.split(parts, 1)
        reset, update = (x_gates + h_gates).sigmoid().chunk(2, 1)
        candidate = torch.addcmul(x_candidate, reset, h_candidate).tanh()
        return torch.lerp(candidate, hidden.to(candidate.dtype), update)


def gru_2014(projected: Tensor, hidden: Tensor, gates: Tensor, candidate: Tensor) -> Tensor:
    """Return ``s_t`` of Cho et al. 2014 (section 2.3) and Bahdanau et al. 2015 (A.1.1).

    ``s_t = (1 - z)∘s_{t-1} + z∘tanh(W x + U [r∘s_{t-1}])``: the reset gate acts *before* the
    product with U. Fused kernels, also torch's, apply the reset gate after the product.

    ``projected`` is W x of z, r and the candidate, ``(batch, 3 · hidden)``; ``gates`` is U of z and
    r, ``(2 · hidden, hidden)``; ``candidate`` is U, ``(hidden, hidden)``.
    """
    x_gates, x_candidate = projected.tensor_split([gates.shape[0]], -1)
    update, reset = (x_gates + linear(hidden, gates)).sigmoid().chunk(2, -1)
    new = (x_candidate + linear(reset * hidden, candidate)).tanh()
    return torch.lerp(hidden, new.to(hidden.dtype), update.to(hidden.dtype))


class InputProjection:
    """``W x_t + b`` in a loop; a first part of ``x_t``, ``(batch, tgt, known)``, may be known."""

    def __init__(self, known: Tensor | None, weight: Tensor, bias: Tensor) -> None:
        size = 0 if known is None else known.shape[-1]
        self._bias = bias
        self._projected = None
        if known is not None:
            self._projected = products.linear(known, weight[:, :size], bias).unbind(1)
        self._weight = accumulate_once(weight[:, size:].contiguous())

    def at(self, position: int, unknown: Tensor | None) -> Tensor:
        """Return the projection, ``(batch, gates)``; ``unknown`` is the rest of the inputs."""
        projected = self._bias if self._projected is None else self._projected[position]
        return projected if unknown is None else linear(unknown, self._weight, projected)


class RecurrentCell(nn.Module, ABC):
    """Cell of a recurrent layer. The constructor takes ``input_size`` and ``hidden_size``."""

    has_cell_state = False  # whether a state is a pair, hidden and cell state, as of an LSTM

    @abstractmethod
    def forward(self, inputs: Tensor, state: State) -> State:
        """Return the next state, ``(batch, hidden)``; a pair of these if ``has_cell_state``."""

    def advance(
        self, inputs: Tensor, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Run ``forward`` with the hidden and the cell state apart; None for no cell state."""
        state = self(inputs, hidden if cell is None else (hidden, cell))
        return state if self.has_cell_state else (state, None)

    def unroll(self, known: Tensor | None) -> LoopStep:
        """Return the steps of a loop whose inputs begin with ``known``, ``(batch, tgt, known)``.

        A cell may override this to project ``known`` for all positions at once.
        """
        at = None if known is None else known.unbind(1)

        def step(
            position: int, unknown: Tensor | None, hidden: Tensor, cell: Tensor | None
        ) -> tuple[Tensor, Tensor | None]:
            inputs = concat_present(None if at is None else at[position], unknown)
            return self.advance(inputs, hidden, cell)

        return step


class Gru2014(RecurrentCell):
    """The gated unit ``gru_2014``, with biases that are not in the papers."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.inputs = LinearLayer(input_size, 3 * hidden_size)
        self.gates = LinearLayer(hidden_size, 2 * hidden_size, bias=False)
        self.candidate = LinearLayer(hidden_size, hidden_size, bias=False)

    @override
    def forward(self, inputs: Tensor, state: State) -> Tensor:
        assert isinstance(state, Tensor)
        return gru_2014(self.inputs(inputs), state, self.gates.weight, self.candidate.weight)

    @override
    def unroll(self, known: Tensor | None) -> LoopStep:
        inputs = InputProjection(known, self.inputs.weight, self.inputs.bias)
        gates = accumulate_once(self.gates.weight)
        candidate = accumulate_once(self.candidate.weight)

        def step(
            position: int, unknown: Tensor | None, hidden: Tensor, cell: Tensor | None
        ) -> tuple[Tensor, None]:
            return gru_2014(inputs.at(position, unknown), hidden, gates, candidate), None

        return step


CellKind = type[nn.LSTM] | type[nn.GRU] | type[RecurrentCell]
CELLS: Mapping[str, CellKind] = {"lstm": nn.LSTM, "gru": nn.GRU, "gru_2014": Gru2014}
"""Kinds of cell by name; torch's classes are fused kernels of whole stacks."""


def find_cell(name: str) -> CellKind:
    """Return a kind of cell by its name or dotted path. Raises ``UserError``."""
    return find_plug("model.cell", name, CELLS, RecurrentCell)


def has_cell_state(kind: CellKind) -> bool:
    """Return whether the state of a cell is a pair, hidden and cell state."""
    return kind.has_cell_state if issubclass(kind, RecurrentCell) else kind is nn.LSTM


class Stack(nn.Module, ABC):
    """Stacked layers of one kind of cell, with dropout between the layers."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    @abstractmethod
    def run(self, inputs: Tensor, state: CellState) -> Tensor:
        """Return the states of the last layer: ``(batch, tgt, input) -> (batch, tgt, hidden)``."""

    @abstractmethod
    def layer_steps(self) -> Iterable[LayerStep]:
        """Return one step of each layer; the numbers equal those of ``run``."""

    @abstractmethod
    def loop_steps(self, known: Tensor) -> Sequence[LoopStep]:
        """Return the steps of each layer; inputs of the first begin with ``known``."""

    def advance(self, inputs: Tensor, state: CellState) -> CellState:
        """Run one step of all layers over ``(batch, input)``."""
        return self._through(self.layer_steps(), inputs, state)

    def unroll(self, known: Tensor) -> Callable[[int, Tensor | None, CellState], CellState]:
        """Return the steps of a loop whose inputs begin with ``known``, ``(batch, tgt, known)``."""
        layers = self.loop_steps(known)

        def step(position: int, unknown: Tensor | None, state: CellState) -> CellState:
            return self._through([partial(layer, position) for layer in layers], unknown, state)

        return step

    def _through(
        self, layers: Iterable[Callable], inputs: Tensor | None, state: CellState
    ) -> CellState:
        """Run one step of each layer on the output of the layer below."""
        hidden, cells = [], []
        for number, layer in enumerate(layers):
            inputs = self.dropout(inputs) if number else inputs
            inputs, cell = layer(inputs, *state.of_layer(number))
            hidden.append(inputs)
            if cell is not None:
                cells.append(cell)
        return CellState(tuple(hidden), tuple(cells) or None)


class FusedStack(Stack, Packable):
    """Torch's GRU or LSTM."""

    _packed: Sequence[LayerStep] | None = None

    def __init__(
        self,
        kind: type[nn.LSTM] | type[nn.GRU],
        input_size: int,
        hidden_size: int,
        layers: int,
        dropout: float,
    ) -> None:
        super().__init__(dropout)
        self.rnn = fused(kind, input_size, hidden_size, layers, dropout, bidirectional=False)
        self.gates = LstmGates() if kind is nn.LSTM else GruGates()

    @override
    def run(self, inputs: Tensor, state: CellState) -> Tensor:
        hidden = torch.stack(state.hidden)
        cell = None if state.cell is None else torch.stack(state.cell)
        return run_stack(self.rnn, inputs, hidden, cell).states

    @override
    def layer_steps(self) -> Iterable[LayerStep]:
        if self._packed is not None:
            return self._packed
        # A kernel for whole sequences would spend most of the time of one step on its start.
        return [partial(advance_layer, weights=weights) for weights in self.rnn.all_weights]

    @override
    def pack(self, pack: Pack | None) -> None:
        layers = self.rnn.all_weights
        self._packed = None if pack is None else [self._pack(pack, *layer) for layer in layers]

    def _pack(
        self, pack: Pack, inputs: Tensor, hidden: Tensor, bias: Tensor, other: Tensor
    ) -> LayerStep:
        """Return one step of a layer with packed weights; see ``kernels.products``."""
        if isinstance(self.gates, LstmGates):
            gates = pack(torch.cat([inputs, hidden], 1), bias + other)
            return lambda x, h, cell: self.gates(gates(torch.cat([x, h], 1)), cell)
        from_inputs, from_hidden = pack(inputs, bias), pack(hidden, other)
        return lambda x, h, _: (self.gates(from_inputs(x), from_hidden(h), h), None)

    @override
    def loop_steps(self, known: Tensor) -> Sequence[LoopStep]:
        parts = [known, *[None] * (self.rnn.num_layers - 1)]
        return [
            self._unroll(part, *weights)
            for part, weights in zip(parts, self.rnn.all_weights, strict=True)
        ]

    def _unroll(
        self, known: Tensor | None, inputs: Tensor, hidden: Tensor, bias: Tensor, other: Tensor
    ) -> LoopStep:
        if isinstance(self.gates, LstmGates):
            projection = InputProjection(known, inputs, bias + other)
            shared = accumulate_once(hidden)
            return lambda position, unknown, h, cell: self.gates(
                linear(h, shared, projection.at(position, unknown)), cell
            )
        projection = InputProjection(known, inputs, bias)
        shared = accumulate_once(hidden)

        def gru_step(
            position: int, unknown: Tensor | None, h: Tensor, _: Tensor | None
        ) -> tuple[Tensor, None]:
            from_hidden = linear(h, shared, other)
            return self.gates(projection.at(position, unknown), from_hidden, h), None

        return gru_step


class CellStack(Stack):
    """Layers of a ``RecurrentCell``."""

    def __init__(
        self,
        kind: type[RecurrentCell],
        input_size: int,
        hidden_size: int,
        layers: int,
        dropout: float,
    ) -> None:
        super().__init__(dropout)
        sizes = [input_size] + [hidden_size] * (layers - 1)
        name = f"{kind.__module__}.{kind.__qualname__}"
        self.cells: Any = nn.ModuleList(
            make_plug("model.cell", name, kind, size, hidden_size) for size in sizes
        )

    @override
    def run(self, inputs: Tensor, state: CellState) -> Tensor:
        return self.run_both(inputs, state)[0]

    def run_both(self, inputs: Tensor, state: CellState) -> tuple[Tensor, Tensor | None]:
        """Return the hidden and cell states of the last layer, each ``(batch, tgt, hidden)``."""
        cells: list[Tensor] = []
        for number, layer in enumerate(self.cells):
            step = layer.unroll(self.dropout(inputs) if number else inputs)
            hidden, cell = state.of_layer(number)
            states, cells = [], []
            for position in range(inputs.shape[1]):
                hidden, cell = step(position, None, hidden, cell)
                states.append(hidden)
                if cell is not None:
                    cells.append(cell)
            inputs = torch.stack(states, 1)
        return inputs, torch.stack(cells, 1) if cells else None

    @override
    def layer_steps(self) -> Iterable[LayerStep]:
        return [layer.advance for layer in self.cells]

    @override
    def loop_steps(self, known: Tensor) -> Sequence[LoopStep]:
        first, *others = self.cells
        return [first.unroll(known), *(cell.unroll(None) for cell in others)]


def build_stack(kind: CellKind, *sizes: Any) -> Stack:
    """Build the stack of a decoder; ``sizes`` are the further arguments of its class."""
    stack: Any = CellStack if issubclass(kind, RecurrentCell) else FusedStack
    built: Stack = stack(kind, *sizes)
    return built


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


def concat_present(*parts: Tensor | None) -> Tensor:
    """Concatenate all parts that are not None along the last dimension."""
    present = [part for part in parts if part is not None]
    return present[0] if len(present) == 1 else torch.cat(present, -1)
