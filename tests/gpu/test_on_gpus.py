"""What only a real GPU can show: equal numbers, lower precision, resuming, ranks, memory.

The tests take the device as an argument, so that their own mistakes can be looked for on a CPU.
"""

import math
from pathlib import Path
from statistics import mean

import pytest
import torch
from torch import Tensor

from datamodules.batching import Batch
from lightning_modules.runs.files import read_history, read_result
from lightning_modules.runs.paths import LAST
from lightning_modules.training import resume
from lightning_modules.training.module import TranslationModule
from lightning_modules.variants.base import move
from tests.helpers.commands import TINY, inside, places, succeed
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import NAMES, OPTIONS, sentences, small_model
from tests.lightning_modules.training.test_resume import Killed, at, killed
from tests.lightning_modules.training.test_training import batch

GPUS = torch.cuda.device_count()
HEADLINE = ["seq2seq", "bahdanau", "luong_global", "luong_local", "transformer"]
SHARED = "devices.gpus_per_job=0"
"""Tests side by side share a GPU: a test that waited for a lease would run out of time."""
ONE = ["trainer.accelerator=gpu", "trainer.devices=1", SHARED]
SETTINGS = [
    *TINY,
    "data=grammar_tiny",
    "logger=none",
    "model.dropout=0",
    "trainer.log_every_n_steps=2",
]
LONGER = [
    *("data=grammar_easy", "data.train_size=3000", "data.test_size=1000"),
    *("budget.target_tokens=400000", "trainer.val_check_interval=100"),
]
SEEDS = (1, 2, 3)
TOO_LITTLE = 1 << 24  # bytes; the weights alone take more


def needs(count: int) -> list[pytest.MarkDecorator]:
    here = f"needs {count} GPU{'s' * (count > 1)}; this machine has {GPUS}"
    return [pytest.mark.gpu, pytest.mark.skipif(count > GPUS, reason=here)]


ON_CPU = pytest.param(["trainer.accelerator=cpu"], id="cpu", marks=pytest.mark.long)
"""The CPU, to look for mistakes of the test itself."""
one_gpu = pytest.param(ONE, marks=needs(1), id="gpu")
GPU = pytest.param("cuda", marks=needs(1))


def losses_of(space: Path, name: str, *overrides: str) -> list[float]:
    """Train by the command; return the losses of training and validation of all validations."""
    succeed(*SETTINGS, *places(space), f"hydra.run.dir={space / name}", *overrides)
    points = read_history(space / name)
    return [loss for point in points for loss in (point.train_loss, point.val_loss)]


def bleu_of(space: Path, name: str, *overrides: str) -> float:
    found = []
    for seed in SEEDS:
        losses_of(space, f"{name}-{seed}", *LONGER, f"seed={seed}", *overrides)
        result = read_result(space / f"{name}-{seed}")
        assert result is not None
        found.append(result.scores["bleu"])
    return mean(found)


def gradients(name: str, device: str) -> dict[str, Tensor]:
    model = small_model(name, "model.dropout=0").train().to(device)
    padded: Batch = move(batch([3, 7, 5]), torch.device(device))
    features = model.decode(model.encode(*padded.source), padded.tgt_in).features
    model.loss(*padded.real_targets(features), 0.1).backward()
    found = {name: parameter.grad for name, parameter in model.named_parameters()}
    return {name: grad.cpu() for name, grad in found.items() if grad is not None}


