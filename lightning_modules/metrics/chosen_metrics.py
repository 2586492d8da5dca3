"""All metrics of the harness, those chosen by name or dotted path, and their statistics."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn

import numpy as np

from datamodules.corpus import USABLE_NAME
from datamodules.errors import UserError
from datamodules.plugs import check_shape, find_plug, make_plug
from lightning_modules.metrics.metric import (
    Array,
    FormulaMetric,
    Metric,
    ReferenceText,
    Statistics,
    TextMetric,
    ratio,
)
from lightning_modules.metrics.text_metrics import (
    SENTENCE_BLEU,
    TEXT_METRICS,
    Bleu,
    sentence_bleu_signature,
)
from lightning_modules.metrics.word_alignment import error_precision_recall

log = logging.getLogger(__name__)

SETTING = "scoring.metrics"
MOST_NATS = np.log(np.finfo(np.float64).max)  # largest number of nats whose exponential is finite


def perplexity(sums: Array) -> Array:
    """Return the exponential of the mean negative log-likelihood, from ``nats, tokens``.

    NaN on overflow, as for a model that diverged.
    """
    nats = ratio(sums)
    return np.exp(nats, where=nats < MOST_NATS, out=np.full(nats.shape, np.nan))


def _percent(row: int) -> Callable[[Array], Array]:
    return lambda sums: 100 * error_precision_recall(sums)[row]


MODEL_METRICS = (
    FormulaMetric("length_ratio", "length ratio", 0, "bleu", decimals=3, from_zero=False),
    FormulaMetric(
        *("perplexity", "perplexity of a reference token", -1, "likelihood", perplexity),
        decimals=2,
        in_summary=True,
    ),
    FormulaMetric("aer", "alignment error (%)", -1, "links", _percent(0), in_summary=True),
    FormulaMetric("precision", "alignment precision (%)", 1, "links", _percent(1)),
    FormulaMetric("recall", "alignment recall (%)", 1, "links", _percent(2)),
    FormulaMetric("entropy", "entropy of attention (nats)", 0, "entropy", decimals=2),
    FormulaMetric("distance", "distance from the diagonal", 0, "distance", decimals=3),
    FormulaMetric("coverage", "coverage of source words", 1, "coverage", decimals=3),
)
"""Hypothesis tokens per reference token, with which the counts of BLEU begin; likelihood of the
references; their alignment; and the attention of the translations (``attention_statistics``)."""
METRICS: Mapping[str, Metric] = {
    metric.name: metric for metric in (*(kind() for kind in TEXT_METRICS.values()), *MODEL_METRICS)
}
"""The harness's metrics by name, in the order of the tables."""
COLUMNS = {
    "bleu_high", "bleu_low", "file", "group", "length_high", "length_low", "resamples",
    "resampling_seed", "seed", "seeds", "sentences", "signature", "system", "variant",
}  # fmt: skip
"""Columns of tables that are no metrics."""
TAKEN = COLUMNS.union(METRICS, (metric.statistics for metric in METRICS.values()))
"""Names of metrics, of statistics and of columns, which no further metric may have."""
EXAMPLE = ReferenceText(["the old house .", "yes"], ["ein altes Haus .", "ja"])
EXAMPLE_HYPOTHESES = ["an old house .", "no"]
"""Translations of ``EXAMPLE``, on which metrics are tried out."""


def find_metrics(names: Iterable[str]) -> list[TextMetric]:
    """Return BLEU, then the other metrics that ``scoring.metrics`` names.

    Raises ``UserError`` for a name or a class that cannot be used, and for a metric given twice.
    """
    metrics: dict[str, TextMetric] = {}
    for name in names:
        metric = _find_metric(name)
        if metric.name in metrics:
            raise UserError(f"{SETTING}={name}: {metric.name} is there twice; give each once")
        metrics[metric.name] = metric
    bleu = metrics.pop("bleu", Bleu())
    return [bleu, *metrics.values()]


def find_recorded_metric(name: str) -> TextMetric | None:
    """Return a metric that a run recorded; warn and return None if it cannot be used any more."""
    try:
        return _find_metric(name)
    except UserError as error:
        log.warning("%s; its scores are left out", error)
        return None


def in_order(chosen: Iterable[TextMetric]) -> list[Metric]:
    """Return the metrics to score: the harness's in the order of the tables, then the others.

    Of several metrics with one name, the first counts.
    """
    by_name: dict[str, TextMetric] = {}
    for metric in chosen:
        by_name.setdefault(metric.name, metric)
    ordered: list[Metric] = [
        metric
        for name, metric in METRICS.items()
        if name in by_name or not isinstance(metric, TextMetric)
    ]
    return [*ordered, *(metric for name, metric in by_name.items() if name not in METRICS)]


