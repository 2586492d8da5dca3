"""Triton's kernels of gates against the gates by torch's operators, in float64."""

import pytest
import torch

from lightning_modules.kernels.choice import PLAIN, use_kernels
from lightning_modules.variants.recurrent.cells import GruGates, LstmGates
from tests.helpers.gradients import random

ERRORS = {torch.float32: 1e-6, torch.bfloat16: 1e-2}
"""Largest difference from float64, by the type of the gates."""


def check(gates, shapes, types, device):
    """Compare results and gradients by the kernels with those of torch's operators."""
    given = [random(*shape).detach().to(dtype) for shape, dtype in zip(shapes, types, strict=True)]
    exact = [tensor.double().requires_grad_() for tensor in given]
    plain = [tensor.clone() for tensor in given]
    ours = [tensor.to(device).requires_grad_() for tensor in given]
    found = gates(*ours)
    use_kernels(PLAIN)
    expected, of_torch = gates(*exact), gates(*plain)
    if isinstance(found, torch.Tensor):
        found, expected, of_torch = (found,), (expected,), (of_torch,)
    assert [result.dtype for result in found] == [result.dtype for result in of_torch]
    within = max(ERRORS[dtype] for dtype in types)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine.detach().cpu().double(), theirs, atol=within, rtol=within)
    sum((n + 1) * result.double().square().sum() for n, result in enumerate(found)).backward()
    sum((n + 1) * result.square().sum() for n, result in enumerate(expected)).backward()
    for mine, theirs in zip(ours, exact, strict=True):
        assert mine.grad.dtype == mine.dtype
        torch.testing.assert_close(
            mine.grad.cpu().double(), theirs.grad, atol=10 * within, rtol=10 * within
        )


@pytest.mark.parametrize("size", [5, 600])
@pytest.mark.parametrize("cell", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("dtype", ERRORS)
def test_gates_of_an_lstm(rows, dtype, cell, size):
    check(LstmGates(), ((3, 4 * size), (3, size)), (dtype, cell), rows)


@pytest.mark.parametrize("size", [5, 600])
@pytest.mark.parametrize("hidden", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("dtype", ERRORS)
def test_gates_of_a_gru(rows, dtype, hidden, size):
    check(GruGates(), ((3, 3 * size), (3, 3 * size), (3, size)), (dtype, dtype, hidden), rows)


def test_a_cell_state_that_nothing_reads_has_no_gradient_of_its_own(rows):
    given = [random(*shape, dtype=torch.float32) for shape in ((2, 20), (2, 5))]
    gates, cell = (tensor.detach().to(rows).requires_grad_() for tensor in given)
    hidden, _ = LstmGates()(gates, cell)
    hidden.sum().backward()
    use_kernels(PLAIN)
    LstmGates()(*given)[0].sum().backward()
    torch.testing.assert_close(gates.grad.cpu(), given[0].grad)
    torch.testing.assert_close(cell.grad.cpu(), given[1].grad)
