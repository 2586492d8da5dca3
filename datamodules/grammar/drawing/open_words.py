"""Open classes: invented names and towns, numbers and dates, without end and to be copied."""

from functools import cache

from datamodules.grammar.drawing.draws import Random
from datamodules.grammar.meaning.lexicon import MOST_NOUNS, lexicon
from datamodules.grammar.meaning.phrases import Dated, Noun

# Consonants first, so that no word before elides; the spelling is possible in many languages.
_ONSETS = (
    "b", "c", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v",
    "br", "cl", "dr", "gr", "pl", "tr",
)  # fmt: skip
_VOWELS = tuple("aeiou")
_MIDDLES = (
    "b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v",
    "ld", "lm", "nt", "rd", "rk", "rn", "st",
)  # fmt: skip
_SURNAME_ENDINGS = ("a", "an", "ek", "en", "i", "in", "o", "os", "ov", "us")
_TOWN_ENDINGS = ("abad", "anda", "ara", "ena", "grad", "ia", "ona", "opol", "orf", "una")


def surname(random: Random) -> Noun:
    """Draw one of about 340,000 surnames, with the gender of the person."""
    name = _invented(_SURNAME_ENDINGS, random)
    return Noun(name, "surname", counted=False, gender="m" if random() < 0.5 else "f")


def town(random: Random) -> Noun:
    """Draw one of about 340,000 towns."""
    return Noun(_invented(_TOWN_ENDINGS, random), "town", counted=False)


def number(random: Random) -> str:
    """Draw a number from 12 to 9,999; numbers of two, three and four digits are equally common."""
    least = (12, 100, 1000)[int(random() * 3)]
    most = 10 ** len(str(least))
    return str(least + int(random() * (most - least)))


def date(random: Random, unit: int) -> Dated:
    """Draw a day from 1800 to 2025."""
    day, month, year = 1 + int(random() * 28), 1 + int(random() * 12), 1800 + int(random() * 226)
    return Dated(unit, day, month, year)


def _invented(endings: tuple[str, ...], random: Random) -> str:
    name = _stem(random) + _pick(endings, random)
    while name in _first_names():
        name = _stem(random) + _pick(endings, random)
    return name


@cache
def _first_names() -> frozenset[str]:
    return frozenset(noun.name for noun in lexicon(MOST_NOUNS).names)


def _stem(random: Random) -> str:
    stem = _pick(_ONSETS, random) + _pick(_VOWELS, random) + _pick(_MIDDLES, random)
    if random() < 0.5:
        stem += _pick(_VOWELS, random) + _pick(_MIDDLES, random)
    return stem.capitalize()


def _pick(items: tuple[str, ...], random: Random) -> str:
    return items[int(random() * len(items))]
