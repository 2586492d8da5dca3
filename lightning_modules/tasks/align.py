"""``task=align``: force a trained run through given translations, and write its attention."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from datamodules.batching import EncodedPairs, Sequences
from datamodules.corpus import ParallelText
from datamodules.errors import UserError
from datamodules.files import write_text
from datamodules.lines import read_lines
from datamodules.tokenization import Tokenizers
from lightning_modules.figures.charts import save_chart
from lightning_modules.figures.heat_map import attention_map
from lightning_modules.metrics.word_alignment import (
    Gold,
    Pair,
    format_pharaoh,
    format_soft_pharaoh,
    hard_alignment,
    parse_gold,
    read_gold_file,
)
from lightning_modules.runs.files import BrokenFileError, read_predictions, write_record
from lightning_modules.runs.job import label_of
from lightning_modules.runs.paths import PREDICTIONS
from lightning_modules.runs.schema import SentenceAttention
from lightning_modules.testing.forced_decoding import step_by_rule
from lightning_modules.testing.text_alignment import (
    MEAN,
    Alignment,
    AlignmentSummary,
    GoldSummary,
    HeadChoice,
    Index,
    align_text,
    summarise,
)
from lightning_modules.training.checkpoints import TrainedModel, load_trained
from lightning_modules.training.input_checks import check_text
from lightning_modules.training.process import prepare_process
from lightning_modules.training.settings import training_settings

log = logging.getLogger(__name__)

ALIGNMENTS = "alignments.txt"
SOFT = "soft_alignments.txt"
ALIGNMENT_JSON = "alignment.json"
RUN_TARGETS = ("reference", "hypothesis")
"""Names of targets in the test set of a run."""
DEFAULT_HEAT_MAPS = 3
"""How many heat maps are drawn where ``sentences`` is null."""


def align(config: DictConfig) -> None:
    """Task: write alignments, heat maps and statistics of the attention into the output folder.

    Raises ``UserError`` for a run, text, gold or choice that cannot be used.
    """
    folder = Path(HydraConfig.get().runtime.output_dir)
    prepare_process(training_settings(config))
    trained = load_trained(config.checkpoint)
    text = read_text(config.sources, config.targets, trained)
    gold = _gold(config.gold, text)
    pairs = encode(text, trained.tokenizers)
    numbers = sentences_to_draw(config.sentences, pairs, len(text))
    check_text(trained.config, trained.model, trained.tokenizers.source, {"given": pairs})
    choice = HeadChoice(config.layer, config.head, step_by_rule(config.step, trained.model))
    limit = config.batching.decode_max_tokens
    alignment = align_text(trained, text, pairs, gold, choice, limit)
    write_lines(folder, alignment)
    label = label_of(trained.config.variant, [], trained.config)
    for number in numbers:
        links = sorted(gold[number].possible) if gold else []
        attention = sentence_attention(number, text, alignment, links)
        draw(folder / f"heat_map_{number}", attention, alignment, label)
    summary = summarise(alignment, trained.config.variant)
    write_record(folder / ALIGNMENT_JSON, summary)
    log.info("\n".join([*summary_lines(summary), f"results: {folder}"]))


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
    if len(text.source) != len(text.target):
        raise UserError(
            f"sources={sources} has {len(text.source)} lines but targets={targets} has "
            f"{len(text.target)}: line n of one must translate line n of the other"
        )
    source = trained.cleaning.aligned_lines(text.source, trained.languages[0])
    return replace(text, source=source)


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


def write_lines(folder: Path, alignment: Alignment) -> None:
    """Write hard and soft alignments, a line for each pair, empty for a pair with an empty side."""
    known = [np.zeros((0, 0)) if weights is None else weights for weights in alignment.weights]
    hard = (format_pharaoh(hard_alignment(weights)) for weights in known)
    write_text(folder / ALIGNMENTS, "".join(f"{line}\n" for line in hard))
    soft = (format_soft_pharaoh(weights) for weights in known)
    write_text(folder / SOFT, "".join(f"{line}\n" for line in soft))


def sentence_attention(
    number: int, text: ParallelText, alignment: Alignment, gold: Sequence[Pair]
) -> SentenceAttention:
    """Return the weights of one pair that has words on both sides."""
    weights = alignment.weights[number]
    assert weights is not None
    return SentenceAttention(
        id=number,
        source_words=text.source[number].split(),
        target_words=text.target[number].split(),
        weights=weights.tolist(),
        gold=list(gold),
    )


def draw(stem: Path, attention: SentenceAttention, alignment: Alignment, label: str) -> None:
    """Save the heat map of one pair; its title names the head where a model has several."""
    sentence = f"sentence {attention.id}"
    if alignment.layers * alignment.heads > 1:
        sentence += f", layer {alignment.view.layer}, head {alignment.view.head}"
    save_chart(attention_map(attention, label, sentence), stem)


def summary_lines(summary: AlignmentSummary) -> Iterator[str]:
    """Yield a summary of ``alignment.json`` for the terminal, line by line."""
    layer = _one_of("layer", summary.layer, summary.layers)
    head = _one_of("head", summary.head, summary.heads)
    yield (
        f"{summary.variant}: {summary.aligned} of {summary.pairs} pairs aligned by "
        f"{layer}, {head}, when a word is {summary.step}"
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


def _test_set(targets: str, run: Path) -> ParallelText:
    if targets not in RUN_TARGETS:
        raise UserError(
            f"targets={targets}: give sources=FILE too, or one of {', '.join(RUN_TARGETS)}"
        )
    remedy = "give sources=FILE targets=FILE"
    try:
        predictions = read_predictions(run)
    except BrokenFileError as error:
        raise UserError(f"{run}: {error}; {remedy}") from None
    if not predictions:
        raise UserError(f"{run / PREDICTIONS} is missing or has no rows: {remedy}")
    gold = [prediction.gold for prediction in predictions if prediction.gold is not None]
    return ParallelText(
        [prediction.source for prediction in predictions],
        [getattr(prediction, targets) for prediction in predictions],
        gold if targets == "reference" and len(gold) == len(predictions) else None,
    )


def _gold(file: str | None, text: ParallelText) -> list[Gold] | None:
    """Return the gold alignments of a file, or else of the run's test set; None without gold."""
    if file is not None:
        return read_gold_file(file, "gold", text.source, text.target)
    return None if text.alignments is None else [parse_gold(line) for line in text.alignments]


def _one_of(name: str, index: Index, count: int) -> str:
    if count == 1:
        return f"its only {name}"
    return f"the mean of {count} {name}s" if index == MEAN else f"{name} {index} of 0-{count - 1}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _row(cells: Sequence[str]) -> str:
    return "  " + " ".join(f"{cell:>6}" for cell in cells)
