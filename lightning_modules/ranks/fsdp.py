"""Parameters that are shared out among the ranks: FSDP, each keeps its part of everything.

A rank has the whole of a layer only while it computes it. Ranks gather layers together, so all must
need them equally often: they do in an update, where each layer is passed once, but not in a search.
So a model is whole while it is validated, and for good when it is tested.
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

from datamodules.errors import UserError
from lightning_modules.variants import EncoderDecoder


class FullySharded(ModelParallelStrategy):
    """Lightning's strategy, over all ranks of all nodes; a checkpoint is one whole file."""

    def __init__(self) -> None:
        super().__init__(tensor_parallel_size=1, save_distributed_checkpoint=False)

    def setup_environment(self) -> None:
        """See the base class."""
        self._data_parallel_size = self.num_nodes * self.num_processes
        super().setup_environment()

    def optimizer_state(self, optimizer: Optimizer) -> dict[str, Any]:
        """See the base class; torch would count a step, to have moments that it can gather."""
        return super().optimizer_state(optimizer) if optimizer.state else optimizer.state_dict()

    def load_checkpoint(
        self, checkpoint_path: str | Path, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """See the base class, which cannot load an optimizer that has nothing to remember."""
        content = torch.load(checkpoint_path, mmap=True, map_location="cpu", weights_only=True)
        optimizers = self.optimizers
        if not any(saved["state"] for saved in content["optimizer_states"]):
            self.optimizers = []
        try:
            return super().load_checkpoint(checkpoint_path, weights_only)
        finally:
            self.optimizers = optimizers

    def on_validation_start(self) -> None:
        """Put the model together."""
        gather(self._trained)

    def on_validation_end(self) -> None:
        """Share it out again."""
        for part in shared_out(self._trained):
            part.set_reshard_after_forward(part is not self._trained, recurse=False)
            part.reshard()

    def on_predict_start(self) -> None:
        """Put the model together; it stays whole."""
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
        module: its steps are where parameters are needed.
        model: of any variant.
        mesh: the ranks.
        by_layers: gather the layers one by one; else all that there is for each update.

    Raises:
        UserError: for a model that cannot be shared out.
    """
    single = [name for name, parameter in model.named_parameters() if not parameter.dim()]
    if single:
        raise UserError(f"trainer=fsdp: cannot share out {single[0]}, one number; use trainer=ddp")
    if any(device is not None for _, device in model.placement):
        raise UserError("trainer=fsdp: places the model itself; set model.placement.PART=null")
    layers = list(model.layers()) if by_layers else []
    if layers:  # the encoder asks the decoder's layers for their views of the source
        for attention in model.parts()["attention"]:
            _share(attention, mesh, "prepare")
    for layer in layers:
        _share(layer, mesh)
    _share(module, mesh, "training_step", "validation_step", "predict_step")
    # True of their keys and values, which nothing changes in place.
    warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view")


def _share(part: nn.Module, mesh: DeviceMesh, *methods: str) -> None:
    """Share out what no inner part has; it is gathered in ``forward`` and in these methods."""
    shared = fully_shard(part, mesh=mesh)
    shared.set_force_sum_reduction_for_comms(True)  # gloo knows no means
    for method in methods:
        register_fsdp_forward_method(part, method)


def gather(module: pl.LightningModule) -> None:
    """Let each rank have all parameters, and keep them."""
    for part in shared_out(module):
        part.set_reshard_after_forward(False, recurse=False)
        part.unshard()


def shared_out(module: nn.Module) -> Iterator[FSDPModule]:
    """The parts of a module that are shared out; none if it is whole."""
    return (part for part in module.modules() if isinstance(part, FSDPModule))
