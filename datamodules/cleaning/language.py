"""Languages of sentences, by the naive Bayes classifier of ``py3langid``."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from datamodules.corpus import ParallelText
from datamodules.errors import UserError

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

CHECKED = 200
"""Pairs of a split that are looked at for swapped languages."""
MOST = 0.5
"""Share of these pairs that are swapped in a swapped corpus."""


def probabilities(lines: Sequence[str], language: str) -> NDArray[np.float64]:
    """Return the probability that each line is in ``language``.

    Raises ``UserError`` for a language that the classifier does not know.
    """
    classifier = _classifier()
    if language not in classifier.labels:
        raise UserError(
            f"cleaning.language: py3langid does not know the language {language!r}; set "
            "cleaning.language=null, or data.source and data.target to two-letter codes"
        )
    return np.array([dict(classifier.rank(line))[language] for line in lines])


def swapped(text: ParallelText, languages: tuple[str, str]) -> tuple[list[str], int]:
    """Return the sources of pairs whose sides are each in the other's language, and of how many.

    At most ``CHECKED`` pairs are looked at, evenly spaced; an empty list means that fewer than
    half of these pairs, or none of a language that the classifier does not know, are swapped.
    """
    if not (len(text) and set(languages) <= set(_classifier().labels)):
        return [], 0
    step = -(-len(text) // CHECKED)
    pairs = list(zip(text.source[::step], text.target[::step], strict=True))
    other = languages[::-1]
    found = [pair[0] for pair in pairs if tuple(_language(line) for line in pair) == other]
    return found if len(found) > MOST * len(pairs) else [], len(pairs)


def _language(line: str) -> str:
    language, _ = _classifier().classify(line)
    return str(language)


@cache
def _classifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # imported late: takes a second

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
