"""The devices that a training takes, and what they tell of their memory."""

import pytest
import torch
from omegaconf import OmegaConf

from datamodules.errors import UserError
from lightning_modules.kernels.device import peak_device_memory_mib
from lightning_modules.ranks.devices import on_gpus


def of(accelerator):
    return OmegaConf.create({"accelerator": accelerator})


def test_the_gpu_of_a_mac_is_not_taken_unless_it_is_named(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with pytest.raises(UserError) as refused:
        on_gpus(of("auto"), 0)
    line = str(refused.value)
    assert line.startswith("trainer.accelerator=auto: would take the GPU of this Mac")
    assert "trainer.accelerator=cpu" in line
    assert "\n" not in line
    assert not on_gpus(of("cpu"), 0)
    assert not on_gpus(of("mps"), 0)


def test_a_gpu_that_is_not_there_is_told_in_a_line():
    with pytest.raises(UserError, match=r"^trainer\.accelerator=gpu: torch finds no GPU"):
        on_gpus(of("gpu"), 0)
    assert on_gpus(of("auto"), 1)


def test_the_memory_of_a_device_is_told_where_the_device_tells_it(monkeypatch):
    assert peak_device_memory_mib(torch.device("cpu")) is None
    monkeypatch.setattr(torch.accelerator, "max_memory_allocated", lambda device: 3 * 2**20)
    assert peak_device_memory_mib(torch.device("cuda")) == 3.0

    def silent(device):
        raise RuntimeError("no statistics")

    monkeypatch.setattr(torch.accelerator, "max_memory_allocated", silent)
    assert peak_device_memory_mib(torch.device("mps")) is None
