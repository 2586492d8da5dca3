"""The first decoder state, computed from the last encoder states."""

from typing import Literal

from torch import Tensor, nn

from lightning_modules.kernels import LinearLayer
from lightning_modules.variants.recurrent.encoder import Encoded, EncoderOptions
from lightning_modules.variants.recurrent.unrolled_cells import CellState

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
