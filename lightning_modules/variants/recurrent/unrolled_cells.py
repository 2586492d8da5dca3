"""Recurrent cells unrolled over a target, for steps that need the attention of the step before.

Inputs that are known before the loop are projected for all positions at once, and the weights are
shared (see ``kernels.shared``): a step computes only two products and the gates.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from lightning_modules.kernels import accumulate_once, linear, products


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
