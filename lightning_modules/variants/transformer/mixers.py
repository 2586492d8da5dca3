"""Recurrences in the place of self-attention: each position of a sentence sees earlier ones."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from lightning_modules.kernels.rnn import advance_layer, flip, run_stack


class Mixer(nn.Module, ABC):
    """A recurrence from ``width`` to ``size`` numbers, in ``heads`` parallel heads if it has heads.

    ``run`` and repeated ``step`` give equal numbers. A state is a tensor or nested tuples of
    tensors whose first dimension is the rows, so that a search can reorder them; no step changes
    their shapes. Subclasses are constructed with ``(width, heads, size)``, and raise ``ValueError``
    for sizes that do not fit together, naming the override to change.
    """

    @abstractmethod
    def run(self, inputs: Tensor) -> Tensor:
        """Mix whole sentences, ``(batch, positions, width) -> (batch, positions, size)``.

        Position t reads positions up to t.
        """

    @abstractmethod
    def start(self, rows: int, like: Tensor) -> Any:
        """Return the state of ``rows`` before the first position, in dtype and device of ``like``.

        ``run`` begins with this state.
        """

    @abstractmethod
    def step(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Mix one position: ``(rows, width), state -> (rows, size), state``."""


class TwoDirections(nn.Module):
    """Two mixers side by side for an encoder, of which one reads sentences backwards.

    ``mixer(width, heads, size)`` makes one. Each has half the heads and half the size, and their
    results are concatenated, as in a bidirectional RNN (Schuster and Paliwal 1997): so both
    together are as large as one mixer of a decoder. Padding comes last for both, and never enters.
    """

    def __init__(self, mixer: Callable[[int, int, int], Mixer], width: int, heads: int) -> None:
        super().__init__()
        if width % 2:
            raise ValueError(f"model.width={width}: must be even, half for each direction")
        if heads % 2:
            raise ValueError(f"model.heads={heads}: must be even, half for each direction")
        self.forwards, self.backwards = (mixer(width, heads // 2, width // 2) for _ in range(2))

    @override
    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Mix ``(batch, src, width)``; the mask, ``(batch, src)``, is True where a token is real.

        Results at padding are meaningless.
        """
        lengths = mask.sum(1)
        backwards = flip(self.backwards.run(flip(inputs, lengths)), lengths)
        return torch.cat([self.forwards.run(inputs), backwards], -1)


class LstmMixer(Mixer):
    """A layer of torch's LSTM, which begins at 0; it has no heads."""

    def __init__(self, width: int, heads: int, size: int) -> None:
        super().__init__()
        self.rnn = nn.LSTM(width, size, batch_first=True)

    @override
    def run(self, inputs: Tensor) -> Tensor:
        start = (part.unsqueeze(0) for part in self.start(len(inputs), inputs))
        return run_stack(self.rnn, inputs, *start).states

    @override
    def start(self, rows: int, like: Tensor) -> tuple[Tensor, Tensor]:
        zero = like.new_zeros(rows, self.rnn.hidden_size)
        return zero, zero

    @override
    def step(
        self, inputs: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        hidden, cell = advance_layer(inputs, *state, self.rnn.all_weights[0])
        assert cell is not None
        return hidden, (hidden, cell)


class GruMixer(Mixer):
    """A layer of torch's GRU, which begins at 0; it has no heads."""

    def __init__(self, width: int, heads: int, size: int) -> None:
        super().__init__()
        self.rnn = nn.GRU(width, size, batch_first=True)

    @override
    def run(self, inputs: Tensor) -> Tensor:
        start = self.start(len(inputs), inputs).unsqueeze(0)
        return run_stack(self.rnn, inputs, start, None).states

    @override
    def start(self, rows: int, like: Tensor) -> Tensor:
        return like.new_zeros(rows, self.rnn.hidden_size)

    @override
    def step(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        hidden, _ = advance_layer(inputs, state, None, self.rnn.all_weights[0])
        return hidden, hidden
