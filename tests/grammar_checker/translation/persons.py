"""The natural gender of persons, which decides between *he* and *she*."""

from functools import cache

from tests.grammar_checker.german.words import WORDS as GERMAN
from tests.grammar_checker.words import english, french, senses

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


def _english_of(noun: str) -> list[str]:
    return [word for word, words in english().nouns_in_french.items() if noun in words]


def _french_genders(noun: str) -> set[str]:
    kinds = senses("french/senses.txt")
    words = (word for word in english().nouns_in_french[noun] if _is_person(word, kinds))
    return {gender for word in words for form in french().nouns[word] for gender in form.genders}


def _german_genders(noun: str) -> set[str]:
    kinds = senses("german/senses.txt")
    words = (word for word in GERMAN.nouns_in_german[noun] if _is_person(word, kinds))
    found = {
        form.gender
        for word in words
        for ending in ("", "e")
        for form in GERMAN.nouns.get(word + ending, ())
        if form.lemma == word
    }
    return found & {"m", "f"}


def _is_person(word: str, kinds: dict[str, str]) -> bool:
    """Return whether a translation is a person, in a noun with two senses."""
    return kinds.get(word, "person") == "person"
