"""Texts that differ in form alone: case, Unicode, apostrophes, entities."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from datamodules.corpus import examples_of
from datamodules.corpus_statistics import Suspicion

LOWER_CASE = "no capital letters"
DIFFERENCE = 0.5  # least difference of the shares of two texts
FEWEST = 10  # least number of lines of either text in which a form can be seen


class TextForm(NamedTuple):
    """A form in which a line may be, and in which lines it can be seen."""

    has: Callable[[str], object]  # whether a line is in the form
    shows: Callable[[str], object]  # whether a line could be in the form, or is


def _decomposed(line: str) -> bool:
    return not unicodedata.is_normalized("NFC", line)


def _composable(line: str) -> bool:
    return _decomposed(line) or not unicodedata.is_normalized("NFD", line)


FORMS: Mapping[str, TextForm] = {
    LOWER_CASE: TextForm(str.islower, lambda line: line.lower() != line.upper()),
    "Unicode's decomposed form": TextForm(_decomposed, _composable),
    "typographic apostrophes": TextForm(re.compile("[‘’]").search, re.compile("['‘’]").search),
    "entities of HTML": TextForm(
        re.compile(r"&(amp|apos|quot|lt|gt|#\d+);").search, re.compile("[&'\"<>]").search
    ),
    "full-width marks": TextForm(
        re.compile("[，！？：；]").search, re.compile("[,!?:;，！？：；]").search
    ),
    "invisible letters": TextForm(re.compile("[\u00ad\u200b\u2060\ufeff]").search, str.strip),
}
"""Forms by name. White space is none: nothing depends on it."""


def form_suspicions(
    texts: Mapping[str, Sequence[str]], advice: Mapping[str, str]
) -> Iterator[Suspicion]:
    """Yield each form that one of two ``texts`` has and the other has not, by their names.

    ``advice`` says what to do about a form.
    """
    for form, (has, shows) in FORMS.items():
        shown = {name: list(filter(shows, lines)) for name, lines in texts.items()}
        found = {name: list(filter(has, lines)) for name, lines in shown.items()}
        if min(map(len, shown.values())) < FEWEST:
            continue
        shares = {name: len(found[name]) / len(shown[name]) for name in texts}
        less, more = sorted(shares, key=shares.__getitem__)
        if shares[more] - shares[less] >= DIFFERENCE:
            what = f"{more} have {form}, unlike {less} ({shares[less]:.0%})"
            todo = advice.get(form, "")
            examples = examples_of(found[more])
            yield Suspicion(what + todo, len(found[more]), len(shown[more]), examples)
