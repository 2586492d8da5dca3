"""The readout: from a decoder state and contexts to the input of the output layer."""

from typing import Literal

from torch import Tensor, nn

from lightning_modules.kernels import LinearLayer
from lightning_modules.variants.options import Options, Size


class ReadoutOptions(Options):
    """``model.readout``."""

    kind: Literal["maxout", "tanh", "none"]
    """``maxout``: Bahdanau et al. 2015, A.2.2; ``tanh``: the attentional state of Luong et al.
    2015, eq. 5; ``none``: the decoder's state itself."""
    size: Size | None = None
    """Width of the readout; None for ``kind=none``."""
    state: Literal["previous", "current"] = "current"
    """Decoder state to read, ``s_{t-1}`` or ``s_t``."""
    last_token: bool = False
    """Also read the embedding of the last target token."""


class Maxout(nn.Module):
    """Bahdanau et al. 2015, A.2.2: the maximum of each pair of a layer twice as wide."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.pairs = LinearLayer(input_size, 2 * size)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the readout: ``(…, input) -> (…, size)``."""
        return self.pairs(inputs).unflatten(-1, (-1, 2)).amax(-1)


class Attentional(nn.Module):
    """Luong et al. 2015, eq. 5: ``tanh(W_c [c_t; h_t])``."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.combine = LinearLayer(input_size, size, bias=False)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the readout: ``(…, input) -> (…, size)``."""
        return self.combine(inputs).tanh()


def build_readout(options: ReadoutOptions, state_size: int, others: int) -> nn.Module:
    """Build the readout of a state and ``others`` further numbers.

    Raises ``ValueError`` for a readout without size, or ``none`` with further numbers.
    """
    if options.kind == "none":
        if others or options.state == "previous":
            raise ValueError(
                "model.readout.kind=none: the output would see the current state alone, and no "
                "context; choose maxout or tanh"
            )
        if options.size not in (None, state_size):
            raise ValueError(
                f"model.readout.size={options.size}: without a readout the output layer reads the "
                f"{state_size} numbers of a state; set model.readout.size=null"
            )
        return nn.Identity()
    if options.state == "previous" and not options.last_token:
        raise ValueError(
            "model.readout.state=previous: nothing would tell the output the last word; set "
            "model.readout.last_token=true or model.readout.state=current"
        )
    if options.size is None:
        raise ValueError(f"model.readout.kind={options.kind}: give model.readout.size=N")
    kind = Maxout if options.kind == "maxout" else Attentional
    return kind(state_size + others, options.size)
