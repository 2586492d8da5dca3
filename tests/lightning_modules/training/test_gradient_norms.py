"""The gradient norms of a training, which are read from the device with its losses."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from lightning_modules.training.losses import TrainingLosses


def batch() -> Any:
    return SimpleNamespace(update_tokens=2, ids=torch.tensor([0]))


def test_norms_are_summed_over_readings_without_those_that_overflow():
    losses = TrainingLosses()
    for update, norm in enumerate((3.0, math.inf, 1.5), start=1):
        losses.add(torch.tensor(1.0), batch(), update)
        losses.add_norm(torch.tensor(norm))
        losses.read()
    assert losses.norms == (4.5, 2)
    assert losses.total == 6.0
    assert losses.broken == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_losses_without_clipping_have_no_norms(dtype):
    losses = TrainingLosses()
    losses.add(torch.tensor(0.1, dtype=dtype), batch(), 1)
    losses.read()
    assert losses.norms == (0.0, 0)
    assert losses.total == 2 * float(torch.tensor(0.1, dtype=dtype))
