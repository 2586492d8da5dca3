"""What looks wrong in a corpus although a model can be trained on the corpus."""

from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from datamodules.corpus import ParallelText
from datamodules.examples import examples_of

SOME, MANY = 0.01, 0.05
"""Least shares of the lines for a warning."""


class Suspicion(NamedTuple):
    """Lines that have something in common that they should not have."""

    what: str
    lines: int
    of: int
    """Number of all lines."""
    examples: list[str]

    def __str__(self) -> str:
        """Return one line: what, how many, and examples."""
        shown = "; ".join(f"“{example}”" for example in self.examples)
        return f"{self.lines:,} of {self.of:,} {self.what}: {shown}"


def suspicion(what: str, lines: Sequence[str], of: int, share: float) -> Iterator[Suspicion]:
    """Yield a suspicion if there are lines, and at least a ``share`` of all."""
    if lines and len(lines) >= share * of:
        yield Suspicion(what, len(lines), of, examples_of(lines))


def suspicions_of_corpus(
    copies: Suspicion, leaked: Set[tuple[str, str]], test: ParallelText
) -> list[Suspicion]:
    """Return what looks wrong: test pairs in the training text, targets equal to sources.

    ``copies`` counts the training pairs whose target equals the source; ``leaked`` holds the test
    pairs that are training pairs.
    """
    tested = list(zip(test.source, test.target, strict=True))
    seen = [source for source, target in tested if (source, target) in leaked]
    same = [source for source, target in tested if source == target]
    return [
        *suspicion("test pairs are training pairs too", seen, len(tested), SOME),
        *([copies] if copies.lines and copies.lines >= MANY * copies.of else []),
        *suspicion("test sources equal their reference", same, len(tested), MANY),
    ]
