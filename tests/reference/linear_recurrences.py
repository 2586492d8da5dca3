"""Linear recurrences in the place of self-attention: one position and one head at a time.

Each runs over a sentence, from the parameters of a mixer and its number of heads.
"""

import math
from collections.abc import Callable

import numpy as np

from tests.reference import Parameters, affine
from tests.reference.cells import sigmoid

Vectors = list[np.ndarray]
Mix = Callable[[Parameters, Vectors, int], Vectors]
EPSILON = 1e-5  # of every norm


def silu(x: np.ndarray) -> np.ndarray:
    return x * sigmoid(x)


def softplus(x: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(x))


def scaled(parameters: Parameters, x: np.ndarray) -> np.ndarray:
    """RMSNorm (Zhang and Sennrich 2019, arXiv 1910.07467, eq. 4)."""
    return parameters["norm.weight"] * x / math.sqrt((x @ x) / len(x) + EPSILON)


def normalised(parameters: Parameters, x: np.ndarray) -> np.ndarray:
    """Ba et al. 2016 (arXiv 1607.06450), eq. 4."""
    standard = (x - x.mean()) / math.sqrt(x.var() + EPSILON)
    return parameters["norm.weight"] * standard + parameters["norm.bias"]


def turned(x: np.ndarray, place: int) -> np.ndarray:
    """Sun et al. 2023, eq. 5: pairs of numbers, as complex numbers, times ``e^(i place θ)``."""
    angles = 10000 ** (-np.arange(0, len(x), 2) / len(x))
    rotated = (x[::2] + 1j * x[1::2]) * np.exp(1j * place * angles)
    return np.stack([rotated.real, rotated.imag], -1).flatten()


def convolved(parameters: Parameters, inputs: Vectors) -> Vectors:
    """A causal convolution of each channel over four positions, then SiLU."""
    weights, bias = parameters["convolution.weight"], parameters["convolution.bias"]
    results = []
    for place in range(len(inputs)):
        total = bias.copy()
        for back in range(len(weights)):
            if place >= back:
                total += weights[-1 - back] * inputs[place - back]
        results.append(silu(total))
    return results


def decays(parameters: Parameters, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Δ and α of each head of Mamba-2 and of the gated delta rule."""
    steps = softplus(x + parameters["decay.bias"])
    return steps, np.exp(-np.exp(parameters["decay.rate"]) * steps)


def retention(parameters: Parameters, inputs: Vectors, heads: int) -> Vectors:
    """Sun et al. 2023, eq. 6 and 8."""
    share = len(parameters["norm.weight"]) // 2
    ends = np.cumsum([heads * share, heads * share, 2 * heads * share])
    states = [np.zeros((share, 2 * share)) for _ in range(heads)]
    results = []
    for place, x in enumerate(inputs):
        queries, keys, values, gate = np.split(affine(parameters, "project", x), ends)
        parts = (np.split(part, heads) for part in (queries, keys, values))
        made = []
        for head, (query, key, value) in enumerate(zip(*parts, strict=True)):
            kept = 1 - 2.0 ** (-5 - head)
            states[head] = kept * states[head] + np.outer(turned(key, place), value)
            made.append(normalised(parameters, turned(query, place) @ states[head]))
        results.append(affine(parameters, "out", silu(gate) * np.concatenate(made)))
    return results


def gated_linear(parameters: Parameters, inputs: Vectors, heads: int) -> Vectors:
    """Yang et al. 2023, eq. 3 and section 4.4."""
    values_size = heads * len(parameters["norm.weight"])
    keys_size = len(parameters["decay.bias"])
    ends = np.cumsum([keys_size, keys_size, values_size, values_size])
    states = [np.zeros((keys_size // heads, values_size // heads)) for _ in range(heads)]
    results = []
    for x in inputs:
        queries, keys, values, gate, low = np.split(affine(parameters, "project", x), ends)
        kept = sigmoid(affine(parameters, "decay", low)) ** (1 / 16)
        parts = (np.split(part, heads) for part in (queries, keys, values, kept))
        made = []
        for head, (query, key, value, decay) in enumerate(zip(*parts, strict=True)):
            states[head] = np.diag(decay) @ states[head] + np.outer(key, value)
            made.append(normalised(parameters, query @ states[head]))
        results.append(affine(parameters, "out", silu(gate) * np.concatenate(made)))
    return results


def gated_delta(parameters: Parameters, inputs: Vectors, heads: int) -> Vectors:
    """Yang et al. 2024, eq. 10: ``S_t = α_t (I - β_t k_t k_tᵀ) S_{t-1} + β_t k_t v_tᵀ``."""
    share = len(parameters["norm.weight"]) // 2
    width = heads * share
    projected = [affine(parameters, "project", x) for x in inputs]
    read = convolved(parameters, [x[: 4 * width] for x in projected])
    states = [np.zeros((share, 2 * share)) for _ in range(heads)]
    results = []
    for x, known in zip(projected, read, strict=True):
        gate, strengths, raw = np.split(x[4 * width :], [2 * width, 2 * width + heads])
        _, kept = decays(parameters, raw)
        queries, keys, values = (
            np.split(part, heads) for part in np.split(known, [width, 2 * width])
        )
        made = []
        for head in range(heads):
            query, key = (
                part[head] / math.sqrt(part[head] @ part[head]) for part in (queries, keys)
            )
            strength = sigmoid(strengths[head])
            forgotten = np.eye(share) - strength * np.outer(key, key)
            states[head] = kept[head] * forgotten @ states[head]
            states[head] = states[head] + strength * np.outer(key, values[head])
            made.append(scaled(parameters, query @ states[head]))
        results.append(affine(parameters, "out", silu(gate) * np.concatenate(made)))
    return results


def mamba2(parameters: Parameters, inputs: Vectors, heads: int) -> Vectors:
    """Dao and Gu 2024, section 7.1: ``h_t = exp(Δ A) h_{t-1} + Δ B xᵀ``, ``y_t = hᵀ C + D x``."""
    inner = len(parameters["norm.weight"])
    share = inner // heads
    projected = [affine(parameters, "project", x) for x in inputs]
    read = convolved(parameters, [x[inner : 2 * inner + 2 * share] for x in projected])
    states = [np.zeros((share, share)) for _ in range(heads)]
    results = []
    for x, known in zip(projected, read, strict=True):
        values, key, query = np.split(known, [inner, inner + share])
        steps, kept = decays(parameters, x[2 * inner + 2 * share :])
        made = []
        for head, value in enumerate(np.split(values, heads)):
            states[head] = kept[head] * states[head] + steps[head] * np.outer(key, value)
            made.append(query @ states[head] + parameters["skip"][head] * value)
        gated = silu(x[:inner]) * np.concatenate(made)
        results.append(affine(parameters, "out", scaled(parameters, gated)))
    return results


MIXERS: dict[str, Mix] = {
    "retention": retention,
    "gated_linear": gated_linear,
    "gated_delta": gated_delta,
    "mamba2": mamba2,
}
