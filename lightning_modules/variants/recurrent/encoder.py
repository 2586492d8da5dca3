"""Recurrent encoders, and the bridge from their last states to the decoder."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor, nn
from typing_extensions import override

from lightning_modules.kernels.products import LinearLayer
from lightning_modules.kernels.rnn import RnnOutput, flip, mirror, run_on_cpu, run_packed
from lightning_modules.variants.base import Options
from lightning_modules.variants.recurrent.cells import (
    CellKind,
    CellStack,
    CellState,
    RecurrentCell,
    fused,
    has_cell_state,
)


class EncoderOptions(Options):
    """``model.encoder``."""

    hidden_size: int
    """Width of the states of each direction."""
    bidirectional: bool
    merge: Literal["concat", "sum"]
    """How to join the states of two directions."""
    reverse_source: bool
    """Read the source backwards (Sutskever et al. 2014, section 3.3)."""

    @property
    def directions(self) -> int:
        """Number of directions, 1 or 2."""
        return 2 if self.bidirectional else 1

    @property
    def memory_size(self) -> int:
        """Width of a state of the memory."""
        return self.hidden_size * (self.directions if self.merge == "concat" else 1)


class Encoded(NamedTuple):
    """A source read by a recurrent encoder."""

    states: Tensor
    """``(batch, src, memory)``, zero at padding."""
    hidden: Tensor
    """Last hidden states, ``(batch, layers, directions, hidden)``; the backward direction ends at
    the token that the forward direction reads first."""
    cell: Tensor | None
    """Last cell states, ``(batch, layers, directions, hidden)``; None for cells without one."""

    @property
    def summary(self) -> Tensor:
        """The last forward state, ``(batch, hidden)`` (Bahdanau et al. 2015, section 2.1)."""
        return self.hidden[:, -1, 0]


class RecurrentEncoder(nn.Module, ABC):
    """Reads the embedded source, forward or in both directions.

    Padding never enters a state: the backward direction starts at each sentence's last token.
    """

    def __init__(self, options: EncoderOptions) -> None:
        super().__init__()
        self.options = options

    def forward(self, embedded: Tensor, mask: Tensor, lengths: Tensor) -> Encoded:
        """Return states and last states.

        Args:
            embedded: ``(batch, src, input)``.
            mask: True where a token is real, ``(batch, src)``.
            lengths: number of real tokens, ``(batch,)``, on the CPU.
        """
        backwards = self.options.reverse_source
        states, hidden, cell = self.read(
            reverse(embedded, mask) if backwards else embedded, mask, lengths
        )
        if self.options.bidirectional and self.options.merge == "sum":
            states = torch.stack(states.chunk(2, -1)).sum(0)
        # Windows and weights refer to positions in the order of the text.
        states = reverse(states, mask) if backwards else states
        last = None if cell is None else self._by_layer(cell)
        return Encoded(states, self._by_layer(hidden), last)

    @abstractmethod
    def read(self, embedded: Tensor, mask: Tensor, lengths: Tensor) -> RnnOutput:
        """Read from left to right; the states of two directions are concatenated."""

    def _by_layer(self, final: Tensor) -> Tensor:
        """Reorder ``(layers × directions, batch, hidden)`` to batch, layers, directions, hidden."""
        return final.transpose(0, 1).unflatten(1, (-1, self.options.directions))


class FusedEncoder(RecurrentEncoder):
    """Torch's GRU or LSTM."""

    def __init__(
        self,
        kind: type[nn.LSTM] | type[nn.GRU],
        input_size: int,
        layers: int,
        dropout: float,
        options: EncoderOptions,
    ) -> None:
        super().__init__(options)
        width = options.hidden_size
        self.rnn = fused(kind, input_size, width, layers, dropout, options.bidirectional)

    @override
    def read(self, embedded: Tensor, mask: Tensor, lengths: Tensor) -> RnnOutput:
        run = run_on_cpu if embedded.device.type == "cpu" else run_packed
        return run(self.rnn, embedded, lengths)


class CellEncoder(RecurrentEncoder):
    """Layers of a ``RecurrentCell``; each direction reads both directions of the layer below."""

    def __init__(
        self,
        kind: type[RecurrentCell],
        input_size: int,
        layers: int,
        dropout: float,
        options: EncoderOptions,
    ) -> None:
        super().__init__(options)
        self.has_cell_state = has_cell_state(kind)
        self.dropout = nn.Dropout(dropout)
        width = options.hidden_size * options.directions
        self.layers = nn.ModuleList(
            nn.ModuleList(
                CellStack(kind, size, options.hidden_size, 1, 0.0)
                for _ in range(options.directions)
            )
            for size in [input_size] + [width] * (layers - 1)
        )

    @override
    def read(self, embedded: Tensor, mask: Tensor, lengths: Tensor) -> RnnOutput:
        states, on_device = embedded, mask.sum(1)
        hidden: list[Tensor] = []
        cells: list[Tensor] = []
        for number, layer in enumerate(cast(Iterable[Iterable[CellStack]], self.layers)):
            inputs = self.dropout(states) if number else states
            directions = []
            for backward, stack in enumerate(layer):
                given = flip(inputs, on_device) if backward else inputs
                run, last_cells = stack.run_both(given, self._start(inputs))
                run = run * mask.unsqueeze(-1)
                directions.append(flip(run, on_device) if backward else run)
                hidden.append(last_of(run, mask))
                if last_cells is not None:
                    cells.append(last_of(last_cells, mask))
            states = torch.cat(directions, -1)
        ends = [torch.stack(parts, 1).transpose(0, 1) for parts in (hidden, cells) if parts]
        return RnnOutput(states, ends[0], ends[1] if cells else None)

    def _start(self, inputs: Tensor) -> CellState:
        zero = (inputs.new_zeros(len(inputs), self.options.hidden_size),)
        return CellState(zero, zero if self.has_cell_state else None)


