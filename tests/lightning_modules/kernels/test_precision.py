"""The decisions of ``kernels.precision``: products, TF32, kernels of attention."""

import pytest
import torch

from datamodules.errors import UserError
from lightning_modules.kernels.device import Processor, this_processor
from lightning_modules.kernels.precision import (
    ONEDNN_FROM,
    ONEDNN_FROM_ZEN_5,
    MatmulPrecision,
    choose_products,
    product_type,
    use_matmul_precision,
    use_products,
)
from lightning_modules.runs.provenance import environment
from lightning_modules.training.process import prepare_process
from tests.helpers.variants import configuration

ZEN5, ZEN4 = (
    frozenset({"avx2", "avx512f", "avx512_bf16", "avx_vnni"}),
    frozenset({"avx2", "avx512f", "avx512_bf16"}),
)


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
    prepare_process(configuration("threads=null", "keep_memory=false"))
    assert not torch.backends.cuda.cudnn_sdp_enabled()
    assert torch.backends.cuda.flash_sdp_enabled()
    assert torch.backends.cuda.mem_efficient_sdp_enabled()


def test_a_device_without_autocast_multiplies_in_the_type_of_its_tensor():
    assert product_type(torch.zeros(1, device="meta")) == torch.float32


@pytest.mark.parametrize(
    ("setting", "vendor", "instructions", "expected"),
    [
        ("auto", "AuthenticAMD", ZEN5, ONEDNN_FROM_ZEN_5),
        ("auto", "AuthenticAMD", ZEN4, ONEDNN_FROM),
        ("auto", "AuthenticAMD", {"avx2"}, None),
        ("auto", "GenuineIntel", ZEN5, None),
        ("auto", "", {}, None),
        ("onednn", "GenuineIntel", ZEN5, ONEDNN_FROM),
        ("onednn", "AuthenticAMD", {"avx2"}, ONEDNN_FROM),
        ("torch", "AuthenticAMD", ZEN5, None),
    ],
)
def test_the_processor_alone_decides(setting, vendor, instructions, expected, monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    processor = Processor("a processor", vendor, frozenset(instructions))
    assert choose_products(setting, processor) == expected


def test_a_torch_without_onednn(monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    processor = Processor("a processor", "AuthenticAMD", ZEN5)
    assert choose_products("auto", processor) is None
    with pytest.raises(UserError, match="products=onednn: this torch has no oneDNN"):
        use_products(choose_products("onednn", processor))


def test_this_processor_is_that_of_the_system(tmp_path, monkeypatch):
    file = tmp_path / "cpuinfo"
    monkeypatch.setattr("lightning_modules.kernels.device.CPUINFO", file)
    this_processor.cache_clear()
    assert this_processor() == ("", "", frozenset())
    file.write_text(
        "vendor_id\t: AuthenticAMD\nmodel name : AMD X\nflags\t\t: fpu avx512f\n\nflags: y\n"
    )
    this_processor.cache_clear()
    assert this_processor() == ("AMD X", "AuthenticAMD", {"fpu", "avx512f"})
    this_processor.cache_clear()


def test_the_environment_says_what_multiplies(onednn):
    assert environment()["products"] == "oneDNN from 1 multiplications"
    use_products(None)
    assert environment()["products"] == "torch"
