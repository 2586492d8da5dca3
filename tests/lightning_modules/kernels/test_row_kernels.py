"""Triton's kernels of rows against their formulas in float64, and in losses, loops and searches.

Without a GPU, Triton's interpreter runs them.
"""

from typing import Any
from unittest.mock import Mock

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.nn.functional import linear as plain_linear

from datamodules.tokenization import BOS, PAD
from lightning_modules.decoding.search import IMPOSSIBLE, best_tokens
from lightning_modules.kernels import choice
from lightning_modules.kernels.additive_rows import share_additive_keys
from lightning_modules.kernels.choice import PLAIN, computes_by_rows, use_kernels
from lightning_modules.kernels.chunked import additive_energies, output_loss
from tests.helpers.gradients import random
from tests.helpers.variants import small_model
from tests.lightning_modules.training.test_training import batch

ERRORS = {torch.float32: 1e-6, torch.bfloat16: 8e-3, torch.float16: 1e-3}
"""Largest error, as a share of the norm, by the type of the numbers; the interpreter truncates."""


def error(ours, theirs) -> float:
    """Return the share of the difference in the norm of ``theirs``, float64."""
    difference = ours.detach().cpu().double() - theirs.detach()
    return float(difference.norm() / theirs.detach().norm())


def numbers(*shape, device="cpu", dtype=torch.float32, **options):
    """Random numbers of a type on a device, and the same in float64 on the CPU; both learn."""
    rounded = random(*shape, **options).detach().to(dtype)
    exact = rounded.double().requires_grad_()
    return rounded.to(device).requires_grad_(), exact


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("width", "block"), [(11, 8192), (1000, 256)])
@pytest.mark.parametrize("dtype", ERRORS)
def test_loss_and_gradient_of_rows(rows, dtype, width, block, smoothing):
    from lightning_modules.kernels.row_kernels import loss_rows

    logits, exact = numbers(9, width, device=rows, dtype=dtype, scale=3)
    goal = torch.arange(9) * 7 % width
    goal[4] = -1
    real = goal >= 0
    losses = cross_entropy(exact[real], goal[real], label_smoothing=smoothing, reduction="none")
    losses.sum().backward()
    wide = logits.detach().new_zeros(9, width + 5)  # rows with a gap between them
    given = wide[:, :width].copy_(logits.detach())
    found = loss_rows(given, goal.to(rows), smoothing, block).cpu()
    assert found.dtype == torch.float32
    assert error(found[real], losses) < 1e-6
    assert error(given, exact.grad) < ERRORS[dtype]
    assert found[4] == 0
    assert not given[4].any()
    assert not wide[:, width:].any()


@pytest.mark.parametrize("padded", [False, True])
def test_output_loss_by_rows(rows, padded):
    goal = torch.randint(0, 11, (20,), generator=torch.Generator().manual_seed(1))
    if padded:
        goal[[0, 7]] = -1
    pairs = [numbers(20, 5, device=rows), numbers(11, 5, device=rows), numbers(11, device=rows)]
    ours, (features, weight, bias) = ([*tensors] for tensors in zip(*pairs, strict=True))
    real = goal >= 0
    count = real.sum().to(rows) if padded else None
    loss = output_loss(ours[0], ours[1], ours[2], goal.to(rows), 0.1, count)
    exact = cross_entropy(
        plain_linear(features[real], weight, bias), goal[real], label_smoothing=0.1
    )
    loss.backward()
    exact.backward()
    assert error(loss, exact) < 1e-6
    for mine, theirs in pairs:
        assert error(mine.grad, theirs.grad) < 1e-6


