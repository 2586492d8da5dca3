"""Matrices shared by the steps of a loop, and loops over recurrent cells."""

import pytest
import torch

from lightning_modules.kernels.shared import accumulate_once, linear, weighted_sum
from lightning_modules.variants.recurrent.cells import (
    CellState,
    build_stack,
    find_cell,
    has_cell_state,
)
from tests.helpers.gradients import TYPES, both, random
from tests.helpers.variants import ALL, sentences, small_model, targets


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("other_use", [False, True])
def test_shared_matrices_equal_plain_ones(other_use, dtype):
    """In a loop over three steps, where each step needs the step before."""

    def loop(matrix, keys, start):
        hidden = start
        for _ in range(3):
            weights = linear(hidden.unsqueeze(1), keys).softmax(-1)
            hidden = linear(weighted_sum(weights, keys).squeeze(1), matrix, onto=hidden).tanh()
        return hidden + matrix.sum() + keys.mean() if other_use else hidden

    inputs = [random(6, 6, dtype=dtype), random(4, 5, 6, dtype=dtype), random(4, 6, dtype=dtype)]
    both(
        lambda m, k, s: loop(accumulate_once(m), accumulate_once(k), s), loop, inputs, TYPES[dtype]
    )


def test_a_shared_matrix_is_the_matrix_where_nothing_is_learned():
    matrix = random(3, 3)
    with torch.no_grad():
        assert accumulate_once(matrix) is matrix
    fixed = matrix.detach()
    assert accumulate_once(fixed) is fixed


def test_shared_matrices_may_be_walked_back_twice():
    matrix, inputs = random(4, 3), random(2, 3)
    shared = accumulate_once(matrix)
    out = (linear(inputs, shared) + linear(2 * inputs, shared)).sum()
    first, second = (torch.autograd.grad(out, matrix, retain_graph=True)[0] for _ in range(2))
    torch.testing.assert_close(first, second)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("known", [4, 7])
@pytest.mark.parametrize("cell", ["lstm", "gru", "gru_2014"])
def test_unrolled_cells_equal_the_whole_run_and_its_steps(cell, known, layers, dtype):
    torch.manual_seed(0)
    kind = find_cell(cell)
    stack = build_stack(kind, 7, 5, layers, 0.0).to(dtype)
    inputs = random(3, 6, 7, dtype=dtype)
    states = tuple(random(3, 5, dtype=dtype, seed=n) for n in range(layers))
    start = CellState(states, states if has_cell_state(kind) else None)
    whole = stack.run(inputs, start)

    loop, moved, unrolled = stack.unroll(inputs[..., :known]), start, []
    one, stepped = start, []
    for position in range(6):
        unknown = inputs[:, position, known:] if known < 7 else None
        moved = loop(position, unknown, moved)
        one = stack.advance(inputs[:, position], one)
        unrolled.append(moved.top)
        stepped.append(one.top)

    learned = [inputs, *states, *stack.parameters()]
    direction = torch.randn(whole.shape, dtype=dtype)
    outputs = [whole, torch.stack(unrolled, 1), torch.stack(stepped, 1)]
    gradients = [torch.autograd.grad(out, learned, direction) for out in outputs]
    for out, gradient in zip(outputs[1:], gradients[1:], strict=True):
        torch.testing.assert_close(out, whole, rtol=TYPES[dtype], atol=TYPES[dtype])
        for ours, theirs in zip(gradient, gradients[0], strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=10 * TYPES[dtype])


@pytest.mark.parametrize("name", ALL)
def test_training_has_the_numbers_and_gradients_of_the_plain_steps(name):
    """``decode``, with its work before the loop, against successive calls of ``step``."""
    model = small_model(name).double()
    src, mask = sentences([5, 3, 9, 1])
    tgt = targets(4, 12)
    memory = model.encode(src, mask)
    decoded = model.decode(memory, tgt)
    whole = model.logits(decoded.features)
    state, steps = model.initial_state(memory), []
    for token in tgt.unbind(1):
        steps.append(model.step(memory, state, token))
        state = steps[-1].state
    stacked = torch.stack([model.logits(step.features) for step in steps], 1)
    torch.testing.assert_close(stacked, whole, rtol=0, atol=1e-10)
    if decoded.weights is not None:
        weights = torch.stack([step.weights for step in steps if step.weights is not None], 1)
        torch.testing.assert_close(weights, decoded.weights, rtol=0, atol=1e-10)
    direction = torch.randn(whole.shape, dtype=whole.dtype)
    gradients = [
        torch.autograd.grad(
            out, list(model.parameters()), direction, retain_graph=True, allow_unused=True
        )
        for out in (whole, stacked)
    ]
    for ours, theirs in zip(*gradients, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            scale = max(1.0, float(theirs.abs().max()))
            torch.testing.assert_close(ours / scale, theirs / scale, rtol=0, atol=1e-12)
