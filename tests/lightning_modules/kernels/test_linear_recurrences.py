"""Linear recurrences: the equation against NumPy, and its form in chunks against the equation."""

from itertools import product

import numpy as np
import pytest
import torch

from lightning_modules.kernels import linear_recurrences
from lightning_modules.kernels.choice import PLAIN, Kernels, has_flash, use_kernels
from lightning_modules.kernels.linear_recurrences import Terms, advance, run, zero_state
from tests.helpers.gradients import TYPES, both, random

ROWS, HEADS, KEY, VALUE = 2, 3, 4, 5
RULES = list(product((1, KEY), (False, True)))
"""Numbers of each decay, and whether the state learns by the delta rule."""
LENGTHS = [1, 2, 15, 16, 17, 40, 64, 65, 130]


def terms_of(length, decays=1, delta=False, dtype=torch.float64, strength_of_decay=1.0):
    """Random terms, as a mixer would make them: unit keys, decays and strengths of 0 to 1."""
    at = (ROWS, HEADS, length)
    queries, values = (random(*at, size, dtype=dtype) for size in (KEY, VALUE))
    keys = torch.nn.functional.normalize(random(*at, KEY, dtype=dtype, seed=1), dim=-1)
    log_decays = -strength_of_decay * random(*at, decays, dtype=dtype, seed=2).exp()
    strengths = random(*at, 1, dtype=dtype, seed=3).sigmoid() if delta else None
    made = (queries, keys, values, log_decays, strengths)
    return [part.detach().requires_grad_() for part in made if part is not None]


def step_by_step(*terms):
    """Return the results of the equation, one position after the other."""
    state, results = zero_state(ROWS, HEADS, KEY, VALUE, terms[0]), []
    for place in range(terms[0].shape[2]):
        result, state = advance(Terms(*(part[:, :, place] for part in terms)), state)
        results.append(result)
    return torch.stack(results, 2)


def in_chunks(*terms):
    return run(Terms(*terms))


def by_hand(queries, keys, values, log_decays, strengths=None):
    """The equation for one head with NumPy, from arrays ``(positions, …)``."""
    state, results = np.zeros((KEY, VALUE)), []
    for place, (query, key, value) in enumerate(zip(queries, keys, values, strict=True)):
        state = np.diag(np.broadcast_to(np.exp(log_decays[place]), KEY)) @ state
        if strengths is not None:
            value = strengths[place] * (value - state.T @ key)
        state = state + np.outer(key, value)
        results.append(state.T @ query)
    return np.array(results)


@pytest.mark.parametrize("run", [step_by_step, in_chunks])
@pytest.mark.parametrize(("decays", "delta"), RULES)
def test_both_forms_equal_the_equation(decays, delta, run):
    terms = terms_of(37, decays, delta)
    results = run(*terms).detach().numpy()
    arrays = [part.detach().numpy() for part in terms]
    for row, head in product(range(ROWS), range(HEADS)):
        expected = by_hand(*(part[row, head] for part in arrays))
        np.testing.assert_allclose(results[row, head], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(("decays", "delta"), RULES)
def test_chunks_give_the_numbers_and_gradients_of_single_steps(decays, delta, length, dtype):
    tolerance = 1e-9 if dtype == torch.float64 else 2e-4
    both(in_chunks, step_by_step, terms_of(length, decays, delta, dtype), tolerance)


@pytest.mark.parametrize("strength", [0.0, 1e-6, 30.0, 1e4])
@pytest.mark.parametrize(("decays", "delta"), RULES)
def test_neither_slow_nor_sudden_decay_overflows(decays, delta, strength):
    terms = terms_of(90, decays, delta, torch.float32, strength)
    both(in_chunks, step_by_step, terms, 2e-3)  # sums of strong decays lose digits in float32


@pytest.mark.parametrize(("decays", "delta"), RULES)
def test_results_depend_on_no_later_position(decays, delta):
    terms = terms_of(70, decays, delta)
    earlier = run(Terms(*(part[:, :, :33] for part in terms)))
    torch.testing.assert_close(run(Terms(*terms))[:, :, :33], earlier, rtol=0, atol=1e-9)


def test_without_decay_it_is_attention_without_softmax():
    queries, keys, values, log_decays = terms_of(20, strength_of_decay=0.0)
    expected = (queries @ keys.transpose(-1, -2)).tril() @ values
    actual = run(Terms(queries, keys, values, log_decays))
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-9)


