"""What nouns may be: their natural genders, persons or things, and their senses beside a verb."""

from collections import defaultdict
from functools import cache

from tests.tools.grammar_checker.english.words import WORDS as ENGLISH
from tests.tools.grammar_checker.french.words import WORDS as FRENCH
from tests.tools.grammar_checker.german.words import WORDS as GERMAN
from tests.tools.grammar_checker.words import read_lines, senses

FRENCH_SENSES = senses("french/senses.txt")
GERMAN_SENSES = senses("german/senses.txt")
YOUNG = {"child": "m"}
"""Persons of whom neither language tells the gender; the corpus gives each concept one."""


@cache
def natural_genders(noun: str, human: str) -> str:
    """Return the genders that an English noun may have: ``m``, ``f``, ``n`` for things.

    French and German nouns tell whether the person is a woman (*voisine*, *Nachbarin*); a noun of
    both genders (*juge*) or a neuter one (*Kind*) leaves it open.
    """
    if human == "-":
        return "n"
    if noun in YOUNG:
        return YOUNG[noun]
    in_french, in_german = _french_genders(noun), _german_genders(noun)
    both = in_french & in_german or in_french or in_german
    return "".join(sorted(both or {"m", "f"})) + "n" * (human == "b")


@cache
def gender_of_french(noun: str) -> str:
    """Return the genders that a French noun of both genders (*artiste*) may have in the corpus."""
    found = "".join(natural_genders(word, "h") for word in _english_of(noun))
    return found or "mf"


@cache
def human_of_french(noun: str) -> str:
    """Return ``h`` for a person, ``-`` for others, nothing if a French noun may be both."""
    kinds = {form.human for word in _english_of(noun) for form in ENGLISH.nouns[word]}
    return kinds.pop() if len(kinds) == 1 and kinds != {"b"} else ""


@cache
def is_mass_in_french(noun: str) -> bool:
    """Return whether a French noun translates an English one without a plural (*sel*)."""
    return any(word in ENGLISH.masses for word in _english_of(noun))


@cache
def _english_of(noun: str) -> list[str]:
    return [word for word, words in ENGLISH.nouns_in_french.items() if noun in words]


def _french_genders(noun: str) -> set[str]:
    words = (word for word in ENGLISH.nouns_in_french[noun] if _is_person(word, FRENCH_SENSES))
    return {gender for word in words for form in FRENCH.nouns[word] for gender in form.genders}


def _german_genders(noun: str) -> set[str]:
    words = (word for word in GERMAN.nouns_in_german[noun] if _is_person(word, GERMAN_SENSES))
    found = {
        form.gender
        for word in words
        for ending in ("", "e")
        for form in GERMAN.nouns.get(word + ending, ())
        if form.lemma == word
    }
    return found & {"m", "f"}


def _is_person(word: str, kinds: dict[str, str]) -> bool:
    return kinds.get(word, "person") == "person"


_THINGS = ("tool", "container", "furniture", "instrument", "text", "clothes")
CLASSES = {
    "thing": (*_THINGS, "machine", "vehicle"),
    "still": (
        *_THINGS, "food", "drink", "body", "plant", "place", "landmark", "material", "idea",
        "event",
    ),
}  # fmt: skip
"""Names of several classes at once."""


@cache
def _excluded() -> dict[tuple[str, str], frozenset[str]]:
    found: dict[tuple[str, str], frozenset[str]] = defaultdict(frozenset)
    for use, classes, verbs in read_lines("sense_verbs.txt"):
        kinds = frozenset(kind for name in classes.split() for kind in CLASSES.get(name, (name,)))
        for verb in verbs.split(", "):
            found[verb, use] |= kinds
    return dict(found)


@cache
def _kinds(noun: str) -> frozenset[str]:
    """Return what an English noun may be, if it has two senses."""
    words = ENGLISH.nouns_in_french.get(noun, frozenset())
    return frozenset(FRENCH_SENSES[word] for word in words if word in FRENCH_SENSES)


def decided(noun: str, verb: str, use: str) -> str:
    """Return what an English noun is by its verb; nothing if the verb leaves it open."""
    kinds = _kinds(noun)
    uses = {"object": ["object"], "agent": ["subject"]}.get(use, ["subject", "alone"])
    excluded = (_excluded().get((verb, each), frozenset()) for each in uses)
    fitting = kinds.difference(*excluded)
    return next(iter(fitting)) if len(kinds) > len(fitting) == 1 else ""
