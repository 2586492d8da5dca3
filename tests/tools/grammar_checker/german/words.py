"""The German words of the checker by form, read from the text files beside this module."""

from collections import defaultdict
from functools import cache
from typing import NamedTuple

from tests.tools.grammar_checker.words import expressions, read_lines, translations

FIXED = "german/fixed.txt"
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


class German(NamedTuple):
    nouns: dict[str, list[NounForm]]
    masses: frozenset[str]  # nouns that have no plural, in one sense at least
    adjectives: dict[str, list[tuple[str, str]]]  # adjectives with their endings
    ranks: dict[str, int]  # adjectives with the places of their classes, which are those of English
    qualities: frozenset[str]  # adjectives without an ending
    comparatives: dict[str, str]  # forms such as *größer*, with the adjectives
    persons: frozenset[str]  # nouns that can only be persons
    others: frozenset[str]  # nouns that cannot
    finite: dict[str, list[FiniteForm]]  # forms without their separable prefixes
    joined: dict[str, list[FiniteForm]]  # forms with their separable prefixes
    infinitives: dict[str, list[str]]
    with_zu: dict[str, list[str]]  # infinitives with *zu* inside
    participles: dict[str, list[str]]
    frames: dict[str, list[Frame]]
    nouns_in_german: dict[str, frozenset[str]]
    verbs_in_german: dict[str, frozenset[str]]
    adjectives_in_german: dict[str, frozenset[str]]


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


def _comparatives(qualities: frozenset[str]) -> dict[str, str]:
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


class _Verbs(NamedTuple):
    """The verb forms of ``German``, while they are read."""

    finite: dict[str, list[FiniteForm]]
    joined: dict[str, list[FiniteForm]]
    infinitives: dict[str, list[str]]
    with_zu: dict[str, list[str]]
    participles: dict[str, list[str]]
    frames: dict[str, list[Frame]]


def _add_verb(verbs: _Verbs, cells: list[str]) -> None:
    name, auxiliary, takes, present, past, participle, _ = cells
    prefix, _, base = name.rpartition("|")
    for tense, persons, forms in (("present", PRESENT, present), ("past", PAST, past)):
        for which, form in zip(persons, forms.split(), strict=True):
            reading = FiniteForm(name, prefix, tense, which)
            verbs.finite.setdefault(form, []).append(reading)
            verbs.joined.setdefault(prefix + form, []).append(reading)
    for which, ending in zip(PAST, ("", "n"), strict=True):
        if name in UNREAL:
            reading = FiniteForm(name, "", "unreal", which)
            for table in (verbs.finite, verbs.joined):
                table.setdefault(UNREAL[name] + ending, []).append(reading)
    verbs.infinitives.setdefault(prefix + base, []).append(name)
    if prefix:
        verbs.with_zu.setdefault(f"{prefix}zu{base}", []).append(name)
    verbs.participles.setdefault(participle, []).append(name)
    verbs.frames[name] = [_frame(text, auxiliary) for text in takes.split(", ")]


@cache
def german() -> German:
    verbs = _Verbs({}, {}, {}, {}, {}, {})
    for cells in read_lines("german/verbs.txt"):
        _add_verb(verbs, cells)
    nouns = list(read_lines("german/nouns.txt"))
    masses = frozenset(cells[0] for cells in nouns if cells[4] == "-" and cells[2] != "adj")
    qualities = frozenset(cells[0] for cells in read_lines("german/adjectives.txt"))
    lists = ("nouns", "verbs", "adjectives")
    in_german = [translations(f"german/{name}.txt") for name in lists]
    return German(
        _nouns(), masses, _adjectives(), _ranks(), qualities, _comparatives(qualities),
        _of_kind("h"), _of_kind("-"), *verbs, *in_german,
    )  # fmt: skip


WORDS = german()
EXPRESSIONS = expressions(FIXED)
