"""The recurrent encoder-decoder: any score × window × query × skeleton."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import torch
from pydantic import Field, validate_call
from torch import Tensor, nn

from datamodules.tokenization import PAD
from lightning_modules.attention import AttentionMemory, build_attention
from lightning_modules.attention.scores import Location
from lightning_modules.variants.arguments import (
    ARBITRARY,
    Dropout,
    Placement,
    Size,
    Tied,
)
from lightning_modules.variants.base import Decoded, EncoderDecoder, Limit, Step, move
from lightning_modules.variants.recurrent.bridge import Bridge, BridgeKind
from lightning_modules.variants.recurrent.cells import Cell, build_stack
from lightning_modules.variants.recurrent.encoder import EncoderOptions, build_encoder
from lightning_modules.variants.recurrent.intra import IntraAttention
from lightning_modules.variants.recurrent.loops import CellState
from lightning_modules.variants.recurrent.query import QueryOptions
from lightning_modules.variants.recurrent.readout import ReadoutOptions, build_readout

STATE_ALONE = QueryOptions()
Move = Callable[[Tensor | None, CellState], CellState]


class RecurrentMemory(NamedTuple):
    """All of a source that no step changes; what a model does without is None."""

    start: CellState
    """Where the decoder starts."""
    attention: AttentionMemory | None
    summary: Tensor | None
    """The whole source in one vector, ``(batch, hidden)``."""
    language: Tensor | None
    """``(batch, embedding)``."""


class RecurrentState(NamedTuple):
    """The decoder between two steps; what a model does without is None."""

    cells: CellState
    """``s_{t-1}``."""
    position: Tensor
    """t, ``(batch,)``."""
    context: Tensor | None
    """``c_{t-1}``, ``(batch, memory)``, where the query takes it."""
    features: Tensor | None
    """The last readout, ``(batch, readout)``, with input feeding."""
    past: AttentionMemory | None
    """``s_0`` to ``s_{t-2}``, with intra-attention."""


class Recurrent(EncoderDecoder):
    """RNN encoder, RNN decoder, and between them a summary, attention or nothing.

    One step of the decoder, for the published settings ``conf/model`` names:

    - query on the *previous* state: ``c_t = attend(s_{t-1})``, ``s_t = RNN(s_{t-1}, [E y; c_t])``;
    - query on the *current* state: ``s_t = RNN(s_{t-1}, E y)``, ``c_t = attend(s_t)``;
    - readout of the state, the contexts and, if asked for, ``E y``, for the output layer.

    Args:
        src_vocabulary: source tokens.
        tgt_vocabulary: target tokens.
        embedding_size: of both languages.
        hidden_size: of the decoder's layers.
        cell: ``lstm``, ``gru`` (torch's), or ``gru_2014`` (as first published; slower).
        layers: of the encoder and of the decoder.
        encoder: see ``EncoderOptions``.
        bridge: see ``Bridge``.
        readout: see ``ReadoutOptions``.
        attention: arguments of ``Attention``; None for a model without.
        query: see ``QueryOptions``.
        summary: give every step ``c = tanh(V h_T)`` (Cho et al. 2014).
        input_feeding: give the next step the last readout (Luong et al. 2015, section 3.3).
        intra_attention: arguments of an ``Attention`` of ``s_t`` to ``s_0 … s_{t-1}``, whose
            context the readout reads (Paulus et al. 2018, arXiv 1705.04304, section 2.2).
        dropout: on embeddings, between layers and on the readout (Zaremba et al. 2014).
        initial_range: draw all parameters from ``[-r, r]``, as Sutskever and Luong do; None leaves
            torch's own initialisation.
        tied: see the base class.
        placement: see the base class.

    Raises:
        ValueError: for settings that do not fit together, naming the override to change.
    """

    @validate_call(config=ARBITRARY)
    def __init__(
        self,
        src_vocabulary: int,
        tgt_vocabulary: int,
        embedding_size: Size,
        hidden_size: Size,
        cell: Cell,
        layers: Size,
        encoder: EncoderOptions,
        bridge: BridgeKind,
        readout: ReadoutOptions,
        attention: Mapping[str, Any] | None = None,
        query: QueryOptions = STATE_ALONE,
        summary: bool = False,
        input_feeding: bool = False,
        intra_attention: Mapping[str, Any] | None = None,
        dropout: Dropout = 0.0,
        initial_range: float | None = Field(default=None, gt=0, allow_inf_nan=False),
        tied: Tied = "none",
        placement: Placement | None = None,
    ) -> None:
        features_size = readout.size or hidden_size
        super().__init__(
            src_vocabulary,
            tgt_vocabulary,
            embedding_size,
            features_size,
            tied,
            placement or Placement(),
        )
        self.query = query
        self.input_feeding = input_feeding
        self.reads_before = readout.state == "previous"
        self.reads_token = readout.last_token
        self.features_size = features_size
        self.context_size = 0 if attention is None else encoder.memory_size
        summary_size = hidden_size if summary else 0
        self.dropout = nn.Dropout(dropout)
        self.encoder = build_encoder(cell, embedding_size, layers, dropout, encoder)
        self.summary = nn.Linear(encoder.hidden_size, hidden_size) if summary else None
        self.bridge = Bridge(bridge, encoder, hidden_size, cell == "lstm", summary)
        self.attention = None
        if attention is None:
            query.refuse_unasked()
        else:
            query_size = query.size(hidden_size, encoder.memory_size, embedding_size)
            self.attention = build_attention(
                "model.attention", query_size, encoder.memory_size, attention
            )
        self.intra_attention = None
        if intra_attention is not None:
            self.intra_attention = IntraAttention(hidden_size, intra_attention)
        self.decoder = build_stack(
            cell,
            embedding_size
            + summary_size
            + (self.context_size if self.looks_first else 0)
            + (features_size if input_feeding else 0),
            hidden_size,
            layers,
            dropout,
        )
        self.readout = build_readout(
            readout,
            hidden_size,
            summary_size
            + self.context_size
            + (embedding_size if readout.last_token else 0)
            + (hidden_size if intra_attention is not None else 0),
        )
        if initial_range is not None:
            self._draw_from(initial_range)
        self.place()

    @property
    def looks_first(self) -> bool:
        """Whether the source is looked at before the decoder moves."""
        return self.attention is not None and self.query.state == "previous"

    @property
    def waits_for_itself(self) -> bool:
        """Whether a step of a given target needs the attention of the step before."""
        return self.looks_first or self.query.context or self.input_feeding

    def parts(self) -> dict[str, Iterable[nn.Module]]:
        """See the base class."""
        parts: dict[str, list[nn.Module | None]] = {
            "encoder": [self.src_embedding, self.encoder, self.summary, self.bridge],
            "attention": [self.attention],
            "decoder": [
                self.tgt_embedding,
                self.decoder,
                self.intra_attention,
                self.readout,
                self.output,
            ],
        }
        return {part: [m for m in modules if m is not None] for part, modules in parts.items()}

    @property
    def looks_at_source(self) -> bool:
        """See the base class."""
        return self.attention is None or self.attention.score.looks_at_source

    def blocks(self) -> Iterable[nn.Module]:
        """See the base class; the recurrent layers have kernels of their own."""
        parts = (self.attention, self.readout)
        return (part for part in parts if part is not None)

    def limit(self) -> Limit | None:
        """See the base class."""
        if self.attention is None or not isinstance(self.attention.score, Location):
            return None
        return Limit("model.attention.max_length", self.attention.score.max_length, None)

    def encode(self, src: Tensor, src_mask: Tensor) -> RecurrentMemory:
        """See the base class."""
        src, mask = move((src, src_mask), self.src_embedding.weight.device)
        embedded = self.dropout(self.src_embedding(src))
        encoded = self.encoder(embedded, mask)
        summary = None if self.summary is None else self.summary(encoded.summary).tanh()
        start = self.bridge(encoded, summary)
        language = embedded[:, 0] if self.query.language else None
        seen = None
        if self.attention is not None:
            seen = self.attention.prepare(encoded.states, mask)
        onward = move((start, summary, language), self.tgt_embedding.weight.device)
        start, summary, language = onward
        return RecurrentMemory(start, seen, summary, language)

    def initial_state(self, memory: RecurrentMemory) -> RecurrentState:
        """See the base class."""
        hidden = memory.start.top
        batch = len(hidden)
        intra = self.intra_attention
        return RecurrentState(
            memory.start,
            torch.zeros(batch, dtype=torch.long, device=hidden.device),
            hidden.new_zeros(batch, self.context_size) if self.query.context else None,
            hidden.new_zeros(batch, self.features_size) if self.input_feeding else None,
            None if intra is None else intra.begin(memory.start.top),
        )

    def decode(self, memory: RecurrentMemory, tgt_in: Tensor) -> Decoded:
        """See the base class."""
        embedded = self.dropout(self._embed(tgt_in))
        if self.waits_for_itself:
            return self._decode_stepwise(memory, embedded)
        return self._decode_at_once(memory, embedded)

    def step(self, memory: RecurrentMemory, state: RecurrentState, last_token: Tensor) -> Step:
        """See the base class."""
        embedded = self._embed(last_token)
        if memory.summary is not None:
            rows = len(embedded) // len(memory.summary)
            memory = memory._replace(summary=memory.summary.repeat_interleave(rows, 0))

        def move(others: Tensor | None, cells: CellState) -> CellState:
            known = beside(embedded, memory.summary)
            return self.decoder.advance(known if others is None else beside(known, others), cells)

        state, readable, weights = self._advance(memory, state, embedded, move)
        features = self._read(readable) if state.features is None else state.features
        return Step(features, state, weights)

    def _decode_stepwise(self, memory: RecurrentMemory, embedded: Tensor) -> Decoded:
        if memory.attention is not None:
            memory = memory._replace(attention=memory.attention.shared())
        state = self.initial_state(memory)
        loop = self.decoder.loop(beside(embedded, self._at_all(memory.summary, embedded)))
        read, weights = [], []
        for position, token in enumerate(embedded.unbind(1)):
            move = partial(loop.advance, position)
            state, readable, weight = self._advance(memory, state, token, move)
            read.append(readable if state.features is None else state.features)
            weights.append(weight)
        # Without input feeding no step waits for a readout: one product for all positions.
        stacked = torch.stack(read, 1)
        features = stacked if self.input_feeding else self._read(stacked)
        known = [weight for weight in weights if weight is not None]
        return Decoded(features, torch.stack(known, 1) if known else None)

    def _decode_at_once(self, memory: RecurrentMemory, embedded: Tensor) -> Decoded:
        """Run the decoder over the whole target, then attend with all its states together."""
        length = embedded.shape[1]
        summary = self._at_all(memory.summary, embedded)
        states = self.decoder.run(beside(embedded, summary), memory.start)
        before = torch.cat([memory.start.top.unsqueeze(1), states[:, :-1]], 1)
        context = weights = looked_back = None
        if self.attention is not None:
            steps = torch.arange(length, device=embedded.device).unsqueeze(0)
            context, weights = self._attend(memory, states, None, embedded, steps)
        if self.intra_attention is not None:
            looked_back = self.intra_attention.all_at_once(before, states)
        readable = self._readable(before, states, embedded, context, summary, looked_back)
        return Decoded(self._read(readable), weights)

    def _advance(
        self, memory: RecurrentMemory, state: RecurrentState, embedded: Tensor, move: Move
    ) -> tuple[RecurrentState, Tensor, Tensor | None]:
        """Move by one token ``(batch, embedding)``: state, what is to be read out, weights.

        ``move`` is told the inputs of the decoder that are not known before the step.
        """
        before = state.cells.top
        context = weights = past = looked_back = None
        if self.looks_first:
            context, weights = self._attend_once(memory, before, state, embedded)
        others = [part for part in (context, state.features) if part is not None]
        cells = move(beside(*others) if others else None, state.cells)
        if self.attention is not None and not self.looks_first:
            context, weights = self._attend_once(memory, cells.top, state, embedded)
        if self.intra_attention is not None:
            past, looked_back = self.intra_attention(state.past, before, cells.top)
        readable = self._readable(before, cells.top, embedded, context, memory.summary, looked_back)
        state = RecurrentState(
            cells,
            state.position + 1,
            context if self.query.context else None,
            self._read(readable) if self.input_feeding else None,
            past,
        )
        return state, readable, weights

    def _attend_once(
        self, memory: RecurrentMemory, hidden: Tensor, state: RecurrentState, embedded: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Attend with one decoder state ``(rows, hidden)``: context and weights.

        Rows that share a memory ask beside each other, like positions of one target.
        """
        sentences = len(memory.start.top)
        hidden, embedded, steps = (
            part.unflatten(0, (sentences, -1)) for part in (hidden, embedded, state.position)
        )
        context = state.context
        context = None if context is None else context.unflatten(0, (sentences, -1))
        found = self._attend(memory, hidden, context, embedded, steps)
        return found[0].flatten(0, 1), found[1].flatten(0, 1)

    def _attend(
        self,
        memory: RecurrentMemory,
        states: Tensor,
        context: Tensor | None,
        embedded: Tensor,
        steps: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Attend with decoder states ``(batch, tgt, hidden)``."""
        assert self.attention is not None
        query = self.query.make(states, context, embedded, memory.language)
        return self.attention(query, memory.attention, steps)

    def _readable(
        self, before: Tensor, state: Tensor, embedded: Tensor, *contexts: Tensor | None
    ) -> Tensor:
        """Put beside each other what the readout reads, each ``(…, width)``."""
        return beside(
            before if self.reads_before else state,
            embedded if self.reads_token else None,
            *contexts,
        )

    def _at_all(self, summary: Tensor | None, embedded: Tensor) -> Tensor | None:
        """Repeat a summary ``(batch, hidden)`` for all positions of ``(batch, tgt, …)``."""
        return None if summary is None else summary.unsqueeze(1).expand(-1, embedded.shape[1], -1)

    def _embed(self, tokens: Tensor) -> Tensor:
        return self.tgt_embedding(tokens.to(self.tgt_embedding.weight.device))

    def _read(self, readable: Tensor) -> Tensor:
        return self.dropout(self.readout(readable))

    def _draw_from(self, initial_range: float) -> None:
        for parameter in self.parameters():
            if parameter.dim():  # a single number, such as cosine's temperature, has its own start
                nn.init.uniform_(parameter, -initial_range, initial_range)
        for table in (self.src_embedding, self.tgt_embedding):
            nn.init.zeros_(table.weight[PAD].detach())


def beside(*parts: Tensor | None) -> Tensor:
    """Concatenate along the last dimension what there is."""
    found = [part for part in parts if part is not None]
    return found[0] if len(found) == 1 else torch.cat(found, -1)
