"""What lets each position of a sentence see others: self-attention, or a recurrence."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from lightning_modules.kernels.rnn import flip
from lightning_modules.variants.recurrent.cells import CellState, FusedStack
from lightning_modules.variants.transformer.heads import KeysValues, MultiHeadAttention


class Mixer(nn.Module, ABC):
    """Mixes each position of a target with earlier ones; ``run`` and repeated ``step`` are equal.

    A state is a tensor or nested tuples of tensors whose first dimension is the rows, so that a
    search can reorder them. No step of a recurrence changes their shapes.

    A recurrence is constructed with ``(width, heads, size)``: it makes ``size`` numbers of
    ``width``, in parallel ``heads`` if it has heads. It raises ``ValueError`` for sizes that do not
    fit together, naming the override to change.
    """

    @abstractmethod
    def run(self, inputs: Tensor) -> Tensor:
        """Mix whole targets, ``(batch, positions, width) -> (batch, positions, size)``.

        Position t sees positions up to t.
        """

    @abstractmethod
    def start(self, rows: int, like: Tensor) -> Any:
        """Return the state of ``rows`` before the first position, with which ``run`` begins.

        It has the dtype and the device of ``like``.
        """

    @abstractmethod
    def step(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Mix one position: ``(rows, width), state -> (rows, size), state``."""


class SelfAttention(MultiHeadAttention, Mixer):
    """Attention of a sentence to itself; its state, all keys and values so far, grows."""

    def read(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Mix whole sources ``(batch, src, width)``, whose positions see all others.

        The mask, ``(batch, src)``, is True where a token is real.
        """
        return self(inputs, self.prepare(inputs), mask[:, None, None])[0]

    @override
    def run(self, inputs: Tensor) -> Tensor:
        return self(inputs, self.prepare(inputs), causal=True)[0]

    @override
    def start(self, rows: int, like: Tensor) -> KeysValues:
        sizes = (layer.out_features // self.heads for layer in (self.key, self.value))
        return KeysValues(*(like.new_zeros(rows, self.heads, 0, size) for size in sizes))

    @override
    def step(self, inputs: Tensor, state: KeysValues) -> tuple[Tensor, KeysValues]:
        start, inputs = state.keys.shape[2], inputs.unsqueeze(1)
        known = state.append(self.prepare(inputs, start))
        return self(inputs, known, start=start)[0].squeeze(1), known


class RnnMixer(Mixer):
    """A layer of torch's LSTM or GRU that begins at 0; it has no heads."""

    def __init__(
        self, kind: type[nn.LSTM] | type[nn.GRU], width: int, heads: int, size: int
    ) -> None:
        super().__init__()
        self.size, self.has_cell_state = size, kind is nn.LSTM
        self.stack = FusedStack(kind, width, size, layers=1, dropout=0.0)

    @override
    def run(self, inputs: Tensor) -> Tensor:
        return self.stack.run(inputs, self.start(len(inputs), inputs))

    @override
    def start(self, rows: int, like: Tensor) -> CellState:
        zero = like.new_zeros(rows, self.size)
        return CellState((zero,), (zero,) if self.has_cell_state else None)

    @override
    def step(self, inputs: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        state = self.stack.advance(inputs, state)
        return state.top, state


class TwoDirections(nn.Module):
    """Two recurrences side by side for an encoder, of which one reads sentences backwards.

    ``recurrence(width, heads, size)`` makes one. Each makes half the numbers of a decoder's
    recurrence, in as many heads, and their results are concatenated, as in a bidirectional RNN
    (Schuster and Paliwal 1997). Raises ``ValueError`` for an odd width.
    """

    def __init__(
        self, recurrence: Callable[[int, int, int], Mixer], width: int, heads: int
    ) -> None:
        super().__init__()
        if width % 2:
            raise ValueError(
                f"model.width={width}: a recurrence in the encoder needs an even width, half for "
                "each direction"
            )
        self.forwards, self.backwards = (recurrence(width, heads, width // 2) for _ in range(2))

    def read(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Mix whole sources ``(batch, src, width)``; results at padding are meaningless.

        The mask, ``(batch, src)``, is True where a token is real. Padding comes last in both
        directions, and so enters no state of a real position.
        """
        lengths = mask.sum(1)
        backwards = flip(self.backwards.run(flip(inputs, lengths)), lengths)
        return torch.cat([self.forwards.run(inputs), backwards], -1)
