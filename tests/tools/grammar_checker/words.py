"""The word lists of the checker, read from the text files beside this module."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.tools.grammar_checker.english.comparatives import comparative
from tests.tools.grammar_checker.french.moods import AVOIR, conditional, subjunctive

FOLDER = Path(__file__).parent
TENSES = ("present", "imperfect", "future")
PERSONS = ("1s", "3s", "1p", "3p")


class NounForm(NamedTuple):
    """One reading of the form of a noun; ``genders`` is empty in English."""

    lemma: str
    genders: str
    plurals: tuple[bool, ...]
    human: str = ""  # ``h`` for a person, ``-`` for others, ``b`` for a word of both kinds


class AdjectiveForm(NamedTuple):
    """One reading of the form of a French adjective."""

    lemma: str
    genders: str
    plurals: tuple[bool, ...]
    before: bool
    liaison: bool = False  # whether the form stands before vowels only
    around: bool = False  # whether it may stand before a noun that another adjective follows


class VerbForm(NamedTuple):
    lemma: str
    tense: str
    persons: tuple[str, ...]


class French(NamedTuple):
    """French words by form."""

    nouns: dict[str, list[NounForm]]
    longest: dict[str, int]  # first words of nouns of several words, with the most words
    adjectives: dict[str, list[AdjectiveForm]]
    origins: frozenset[str]
    """Adjectives such as *français*, which only a material may separate from the noun."""
    materials: frozenset[str]
    strict: frozenset[str]  # adjectives with another form before a vowel
    finite: dict[str, list[VerbForm]]
    infinitives: frozenset[str]
    participles: dict[str, list[tuple[str, str, bool | None]]]
    """Verb, gender and number of each form; number None for both."""
    auxiliary: dict[str, str]
    frames: dict[str, frozenset[str]]


class English(NamedTuple):
    """English words by form."""

    nouns: dict[str, list[NounForm]]
    masses: frozenset[str]
    adjectives: dict[str, int]  # adjectives with the place of their class
    comparatives: dict[str, str]  # *bigger*: *big*
    finite: dict[str, list[VerbForm]]
    participles: dict[str, list[str]]
    bases: frozenset[str]
    frames: dict[str, frozenset[str]]
    nouns_in_french: dict[str, frozenset[str]]
    verbs_in_french: dict[str, frozenset[str]]
    adjectives_in_french: dict[str, frozenset[str]]


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


@cache
def senses(name: str) -> dict[str, str]:
    """Return the translations of English nouns with two senses, by what they are."""
    return {word: kind for kind, nouns in read_lines(name) for word in nouns.split(", ")}


TRAITS = frozenset(senses("traits.txt"))
"""Adjectives of lasting qualities, in all languages."""


@cache
def names() -> dict[str, str]:
    return {
        name: "mf" if gender == "e" else gender
        for gender, found in read_lines("names.txt")
        for name in found.split()
    }


def _agreed(masculine: str, feminine: str) -> list[tuple[str, str, bool | None]]:
    """Return the four forms of a participle with gender and number."""
    same = masculine.endswith("s")
    many = masculine if same else masculine + "s"
    forms: list[tuple[str, str, bool | None]] = [
        (feminine, "f", False),
        (feminine + "s", "f", True),
    ]
    if same:
        return [*forms, (masculine, "m", None)]
    return [*forms, (masculine, "m", False), (many, "m", True)]


def _adjectives() -> tuple[dict[str, list[AdjectiveForm]], frozenset[str]]:
    forms: dict[str, list[AdjectiveForm]] = defaultdict(list)
    strict = set()
    for cells in read_lines("french/adjectives.txt"):
        readings: dict[str, tuple[set[str], set[bool]]] = {}
        for number, form in enumerate(cells[:4]):
            genders, plurals = readings.setdefault(form, (set(), set()))
            genders.add("mf"[number % 2])
            plurals.add(number > 1)
        before, around = cells[5] == "before", cells[5] == "around"
        for form, (found, numbers) in readings.items():
            reading = AdjectiveForm(cells[0], "".join(found), tuple(numbers), before, around=around)
            forms[form].append(reading)
        if cells[4] != "-":
            forms[cells[4]].append(AdjectiveForm(cells[0], "m", (False,), before, liaison=True))
            strict.add(cells[0])
    return dict(forms), frozenset(strict)


def _class(name: str) -> frozenset[str]:
    """Return the French adjectives of an English class."""
    classes = (line.split() for (line,) in read_lines("english/adjectives.txt"))
    english = next(set(words[1:]) for words in classes if words[0] == name + ":")
    cells = list(read_lines("french/adjectives.txt"))
    return frozenset(each[0] for each in cells if english.issuperset(each[6].split(", ")))


def _french_nouns() -> tuple[dict[str, list[NounForm]], dict[str, int]]:
    nouns: dict[str, list[NounForm]] = defaultdict(list)
    longest: dict[str, int] = {}
    for singular, plural, gender in read_lines("french/nouns.txt"):
        genders = "mf" if gender == "e" else gender
        if singular == plural:
            nouns[singular].append(NounForm(singular, genders, (False, True)))
        else:
            nouns[singular].append(NounForm(singular, genders, (False,)))
            nouns[plural].append(NounForm(singular, genders, (True,)))
        for form in (singular, plural):
            words = form.replace("'", "' ").split()
            longest[words[0]] = max(longest.get(words[0], 1), len(words))
    return dict(nouns), longest


def _add_forms(finite: dict[str, list[VerbForm]], verb: str, tenses: list[list[str]]) -> None:
    """Add the forms of a verb: present, imperfect and future, and the moods made from them."""
    present, imperfect, future = tenses
    moods = [conditional(future), subjunctive(verb, present, imperfect)]
    for tense, forms in zip((*TENSES, "unreal", "subjunctive"), (*tenses, *moods), strict=True):
        persons: dict[str, list[str]] = {}
        for person, form in zip(PERSONS, forms, strict=True):
            persons.setdefault(form, []).append(person)
        for form, which in persons.items():
            finite[form].append(VerbForm(verb, tense, tuple(which)))


@cache
def auxiliary_forms() -> dict[str, list[VerbForm]]:
    """Return the forms of *avoir*."""
    forms: dict[str, list[VerbForm]] = defaultdict(list)
    _add_forms(forms, "avoir", [AVOIR[tense].split() for tense in TENSES])
    return dict(forms)


def bare(infinitive: str) -> str:
    """Return an infinitive without its pronoun (*se lever*, *s'endormir*)."""
    return infinitive.removeprefix("se ").removeprefix("s'")


@cache
def french() -> French:
    finite: dict[str, list[VerbForm]] = defaultdict(list)
    participles: dict[str, list[tuple[str, str, bool | None]]] = defaultdict(list)
    auxiliary: dict[str, str] = {}
    frames = {"": frozenset[str](), "avoir": frozenset[str](), "?": frozenset(("i", "d"))}
    for infinitive, takes, follows, *tenses, participle in read_lines("french/verbs.txt"):
        auxiliary[infinitive] = takes
        frames[infinitive] = frozenset(follows.split(", "))
        _add_forms(finite, infinitive, [forms.split() for forms in tenses])
        feminine = participle.replace("dû", "du") + "e"
        for form, gender, plural in _agreed(participle, feminine):
            participles[form].append((infinitive, gender, plural))
    nouns, longest = _french_nouns()
    adjectives, strict = _adjectives()
    infinitives = frozenset(bare(verb) for verb in auxiliary)
    return French(
        nouns, longest, adjectives, _class("origin"), _class("material"), strict, dict(finite),
        infinitives, dict(participles), auxiliary, frames,
    )  # fmt: skip


@cache
def english() -> English:
    nouns: dict[str, list[NounForm]] = defaultdict(list)
    masses = set()
    in_french = {}
    for singular, plural, human, meanings in read_lines("english/nouns.txt"):
        in_french[singular] = frozenset(meanings.split(", "))
        nouns[singular].append(NounForm(singular, "", (False,), human))
        if plural == "-":
            masses.add(singular)
        else:
            nouns[plural].append(NounForm(singular, "", (True,), human))
    adjectives: dict[str, int] = {}
    for place, (line,) in enumerate(read_lines("english/adjectives.txt")):
        adjectives |= dict.fromkeys(line.split()[1:], place)
    finite: dict[str, list[VerbForm]] = defaultdict(list)
    participles: dict[str, list[str]] = defaultdict(list)
    frames, verbs = {}, {}
    for base, third, past_forms, follows, meanings in read_lines("english/verbs.txt"):
        past, _, participle = past_forms.partition("/")
        finite[base].append(VerbForm(base, "present", ("1s", "1p", "3p")))
        finite[third].append(VerbForm(base, "present", ("3s",)))
        finite[past].append(VerbForm(base, "past", PERSONS))
        participles[participle or past].append(base)
        frames[base], verbs[base] = frozenset(follows.split(", ")), frozenset(meanings.split(", "))
    comparatives = {comparative(adjective): adjective for adjective in adjectives}
    return English(
        dict(nouns), frozenset(masses), adjectives, comparatives, dict(finite), dict(participles),
        frozenset(frames), frames, in_french, verbs,
        translations("french/adjectives.txt"),
    )  # fmt: skip


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
