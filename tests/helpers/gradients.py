"""Fast forms compared with their plain formulas: numbers, gradients, and the largest tensor."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

TYPES = {torch.float32: 1e-6, torch.float64: 1e-12}  # tolerance by type


class Largest(TorchDispatchMode):
    """Record the size of the largest new tensor."""

    numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor):
            self.numbers = max(self.numbers, made.untyped_storage().nbytes() // made.itemsize)
        return made


def random(*shape, dtype=torch.float64, seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(17)
    values = torch.randn(*shape, generator=generator, dtype=torch.float64) * scale
    return values.to(dtype).requires_grad_()


def both(fast, plain, inputs, tolerance):
    """Compare results, and the gradients of all inputs in one direction as shares of their norms.

    Numbers of a gradient are sums whose parts cancel: in float32, one alone may be less exact. Each
    of the two gradients may differ from the exact one by the tolerance.
    """
    actual, expected = fast(*inputs), plain(*inputs)
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)
    generator = torch.Generator().manual_seed(17)
    direction = torch.randn(expected.shape, generator=generator, dtype=torch.float64)
    direction = direction.to(expected.dtype)
    gradients = [torch.autograd.grad(out, inputs, direction) for out in (actual, expected)]
    for ours, theirs in zip(*gradients, strict=True):
        assert ours.shape == theirs.shape
        assert (ours - theirs).norm() <= 2 * tolerance * theirs.norm().clamp(min=1)
