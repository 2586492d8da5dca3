"""The parts of a German clause: pronouns, noun phrases, prepositions, expressions, qualities."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.tools.grammar_checker.german.phrases import GermanPhrases, Phrase, Reading, Tally, both
from tests.tools.grammar_checker.german.words import CLASSES, EXPRESSIONS, WORDS

RELATIVE_WORDS = frozenset({"der", "die", "das", "den", "dem", "denen", "dessen", "deren"})
MONTHS = CLASSES["months"]
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
                two_way = len(words) == 1 and words[0] in TWO_WAY
                cases[words] = "ad" if two_way else name[0]
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


SELF = (("person", "self"),)
COMPARING = {"weniger": "less", "so": "as", "genauso": "as", "ebenso": "as"}


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
    related: bool = False  # whether a relative clause follows the noun
    compares: str = ""  # *als* or *wie*, if what the quality is compared with is still missing

    @property
    def nominal(self) -> bool:
        return self.kind == "noun" or (self.kind == "with" and bool(self.determiner))


class GermanItems(GermanPhrases):
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
            readings = tuple(Reading(case, "MFNP", "3s", (("person", "3"),)) for case in cases)
            yield place + 1, Item("with", word, readings, preposition)
        for phrase in self.noun_phrases(place):
            yield phrase.end, _noun(phrase)
        yield from self._prepositional(place)
        yield from self._expressions(place)
        yield from self._quality(place)

    def _expressions(self, place: int) -> Iterator[tuple[int, Item]]:
        day, month, year = self.words[place + 1 : place + 4] + [""] * (place + 4 > len(self.words))
        if self.words[place] == "am" and month in MONTHS and day[:-1].isdigit() and year.isdigit():
            tally = ("name", day.removesuffix(".")), ("name", year), ("adverb", "time")
            yield place + 4, Item("time", f"am {day} {month} {year}", tally=tally)
        for words, use in EXPRESSIONS.get(self.words[place], ()):
            known = use in ("time", "place", "manner", "frequency")
            if known and tuple(self.words[place : place + len(words)]) == words:
                yield place + len(words), Item(use, " ".join(words), tally=(("adverb", use),))

    def _quality(self, place: int) -> Iterator[tuple[int, Item]]:
        word, after = self.words[place], self.words[place + 1]
        uses = [use for words, use in EXPRESSIONS.get(word, ()) if len(words) == 1]
        if word in WORDS.qualities:
            yield place + 1, Item("quality", word, tally=(("adjective", word),))
        if after in WORDS.qualities and "degree" in uses:
            tally = ("adverb", "degree"), ("adjective", after)
            yield place + 2, Item("quality", after, tally=tally)
        if word in WORDS.comparatives:
            yield from self._compared(place + 1, WORDS.comparatives[word], "more")
        if after in WORDS.qualities and word in COMPARING:
            yield from self._compared(place + 2, after, COMPARING[word])

    def _compared(self, place: int, adjective: str, degree: str) -> Iterator[tuple[int, Item]]:
        """Yield a quality without what it is compared with, which may follow the verb, and with."""
        tally = ("comparison", degree), ("adjective", adjective)
        word = "wie" if degree == "as" else "als"
        item = Item("quality", adjective, tally=tally, compares=word)
        yield place, item
        yield from self.standards(place, item)

    def standards(self, place: int, item: Item) -> Iterator[tuple[int, Item]]:
        """Yield a quality with what it is compared with."""
        if self.words[place] != item.compares:
            self.reject(place, f"'{item.compares}' is missing")
            return
        for phrase in self.noun_phrases(place + 1):
            tallies = {each.tally for each in phrase.readings if each.case == "n"}
            if not tallies:
                self.reject(phrase.end, f"'{phrase.text}' has a wrong case")
            for tally in tallies:
                yield phrase.end, item._replace(tally=item.tally + tally, compares="")

    def _prepositional(self, place: int) -> Iterator[tuple[int, Item]]:
        """Yield prepositions with what they govern: one noun phrase, or two.

        The preposition is said twice where it contracts (*im Haus und im Garten*).
        """
        for end, item in self._governing(place):
            yield end, item
            if self.words[end] != "und" or not item.nominal:
                continue
            for last, other in self._governing(end + 1):
                readings = both(item.readings, other.readings)
                if readings and other.nominal and other.preposition == item.preposition:
                    text = f"{item.text} und {other.text}"
                    yield last, item._replace(text=text, readings=readings)

    def _needs_article(self, phrase: Phrase) -> bool:
        """Return whether an article stays apart: *zu dem Mann, der schläft*, or *und der Frau*.

        Verbs may stand before the relative clause.
        """
        rest = self.words[phrase.end : phrase.end + 8]
        comma = rest.index(",") if "," in rest else len(rest)
        relative = not RELATIVE_WORDS.isdisjoint(rest[comma : comma + 3])
        return relative or " und " in phrase.text

    def _governing(self, place: int) -> Iterator[tuple[int, Item]]:
        for end, words, cases in self.prepositions(place):
            preposition, last, word = " ".join(words), self.words[end - 1], self.words[end]
            if last in CONTRACTED and last not in words:
                for phrase in self.noun_phrases(end - 1, CONTRACTED[last][1]):
                    yield from self._governed(preposition, cases, phrase)
                continue
            phrases = list(self.noun_phrases(end))
            if (last, word) in SPLIT:
                phrases = [each for each in phrases if self._needs_article(each)]
                self.reject(end, f"'{last} {word}' must contract")
            if word in PRONOUNS:
                phrases.append(Phrase(end + 1, word, pronoun_readings(word)))
            elif word == "sich":
                readings = tuple(Reading(case, "", "", SELF) for case in cases)
                phrases.append(Phrase(end + 1, word, readings))
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
        if phrase.text == "es":
            readings = tuple(reading._replace(gender="x") for reading in readings)
        if readings:
            determiner = phrase.determiner or "name" * (phrase.text not in (*PRONOUNS, "sich"))
            yield phrase.end, Item("with", text, readings, preposition, determiner)
        else:
            self.reject(phrase.end, f"'{text}' has a wrong case")


def pronoun_readings(word: str) -> tuple[Reading, ...]:
    return tuple(
        Reading(case, genders, person, (("person", "2" if person == "1p" else person[0]),))
        for case, person, genders in PRONOUNS[word]
    )


def _noun(phrase: Phrase) -> Item:
    return Item("noun", phrase.text, phrase.readings, determiner=phrase.determiner)
