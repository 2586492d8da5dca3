"""Gold word alignments from files."""

from collections.abc import Sequence

from datamodules.errors import UserError
from datamodules.lines import read_lines
from lightning_modules.metrics.alignment.gold import Gold, read_gold


def read_gold_file(
    name: str, option: str, sources: Sequence[str], targets: Sequence[str]
) -> list[Gold]:
    """Read the gold alignments of sentence pairs. Raises ``UserError`` that names ``option``."""
    lengths = [
        (len(source.split()), len(target.split()))
        for source, target in zip(sources, targets, strict=True)
    ]
    try:
        return read_gold(read_lines(name, option), lengths)
    except ValueError as error:
        raise UserError(f"{option}={name}, {error}") from None
