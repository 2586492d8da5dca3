"""The parts of a German clause other than verbs and clauses."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.grammar_checker.german.phrases import GermanPhrases, Phrase, Reading, Tally
from tests.grammar_checker.german.words import EXPRESSIONS, WORDS

MONTHS = frozenset(
    ("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September",
     "Oktober", "November", "Dezember")
)  # fmt: skip
PRONOUNS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "ich": (("n", "1s", ""),), "mich": (("a", "1s", ""),), "mir": (("d", "1s", ""),),
    "wir": (("n", "1p", ""),), "uns": (("a", "1p", ""), ("d", "1p", "")),
    "er": (("n", "3s", "m"),), "ihn": (("a", "3s", "m"),), "ihm": (("d", "3s", "mn"),),
    "sie": (("n", "3s", "f"), ("n", "3p", "p"), ("a", "3s", "fp")), "ihr": (("d", "3s", "f"),),
    "es": (("n", "3s", "n"), ("a", "3s", "n")), "ihnen": (("d", "3p", "p"),),
}  # fmt: skip
"""Cases, persons and genders of the personal pronouns, ``p`` for plurals."""
CONTRACTED = {
    "im": ("in", "dem"), "ins": ("in", "das"), "am": ("an", "dem"), "ans": ("an", "das"),
    "vom": ("von", "dem"), "beim": ("bei", "dem"), "zum": ("zu", "dem"), "zur": ("zu", "der"),
}  # fmt: skip
SPLIT = frozenset(CONTRACTED.values())
TWO_WAY = frozenset(("in", "an", "auf", "vor", "hinter", "neben", "unter", "über"))
PLACES = {"dat": "d", "acc": "a", "gen": "g"}


def _prepositions() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """Return the prepositions by their first words, with the cases that they may govern."""
    cases: dict[tuple[str, ...], str] = {}
    for entries in EXPRESSIONS.values():
        for words, use in entries:
            name = use.removeprefix("place ")
            if name in ("acc", "dat", "gen", "both"):
                cases[words] = "ad" if words[0] in TWO_WAY else name[0]
    found: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for words in sorted(cases, key=len, reverse=True):
        found.setdefault(words[0], []).append((words, cases[words]))
    return found


PREPOSITIONS = _prepositions()
RESTING = {
    " ".join(words): use.removeprefix("place ")[0]
    for entries in EXPRESSIONS.values()
    for words, use in entries
    if use.startswith("place ")
}
"""Prepositions of places, with the case that they govern at rest."""


def _with_da() -> dict[str, tuple[str, str]]:
    """Return *darauf*, *damit* and the like, with their prepositions."""
    found = {}
    for words in PREPOSITIONS:
        found["da" + "r" * (words[0] in "aeiouü") + words] = words, "ad"
    return found


WITH_DA = _with_da()


class Item(NamedTuple):
    """A part of a clause."""

    kind: str
    """``noun``, ``pronoun``, ``self``, ``with``, ``time``, ``place``, ``manner``, ``frequency``,
    ``negation`` or ``quality``."""
    text: str
    readings: tuple[Reading, ...] = ()
    preposition: str = ""
    determiner: str = ""
    tally: Tally = ()

    @property
    def nominal(self) -> bool:
        """Whether the item may have a relative clause."""
        return self.kind == "noun" or (self.kind == "with" and bool(self.determiner))


class GermanItems(GermanPhrases):
    """Reads the parts of a clause."""

    def __init__(self, words: list[str]) -> None:
        super().__init__(words)
        self._items: dict[int, list[tuple[int, Item]]] = {}

    def items(self, place: int) -> list[tuple[int, Item]]:
        """Return the parts of a clause that may stand at a place, with their ends."""
        found = self._items.get(place)
        if found is None:
            found = self._items[place] = list(self._read_items(place))
        return found

    def _read_items(self, place: int) -> Iterator[tuple[int, Item]]:
        word = self.words[place]
        if word in PRONOUNS:
            yield place + 1, Item("pronoun", word, pronoun_readings(word))
        elif word == "sich":
            yield place + 1, Item("self", word)
        elif word in ("nicht", "nie"):
            name = "pas" if word == "nicht" else "jamais"
            yield place + 1, Item("negation", word, tally=(("negation", name),))
        elif word in WITH_DA:
            preposition, cases = WITH_DA[word]
            readings = tuple(Reading(case, "mfnp", "3s", (("person", "3"),)) for case in cases)
            yield place + 1, Item("with", word, readings, preposition)
        for phrase in self.noun_phrases(place):
            yield phrase.end, _noun(phrase)
        yield from self._prepositional(place)
        yield from self._expressions(place)
        yield from self._quality(place)

    def _expressions(self, place: int) -> Iterator[tuple[int, Item]]:
        """Yield dates and fixed expressions."""
        day, month, year = self.words[place + 1 : place + 4] + [""] * (place + 4 > len(self.words))
        if self.words[place] == "am" and month in MONTHS and day[:-1].isdigit() and year.isdigit():
            tally = ("name", day.removesuffix(".")), ("name", year), ("adverb", "time")
            yield place + 4, Item("time", f"am {day} {month} {year}", tally=tally)
        for words, use in EXPRESSIONS.get(self.words[place], ()):
            known = use in ("time", "place", "manner", "frequency")
            if known and tuple(self.words[place : place + len(words)]) == words:
                yield place + len(words), Item(use, " ".join(words), tally=(("adverb", use),))

    def _quality(self, place: int) -> Iterator[tuple[int, Item]]:
        """Yield an adjective without an ending, with a degree before it."""
        uses = [use for words, use in EXPRESSIONS.get(self.words[place], ()) if len(words) == 1]
        for length in (0, 1) if "degree" in uses else (0,):
            word = self.words[place + length]
            if word in WORDS.qualities:
                degree = (("adverb", "degree"),) * length
                tally = (*degree, ("adjective", word))
                yield place + length + 1, Item("quality", word, tally=tally)

    def _prepositional(self, place: int) -> Iterator[tuple[int, Item]]:
        """Yield prepositions with what they govern."""
        for end, words, cases in self.prepositions(place):
            preposition, last, word = " ".join(words), self.words[end - 1], self.words[end]
            if last in CONTRACTED and last not in words:
                for phrase in self.noun_phrases(end - 1, CONTRACTED[last][1]):
                    yield from self._governed(preposition, cases, phrase)
            elif (last, word) in SPLIT:
                self.reject(end, f"'{last} {word}' must contract")
            else:
                phrases = list(self.noun_phrases(end))
                if word in PRONOUNS:
                    phrases.append(Phrase(end + 1, word, pronoun_readings(word)))
                for phrase in phrases:
                    yield from self._governed(preposition, cases, phrase)

    def prepositions(self, place: int) -> Iterator[tuple[int, tuple[str, ...], str]]:
        """Yield the prepositions at a place: their ends, words, and cases that they may govern."""
        first, _ = CONTRACTED.get(self.words[place], (self.words[place], ""))
        for words, cases in PREPOSITIONS.get(first, ()):
            end = place + len(words)
            *before, last = self.words[place:end]
            merged, _ = CONTRACTED.get(last, (last, ""))
            if (*before, merged) == words:
                yield end, words, cases

    def _governed(self, preposition: str, cases: str, phrase: Phrase) -> Iterator[tuple[int, Item]]:
        """Yield a noun phrase or pronoun after a preposition, in a case that it governs."""
        if cases == "g" and phrase.bare:
            cases = "d"
        readings = tuple(reading for reading in phrase.readings if reading.case in cases)
        if cases == "d" and preposition in RESTING and RESTING[preposition] == "g":
            readings = tuple(reading._replace(case="g") for reading in readings)
        text = f"{preposition} {phrase.text}"
        if readings:
            determiner = phrase.determiner or "name" * (phrase.text not in PRONOUNS)
            yield phrase.end, Item("with", text, readings, preposition, determiner)
        else:
            self.reject(phrase.end, f"'{text}' has a wrong case")


def pronoun_readings(word: str) -> tuple[Reading, ...]:
    """Return the readings of a personal pronoun."""
    return tuple(
        Reading(case, genders, person, (("person", "2" if person == "1p" else person[0]),))
        for case, person, genders in PRONOUNS[word]
    )


def _noun(phrase: Phrase) -> Item:
    return Item("noun", phrase.text, phrase.readings, determiner=phrase.determiner)
