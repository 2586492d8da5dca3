"""The recurrent encoder, and the bridge from its last states to the decoder."""

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from lightning_modules.kernels.products import LinearLayer
from lightning_modules.kernels.rnn import RnnOutput, flip, last_of, mirror, run_padded
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
    bidirectional: bool
    merge: Literal["concat", "sum"]
    reverse_source: bool  # Sutskever et al. 2014, section 3.3

    @property
    def directions(self) -> int:
        """Number of directions, 1 or 2."""
        return 2 if self.bidirectional else 1

    @property
    def memory_size(self) -> int:
        """Width of a state of the memory."""
        return self.hidden_size * (self.directions if self.merge == "concat" else 1)


class EncoderOutput(NamedTuple):
    """A source read by a recurrent encoder."""

    states: Tensor  # `(batch, src, memory)`, zero at padding
    hidden: Tensor
    """Last hidden states, ``(batch, layers, directions, hidden)``; the backward direction ends at
    the token that the forward direction reads first."""
    cell: Tensor | None
    """Last cell states, ``(batch, layers, directions, hidden)``; None for cells without one."""

    @property
    def summary(self) -> Tensor:
        """The last forward state, ``(batch, hidden)`` (Bahdanau et al. 2015, section 2.1)."""
        return self.hidden[:, -1, 0]


class RecurrentEncoder(nn.Module):
    """Reads the embedded source, forward or in both directions, with torch's kernels or cells.

    Padding never enters a state: the backward direction starts at each sentence's last token. Each
    direction reads both directions of the layer below.
    """

    def __init__(
        self, kind: CellKind, input_size: int, layers: int, dropout: float, options: EncoderOptions
    ) -> None:
        super().__init__()
        self.options, self.rnn = options, None
        size, directions = options.hidden_size, options.directions
        if not issubclass(kind, RecurrentCell):
            self.rnn = fused(kind, input_size, size, layers, dropout, options.bidirectional)
            return
        self.has_cell_state = has_cell_state(kind)
        self.dropout = nn.Dropout(dropout)
        self.layers: Any = nn.ModuleList(
            nn.ModuleList(CellStack(kind, width, size, 1, 0.0) for _ in range(directions))
            for width in [input_size] + [size * directions] * (layers - 1)
        )

    def forward(self, embedded: Tensor, mask: Tensor) -> EncoderOutput:
        """Return states and last states of ``(batch, src, input)``.

        The mask, ``(batch, src)``, is True where a token is real.
        """
        backwards = self.options.reverse_source
        embedded = reverse(embedded, mask) if backwards else embedded
        if self.rnn is None:
            states, hidden, cell = self._read_by_cells(embedded, mask)
        else:
            states, hidden, cell = run_padded(self.rnn, embedded, mask)
        if self.options.bidirectional and self.options.merge == "sum":
            states = torch.stack(states.chunk(2, -1)).sum(0)
        # Windows and weights refer to positions in the order of the text.
        states = reverse(states, mask) if backwards else states
        last = None if cell is None else self._by_layer(cell)
        return EncoderOutput(states, self._by_layer(hidden), last)

    def _by_layer(self, final: Tensor) -> Tensor:
        """Reorder ``(layers × directions, batch, hidden)`` to batch, layers, directions, hidden."""
        return final.transpose(0, 1).unflatten(1, (-1, self.options.directions))

    def _read_by_cells(self, embedded: Tensor, mask: Tensor) -> RnnOutput:
        states, on_device = embedded, mask.sum(1)
        zero = (embedded.new_zeros(len(embedded), self.options.hidden_size),)
        start = CellState(zero, zero if self.has_cell_state else None)
        hidden: list[Tensor] = []
        cells: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            inputs = self.dropout(states) if number else states
            directions = []
            for backward, stack in enumerate(layer):
                given = flip(inputs, on_device) if backward else inputs
                run, last_cells = stack.run_both(given, start)
                run = run * mask.unsqueeze(-1)
                directions.append(flip(run, on_device) if backward else run)
                hidden.append(last_of(run, mask))
                if last_cells is not None:
                    cells.append(last_of(last_cells, mask))
            states = torch.cat(directions, -1)
        ends = [torch.stack(parts, 1).transpose(0, 1) for parts in (hidden, cells) if parts]
        return RnnOutput(states, ends[0], ends[1] if cells else None)


def reverse(sequences: Tensor, mask: Tensor) -> Tensor:
    """Reverse each sentence of ``(batch, src, …)`` except the last token (EOS)."""
    return mirror(sequences, mask.sum(1) - 2)


BridgeKind = Literal["copy", "dense", "backward", "summary"]


class Bridge(nn.Module):
    """Compute the first decoder state from the last encoder states.

    - ``copy`` takes the last states as they are (Sutskever et al. 2014, Luong et al. 2015);
    - ``dense`` is a tanh layer over the last states of all directions;
    - ``backward`` is ``s_0 = tanh(W_s · backward h̄_1)`` (Bahdanau et al. 2015, A.2.2);
    - ``summary`` is ``s_0 = tanh(V' c)`` (Cho et al. 2014, appendix A.1.2).

    Raises ``ValueError`` for sizes or directions that a kind cannot use.
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

    def forward(self, encoded: EncoderOutput, summary: Tensor | None) -> CellState:
        """Return the first decoder state; ``summary`` ``(batch, hidden)`` is c of Cho et al."""
        if self.kind == "copy":
            hidden, cell = self._join(encoded.hidden), encoded.cell
            cell = None if cell is None else self._join(cell)
        else:
            if self.kind == "summary":
                assert summary is not None
                states = summary.unsqueeze(1).expand(-1, encoded.hidden.shape[1], -1)
            elif self.kind == "backward":
                states = encoded.hidden[:, :, 1]
            else:
                states = encoded.hidden.flatten(2)
            cell = None if self.cell is None else self.cell(states).tanh()
            hidden = self.hidden(states).tanh()
        return CellState(hidden.unbind(1), None if cell is None else cell.unbind(1))

    def _join(self, final: Tensor) -> Tensor:
        """Join directions: ``(batch, layers, directions, hidden) -> (batch, layers, memory)``."""
        return final.sum(2) if self.sums_directions else final.flatten(2)
