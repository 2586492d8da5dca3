"""The Transformer of Vaswani et al. 2017 and what lies between it and an RNN with attention, forced
to decode one given target.

Position by position and head by head. Sequences are lists of vectors.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.reference import Parameters, affine, part
from tests.reference.attention import average, softmax
from tests.reference.encoder import run
from tests.reference.linear_recurrences import MIXERS
from tests.reference.positions import bucket, slopes

Vectors = list[np.ndarray]
LAYER_NORM_EPSILON = 1e-5


def decode(
    parameters: Parameters,
    settings: Mapping[str, Any],
    source: Sequence[int],
    target: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Return logits ``(tgt, vocabulary)`` and the last layer's weights ``(tgt, src)``."""
    states = embed(parameters, settings, "src", source)
    for number in range(settings["encoder_layers"]):
        states = encoder_layer(part(parameters, f"encoder.{number}"), settings, states)
    memory = final(parameters, settings, "encoder_norm", states)
    states = embed(parameters, settings, "tgt", target)
    weights: np.ndarray | None = None
    for number in range(settings["decoder_layers"]):
        mine = part(parameters, f"decoder.{number}")
        states, weights = decoder_layer(mine, settings, states, memory)
    assert weights is not None
    features = final(parameters, settings, "decoder_norm", states)
    return np.array([affine(parameters, "output", x) for x in features]), weights


def embed(
    parameters: Parameters, settings: Mapping[str, Any], side: str, tokens: Sequence[int]
) -> Vectors:
    """Sections 3.4 and 3.5: embeddings times √d_model, plus positions at the input if any.

    Or read by an RNN (Neishi and Yoshinaga 2019), in both directions on the side of the source.
    """
    table = parameters[f"{side}_embedding.weight"]
    width = table.shape[1]
    embedded = [table[token] * math.sqrt(width) for token in tokens]
    kind = kind_of(settings, side)
    if kind in ("gru", "lstm"):
        mine = part(parameters, f"{side}_recurrence")
        if side == "src":
            return both_ways(kind, mine, embedded, width, settings["heads"])
        return recur(kind, mine, embedded, width, settings["heads"])
    if kind in ("sinusoidal", "shifted"):  # which are shifted in training alone
        return [x + sinusoid(place, width) for place, x in enumerate(embedded)]
    if kind == "learned":
        places = parameters[f"{side}_positions.table.weight"]
        return [x + places[place] for place, x in enumerate(embedded)]
    return embedded


def kind_of(settings: Mapping[str, Any], side: str) -> str:
    """Return the kind of positions of a side."""
    apart = settings["decoder_positions"] if side == "tgt" else None
    kind: str = apart or settings["positions"]
    return kind


