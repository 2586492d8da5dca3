"""The recurrent encoder-decoder: any score × window × query × skeleton."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from datamodules.tokenization import PAD
from lightning_modules.attention import build_attention
from lightning_modules.kernels.products import LinearLayer
from lightning_modules.variants.base import (
    DecoderOutput,
    EmbeddedEncoderDecoder,
    Limit,
    Options,
    Placement,
    Step,
    Tied,
    move,
)
from lightning_modules.variants.recurrent.cells import (
    CellState,
    FusedStack,
    build_stack,
    concat_present,
    find_cell,
    has_cell_state,
)
from lightning_modules.variants.recurrent.decoder import (
    IntraAttention,
    QueryOptions,
    ReadoutOptions,
    RecurrentMemory,
    RecurrentState,
    build_readout,
)
from lightning_modules.variants.recurrent.encoder import (
    Bridge,
    BridgeKind,
    EncoderOptions,
    RecurrentEncoder,
)

WITHOUT_CUDA_GRAPHS = {"reduce-overhead": "default", "max-autotune": "max-autotune-no-cudagraphs"}
"""Modes of ``torch.compile`` for blocks of a loop: a CUDA graph would write over the results of
the step before."""


class RecurrentOptions(Options):
    """``model`` of a recurrent variant, besides ``src_vocabulary`` and ``tgt_vocabulary``."""

    embedding_size: int
    hidden_size: int
    cell: str  # `lstm`, `gru` (torch's), `gru_2014` (as first published; slower), or a dotted path
    layers: int
    encoder: EncoderOptions
    bridge: BridgeKind
    readout: ReadoutOptions
    attention: Mapping[str, Any] | None
    query: QueryOptions
    summary: bool  # give every step `c = tanh(V h_T)` (Cho et al. 2014)
    input_feeding: bool  # Luong et al. 2015, section 3.3
    intra_attention: Mapping[str, Any] | None  # see `IntraAttention`; the readout reads its context
    dropout: float  # on embeddings, between layers and on the readout (Zaremba et al. 2014)
    initial_range: float | None  # r: draw all parameters from `[-r, r]`, as Sutskever and Luong do
    tied: Tied
    placement: Placement | None


class Recurrent(EmbeddedEncoderDecoder):
    """RNN encoder, RNN decoder, and between them a summary, attention or nothing.

    ``_advance`` has the equations of one step. ``decode`` runs them in a loop over the target, or,
    where no step needs the attention or readout of the step before, all at once.

    ``options`` are the fields of ``RecurrentOptions``. Raises ``ValueError`` or ``UserError`` for
    settings that do not fit together, naming the override to change.
    """

    options_class = RecurrentOptions

    def __init__(self, src_vocabulary: int, tgt_vocabulary: int, **options: Any) -> None:
        chosen = RecurrentOptions(**options)
        encoder, readout, query = chosen.encoder, chosen.readout, chosen.query
        embedding, hidden = chosen.embedding_size, chosen.hidden_size
        features, placement = readout.size or hidden, chosen.placement or Placement()
        super().__init__(
            src_vocabulary, tgt_vocabulary, embedding, features, chosen.tied, placement
        )
        kind, depth = find_cell(chosen.cell), (chosen.layers, chosen.dropout)
        self.query, self.input_feeding = query, chosen.input_feeding
        self.reads_before, self.reads_token = readout.state == "previous", readout.last_token
        self.dropout = nn.Dropout(chosen.dropout)
        self.encoder = RecurrentEncoder(kind, embedding, *depth, encoder)
        self.summary = LinearLayer(encoder.hidden_size, hidden) if chosen.summary else None
        self.bridge = Bridge(chosen.bridge, encoder, hidden, has_cell_state(kind), chosen.summary)
        self.attention = self.intra_attention = None
        self.context_size, memory = 0, encoder.memory_size
        if chosen.attention is None:
            query.refuse_without_attention()
        else:
            asks = query.size(hidden, memory, embedding)
            self.attention = build_attention("model.attention", asks, memory, chosen.attention)
            self.context_size = memory
        if chosen.intra_attention is not None:
            self.intra_attention = IntraAttention(hidden, chosen.intra_attention)
        inputs = embedding + hidden * chosen.summary + features * chosen.input_feeding
        inputs += self.context_size * self.attends_before_step
        self.decoder = build_stack(kind, inputs, hidden, *depth)
        others = hidden * chosen.summary + self.context_size + embedding * readout.last_token
        others += hidden * (self.intra_attention is not None)
        self.readout = build_readout(readout, hidden, others)
        if chosen.initial_range is not None:
            self._draw_from(chosen.initial_range)
        self.place()

    def _advance(
        self,
        memory: RecurrentMemory,
        state: RecurrentState,
        embedded: Tensor,
        run_cells: Callable[[Tensor | None, CellState], CellState],
    ) -> tuple[RecurrentState, Tensor, Tensor | None]:
        """Compute one step; ``y`` is the embedding of the last token, ``õ`` the last readout.

        - Bahdanau et al. 2015, A.1.2 and A.2.2 (the query is the *previous* state):
          ``c_t = attend(s_{t-1})``, ``s_t = RNN(s_{t-1}, [y; c_t])``, readout of
          ``s_{t-1}, y, c_t``;
        - Luong et al. 2015, sections 3.1 and 3.3 (the query is the *current* state):
          ``s_t = RNN(s_{t-1}, [y; õ])``, ``c_t = attend(s_t)``, readout of ``s_t, c_t``.

        ``embedded`` is y, ``(rows, embedding)``; ``run_cells`` is the RNN, from its inputs besides
        y and from ``s_{t-1}`` to ``s_t``. Returns the new state, the input of the readout, and the
        attention weights.
        """
        before = state.cells.top
        context = weights = past = intra_context = None
        if self.attends_before_step:
            context, weights = self._attend_once(memory, before, state, embedded)
        inputs = [part for part in (context, state.features) if part is not None]
        cells = run_cells(concat_present(*inputs) if inputs else None, state.cells)
        if self.attention is not None and not self.attends_before_step:
            context, weights = self._attend_once(memory, cells.top, state, embedded)
        if self.intra_attention is not None:
            past, intra_context = self.intra_attention(state.past, before, cells.top)
        readable = self._readable(
            before, cells.top, embedded, context, memory.summary, intra_context
        )
        state = RecurrentState(
            cells,
            state.position + 1,
            context if self.query.context else None,
            self._read(readable) if self.input_feeding else None,
            past,
        )
        return state, readable, weights

    @override
    def step(self, memory: RecurrentMemory, state: RecurrentState, last_token: Tensor) -> Step:
        embedded = self._embed(last_token)
        if memory.summary is not None:
            rows = len(embedded) // len(memory.summary)
            memory = memory._replace(summary=memory.summary.repeat_interleave(rows, 0))

        def run_cells(inputs: Tensor | None, cells: CellState) -> CellState:
            return self.decoder.advance(concat_present(embedded, memory.summary, inputs), cells)

        state, readable, weights = self._advance(memory, state, embedded, run_cells)
        features = self._read(readable) if state.features is None else state.features
        return Step(features, state, weights)

    @override
    def decode(self, memory: RecurrentMemory, tgt_in: Tensor) -> DecoderOutput:
        embedded = self.dropout(self._embed(tgt_in))
        needs_steps = self.attends_before_step or self.query.context or self.input_feeding
        return (self._decode_by_steps if needs_steps else self._decode_at_once)(memory, embedded)

    def _decode_by_steps(self, memory: RecurrentMemory, embedded: Tensor) -> DecoderOutput:
        """Run ``_advance`` over the target ``(batch, tgt, embedding)``."""
        if self.attention is not None and memory.attention is not None:
            memory = memory._replace(attention=self.attention.share(memory.attention))
        state = self.initial_state(memory)
        summary = self._at_all(memory.summary, embedded)
        run_cells = self.decoder.unroll(concat_present(embedded, summary))
        collected, weights = [], []
        for position, token in enumerate(embedded.unbind(1)):
            step = partial(run_cells, position)
            state, readable, weight = self._advance(memory, state, token, step)
            collected.append(readable if state.features is None else state.features)
            weights.append(weight)
        # Without input feeding, no step needs a readout: one product for all positions.
        stacked = torch.stack(collected, 1)
        features = stacked if self.input_feeding else self._read(stacked)
        present = [weight for weight in weights if weight is not None]
        return DecoderOutput(features, torch.stack(present, 1) if present else None)

    def _decode_at_once(self, memory: RecurrentMemory, embedded: Tensor) -> DecoderOutput:
        """Run the decoder over the whole target, then attend with all decoder states at once."""
        length = embedded.shape[1]
        summary = self._at_all(memory.summary, embedded)
        states = self.decoder.run(concat_present(embedded, summary), memory.start)
        before = torch.cat([memory.start.top.unsqueeze(1), states[:, :-1]], 1)
        context = weights = intra_context = None
        if self.attention is not None:
            steps = torch.arange(length, device=embedded.device).unsqueeze(0)
            query = self.query.make(states, None, embedded, memory.language)
            context, weights = self.attention(query, memory.attention, steps)
        if self.intra_attention is not None:
            intra_context = self.intra_attention.attend_all(before, states)
        readable = self._readable(before, states, embedded, context, summary, intra_context)
        return DecoderOutput(self._read(readable), weights)

    def _attend_once(
        self, memory: RecurrentMemory, hidden: Tensor, state: RecurrentState, embedded: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return context and weights of the states ``(rows, hidden)``.

        Rows that share a memory are treated like positions of one target.
        """
        assert memory.attention is not None
        assert self.attention is not None
        sentences = len(memory.attention.padding)
        hidden, embedded, steps = (
            part.unflatten(0, (sentences, -1)) for part in (hidden, embedded, state.position)
        )
        context = state.context
        context = None if context is None else context.unflatten(0, (sentences, -1))
        query = self.query.make(hidden, context, embedded, memory.language)
        context, weights = self.attention(query, memory.attention, steps)
        return context.flatten(0, 1), weights.flatten(0, 1)

    def _readable(
        self, before: Tensor, state: Tensor, embedded: Tensor, *contexts: Tensor | None
    ) -> Tensor:
        """Concatenate the inputs of the readout, each ``(…, width)``."""
        return concat_present(
            before if self.reads_before else state,
            embedded if self.reads_token else None,
            *contexts,
        )

    @override
    def encode(self, src: Tensor, src_mask: Tensor) -> RecurrentMemory:
        src, mask = move((src, src_mask), self.src_embedding.weight.device)
        embedded = self.dropout(self.src_embedding(src))
        encoded = self.encoder(embedded, mask)
        summary = None if self.summary is None else self.summary(encoded.summary).tanh()
        start = self.bridge(encoded, summary)
        language = embedded[:, 0] if self.query.language else None
        attention = None
        if self.attention is not None:
            attention = self.attention.prepare(encoded.states, mask)
        start, summary, language = move(
            (start, summary, language), self.tgt_embedding.weight.device
        )
        return RecurrentMemory(start, attention, summary, language)

    @override
    def initial_state(self, memory: RecurrentMemory) -> RecurrentState:
        hidden = memory.start.top
        batch, intra = len(hidden), self.intra_attention
        return RecurrentState(
            memory.start,
            torch.zeros(batch, dtype=torch.long, device=hidden.device),
            hidden.new_zeros(batch, self.context_size) if self.query.context else None,
            hidden.new_zeros(batch, self.features_size) if self.input_feeding else None,
            None if intra is None else intra.empty_past(hidden),
        )

    @property
    def attends_before_step(self) -> bool:
        """Whether attention comes before the decoder's step."""
        return self.attention is not None and self.query.state == "previous"

    @property
    @override
    def is_content_based(self) -> bool:
        return self.attention is None or self.attention.score.is_content_based

    @override
    def parts(self) -> dict[str, Iterable[nn.Module]]:
        stack = self.decoder, self.intra_attention, self.readout
        parts: dict[str, tuple[nn.Module | None, ...]] = {
            "encoder": (self.src_embedding, self.encoder, self.summary, self.bridge),
            "attention": (self.attention,),
            "decoder": (self.tgt_embedding, *stack, self.output),
        }
        return {part: [m for m in modules if m is not None] for part, modules in parts.items()}

    @override
    def blocks(self) -> Iterable[nn.Module]:
        # Recurrent layers have fused kernels already; a loop over single steps has gates.
        gates = self.decoder.gates if isinstance(self.decoder, FusedStack) else None
        return (part for part in (self.attention, self.readout, gates) if part is not None)

    @override
    def compile_blocks(self, **options: Any) -> None:
        if "mode" in options:
            options["mode"] = WITHOUT_CUDA_GRAPHS.get(options["mode"], options["mode"])
        super().compile_blocks(**options)

    @override
    def limit(self) -> Limit | None:
        length = None if self.attention is None else self.attention.score.max_length
        return None if length is None else Limit("model.attention.max_length", length, None)

    def _at_all(self, summary: Tensor | None, embedded: Tensor) -> Tensor | None:
        """Repeat a summary ``(batch, hidden)`` for all positions of ``(batch, tgt, …)``."""
        return None if summary is None else summary.unsqueeze(1).expand(-1, embedded.shape[1], -1)

    def _embed(self, tokens: Tensor) -> Tensor:
        return self.tgt_embedding(tokens.to(self.tgt_embedding.weight.device))

    def _read(self, readable: Tensor) -> Tensor:
        return self.dropout(self.readout(readable))

    def _draw_from(self, initial_range: float) -> None:
        for parameter in self.parameters():
            if parameter.dim():  # a single number, such as cosine's temperature, keeps its value
                nn.init.uniform_(parameter, -initial_range, initial_range)
        for table in (self.src_embedding, self.tgt_embedding):
            nn.init.zeros_(table.weight[PAD].detach())
