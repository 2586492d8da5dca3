"""From configuration to objects, with mistakes told as one line that names the override."""

from typing import Any

import hydra.utils
from hydra.errors import InstantiationException
from omegaconf import DictConfig
from pydantic import ValidationError

from datamodules.errors import UserError
from datamodules.translation_data import TranslationData
from lightning_modules.variants import EncoderDecoder


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
            raise UserError(_first_mistake(cause, str(config._get_full_key(None)))) from None
        if isinstance(cause, ValueError):
            raise UserError(str(cause)) from None
        raise


def _first_mistake(error: ValidationError, node: str) -> str:
    first = error.errors()[0]
    key = ".".join([node, *(str(part) for part in first["loc"])])
    return f"{key}={first['input']}: {first['msg']}"


def build_data(config: DictConfig) -> TranslationData:
    """Build the corpus and its batches."""
    return TranslationData(
        corpus=build(config.data),
        tokenizer=build(config.tokenizer),
        batching=build(config.batching),
        val_sentences=config.val_sentences,
        seed=config.seed,
        cache_dir=config.cache_dir,
    )


def build_model(config: DictConfig, src_vocabulary: int, tgt_vocabulary: int) -> EncoderDecoder:
    """Build a variant for vocabularies of these sizes."""
    model: EncoderDecoder = build(
        config.model, src_vocabulary=src_vocabulary, tgt_vocabulary=tgt_vocabulary
    )
    return model
