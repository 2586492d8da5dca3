"""Checks one sentence, or a sentence with its translation."""

from collections.abc import Callable, Iterator
from itertools import islice

from tests.tools.grammar_checker.english.reader import EnglishReader
from tests.tools.grammar_checker.english.reader import split as split_english
from tests.tools.grammar_checker.french.reader import FrenchReader
from tests.tools.grammar_checker.french.sound import check_sound
from tests.tools.grammar_checker.french.sound import split as split_french
from tests.tools.grammar_checker.french.words import WORDS
from tests.tools.grammar_checker.german.reader import GermanReader
from tests.tools.grammar_checker.reader import Reader
from tests.tools.grammar_checker.translation import (
    FRENCH_IN_GERMAN,
    IN_FRENCH,
    IN_GERMAN,
    Counted,
    Translations,
    differences,
    wrong_references,
)
from tests.tools.grammar_checker.words import NAMES

INFINITIVES = WORDS.infinitives - WORDS.nouns.keys()
MOST_CHOICES = 5  # most ambiguous words of a reading that are read otherwise
MOST_READINGS = 64
TABLES = {("en", "fr"): IN_FRENCH, ("en", "de"): IN_GERMAN, ("fr", "de"): FRENCH_IN_GERMAN}


def check_english(sentence: str) -> list[str]:
    return _Side(sentence, "en").findings


def check_french(sentence: str) -> list[str]:
    return _Side(sentence, "fr").findings


def check_german(sentence: str) -> list[str]:
    reader = GermanReader(sentence)
    wrong = (list(wrong_references(reading.mains)) for reading in reader.readings)
    return reader.findings or min(wrong, key=len, default=[])


def check_pair(english: str, other: str, language: str = "fr") -> list[str]:
    """Return what is wrong with an English sentence and its translation into ``fr`` or ``de``."""
    return check_translation(english, other, ("en", language))


def check_translation(source: str, translation: str, languages: tuple[str, str]) -> list[str]:
    """Return what is wrong with a sentence and its translation, between any two languages.

    A scorer built on it prefers the translation with fewer findings.
    """
    texts = dict(zip(languages, (source, translation), strict=True))
    one, other = next(each for each in TABLES if texts.keys() == set(each))
    first = _Side(texts[one], one)
    second = GermanReader(texts[other]) if other == "de" else _Side(texts[other], other)
    return first.findings + second.findings or _compared(first, second, TABLES[one, other])


class _Side:
    """An English or French sentence, read word by word."""

    def __init__(self, sentence: str, language: str) -> None:
        self._reader, split = READERS[language]
        words = self._words = split(sentence.removesuffix(".") + " ")
        if words and words[0] not in NAMES and words[0] not in ("Mr", "Mrs", "I"):
            words[0] = words[0].lower()
        self._first = self._read(frozenset())
        is_right = not self._first.findings or any(self.readings)
        sounds = check_sound(words, INFINITIVES) if language == "fr" else []
        self.findings = sounds + ([] if is_right else self._first.findings)

    def _read(self, flips: frozenset[int]) -> Reader:
        reader = self._reader(self._words, flips)
        reader.read()
        return reader

    @property
    def readings(self) -> Iterator[Reader]:
        """The readings of ambiguous words in which nothing is wrong."""
        waiting: list[frozenset[int]] = [frozenset()]
        for flips in islice(waiting, MOST_READINGS):  # which grows as it is read
            one = self._read(flips) if flips else self._first
            if not one.findings:
                yield one
            choices = dict.fromkeys(one.choices)
            later = [choice for choice in choices if choice > max(flips, default=-1)]
            waiting += [flips | {choice} for choice in later[-MOST_CHOICES:]]


READERS: dict[str, tuple[type[Reader], Callable[[str], list[str]]]] = {
    "en": (EnglishReader, split_english), "fr": (FrenchReader, split_french),
}  # fmt: skip


def _compared(first: _Side, second: _Side | GermanReader, table: Translations) -> list[str]:
    """Return the differences, if they remain in all readings of both sentences."""
    others: list[Counted] = list(second.readings)
    found: list[str] = []
    for one in first.readings:
        for other in others:
            here = list(differences(one, other, table))
            if not here:
                return []
            found = found or here
    return found
