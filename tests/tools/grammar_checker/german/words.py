"""The German words of the checker by form, read from the text files beside this module."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from tests.tools.grammar_checker.words import (
    Forms,
    expressions,
    read_lines,
    translations,
    word_classes,
)

Persons = tuple[tuple[str, ...], ...]
PRESENT: Persons = ("1s",), ("3s",), ("1p", "3p")
PAST: Persons = ("1s", "3s"), ("1p", "3p")
"""Persons of the forms of present and past, as the list gives them."""
UNREAL = {
    "sein": "wäre", "haben": "hätte", "können": "könnte", "müssen": "müsste", "dürfen": "dürfte",
    "wollen": "wollte",
}  # fmt: skip
"""Verbs that have a subjunctive (Konjunktiv II) of one word; the others take *würde*."""
COMPARATIVES = {
    "gut": "besser", "hoch": "höher", "alt": "älter", "dumm": "dümmer", "groß": "größer",
    "hart": "härter", "jung": "jünger", "kalt": "kälter", "klug": "klüger", "krank": "kränker",
    "kurz": "kürzer", "lang": "länger", "scharf": "schärfer", "schwach": "schwächer",
    "schwarz": "schwärzer", "stark": "stärker", "warm": "wärmer", "arm": "ärmer", "nah": "näher",
    "grob": "gröber", "rot": "röter, roter", "nass": "nasser, nässer", "glatt": "glatter, glätter",
    "schmal": "schmaler, schmäler", "gesund": "gesünder, gesunder", "teuer": "teurer",
}  # fmt: skip
"""Comparatives with another vowel or stem; the others add *-er*."""


class NounForm(NamedTuple):
    """One reading of the form of a noun."""

    lemma: str
    gender: str  # ``m``, ``f``, ``n``; ``p`` for a plural
    cases: str  # ``n``, ``a``, ``d``, ``g``
    ending: str = ""  # the adjective ending of a noun that declines as an adjective


class FiniteForm(NamedTuple):
    lemma: str
    prefix: str
    tense: str
    persons: tuple[str, ...]


class Frame(NamedTuple):
    """What a verb may take."""

    auxiliary: str
    reflexive: str  # case of a reflexive pronoun, which may be empty
    cases: str  # cases of the objects without a preposition, sorted
    preposition: str
    case: str  # the case after the preposition
    clause: str  # ``dass``, ``zu``, ``bare`` or ``quality``; empty for none of them


def _list(cell: str) -> list[str]:
    return [] if cell == "-" else cell.split(", ")


def _nouns() -> dict[str, list[NounForm]]:
    cases: dict[tuple[str, str, str, str], str] = defaultdict(str)
    for lemma, gender, genitive, oblique, plural, _ in read_lines("german/nouns.txt"):
        if genitive == "adj":
            for ending in ("e", "en", "em", "er", "es"):
                cases[lemma + ending, lemma, gender, ending] = "nadg"
                cases[lemma + ending, lemma, "p", ending] = "nadg"
            continue
        cases[lemma, lemma, gender, ""] += "n"
        for form in _list(oblique) or [lemma]:
            cases[form, lemma, gender, ""] += "ad"
        for form in _list(genitive):
            cases[form, lemma, gender, ""] += "g"
        for form in _list(plural):
            cases[form, lemma, "p", ""] += "nag"
            dative = form + "n" * form.endswith(("e", "l", "r"))
            cases[dative, lemma, "p", ""] += "d"
    forms: dict[str, list[NounForm]] = defaultdict(list)
    for (form, lemma, gender, ending), which in cases.items():
        forms[form].append(NounForm(lemma, gender, which, ending))
    return dict(forms)


def _of_kind(mark: str) -> frozenset[str]:
    """Return the nouns whose English words are all marked as persons (``h``) or others (``-``)."""
    known = {cells[0] for cells in read_lines("english/nouns.txt") if cells[2] == mark}
    lines = read_lines("german/nouns.txt")
    return frozenset(cells[0] for cells in lines if known.issuperset(cells[-1].split(", ")))


def _adjectives() -> dict[str, list[tuple[str, str]]]:
    forms: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for lemma, stem, _ in read_lines("german/adjectives.txt"):
        for ending in ("e", "en", "em", "er", "es"):
            forms[stem + ending].append((lemma, ending))
    return dict(forms)


def _ranks() -> dict[str, int]:
    classes = [line.split() for (line,) in read_lines("english/adjectives.txt")]
    places = {word: place for place, words in enumerate(classes) for word in words[1:]}
    return {
        lemma: places[words.split(", ")[0]]
        for lemma, _, words in read_lines("german/adjectives.txt")
    }


def _comparatives(qualities: Iterable[str]) -> dict[str, str]:
    found = {}
    for lemma in qualities:
        stem = lemma[:-2] + "l" if lemma.endswith("el") else lemma.removesuffix("e")
        for form in COMPARATIVES.get(lemma, stem + "er").split(", "):
            found[form] = lemma
    return found


def _frame(text: str, auxiliary: str) -> Frame:
    """Read one alternative of what a verb takes, such as ``sich mit+dat``."""
    reflexive = cases = preposition = case = clause = ""
    for word in text.split():
        if word in ("sich", "mir"):
            reflexive = "a" if word == "sich" else "d"
        elif word in ("acc", "dat"):
            cases += word[0]
        elif word == "(sein)":
            auxiliary = "sein"
        elif "+" in word:
            preposition, _, case = word.partition("+")
        elif word != "-":
            clause = word
    return Frame(auxiliary, reflexive, "".join(sorted(cases)), preposition, case[:1], clause)


class German:
    """German words by form."""

    def __init__(self) -> None:
        self.nouns = _nouns()
        self.masses = frozenset(  # nouns that have no plural, in one sense at least
            cells[0]
            for cells in read_lines("german/nouns.txt")
            if cells[4] == "-" and cells[2] != "adj"
        )
        self.persons = _of_kind("h")  # nouns that can only be persons
        self.others = _of_kind("-")  # nouns that cannot
        self.adjectives = _adjectives()  # adjectives with their endings
        self.ranks = _ranks()  # with the places of their classes, which are those of English
        self.qualities = self.ranks.keys()  # adjectives without an ending
        self.comparatives = _comparatives(self.qualities)  # *größer* and the like
        self.finite: Forms[FiniteForm] = defaultdict(list)  # without their separable prefixes
        self.joined: Forms[FiniteForm] = defaultdict(list)  # with their separable prefixes
        self.infinitives: Forms[str] = defaultdict(list)
        self.with_zu: Forms[str] = defaultdict(list)  # infinitives with *zu* inside
        self.participles: Forms[str] = defaultdict(list)
        self.frames: Forms[Frame] = {}
        for cells in read_lines("german/verbs.txt"):
            self._add_verb(*cells[:6])
        self.nouns_in_german, self.verbs_in_german, self.adjectives_in_german = (
            translations(f"german/{name}.txt") for name in ("nouns", "verbs", "adjectives")
        )

    def _add_verb(
        self, name: str, auxiliary: str, takes: str, present: str, past: str, participle: str
    ) -> None:
        prefix, _, base = name.rpartition("|")
        for tense, persons, forms in (("present", PRESENT, present), ("past", PAST, past)):
            for which, form in zip(persons, forms.split(), strict=True):
                reading = FiniteForm(name, prefix, tense, which)
                self.finite[form].append(reading)
                self.joined[prefix + form].append(reading)
        for which, ending in zip(PAST, ("", "n"), strict=True):
            if name in UNREAL:
                reading = FiniteForm(name, "", "unreal", which)
                for table in (self.finite, self.joined):
                    table[UNREAL[name] + ending].append(reading)
        self.infinitives[prefix + base].append(name)
        if prefix:
            self.with_zu[f"{prefix}zu{base}"].append(name)
        self.participles[participle].append(name)
        self.frames[name] = [_frame(text, auxiliary) for text in takes.split(", ")]


WORDS = German()
EXPRESSIONS = expressions("german/fixed.txt")
CLASSES = word_classes("german/classes.txt")
