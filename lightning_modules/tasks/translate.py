"""``task=translate``: translate text with a trained run, one sentence a line."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from omegaconf import DictConfig

from datamodules.batching import batches_of
from datamodules.errors import UserError
from datamodules.files import write_text
from datamodules.text import decode_lines, read_bytes
from lightning_modules.building import build
from lightning_modules.checkpoints import TrainedModel, load_trained
from lightning_modules.decoding import Hypothesis
from lightning_modules.metrics.alignments import format_pharaoh, hard_alignment
from lightning_modules.scoring import words_attention


def translate(config: DictConfig) -> None:
    """Translate ``config.input`` to ``config.output``; an empty line stays empty.

    Raises ``UserError`` for a checkpoint or text that cannot be used, or if alignments are asked
    of a model without attention.
    """
    trained = load_trained(config.checkpoint)
    lines = read_input(config.input)
    found = search(trained, lines, config)
    if config.alignments is not None:
        write_text(config.alignments, "".join(f"{line}\n" for line in align(trained, lines, found)))
    tokens = [hypothesis.tokens if hypothesis else [] for hypothesis in found]
    output = "".join(f"{line}\n" for line in trained.tokenizers.target.decode(tokens))
    if config.output == "-":
        sys.stdout.write(output)
    else:
        write_text(config.output, output)


def read_input(name: str) -> list[str]:
    """Read the lines of a file, plain or ``.gz``, or of standard input (``-``)."""
    if name == "-":
        return decode_lines(Path("standard input"), sys.stdin.buffer.read(), "input")
    path = Path(name)
    return decode_lines(path, read_bytes(path, "input"), "input")


def search(
    trained: TrainedModel, lines: Sequence[str], config: DictConfig
) -> list[Hypothesis | None]:
    """Return the best hypothesis of each line, None for an empty one."""
    translate_batch = build(config.decoding)
    full = [number for number, line in enumerate(lines) if line.strip()]
    encoded = trained.tokenizers.source.encode([lines[number] for number in full])
    found: list[Hypothesis | None] = [None] * len(lines)
    for batch in batches_of(encoded, config.batching.decode_max_tokens):
        hypotheses = translate_batch(trained.model, batch.src, batch.src_mask)
        for row, best in zip(batch.ids.tolist(), hypotheses, strict=True):
            found[full[row]] = best[0]
    return found


def align(
    trained: TrainedModel, lines: Sequence[str], found: Sequence[Hypothesis | None]
) -> Iterator[str]:
    """Yield for each line the source word that each target word looked at most."""
    for line, hypothesis in zip(lines, found, strict=True):
        if hypothesis is None:
            yield ""
            continue
        weights = words_attention(hypothesis, line, trained.tokenizers)
        if weights is None:
            raise UserError(
                f"alignments=: {trained.config.variant} has no attention to align by; "
                "leave alignments out or translate with another run"
            )
        yield format_pharaoh(hard_alignment(weights))
