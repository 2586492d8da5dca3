"""How the last states of an encoder start a decoder."""

from typing import Literal

from torch import Tensor, nn

from lightning_modules.variants.recurrent.encoder import Encoded, EncoderOptions
from lightning_modules.variants.recurrent.loops import CellState

BridgeKind = Literal["copy", "dense", "backward", "summary"]


class Bridge(nn.Module):
    """Where the decoder starts, from what the encoder ends with.

    Args:
        kind: ``copy`` takes the last states as they are (Sutskever et al. 2014, Luong et al. 2015);
            ``dense`` a tanh layer over those of all directions; ``backward``
            ``s_0 = tanh(W_s · backward h̄_1)`` (Bahdanau et al. 2015, A.2.2); ``summary``
            ``s_0 = tanh(V' c)`` (Cho et al. 2014, appendix A.1.2).
        encoder: what there is to take.
        hidden_size: of the decoder.
        has_cell_state: whether the decoder is an LSTM.
        summary: whether there is a summary.

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
        self.sums = encoder.bidirectional and encoder.merge == "sum"
        size = hidden_size if kind == "summary" else encoder.hidden_size
        size *= encoder.directions if kind == "dense" else 1
        if kind != "copy":
            self.hidden = nn.Linear(size, hidden_size)
            self.cell = nn.Linear(size, hidden_size) if has_cell_state else None

    def forward(self, encoded: Encoded, summary: Tensor | None) -> CellState:
        """Return the decoder's first state; ``summary`` ``(batch, hidden)`` is c of Cho et al."""
        if self.kind == "copy":
            cell = encoded.cell
            return by_layer(self._join(encoded.hidden), None if cell is None else self._join(cell))
        if self.kind == "summary":
            assert summary is not None
            taken = summary.unsqueeze(1).expand(-1, encoded.hidden.shape[1], -1)
        elif self.kind == "backward":
            taken = encoded.hidden[:, :, 1]
        else:
            taken = encoded.hidden.flatten(2)
        cell = None if self.cell is None else self.cell(taken).tanh()
        return by_layer(self.hidden(taken).tanh(), cell)

    def _join(self, final: Tensor) -> Tensor:
        """``(batch, layers, directions, hidden) -> (batch, layers, memory)``."""
        return final.sum(2) if self.sums else final.flatten(2)


def by_layer(hidden: Tensor, cell: Tensor | None) -> CellState:
    """Take ``(batch, layers, hidden)`` apart."""
    return CellState(hidden.unbind(1), None if cell is None else cell.unbind(1))
