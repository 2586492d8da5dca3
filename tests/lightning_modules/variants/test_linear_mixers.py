"""Linear recurrences in the place of self-attention against the equations of their papers.

``test_mixers.py`` has what holds for every mixer: causality, steps, states, directions.
"""

import numpy as np
import pytest
import torch
from torch import nn

from lightning_modules.training.factories import build_model
from lightning_modules.variants.base import count_parameters
from lightning_modules.variants.transformer.layers import RECURRENCES
from lightning_modules.variants.transformer.linear_mixers import (
    GatedLinearAttention,
    LinearMixer,
    SelectiveDecay,
    ShortConvolution,
)
from tests.helpers.gradients import both, random
from tests.helpers.variants import NAMES, configuration, numbers, transformer
from tests.reference import arrays
from tests.reference.linear_recurrences import MIXERS

WIDTH, LENGTH = 12, 70  # more positions than a chunk has


def mixer(kind, heads=2, size=8):
    """Return a mixer with larger weights than its first ones, which make differences visible."""
    torch.manual_seed(0)
    made = RECURRENCES[kind](WIDTH, heads, size).double()
    assert isinstance(made, LinearMixer)
    for parameter in made.parameters():
        nn.init.uniform_(parameter, -0.8, 0.8)
    return made


def test_each_linear_mixer_has_a_reference():
    linear = [name for name in RECURRENCES if name not in ("lstm", "gru")]
    assert linear == [*MIXERS]


@pytest.mark.parametrize(("heads", "size"), [(1, 8), (2, 8), (4, 8), (3, 7), (5, 3)])
@pytest.mark.parametrize("kind", MIXERS)
@torch.no_grad()
def test_whole_sentences_equal_the_equations(kind, heads, size):
    """Sizes that no number of heads divides too."""
    made, inputs = mixer(kind, heads, size), numbers(2, LENGTH, WIDTH).double()
    mixed, parameters = made.run(inputs).numpy(), arrays(made)
    assert mixed.shape == (2, LENGTH, size)
    for actual, sentence in zip(mixed, inputs.numpy(), strict=True):
        expected = MIXERS[kind](parameters, list(sentence), heads)
        np.testing.assert_allclose(actual, np.array(expected), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", MIXERS)
def test_steps_have_the_gradients_of_whole_sentences(kind):
    made, inputs = mixer(kind), numbers(2, 20, WIDTH).double().requires_grad_()
    learned = [inputs, *made.parameters()]
    state, steps = made.start(2, inputs), []
    for place in range(inputs.shape[1]):
        mixed, state = made.step(inputs[:, place], state)
        steps.append(mixed)
    whole, direction = made.run(inputs), numbers(2, 20, 8, seed=1).double()
    one, other = (
        torch.autograd.grad(result, learned, direction) for result in (whole, torch.stack(steps, 1))
    )
    for ours, theirs in zip(one, other, strict=True):
        assert ours.any()
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("length", [1, 3, 9])
def test_a_convolution_has_the_gradients_of_its_formula(length, monkeypatch):
    """Compiled code has the formula itself."""
    convolution = ShortConvolution(5).double()
    learned = [random(2, length, 5), random(2, 3, 5, seed=1), *convolution.parameters()]

    def convolved(inputs, recent, *_):
        return convolution(inputs, recent)[0]

    def formula(*given):
        with monkeypatch.context() as patched:
            patched.setattr(torch.compiler, "is_compiling", lambda: True)
            return convolved(*given)

    both(convolved, formula, learned, 1e-9)


@pytest.mark.parametrize("kind", MIXERS)
@torch.no_grad()
def test_a_state_does_not_grow(kind):
    made, inputs = mixer(kind), numbers(3, 50, WIDTH).double()
    state = made.start(3, inputs)
    for place in range(50):
        _, state = made.step(inputs[:, place], state)
    assert state.matrix.shape == (3, 2, made.key_size, made.value_size)
    assert state.recent is None or state.recent.numel() <= 3 * 3 * 40


@pytest.mark.parametrize("kind", MIXERS)
def test_half_precision_is_near_float32(kind):
    made, inputs = mixer(kind).float(), numbers(2, 30, WIDTH)
    with torch.no_grad():
        expected = made.run(inputs)
        with torch.autocast("cpu", torch.bfloat16):
            whole, state, steps = made.run(inputs), made.start(2, inputs), []
            for place in range(30):
                mixed, state = made.step(inputs[:, place], state)
                steps.append(mixed)
    assert state.matrix.dtype == torch.float32
    for actual in (whole, torch.stack(steps, 1)):
        torch.testing.assert_close(actual.float(), expected, rtol=0.1, atol=0.1)


def test_first_decays_keep_most_of_the_state():
    torch.manual_seed(0)
    decay = SelectiveDecay(1000)
    steps, log_decays = decay(torch.zeros(1, 1, 1000))
    assert 0.001 <= steps.min() <= steps.max() <= 0.1001
    assert -1.601 <= log_decays.min() <= log_decays.max() <= -0.0009
    terms, _, _ = GatedLinearAttention(WIDTH, 2, 8).terms(numbers(4, 9, WIDTH), None)
    assert terms.log_decays.exp().min() > 0.9


@pytest.mark.parametrize("kind", MIXERS)
def test_linear_recurrences_are_compiled_and_checkpointed_but_not_packed(kind):
    model = transformer(encoder_mixer=kind, decoder_mixer=kind)
    assert len([*model.layers()]) == 4
    assert "a recurrence" in str(model.cannot_pack())
    assert model.cannot_capture() is None


def test_shipped_systems_have_as_many_parameters_as_the_transformer():
    """With the vocabularies of the built-in corpus; two files for each recurrence."""
    mixers = {name: configuration(f"model={name}").model.get("decoder_mixer") for name in NAMES}
    shipped = ["transformer", *(name for name, kind in mixers.items() if kind in MIXERS)]
    assert len(shipped) == 1 + 2 * len(MIXERS)
    counts = [
        count_parameters(build_model(configuration(f"model={name}"), 479, 821)) for name in shipped
    ]
    assert max(counts) <= 1.02 * min(counts), dict(zip(shipped, counts, strict=True))
