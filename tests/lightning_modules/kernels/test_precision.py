"""What the whole process multiplies with: ``matmul_precision``, and kernels of attention."""

import pytest
import torch

from lightning_modules.kernels.precision import MatmulPrecision, product_type, use_matmul_precision
from lightning_modules.runs.environment import environment
from lightning_modules.training.settings import training_settings
from lightning_modules.training.setup import prepare_process
from tests.helpers.variants import configuration


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


def test_no_training_runs_the_attention_of_cudnn():
    """It plans a kernel for each new shape of a batch; torch's own kernels take any shape."""
    torch.backends.cuda.enable_cudnn_sdp(True)
    prepare_process(training_settings(configuration("threads=null", "keep_memory=false")))
    assert not torch.backends.cuda.cudnn_sdp_enabled()
    assert torch.backends.cuda.flash_sdp_enabled()
    assert torch.backends.cuda.mem_efficient_sdp_enabled()


def test_a_device_without_autocast_multiplies_in_the_type_of_its_tensor():
    assert product_type(torch.zeros(1, device="meta")) == torch.float32
