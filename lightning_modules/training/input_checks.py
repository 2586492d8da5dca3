"""Check that a model can read a text, before any training or translation."""

from collections.abc import Mapping

import numpy as np
from omegaconf import DictConfig, OmegaConf

from datamodules.batching import EncodedPairs
from datamodules.corpus import Split
from datamodules.errors import UserError
from datamodules.tokenization import Tokenizer, is_tag
from lightning_modules.variants import EncoderDecoder

Text = Mapping[str, EncodedPairs] | Mapping[Split, EncodedPairs]
"""Sentence pairs by the name of their text in messages, such as ``train``."""


def check_text(config: DictConfig, model: EncoderDecoder, source: Tokenizer, text: Text) -> None:
    """Raise ``UserError`` for text that ``model`` cannot read.

    Args:
        config: configuration of the run that trains or trained the model.
        model: any variant.
        source: source vocabulary.
        text: sentence pairs to read.
    """
    check_lengths(model, text)
    check_tags(config, source, text)


def check_lengths(model: EncoderDecoder, text: Text) -> None:
    """Raise ``UserError`` for sentences longer than the limit of ``model``."""
    limit = model.limit()
    if limit is None:
        return
    for side, part, most in (
        ("source", "src", limit.src_tokens),
        ("target", "tgt", limit.tgt_tokens),
    ):
        lengths = {name: getattr(pairs, part).lengths for name, pairs in text.items()}
        longest, name = max(
            (int(counts.max(initial=0)) + 1, name) for name, counts in lengths.items()
        )
        if most is not None and longest > most:
            raise UserError(
                f"{limit.setting}={most}: the longest {name} {side} has {longest} tokens; train "
                f"with {limit.setting}={longest} or more, or shorten the text"
            )


def check_tags(config: DictConfig, source: Tokenizer, text: Text) -> None:
    """Raise ``UserError`` if the query uses the target language and a source has no language tag.

    A tag that training has not seen does not count.
    """
    if not OmegaConf.select(config, "model.query.language"):
        return
    tags = np.array([is_tag(surface) for surface in source.surfaces])
    for name, pairs in text.items():
        first = pairs.src.tokens[pairs.src.starts[pairs.src.lengths > 0]]
        without = len(pairs) - int(tags[first].sum())
        if without:
            raise UserError(
                f"model.query.language=true: {without:,} of {len(pairs):,} {name} sources do not "
                "begin with a tag of the target language that training knows, such as <2fr>; write "
                "one before each, or train with model.query.language=false"
            )
