"""From configuration to objects, with mistakes told as one line that names the override."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import hydra.utils
import torch
from hydra.errors import InstantiationException
from omegaconf import DictConfig, OmegaConf
from pydantic import (
    BaseModel,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
)
from torch.utils.checkpoint import checkpoint

import lightning_modules.scaling  # noqa: F401  # the resolver of conf/model
from datamodules.errors import UserError, first_mistake
from datamodules.translation_data import TranslationData
from lightning_modules.budgets import Budget
from lightning_modules.match import Match
from lightning_modules.randomness import Seeds
from lightning_modules.variants import EncoderDecoder
from lightning_modules.vectors import VectorFiles

log = logging.getLogger(__name__)


def build(config: DictConfig, **arguments: Any) -> Any:
    """Instantiate a node of the configuration with further arguments.

    Raises ``UserError`` for values that its class refuses (``ValidationError``, ``ValueError``).
    """
    try:
        return hydra.utils.instantiate(config, _convert_="all", **arguments)
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, UserError):
            raise cause from None
        if isinstance(cause, ValidationError):
            raise UserError(first_mistake(cause, str(config._get_full_key(None)))) from None
        if isinstance(cause, ValueError):
            raise UserError(str(cause)) from None
        if isinstance(cause, TypeError):  # a value of the wrong kind, or one it does not take
            raise UserError(f"{config._get_full_key(None)}: {cause}") from None
        raise


def build_data(config: DictConfig) -> TranslationData:
    """Build the corpus and its batches."""
    parts = {name: build(config[name]) for name in ("tokenizer", "batching")}
    try:
        return TranslationData(
            corpus=build(config.data),
            val_sentences=config.val_sentences,
            seed=config.seeds.data_order,
            cache_dir=config.cache_dir,
            **parts,
        )
    except ValidationError as error:
        raise UserError(first_mistake(error)) from None


class Settings(BaseModel):
    """The plain values at the top of the configuration."""

    budget: Budget
    seed: NonNegativeInt
    seeds: Seeds
    scale: float = Field(gt=0, allow_inf_nan=False)
    fine_scale: float = Field(gt=0, allow_inf_nan=False)
    match: Match
    vectors: VectorFiles
    label_smoothing: float = Field(ge=0, lt=1)
    threads: PositiveInt | None
    keep_memory: bool
    compile: Literal["default", "reduce-overhead", "max-autotune"] | None
    activation_checkpointing: bool


def build_settings(config: DictConfig) -> Settings:
    """Check the plain values."""
    try:
        plain = OmegaConf.masked_copy(config, list(Settings.model_fields))
        return Settings.model_validate(OmegaConf.to_container(plain, resolve=True))
    except ValidationError as error:
        raise UserError(first_mistake(error)) from None


def try_out(optimizer: Callable[..., Any], scheduler: Callable[..., Any]) -> None:
    """Make both once for nothing, so that wrong settings are told before training begins."""
    name = "optimizer"
    try:
        made = optimizer([torch.nn.Parameter(torch.zeros(1))])
        name = "scheduler"
        scheduler(made)
    except ValidationError as error:
        raise UserError(first_mistake(error, name)) from None
    except (TypeError, ValueError) as error:
        raise UserError(f"{name}: {error}; mend {name}.KEY=VALUE") from None


def build_model(config: DictConfig, src_vocabulary: int, tgt_vocabulary: int) -> EncoderDecoder:
    """Build a variant for vocabularies of these sizes."""
    if OmegaConf.select(config, "model.tied") == "all" and not config.tokenizer.shared:
        raise UserError("model.tied=all: needs one vocabulary; set tokenizer.shared=true")
    model: EncoderDecoder = build(
        config.model, src_vocabulary=src_vocabulary, tgt_vocabulary=tgt_vocabulary
    )
    for part, device in model.placement:
        if device is not None and torch.device(device).type == "meta":
            raise UserError(
                f"model.placement.{part}={device}: holds no numbers; write cpu or cuda:N"
            )
    return model


def compile_blocks(model: EncoderDecoder, mode: str | None) -> None:
    """Let ``torch.compile`` make kernels for the blocks of a model, whatever their lengths.

    Raises ``UserError`` where it cannot make any, as without a C++ compiler.
    """
    if mode is None:
        return
    try:
        torch.compile(torch.neg, mode=mode)(torch.zeros(1))
    except RuntimeError as error:
        why = str(error).strip().splitlines()[0]
        raise UserError(f"compile={mode}: {why}; mend that or set compile=null") from None
    for block in model.blocks():
        block.compile(mode=mode, dynamic=True)


def checkpoint_layers(model: EncoderDecoder) -> None:
    """Let each layer of a model keep its inputs alone, and compute the rest again going back."""
    layers = list(model.layers())
    if not layers:
        log.info(
            "activation_checkpointing=true: changes nothing for a %s", type(model).__name__.lower()
        )
    for layer in layers:  # torch's wrappers would be modules themselves, with names
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


def embedding_width(config: DictConfig) -> str:
    """Return the setting that says how wide a variant's embeddings are."""
    return "model.embedding_size" if "embedding_size" in config.model else "model.width"