def sinusoid(place: int, width: int) -> np.ndarray:
    """Section 3.5: ``sin(pos / 10000^(2i/d))`` at 2i, the cosine at 2i + 1."""
    encoded = np.zeros(width)
    for i in range(width // 2):
        angle = place / 10000 ** (2 * i / width)
        encoded[2 * i], encoded[2 * i + 1] = math.sin(angle), math.cos(angle)
    return encoded


def encoder_layer(parameters: Parameters, settings: Mapping[str, Any], states: Vectors) -> Vectors:
    """Self-attention or two recurrences, then feed-forward."""
    mine = part(parameters, "mixer")

    def mix(inputs: Vectors) -> Vectors:
        if (kind := settings["encoder_mixer"]) == "attention":
            return attend(mine, settings, inputs, inputs, kind_of(settings, "src"))[0]
        return both_ways(kind, mine, inputs, settings["width"], settings["heads"])

    states = around(parameters, settings, "around_mixer", states, mix)
    return feed_forward(parameters, settings, states)


def both_ways(
    kind: str, parameters: Parameters, inputs: Vectors, width: int, heads: int
) -> Vectors:
    """Run two recurrences of half the width, one of them from right to left."""
    sizes = width // 2, heads
    forwards = recur(kind, part(parameters, "forwards"), inputs, *sizes)
    backwards = recur(kind, part(parameters, "backwards"), inputs[::-1], *sizes)[::-1]
    return [np.concatenate(pair) for pair in zip(forwards, backwards, strict=True)]


def recur(kind: str, parameters: Parameters, inputs: Vectors, size: int, heads: int) -> Vectors:
    """Run a linear recurrence, or an LSTM or a GRU of one layer, over a sentence."""
    if kind in MIXERS:
        return MIXERS[kind](parameters, inputs, heads)
    return run(kind, part(parameters, "stack"), 0, False, inputs, size)[0]


def decoder_layer(
    parameters: Parameters, settings: Mapping[str, Any], states: Vectors, memory: Vectors
) -> tuple[Vectors, np.ndarray | None]:
    """Masked self-attention or a recurrence, attention to the source, feed-forward.

    Also return the weights of the attention to the source, if the layer has one.
    """
    mine = part(parameters, "mixer")

    def mix(inputs: Vectors) -> Vectors:
        if (kind := settings["decoder_mixer"]) == "attention":
            own = kind_of(settings, "tgt")
            return attend(mine, settings, inputs, inputs, own, causal=True)[0]
        return recur(kind, mine, inputs, settings["width"], settings["heads"])

    states = around(parameters, settings, "around_mixer", states, mix)
    cross = part(parameters, "cross_attention")
    weights: np.ndarray | None = None
    if cross:

        def look_at_source(inputs: Vectors) -> Vectors:
            nonlocal weights
            contexts, weights = attend(cross, settings, inputs, memory, "none")
            if settings["residual"]:
                return contexts
            # Luong et al. 2015, eq. 5, which keeps the state of the target.
            both = (np.concatenate(pair) for pair in zip(contexts, inputs, strict=True))
            return [np.tanh(affine(parameters, "combine", x)) for x in both]

        states = around(parameters, settings, "around_cross_attention", states, look_at_source)
    return feed_forward(parameters, settings, states), weights


def feed_forward(parameters: Parameters, settings: Mapping[str, Any], states: Vectors) -> Vectors:
    """Section 3.3: ``max(0, x W_1 + b_1) W_2 + b_2``, if there are such layers."""
    if settings["hidden_size"] is None:
        return states

    def feed(inputs: Vectors) -> Vectors:
        hidden = (affine(parameters, "feed_forward.0", x) for x in inputs)
        return [affine(parameters, "feed_forward.2", np.maximum(x, 0.0)) for x in hidden]

    return around(parameters, settings, "around_feed_forward", states, feed)


def around(
    parameters: Parameters, settings: Mapping[str, Any], name: str, states: Vectors, sublayer: Any
) -> Vectors:
    """Section 3.1: ``LayerNorm(x + f(x))``; Xiong et al. 2020: ``x + f(LayerNorm(x))``.

    Without residual connections ``x`` is not added.
    """
    norm = part(parameters, f"{name}.norm")
    where = settings["norm"]
    made = sublayer([layer_norm(norm, x) for x in states] if where == "before" else states)
    if settings["residual"]:
        made = [x + y for x, y in zip(states, made, strict=True)]
    return [layer_norm(norm, x) for x in made] if where == "after" else made


def final(
    parameters: Parameters, settings: Mapping[str, Any], name: str, states: Vectors
) -> Vectors:
    """Apply the last layer norm, which only norms before each sublayer leave to do."""
    if settings["norm"] != "before":
        return states
    return [layer_norm(part(parameters, name), x) for x in states]


def layer_norm(parameters: Parameters, x: np.ndarray) -> np.ndarray:
    """Ba et al. 2016 (arXiv 1607.06450), eq. 4, with PyTorch's ε."""
    mean = sum(x) / len(x)
    variance = sum((value - mean) ** 2 for value in x) / len(x)
    normalised = (x - mean) / math.sqrt(variance + LAYER_NORM_EPSILON)
    return parameters["weight"] * normalised + parameters["bias"]


def attend(
    parameters: Parameters,
    settings: Mapping[str, Any],
    inputs: Vectors,
    memory: Vectors,
    positions: str,
    causal: bool = False,
) -> tuple[Vectors, np.ndarray]:
    """Section 3.2: results ``(tgt, width)`` and weights ``(tgt, src)``, averaged over the heads."""
    queries, keys, values = (
        [np.split(affine(parameters, name, x), settings["heads"]) for x in read]
        for name, read in (("query", inputs), ("key", memory), ("value", memory))
    )
    results, weights = [], np.zeros((len(inputs), len(memory)))
    for i, query in enumerate(queries):
        contexts = []
        for head in range(settings["heads"]):
            energies = {
                j: energy(parameters, settings, positions, query[head], key[head], i, j)
                + bias(parameters, settings, positions, head, i, j, causal)
                for j, key in enumerate(keys)
                if j <= i or not causal
            }
            shares = softmax(energies)
            mine = np.array([shares.get(j, 0.0) for j in range(len(memory))])
            contexts.append(average(mine, [value[head] for value in values]))
            weights[i] += mine / settings["heads"]
        results.append(affine(parameters, "out", np.concatenate(contexts)))
    return results, weights


def energy(
    parameters: Parameters,
    settings: Mapping[str, Any],
    positions: str,
    query: np.ndarray,
    key: np.ndarray,
    i: int,
    j: int,
) -> float:
    """``q_i · k_j / √d_k``, with rotary (eq. 15) or relative positions (Shaw et al., eq. 4)."""
    if positions == "rotary":
        query, key = turned(query, i), turned(key, j)
    if positions == "relative":
        most = settings["relative_distance"]
        key = key + parameters["positions.table"][max(-most, min(most, j - i)) + most]
    return float(query @ key) / math.sqrt(len(query))


def bias(
    parameters: Parameters,
    settings: Mapping[str, Any],
    positions: str,
    head: int,
    i: int,
    j: int,
    causal: bool,
) -> float:
    """Return what T5's bias or ALiBi adds to an energy."""
    if positions == "t5":
        sizes = settings["bias_buckets"], settings["bias_distance"]
        return float(parameters["positions.table"][bucket(i, j, *sizes, causal), head])
    if positions == "alibi":
        return -slopes(settings["heads"])[head] * abs(i - j)
    return 0.0


def turned(x: np.ndarray, place: int) -> np.ndarray:
    """Su et al. 2021, eq. 15: each pair of numbers is rotated by a different angle."""
    result = np.zeros(len(x))
    for i in range(len(x) // 2):
        angle = place * 10000 ** (-2 * i / len(x))
        sine, cosine = math.sin(angle), math.cos(angle)
        result[2 * i] = x[2 * i] * cosine - x[2 * i + 1] * sine
        result[2 * i + 1] = x[2 * i] * sine + x[2 * i + 1] * cosine
    return result
