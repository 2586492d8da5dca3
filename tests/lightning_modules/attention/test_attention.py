"""Attention against the papers' equations, written out with loops in ``tests.reference``."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call

from datamodules.errors import UserError
from lightning_modules.attention import SCORES, Attention, build_attention
from tests.reference import arrays, part
from tests.reference.attention import attend, centre

QUERY, MEMORY = 4, 6
LENGTHS = [1, 2, 7, 19, 33, 59, 60]
TGT = 64  # more target positions than any source has

SAME_WIDTH = ("dot", "scaled_dot", "cosine")
SCORE_SETTINGS: dict[str, dict] = {name: {"score": name} for name in SCORES} | {
    "additive_narrow": {"score": "additive", "alignment_size": 3},
    "linear_relu": {"score": "linear", "activation": "relu"},
    "linear_tanh": {"score": "linear", "activation": "tanh"},
    "location_cut": {"score": "location", "max_length": 20},
}
WINDOW_SETTINGS: dict[str, dict] = {
    "global": {"window": "global"},
    "local_m": {"window": "local_m"},
    "local_p": {"window": "local_p"},
    "local_p_renormalised": {"window": "local_p", "renormalise": True},
    "local_p_simple": {"window": "local_p", "start": "simple"},
}
COMBINATIONS = [
    (score, window)
    for score in SCORE_SETTINGS
    for window in WINDOW_SETTINGS
    if window == "global" or not score.startswith("location")
]
combinations = pytest.mark.parametrize(("score", "window"), COMBINATIONS)


def make(query_size: int, memory_size: int, score: str, **settings) -> Attention:
    options = {"score": score} | settings
    return build_attention("model.attention", query_size, memory_size, options)


def build(score: str, window: str, seed: int = 0, **settings) -> tuple[Attention, dict]:
    settings = SCORE_SETTINGS[score] | WINDOW_SETTINGS[window] | settings
    same = settings["score"] in SAME_WIDTH and settings.get("heads") is None
    torch.manual_seed(seed)
    attention = make(MEMORY if same else QUERY, MEMORY, **settings).double()
    for parameter in attention.parameters():
        nn.init.uniform_(parameter, -1.5, 1.5)
    return attention, settings


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def query_size(attention: Attention) -> int:
    return attention.window.query_size


def masks(lengths: list[int], width: int) -> torch.Tensor:
    return torch.arange(width) < torch.tensor(lengths).unsqueeze(1)


def look(attention, queries, states, lengths):
    with torch.no_grad():
        memory = attention.prepare(states, masks(lengths, states.shape[1]))
        steps = torch.arange(queries.shape[1]).unsqueeze(0)
        return attention(queries, memory, steps)


def expect(attention, settings, queries, states):
    parameters = arrays(attention)
    results = [
        attend(parameters, settings, query, states.numpy(), step)
        for step, query in enumerate(queries.numpy())
    ]
    return np.array([context for context, _ in results]), np.array(
        [weights for _, weights in results]
    )


def compare(actual, expected, length):
    """Compare the context and weights of one sentence; weights are exactly 0 where expected."""
    (context, weights), (expected_context, expected_weights) = actual, expected
    np.testing.assert_allclose(weights[:, :length].numpy(), expected_weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(context.numpy(), expected_context, rtol=0, atol=1e-9)
    assert weights[:, length:].count_nonzero() == 0
    assert (weights[:, :length].numpy()[expected_weights == 0] == 0).all()


@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize(
    ("score", "window", "half_width"),
    [(*c, width) for c in COMBINATIONS for width in ((1, 10) if c[1] != "global" else (1,))],
)
def test_equals_the_equations(score, window, half_width, heads):
    """Lengths from 1 to 60, padded into one batch, and each sentence alone."""
    attention, settings = build(score, window, heads=heads, half_width=half_width)
    states = random(len(LENGTHS), max(LENGTHS) + 2, MEMORY)
    queries = random(len(LENGTHS), TGT, query_size(attention), seed=2)
    together = look(attention, queries, states, LENGTHS)
    assert together[1].shape == (len(LENGTHS), TGT, states.shape[1])
    for row, length in enumerate(LENGTHS):
        real = states[row, :length]
        expected = expect(attention, settings, queries[row], real)
        compare((together[0][row], together[1][row]), expected, length)
        context, weights = look(attention, queries[row : row + 1], real.unsqueeze(0), [length])
        compare((context[0], weights[0]), expected, length)


def test_local_m_of_no_width_copies_positions():
    attention, _ = build("general", "local_m", half_width=0)
    states = random(1, 5, MEMORY)
    context, weights = look(attention, random(1, 5, QUERY), states, [5])
    assert weights[0].equal(torch.eye(5, dtype=torch.float64))
    assert context.equal(states)


@pytest.mark.parametrize("renormalise", [False, True])
@pytest.mark.parametrize("half_width", [1, 3, 10])
@pytest.mark.parametrize(("drive", "share"), [(-40.0, 0.0), (40.0, 1.0)])
def test_local_p_at_both_ends(drive, share, half_width, renormalise):
    """Large weights drive the centres to 0 and to S, which is no position."""
    attention, settings = build("general", "local_p", half_width=half_width)
    settings["renormalise"] = attention.renormalise = renormalise
    with torch.no_grad():
        attention.get_parameter("window.hidden.weight").fill_(5.0)
        attention.get_parameter("window.position.weight").fill_(drive)
    queries = random(len(LENGTHS), 3, QUERY).abs()  # so that every hidden number is about 1
    states = random(len(LENGTHS), max(LENGTHS), MEMORY)
    contexts, weights = look(attention, queries, states, LENGTHS)
    window = part(arrays(attention), "window")
    for row, length in enumerate(LENGTHS):
        for query in queries[row].numpy():
            assert centre(window, query, length) == pytest.approx(share * length, abs=1e-9)
        expected = expect(attention, settings, queries[row], states[row, :length])
        compare((contexts[row], weights[row]), expected, length)
        assert (weights[row].sum(-1) > 0).all()


class Whole(nn.Module):
    """Projection of keys, and attention, as one function of states, queries and parameters."""

    def __init__(self, attention: Attention, lengths: list[int]) -> None:
        super().__init__()
        self.attention = attention
        self.lengths = lengths

    def forward(self, states, queries):
        memory = self.attention.prepare(states, masks(self.lengths, states.shape[1]))
        return self.attention(queries, memory, torch.arange(queries.shape[1]).unsqueeze(0))


def far_from_edges(attention, settings, queries, lengths) -> bool:
    """Return whether no centre lies where a position enters the window, with no derivative."""
    if settings["window"] != "local_p":
        return True
    window, simple = part(arrays(attention), "window"), settings.get("start") == "simple"
    shares = [
        centre(window, query, length, step if simple else None) % 1
        for row, length in zip(queries.numpy(), lengths, strict=True)
        for step, query in enumerate(row)
    ]
    return all(0.02 < share < 0.98 for share in shares)


@pytest.mark.parametrize("heads", [None, 2])
@combinations
def test_gradients(score, window, heads):
    lengths = [5, 2]
    states = random(2, 5, MEMORY)
    extra = {"max_length": 4} if score == "location_cut" else {}
    for seed in range(100):
        attention, settings = build(score, window, seed, heads=heads, half_width=1, **extra)
        for parameter in attention.parameters():
            parameter.data.mul_(0.5)
        queries = random(2, 3, query_size(attention), seed=seed)
        if far_from_edges(attention, settings, queries, lengths):
            break
    else:
        raise AssertionError("no seed has all its centres away from the edges of a window")
    whole = Whole(attention, lengths)
    parameters = dict(whole.named_parameters())

    def function(states, queries, *values):
        return functional_call(whole, dict(zip(parameters, values, strict=True)), (states, queries))

    inputs = [value.detach().requires_grad_() for value in (states, queries, *parameters.values())]
    assert torch.autograd.gradcheck(function, inputs, fast_mode=True)
    context, _ = function(*inputs)
    gradients = torch.autograd.grad(
        context.square().sum(), inputs, allow_unused=True, materialize_grads=True
    )
    largest = {
        name: gradient.abs().max().item()
        for name, gradient in zip(parameters, gradients[2:], strict=True)
    }
    for name in ("window.hidden.weight", "window.position.weight", "score.query_projection.weight"):
        if (gradient := largest.get(f"attention.{name}")) is not None:
            # A linear score without activation adds the same to all energies of a query.
            assert (gradient < 1e-12) == (score == "linear" and name.startswith("score"))


DOT = "queries and encoder states of one width, not 4 and 6.*model.attention.score=general"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"score": "dot"}, f"model.attention.score=dot: Dot needs {DOT}"),
        ({"score": "nonsense"}, "model.attention.score=nonsense: choose one of dot, scaled_dot, "),
        ({"score": "torch.nn.Linear"}, "model.attention.score=torch.nn.Linear: .* Score class"),
        ({"score": "location", "window": "local_m"}, "score=location: .* no local form.*window="),
        ({"window": "wide"}, "model.attention.window=wide: choose one of global, local_m, local_p"),
        ({"heads": 4}, "model.attention.heads=4: must divide the 6 numbers"),
        ({"heads": 0}, "model.attention.heads=0: must divide"),
        ({"window": "local_m", "half_width": -1}, "half_width=-1: local_m needs at least 0 pos"),
        ({"window": "local_p", "half_width": 0}, "half_width=0: local_p needs at least 1 position"),
        (
            {"score": "dot", "memory_size": 4, "max_length": 10},
            "model.attention.max_length: neither the score dot nor the window global.*~model.att",
        ),
        ({"score": "additive", "alignment_size": 0}, "alignment_size=0 must be at least 1"),
        ({"start": "small"}, "model.attention.start=small: .*'random' or 'simple'"),
        ({"score_rate": 0}, "model.attention.score_rate=0: .* greater than 0"),
        ({"score_rate": "fast"}, "model.attention.score_rate=fast: .* valid number"),
    ],
)
def test_what_cannot_fit_is_refused(arguments, message):
    options = dict(arguments)
    memory = options.pop("memory_size", MEMORY)
    with pytest.raises(UserError, match=message) as refused:
        build_attention("model.attention", QUERY, memory, options)
    assert "\n" not in str(refused.value)
