"""Settings of cleaning, and what cleaning does to one line of text."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from datamodules.cleaning.normalising import compose, normalise_punctuation
from datamodules.corpus import ParallelText
from datamodules.errors import UserError


@dataclass(frozen=True)
class Cleaning:
    """Which steps clean the training text; instantiated from ``conf/cleaning``.

    The first two steps change lines, also the sources of validation and test and other text to
    translate. References stay as given, since scores must be comparable. All other steps leave
    training pairs out.
    """

    unicode: bool = False
    """Whether characters are composed (Unicode's normal form C)."""
    punctuation: bool = False
    """Whether quotes, dashes and spaces become those of Moses's punctuation normaliser."""
    ratio: Annotated[float, Field(gt=1)] | None = None
    """Most words of the longer side for each word of the shorter side."""
    copies: bool = False
    """Whether to leave out pairs whose target is the source."""
    language: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Least probability of the right language on each side."""
    held_out: bool = False
    """Whether to leave out pairs with a sentence of validation or test on the same side."""
    duplicates: bool = False
    """Whether to leave out pairs that came before."""

    @property
    def identity(self) -> list[Any]:
        """Values that change with the cleaned text; none without cleaning."""
        return [] if self == Cleaning() else [{"cleaning": asdict(self)}]

    def lines(self, lines: Sequence[str], language: str) -> list[str]:
        """Return lines of a language as the training text has such lines."""
        composed = compose(lines) if self.unicode else list(lines)
        return normalise_punctuation(composed, language) if self.punctuation else composed

    def text(self, text: ParallelText, language: str) -> ParallelText:
        """Return text of validation or test whose source, in ``language``, is cleaned.

        Raises ``UserError`` if gold alignments count words that cleaning joins or cuts.
        """
        if text.alignments is None:
            return replace(text, source=self.lines(text.source, language))
        return replace(text, source=self.aligned_lines(text.source, language))

    def aligned_lines(self, lines: Sequence[str], language: str) -> list[str]:
        """Return ``lines``, whose words an alignment counts.

        Raises ``UserError`` if cleaning joins or cuts words.
        """
        cleaned = self.lines(lines, language)
        for number, (before, after) in enumerate(zip(lines, cleaned, strict=True), 1):
            if len(before.split()) != len(after.split()):
                raise UserError(
                    f"cleaning.punctuation=true changes the number of words of sentence {number}, "
                    f"whose words an alignment counts (“{before[:80]}” becomes “{after[:80]}”): "
                    "write the sentence so, or set cleaning.punctuation=false for the training"
                )
        return cleaned
