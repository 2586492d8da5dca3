"""The policy that chooses kernels: by settings, device, and what a model offers."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from lightning_modules.kernels import choice
from lightning_modules.kernels.choice import (
    LARGE_UPDATE,
    PLAIN,
    Kernels,
    Work,
    describe_kernels,
    kernels_in_use,
    kernels_of_search,
    kernels_of_training,
    use_kernels,
)
from lightning_modules.kernels.choice import KernelSettings as Settings
from lightning_modules.runs.provenance import environment
from lightning_modules.training import factories
from lightning_modules.training.process import prepare_process
from tests.helpers.commands import TINY, mistake, places
from tests.helpers.refusals import refused
from tests.helpers.variants import NAMES, configuration, small_model

CPU, GPU = torch.device("cpu"), torch.device("cuda")
LARGE = Work(compiles=True, flops=2 * LARGE_UPDATE)
RECURRENT = Work(compiles=False, flops=2 * LARGE_UPDATE, against_packing="reads padded batches")
SMALL = LARGE._replace(flops=LARGE_UPDATE / 2)
BOTH = Kernels(rows=True, packed=True, capture=True, captured_search=True)
PACKED, CAPTURED = BOTH._replace(capture=False), BOTH._replace(packed=False)


@pytest.fixture(autouse=True)
def triton(monkeypatch):
    """Triton, whether or not it is installed."""
    monkeypatch.setattr(choice, "has_triton", lambda: True)
    monkeypatch.setattr(choice, "has_flash", lambda: True)
    yield
    use_kernels(PLAIN)


@pytest.mark.parametrize(
    ("asked", "device", "work", "expected"),
    [
        (Settings(), GPU, LARGE, BOTH._replace(compiled="default")),
        (Settings(), GPU, SMALL, BOTH),
        (Settings(packed=True, capture=False), GPU, SMALL, PACKED),
        (Settings(packed=False), GPU, LARGE, CAPTURED._replace(compiled="default")),
        (
            Settings(packed=False, capture=False),
            GPU,
            SMALL,
            Kernels(rows=True, captured_search=True),
        ),
        (Settings(compile=None), GPU, LARGE, BOTH),
        (Settings(compile="max-autotune"), GPU, LARGE, "max-autotune captures"),
        (Settings(), GPU, RECURRENT, CAPTURED),
        (Settings(compile="default"), GPU, RECURRENT, CAPTURED._replace(compiled="default")),
        (Settings(packed=False), GPU, LARGE, "no packed sentences: packed=false"),
        (Settings(capture=False), GPU, RECURRENT, "no captured updates: capture=false"),
        (Settings(), GPU, LARGE._replace(against_capture="ranks"), "no captured updates: ranks"),
        (Settings("plain"), GPU, LARGE, PLAIN),
        (Settings("flash"), GPU, RECURRENT, Kernels(rows=True, captured_search=True, flash=True)),
        (Settings("flash"), GPU, RECURRENT, "no captured updates: kernels=flash chooses"),
        (Settings("plain", compile="default"), GPU, LARGE, PLAIN._replace(compiled="default")),
        (Settings(), CPU, LARGE, PLAIN),
        (Settings(), CPU, RECURRENT, PLAIN),
        (Settings(packed=False, capture=False), CPU, LARGE, PLAIN),
        (Settings(compile="default"), CPU, LARGE, PLAIN._replace(compiled="default")),
    ],
)
def test_settings_device_and_model_decide(asked, device, work, expected):
    chosen = kernels_of_training(asked, device, work)
    if isinstance(expected, str):
        assert expected in str(chosen)
    else:
        assert chosen.kernels == expected


@pytest.mark.parametrize(
    ("asked", "device", "work", "line"),
    [
        (Settings(packed=True), CPU, LARGE, "packed=true: needs a CUDA GPU"),
        (Settings(capture=True), CPU, LARGE, "capture=true: needs a CUDA GPU"),
        (Settings(packed=True), GPU, RECURRENT, "packed=true: reads padded batches"),
        (Settings("plain", packed=True), GPU, LARGE, "kernels=plain: takes PyTorch's own kernels"),
        (Settings("flash"), CPU, LARGE, "kernels=flash: needs a CUDA GPU; set kernels=auto"),
        (
            Settings("plain", capture=True),
            CPU,
            LARGE,
            "leave out capture=true, or set kernels=auto",
        ),
        (
            Settings(capture=True, compile="reduce-overhead"),
            GPU,
            LARGE,
            "compile=reduce-overhead: captures CUDA graphs itself; leave out capture=true",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(asked, device, work, line):
    with refused(line):
        kernels_of_training(asked, device, work)


def test_without_triton_a_gpu_computes_by_torch(monkeypatch):
    monkeypatch.setattr(choice, "has_triton", lambda: False)
    chosen = kernels_of_training(Settings(), GPU, RECURRENT)
    assert not chosen.kernels.rows
    assert "no rows: Triton is not installed" in str(chosen)
    assert kernels_of_search("auto", GPU) == Kernels(captured_search=True)


def test_a_search_has_kernels_of_its_own():
    assert kernels_of_search("auto", GPU) == Kernels(rows=True, captured_search=True)
    assert kernels_of_search("plain", GPU) == PLAIN
    assert kernels_of_search("auto", CPU) == PLAIN


def test_the_environment_says_what_computes():
    assert environment()["kernels"] == "plain"
    use_kernels(PACKED._replace(compiled="default"))
    words = "rows, packed sentences, captured search, compiled (default)"
    assert environment()["kernels"] == describe_kernels(kernels_in_use()) == words


def test_the_next_job_of_a_process_begins_with_plain_kernels():
    use_kernels(PACKED)
    prepare_process(configuration("threads=null", "keep_memory=false"))
    assert kernels_in_use() == PLAIN


def batches(reason: str | None = None) -> Any:
    """Data whose batches can be packed, or not."""
    return SimpleNamespace(cannot_pack=lambda: reason)


@pytest.fixture
def one_gpu(monkeypatch):
    monkeypatch.setattr(factories, "visible_gpus", lambda: ["a GPU"])


def chosen(name, *overrides, data=None):
    model = small_model(name)
    return factories.choose_kernels(configuration(*overrides), model, data or batches())


@pytest.mark.parametrize("name", NAMES)
def test_a_cpu_computes_every_variant_by_torch(name):
    assert chosen(name).kernels == PLAIN


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        (["teacher_forcing.end=0.5"], "teacher forcing below 1"),
        (["batching.pieces=2"], "batching.pieces=2"),
        (["trainer=ddp"], "trainer.strategy"),
        (["trainer.precision=16-mixed"], "trainer.precision=16-mixed"),
        (["activation_checkpointing=true"], "activation_checkpointing=true"),
        (["trainer.num_nodes=2"], "several ranks"),
    ],
)
def test_updates_that_are_no_single_piece_of_work_are_not_captured(overrides, reason, one_gpu):
    found = chosen("bahdanau", *overrides)
    assert not found.kernels.capture
    assert reason in found.reasons["capture"]
    with refused("capture=true: ", reason):
        chosen("bahdanau", "capture=true", *overrides)


def test_data_may_refuse_to_be_packed(one_gpu):
    found = chosen("transformer", data=batches("sentences grow"))
    assert not found.kernels.packed


@pytest.mark.parametrize("key", ["packed", "capture"])
def test_a_path_that_does_not_fit_is_refused_without_a_model(key):
    with refused(f"{key}=true: needs a CUDA GPU"):
        factories.check_kernels(configuration("model=transformer", f"{key}=true"), batches())


@pytest.mark.long
@pytest.mark.parametrize("given", ["packed=true", "capture=true"])
def test_a_command_refuses_before_it_reads_text(given, tmp_path):
    line = mistake(*TINY, *places(tmp_path), "logger=none", "model=transformer", given)
    assert line == f"error: {given}: needs a CUDA GPU; leave it out, or set {given[:-4]}null"
    assert not (tmp_path / "cache").exists()
