"""Recurrent layers in the loop of training, where each step waits for the attention of the last.

What does not wait is done beforehand for all positions, and the weights are shared (see
``kernels.shared``), so that a step is left with two products and its gates.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from lightning_modules.kernels import linear, share


class CellState(NamedTuple):
    """State of stacked layers."""

    hidden: tuple[Tensor, ...]
    """``(batch, hidden)`` of each layer."""
    cell: tuple[Tensor, ...] | None
    """The same for an LSTM's cells, None for a GRU."""

    @property
    def top(self) -> Tensor:
        """Hidden state of the last layer, ``(batch, hidden)``."""
        return self.hidden[-1]


class Inputs:
    """``W x_t + b`` where the first numbers of ``x_t`` may be known for all positions.

    Args:
        known: ``(batch, tgt, known)``, or None.
        weight: ``(gates, inputs)``.
        bias: ``(gates,)``.
    """

    def __init__(self, known: Tensor | None, weight: Tensor, bias: Tensor) -> None:
        size = 0 if known is None else known.shape[-1]
        self._bias = bias
        self._projected = None
        if known is not None:
            self._projected = functional.linear(known, weight[:, :size], bias).unbind(1)
        self._weight = share(weight[:, size:])

    def at(self, position: int, others: Tensor | None) -> Tensor:
        """Add the part of the ``others`` ``(batch, inputs - known)``: ``(batch, gates)``."""
        onto = self._bias if self._projected is None else self._projected[position]
        return onto if others is None else linear(others, self._weight, onto)


class Layer(ABC):
    """One layer of a loop."""

    @abstractmethod
    def __call__(
        self, position: int, inputs: Tensor | None, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the new hidden and cell state, ``(batch, hidden)``.

        ``inputs`` are those that were not known beforehand.
        """


class LstmLayer(Layer):
    """Torch's LSTM cell."""

    def __init__(self, known: Tensor | None, weights: Sequence[Tensor]) -> None:
        of_inputs, of_hidden, *biases = weights
        self._inputs = Inputs(known, of_inputs, biases[0] + biases[1])
        self._weight = share(of_hidden)

    def __call__(
        self, position: int, inputs: Tensor | None, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """See the base class."""
        assert cell is not None
        gates = linear(hidden, self._weight, self._inputs.at(position, inputs))
        let_in, keep, candidate, let_out = gates.chunk(4, 1)
        cell = keep.sigmoid() * cell + let_in.sigmoid() * candidate.tanh()
        return let_out.sigmoid() * cell.tanh(), cell


class GruLayer(Layer):
    """Torch's GRU cell."""

    def __init__(self, known: Tensor | None, weights: Sequence[Tensor]) -> None:
        of_inputs, of_hidden, bias, self._bias = weights
        self._inputs = Inputs(known, of_inputs, bias)
        self._weight = share(of_hidden)

    def __call__(
        self, position: int, inputs: Tensor | None, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, None]:
        """See the base class."""
        parts = [2 * hidden.shape[1], hidden.shape[1]]
        x_gates, x_candidate = self._inputs.at(position, inputs).split(parts, 1)
        h_gates, h_candidate = linear(hidden, self._weight, self._bias).split(parts, 1)
        reset, update = (x_gates + h_gates).sigmoid().chunk(2, 1)
        candidate = torch.addcmul(x_candidate, reset, h_candidate).tanh()
        return torch.lerp(candidate, hidden.to(candidate.dtype), update), None


class Gru2014Layer(Layer):
    """See ``gru_2014``; both weights as there."""

    def __init__(self, inputs: Inputs, gates: Tensor, candidate: Tensor) -> None:
        self._inputs = inputs
        self._gates, self._candidate = share(gates), share(candidate)

    def __call__(
        self, position: int, inputs: Tensor | None, hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, None]:
        """See the base class."""
        projected = self._inputs.at(position, inputs)
        return gru_2014(projected, hidden, self._gates, self._candidate), None


def gru_2014(projected: Tensor, hidden: Tensor, gates: Tensor, candidate: Tensor) -> Tensor:
    """Cho et al. 2014 (section 2.3) and Bahdanau et al. 2015 (A.1.1).

    ``s_t = (1 - z)∘s_{t-1} + z∘tanh(W x + U [r∘s_{t-1}])``: the reset gate acts *before* the
    product with U. Fused kernels, torch's among them, apply it after.

    Args:
        projected: W x of z, r and the candidate, ``(batch, 3 · hidden)``.
        hidden: ``s_{t-1}``, ``(batch, hidden)``.
        gates: U of z and r, ``(2 · hidden, hidden)``.
        candidate: U, ``(hidden, hidden)``.

    Returns:
        ``s_t``.
    """
    of_gates, of_candidate = projected.tensor_split([gates.shape[0]], -1)
    update, reset = (of_gates + linear(hidden, gates)).sigmoid().chunk(2, -1)
    new = (of_candidate + linear(reset * hidden, candidate)).tanh()
    return torch.lerp(hidden, new.to(hidden.dtype), update.to(hidden.dtype))


class Loop:
    """A stack on its way over a target.

    Args:
        layers: the first knows part of its inputs.
        dropout: acts between the layers.
    """

    def __init__(self, layers: Sequence[Layer], dropout: Callable[[Tensor], Tensor]) -> None:
        self._layers = layers
        self._dropout = dropout

    def advance(self, position: int, others: Tensor | None, state: CellState) -> CellState:
        """Run one step; ``others`` are the inputs that were not known."""
        inputs, hidden, cells = others, [], []
        for number, layer in enumerate(self._layers):
            inputs = self._dropout(inputs) if number and inputs is not None else inputs
            before = None if state.cell is None else state.cell[number]
            inputs, cell = layer(position, inputs, state.hidden[number], before)
            hidden.append(inputs)
            if cell is not None:
                cells.append(cell)
        return CellState(tuple(hidden), tuple(cells) or None)