def build_encoder(
    kind: CellKind, input_size: int, layers: int, dropout: float, options: EncoderOptions
) -> RecurrentEncoder:
    """Build the encoder for a cell. Raises ``UserError`` for a cell that cannot run."""
    if issubclass(kind, RecurrentCell):
        return CellEncoder(kind, input_size, layers, dropout, options)
    return FusedEncoder(kind, input_size, layers, dropout, options)


def last_of(states: Tensor, mask: Tensor) -> Tensor:
    """Return the state at each sentence's last token: ``(batch, src, hidden) -> (batch, hidden)``.

    ``mask`` is True where a token is real, ``(batch, src)``.
    """
    last = (mask.sum(1) - 1).view(-1, 1, 1).expand(-1, 1, states.shape[-1])
    return states.gather(1, last).squeeze(1)


def reverse(sequences: Tensor, mask: Tensor) -> Tensor:
    """Reverse each sentence of ``(batch, src, …)`` except the last token (EOS).

    ``mask`` is True where a token is real, ``(batch, src)``.
    """
    return mirror(sequences, mask.sum(1) - 2)


BridgeKind = Literal["copy", "dense", "backward", "summary"]


class Bridge(nn.Module):
    """Compute the first decoder state from the last encoder states.

    Args:
        kind: ``copy`` takes the last states as they are (Sutskever et al. 2014, Luong et al. 2015);
            ``dense`` is a tanh layer over the last states of all directions; ``backward``
            ``s_0 = tanh(W_s · backward h̄_1)`` (Bahdanau et al. 2015, A.2.2); ``summary`` is
            ``s_0 = tanh(V' c)`` (Cho et al. 2014, appendix A.1.2).
        encoder: options of the encoder.
        hidden_size: width of the decoder's states.
        has_cell_state: whether the decoder's cells have a cell state, as an LSTM has.
        summary: whether the model has a summary.

    Raises:
        ValueError: for sizes or directions that a kind cannot use.
    """

    def __init__(
        self,
        kind: BridgeKind,
        encoder: EncoderOptions,
        hidden_size: int,
        has_cell_state: bool,
        summary: bool,
    ) -> None:
        super().__init__()
        if kind == "summary" and not summary:
            raise ValueError("model.bridge=summary: set model.summary=true or another bridge")
        if kind == "backward" and not encoder.bidirectional:
            raise ValueError("model.bridge=backward: set model.encoder.bidirectional=true")
        if kind == "copy" and encoder.memory_size != hidden_size:
            raise ValueError(
                f"model.bridge=copy: the encoder's states have {encoder.memory_size} numbers and "
                f"the decoder's {hidden_size}; make model.encoder.hidden_size and "
                "model.hidden_size match or set model.bridge=dense"
            )
        self.kind = kind
        self.sums_directions = encoder.bidirectional and encoder.merge == "sum"
        size = hidden_size if kind == "summary" else encoder.hidden_size
        size *= encoder.directions if kind == "dense" else 1
        if kind != "copy":
            self.hidden = LinearLayer(size, hidden_size)
            self.cell = LinearLayer(size, hidden_size) if has_cell_state else None

    def forward(self, encoded: Encoded, summary: Tensor | None) -> CellState:
        """Return the first decoder state; ``summary`` ``(batch, hidden)`` is c of Cho et al."""
        if self.kind == "copy":
            cell = encoded.cell
            return by_layer(self._join(encoded.hidden), None if cell is None else self._join(cell))
        if self.kind == "summary":
            assert summary is not None
            states = summary.unsqueeze(1).expand(-1, encoded.hidden.shape[1], -1)
        elif self.kind == "backward":
            states = encoded.hidden[:, :, 1]
        else:
            states = encoded.hidden.flatten(2)
        cell = None if self.cell is None else self.cell(states).tanh()
        return by_layer(self.hidden(states).tanh(), cell)

    def _join(self, final: Tensor) -> Tensor:
        """Join directions: ``(batch, layers, directions, hidden) -> (batch, layers, memory)``."""
        return final.sum(2) if self.sums_directions else final.flatten(2)


def by_layer(hidden: Tensor, cell: Tensor | None) -> CellState:
    """Split ``(batch, layers, hidden)`` into the states of the layers."""
    return CellState(hidden.unbind(1), None if cell is None else cell.unbind(1))
