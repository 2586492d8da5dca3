"""Settings of cleaning and batches for tests: everything off but what a test names."""

from dataclasses import replace
from typing import Any

from datamodules.batching import Batching
from datamodules.cleaning import Cleaning

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
