"""Parts of the recurrent decoder: what it reads and keeps, the query, the readout."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from datamodules.errors import UserError
from lightning_modules.attention import AttentionMemory, Global, build_attention
from lightning_modules.kernels.products import LinearLayer
from lightning_modules.variants.base import Options
from lightning_modules.variants.recurrent.cells import CellState


class RecurrentMemory(NamedTuple):
    """The encoded source, which no step changes; unused parts are None."""

    start: CellState  # first state of the decoder
    attention: AttentionMemory | None
    summary: Tensor | None  # the whole source in one vector, `(batch, hidden)`
    language: Tensor | None  # embedding of the target language's tag, `(batch, embedding)`


class RecurrentState(NamedTuple):
    """The decoder before step t; unused parts are None."""

    cells: CellState  # `s_{t-1}`
    position: Tensor  # t, `(batch,)`
    context: Tensor | None  # `c_{t-1}`, `(batch, memory)`, for a query with the context
    features: Tensor | None  # the last readout, `(batch, readout)`, for input feeding
    past: AttentionMemory | None  # `s_0` to `s_{t-2}`, for intra-attention


class QueryOptions(Options):
    """``model.query``. Each flag adds a part to the query."""

    state: Literal["previous", "current"]
    """``s_{t-1}``, with a context that enters step t (Bahdanau et al. 2015), or ``s_t``, with a
    context for the readout (Luong et al. 2015)."""
    context: bool
    last_token: bool
    language: bool
    """Add the embedding of the target language's tag, the first token of the source (Johnson et al.
    2017, arXiv 1611.04558)."""

    def refuse_without_attention(self) -> None:
        """Raise ``ValueError`` for an option that has no effect without attention."""
        for name, value in self:
            without = "current" if name == "state" else False
            if value != without:
                given, needed = str(value).lower(), str(without).lower()
                raise ValueError(
                    f"model.query.{name}={given}: has no effect without model.attention; set "
                    f"model.query.{name}={needed}"
                )

    def size(self, hidden: int, context: int, embedding: int) -> int:
        """Return the width of a query with parts of these widths."""
        return hidden + context * self.context + embedding * (self.last_token + self.language)

    def make(
        self, states: Tensor, context: Tensor | None, embedded: Tensor, language: Tensor | None
    ) -> Tensor:
        """Return queries ``(batch, tgt, query)`` of states ``(batch, tgt, hidden)`` and parts.

        ``embedded`` are the last target tokens, ``language`` is ``(batch, embedding)``.
        """
        parts = [states]
        if self.context:
            assert context is not None
            parts.append(context)
        if self.last_token:
            parts.append(embedded)
        if self.language:
            assert language is not None
            parts.append(language.unsqueeze(1).expand(-1, states.shape[1], -1))
        return torch.cat(parts, -1)


class ReadoutOptions(Options):
    """``model.readout``."""

    kind: Literal["maxout", "tanh", "none"]
    """``maxout``: Bahdanau et al. 2015, A.2.2; ``tanh``: the attentional state of Luong et al.
    2015, eq. 5; ``none``: the decoder's state itself."""
    size: int | None
    state: Literal["previous", "current"]  # `s_{t-1}` or `s_t`
    last_token: bool


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


class IntraAttention(nn.Module):
    """Paulus et al. 2018 (arXiv 1705.04304), section 2.2: ``s_t`` attends to ``s_0 … s_{t-1}``.

    ``options`` are those of ``build_attention``. Raises ``UserError`` as it does, and for a window
    or a score by position.
    """

    def __init__(self, hidden_size: int, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.attention = build_attention("model.intra_attention", hidden_size, hidden_size, options)
        score, window = self.attention.score, self.attention.window
        positional = not score.is_content_based or score.max_length is not None
        if positional or not isinstance(window, Global):
            raise UserError(
                "model.intra_attention: earlier decoder states have no source positions; leave out "
                "window, and choose a score that looks at states"
            )

    def empty_past(self, start: Tensor) -> AttentionMemory:
        """Return the empty past of the first state ``s_0`` ``(batch, hidden)``."""
        return self._prepare(start.unsqueeze(1)[:, :0])

    def forward(
        self, past: AttentionMemory, before: Tensor, state: Tensor
    ) -> tuple[AttentionMemory, Tensor]:
        """Return the past ``s_0 … s_{t-1}`` of the next step, and the context ``(batch, hidden)``.

        ``past`` is ``s_0 … s_{t-2}``, ``before`` ``s_{t-1}``, ``state`` ``s_t``.
        """
        new = self._prepare(before.unsqueeze(1))
        past = AttentionMemory(
            torch.cat([past.values, new.values], -2),
            torch.cat([past.keys, new.keys], -2),
            torch.cat([past.padding, new.padding], -1),
            past.lengths + new.lengths,
        )
        context, _ = self.attention(state.unsqueeze(1), past, past.lengths)
        return past, context.squeeze(1)

    def attend_all(self, before: Tensor, states: Tensor) -> Tensor:
        """Return the contexts of all positions: of ``s_1 … s_T``, ``(batch, tgt, hidden)``, to
        ``before``, ``s_0 … s_{T-1}``.
        """
        length = states.shape[1]
        steps = torch.arange(length, device=states.device).unsqueeze(0)
        later = (steps > steps.T).unsqueeze(0)
        return self.attention(states, self._prepare(before)._replace(padding=later), steps)[0]

    def _prepare(self, states: Tensor) -> AttentionMemory:
        return self.attention.prepare(states, states.new_ones(states.shape[:2], dtype=torch.bool))
