"""What the attention of a trained model says of given translations, by layer and head."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from datamodules.batching import EncodedPairs
from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from lightning_modules.checkpoints import TrainedModel
from lightning_modules.forced import Step, forced_head_weights, merge_words, weights_at
from lightning_modules.metrics.alignments import hard_alignment
from lightning_modules.metrics.attention import attention_statistics, attention_values
from lightning_modules.metrics.gold import (
    Gold,
    alignment_error_rate,
    alignment_precision,
    alignment_recall,
    alignment_statistics,
)

STEPS: tuple[Step, ...] = get_args(Step)
COUNTS = ("found_and_sure", "found_and_possible", "found", "sure")
"""Names of the links that ``alignment_statistics`` counts."""
MEAN = "mean"
Index = int | str
"""A layer or a head, counted from 0, or backwards from -1; ``mean`` of all."""


class View(NamedTuple):
    """Which of a model's weights are looked at."""

    layer: Index
    head: Index
    step: Step


class Alignment(NamedTuple):
    """The attention over a text, between words."""

    view: View
    """Counted from 0."""
    layers: int
    heads: int
    weights: list[NDArray[np.float64] | None]
    """``(tgt words, src words)`` of each pair; None where a side is empty."""
    statistics: NDArray[np.float64]
    """Of ``attention_statistics``, ``(3, 2)``, summed up."""
    counts: NDArray[np.int64] | None
    """Of ``alignment_statistics`` by step, layer and head, summed up, the mean of the layers and
    that of the heads last, ``(2, layers + 1, heads + 1, 4)``; None without gold."""


def align_text(
    trained: TrainedModel,
    text: ParallelText,
    pairs: EncodedPairs,
    gold: Sequence[Gold] | None,
    view: View,
    decode_max_tokens: int,
) -> Alignment:
    """Force a model through ``pairs``, those of ``text`` that have words on both sides.

    Raises ``UserError`` for a model without attention, or without the layer or head of ``view``.
    """
    model, tokenizers = trained.model, trained.tokenizers
    weights: list[NDArray[np.float64] | None] = [None] * len(text)
    statistics, counts = [], []
    layers = heads = 0
    for number, by_token in forced_head_weights(model, pairs, decode_max_tokens):
        if not layers:
            layers, heads = by_token.shape[:2]
            view = counted(view, layers, heads, trained.config.variant)
        by_step = torch.stack([weights_at(step, by_token) for step in STEPS])
        lines = text.source[number], text.target[number]
        by_word = with_means(merge_words(by_step, *lines, tokenizers))
        chosen = by_word[place(view, layers, heads)].copy()  # lets go of the others
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
    """Put the means last: ``(2, layers, heads, …) -> (2, layers + 1, heads + 1, …)``."""
    for axis in (1, 2):
        weights = np.concatenate([weights, weights.mean(axis, keepdims=True)], axis)
    return weights


def place(view: View, layers: int, heads: int) -> tuple[int, int, int]:
    """Return where the weights of ``view`` lie among those ``with_means``."""
    layer, head = (
        count if index == MEAN else int(index)
        for index, count in ((view.layer, layers), (view.head, heads))
    )
    return STEPS.index(view.step), layer, head


def counted(view: View, layers: int, heads: int, variant: str) -> View:
    """Count layer and head from 0. Raises ``UserError`` for what ``variant`` does not have."""

    def from_start(name: str, index: Index, count: int) -> Index:
        if index == MEAN:
            return index
        if isinstance(index, int) and -count <= index < count:
            return index % count
        raise UserError(
            f"{name}={index}: {variant} has {count}, counted from 0 (the last is {count - 1} or "
            f"-1): give one of them or {name}=mean"
        )

    return View(
        from_start("layer", view.layer, layers), from_start("head", view.head, heads), view.step
    )


def described(alignment: Alignment) -> dict[str, Any]:
    """Return the content of ``alignment.json``; None where there was nothing to divide by."""
    view, counts = alignment.view, alignment.counts
    content: dict[str, Any] = {
        "pairs": len(alignment.weights),
        "aligned": sum(weights is not None for weights in alignment.weights),
        "layer": view.layer,
        "layers": alignment.layers,
        "head": view.head,
        "heads": alignment.heads,
        "step": view.step,
    }
    content |= _known(attention_values(alignment.statistics)._asdict())
    if counts is None:
        return content
    step, layer, head = place(view, alignment.layers, alignment.heads)
    errors = alignment_error_rate(counts)
    chosen = counts[step, layer, head]
    content |= _known(
        {
            "aer": errors[step, layer, head],
            "precision": alignment_precision(chosen),
            "recall": alignment_recall(chosen),
        }
    )
    content |= dict(zip(COUNTS, chosen.tolist(), strict=True))
    content["aer_by_step"] = _known(dict(zip(STEPS, errors[:, layer, head], strict=True)))
    content["aer_by_layer"] = {
        name: _known(dict(zip(_names(alignment.heads), row, strict=True)))
        for name, row in zip(_names(alignment.layers), errors[step], strict=True)
    }
    return content


def _counts(weights: NDArray[np.float64], gold: Gold) -> NDArray[np.int64]:
    """``(…, tgt words, src words) -> (…, 4)``."""
    several = weights.reshape(-1, *weights.shape[-2:])
    found = [hard_alignment(one) for one in several]
    counts = alignment_statistics(found, [gold] * len(found))
    return counts.reshape(*weights.shape[:-2], 4)


def _names(count: int) -> list[str]:
    return [*map(str, range(count)), MEAN]


def _known(values: dict[str, Any]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else float(value) for name, value in values.items()}
