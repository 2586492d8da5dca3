"""Packed sentences on a GPU: the numbers of padded sentences, in float32 and in bfloat16."""

import pytest
import torch

from datamodules.batching import Batch
from lightning_modules.kernels.choice import PLAIN, Kernels, has_triton, use_kernels
from lightning_modules.variants.base import move
from tests.gpu.test_on_gpus import GPU, losses_of, one_gpu
from tests.helpers.streams import packed_batch
from tests.lightning_modules.variants.test_packed_transformer import KINDS, ROOM, training

LENGTHS = [([7, 3, 5, 6], [8, 2, 5, 7]), ([4, 12, 2, 9, 1, 1, 3], [3, 9, 6, 11, 2, 1, 4])]
needs_triton = pytest.mark.skipif(not has_triton(), reason="Triton is not installed")


@pytest.fixture(params=["operators", "compiled"])
def packing(request):
    use_kernels(Kernels(packed=True))
    torch.compiler.reset()
    yield request.param == "compiled"
    use_kernels(PLAIN)


def found(trained, batch: Batch, autocast: bool = False):
    """Return the loss and the gradients, all on the CPU."""
    device = trained.model.device
    with torch.autocast(device.type, torch.bfloat16, enabled=autocast):
        loss = trained.loss(move(batch, device), 0.1)
    parameters = dict(trained.model.named_parameters())
    gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    named = zip(parameters, gradients, strict=True)
    return loss.item(), {name: grad.float().cpu() for name, grad in named if grad is not None}


def error(ours, theirs) -> float:
    """Return the share of the difference of all gradients in their norm."""
    one, other = (torch.cat([each[name].flatten() for name in theirs]) for each in (ours, theirs))
    return float((one - other).norm() / other.norm())


@needs_triton
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("device", [GPU])
def test_packed_gradients_equal_padded_gradients_of_the_cpu(device, kind, packing):
    trained = training(kind).float()
    batches = [packed_batch(*lengths, ROOM) for lengths in LENGTHS]
    expected = [found(trained, batch._replace(packed=None)) for batch in batches]
    trained.to(device)
    if packing:
        trained.model.compile_blocks(mode="default")
    for batch, (loss, gradients) in zip(batches, expected, strict=True):
        ours, of_ours = found(trained, batch)
        assert ours == pytest.approx(loss, rel=1e-5)
        assert of_ours.keys() == gradients.keys()
        assert error(of_ours, gradients) < 1e-4


@needs_triton
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("device", [GPU])
def test_packed_bfloat16_is_within_the_errors_of_bfloat16(device, kind, packing):
    trained = training(kind).float().to(device)
    batch = packed_batch(*LENGTHS[1], ROOM)
    padded = batch._replace(packed=None)
    loss, gradients = found(trained, padded)
    _, of_padded = found(trained, padded, autocast=True)
    if packing:
        trained.model.compile_blocks(mode="default")
    ours, of_ours = found(trained, batch, autocast=True)
    assert ours == pytest.approx(loss, rel=0.02)
    assert error(of_ours, gradients) < 2 * error(of_padded, gradients)


@needs_triton
@pytest.mark.parametrize("device", [one_gpu])
def test_a_packed_training_has_the_losses_of_a_padded_training(tmp_path, device):
    padded, packed = (
        losses_of(tmp_path, name, "model=transformer", f"packed={choice}", *device)
        for name, choice in (("padded", "false"), ("packed", "true"))
    )
    assert packed == pytest.approx(padded, rel=1e-4)
