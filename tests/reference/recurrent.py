"""A whole recurrent encoder-decoder, forced to decode one given target."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.reference import Parameters, affine, part
from tests.reference.attention import attend
from tests.reference.cells import State, advance, decoder_layer
from tests.reference.encoder import encode, start, summarise


class DecoderOutput(NamedTuple):
    """Result of decoding one sentence."""

    logits: np.ndarray  # `(tgt, vocabulary)`
    weights: np.ndarray | None  # `(tgt, src)`


class Decoder:
    """Decodes one sentence, one token after the other."""

    def __init__(
        self, parameters: Parameters, settings: Mapping[str, Any], source: Sequence[int]
    ) -> None:
        self.parameters = parameters
        self.settings = settings
        self.query = settings.get("query") or {}
        embedded = [parameters["src_embedding.weight"][token] for token in source]
        encoded = encode(part(parameters, "encoder"), settings, embedded)
        self.memory = np.array(encoded.states)
        self.language = embedded[0]
        self.summary = summarise(parameters, encoded) if settings.get("summary") else None
        self.layers: list[State] = start(parameters, settings, encoded, self.summary)
        self.past: list[np.ndarray] = []
        self.step = 0
        self.context = np.zeros(self.memory.shape[1])
        self.fed = np.zeros(settings["readout"].get("size") or settings["hidden_size"])

    def advance(self, token: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Read one target token; return logits of the next one and the attention weights."""
        y = self.parameters["tgt_embedding.weight"][token]
        before = self.layers[-1].hidden
        attention = self.settings.get("attention")
        first = self.query.get("state", "current") == "previous"
        contexts, weights = [], None
        if attention and first:
            self.context, weights = self.attend(before, y)
            contexts = [self.context]
        feeding = self.settings.get("input_feeding")
        self.move([y, *self.summaries(), *contexts, *([self.fed] if feeding else [])])
        state = self.layers[-1].hidden
        if attention and not first:
            self.context, weights = self.attend(state, y)
            contexts = [self.context]
        contexts = [*contexts, *self.summaries()]
        if self.settings.get("intra_attention"):
            contexts.append(self.look_back(before, state))
        self.fed = self.read(before, state, y, contexts)
        self.step += 1
        return affine(self.parameters, "output", self.fed), weights

    def summaries(self) -> list[np.ndarray]:
        """Return a list with the summary, empty for a model without summary."""
        return [] if self.summary is None else [self.summary]

    def attend(self, state: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Attend to the source with a decoder state and the further parts of the query."""
        query = [state]
        if self.query.get("context"):
            query.append(self.context)
        if self.query.get("last_token"):
            query.append(y)
        if self.query.get("language"):
            query.append(self.language)
        return attend(
            part(self.parameters, "attention"),
            self.settings["attention"],
            np.concatenate(query),
            self.memory,
            self.step,
        )

    def move(self, inputs: list[np.ndarray]) -> None:
        """Compute ``s_t = RNN(s_{t-1}, inputs)``; each layer reads the layer below."""
        cell, x = self.settings["cell"], np.concatenate(inputs)
        moved = []
        for number, state in enumerate(self.layers):
            mine = decoder_layer(cell, part(self.parameters, "decoder"), number)
            moved.append(advance(cell, mine, x, state))
            x = moved[-1].hidden
        self.layers = moved

    def look_back(self, before: np.ndarray, state: np.ndarray) -> np.ndarray:
        """Paulus et al. 2018, section 2.2: ``s_t`` attends to ``s_0 … s_{t-1}``."""
        self.past.append(before)
        return attend(
            part(self.parameters, "intra_attention.attention"),
            {"score": "general"} | dict(self.settings["intra_attention"]),
            state,
            np.array(self.past),
            self.step,
        )[0]

    def read(
        self, before: np.ndarray, state: np.ndarray, y: np.ndarray, contexts: list[np.ndarray]
    ) -> np.ndarray:
        """Return the input of the output layer."""
        readout = self.settings["readout"]
        if readout["kind"] == "none":
            return state
        parts = [before if readout.get("state", "current") == "previous" else state]
        if readout.get("last_token"):
            parts.append(y)
        inputs = np.concatenate([*parts, *contexts])
        if readout["kind"] == "tanh":  # Luong et al. 2015, eq. 5
            return np.tanh(affine(self.parameters, "readout.combine", inputs))
        wide = affine(self.parameters, "readout.pairs", inputs)  # Bahdanau et al. 2015, A.2.2
        return np.array([max(wide[2 * k], wide[2 * k + 1]) for k in range(len(wide) // 2)])


def decode(
    parameters: Parameters,
    settings: Mapping[str, Any],
    source: Sequence[int],
    target: Sequence[int],
) -> DecoderOutput:
    """Decode a target that starts with BOS."""
    decoder = Decoder(parameters, settings, source)
    steps = [decoder.advance(token) for token in target]
    logits = np.array([logits for logits, _ in steps])
    if steps[0][1] is None:
        return DecoderOutput(logits, None)
    return DecoderOutput(logits, np.array([weights for _, weights in steps]))
