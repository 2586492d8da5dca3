"""Checks one sentence, or a sentence with its translation."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar

from tests.tools.grammar_checker.english.reader import EnglishReader
from tests.tools.grammar_checker.english.reader import split as split_english
from tests.tools.grammar_checker.french.nouns import NAMES, WORDS
from tests.tools.grammar_checker.french.reader import FrenchReader
from tests.tools.grammar_checker.french.sound import check_sound
from tests.tools.grammar_checker.french.sound import split as split_french
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

INFINITIVES = WORDS.infinitives - WORDS.nouns.keys()
MOST_CHOICES = 5  # most ambiguous words of a reading that are read otherwise
MOST_READINGS = 64
Kind = TypeVar("Kind", bound=Reader)


def check_english(sentence: str) -> list[str]:
    return _read(EnglishReader, _english(sentence)).findings


def check_french(sentence: str) -> list[str]:
    return _Side(FrenchReader, _french(sentence)).findings


def check_german(sentence: str) -> list[str]:
    reader = GermanReader(sentence)
    wrong = (list(wrong_references(reading.mains)) for reading in reader.readings)
    return reader.findings or min(wrong, key=len, default=[])


def check_pair(english: str, other: str, language: str = "fr") -> list[str]:
    """Return what is wrong with an English sentence and its translation into ``fr`` or ``de``."""
    first = _Side(EnglishReader, _english(english))
    return _checked(first, other, language, IN_GERMAN if language == "de" else IN_FRENCH)


def check_translation(source: str, translation: str, languages: tuple[str, str]) -> list[str]:
    """Return what is wrong with a sentence and its translation, between any two languages.

    A scorer built on it prefers the translation with fewer findings.
    """
    by_language = dict(zip(languages, (source, translation), strict=True))
    if "en" in by_language:
        english = by_language.pop("en")
        language, other = by_language.popitem()
        return check_pair(english, other, language)
    french = _Side(FrenchReader, _french(by_language["fr"]))
    return _checked(french, by_language["de"], "de", FRENCH_IN_GERMAN)


def _checked(first: "_Side", other: str, language: str, table: Translations) -> list[str]:
    """Return what is wrong with a sentence that has been read, and another."""
    if language == "de":
        german = GermanReader(other)
        return first.findings + german.findings or _compared(first, german.readings, table)
    second = _Side(FrenchReader, _french(other))
    readings = chain([second.reading], second.readings)
    return first.findings + second.findings or _compared(first, readings, table)


class _Side:
    """A sentence of a language that is read word by word."""

    def __init__(self, reader: type[Reader], words: list[str]) -> None:
        self._reader, self._words = reader, words
        self.reading = _read(reader, words)
        self.findings = self.reading.findings
        if reader is FrenchReader:
            self.findings = check_sound(words, INFINITIVES) + self.findings

    @property
    def readings(self) -> Iterator[Reader]:
        return _readings(self._reader, self._words)


def _compared(first: _Side, others: Iterable[Counted], table: Translations) -> list[str]:
    """Return the differences, if they remain in all readings of both sentences."""
    others = list(others)
    findings = list(differences(first.reading, others[0], table))
    if not findings:
        return []
    for one in first.readings:
        for other in others:
            if not any(differences(one, other, table)):
                return []
    return findings


def _french(sentence: str) -> list[str]:
    return _prepared(split_french(_without_stop(sentence)))


def _english(sentence: str) -> list[str]:
    return _prepared(split_english(_without_stop(sentence)))


def _without_stop(sentence: str) -> str:
    return sentence.removesuffix(".") + " "


def _prepared(words: list[str]) -> list[str]:
    """Return words with a small letter at the beginning, unless it is a name."""
    if words and words[0] not in NAMES and words[0] not in ("Mr", "Mrs", "I"):
        words[0] = words[0].lower()
    return words


def _read(reader: type[Kind], words: list[str]) -> Kind:
    """Read a sentence; if something is wrong, try other readings of ambiguous words."""
    first = reader(words)
    first.read()
    return next(_readings(reader, words), first) if first.findings else first


def _readings(reader: type[Kind], words: list[str]) -> Iterator[Kind]:
    """Yield the readings of a sentence in which nothing is wrong."""
    waiting: list[frozenset[int]] = [frozenset()]
    for flips in islice(waiting, MOST_READINGS):  # which grows as it is read
        one = reader(words, flips)
        one.read()
        if not one.findings:
            yield one
        later = [choice for choice in dict.fromkeys(one.choices) if choice > max(flips, default=-1)]
        waiting += [flips | {choice} for choice in later[-MOST_CHOICES:]]