@pytest.mark.parametrize("name", [*NAMES, *OPTIONS])
@pytest.mark.parametrize("device", [GPU])
def test_gradients_equal_those_of_the_cpu(device, name):
    ours, theirs = gradients(name, device), gradients(name, "cpu")
    assert ours.keys() == theirs.keys()
    for part, gradient in ours.items():
        torch.testing.assert_close(gradient, theirs[part], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", [*NAMES, *OPTIONS])
@pytest.mark.parametrize("device", [GPU])
def test_translations_equal_those_of_the_cpu(device, name):
    model, source = small_model(name), sentences([5, 3, 9])
    for search in (greedy_search(), beam_search(beam_size=3, n_best=2)):
        theirs = search(model.to("cpu"), *source)
        ours = search(model.to(device), *(part.to(device) for part in source))
        assert [[one.tokens for one in ranked] for ranked in ours] == [
            [one.tokens for one in ranked] for ranked in theirs
        ]


@pytest.mark.parametrize("model", HEADLINE)
@pytest.mark.parametrize("device", [one_gpu])
def test_losses_of_a_training_equal_those_of_the_cpu(tmp_path, device, model):
    on_cpu, on_gpu = (
        losses_of(tmp_path, name, f"model={model}", *given)
        for name, given in (("cpu", ["trainer.accelerator=cpu"]), ("gpu", device))
    )
    assert on_gpu == pytest.approx(on_cpu, rel=1e-4)


@pytest.mark.parametrize("model", ["bahdanau", "luong_global", "transformer"])
@pytest.mark.parametrize("device", [one_gpu])
@pytest.mark.long
def test_bfloat16_costs_less_than_half_a_point_of_bleu(tmp_path, device, model):
    full, half = (
        bleu_of(tmp_path, precision, f"model={model}", f"trainer.precision={precision}", *device)
        for precision in ("32-true", "bf16-mixed")
    )
    assert half > full - 0.5


@pytest.mark.parametrize("precision", ["16-mixed", "bf16-mixed"])
@pytest.mark.parametrize("device", [one_gpu])
def test_half_precision_trains_by_itself(tmp_path, device, precision):
    """The optimizer fits the scaler, which skips the first updates, without a further setting."""
    longer = [f"trainer.precision={precision}", "budget.target_tokens=20000"]
    losses = losses_of(tmp_path, "half", *longer, *device)
    assert losses[-1] < losses[1]


@pytest.mark.parametrize("device", [one_gpu, ON_CPU])
def test_a_deterministic_training_goes_on_to_the_last_bit(tmp_path, monkeypatch, device):
    given = [
        *device,
        "+trainer.deterministic=true",
        "model=bahdanau",
        "model.dropout=0.2",
        "callbacks.resume_checkpoint.minutes=0",
    ]
    whole = losses_of(tmp_path, "whole", *given)
    with monkeypatch.context() as patched:
        patched.setattr(resume, "SHARE_OF_SAVING", math.inf)
        at(patched, TranslationModule, "training_step", 4, killed)
        with pytest.raises(Killed):
            inside(*SETTINGS, *places(tmp_path), f"hydra.run.dir={tmp_path / 'parts'}", *given)
    assert losses_of(tmp_path, "parts", *given) == whole
    log = (tmp_path / "parts" / "run.log").read_text()
    assert "training continues after update 3" in log
    weights = [
        torch.load(tmp_path / name / "checkpoints" / LAST, weights_only=True)["state_dict"]
        for name in ("whole", "parts")
    ]
    assert all(weights[0][name].equal(weights[1][name]) for name in weights[0])


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("model", ["bahdanau", "luong_global", "transformer"])
@pytest.mark.parametrize("device", [one_gpu])
@pytest.mark.long
def test_a_compiled_training_has_the_same_losses(tmp_path, device, model, mode):
    plain = losses_of(tmp_path, "plain", f"model={model}", *device)
    compiled = losses_of(tmp_path, "compiled", f"model={model}", f"compile={mode}", *device)
    assert compiled == pytest.approx(plain, rel=1e-3)


@pytest.mark.parametrize("device", [one_gpu])
def test_too_little_memory_is_told_in_a_line(tmp_path, capsys, device):
    """Only this process has too little: tests side by side share the GPU."""
    _, whole = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction(TOO_LITTLE / whole)
    try:
        with pytest.raises(SystemExit):
            inside(*SETTINGS, *places(tmp_path), "model=transformer", "scale=1", *device)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    errors = capsys.readouterr().err
    assert "memory" in errors.strip().splitlines()[-1]
    assert "Traceback" not in errors


@pytest.mark.parametrize("devices", [pytest.param(2, marks=needs(2))])
@pytest.mark.parametrize("model", ["bahdanau", "transformer"])
def test_two_gpus_make_the_updates_of_one(tmp_path, devices, model):
    given = [f"model={model}", "batching.pieces=2"]
    alone = losses_of(tmp_path, "one", *given, *ONE)
    ranks = ["trainer=ddp", f"trainer.devices={devices}", SHARED]
    assert losses_of(tmp_path, "two", *given, *ranks) == pytest.approx(alone, rel=1e-4)