@pytest.mark.usefixtures("new_memory_is_nan")
def test_output_loss_by_rows_under_autocast(rows):
    pairs = [numbers(40, 16, device=rows), numbers(50, 16, device=rows), numbers(50, device=rows)]
    ours, (features, weight, bias) = ([*tensors] for tensors in zip(*pairs, strict=True))
    goal = torch.arange(40)
    with torch.autocast(rows, torch.bfloat16):
        loss = output_loss(ours[0], ours[1], ours[2], goal.to(rows), 0.1)
    exact = cross_entropy(plain_linear(features, weight, bias), goal, label_smoothing=0.1)
    loss.backward()
    exact.backward()
    assert loss.dtype == torch.float32
    assert error(loss, exact) < 0.01
    for mine, theirs in pairs:
        assert mine.grad.dtype == torch.float32
        assert error(mine.grad, theirs.grad) < 0.02


@pytest.fixture
def new_memory_is_nan():
    """Fill new tensors with NaN: oneDNN multiplies the gap between two rows of bfloat16 by 0."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("width", "count"), [(5000, 3), (40, 16), (7, 5)])
def test_best_tokens_of_rows(rows, width, count, dtype):
    from lightning_modules.kernels.row_kernels import best_of_rows

    logits, exact = numbers(3, width, device=rows, dtype=dtype, scale=3)
    scores, tokens = best_of_rows(logits.detach(), count, 2)
    logs = exact.detach().clone()
    logs[:, :2] = -torch.inf
    logs = logs.log_softmax(1)
    assert torch.equal(logs.gather(1, tokens.cpu()), logs.topk(count).values)  # maybe other ties
    assert error(scores, logs.topk(count).values) < 1e-6
    assert all(len(set(row)) == count for row in tokens.tolist())


def test_of_equal_logits_the_first_is_the_best_and_few_leave_places_empty(rows):
    from lightning_modules.kernels.row_kernels import best_of_rows

    logits = torch.tensor([[9.0, 9, 1, 3, 3, 1, 3]], device=rows)
    _, tokens = best_of_rows(logits, 6, 2)
    assert tokens[0, :5].tolist() == [3, 4, 6, 2, 5]
    scores, tokens = best_of_rows(logits[:, :4], 3, 2)
    assert scores[0].isfinite().tolist() == [True, True, False]
    assert 0 <= tokens[0, 2] < 4
    scores, tokens = best_of_rows(logits.T.contiguous().T, 1, 2)
    assert tokens.tolist() == [[3]]


def test_the_impossible_tokens_are_the_first_of_a_vocabulary():
    assert (PAD, BOS) == IMPOSSIBLE == tuple(range(len(IMPOSSIBLE)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("leading", "tgt", "src", "size"), [((2,), 1, 5, 7), ((1, 2), 1, 4, 130), ((1,), 2, 18, 130)]
)
def test_additive_energies_by_rows(rows, tgt, src, size, leading, dtype):
    shapes = (*leading, tgt, size), (*leading, src, size), (size,)
    pairs = [numbers(*shape, device=rows, dtype=dtype) for shape in shapes]
    ours, (query, keys, energy) = ([*tensors] for tensors in zip(*pairs, strict=True))
    found = additive_energies(*ours)
    exact = (query.unsqueeze(-2) + keys.unsqueeze(-3)).tanh() @ energy
    assert found.dtype == torch.float32
    assert error(found, exact) < 1e-6
    direction = random(*exact.shape).detach().float()
    found.backward(direction.to(rows))
    exact.backward(direction.double())
    for mine, theirs in pairs:
        assert mine.grad.dtype == dtype
        assert error(mine.grad, theirs.grad) < ERRORS[dtype]


@pytest.mark.parametrize("other_use", [False, True])
def test_a_loop_computes_the_gradient_of_its_keys_once(rows, other_use, monkeypatch):
    from lightning_modules.kernels import row_kernels

    calls = []
    keys_gradient = row_kernels.keys_gradient

    def noted(query, *others):
        calls.append(query.shape[1])
        return keys_gradient(query, *others)

    monkeypatch.setattr(row_kernels, "keys_gradient", noted)

    def loop(query, keys, shared, energy):
        for _ in range(3):
            query = additive_energies(query, shared, energy).softmax(-1) @ keys
        return query.sum() + (shared.square().sum() if other_use else 0)

    pairs = [numbers(*shape, device=rows) for shape in ((2, 1, 6), (2, 5, 6), (6,))]
    (query, keys, energy), others = ([*tensors] for tensors in zip(*pairs, strict=True))
    found = loop(query, keys, share_additive_keys(keys, energy), energy)
    exact = loop(others[0], others[1], others[1], others[2])
    assert error(found, exact) < 1e-6
    found.backward()
    exact.backward()
    assert calls == [3]
    for mine, theirs in pairs:
        assert error(mine.grad, theirs.grad) < 2e-6


@pytest.mark.parametrize("fixed", [1, 2])
def test_keys_and_energy_may_be_fixed(rows, fixed):
    given = [random(*shape, dtype=torch.float32) for shape in ((2, 1, 6), (2, 5, 6), (6,))]
    given = [tensor.detach().to(rows).requires_grad_(n != fixed) for n, tensor in enumerate(given)]
    shared = share_additive_keys(given[1], given[2])
    additive_energies(given[0], shared, given[2]).square().sum().backward()
    assert [tensor.grad is None for tensor in given] == [n == fixed for n in range(3)]


def test_without_gradients_keys_are_shared_as_they_are(rows):
    keys, energy = (random(*shape, dtype=torch.float32).to(rows) for shape in ((2, 5, 6), (6,)))
    with torch.no_grad():
        assert share_additive_keys(keys, energy) is keys


def losses_and_gradients(model, device) -> list[Any]:
    model.zero_grad()
    padded = batch([2, 3])
    memory = model.encode(*(part.to(device) for part in padded.source))
    features = model.decode(memory, padded.tgt_in.to(device)).features
    loss = model.loss(*padded.real_targets(features), 0.1)
    loss.backward()
    return [loss, *(p.grad for p in model.parameters() if p.grad is not None)]


@pytest.mark.parametrize(
    "name",
    [
        "bahdanau",
        "luong_general",
        *(
            pytest.param(n, marks=pytest.mark.long)
            for n in ("luong_gru", "bahdanau_2014", "transformer")
        ),
    ],
)
def test_an_update_by_rows(rows, name):
    model = small_model(name, "model.dropout=0").train().to(rows)
    ours = losses_and_gradients(model, rows)
    use_kernels(PLAIN)
    theirs = losses_and_gradients(model.double().cpu(), "cpu")
    assert len(ours) == len(theirs)
    for mine, exact in zip(ours, theirs, strict=True):
        exact = exact.detach()
        scale = max(float(exact.abs().max()), 1e-2)
        difference = mine.detach().cpu().double() - exact
        assert difference.abs().max() < 2e-5 * scale


def test_the_best_tokens_of_a_search_by_rows(rows):
    model = small_model("seq2seq").to(rows)
    features = random(5, model.features_size, dtype=torch.float32).detach().to(rows)
    with torch.no_grad():
        ours = best_tokens(model, features, 3)
        use_kernels(PLAIN)
        scores, tokens = best_tokens(model, features, 3)
    torch.testing.assert_close(ours[0], scores)
    assert ours[1].equal(tokens)


def test_other_types_and_devices_and_plain_kernels_are_left_to_torch(rows, monkeypatch):
    given = torch.zeros(1, device=rows)
    assert computes_by_rows(given)
    assert not computes_by_rows(given.double())
    assert not computes_by_rows(given.to("meta"))
    with monkeypatch.context() as compiled:
        compiled.setattr(torch.compiler, "is_compiling", lambda: True)
        assert not computes_by_rows(given)
    use_kernels(PLAIN)
    assert not computes_by_rows(given)


@pytest.mark.parametrize("current", [0, 1])
def test_only_the_current_gpu_computes_by_rows(rows, current, monkeypatch):
    tensor = Mock(device=torch.device("cuda", 1), dtype=torch.float32, is_cpu=False)
    tensor.get_device.return_value = 1
    monkeypatch.setattr(choice, "DEVICE_OF_TRITON", "cuda")
    monkeypatch.setattr(torch.cuda, "current_device", lambda: current)
    assert computes_by_rows(tensor) == (current == 1)
