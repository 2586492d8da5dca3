"""Single steps of torch's LSTM and GRU with packed weights; see ``kernels.packed``."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor
from typing_extensions import override

from lightning_modules.kernels import Pack
from lightning_modules.variants.recurrent.unrolled_cells import gru_state, lstm_state


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
