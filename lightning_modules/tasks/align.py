"""``task=align``: let a trained run produce given translations, and see what it looked at."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel, NonNegativeInt, ValidationError

from datamodules.batching import EncodedPairs, Sequences
from datamodules.corpus import ParallelText
from datamodules.errors import UserError, first_mistake
from datamodules.files import write_json, write_text
from datamodules.text import read_lines
from datamodules.tokenization import Tokenizers
from lightning_modules.aligning import MEAN, Alignment, View, align_text, described
from lightning_modules.charts import save_chart
from lightning_modules.checkpoints import load_trained
from lightning_modules.forced import StepRule, step_by_rule
from lightning_modules.gold_files import read_gold_file
from lightning_modules.heat_map import attention_map
from lightning_modules.metrics.alignments import (
    format_pharaoh,
    format_soft_pharaoh,
    hard_alignment,
)
from lightning_modules.metrics.gold import Gold, parse_gold
from lightning_modules.run_folder import PREDICTIONS, Prediction, SentenceAttention
from lightning_modules.suitability import check_text
from lightning_modules.tasks.train import prepare_process

log = logging.getLogger(__name__)

ALIGNMENTS = "alignments.txt"
SOFT = "soft_alignments.txt"
DESCRIBED = "alignment.json"
OF_THE_RUN = ("reference", "hypothesis")
"""What a run's test set has as targets."""
DRAWN = 3
"""Heat maps where nobody says of which sentences."""


class Options(BaseModel):
    """What is to be looked at; layer and head are checked against the model."""

    step: StepRule
    sentences: list[NonNegativeInt] | None


def align(config: DictConfig) -> None:
    """Write alignments, heat maps and what the attention looks like into the run's folder.

    Raises ``UserError`` for a run, text, gold or choice that cannot be used.
    """
    prepare_process(config)
    options = _options(config)
    trained = load_trained(config.checkpoint)
    text = read_text(config.sources, config.targets, trained.folder)
    gold = _gold(config.gold, text)
    pairs = encode(text, trained.tokenizers)
    drawn = to_draw(options.sentences, pairs, len(text))
    check_text(trained.config, trained.model, trained.tokenizers.source, {"given": pairs})
    view = View(config.layer, config.head, step_by_rule(options.step, trained.model))
    limit = config.batching.decode_max_tokens
    alignment = align_text(trained, text, pairs, gold, view, limit)
    folder = Path(HydraConfig.get().runtime.output_dir)
    write_lines(folder, alignment)
    for number in drawn:
        draw(folder / f"heat_map_{number}", number, text, alignment, trained.config.variant)
    content = {"variant": trained.config.variant, **described(alignment)}
    write_json(folder / DESCRIBED, content)
    log.info("\n".join([*said(content), f"everything is in {folder}"]))


def read_text(sources: str | None, targets: str, run: Path) -> ParallelText:
    """Read two files of one translation a line, or the test set of a run.

    Raises ``UserError`` for files that cannot be read or do not fit together.
    """
    if sources is None:
        return _test_set(targets, run)
    if targets in OF_THE_RUN:
        raise UserError(
            f"targets={targets}: with sources=FILE give a file of translations, targets=FILE"
        )
    text = ParallelText(read_lines(sources, "sources"), read_lines(targets, "targets"))
    if len(text.source) != len(text.target):
        raise UserError(
            f"sources={sources} has {len(text.source)} lines but targets={targets} has "
            f"{len(text.target)}: line n of one must translate line n of the other"
        )
    return text


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


def to_draw(asked: Sequence[int] | None, pairs: EncodedPairs, count: int) -> list[int]:
    """Return the numbers of the sentences to draw. Raises ``UserError`` for what cannot be."""
    full = pairs.ids.tolist()
    if asked is None:
        return full[:DRAWN]
    for number in set(asked).difference(full):
        why = f"there are {count}, counted from 0" if number >= count else "a side of it is empty"
        raise UserError(f"sentences={list(asked)}: sentence {number} cannot be drawn: {why}")
    return list(asked)


