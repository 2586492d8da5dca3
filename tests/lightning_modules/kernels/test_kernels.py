"""Every fast path against its plain formula: numbers, gradients, and saved memory."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.functional import linear as plain_linear
from torch.utils._python_dispatch import TorchDispatchMode

from lightning_modules.kernels import (
    accumulate_once,
    additive_energies,
    chunked,
    linear,
    output_loss,
    weighted_sum,
)
from lightning_modules.kernels.rnn import run_on_cpu, run_packed
from lightning_modules.variants.recurrent.cells import (
    CellState,
    build_stack,
    find_cell,
    has_cell_state,
)
from tests.helpers.variants import ALL, sentences, small_model, targets

TYPES = {torch.float32: 1e-6, torch.float64: 1e-12}


class Largest(TorchDispatchMode):
    """Record the size of the largest new tensor."""

    numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor):
            self.numbers = max(self.numbers, made.untyped_storage().nbytes() // made.itemsize)
        return made


def random(*shape, dtype=torch.float64, seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    values = torch.randn(*shape, generator=generator, dtype=torch.float64) * scale
    return values.to(dtype).requires_grad_()


def both(fast, plain, inputs, tolerance):
    """Compare results and the gradients of all inputs, at a random direction."""
    actual, expected = fast(*inputs), plain(*inputs)
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)
    direction = torch.randn(expected.shape, dtype=torch.float64).to(expected.dtype)
    gradients = [torch.autograd.grad(out, inputs, direction) for out in (actual, expected)]
    for ours, theirs in zip(*gradients, strict=True):
        scale = max(1.0, float(theirs.abs().max()))
        torch.testing.assert_close(ours / scale, theirs / scale, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("positions", [1, 7, 8, 20])
def test_output_loss_equals_cross_entropy(positions, smoothing, dtype, monkeypatch):
    monkeypatch.setattr(chunked, "LOSS_ROWS", 7)
    goal = torch.randint(0, 11, (positions,), generator=torch.Generator().manual_seed(1))
    inputs = [
        random(positions, 5, dtype=dtype),
        random(11, 5, dtype=dtype),
        random(11, dtype=dtype),
    ]
    both(
        lambda x, w, b: output_loss(x, w, b, goal, smoothing),
        lambda x, w, b: cross_entropy(plain_linear(x, w, b), goal, label_smoothing=smoothing),
        inputs,
        TYPES[dtype],
    )


def test_output_loss_of_a_tied_table_adds_to_the_gradient_of_the_embedding():
    table, bias, goal = random(11, 5), random(11), torch.tensor([3, 4, 3])
    both(
        lambda w, b: output_loss(w[[1, 2, 3]], w, b, goal, 0.1),
        lambda w, b: cross_entropy(plain_linear(w[[1, 2, 3]], w, b), goal, label_smoothing=0.1),
        [table, bias],
        1e-12,
    )


def test_output_loss_under_autocast_and_without_gradients():
    given = [random(*shape, dtype=torch.float32) for shape in ((40, 16), (50, 16), (50,))]
    features, weight, bias = given
    goal = torch.arange(40)
    expected = cross_entropy(plain_linear(features, weight, bias), goal)
    with torch.no_grad():
        torch.testing.assert_close(output_loss(features, weight, bias, goal, 0.0), expected)
    with torch.autocast("cpu", torch.bfloat16):
        loss = output_loss(features, weight, bias, goal, 0.0)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, expected, rtol=0.02, atol=0)
    loss.backward()
    for tensor in given:
        assert tensor.grad.dtype == torch.float32
        (true,) = torch.autograd.grad(expected, tensor, retain_graph=True)
        assert (
            torch.nn.functional.cosine_similarity(tensor.grad.flatten(), true.flatten(), 0) > 0.99
        )


def test_output_loss_says_so_when_asked_for_its_gradient_twice():
    loss = output_loss(random(3, 4), random(5, 4), random(5), torch.tensor([0, 1, 2]), 0.0)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="have been used"):
        loss.backward()


def test_output_loss_never_holds_all_logits():
    features, weight, bias = random(4096, 8), random(3000, 8), random(3000)
    with Largest() as largest:
        output_loss(features, weight, bias, torch.arange(4096) % 3000, 0.1).backward()
    assert largest.numbers == chunked.LOSS_ROWS * 3000


def plain_additive(query, keys, energy):
    return (query.unsqueeze(-2) + keys.unsqueeze(-3)).tanh() @ energy


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("chunk", [1, 70, 1 << 18])
@pytest.mark.parametrize("leading", [(3,), (2, 3)])
@pytest.mark.parametrize("lengths", [(1, 1), (1, 6), (5, 4)])
def test_additive_equals_the_formula(lengths, leading, chunk, dtype, monkeypatch):
    monkeypatch.setattr(chunked, "HIDDEN_NUMBERS", chunk)
    tgt, src = lengths
    inputs = [random(*leading, tgt, 8), random(*leading, src, 8), random(8)]
    inputs = [tensor.detach().to(dtype).requires_grad_() for tensor in inputs]
    both(additive_energies, plain_additive, inputs, TYPES[dtype])


def test_additive_passes_gradcheck():
    torch.autograd.gradcheck(additive_energies, [random(2, 3, 4), random(2, 5, 4), random(4)])


def test_additive_never_holds_the_hidden_layer():
    query, keys, energy = (
        random(*s, dtype=torch.float32) for s in ((8, 60, 64), (8, 50, 64), (64,))
    )
    with Largest() as largest:
        additive_energies(query, keys, energy).sum().backward()
    whole = 8 * 60 * 50 * 64
    assert largest.numbers <= chunked.HIDDEN_NUMBERS < whole / 5


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
    stack = build_stack(kind, 7, 5, layers, dropout=0.0).to(dtype)
    inputs = random(3, 6, 7, dtype=dtype)
    states = tuple(random(3, 5, dtype=dtype, seed=n) for n in range(layers))
    start = CellState(states, states if has_cell_state(kind) else None)
    whole = stack.run(inputs, start)

    unrolled_stack, moved, unrolled = stack.unroll(inputs[..., :known]), start, []
    one, stepped = start, []
    for position in range(6):
        unknown = inputs[:, position, known:] if known < 7 else None
        moved = unrolled_stack.advance(position, unknown, moved)
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
def test_training_has_the_gradients_of_the_plain_steps(name):
    """``decode``, with its work before the loop, against successive calls of ``step``."""
    model = small_model(name).double()
    src, mask = sentences([5, 3, 9])
    tgt = targets(3, 6)
    memory = model.encode(src, mask)
    whole = model.logits(model.decode(memory, tgt).features)
    state, steps = model.initial_state(memory), []
    for token in tgt.unbind(1):
        step = model.step(memory, state, token)
        state = step.state
        steps.append(model.logits(step.features))
    direction = torch.randn(whole.shape, dtype=whole.dtype)
    gradients = [
        torch.autograd.grad(
            out, list(model.parameters()), direction, retain_graph=True, allow_unused=True
        )
        for out in (whole, torch.stack(steps, 1))
    ]
    for ours, theirs in zip(*gradients, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            scale = max(1.0, float(theirs.abs().max()))
            torch.testing.assert_close(ours / scale, theirs / scale, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("lengths", [[5, 5, 5], [2, 6, 3, 6], [1, 4], [7]])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_the_cpu_rnn_equals_packed_sequences(kind, bidirectional, lengths, dtype):
    torch.manual_seed(0)
    rnn = kind(4, 5, 2, batch_first=True, bidirectional=bidirectional).to(dtype)
    inputs = random(len(lengths), max(lengths) + 1, 4, dtype=dtype)  # a column of padding alone
    counts = torch.tensor(lengths)
    learned = [inputs, *rnn.parameters()]
    results = []
    for run in (run_on_cpu, run_packed):
        parts = [part for part in run(rnn, inputs, counts) if part is not None]
        directions = [torch.linspace(-1, 1, part.numel()).view_as(part).to(dtype) for part in parts]
        results.append((parts, torch.autograd.grad(parts, learned, directions)))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=10 * TYPES[dtype])


def test_the_cpu_rnn_drops_between_the_layers_only():
    rnn = nn.LSTM(4, 5, 2, batch_first=True, dropout=0.999)
    inputs, lengths = random(2, 6, 4, dtype=torch.float32), torch.tensor([6, 4])
    dropped = run_on_cpu(rnn.train(), inputs, lengths)
    kept = run_on_cpu(rnn.eval(), inputs, lengths)
    torch.testing.assert_close(dropped.hidden[0], kept.hidden[0])
    assert not torch.allclose(dropped.hidden[1], kept.hidden[1])
