"""Word alignments of given translations by a trained model's attention, by layer and head."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from datamodules.batching import EncodedPairs
from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from lightning_modules.metrics.word_alignment import (
    Gold,
    alignment_error_rate,
    alignment_precision,
    alignment_recall,
    alignment_statistics,
    attention_statistics,
    attention_values,
    hard_alignment,
)
from lightning_modules.runs.schema import Record
from lightning_modules.testing.forced_decoding import (
    Step,
    forced_head_weights,
    merge_words,
    weights_at,
)
from lightning_modules.training.checkpoints import TrainedModel

STEPS: tuple[Step, ...] = get_args(Step)
COUNTS = ("found_and_sure", "found_and_possible", "found", "sure")
"""Names of the four link counts of ``alignment_statistics``."""
MEAN = "mean"
Index = int | str
"""A layer or a head, counted from 0 or backwards from -1; ``mean`` for the mean of all."""


class AlignmentSummary(Record):
    """``alignment.json`` without gold alignments; a ratio without a denominator is None."""

    variant: str
    pairs: int
    """Number of sentence pairs given."""
    aligned: int
    """Number of pairs with words on both sides."""
    layer: Index
    layers: int
    head: Index
    heads: int
    step: Step
    entropy: float | None
    """Mean entropy of a target word's weights, in nats."""
    distance: float | None
    """Mean distance from the diagonal."""
    coverage: float | None


class GoldSummary(AlignmentSummary):
    """``alignment.json`` with gold alignments: errors, 0 to 1, and the numbers of links."""

    aer: float | None
    precision: float | None
    recall: float | None
    found_and_sure: int
    found_and_possible: int
    found: int
    sure: int
    aer_by_step: dict[Step, float | None]
    aer_by_layer: dict[str, dict[str, float | None]]
    """Errors by layer, then by head, with the means under ``mean``."""


class HeadChoice(NamedTuple):
    """Layer, head and step of the attention weights to use."""

    layer: Index
    head: Index
    step: Step


class Alignment(NamedTuple):
    """The attention over a text, between words."""

    view: HeadChoice
    """Layer, head and step of ``weights``; layer and head are counted from 0."""
    layers: int
    heads: int
    weights: list[NDArray[np.float64] | None]
    """Weights of each pair, ``(tgt words, src words)``; None where a side is empty."""
    statistics: NDArray[np.float64]
    """Sum of ``attention_statistics`` over all pairs, ``(3, 2)``."""
    counts: NDArray[np.int64] | None
    """Sum of ``alignment_statistics`` over all pairs, ``(2, layers + 1, heads + 1, 4)``.

    The axes are step, layer, head and count; the last layer and the last head are the means. None
    without gold alignments.
    """


def align_text(
    trained: TrainedModel,
    text: ParallelText,
    pairs: EncodedPairs,
    gold: Sequence[Gold] | None,
    view: HeadChoice,
    decode_max_tokens: int,
) -> Alignment:
    """Align ``pairs``, the pairs of ``text`` with words on both sides, by forced decoding.

    Raises ``UserError`` for a model without attention, or without the layer or head of ``view``.
    """
    model, tokenizers = trained.model, trained.tokenizers
    weights: list[NDArray[np.float64] | None] = [None] * len(text)
    statistics, counts = [], []
    layers = heads = 0
    for number, by_token in forced_head_weights(model, pairs, decode_max_tokens):
        if not layers:
            layers, heads = by_token.shape[:2]
            view = resolve_indices(view, layers, heads, trained.config.variant)
        by_step = torch.stack([weights_at(step, by_token) for step in STEPS])
        lines = text.source[number], text.target[number]
        by_word = with_means(merge_words(by_step, *lines, tokenizers))
        chosen = by_word[place(view, layers, heads)].copy()  # a copy frees the other weights
        weights[number] = chosen
        statistics.append(attention_statistics(chosen))
        if gold is not None:
            counts.append(_counts(by_word, gold[number]))
    if not layers:
        raise UserError(
            f"task=align: {trained.config.variant} has no attention to align by; give "
            "checkpoint=... of another run"
        )
    return Alignment(
        view, layers, heads, weights, np.sum(statistics, 0), np.sum(counts, 0) if counts else None
    )


def with_means(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Append the means: ``(2, layers, heads, …) -> (2, layers + 1, heads + 1, …)``."""
    for axis in (1, 2):
        weights = np.concatenate([weights, weights.mean(axis, keepdims=True)], axis)
    return weights


def place(view: HeadChoice, layers: int, heads: int) -> tuple[int, int, int]:
    """Return the index of the weights of ``view`` in an array from ``with_means``."""
    layer, head = (
        count if index == MEAN else int(index)
        for index, count in ((view.layer, layers), (view.head, heads))
    )
    return STEPS.index(view.step), layer, head


def resolve_indices(view: HeadChoice, layers: int, heads: int, variant: str) -> HeadChoice:
    """Count layer and head from 0. Raises ``UserError`` if ``variant`` lacks the layer or head."""

    def from_start(name: str, index: Index, count: int) -> Index:
        if index == MEAN:
            return index
        if isinstance(index, int) and -count <= index < count:
            return index % count
        raise UserError(
            f"{name}={index}: {variant} has {count}, counted from 0 (the last is {count - 1} or "
            f"-1): give one of them or {name}=mean"
        )

    return HeadChoice(
        from_start("layer", view.layer, layers), from_start("head", view.head, heads), view.step
    )


def summarise(alignment: Alignment, variant: str) -> AlignmentSummary:
    """Return the content of ``alignment.json``, a ``GoldSummary`` with gold alignments."""
    view, counts = alignment.view, alignment.counts
    content: dict[str, Any] = {
        "variant": variant,
        "pairs": len(alignment.weights),
        "aligned": sum(weights is not None for weights in alignment.weights),
        "layer": view.layer,
        "layers": alignment.layers,
        "head": view.head,
        "heads": alignment.heads,
        "step": view.step,
        **_nan_as_none(attention_values(alignment.statistics)._asdict()),
    }
    if counts is None:
        return AlignmentSummary(**content)
    step, layer, head = place(view, alignment.layers, alignment.heads)
    errors = alignment_error_rate(counts)
    chosen = counts[step, layer, head]
    ratios = {
        "aer": errors[step, layer, head],
        "precision": alignment_precision(chosen),
        "recall": alignment_recall(chosen),
    }
    content |= _nan_as_none(ratios)
    content |= dict(zip(COUNTS, chosen.tolist(), strict=True))
    content["aer_by_step"] = _nan_as_none(dict(zip(STEPS, errors[:, layer, head], strict=True)))
    content["aer_by_layer"] = {
        name: _nan_as_none(dict(zip(_names(alignment.heads), row, strict=True)))
        for name, row in zip(_names(alignment.layers), errors[step], strict=True)
    }
    return GoldSummary(**content)


def _counts(weights: NDArray[np.float64], gold: Gold) -> NDArray[np.int64]:
    """Count the links of one pair: ``(…, tgt words, src words) -> (…, 4)``."""
    matrices = weights.reshape(-1, *weights.shape[-2:])
    links = [hard_alignment(matrix) for matrix in matrices]
    counts = alignment_statistics(links, [gold] * len(links))
    return counts.reshape(*weights.shape[:-2], 4)


def _names(count: int) -> list[str]:
    return [*map(str, range(count)), MEAN]


def _nan_as_none(values: dict[str, Any]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else float(value) for name, value in values.items()}
