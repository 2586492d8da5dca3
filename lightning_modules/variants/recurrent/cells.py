"""Recurrent cells by name, and the interface of a user's cell."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout
from typing_extensions import override

from datamodules.plugs import check_shape, find_plug, make_plug
from lightning_modules.kernels import LinearLayer, Pack, Packable, accumulate_once, linear, products
from lightning_modules.kernels.rnn import advance_layer, run_stack
from lightning_modules.variants.recurrent.compiled_step import (
    compile_step,
    first_state,
    inputs_of_steps,
)


class CellState(NamedTuple):
    """State of a stack of layers."""

    hidden: tuple[Tensor, ...]
    """Hidden state of each layer, ``(batch, hidden)``."""
    cell: tuple[Tensor, ...] | None
    """Cell state of each layer, ``(batch, hidden)``; None for cells without one."""

    @property
    def top(self) -> Tensor:
        """Hidden state of the last layer, ``(batch, hidden)``."""
        return self.hidden[-1]

    def of_layer(self, number: int) -> tuple[Tensor, Tensor | None]:
        """Return the hidden and the cell state of one layer, ``(batch, hidden)``."""
        return self.hidden[number], None if self.cell is None else self.cell[number]


class InputProjection:
    """``W x_t + b``, where a first part of ``x_t`` may be known before the loop.

    Args:
        known: known part of the inputs, ``(batch, tgt, known)``; None for no such part.
        weight: ``(gates, inputs)``.
        bias: ``(gates,)``.
    """

    def __init__(self, known: Tensor | None, weight: Tensor, bias: Tensor) -> None:
        size = 0 if known is None else known.shape[-1]
        self._bias = bias
        self._projected = None
        if known is not None:
            self._projected = products.linear(known, weight[:, :size], bias).unbind(1)
        self._weight = accumulate_once(weight[:, size:].contiguous())

    def at(self, position: int, unknown: Tensor | None) -> Tensor:
        """Return the projection at ``position``, ``(batch, gates)``.

        ``unknown`` is the other part of the inputs, ``(batch, inputs - known)``.
        """
        projected = self._bias if self._projected is None else self._projected[position]
        return projected if unknown is None else linear(unknown, self._weight, projected)


class UnrolledCell(ABC):
    """One layer of an unrolled stack."""

    @abstractmethod
    def __call__(
        self, position: int, unknown: Tensor | None, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the new hidden and cell state, ``(batch, hidden)``.

        ``unknown`` is the part of the inputs that was not known before the loop.
        """


