"""Nouns with two senses: the verb of which they are the subject or the object decides the sense."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from tests.grammar_checker.translation.references import Governed
from tests.grammar_checker.translation.tables import (
    FRENCH_IN_GERMAN,
    FRENCH_SENSES,
    IN_FRENCH,
    Translations,
)
from tests.grammar_checker.words import read_lines

THING = (
    "tool", "container", "furniture", "machine", "instrument", "text", "vehicle", "clothes"
)  # fmt: skip
STILL = (
    "tool", "container", "furniture", "instrument", "text", "clothes", "food", "drink", "body",
    "plant", "place", "landmark", "material", "idea", "event",
)  # fmt: skip
CLASSES = {"thing": THING, "still": STILL}
"""Names of several classes at once."""


@cache
def _excluded() -> dict[tuple[str, str], frozenset[str]]:
    """Return the classes of nouns that a verb and use exclude."""
    found = {}
    for use, classes, verbs in read_lines("translation/sense_verbs.txt"):
        kinds = frozenset(kind for name in classes.split() for kind in CLASSES.get(name, (name,)))
        for verb in verbs.split(", "):
            found[verb, use] = kinds
    return found


@cache
def _kinds(noun: str) -> frozenset[str]:
    """Return what an English noun may be, if it has two senses."""
    words = IN_FRENCH.nouns.get(noun, frozenset())
    return frozenset(FRENCH_SENSES[word] for word in words if word in FRENCH_SENSES)


def _decided(governed: Governed) -> str:
    """Return what a noun is by its verb; nothing if the verb leaves it open."""
    kinds = _kinds(governed.noun)
    uses = {"object": ["object"], "agent": ["subject"]}.get(governed.use, ["subject", "alone"])
    excluded = (_excluded().get((governed.verb, use), frozenset()) for use in uses)
    fitting = kinds.difference(*excluded)
    return next(iter(fitting)) if len(kinds) > len(fitting) == 1 else ""


def wrong_senses(
    governed: Iterable[Governed], others: Sequence[Governed], table: Translations
) -> Iterator[str]:
    """Yield the nouns that are not translated in the sense that their verbs decide."""
    left = list(others)
    for each in governed:
        words = _in_sense(each, table)
        verbs = table.verbs.get(each.verb, frozenset())
        match = next((other for other in left if other.noun in words and other.verb in verbs), None)
        if match is not None:
            left.remove(match)
        elif words:
            yield f"'{each.noun}' has another sense with '{each.verb}'"


def _in_sense(governed: Governed, table: Translations) -> frozenset[str]:
    """Return the translations of a noun in the sense that it has; nothing if it has but one."""
    words = table.nouns.get(governed.noun, frozenset())
    if table is FRENCH_IN_GERMAN:
        return words if governed.noun in FRENCH_SENSES else frozenset()
    kind = _decided(governed)
    return frozenset(word for word in words if kind and table.senses.get(word) == kind)