def test_the_delta_rule_returns_the_last_value_of_a_key():
    """Full strength and no decay: the state answers a key with the value written last."""
    keys = torch.eye(KEY, dtype=torch.float64)[[0, 1, 0, 2, 1, 0]].expand(1, 1, -1, -1)
    values = random(1, 1, 6, VALUE).detach()
    one = torch.ones(1, 1, 6, 1, dtype=torch.float64)
    results = run(Terms(keys, keys, values, torch.zeros_like(one), one))
    torch.testing.assert_close(results, values, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("decays", "delta"), RULES)
def test_the_size_of_a_chunk_changes_nothing(decays, delta, monkeypatch):
    terms = Terms(*terms_of(29, decays, delta))
    expected = run(terms)
    for size in (1, 2, 7, 29, 100):
        monkeypatch.setattr(linear_recurrences, "CHUNK", size)
        monkeypatch.setattr(linear_recurrences, "CHUNK_BY_KEY", size)
        torch.testing.assert_close(run(terms), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("length", [1, 20, 130])
def test_compiled_code_solves_for_the_same_numbers_and_gradients(length, monkeypatch):
    def compiled(*terms):
        with monkeypatch.context() as patched:
            patched.setattr(torch.compiler, "is_compiling", lambda: True)
            return in_chunks(*terms)

    both(in_chunks, compiled, terms_of(length, delta=True), 1e-9)


def test_the_delta_rule_is_exact_for_equal_keys():
    """The powers of a matrix of ones are large, and its inverse is small."""
    at = (ROWS, HEADS, 64)
    queries, values = random(*at, KEY, dtype=torch.float32), random(*at, VALUE, dtype=torch.float32)
    keys = torch.full((*at, KEY), KEY**-0.5, requires_grad=True)
    log_decays = torch.full((*at, 1), -1e-3, requires_grad=True)
    strengths = torch.full((*at, 1), 0.99, requires_grad=True)
    both(in_chunks, step_by_step, [queries, keys, values, log_decays, strengths], 2e-4)


@pytest.mark.parametrize("decays", [1, KEY])
@pytest.mark.parametrize("run", [step_by_step, in_chunks])
def test_rows_may_share_decays(decays, run):
    queries, keys, values, log_decays = terms_of(70, decays)
    shared = log_decays[:1]
    expected = run(queries, keys, values, shared.expand(ROWS, -1, -1, -1))
    actual = run(queries, keys, values, shared)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("decays", "delta"), RULES)
def test_half_precision_sums_in_float32(decays, delta):
    terms = terms_of(50, decays, delta, torch.float32)
    half = [part.detach().bfloat16() for part in terms]
    expected = run(Terms(*(part.float() for part in half)))
    with torch.autocast("cpu", torch.bfloat16):
        state = zero_state(ROWS, HEADS, KEY, VALUE, half[0])
        assert state.dtype == torch.float32
        for actual in (run(Terms(*half)), step_by_step(*half)):
            assert actual.dtype == torch.bfloat16
            torch.testing.assert_close(actual.float(), expected, rtol=1e-2, atol=1e-3)


@pytest.fixture
def flash():
    """The kernels of flash-linear-attention, where they can run."""
    if not torch.cuda.is_available() or not has_flash():
        pytest.skip("no CUDA GPU with flash-linear-attention")
    use_kernels(Kernels(flash=True))
    yield
    use_kernels(PLAIN)


@pytest.mark.gpu
@pytest.mark.parametrize("length", [1, 30, 64, 200])
@pytest.mark.parametrize(("decays", "delta"), [(1, False), (32, False), (1, True)])
def test_flash_linear_attention_gives_our_numbers_and_gradients(decays, delta, length, flash):
    at = (2, 4, length)
    keys = torch.nn.functional.normalize(random(*at, 32, seed=1), dim=-1)
    given = [random(*at, 32), keys, random(*at, 64), -random(*at, decays, seed=2).exp() / 16]
    given += [random(*at, 1, seed=3).sigmoid()] if delta else []
    results = []
    for kernels, device, dtype in (
        (Kernels(flash=True), "cuda", torch.float32),
        (PLAIN, "cpu", torch.float64),
    ):
        use_kernels(kernels)
        terms = [part.detach().to(device, dtype).requires_grad_() for part in given]
        made = run(Terms(*terms))
        gradients = torch.autograd.grad(made.sum(), terms)
        results.append([part.cpu().double() for part in (made, *gradients)])
    for theirs, ours in zip(*results, strict=True):
        scale = max(1.0, float(ours.abs().max()))
        torch.testing.assert_close(theirs / scale, ours / scale, rtol=0, atol=0.02)
