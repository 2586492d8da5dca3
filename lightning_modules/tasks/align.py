"""``task=align`` but for its page: force given translations, and write the attention.

Word alignments come from all layers and heads; one layer and head, or their means, is written.
"""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from hydra.core.hydra_config import HydraConfig
from numpy.typing import NDArray
from omegaconf import DictConfig

from datamodules.batching import EncodedPairs, Sequences
from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from datamodules.files import write_text
from datamodules.lines import read_lines
from datamodules.tokenization import Tokenizers
from lightning_modules.figures.charts import Chart
from lightning_modules.figures.heat_map import attention_map
from lightning_modules.figures.picture_files import FigureWidths, save_chart
from lightning_modules.metrics import word_alignment as links
from lightning_modules.metrics.metric import ratio
from lightning_modules.metrics.word_alignment import Gold
from lightning_modules.runs.files import (
    BrokenFileError,
    read_predictions,
    read_result,
    write_record,
)
from lightning_modules.runs.job import FORCED, label_of, search_in_words
from lightning_modules.runs.paths import PREDICTIONS
from lightning_modules.runs.schema import Record, SentenceAttention
from lightning_modules.runs.setting_checks import check_arguments
from lightning_modules.tasks.progress import Advance, sentence_count
from lightning_modules.testing import forced_decoding
from lightning_modules.testing.forced_decoding import Step
from lightning_modules.training.checkpoints import TrainedModel, load_trained
from lightning_modules.training.factories import check_text
from lightning_modules.training.process import prepare_process

log = logging.getLogger(__name__)

ALIGNMENTS = "alignments.txt"
SOFT = "soft_alignments.txt"
ALIGNMENT_JSON = "alignment.json"
RUN_TARGETS = ("reference", "hypothesis")  # names of targets in the test set of a run
DEFAULT_HEAT_MAPS = 3  # how many heat maps are drawn where `sentences` is null
STEPS: tuple[Step, ...] = get_args(Step)
MEAN = "mean"
Index = int | str
"""A layer or a head, counted from 0 or backwards from -1; ``mean`` for the mean of all."""


class AlignmentSummary(Record):
    """``alignment.json`` without gold alignments; a ratio without a denominator is None."""

    variant: str
    search: str  # the search whose translations are aligned; of given translations, none
    pairs: int  # number of sentence pairs given
    aligned: int  # number of pairs with words on both sides
    layer: Index
    layers: int
    head: Index
    heads: int
    step: Step
    entropy: float | None  # mean entropy of a target word's weights, in nats
    distance: float | None  # mean distance from the diagonal
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

    view: HeadChoice  # layer, head and step of `weights`; layer and head are counted from 0
    layers: int
    heads: int
    weights: list[NDArray[np.float64] | None]
    """Weights of each pair, ``(tgt words, src words)``; None where a side is empty."""
    statistics: NDArray[np.float64]  # sum of `attention_statistics` over all pairs, `(3, 2)`
    counts: NDArray[np.int64] | None
    """Sum of ``alignment_statistics`` over all pairs, ``(2, layers + 1, heads + 1, 4)``.

    The axes are step, layer, head and count; the last layer and the last head are the means. None
    without gold alignments.
    """


class FoundAlignment(NamedTuple):
    """What ``align`` finds, for a page."""

    summary: AlignmentSummary
    maps: Mapping[str, Chart]  # heat maps by the names of their files
    label: str  # of the run's system


def align(config: DictConfig) -> FoundAlignment:
    """Write alignments, heat maps and statistics of the attention into the output folder.

    Raises ``UserError`` for a run, text, gold or choice that cannot be used.
    """
    folder = Path(HydraConfig.get().runtime.output_dir)
    prepare_process(config)
    check_arguments(config)
    widths = FigureWidths.of(config)
    trained = load_trained(config.checkpoint)
    text = read_text(config.sources, config.targets, trained)
    gold = read_gold(config.gold, text)
    pairs = encode(text, trained.tokenizers)
    numbers = sentences_to_draw(config.sentences, pairs, len(text))
    alignment = align_pairs(trained, text, pairs, gold, config)
    write_lines(folder, alignment)
    label = label_of(trained.config.variant, [], trained.config)
    maps: dict[str, Chart] = {}
    for number in numbers:
        weights = alignment.weights[number]
        assert weights is not None
        lines = text.source[number], text.target[number]
        drawn = gold[number].possible if gold else ()
        attention = SentenceAttention.between(number, *lines, weights, drawn)
        title = f"sentence {number}"
        if alignment.layers * alignment.heads > 1:
            title += f", layer {alignment.view.layer}, head {alignment.view.head}"
        chart = attention_map(attention, label, title, widths.points[""])
        save_chart(chart, folder / f"heat_map_{number}")
        maps[f"heat_map_{number}"] = chart
    is_output = config.sources is None and config.targets == "hypothesis"
    search = search_of(trained) if is_output else FORCED
    summary = summarise(alignment, trained.config.variant, search)
    write_record(folder / ALIGNMENT_JSON, summary)
    log.info("\n".join([*summary_lines(summary), f"results: {folder}"]))
    return FoundAlignment(summary, maps, label)