def write_lines(folder: Path, alignment: Alignment) -> None:
    """Write hard and soft alignments, a line for each pair, empty where there is nothing."""
    found = [np.zeros((0, 0)) if weights is None else weights for weights in alignment.weights]
    hard = (format_pharaoh(hard_alignment(weights)) for weights in found)
    write_text(folder / ALIGNMENTS, "".join(f"{line}\n" for line in hard))
    soft = (format_soft_pharaoh(weights) for weights in found)
    write_text(folder / SOFT, "".join(f"{line}\n" for line in soft))


def draw(stem: Path, number: int, text: ParallelText, alignment: Alignment, variant: str) -> None:
    """Save the heat map of one pair; a title says of what, where a model has several."""
    weights = alignment.weights[number]
    assert weights is not None
    attention = SentenceAttention(
        id=number,
        source_words=text.source[number].split(),
        target_words=text.target[number].split(),
        weights=weights.tolist(),
    )
    title = f"{variant}, sentence {number}"
    if alignment.layers * alignment.heads > 1:
        title += f", layer {alignment.view.layer}, head {alignment.view.head}"
    save_chart(attention_map(attention, title), stem)


def said(content: dict[str, Any]) -> Iterator[str]:
    """Yield what the terminal says of ``alignment.json``."""
    yield (
        f"{content['variant']}: {content['aligned']} of {content['pairs']} pairs aligned by "
        f"{_one_of(content, 'layer')}, {_one_of(content, 'head')}, when a word is {content['step']}"
    )
    yield (
        f"entropy {_number(content['entropy'])} nats, distance from the diagonal "
        f"{_number(content['distance'])}, coverage {_number(content['coverage'])}"
    )
    if "aer" not in content:
        return
    by_step = ", ".join(f"{step} {_number(aer)}" for step, aer in content["aer_by_step"].items())
    yield (
        f"alignment error rate {_number(content['aer'])} ({by_step}), precision "
        f"{_number(content['precision'])}, recall {_number(content['recall'])}"
    )
    if content["layers"] * content["heads"] == 1:
        return
    yield "alignment error rate by layer and head:"
    by_layer = content["aer_by_layer"]
    yield _row(["layer", *by_layer["mean"]])
    for layer, by_head in by_layer.items():
        yield _row([layer, *map(_number, by_head.values())])


def _options(config: DictConfig) -> Options:
    try:
        plain = OmegaConf.masked_copy(config, list(Options.model_fields))
        return Options.model_validate(OmegaConf.to_container(plain, resolve=True))
    except ValidationError as error:
        raise UserError(first_mistake(error)) from None


def _test_set(targets: str, run: Path) -> ParallelText:
    if targets not in OF_THE_RUN:
        raise UserError(
            f"targets={targets}: give sources=FILE too, or one of {', '.join(OF_THE_RUN)}"
        )
    path = run / PREDICTIONS
    try:
        found = [Prediction.model_validate_json(line) for line in read_lines(path, "sources")]
    except ValidationError as error:
        told = error.errors()[0]["msg"]
        raise UserError(f"{path} cannot be read ({told}): give sources=FILE targets=FILE") from None
    gold = [prediction.gold for prediction in found if prediction.gold is not None]
    return ParallelText(
        [prediction.source for prediction in found],
        [getattr(prediction, targets) for prediction in found],
        gold if targets == "reference" and len(gold) == len(found) else None,
    )


def _gold(file: str | None, text: ParallelText) -> list[Gold] | None:
    """The gold alignments of a file, or else those that came with the run's test set."""
    if file is not None:
        return read_gold_file(file, "gold", text.source, text.target)
    return None if text.alignments is None else [parse_gold(line) for line in text.alignments]


def _one_of(content: dict[str, Any], name: str) -> str:
    index, count = content[name], content[f"{name}s"]
    if count == 1:
        return f"its only {name}"
    return f"the mean of {count} {name}s" if index == MEAN else f"{name} {index} of 0-{count - 1}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _row(cells: Sequence[str]) -> str:
    return "  " + " ".join(f"{cell:>6}" for cell in cells)
