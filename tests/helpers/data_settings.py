"""Settings of cleaning and batches for tests: everything off but what a test names."""

import re
from dataclasses import replace
from typing import Any

import yaml

from datamodules.batching import Batching
from datamodules.cleaning import Cleaning
from datamodules.grammar import GrammarCorpus
from lightning_modules.runs.paths import CONF

NO_CLEANING = Cleaning(
    unicode=False,
    punctuation=False,
    ratio=None,
    copies=False,
    language=None,
    held_out=False,
    duplicates=False,
)


def cleaning_settings(**changes: Any) -> Cleaning:
    """Return a cleaning of the steps that are named."""
    return replace(NO_CLEANING, **changes)


def batch_sizes(max_tokens: int, decode_max_tokens: int, **changes: Any) -> Batching:
    """Return sizes of batches of sentences of similar length, built ahead by one thread."""
    sizes = Batching(max_tokens, decode_max_tokens, by_length=True, pieces=None, workers=1)
    return replace(sizes, **changes)


def grammar_preset(name: str = "grammar") -> dict[str, Any]:
    """Return the settings of the grammar in a file of ``conf/data``."""
    values: dict[str, Any] = {}
    for part in dict.fromkeys(("grammar", name)):
        text = (CONF / f"data/{part}.yaml").read_text(encoding="utf-8")
        values |= yaml.safe_load(re.sub(r"(?<=\d)_(?=\d)", "", text))
    return {key: value for key, value in values.items() if key not in ("_target_", "defaults")}


def grammar_corpus(train: int = 1, val: int = 1, test: int = 1, **changes: Any) -> GrammarCorpus:
    """Return the built-in corpus of ``data=grammar`` with other sizes and settings."""
    sizes = {"train_size": train, "val_size": val, "test_size": test}
    return GrammarCorpus(**grammar_preset() | sizes | changes)
