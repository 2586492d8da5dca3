"""Attention against the papers' equations, written out with loops."""

import math

import numpy as np
import pytest
import torch

from lightning_modules.attention import SCORES, WINDOWS, Attention, Score

SIZE, SRC, TGT = 6, 9, 7
LENGTHS = [9, 4, 1]


def parameters(module: torch.nn.Module) -> dict[str, np.ndarray]:
    return {name: value.detach().numpy() for name, value in module.named_parameters()}


def energy(
    name: str, weights: dict[str, np.ndarray], query: np.ndarray, state: np.ndarray
) -> float:
    if name == "dot":
        return float(query @ state)
    key = weights["key_projection.weight"] @ state
    if name == "general":
        return float(query @ key)
    return float(
        weights["energy.weight"][0] @ np.tanh(weights["query_projection.weight"] @ query + key)
    )


def centre(name: str, weights: dict[str, np.ndarray], query: np.ndarray, t: int, length: int):
    if name == "local_m":
        return min(t, length - 1)
    hidden = np.tanh(weights["hidden.weight"] @ query)
    return length / (1 + math.exp(-float(weights["position.weight"][0] @ hidden)))


def reference(attention, score, window, query, states, length, t, half_width):
    """One query of one sentence: weights over its real positions."""
    energies = [energy(score, parameters(attention.score), query, state) for state in states]
    if window == "global":
        inside, factor = [True] * length, [1.0] * length
    else:
        middle = centre(window, parameters(attention.window), query, t, length)
        inside = [abs(s - middle) <= half_width for s in range(length)]
        sigma = half_width / 2
        factor = [
            math.exp(-((s - middle) ** 2) / (2 * sigma**2)) if window == "local_p" else 1.0
            for s in range(length)
        ]
    exponentials = [math.exp(energies[s]) * inside[s] for s in range(length)]
    return [e / sum(exponentials) * f for e, f in zip(exponentials, factor, strict=True)]


@pytest.mark.parametrize("half_width", [1, 2, 10])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("score", SCORES)
def test_equals_the_equations(score, window, half_width):
    torch.manual_seed(0)
    attention = Attention(SIZE, SIZE, score, window, half_width).double()
    states = torch.randn(len(LENGTHS), SRC, SIZE, dtype=torch.float64)
    queries = torch.randn(len(LENGTHS), TGT, SIZE, dtype=torch.float64)
    mask = torch.arange(SRC) < torch.tensor(LENGTHS).unsqueeze(1)
    with torch.no_grad():
        memory = attention.prepare(states, mask)
        context, weights = attention(queries, memory, torch.arange(TGT).unsqueeze(0))
    for row, length in enumerate(LENGTHS):
        for t in range(TGT):
            real = states[row, :length].numpy()
            query = queries[row, t].numpy()
            expected = reference(attention, score, window, query, real, length, t, half_width)
            np.testing.assert_allclose(weights[row, t, :length].numpy(), expected, atol=1e-12)
            assert weights[row, t, length:].count_nonzero() == 0
            np.testing.assert_allclose(context[row, t].numpy(), expected @ real, atol=1e-12)


@pytest.mark.parametrize("window", WINDOWS)
def test_gradients_are_right(window):
    """The centre that local-p predicts included."""
    torch.manual_seed(1)
    attention = Attention(4, 4, "general", window, 3).double()
    states = torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True)
    queries = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(5) < torch.tensor([[5], [3]])

    def context(states, queries):
        return attention(queries, attention.prepare(states, mask), torch.arange(3).unsqueeze(0))[0]

    assert torch.autograd.gradcheck(context, (states, queries))
    context(states, queries).sum().backward()
    assert all(parameter.grad is not None for parameter in attention.parameters())


class Cosine(Score):
    """A score function from outside, found by its dotted path."""

    def forward(self, query, keys):
        return torch.nn.functional.normalize(query, dim=-1) @ torch.nn.functional.normalize(
            keys, dim=-1
        ).transpose(1, 2)


def test_a_score_of_ones_own_is_a_class_and_its_path():
    attention = Attention(4, 4, "tests.test_attention.Cosine")
    states, mask = torch.randn(1, 5, 4), torch.ones(1, 5, dtype=torch.bool)
    weights = attention(states, attention.prepare(states, mask), torch.zeros(1, 5).long())[1]
    assert type(attention.score).__name__ == "Cosine"
    torch.testing.assert_close(weights.argmax(-1), torch.arange(5).unsqueeze(0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"score": "dot", "memory_size": 5}, r"model\.attention\.score=general"),
        ({"score": "nonsense"}, "choose one of dot, general, additive, concat"),
        ({"score": "torch.nn.Linear"}, "dotted path of a Score class"),
        ({"score": "no.such.Module"}, "dotted path of a Score class"),
        ({"window": "wide"}, "choose one of global, local_m, local_p"),
        ({"half_width": 0}, "must be at least 1"),
    ],
)
def test_what_cannot_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Attention(**({"query_size": 4, "memory_size": 4} | arguments))