def read_text(sources: str | None, targets: str, trained: TrainedModel) -> ParallelText:
    """Read two line-aligned files, or the test set of a run; the sources are cleaned.

    Raises ``UserError`` for files that cannot be read or differ in length.
    """
    if sources is None:
        return _test_set(targets, trained.folder)
    if targets in RUN_TARGETS:
        raise UserError(
            f"targets={targets}: with sources=FILE give a file of translations, targets=FILE"
        )
    text = ParallelText(read_lines(sources, "sources"), read_lines(targets, "targets"))
    return checked_text(text, trained, f"sources={sources}", f"targets={targets}")


def checked_text(
    text: ParallelText, trained: TrainedModel, sources: str, targets: str
) -> ParallelText:
    """Return a text with its source side cleaned as the training text was.

    Raises ``UserError``, which calls the sides ``sources`` and ``targets``, if they differ in
    length.
    """
    if len(text.source) != len(text.target):
        raise UserError(
            f"{sources} has {len(text.source)} lines but {targets} has "
            f"{len(text.target)}: line n of one must translate line n of the other"
        )
    source = trained.cleaning.aligned_lines(text.source, trained.languages[0])
    return replace(text, source=source)


def _test_set(targets: str, run: Path) -> ParallelText:
    if targets not in RUN_TARGETS:
        raise UserError(
            f"targets={targets}: give sources=FILE too, or one of {', '.join(RUN_TARGETS)}"
        )
    remedy = "give sources=FILE targets=FILE"
    try:
        predictions = read_predictions(run)
    except BrokenFileError as error:
        raise UserError(f"{error}; {remedy}") from None
    if not predictions:
        raise UserError(f"{run / PREDICTIONS} is missing or has no rows: {remedy}")
    gold = [each.gold for each in predictions if each.gold is not None]
    return ParallelText(
        [each.source for each in predictions],
        [getattr(each, targets) for each in predictions],
        gold if targets == "reference" and len(gold) == len(predictions) else None,
    )


def read_gold(file: str | None, text: ParallelText) -> list[Gold] | None:
    """Return the gold alignments of a file, or else of the run's test set; None without gold."""
    if file is None:
        lines = text.alignments
        return None if lines is None else [links.parse_gold(line) for line in lines]
    try:
        return links.read_gold(read_lines(file, "gold"), text)
    except ValueError as error:
        raise UserError(f"gold={file}, {error}") from None


def encode(text: ParallelText, tokenizers: Tokenizers) -> EncodedPairs:
    """Encode the pairs that have words on both sides; ids are their numbers in ``text``."""
    sides = zip(text.source, text.target, strict=True)
    full = [number for number, pair in enumerate(sides) if all(line.strip() for line in pair)]
    if not full:
        raise UserError("sources=, targets=: no line has words on both sides; give other files")
    encoded = (
        Sequences.of(tokenizer.encode([lines[number] for number in full]))
        for tokenizer, lines in zip(tokenizers, (text.source, text.target), strict=True)
    )
    return EncodedPairs(np.array(full), *encoded)


def sentences_to_draw(chosen: Sequence[int] | None, pairs: EncodedPairs, count: int) -> list[int]:
    """Return the numbers of the sentences to draw. Raises ``UserError`` for a missing sentence."""
    full = pairs.ids.tolist()
    if chosen is None:
        return full[:DEFAULT_HEAT_MAPS]
    for number in set(chosen).difference(full):
        there = 0 <= number < count
        why = "a side of it is empty" if there else f"there are {count}, counted from 0"
        raise UserError(f"sentences={list(chosen)}: sentence {number} cannot be drawn: {why}")
    return list(chosen)


def align_pairs(
    trained: TrainedModel,
    text: ParallelText,
    pairs: EncodedPairs,
    gold: Sequence[Gold] | None,
    config: DictConfig,
) -> Alignment:
    """Align ``pairs`` of ``text`` as ``config`` of the task says; see ``align_text``.

    Raises ``UserError`` for words that the model cannot read.
    """
    check_text(trained.config, trained.model, trained.tokenizers.source, {"given": pairs})
    step = forced_decoding.step_by_rule(config.step, trained.model)
    choice = HeadChoice(config.layer, config.head, step)
    limit = config.batching.decode_max_tokens
    with sentence_count("aligning", len(pairs)) as advance:
        return align_text(trained, text, pairs, gold, choice, limit, advance)


def align_text(
    trained: TrainedModel,
    text: ParallelText,
    pairs: EncodedPairs,
    gold: Sequence[Gold] | None,
    view: HeadChoice,
    decode_max_tokens: int | None,
    advance: Advance = lambda sentences: None,
) -> Alignment:
    """Align ``pairs``, the pairs of ``text`` with words on both sides, by forced decoding.

    Raises ``UserError`` for a model without attention, or without the layer or head of ``view``.
    """
    weights: list[NDArray[np.float64] | None] = [None] * len(text)
    statistics, counts = [], []
    layers = heads = 0
    for number, by_token in forced_decoding.forced_head_weights(
        trained.model, pairs, decode_max_tokens
    ):
        advance(1)
        if not layers:
            layers, heads = by_token.shape[:2]
            view = resolve_indices(view, layers, heads, trained.config.variant)
        by_step = torch.stack([forced_decoding.weights_at(step, by_token) for step in STEPS])
        lines = text.source[number], text.target[number]
        by_word = with_means(forced_decoding.merge_words(by_step, *lines, trained.tokenizers))
        chosen = by_word[place(view, layers, heads)].copy()  # a copy frees the other weights
        weights[number] = chosen
        statistics.append(links.attention_statistics(chosen))
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