class UnrolledPlainly(UnrolledCell):
    """Any cell, step by step: nothing is computed before the loop.

    Args:
        advance: one step of the cell, from inputs, hidden and cell state to the new states.
        known: known part of the inputs, ``(batch, tgt, known)``; None for no such part.
    """

    def __init__(
        self,
        advance: Callable[[Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor | None]],
        known: Tensor | None,
    ) -> None:
        self._advance = advance
        self._known = None if known is None else known.unbind(1)

    @override
    def __call__(
        self, position: int, unknown: Tensor | None, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        known = None if self._known is None else self._known[position]
        parts = [part for part in (known, unknown) if part is not None]
        inputs = parts[0] if len(parts) == 1 else torch.cat(parts, -1)
        return self._advance(inputs, hidden, cell)


class UnrolledLstm(UnrolledCell):
    """Torch's LSTM cell."""

    def __init__(self, known: Tensor | None, weights: Sequence[Tensor]) -> None:
        input_weight, hidden_weight, *biases = weights
        self._inputs = InputProjection(known, input_weight, biases[0] + biases[1])
        self._weight = accumulate_once(hidden_weight)

    @override
    def __call__(
        self, position: int, unknown: Tensor | None, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        assert cell is not None
        return lstm_state(linear(hidden, self._weight, self._inputs.at(position, unknown)), cell)


class UnrolledGru(UnrolledCell):
    """Torch's GRU cell."""

    def __init__(self, known: Tensor | None, weights: Sequence[Tensor]) -> None:
        input_weight, hidden_weight, bias, self._bias = weights
        self._inputs = InputProjection(known, input_weight, bias)
        self._weight = accumulate_once(hidden_weight)

    @override
    def __call__(
        self, position: int, unknown: Tensor | None, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, None]:
        from_hidden = linear(hidden, self._weight, self._bias)
        return gru_state(self._inputs.at(position, unknown), from_hidden, hidden), None


class UnrolledGru2014(UnrolledCell):
    """The cell of ``gru_2014``, with the same two weights."""

    def __init__(self, inputs: InputProjection, gates: Tensor, candidate: Tensor) -> None:
        self._inputs = inputs
        self._gates, self._candidate = accumulate_once(gates), accumulate_once(candidate)

    @override
    def __call__(
        self, position: int, unknown: Tensor | None, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, None]:
        projected = self._inputs.at(position, unknown)
        return gru_2014(projected, hidden, self._gates, self._candidate), None


def lstm_state(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Return the next hidden and cell state of torch's LSTM, ``(batch, hidden)``.

    Args:
        gates: ``W x + U h + b``, ``(batch, 4 · hidden)``.
        cell: ``(batch, hidden)``.
    """
    let_in, keep, candidate, let_out = gates.chunk(4, 1)
    cell = keep.sigmoid() * cell + let_in.sigmoid() * candidate.tanh()
    return let_out.sigmoid() * cell.tanh(), cell


def gru_state(from_inputs: Tensor, from_hidden: Tensor, hidden: Tensor) -> Tensor:
    """Return the next state of torch's GRU, ``(batch, hidden)``.

    Args:
        from_inputs: ``W x + b``, ``(batch, 3 · hidden)``.
        from_hidden: ``U h + b'``, ``(batch, 3 · hidden)``.
        hidden: h, ``(batch, hidden)``.
    """
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

    Args:
        projected: W x of z, r and the candidate, ``(batch, 3 · hidden)``.
        hidden: ``s_{t-1}``, ``(batch, hidden)``.
        gates: U of z and r, ``(2 · hidden, hidden)``.
        candidate: U, ``(hidden, hidden)``.

    Returns:
        ``s_t``, ``(batch, hidden)``.
    """
    x_gates, x_candidate = projected.tensor_split([gates.shape[0]], -1)
    update, reset = (x_gates + linear(hidden, gates)).sigmoid().chunk(2, -1)
    new = (x_candidate + linear(reset * hidden, candidate)).tanh()
    return torch.lerp(hidden, new.to(hidden.dtype), update.to(hidden.dtype))


class UnrolledStack:
    """Stacked layers, unrolled over a target.

    Args:
        layers: cells from bottom to top; part of the first cell's inputs is known.
        dropout: dropout between the layers.
    """

    def __init__(self, layers: Sequence[UnrolledCell], dropout: Callable[[Tensor], Tensor]) -> None:
        self._layers = layers
        self._dropout = dropout

    def advance(self, position: int, unknown: Tensor | None, state: CellState) -> CellState:
        """Run one step; ``unknown`` ``(batch, …)`` is the part of the inputs not known before."""
        inputs, hidden, cells = unknown, [], []
        for number, layer in enumerate(self._layers):
            inputs = self._dropout(inputs) if number and inputs is not None else inputs
            inputs, cell = layer(position, inputs, *state.of_layer(number))
            hidden.append(inputs)
            if cell is not None:
                cells.append(cell)
        return CellState(tuple(hidden), tuple(cells) or None)


State = Tensor | tuple[Tensor, Tensor]
"""Hidden state, ``(batch, hidden)``, or hidden and cell state, as in torch's LSTM cell."""


class RecurrentCell(nn.Module, ABC):
    """Cell of a recurrent layer. The constructor takes ``input_size`` and ``hidden_size``."""

    has_cell_state = False
    """Whether a state is a pair, hidden and cell state, as of an LSTM."""

    @abstractmethod
    def forward(self, inputs: Tensor, state: State) -> State:
        """Return the next state.

        Args:
            inputs: ``(batch, input)``.
            state: ``(batch, hidden)``; a pair of these if ``has_cell_state``.
        """

    def unroll(self, known: Tensor | None) -> UnrolledCell:
        """Unroll over a target whose inputs begin with ``known``, ``(batch, tgt, known)``.

        A cell may override this method for speed, to project ``known`` for all positions at once.
        """
        return UnrolledPlainly(self.advance, known)

    def advance(
        self, inputs: Tensor, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Run ``forward`` with the hidden and the cell state apart; None for no cell state."""
        state = self(inputs, hidden if cell is None else (hidden, cell))
        return state if self.has_cell_state else (state, None)


class Gru2014(RecurrentCell):
    """The gated unit of Cho et al. 2014 and Bahdanau et al. 2015; see ``gru_2014``.

    The biases are not in the papers.
    """

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
    def unroll(self, known: Tensor | None) -> UnrolledGru2014:
        inputs = InputProjection(known, self.inputs.weight, self.inputs.bias)
        return UnrolledGru2014(inputs, self.gates.weight, self.candidate.weight)


CellKind = type[nn.LSTM] | type[nn.GRU] | type[RecurrentCell]
CELLS: Mapping[str, CellKind] = {"lstm": nn.LSTM, "gru": nn.GRU, "gru_2014": Gru2014}
"""Kinds of cell by name; torch's classes are fused kernels of whole stacks."""


def find_cell(name: str) -> CellKind:
    """Return a kind of cell by its name or dotted path. Raises ``UserError``."""
    return find_plug("model.cell", name, CELLS, RecurrentCell)


def has_cell_state(kind: CellKind) -> bool:
    """Return whether the state of a cell is a pair, hidden and cell state."""
    return kind.has_cell_state if issubclass(kind, RecurrentCell) else kind is nn.LSTM


def make_cell(kind: type[RecurrentCell], input_size: int, hidden_size: int) -> RecurrentCell:
    """Make one layer. Raises ``UserError`` for a class of the user that cannot be one."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    cell = make_plug("model.cell", name, kind, input_size, hidden_size)
    if kind not in CELLS.values():
        _try(cell, f"model.cell={name}", input_size, hidden_size)
    return cell


@torch.no_grad()
def _try(cell: RecurrentCell, setting: str, input_size: int, hidden_size: int) -> None:
    """Run a cell once on zeros; raise ``UserError`` for states of a wrong shape."""
    shape = (2, hidden_size)
    inputs, hidden = torch.zeros(2, input_size), torch.zeros(shape)
    if not cell.has_cell_state:
        check_shape(setting, cell, lambda: cell(inputs, hidden), shape)
        return
    check_shape(setting, cell, lambda: cell(inputs, (hidden, hidden))[0], shape)
    check_shape(setting, cell, lambda: cell(inputs, (hidden, hidden))[1], shape)


class PackedCell(ABC):
    """A cell that computes one step of one layer with packed weights."""

    @abstractmethod
    def __call__(
        self, inputs: Tensor, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the new hidden and cell state, ``(batch, hidden)``."""


class PackedLstm(PackedCell):
    """Torch's LSTM cell."""

    def __init__(self, weights: Sequence[Tensor], pack: Pack) -> None:
        input_weight, hidden_weight, *biases = weights
        self._gates = pack(torch.cat([input_weight, hidden_weight], 1), biases[0] + biases[1])

    @override
    def __call__(
        self, inputs: Tensor, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        assert cell is not None
        return lstm_state(self._gates(torch.cat([inputs, hidden], 1)), cell)


class PackedGru(PackedCell):
    """Torch's GRU cell."""

    def __init__(self, weights: Sequence[Tensor], pack: Pack) -> None:
        input_weight, hidden_weight, *biases = weights
        self._from_inputs = pack(input_weight, biases[0])
        self._from_hidden = pack(hidden_weight, biases[1])

    @override
    def __call__(
        self, inputs: Tensor, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        return gru_state(self._from_inputs(inputs), self._from_hidden(hidden), hidden), None


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
