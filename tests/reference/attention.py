"""Attention of one query to one sentence."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.reference import Parameters, affine, part


def attend(
    parameters: Parameters,
    settings: Mapping[str, Any],
    query: np.ndarray,
    states: np.ndarray,
    step: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the context ``(memory,)`` and the weights ``(src,)``."""
    view = look(part(parameters, "window"), settings, query, step, len(states))
    score = part(parameters, "score")
    heads = settings.get("heads")
    if heads is None:
        weights = align(score, settings, query, states, view)
        return average(weights, states), weights
    queries = affine(parameters, "query", query)
    content_based = settings["score"] != "location"
    keys = [affine(parameters, "key", state) for state in states] if content_based else states
    values = [affine(parameters, "value", state) for state in states]
    size = len(queries) // heads
    contexts, head_weights = [], []
    for head in range(heads):
        mine = slice(head * size, (head + 1) * size)
        weights = align(score, settings, queries[mine], [key[mine] for key in keys], view)
        contexts.append(average(weights, [value[mine] for value in values]))
        head_weights.append(weights)
    return affine(parameters, "out", np.concatenate(contexts)), sum(head_weights) / heads


def average(weights: np.ndarray, values: Any) -> np.ndarray:
    """``c_t = Σ a_ts h̄_s``."""
    context = np.zeros(len(values[0]))
    for weight, value in zip(weights, values, strict=True):
        context = context + weight * value
    return context


def align(
    parameters: Parameters,
    settings: Mapping[str, Any],
    query: np.ndarray,
    states: Any,
    view: dict[int, float],
) -> np.ndarray:
    """Return weights ``(src,)``: softmax over the positions in view, times the window's factors."""
    if settings["score"] == "location":
        weights = location(parameters, query, view)
    else:
        energies = {
            s: energy(settings["score"], parameters, settings, query, states[s]) for s in view
        }
        weights = softmax(energies)
    factored = {s: weights[s] * view[s] for s in weights}
    if settings.get("renormalise"):
        total = sum(factored.values())
        factored = {s: weight / total for s, weight in factored.items()}
    return np.array([factored.get(s, 0.0) for s in range(len(states))])


def softmax(energies: dict[int, float]) -> dict[int, float]:
    """Return ``exp(e_s) / Σ exp(e_s')``, without overflow: minus the largest energy."""
    largest = max(energies.values())
    exponentials = {s: math.exp(value - largest) for s, value in energies.items()}
    total = sum(exponentials.values())
    return {s: value / total for s, value in exponentials.items()}


def location(parameters: Parameters, query: np.ndarray, view: dict[int, float]) -> dict[int, float]:
    """Luong 3.1: ``softmax(W_a h_t)`` over all rows of ``W_a``, cut to the sentence, renormalised.

    Positions beyond the last row of ``W_a`` are left out.
    """
    rows = parameters["positions.weight"]
    everywhere = softmax({s: float(row @ query) for s, row in enumerate(rows)})
    cut = {s: everywhere[s] for s in view if s in everywhere}
    total = sum(cut.values())
    return {s: weight / total for s, weight in cut.items()}


def energy(
    score: str,
    parameters: Parameters,
    settings: Mapping[str, Any],
    query: np.ndarray,
    state: np.ndarray,
) -> float:
    """Return the energy ``e_ts`` of ``h_t`` (or ``s_{t-1}``) and ``h̄_s``."""
    if score == "dot":
        return float(query @ state)
    if score == "scaled_dot":
        return float(query @ state) / math.sqrt(len(query))
    if score == "cosine":
        cosine = float(query @ state) / math.sqrt(float(query @ query) * float(state @ state))
        return cosine / math.exp(parameters["log_temperature"])
    if score == "general":  # h_tᵀ W_a h̄_s
        return float(query @ (parameters["key_projection.weight"] @ state))
    of_query, of_state = (parameters[f"{n}_projection.weight"] for n in ("query", "key"))
    if score == "additive":  # vᵀ tanh(W s_{t-1} + U h̄_s)
        return float(parameters["energy.weight"][0] @ np.tanh(of_query @ query + of_state @ state))
    both = np.concatenate([query, state])
    if score == "concat":  # v_aᵀ tanh(W_a [h_t; h̄_s])
        w_a = np.concatenate([of_query, of_state], 1)
        return float(parameters["energy.weight"][0] @ np.tanh(w_a @ both))
    assert score == "linear"  # f(w · [h_t; h̄_s] + b)
    w = np.concatenate([of_query[0], of_state[0]])
    value = float(w @ both) + float(parameters["key_projection.bias"][0])
    f = {"none": lambda x: x, "relu": lambda x: max(x, 0.0), "tanh": math.tanh}
    return f[settings.get("activation", "none")](value)


def look(
    parameters: Parameters, settings: Mapping[str, Any], query: np.ndarray, step: int, length: int
) -> dict[int, float]:
    """Return the positions in the window, each with the factor of its weight."""
    window = settings.get("window", "global")
    if window == "global":
        return dict.fromkeys(range(length), 1.0)
    width = settings.get("half_width", 10)
    if window == "local_m":  # p_t = t, or the last position
        middle: float = min(step, length - 1)
        return {s: 1.0 for s in range(length) if middle - width <= s <= middle + width}
    start = step if settings.get("start") == "simple" else None
    middle = centre(parameters, query, length, start)
    sigma = width / 2
    return {
        s: math.exp(-((s - middle) ** 2) / (2 * sigma**2))
        for s in range(length)
        if middle - width <= s <= middle + width
    }


def centre(
    parameters: Parameters, query: np.ndarray, length: int, start: int | None = None
) -> float:
    """Luong, eq. 9: ``p_t = S · sigmoid(v_pᵀ tanh(W_p h_t))``.

    With a step t as ``start``, ``logit((t + ½) / S)`` is added in the sigmoid.
    """
    hidden = np.tanh(parameters["hidden.weight"] @ query)
    place = float(parameters["position.weight"][0] @ hidden)
    if start is not None:
        share = min(max((start + 0.5) / length, 0.02), 0.98)
        place += math.log(share / (1 - share))
    return length / (1 + math.exp(-place))