def _counts(weights: NDArray[np.float64], gold: Gold) -> NDArray[np.int64]:
    """Count the links of one pair: ``(…, tgt words, src words) -> (…, 4)``."""
    matrices = weights.reshape(-1, *weights.shape[-2:])
    found = [links.hard_alignment(matrix) for matrix in matrices]
    counts = links.alignment_statistics(found, [gold] * len(found))
    return counts.reshape(*weights.shape[:-2], 4)


def write_lines(folder: Path, alignment: Alignment) -> None:
    """Write hard and soft alignments, a line for each pair, empty for a pair with an empty side."""
    known = [np.zeros((0, 0)) if weights is None else weights for weights in alignment.weights]
    hard = (links.format_pharaoh(links.hard_alignment(weights)) for weights in known)
    write_text(folder / ALIGNMENTS, "".join(f"{line}\n" for line in hard))
    soft = (links.format_soft_pharaoh(weights) for weights in known)
    write_text(folder / SOFT, "".join(f"{line}\n" for line in soft))


def search_of(trained: TrainedModel) -> str:
    """Return the search that translated the test set of a run."""
    result = read_result(trained.folder)
    return "not recorded" if result is None else search_in_words(result.decoding)


def summarise(alignment: Alignment, variant: str, search: str = FORCED) -> AlignmentSummary:
    """Return the content of ``alignment.json``, a ``GoldSummary`` with gold alignments."""
    view, counts = alignment.view, alignment.counts
    content: dict[str, Any] = {
        "variant": variant,
        "search": search,
        "pairs": len(alignment.weights),
        "aligned": sum(weights is not None for weights in alignment.weights),
        "layer": view.layer,
        "layers": alignment.layers,
        "head": view.head,
        "heads": alignment.heads,
        "step": view.step,
        **_known(links.ATTENTION_VALUES, ratio(alignment.statistics)),
    }
    if counts is None:
        return AlignmentSummary(**content)
    step, layer, head = place(view, alignment.layers, alignment.heads)
    measures = links.error_precision_recall(counts)
    errors = measures[0]
    layers, heads = ([*map(str, range(each)), MEAN] for each in (alignment.layers, alignment.heads))
    found = ("found_and_sure", "found_and_possible", "found", "sure")
    content |= _known(("aer", "precision", "recall"), measures[:, step, layer, head])
    content |= dict(zip(found, counts[step, layer, head].tolist(), strict=True))
    content["aer_by_step"] = _known(STEPS, errors[:, layer, head])
    content["aer_by_layer"] = {
        name: _known(heads, row) for name, row in zip(layers, errors[step], strict=True)
    }
    return GoldSummary(**content)


def _known(names: Sequence[Any], values: NDArray[np.float64]) -> dict[Any, float | None]:
    """Return values by name, None for NaN."""
    known = (None if math.isnan(value) else float(value) for value in values)
    return dict(zip(names, known, strict=True))


def summary_lines(summary: AlignmentSummary) -> Iterator[str]:
    """Yield a summary of ``alignment.json`` for the terminal, line by line."""
    layer = _one_of("layer", summary.layer, summary.layers)
    head = _one_of("head", summary.head, summary.heads)
    yield (
        f"{summary.variant}: {summary.aligned} of {summary.pairs} pairs aligned by "
        f"{layer}, {head}, when a word is {summary.step}; search: {summary.search}"
    )
    yield (
        f"entropy {_number(summary.entropy)} nats, distance from the diagonal "
        f"{_number(summary.distance)}, coverage {_number(summary.coverage)}"
    )
    if not isinstance(summary, GoldSummary):
        return
    by_step = ", ".join(f"{step} {_number(aer)}" for step, aer in summary.aer_by_step.items())
    yield (
        f"alignment error rate {_number(summary.aer)} ({by_step}), precision "
        f"{_number(summary.precision)}, recall {_number(summary.recall)}"
    )
    if summary.layers * summary.heads == 1:
        return
    yield "alignment error rate by layer and head:"
    yield _row(["layer", *summary.aer_by_layer[MEAN]])
    for name, by_head in summary.aer_by_layer.items():
        yield _row([name, *map(_number, by_head.values())])


def _one_of(name: str, index: Index, count: int) -> str:
    if count == 1:
        return f"its only {name}"
    return f"the mean of {count} {name}s" if index == MEAN else f"{name} {index} of 0-{count - 1}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _row(cells: Sequence[str]) -> str:
    return "  " + " ".join(f"{cell:>6}" for cell in cells)
