"""The recurrent encoder-decoder: any score × window × query × skeleton."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Annotated, Any

import torch
from pydantic import Field, validate_call
from torch import Tensor, nn
from typing_extensions import override

from datamodules.tokenization import PAD
from lightning_modules.attention import build_attention
from lightning_modules.kernels import LinearLayer, Pack, Packable
from lightning_modules.variants.base import (
    ARBITRARY,
    Decoded,
    Dropout,
    EmbeddedEncoderDecoder,
    Limit,
    Placement,
    Size,
    Step,
    Tied,
    for_each_tensor,
    move,
)
from lightning_modules.variants.recurrent.cells import (
    CellStack,
    CellState,
    build_stack,
    find_cell,
    has_cell_state,
)
from lightning_modules.variants.recurrent.compiled_step import (
    MULTIPLE,
    compile_step,
    first_state,
    inputs_of_steps,
)
from lightning_modules.variants.recurrent.decoder import (
    IntraAttention,
    QueryOptions,
    ReadoutOptions,
    RecurrentMemory,
    RecurrentState,
    build_readout,
    by_row,
    concat_present,
    cut,
)
from lightning_modules.variants.recurrent.encoder import (
    Bridge,
    BridgeKind,
    EncoderOptions,
    build_encoder,
)

STATE_ALONE = QueryOptions()
Range = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NO_STATE = CellState((), None)
RunCells = Callable[[Tensor | None, CellState], CellState]


class Recurrent(EmbeddedEncoderDecoder, Packable):
    """RNN encoder, RNN decoder, and between them a summary, attention or nothing.

    One step of the decoder, for the published settings ``conf/model`` names:

    - query on the *previous* state: ``c_t = attend(s_{t-1})``, ``s_t = RNN(s_{t-1}, [E y; c_t])``;
    - query on the *current* state: ``s_t = RNN(s_{t-1}, E y)``, ``c_t = attend(s_t)``;
    - readout of the state, the contexts and, with ``readout.last_token``, ``E y``, for the output
      layer.

    Args:
        src_vocabulary: number of source tokens.
        tgt_vocabulary: number of target tokens.
        embedding_size: width of both embeddings.
        hidden_size: width of the decoder's states.
        cell: ``lstm``, ``gru`` (torch's), ``gru_2014`` (as first published; slower), or the dotted
            path of a ``RecurrentCell``.
        layers: number of layers of the encoder, and of the decoder.
        encoder: see ``EncoderOptions``.
        bridge: see ``Bridge``.
        readout: see ``ReadoutOptions``.
        attention: see ``AttentionOptions``; None for a model without attention.
        query: see ``QueryOptions``.
        summary: give every step ``c = tanh(V h_T)`` (Cho et al. 2014).
        input_feeding: give the next step the last readout (Luong et al. 2015, section 3.3).
        intra_attention: ``AttentionOptions`` of an attention of ``s_t`` to ``s_0 … s_{t-1}``, whose
            context the readout reads (Paulus et al. 2018, arXiv 1705.04304, section 2.2).
        dropout: on embeddings, between layers and on the readout (Zaremba et al. 2014).
        initial_range: draw all parameters from ``[-r, r]``, as Sutskever and Luong do; None leaves
            torch's own initialisation.
        tied: see the base class.
        placement: see the base class.

    Raises:
        ValueError: for settings that do not fit together, naming the override to change.
        UserError: for a class of the user that cannot be used.
    """

    _compiled_step: Callable[[RecurrentMemory, RecurrentState, Tensor], Step] | None = None
    _packed: Pack | None = None

    @validate_call(config=ARBITRARY)
    def __init__(
        self,
        src_vocabulary: int,
        tgt_vocabulary: int,
        embedding_size: Size,
        hidden_size: Size,
        cell: str,
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
        initial_range: Range | None = None,
        tied: Tied = "none",
        placement: Placement | None = None,
    ) -> None:
        kind = find_cell(cell)
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
        self.context_size = 0 if attention is None else encoder.memory_size
        summary_size = hidden_size if summary else 0
        self.dropout = nn.Dropout(dropout)
        self.encoder = build_encoder(kind, embedding_size, layers, dropout, encoder)
        self.summary = LinearLayer(encoder.hidden_size, hidden_size) if summary else None
        self.bridge = Bridge(bridge, encoder, hidden_size, has_cell_state(kind), summary)
        self.attention = None
        if attention is None:
            query.refuse_without_attention()
        else:
            query_size = query.size(hidden_size, encoder.memory_size, embedding_size)
            self.attention = build_attention(
                "model.attention", query_size, encoder.memory_size, attention
            )
        self.intra_attention = None
        if intra_attention is not None:
            self.intra_attention = IntraAttention(hidden_size, intra_attention)
        self.decoder = build_stack(
            kind,
            embedding_size
            + summary_size
            + (self.context_size if self.attends_before_step else 0)
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
    def attends_before_step(self) -> bool:
        """Whether attention comes before the decoder's step."""
        return self.attention is not None and self.query.state == "previous"

    @property
    def needs_steps(self) -> bool:
        """Whether a step needs the attention or readout of the step before."""
        return self.attends_before_step or self.query.context or self.input_feeding

    @override
    def parts(self) -> dict[str, Iterable[nn.Module]]:
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
    @override
    def is_content_based(self) -> bool:
        return self.attention is None or self.attention.score.is_content_based

    @override
    def blocks(self) -> Iterable[nn.Module]:
        # Recurrent layers have fused kernels already.
        parts = (self.attention, self.readout)
        return (part for part in parts if part is not None)

    @override
    def compile_blocks(self, **options: Any) -> None:
        super().compile_blocks(**options)
        self._compiled_step = compile_step(self._step_by_sentence, **options)
        for part in self.modules():
            if isinstance(part, CellStack):
                part.compile_steps(**options)

    @override
    def pack(self, pack: Pack | None) -> None:
        """Let steps multiply by packed weights, which no compiled step does."""
        self._packed = pack

    @override
    def limit(self) -> Limit | None:
        length = None if self.attention is None else self.attention.score.max_length
        return None if length is None else Limit("model.attention.max_length", length, None)

    @override
    def encode(
        self, src: Tensor, src_mask: Tensor, src_lengths: Tensor | None = None
    ) -> RecurrentMemory:
        src, mask = move((src, src_mask), self.src_embedding.weight.device)
        embedded = self.dropout(self.src_embedding(src))
        lengths = src_mask.sum(1).cpu() if src_lengths is None else src_lengths
        encoded = self.encoder(embedded, mask, lengths)
        summary = None if self.summary is None else self.summary(encoded.summary).tanh()
        start = self.bridge(encoded, summary)
        language = embedded[:, 0] if self.query.language else None
        attention = None
        if self.attention is not None:
            attention = self.attention.prepare(encoded.states, mask)
            attention = attention if self._compiled_step is None else attention.padded(MULTIPLE)
        moved = move((start, summary, language), self.tgt_embedding.weight.device)
        start, summary, language = moved
        return RecurrentMemory(start, attention, summary, language, src.shape[1])

    @override
    def initial_state(self, memory: RecurrentMemory) -> RecurrentState:
        hidden = memory.start.top
        batch = len(hidden)
        intra = self.intra_attention
        state = RecurrentState(
            memory.start,
            torch.zeros(batch, dtype=torch.long, device=hidden.device),
            hidden.new_zeros(batch, self.context_size) if self.query.context else None,
            hidden.new_zeros(batch, self.features_size) if self.input_feeding else None,
            None if intra is None else intra.empty_past(memory.start.top),
        )
        return state if self._compiled_step is None else first_state(state)

    @override
    def decode(self, memory: RecurrentMemory, tgt_in: Tensor) -> Decoded:
        embedded = self.dropout(self._embed(tgt_in))
        if not self.needs_steps:
            decoded = self._decode_at_once(memory, embedded)
        elif self._compiled_step is None:
            decoded = self._decode_stepwise(memory, embedded)
        else:
            decoded = self._decode_by_steps(memory, embedded)
        return decoded._replace(weights=cut(decoded.weights, memory))

    @override
    def step(self, memory: RecurrentMemory, state: RecurrentState, last_token: Tensor) -> Step:
        embedded = self._embed(last_token)
        if self._compiled_step is None or self._packed is not None:
            decoded = self._step(memory, state, embedded)
        else:
            decoded = self._run_compiled(memory, state, embedded)
        return decoded._replace(weights=cut(decoded.weights, memory))

    def _step(self, memory: RecurrentMemory, state: RecurrentState, embedded: Tensor) -> Step:
        """Decode one position after tokens with embeddings ``(batch, embedding)``."""
        if memory.summary is not None:
            rows = len(embedded) // len(memory.summary)
            memory = memory._replace(summary=memory.summary.repeat_interleave(rows, 0))

        def run_cells(unknown: Tensor | None, cells: CellState) -> CellState:
            return self.decoder.advance(concat_present(embedded, memory.summary, unknown), cells)

        state, readable, weights = self._advance(memory, state, embedded, run_cells)
        features = self._read(readable) if state.features is None else state.features
        return Step(features, state, weights)

    def _run_compiled(
        self, memory: RecurrentMemory, state: RecurrentState, embedded: Tensor
    ) -> Step:
        """Run the compiled ``_step``: one graph for all lengths, batches and beams."""
        assert self._compiled_step is not None
        sentences = len(memory.start.top)
        by_sentence = for_each_tensor(
            (state, embedded), lambda part: part.unflatten(0, (sentences, -1))
        )
        # Parts that no step reads would make another graph for each of their values.
        return self._compiled_step(memory._replace(start=NO_STATE, src=0), *by_sentence)

    def _step_by_sentence(
        self, memory: RecurrentMemory, state: RecurrentState, embedded: Tensor
    ) -> Step:
        """Run ``_step``; rows of state and embedding are given as ``(sentences, rows each, …)``.

        The compiler can multiply both numbers, but could not divide the number of rows.
        """
        return self._step(memory, *for_each_tensor((state, embedded), by_row))

    def _decode_by_steps(self, memory: RecurrentMemory, embedded: Tensor) -> Decoded:
        """Run the compiled step at each position of the target ``(batch, tgt, embedding)``."""
        state, features, weights = self.initial_state(memory), [], []
        for token in inputs_of_steps(embedded):
            step = self._run_compiled(memory, state, token)
            state = step.state
            features.append(step.features)
            weights.append(step.weights)
        present = [weight for weight in weights if weight is not None]
        return Decoded(torch.stack(features, 1), torch.stack(present, 1) if present else None)

    def _decode_stepwise(self, memory: RecurrentMemory, embedded: Tensor) -> Decoded:
        """Run the decoder step by step over the target ``(batch, tgt, embedding)``."""
        if memory.attention is not None:
            memory = memory._replace(attention=memory.attention.shared())
        state = self.initial_state(memory)
        summary = self._at_all(memory.summary, embedded)
        unrolled = self.decoder.unroll(concat_present(embedded, summary))
        collected, weights = [], []
        for position, token in enumerate(embedded.unbind(1)):
            run_cells = partial(unrolled.advance, position)
            state, readable, weight = self._advance(memory, state, token, run_cells)
            collected.append(readable if state.features is None else state.features)
            weights.append(weight)
        # Without input feeding, no step needs a readout: one product for all positions.
        stacked = torch.stack(collected, 1)
        features = stacked if self.input_feeding else self._read(stacked)
        present = [weight for weight in weights if weight is not None]
        return Decoded(features, torch.stack(present, 1) if present else None)

    def _decode_at_once(self, memory: RecurrentMemory, embedded: Tensor) -> Decoded:
        """Run the decoder over the whole target, then attend with all decoder states at once."""
        length = embedded.shape[1]
        summary = self._at_all(memory.summary, embedded)
        states = self.decoder.run(concat_present(embedded, summary), memory.start)
        before = torch.cat([memory.start.top.unsqueeze(1), states[:, :-1]], 1)
        context = weights = intra_context = None
        if self.attention is not None:
            steps = torch.arange(length, device=embedded.device).unsqueeze(0)
            context, weights = self._attend(memory, states, None, embedded, steps)
        if self.intra_attention is not None:
            intra_context = self.intra_attention.attend_all(before, states)
        readable = self._readable(before, states, embedded, context, summary, intra_context)
        return Decoded(self._read(readable), weights)

    def _advance(
        self, memory: RecurrentMemory, state: RecurrentState, embedded: Tensor, run_cells: RunCells
    ) -> tuple[RecurrentState, Tensor, Tensor | None]:
        """Run one step: return the new state, the input of the readout, and weights.

        Args:
            memory: the encoded source.
            state: the decoder before the step.
            embedded: embedding of the last token, ``(batch, embedding)``.
            run_cells: runs the cells on the inputs that are unknown before the step.
        """
        before = state.cells.top
        context = weights = past = intra_context = None
        if self.attends_before_step:
            context, weights = self._attend_once(memory, before, state, embedded)
        unknown = [part for part in (context, state.features) if part is not None]
        cells = run_cells(concat_present(*unknown) if unknown else None, state.cells)
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

    def _attend_once(
        self, memory: RecurrentMemory, hidden: Tensor, state: RecurrentState, embedded: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return context and weights of one decoder state per row, ``(rows, hidden)``.

        Rows that share a memory are treated like positions of one target.
        """
        assert memory.attention is not None
        sentences = len(memory.attention.padding)
        hidden, embedded, steps = (
            part.unflatten(0, (sentences, -1)) for part in (hidden, embedded, state.position)
        )
        context = state.context
        context = None if context is None else context.unflatten(0, (sentences, -1))
        context, weights = self._attend(memory, hidden, context, embedded, steps)
        return context.flatten(0, 1), weights.flatten(0, 1)

    def _attend(
        self,
        memory: RecurrentMemory,
        states: Tensor,
        context: Tensor | None,
        embedded: Tensor,
        steps: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Return context and weights of decoder states ``(batch, tgt, hidden)``."""
        assert self.attention is not None
        query = self.query.make(states, context, embedded, memory.language)
        return self.attention(query, memory.attention, steps)

    def _readable(
        self, before: Tensor, state: Tensor, embedded: Tensor, *contexts: Tensor | None
    ) -> Tensor:
        """Concatenate the inputs of the readout, each ``(…, width)``."""
        return concat_present(
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
            if parameter.dim():  # a single number, such as cosine's temperature, keeps its value
                nn.init.uniform_(parameter, -initial_range, initial_range)
        for table in (self.src_embedding, self.tgt_embedding):
            nn.init.zeros_(table.weight[PAD].detach())
