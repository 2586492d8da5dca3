"""Recurrent cells by name, and the interface of a user's cell."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from typing_extensions import override

from datamodules.plugs import check_shape, find_plug, make_plug
from lightning_modules.kernels import LinearLayer
from lightning_modules.variants.recurrent.unrolled_cells import (
    InputProjection,
    UnrolledCell,
    UnrolledGru2014,
    UnrolledPlainly,
    gru_2014,
)

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
