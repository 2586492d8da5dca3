"""The word lists of the checker, read from the text files beside this module."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

FOLDER = Path(__file__).parent
PERSONS = ("1s", "3s", "1p", "3p")
Form = TypeVar("Form")
Forms = dict[str, list[Form]]
"""The readings of each form of a word."""


class NounForm(NamedTuple):
    """A form of a noun, in one of its readings; ``genders`` is empty in English."""

    lemma: str
    genders: str
    plurals: tuple[bool, ...]
    human: str = ""  # ``h`` for a person, ``-`` for others, ``b`` for a word of both kinds


class VerbForm(NamedTuple):
    lemma: str
    tense: str
    persons: tuple[str, ...]


def read_lines(name: str) -> Iterator[list[str]]:
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield [cell.strip() for cell in line.split(";")]


def translations(name: str) -> dict[str, frozenset[str]]:
    """Return the words of a list by their English words, which are the last cell."""
    found: dict[str, set[str]] = defaultdict(set)
    for cells in read_lines(name):
        for word in cells[-1].split(", "):
            found[word].add(cells[0])
    return {word: frozenset(words) for word, words in found.items()}


def word_classes(name: str) -> dict[str, frozenset[str]]:
    """Return classes of words by their names."""
    return {each: frozenset(words.split(", ")) for each, words in read_lines(name)}


@cache
def senses(name: str) -> dict[str, str]:
    """Return the translations of English nouns with two senses, by what they are."""
    return {word: kind for kind, nouns in read_lines(name) for word in nouns.split(", ")}


TRAITS = frozenset(senses("traits.txt"))
"""Adjectives of lasting qualities, in all languages."""
NAMES = {
    name: "mf" if gender == "e" else gender
    for gender, found in read_lines("names.txt")
    for name in found.split()
}
"""First names with their genders."""


Expressions = dict[str, list[tuple[tuple[str, ...], str]]]
"""Fixed expressions by their first word, the longest first: their words, and their use."""


def written(known: Expressions, use: str) -> frozenset[str]:
    """Return the fixed expressions of a use."""
    return frozenset(
        " ".join(words) for each in known.values() for words, kind in each if kind == use
    )


@cache
def expressions(name: str) -> Expressions:
    found: Expressions = defaultdict(list)
    for use, phrases in read_lines(name):
        for phrase in phrases.split(","):
            words = tuple(phrase.replace("'", "' ").replace("aujourd' ", "aujourd'").split())
            found[words[0]].append((words, use))
    for entries in found.values():
        entries.sort(key=lambda entry: -len(entry[0]))
    return dict(found)
