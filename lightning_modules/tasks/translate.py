"""``task=translate``: translate text with a trained run, one sentence a line."""

import gzip
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from omegaconf import DictConfig
from torch import Tensor

from datamodules.batching import batches_of, sources_alone
from datamodules.errors import UserError
from datamodules.files import check_outputs, whole_file
from datamodules.lines import decode_lines, read_lines
from lightning_modules.decoding import Hypothesis
from lightning_modules.decoding.ctranslate2_engine import Ctranslate2Engine
from lightning_modules.metrics.word_alignment import (
    format_pharaoh,
    format_soft_pharaoh,
    hard_alignment,
)
from lightning_modules.testing.forced_decoding import words_attention
from lightning_modules.testing.unknown_words import Dictionary, read_replacement, write_out
from lightning_modules.training.checkpoints import TrainedModel, load_runs
from lightning_modules.training.factories import build_search, check_text
from lightning_modules.training.process import prepare_process
from lightning_modules.variants import EncoderDecoder, Ensemble

ALIGNED: dict[str, Callable[[np.ndarray], str]] = {
    "alignments": lambda weights: format_pharaoh(hard_alignment(weights)),
    "soft_alignments": format_soft_pharaoh,
}
"""Formats of word alignments, by the setting that names the file."""
FindHypotheses = Callable[[EncoderDecoder, Tensor, Tensor, Tensor], list[list[Hypothesis]]]
"""A search: from a model, source tokens and their mask to the hypotheses of each sentence."""


def translate(config: DictConfig) -> None:
    """Task: translate ``config.input`` to ``config.output``; an empty line stays empty.

    Raises ``UserError`` for a checkpoint or text that cannot be used, or if alignments are asked
    of a model without attention.
    """
    outputs = {name: config[name] for name in ("output", *ALIGNED)}
    check_outputs(outputs, {"input": config.input})
    prepare_process(config)
    asked = [option for option in ALIGNED if config[option] is not None]
    if asked and config.engine != "torch":
        raise UserError(f"{asked[0]}=: engine={config.engine} gives no weights; set engine=torch")
    dictionary = read_replacement(config.decoding)
    runs = load_runs(config.checkpoint)
    trained = runs[0]
    clean = trained.cleaning.aligned_lines if asked else trained.cleaning.lines
    lines = clean(read_input(config.input), trained.languages[0])
    translations = search(runs, lines, config)
    output = "".join(f"{line}\n" for line in output_lines(trained, lines, translations, dictionary))
    texts = [
        (config[option], "".join(align(trained, lines, translations, option))) for option in asked
    ]
    with ExitStack() as files:  # all files are written before the first replaces an old one
        for name, text in (*texts, (config.output, output)):
            if name == "-":
                sys.stdout.buffer.write(text.encode())  # UTF-8 in any terminal, as in files
            elif name is not None:
                path = files.enter_context(whole_file(name))
                packed = gzip.compress if str(name).endswith(".gz") else bytes
                path.write_bytes(packed(text.encode()))


def output_lines(
    trained: TrainedModel,
    lines: Sequence[str],
    translations: Sequence[list[Hypothesis]],
    dictionary: Dictionary | None,
) -> Iterator[str]:
    """Yield the output: a line each, or ``line ||| hypothesis ||| score`` for several each."""
    several = any(len(hypotheses) > 1 for hypotheses in translations)
    ranked = [hypothesis for hypotheses in translations for hypothesis in hypotheses]
    sources = [line for line, each in zip(lines, translations, strict=True) for _ in each]
    texts = iter(write_out(ranked, sources, trained.tokenizers, dictionary)[0])
    for number, hypotheses in enumerate(translations):
        if not several:
            yield next(texts) if hypotheses else ""
            continue
        for hypothesis in hypotheses:
            yield f"{number} ||| {next(texts)} ||| {hypothesis.score:.4f}"


def read_input(name: str) -> list[str]:
    """Read the lines of a file, plain or ``.gz``, or of standard input (``-``)."""
    if name == "-":
        return decode_lines(Path("standard input"), sys.stdin.buffer.read(), "input")
    return read_lines(name, "input")


def search(
    runs: Sequence[TrainedModel], lines: Sequence[str], config: DictConfig
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each line, best first; none for an empty line.

    Several runs translate as an ensemble. Raises ``UserError`` for lines that a model cannot read.
    """
    model = runs[0].model if len(runs) == 1 else Ensemble([run.model for run in runs]).eval()
    chosen = build_search(config, model)
    find_hypotheses: FindHypotheses = chosen
    tokenizer = runs[0].tokenizers.source
    full = [number for number, line in enumerate(lines) if line.strip()]
    encoded = tokenizer.encode([lines[number] for number in full])
    given = {"input": sources_alone(encoded)}
    for run in runs:
        check_text(run.config, run.model, tokenizer, given)
    if config.engine == "ctranslate2":
        longest = max(map(len, encoded), default=0) + 1
        find_hypotheses = Ctranslate2Engine(model, chosen, longest)
    translations: list[list[Hypothesis]] = [[] for _ in lines]
    for batch in batches_of(encoded, config.batching.decode_max_tokens):
        hypotheses = find_hypotheses(model, *batch.source)
        for row, ranked in zip(batch.ids.tolist(), hypotheses, strict=True):
            translations[full[row]] = ranked
    return translations


def align(
    trained: TrainedModel,
    lines: Sequence[str],
    translations: Sequence[list[Hypothesis]],
    option: str,
) -> Iterator[str]:
    """Yield the word alignment of each best hypothesis in the format of ``option``."""
    for line, hypotheses in zip(lines, translations, strict=True):
        if not hypotheses:
            yield "\n"
            continue
        weights = words_attention(hypotheses[0], line, trained.tokenizers)
        if weights is None:
            raise UserError(
                f"{option}=: {trained.config.variant} has no attention to align by; "
                f"leave {option} out or translate with another run"
            )
        yield f"{ALIGNED[option](weights)}\n"
