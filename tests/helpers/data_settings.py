"""Settings of corpora, tokenizers and batches for tests: everything off but what a test names."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from datamodules.batching import Batching
from datamodules.cleaning import Cleaning
from datamodules.huggingface import HuggingFaceCorpus
from datamodules.mixture import MixtureCorpus
from datamodules.text import TextCorpus
from datamodules.tokenization import TokenizerSettings

NO_CLEANING = Cleaning(
    unicode=False,
    punctuation=False,
    ratio=None,
    copies=False,
    language=None,
    held_out=False,
    duplicates=False,
)
NO_LIMITS: dict[str, Any] = {
    "limit": None,
    "train_max_words": None,
    "test_max_words": None,
    "skip_empty": False,
    "test_sets": [],
    "test_sets_folder": None,
    "alignments": None,
    "cache_dir": None,
}


def cleaning_settings(**changes: Any) -> Cleaning:
    """Return a cleaning of the steps that are named."""
    return replace(NO_CLEANING, **changes)


def tokenizer_settings(
    kind: str, vocabulary_size: int = 400, min_frequency: int = 1, shared: bool = False, **more: Any
) -> TokenizerSettings:
    """Return settings of a tokenizer that learns from the whole text."""
    sample = {"sample_pairs": 1_000_000} | more
    return TokenizerSettings(
        kind, vocabulary_size=vocabulary_size, min_frequency=min_frequency, shared=shared, **sample
    )


def batch_sizes(max_tokens: int, decode_max_tokens: int, **more: Any) -> Batching:
    """Return sizes of batches of sentences of similar length, built ahead by one thread."""
    others = {"by_length": True, "pieces": None, "workers": 1} | more
    return Batching(max_tokens=max_tokens, decode_max_tokens=decode_max_tokens, **others)


def text_corpus(root: Path, source: str = "de", target: str = "en", **more: Any) -> TextCorpus:
    """Return a corpus of text files."""
    others = NO_LIMITS | {"name": "text", "columns": None} | more
    return TextCorpus(root=root, source=source, target=target, **others)


def hub_corpus(path: Path | str, columns: dict[str, str], **more: Any) -> HuggingFaceCorpus:
    """Return a corpus of Parquet, Arrow or JSON lines."""
    others = {"name": "huggingface", "configuration": None, "folder": None, "revision": None}
    return HuggingFaceCorpus(path=str(path), columns=columns, **(NO_LIMITS | others | more))


def mixture(**given: Any) -> MixtureCorpus:
    """Return a mixture of corpora."""
    others = {"name": "mixture", "weights": None, "temperature": None, "size": None}
    return MixtureCorpus(**(others | given))
