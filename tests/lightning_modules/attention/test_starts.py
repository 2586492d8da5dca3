"""Where scores, windows and heads start, and how large their steps are."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, Adadelta, Adam, Optimizer

from lightning_modules.attention import SCORES, WINDOWS, Attention, build_attention
from lightning_modules.kernels.products import LinearLayer
from lightning_modules.training.module import make_optimizer
from lightning_modules.training.schedules import linear
from tests.helpers.recurrent_models import PLAIN, recurrent
from tests.helpers.variants import NAMES, configuration, small_model

WIDTH = 6
SLOW_WINDOW = {"window.hidden.weight": 0.1, "window.position.weight": 0.1}


def build(seed: int = 0, memory: int = WIDTH, **options: Any) -> Attention:
    torch.manual_seed(seed)
    return build_attention("model.attention", WIDTH, memory, options)


def draw(seed: int, columns: int) -> Tensor:
    """Return W_a as it is drawn at random."""
    torch.manual_seed(seed)
    layer = LinearLayer(columns, WIDTH, bias=False)
    return nn.init.xavier_uniform_(layer.weight)


def look(attention: Attention, states: Tensor, queries: Tensor) -> Tensor:
    memory = attention.prepare(states, torch.ones(states.shape[:2], dtype=torch.bool))
    return attention(queries, memory, torch.arange(queries.shape[1]).unsqueeze(0))[1]


def test_general_starts_as_dot_where_widths_allow():
    states, queries = torch.randn(2, 5, WIDTH), torch.randn(2, 3, WIDTH)
    simple, dot = build(score="general", start="simple"), build(score="dot")
    assert look(simple, states, queries).equal(look(dot, states, queries))
    weight = build(3, 4, score="general", start="simple").score.get_parameter(
        "key_projection.weight"
    )
    assert weight.equal(draw(3, 4))


@pytest.mark.parametrize("window", ["global", "local_m", "local_p"])
def test_without_a_start_everything_is_drawn_as_before(window):
    attention = build(3, score="general", window=window)
    parameters = dict(attention.named_parameters())
    torch.manual_seed(3)
    if window == "local_p":
        for name, rows in (("hidden", WIDTH), ("position", 1)):
            layer = nn.Linear(WIDTH, rows, bias=False)
            assert parameters.pop(f"window.{name}.weight").equal(layer.weight)
    [weight] = parameters.values()
    layer = nn.Linear(WIDTH, WIDTH, bias=False)
    assert weight.equal(nn.init.xavier_uniform_(layer.weight))
    assert attention.score.lr_factor == attention.window.lr_factor == 1


def test_local_p_starts_at_the_position_of_the_target_word():
    """Whatever the query, centres are t + ½, but between 2% and 98% of the source."""
    window = build(score="dot", window="local_p", start="simple", half_width=1).window
    steps, length = torch.tensor([[0, 1, 6, 9, 60]]), 10
    factor = window(torch.randn(1, 5, WIDTH), steps, torch.tensor([[length]]), length).factor
    for row, centre in enumerate([0.5, 1.5, 6.5, 9.5, 9.8]):
        for position in range(length):
            expected = math.exp(-((position - centre) ** 2) / 0.5)
            assert factor[0, row, position].item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("score", ["scaled_dot", "location"])
def test_heads_start_with_glorots_draw_and_no_biases(score):
    attention = build(score=score, heads=2)
    layers = [layer for layer in attention.children() if isinstance(layer, LinearLayer)]
    assert len(layers) == (4 if score == "scaled_dot" else 3)
    for layer in layers:
        assert not layer.bias.any()
        bound = math.sqrt(6 / (WIDTH + WIDTH))
        assert 0.8 * bound < layer.weight.abs().max() <= bound


def test_an_initial_range_reaches_heads_and_general():
    for options in ({"score": "scaled_dot", "heads": 2}, {"score": "general"}):
        model = recurrent(PLAIN | {"attention": options, "initial_range": 0.01})
        assert model.attention is not None
        for parameter in model.attention.parameters():
            assert 0 < parameter.abs().max() <= 0.01


def rates_of(optimizer: Optimizer, model: nn.Module) -> dict[str, float]:
    by_parameter = {
        parameter: group["lr"] for group in optimizer.param_groups for parameter in group["params"]
    }
    return {name: by_parameter[parameter] for name, parameter in model.named_parameters()}


@pytest.mark.parametrize(
    ("name", "overrides", "slow"),
    [
        ("luong_general", [], {"score.key_projection.weight": 0.1}),
        ("luong_general", ["model.attention.start=random"], {}),
        ("luong_predictive", [], {"score.key_projection.weight": 0.1} | SLOW_WINDOW),
        (
            "luong_predictive",
            ["model.attention.score_rate=2"],
            {"score.key_projection.weight": 2} | SLOW_WINDOW,
        ),
        ("luong_predictive", ["model.attention.start=random"], {}),
        ("luong_local_near", ["model.attention.score_rate=0.1"], {}),
        ("luong_global_general", [], {}),
        ("transformer", [], {}),
    ],
)
def test_scores_and_windows_have_rates_of_their_own(name, overrides, slow):
    model = small_model(name, *overrides)
    optimizer = make_optimizer(model, partial(Adam, lr=2e-3))
    factors = {f"attention.{key}": value for key, value in slow.items()}
    expected = {key: 2e-3 * factors.get(key, 1) for key, _ in model.named_parameters()}
    assert rates_of(optimizer, model) == pytest.approx(expected)
    assert optimizer.param_groups[0]["lr"] == 2e-3  # which the training logs


@pytest.mark.parametrize(
    "make", [partial(SGD, lr=0.5), partial(Adam, lr=0.5), partial(Adadelta, lr=0.5)]
)
def test_steps_are_as_small_as_the_rate_says(make):
    """With every optimizer, and all along a schedule."""
    steps = []
    for rate in (1, 0.1):
        model = build(score="general", score_rate=rate).double()
        optimizer = make_optimizer(model, make)
        schedule = linear(optimizer, 2, 4)
        weight = model.score.get_parameter("key_projection.weight")
        moved = []
        for _ in range(4):
            before = weight.detach().clone()
            weight.grad = torch.ones_like(weight)
            optimizer.step()
            schedule.step()
            moved.append((weight.detach() - before).mean().item())
        steps.append(moved)
    assert all(steps[0])
    np.testing.assert_allclose(steps[1], np.multiply(steps[0], 0.1), rtol=1e-6)


def test_frozen_parameters_have_no_group():
    model = small_model("luong_general")
    assert model.parts()["attention"]
    for module in model.parts()["attention"]:
        module.requires_grad_(False)
    assert len(make_optimizer(model, partial(Adam, lr=1e-3)).param_groups) == 1


def test_every_file_takes_every_score_and_window():
    """A start that a file chooses holds for the scores and windows that have one."""
    for name in NAMES:
        options = configuration(f"model={name}").model.get("attention")
        if not options or {"max_length", "activation"} & options.keys():
            continue  # options of one score
        for score in SCORES:
            for window in ["global"] if score == "location" else WINDOWS:
                chosen = {**options, "score": score, "window": window}
                attention = build_attention("model.attention", 8, 8, chosen)
                assert isinstance(attention.score, SCORES[score])
