"""Checkpoints: written whole, read back as trained models, found again after an interruption."""

import io
import logging
from collections.abc import Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import ZipFile

import torch
from omegaconf import DictConfig, ListConfig, OmegaConf
from pytorch_lightning.plugins.io import TorchCheckpointIO
from torch import Tensor

from datamodules.cleaning import Cleaning
from datamodules.errors import UserError
from datamodules.files import whole_file
from datamodules.tokenization import Tokenizers
from lightning_modules.runs.checksums import check_file
from lightning_modules.runs.identity import Identity, another
from lightning_modules.runs.paths import CHECKPOINTS, LAST, RESULT, TOKENIZERS, checkpoint_file
from lightning_modules.training.factories import build, build_model
from lightning_modules.variants import EncoderDecoder

if TYPE_CHECKING:  # the module itself needs the names of checkpoints
    from lightning_modules.training.module import TranslationModule

log = logging.getLogger(__name__)

UNREAD = "cannot be read as a checkpoint of a run; give another copy, or another run"


class WholeCheckpoints(TorchCheckpointIO):
    """Write each checkpoint whole or not at all, in its own folder."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        """Replace ``path`` once the whole checkpoint is on the disk. Raises ``OSError``."""
        content = io.BytesIO()
        torch.save(checkpoint, content)
        with whole_file(path) as temporary:
            temporary.write_bytes(content.getbuffer())


class TrainedModel(NamedTuple):
    """A past run, ready to translate."""

    model: EncoderDecoder  # the model in evaluation mode, on the CPU
    tokenizers: Tokenizers
    config: DictConfig
    """The whole configuration of the run, resolved, with the fingerprint of its data."""
    folder: Path  # the run folder

    @property
    def cleaning(self) -> Cleaning:
        """Cleaning of the training text."""
        cleaning: Cleaning = build(self.config, "cleaning")
        return cleaning

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target language."""
        source, target = self.config.languages
        return source, target


def load_trained(path: str | Path) -> TrainedModel:
    """Load the best checkpoint of a run folder, or one checkpoint file of a run.

    Raises ``UserError`` for a missing or damaged file, or for several paths.
    """
    if isinstance(path, ListConfig):
        raise UserError(f"checkpoint={path}: only task=translate takes several runs; give one")
    file = checkpoint_file(path)
    content = read_checkpoint(file)
    config = OmegaConf.create(content["hyper_parameters"])
    if OmegaConf.select(config, "model.placement") is not None:
        config.model.placement = None  # devices of the machine that trained
    folder = file.parent.parent
    tokenizers = load_tokenizers(folder / TOKENIZERS, config.tokenizer.kind)
    vocabulary = content["hyper_parameters"]["tokenizers"]
    if [tokenizer.fingerprint for tokenizer in tokenizers] != vocabulary:
        raise UserError(
            f"checkpoint={path}: {file} was trained with other vocabularies than those in "
            f"{folder / TOKENIZERS}; give a checkpoint in the folder of its own run"
        )
    if not (folder / RESULT).is_file():
        line = "checkpoint=%s: its training has not ended; these are its best weights so far"
        log.warning(line, path)
    model = build_model(config, len(tokenizers.source), len(tokenizers.target))
    _check_numbers(file, content)
    try:
        load_weights(model, content)
    except RuntimeError as error:
        why = str(error).splitlines()[-1].strip()
        raise UserError(
            f"checkpoint={path}: does not fit the model of its settings: {why}"
        ) from None
    return TrainedModel(model.eval(), tokenizers, config, folder)


def _check_numbers(file: Path, content: dict[str, Any]) -> None:
    """Raise ``UserError`` for weights that are NaN or infinite."""
    for name, tensor in content["state_dict"].items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise UserError(
                f"{file}: {name} holds NaN or infinity, so that nothing can be translated; train "
                "again, with a smaller optimizer.lr"
            )


