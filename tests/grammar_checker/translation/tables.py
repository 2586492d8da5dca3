"""The translations of words, from the word lists of the three languages."""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from tests.grammar_checker.german.words import WORDS as GERMAN
from tests.grammar_checker.words import english, read_lines, senses

Table = Mapping[str, frozenset[str]]
ENGLISH = english()
FRENCH_SENSES = senses("french/senses.txt")
GERMAN_SENSES = senses("german/senses.txt")


class Translations(NamedTuple):
    """The translations of words of one language into another."""

    verbs: Table
    adjectives: Table
    nouns: Table
    senses: Mapping[str, str]
    """What the nouns of the other language are, if their English word has two senses."""


def _with_particles(verbs: Table, column: int) -> Table:
    """Return the translations of verbs, with those of verbs with a particle (*go up*)."""
    cells = read_lines("translation/particles.txt")
    return {**verbs, **{each[0]: frozenset(each[column].split(", ")) for each in cells}}


def _joined(first: Table, second: Table, senses_of_both: bool = False) -> Table:
    """Return the translations from French into German by way of English."""
    found: dict[str, set[str]] = defaultdict(set)
    for word, in_french in first.items():
        for each in in_french:
            found[each] |= {
                german
                for german in second.get(word, ())
                if not senses_of_both or _has_same_sense(each, german)
            }
    return {word: frozenset(words) for word, words in found.items()}


def _has_same_sense(french_noun: str, german_noun: str) -> bool:
    """Return whether two translations of an English noun may be of the same sense of it."""
    kinds = FRENCH_SENSES.get(french_noun), GERMAN_SENSES.get(german_noun)
    return None in kinds or kinds[0] == kinds[1]


_HELPERS = {
    "be": frozenset(("être",)), "can": frozenset(("pouvoir",)), "must": frozenset(("devoir",)),
}  # fmt: skip
IN_FRENCH = Translations(
    _with_particles(ENGLISH.verbs_in_french | _HELPERS, 1),
    ENGLISH.adjectives_in_french,
    ENGLISH.nouns_in_french,
    FRENCH_SENSES,
)
IN_GERMAN = Translations(
    _with_particles(GERMAN.verbs_in_german, 2),
    GERMAN.adjectives_in_german,
    GERMAN.nouns_in_german,
    GERMAN_SENSES,
)
FRENCH_IN_GERMAN = Translations(
    _joined(IN_FRENCH.verbs, IN_GERMAN.verbs),
    _joined(IN_FRENCH.adjectives, IN_GERMAN.adjectives),
    _joined(IN_FRENCH.nouns, IN_GERMAN.nouns, senses_of_both=True),
    {},
)
