"""The private parts of libraries that the harness uses, each with a test that fails on a change."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sacrebleu.metrics import BLEU, CHRF, TER

if TYPE_CHECKING:  # reports count BLEU, and load neither Lightning nor torch
    import pytorch_lightning as pl
    from torch import Tensor


def end_only_by_flags(trainer: "pl.Trainer") -> None:
    """Do not ask the other ranks for SIGTERM before each batch, as Lightning does.

    Its question waits for the device; ``RankFlags`` asks over the processor, and less often.
    """
    trainer.fit_loop.epoch_loop._broadcast_sigterm_tensor = lambda: None  # type: ignore[method-assign]


def correct_step_count(trainer: "pl.Trainer") -> None:
    """Set Lightning's step counter to the true number.

    After a resumed validation the counter is one too high.
    """
    trainer.fit_loop.epoch_loop._batches_that_stepped = trainer.global_step


def sentence_counts(
    counter: BLEU | CHRF | TER,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str | None]],
) -> list[list[float]]:
    """Return what a metric of sacreBLEU sums over sentences, a row for each sentence."""
    streams: Any = references  # sacreBLEU takes None for a missing reference, but says str
    counts: list[list[float]] = counter._extract_corpus_statistics(hypotheses, streams)
    return counts


def onednn_linear(
    inputs: "Tensor", weight: "Tensor", bias: "Tensor | None" = None, onto: "Tensor | None" = None
) -> "Tensor":
    """Return ``onto + inputs @ weightᵀ + bias`` by oneDNN, which has no public operator.

    The inputs are ``(rows, columns)``; the weight may come from ``onednn_weight``.
    """
    import torch

    operator = torch.ops.mkldnn._linear_pointwise
    result: Tensor = (
        operator.default(inputs, weight, bias, "none", [], "")
        if onto is None
        else operator.binary(inputs, onto, weight, bias, "add")
    )
    return result


def onednn_weight(weight: "Tensor") -> "Tensor":
    """Lay a weight out for ``onednn_linear``, once for many products."""
    import torch

    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous())
    return packed
