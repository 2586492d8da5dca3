"""The setting ``matmul_precision``."""

import pytest
import torch

from lightning_modules.kernels.precision import MatmulPrecision, use_matmul_precision
from lightning_modules.runs.environment import environment


@pytest.mark.parametrize(
    ("precision", "tf32"), [("highest", False), ("high", True), ("medium", True)]
)
def test_products_and_rnns_of_a_gpu_use_tf32_only_if_asked(precision: MatmulPrecision, tf32: bool):
    try:
        use_matmul_precision(precision)
        assert torch.backends.cudnn.allow_tf32 is tf32
        assert torch.backends.cuda.matmul.allow_tf32 is tf32
        assert environment()["matmul_precision"] == precision
    finally:
        use_matmul_precision("highest")
