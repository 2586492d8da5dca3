"""Trained models read back from a run's folder."""

import io
from pathlib import Path
from typing import Any, NamedTuple

import torch
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.plugins.io import TorchCheckpointIO
from torch import Tensor
from torch.distributed.tensor import DTensor, distribute_tensor

from datamodules.errors import UserError
from datamodules.files import whole_file
from datamodules.tokenization import Tokenizers
from lightning_modules.building import build_model
from lightning_modules.variants import EncoderDecoder

FOLDER = "checkpoints"
BEST = "best.ckpt"
LAST = "last.ckpt"
TOKENIZERS = "tokenizers"


class WholeCheckpoints(TorchCheckpointIO):
    """Write checkpoints whole or not at all, in the folder where they belong."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        """Replace ``path`` only once all of it is on the disk. Raises ``OSError``."""
        content = io.BytesIO()
        torch.save(checkpoint, content)
        with whole_file(path) as temporary:
            temporary.write_bytes(content.getbuffer())


class TrainedModel(NamedTuple):
    """What translating with a past run takes."""

    model: EncoderDecoder
    """In evaluation mode, on the CPU."""
    tokenizers: Tokenizers
    config: DictConfig
    """The run's whole configuration, resolved, with the fingerprint of its data."""
    folder: Path
    """The run's."""


def load_trained(path: str | Path) -> TrainedModel:
    """Load a run's folder (its best checkpoint) or one checkpoint file of a run.

    Raises ``UserError`` for a path that is neither, or a file that is damaged.
    """
    path = Path(path)
    file = path / FOLDER / BEST if path.is_dir() else path
    if not file.is_file():
        raise UserError(f"checkpoint={path}: there is no {file}; give the folder of a finished run")
    content = read_checkpoint(file)
    config = OmegaConf.create(content["hyper_parameters"])
    if OmegaConf.select(config, "model.placement") is not None:
        config.model.placement = None  # of the machine that trained
    folder = file.parent.parent
    tokenizers = _tokenizers(folder / TOKENIZERS)
    vocabulary = content["hyper_parameters"]["tokenizers"]
    if [tokenizer.fingerprint for tokenizer in tokenizers] != vocabulary:
        raise UserError(
            f"checkpoint={path}: {file} was trained with other vocabularies than those in "
            f"{folder / TOKENIZERS}; give a checkpoint in the folder of its own run"
        )
    model = build_model(config, len(tokenizers.source), len(tokenizers.target))
    try:
        load_weights(model, content)
    except RuntimeError as error:
        why = str(error).splitlines()[-1].strip()
        raise UserError(
            f"checkpoint={path}: does not fit the model of its settings: {why}"
        ) from None
    return TrainedModel(model.eval(), tokenizers, config, folder)


def load_weights(model: EncoderDecoder, content: dict[str, Any]) -> None:
    """Put a checkpoint's weights into ``model``."""
    prefix = "model."
    weights = {
        name.removeprefix(prefix): tensor
        for name, tensor in content["state_dict"].items()
        if name.startswith(prefix)
    }
    own = model.state_dict()
    model.load_state_dict({name: _like(own.get(name), weights[name]) for name in weights})


def _like(own: Tensor | None, whole: Tensor) -> Tensor:
    """Share out a tensor among the ranks as a model's own is; all ranks have it whole."""
    if not isinstance(own, DTensor):
        return whole
    whole = whole.to(own.device)
    return distribute_tensor(whole, own.device_mesh, own.placements, src_data_rank=None)


def read_checkpoint(file: Path) -> dict[str, Any]:
    """Read a checkpoint's tensors and plain values. Raises ``UserError`` if it is damaged."""
    try:
        content: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
        _ = content["state_dict"], content["hyper_parameters"]["tokenizers"]
    except Exception as error:  # damage takes many shapes
        reason = (str(error).splitlines() or [type(error).__name__])[0][:80]
        raise UserError(f"{file}: cannot be read as a checkpoint of a run ({reason})") from error
    return content


def read_own_checkpoint(file: Path) -> dict[str, Any]:
    """Read a checkpoint of the run that is at work. Raises ``UserError`` if it is damaged."""
    try:
        return read_checkpoint(file)
    except UserError as error:
        raise UserError(f"{error}; force=true trains anew") from error


def _tokenizers(folder: Path) -> Tokenizers:
    try:
        return Tokenizers.load(folder)
    except (OSError, ValueError) as error:
        raise UserError(f"{folder}: the run's vocabularies cannot be read ({error})") from error
