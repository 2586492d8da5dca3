"""Searches with the usual settings where a test gives none."""

from typing import Any

from lightning_modules.decoding import BeamSearch, GreedySearch, SamplingSearch

FREE: dict[str, Any] = {"min_length": None, "no_repeat_ngram": None, "length": None}
"""No constraint."""
LIMITS: dict[str, Any] = {
    "max_ratio": 1.5, "max_extra": 10, **FREE, "bf16": False, "int8": False
}  # fmt: skip


def greedy_search(**limits: Any) -> GreedySearch:
    return GreedySearch(**(LIMITS | limits))


def beam_search(
    beam_size: int = 4,
    length_penalty: float = 0.6,
    n_best: int = 1,
    coverage_penalty: float | None = None,
    **limits: Any,
) -> BeamSearch:
    return BeamSearch(beam_size, length_penalty, coverage_penalty, n_best, **(LIMITS | limits))


def sampling_search(n_best: int = 1, **options: Any) -> SamplingSearch:
    draws: dict[str, Any] = {"temperature": 1.0, "top_k": None, "top_p": None, "seed": 1}
    return SamplingSearch(n_best, **(draws | LIMITS | options))