def signatures(text: ReferenceText, metrics: Iterable[Metric] = ()) -> dict[str, str]:
    """Return the signatures of the harness's metrics, of ``SENTENCE_BLEU`` and of ``metrics``."""
    signed = {each.name: each.signature_on(text) for each in (*METRICS.values(), *metrics)}
    bleu = {"bleu": signed.pop("bleu"), SENTENCE_BLEU: sentence_bleu_signature(text)}
    return {name: signature for name, signature in (bleu | signed).items() if signature}


def try_metrics(names: Iterable[str]) -> None:
    """Raise ``UserError`` for a name as ``find_metrics`` does, or a metric that cannot score."""
    translation_statistics(find_metrics(names), EXAMPLE, EXAMPLE_HYPOTHESES)


def translation_statistics(
    metrics: Iterable[TextMetric], text: ReferenceText, hypotheses: Sequence[str]
) -> Statistics:
    """Count the statistics of metrics, each once.

    Raises ``ValueError`` when the lists are empty or of unequal length, and ``UserError`` for a
    metric that lacks sources or whose statistics cannot be used.
    """
    counted: dict[str, Array] = {}
    for metric in metrics:
        if metric.statistics not in counted:
            if metric.needs_sources and text.sources is None:
                name = type(metric).__name__
                raise UserError(f"{_override(metric)}: {name} needs the sources; give sources=FILE")
            counts = metric.count(text, hypotheses)
            counted[metric.statistics] = _checked(metric, counts, len(text.references))
        check_counts(metric, [counted[metric.statistics]])
    return counted


def check_counts(metric: Metric, counts: Sequence[Array]) -> None:
    """Raise ``UserError`` unless a metric fits statistics of outputs, ``(sentences, columns)``."""
    widths = sorted({each.shape[1] for each in counts})
    if len(widths) > 1:
        raise UserError(
            f"{_override(metric)}: {type(metric).__name__} counted {widths[0]} columns for one run "
            f"and {widths[-1]} for another; count anew with task=test"
        )
    for width in widths:
        for shape in ((), (2, 3)):
            sums = np.broadcast_to(counts[0].sum(0), (*shape, width))
            _check_score(metric, sums, shape)


def _check_score(metric: Metric, sums: Array, shape: tuple[int, ...]) -> None:
    check_shape(_override(metric), metric, lambda: np.asarray(metric.score(sums)), shape)


def _find_metric(name: str) -> TextMetric:
    kind = find_plug(SETTING, name, TEXT_METRICS, TextMetric)
    metric = make_plug(SETTING, name, kind)
    if kind not in TEXT_METRICS.values():
        _check_attributes(metric)
    return metric


def _check_attributes(metric: TextMetric) -> None:
    """Raise ``UserError`` for a class whose attributes cannot be used in files and figures."""

    def refuse(attribute: str, why: str) -> NoReturn:
        which = f"{type(metric).__name__}.{attribute}={getattr(metric, attribute, None)!r}"
        raise UserError(f"{_override(metric)}: {which}: {why}")

    for attribute in ("name", "label", "better"):
        if not hasattr(metric, attribute):
            refuse(attribute, "is missing; give one")
    for attribute in ("name", "statistics"):
        name = getattr(metric, attribute)
        if not (isinstance(name, str) and USABLE_NAME.fullmatch(name)):
            refuse(attribute, "give letters, digits, and + . - after them")
    if metric.name in TAKEN:
        refuse("name", "this name is taken; give another")
    own_counts = all(type(metric).count is not kind.count for kind in TEXT_METRICS.values())
    if own_counts and metric.statistics in TAKEN:
        refuse("statistics", "is taken; give another name")
    if not isinstance(metric.label, str) or not metric.label:
        refuse("label", "give a text")
    if metric.better not in (1, -1, 0):
        refuse("better", "give 1, -1 or 0")


def _checked(metric: TextMetric, counts: Array, sentences: int) -> Array:
    mistake = f"{_override(metric)}: {type(metric).__name__}.count returns"
    try:
        array = np.asarray(counts, np.float64)
    except (TypeError, ValueError):
        raise UserError(f"{mistake} no array of numbers, {type(counts).__name__}") from None
    if array.ndim != 2 or len(array) != sentences or not array.shape[1]:
        wanted = f"({sentences}, columns)"
        raise UserError(f"{mistake} the shape {array.shape}, but {wanted} is needed")
    if not np.isfinite(array).all():
        number = int(np.flatnonzero(~np.isfinite(array).all(1))[0])
        raise UserError(f"{mistake} {array[number].tolist()} for sentence {number}, from 0")
    return array


def _override(metric: Metric) -> str:
    kind = type(metric)
    return f"{SETTING}={kind.__module__}.{kind.__qualname__}"
