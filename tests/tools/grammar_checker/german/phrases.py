"""German noun phrases: determiner, adjectives and noun in gender, number and case."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from tests.tools.grammar_checker.german.words import EXPRESSIONS, WORDS, NounForm
from tests.tools.grammar_checker.words import NAMES

CASES, GENDERS = "nadg", "mfnp"
STRONG = {
    "m": ("er", "en", "em", "en"), "f": ("e", "e", "er", "er"),
    "n": ("es", "es", "em", "en"), "p": ("e", "e", "en", "er"),
}  # fmt: skip
"""Adjective endings without a determiner that shows the case."""
WEAK = {
    "m": ("e", "en", "en", "en"), "f": ("e", "e", "en", "en"),
    "n": ("e", "e", "en", "en"), "p": ("en", "en", "en", "en"),
}  # fmt: skip
ARTICLES = {
    "m": ("der", "den", "dem", "des"), "f": ("die", "die", "der", "der"),
    "n": ("das", "das", "dem", "des"), "p": ("die", "die", "den", "der"),
}  # fmt: skip
LIKE_DER = {"dies": "this", "jed": "every"}
LIKE_EIN = {"ein": "", "kein": "no", "mein": "my", "unser": "our", "sein": "his", "ihr": "ihr"}
QUANTITIES = {"viel": "many", "einig": "", "mehrer": "several"}
NUMBERS = {"zwei": "two", "drei": "three", "vier": "four", "zweier": "two", "dreier": "three"}
INDEFINITE = ("ein", "einig", "etwas", "viel", "mehrer", "kein", "number", "numeral", "none")
MIXED = "mixed"  # determiner of two nouns of which one is definite

Tally = tuple[tuple[str, ...], ...]
"""What is counted on both sides of a pair: kind and word; for a noun also its number."""


class Determiner(NamedTuple):
    """One reading of a determiner."""

    stem: str
    case: str
    gender: str
    weak: bool  # whether adjectives have weak endings after it
    meaning: str = ""


class Reading(NamedTuple):
    """One reading of a noun phrase or pronoun."""

    case: str
    gender: str
    person: str
    tally: Tally
    beside: str = ""  # the second of two nouns (*der Mann und die Frau*)


class Phrase(NamedTuple):
    """A noun phrase or pronoun, with the place after it."""

    end: int
    text: str
    readings: tuple[Reading, ...]
    determiner: str = ""
    bare: bool = False  # whether no word shows a genitive, so that the dative stands instead


def _determiners() -> dict[str, list[Determiner]]:
    found: dict[str, list[Determiner]] = defaultdict(list)
    for gender in GENDERS:
        for place, case in enumerate(CASES):
            strong = "es" if case == "g" and gender in "mn" else STRONG[gender][place]
            found[ARTICLES[gender][place]].append(Determiner("der", case, gender, True))
            for stem, meaning in LIKE_DER.items():
                if gender != "p" or stem != "jed":
                    found[stem + strong].append(Determiner(stem, case, gender, True, meaning))
            for stem, meaning in LIKE_EIN.items():
                short = case + gender in ("nm", "nn", "an")
                if gender != "p" or stem != "ein":
                    form = stem if short else stem + strong
                    found[form].append(Determiner(stem, case, gender, not short, meaning))
            if gender == "p":
                for stem, meaning in QUANTITIES.items():
                    found[stem + strong].append(Determiner(stem, case, gender, False, meaning))
            elif case != "g":
                found["etwas"].append(Determiner("etwas", case, gender, False))
    return dict(found)


DETERMINERS = _determiners()


@cache
def determiners(word: str) -> list[Determiner]:
    """Return the readings of a determiner; all cases for a number."""
    if word in ("zweier", "dreier"):
        return [Determiner("numeral", "g", "p", False, NUMBERS[word])]
    if word in NUMBERS:
        cases = CASES if word == "vier" else "nad"
        return [Determiner("number", case, "p", False, NUMBERS[word]) for case in cases]
    if word.isdigit():
        return [Determiner("number", case, "p", False) for case in CASES]
    return DETERMINERS.get(word, [])


def _undeclined(stem: str) -> list[Determiner]:
    """Return the readings of a determiner that is not there, or is no word of its own."""
    return [Determiner(stem, case, gender, False) for case in CASES for gender in GENDERS]


NO_NAMES = frozenset(
    word for entries in EXPRESSIONS.values() for words, _ in entries for word in words
) | {"Herr", "Herrn", "Frau"}


def is_name(word: str) -> bool:
    if word in NAMES:
        return True
    return word[0].isupper() and word not in WORDS.nouns and word not in NO_NAMES


class GermanPhrases:
    def __init__(self, words: list[str]) -> None:
        self.words = [*words, ".", ".", ".", "."]
        """The words, with stops at the end so that a look ahead needs no test."""
        self.furthest = 0  # the last place that some reading has reached
        self.reasons: list[str] = []  # why readings that reached the last place were rejected

    def noun_phrases(self, place: int, article: str = "") -> Iterator[Phrase]:
        """Yield the noun phrases at a place: alone, with an owner, and with a second noun.

        Args:
            place: of the first word.
            article: stands for the first word, which combines it with a preposition.
        """
        for phrase in self._without_owner(place, article):
            yield phrase
            if self.words[phrase.end] == "und" and not article:
                yield from self._two(phrase)
            for owner in self._without_owner(phrase.end):
                genitives = [reading for reading in owner.readings if reading.case == "g"]
                if genitives and owner.determiner not in ("", "number", "none", "kein"):
                    readings = tuple(
                        reading._replace(tally=reading.tally + genitive.tally)
                        for reading in phrase.readings
                        for genitive in genitives
                    )
                    text = f"{phrase.text} {owner.text}"
                    yield phrase._replace(end=owner.end, text=text, readings=readings)

    def _two(self, phrase: Phrase) -> Iterator[Phrase]:
        """Yield two noun phrases of one case."""
        for other in self._without_owner(phrase.end + 1):
            readings = both(phrase.readings, other.readings)
            if readings:
                alike = (phrase.determiner in INDEFINITE) == (other.determiner in INDEFINITE)
                text = f"{phrase.text} und {other.text}"
                yield Phrase(other.end, text, readings, other.determiner if alike else MIXED)
            else:
                self.reject(other.end, f"'{phrase.text}' and '{other.text}' in two cases")

    def owned(self, place: int) -> Iterator[Phrase]:
        """Yield the noun phrases after *dessen* and *deren*."""
        yield from self._group(place, _undeclined(""), (), place)

    def _without_owner(self, place: int, article: str = "") -> Iterator[Phrase]:
        word = article or self.words[place]
        if word in ("Herr", "Herrn", "Frau") and self.words[place + 1][0].isupper():
            yield self._titled(place)
        elif without_genitive(word) in NAMES and word not in NAMES:
            yield from self._owned(place, without_genitive(word))
            return
        elif is_name(word):
            yield self._named(place)
            return
        yield from self._group(place + 1, determiners(word), (), place)
        if not determiners(word):
            yield from self._group(place, _undeclined("none"), (), place)

    def _titled(self, place: int) -> Phrase:
        title, name = self.words[place], self.words[place + 1]
        gender = "f" if title == "Frau" else "m"
        cases = {"Frau": "nad", "Herr": "n", "Herrn": "ad"}[title]
        readings = [Reading(case, gender, "3s", (("name", name),)) for case in cases]
        owner = without_genitive(name)
        if owner and title != "Herr":
            readings.append(Reading("g", gender, "3s", (("name", owner),)))
        return Phrase(place + 2, f"{title} {name}", tuple(readings), "title")

    def _named(self, place: int) -> Phrase:
        name = self.words[place]
        genders = NAMES.get(name, "n")
        tally = (("name", name),)
        readings = [Reading(case, gender, "3s", tally) for case in "nad" for gender in genders]
        return Phrase(place + 1, name, tuple(readings))

    def _owned(self, place: int, owner: str) -> Iterator[Phrase]:
        """Yield a noun phrase after the genitive of a name (*Annas Hund*)."""
        yield from self._group(place + 1, _undeclined(""), (("name", owner),), place)

    def _group(
        self, place: int, readings: list[Determiner], tally: Tally, first: int
    ) -> Iterator[Phrase]:
        """Yield a determiner, adjectives and a noun, if they stand here and agree."""
        if not readings:
            return
        adjectives = []
        while self.words[place] in WORDS.adjectives:
            adjectives.append(self.words[place])
            place += 1
        text = " ".join(self.words[first : place + 1])
        ranks = [WORDS.ranks[WORDS.adjectives[word][0][0]] for word in adjectives]
        if ranks != sorted(set(ranks)):
            self.reject(place, f"'{text}': adjectives in a wrong order")
            return
        found = tuple(
            reading
            for determiner in readings
            for noun in WORDS.nouns.get(self.words[place], ())
            for reading in self._agreeing(determiner, adjectives, noun, tally)
        )
        number = self.words[first] if self.words[first].isdigit() else ""
        if number:
            found = tuple(each._replace(tally=(*each.tally, ("name", number))) for each in found)
        if found:
            stem = readings[0].stem
            is_bare = (
                stem == "number" and not adjectives and self.words[first] not in ("zwei", "drei")
            )
            yield Phrase(place + 1, text, found, stem or "name" * bool(tally), is_bare)
        elif self.words[place] in WORDS.nouns:
            self.reject(place, f"'{text}' does not agree in gender, number and case")

    def _agreeing(
        self, determiner: Determiner, adjectives: list[str], noun: NounForm, tally: Tally
    ) -> Iterator[Reading]:
        case, gender = determiner.case, determiner.gender
        if noun.gender != gender or case not in noun.cases:
            return
        endings = (WEAK if determiner.weak else STRONG)[gender]
        ending = endings[CASES.index(case)]
        if noun.ending not in ("", ending):
            return
        if case == "g" and determiner.stem in ("number", "", "none") and not adjectives:
            return  # no word would show the genitive
        if (
            determiner.stem in ("none", "etwas")
            and gender != "p"
            and noun.lemma not in WORDS.masses
        ):
            return
        counted = list(tally)
        for word in adjectives:
            lemma = next((lemma for lemma, each in WORDS.adjectives[word] if each == ending), None)
            if lemma is None:
                return
            counted.append(("adjective", lemma))
        if determiner.meaning == "no":
            counted.append(("negation", "pas"))
        elif determiner.meaning:
            counted.append(("determiner", determiner.meaning))
        plural = gender == "p"
        counted.append(("noun", noun.lemma, "p" if plural else "s"))
        yield Reading(case, gender, "3p" if plural else "3s", tuple(counted))

    def reject(self, place: int, reason: str) -> None:
        if place > self.furthest:
            self.furthest, self.reasons = place, []
        if place == self.furthest and reason not in self.reasons:
            self.reasons.append(reason)


def both(first: Sequence[Reading], second: Sequence[Reading]) -> tuple[Reading, ...]:
    """Return the readings of two coordinated phrases: in one case, and plural."""
    return tuple(
        Reading(one.case, "p", "3p", (*one.tally, *_once_denied(one, other)), noun_of(other))
        for one in first
        for other in second
        if one.case == other.case
    )


def _once_denied(one: Reading, other: Reading) -> Tally:
    """Return what the second phrase tells: *kein ... und kein ...* is one negation."""
    denied = ("negation", "pas")
    if denied not in one.tally:
        return other.tally
    return tuple(each for each in other.tally if each != denied)


def noun_of(reading: Reading) -> str:
    return next((word for kind, word, *_ in reading.tally if kind == "noun"), "")


def without_genitive(name: str) -> str:
    """Return the name whose genitive this is (*Annas*, *Lucas'*); nothing if it is none."""
    if name.endswith("'"):
        return name[:-1] if name[-2] in "sxz" else ""
    return name[:-1] if name.endswith("s") and name[-2] not in "sxz" else ""