def load_runs(checkpoint: str | Path | Sequence[str]) -> list[TrainedModel]:
    """Load one run, or several runs with the same vocabularies.

    Raises ``UserError`` for a missing or damaged file, no run at all, or other vocabularies.
    """
    paths = [checkpoint] if isinstance(checkpoint, str | Path) else list(checkpoint)
    if not paths:
        raise UserError("checkpoint=[]: give the folder of a run")
    runs = [load_trained(path) for path in paths]
    first, *_ = vocabularies = [[each.fingerprint for each in run.tokenizers] for run in runs]
    for path, vocabulary in zip(paths, vocabularies, strict=True):
        if vocabulary != first:
            raise UserError(
                f"checkpoint={path}: has other vocabularies than {paths[0]}; an ensemble needs "
                "runs with the same data and tokenizer"
            )
    return runs


def load_weights(model: EncoderDecoder, content: dict[str, Any]) -> None:
    """Put the weights of a checkpoint into ``model``. Raises ``RuntimeError`` for a misfit."""
    model.load_state_dict(model_weights(content))


def model_weights(content: dict[str, Any]) -> dict[str, Tensor]:
    """Return the weights of the variant in a checkpoint, by the names that the variant gives."""
    prefix = "model."
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in content["state_dict"].items()
        if name.startswith(prefix)
    }


def read_checkpoint(file: Path) -> dict[str, Any]:
    """Read the tensors and plain values of a checkpoint. Raises ``UserError`` for damage."""
    check_file(file)
    try:
        with ZipFile(file) as parts:  # torch does not look at the checksums of the parts
            damaged = parts.testzip()
        content: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
        _ = content["state_dict"], content["hyper_parameters"]["tokenizers"]
    except UnpicklingError as error:
        raise UserError(f"{file}: holds Python objects, which could run code; {UNREAD}") from error
    except Exception as error:  # damaged files raise many types
        raise UserError(f"{file}: {UNREAD}") from error
    if damaged is not None:
        raise UserError(f"{file}: {damaged} is damaged; give another copy of the checkpoint")
    return content


def read_own_checkpoint(file: Path) -> dict[str, Any]:
    """Read a checkpoint of the current run. Raises ``UserError`` for damage."""
    try:
        return read_checkpoint(file)
    except UserError as error:
        raise UserError(f"{error}; force=true trains anew") from error


def last_checkpoint(folder: Path, module: "TranslationModule") -> Path | None:
    """Return the checkpoint from which this training continues; None to begin anew.

    Two trainings are the same if all that affects the weights is equal. Raises ``UserError`` for a
    checkpoint that cannot be used.
    """
    file = folder / CHECKPOINTS / LAST
    if not file.is_file():
        return None
    content = read_own_checkpoint(file)
    recorded, wanted = map(Identity.of_checkpoint, (content["hyper_parameters"], module.hparams))
    other = wanted.difference(recorded, ["weights"])
    if other:
        log.info("%s is of a training with %s: this training starts over", file, another(other))
        return None
    check_sizes(file, content, module)
    log.info("%s: training continues after update %s", file, content["global_step"])
    return file


def check_sizes(file: Path, content: dict[str, Any], module: "TranslationModule") -> None:
    """Raise ``UserError`` for a checkpoint whose weights do not fit a module."""
    sizes = {name: tensor.shape for name, tensor in module.state_dict().items()}
    if sizes != {name: tensor.shape for name, tensor in content["state_dict"].items()}:
        raise UserError(f"{file}: its weights have other sizes than the model; remove it")


def load_tokenizers(folder: Path, kind: str) -> Tokenizers:
    """Read the vocabularies of a run, of a ``tokenizer.kind``. Raises ``UserError``."""
    for file in folder.iterdir() if folder.is_dir() else ():
        check_file(file)
    try:
        return Tokenizers.load(folder, kind)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{folder}: the vocabularies of the run cannot be read ({error})"
        ) from error
