"""FSDP: parameters are shared out, so each rank keeps a part of every parameter.

A rank has a whole layer only while the layer computes. Ranks gather a layer together, so all ranks
must use the layer equally often. Ranks do so in an update, where each layer runs once, but not in a
search. So the model is whole in a validation, and stays whole in a test.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.strategies import ModelParallelStrategy
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.optim import Optimizer
from typing_extensions import override

from datamodules.errors import UserError
from lightning_modules.variants import EncoderDecoder


class FullySharded(ModelParallelStrategy):
    """Lightning's FSDP strategy over all ranks of all nodes; a checkpoint is one whole file."""

    def __init__(self) -> None:
        super().__init__(tensor_parallel_size=1, save_distributed_checkpoint=False)

    @override
    def setup_environment(self) -> None:
        self._data_parallel_size = self.num_nodes * self.num_processes
        super().setup_environment()

    @override
    def optimizer_state(self, optimizer: Optimizer) -> dict[str, Any]:
        """Return an empty state as it is: to gather moments, torch would count a step."""
        return super().optimizer_state(optimizer) if optimizer.state else optimizer.state_dict()

    @override
    def load_checkpoint(
        self, checkpoint_path: str | Path, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Leave out optimizers without a state, which the base class cannot load."""
        content = torch.load(checkpoint_path, mmap=True, map_location="cpu", weights_only=True)
        optimizers = self.optimizers
        if not any(saved["state"] for saved in content["optimizer_states"]):
            self.optimizers = []
        try:
            return super().load_checkpoint(checkpoint_path, weights_only)
        finally:
            self.optimizers = optimizers

    def on_validation_start(self) -> None:
        """Gather the whole model."""
        gather(self._trained)

    def on_validation_end(self) -> None:
        """Share out the model again."""
        for part in shared_out(self._trained):
            part.set_reshard_after_forward(part is not self._trained, recurse=False)
            part.reshard()

    def on_predict_start(self) -> None:
        """Gather the whole model, for good."""
        gather(self._trained)

    @property
    def _trained(self) -> pl.LightningModule:
        assert self.lightning_module is not None
        return self.lightning_module


def share_parameters(
    module: pl.LightningModule, model: EncoderDecoder, mesh: DeviceMesh, by_layers: bool
) -> None:
    """Share out the parameters of ``model``, which ``module`` trains.

    Args:
        module: its steps gather the parameters.
        model: any variant.
        mesh: device mesh of the ranks.
        by_layers: gather the layers one by one, instead of the whole model for each update.

    Raises:
        UserError: for a model that cannot be shared out.
    """
    single = [name for name, parameter in model.named_parameters() if not parameter.dim()]
    if single:
        raise UserError(f"trainer=fsdp: cannot share out {single[0]}, one number; use trainer=ddp")
    if any(device is not None for _, device in model.placement):
        raise UserError("trainer=fsdp: places the model itself; set model.placement.PART=null")
    layers = list(model.layers()) if by_layers else []
    if layers:  # the encoder calls ``prepare`` of the decoder's attention
        for attention in model.parts()["attention"]:
            _share(attention, mesh, "prepare")
    for layer in layers:
        _share(layer, mesh)
    _share(module, mesh, "training_step", "validation_step", "predict_step")
    # The views are keys and values, which nothing changes in place.
    warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view")


def _share(part: nn.Module, mesh: DeviceMesh, *methods: str) -> None:
    """Split the parameters of ``part`` over the ranks, except those of inner parts split already.

    ``forward`` and each of ``methods`` first gather the parameters.
    """
    shared = fully_shard(part, mesh=mesh)
    shared.set_force_sum_reduction_for_comms(True)  # gloo has no mean reduction
    for method in methods:
        register_fsdp_forward_method(part, method)


def gather(module: pl.LightningModule) -> None:
    """Gather all parameters on each rank, until the module is shared out again."""
    for part in shared_out(module):
        part.set_reshard_after_forward(False, recurse=False)
        part.unshard()


def shared_out(module: nn.Module) -> Iterator[FSDPModule]:
    """Return the parts of a module that are shared out; none for a whole module."""
    return (part for part in module.modules() if isinstance(part, FSDPModule))
