"""Small tokenizers of every kind, and text for them."""

import io
from collections.abc import Sequence
from functools import cache
from typing import Any

from sentencepiece import SentencePieceTrainer

from datamodules.tokenization import (
    Bpe,
    Bytes,
    Characters,
    SentencePieces,
    Tokenizer,
    Unigram,
    Words,
)

LINES = [
    "L'homme n'aime pas le chien.",
    "Le chien (noir) n’a pas 3,5 ans !",
    "Don't: <s> is no </s> token, nor is <unk> or <pad>.",
    "naïve nai\u0308ve ½ 日本語 🙂 a_b well-known 'quoted' ''",
]
TRAINED: dict[str, type[Tokenizer]] = {
    "words": Words,
    "bpe": Bpe,
    "unigram": Unigram,
    "characters": Characters,
    "bytes": Bytes,
}
"""Kinds that learn from the text."""
IDENTITY = {"normalization_rule_name": "identity"}
MODELS: dict[str, dict[str, Any]] = {
    "sentencepiece unigram": {"model_type": "unigram", "byte_fallback": True, "vocab_size": 360},
    "sentencepiece bpe": {
        **IDENTITY, "model_type": "bpe", "byte_fallback": True, "vocab_size": 360,
    },
    "sentencepiece without bytes": {**IDENTITY, "model_type": "unigram", "vocab_size": 120},
}  # fmt: skip
"""Options of SentencePiece's trainer for small models; the first normalises to NFKC."""
KINDS = [*TRAINED, *MODELS]


def tokenizer_of(kind: str) -> Tokenizer:
    """Return a tokenizer that knows ``LINES``."""
    if kind in MODELS:
        return SentencePieces(model_of(kind))
    return TRAINED[kind].train(LINES, 400, 1)


@cache
def model_of(kind: str) -> bytes:
    """Return the content of a model file that SentencePiece learned from ``LINES``."""
    # SentencePiece learns no character of the names of its special tokens where they occur.
    return sentencepiece_model([*LINES, "/"], **MODELS[kind])


def sentencepiece_model(lines: Sequence[str], **options: Any) -> bytes:
    """Return the content of a model file that SentencePiece learns from ``lines``."""
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        character_coverage=1.0,
        hard_vocab_limit=False,
        num_threads=1,
        minloglevel=3,
        **options,
    )
    return model.getvalue()
