"""The French words of the checker by form, with the moods that school grammars make from others."""

from collections import defaultdict
from typing import NamedTuple

from tests.tools.grammar_checker.words import (
    PERSONS,
    Forms,
    NounForm,
    VerbForm,
    read_lines,
    word_classes,
)

CLASSES = word_classes("french/classes.txt")
TENSES = ("present", "imperfect", "future")
IRREGULAR = {
    "être": "sois soit soyons soient", "avoir": "aie ait ayons aient",
    "aller": "aille aille allions aillent", "faire": "fasse fasse fassions fassent",
    "pouvoir": "puisse puisse puissions puissent", "savoir": "sache sache sachions sachent",
    "vouloir": "veuille veuille voulions veuillent", "valoir": "vaille vaille valions vaillent",
}  # fmt: skip
_AVOIR = {
    "present": "ai a avons ont", "imperfect": "avais avait avions avaient",
    "future": "aurai aura aurons auront",
}  # fmt: skip


def subjunctive(infinitive: str, present: list[str], imperfect: list[str]) -> list[str]:
    """Return the forms of *je, il, nous, ils*.

    The singular is *ils* of the present without *-nt* (*ils prennent*: *je prenne*), *nous* is that
    of the imperfect (*nous prenions*).
    """
    if infinitive in IRREGULAR:
        return IRREGULAR[infinitive].split()
    singular = present[3].removesuffix("nt")
    return [singular, singular, imperfect[2], present[3]]


def conditional(future: list[str]) -> list[str]:
    """Return the forms of *je, il, nous, ils*: the stem of the future with *-ais, -ait* …"""
    stem = future[0].removesuffix("ai")
    return [stem + ending for ending in ("ais", "ait", "ions", "aient")]


class AdjectiveForm(NamedTuple):
    """A form of a French adjective, in one of its readings."""

    lemma: str
    genders: str
    plurals: tuple[bool, ...]
    before: bool
    liaison: bool = False  # whether the form stands before vowels only
    around: bool = False  # whether it may stand before a noun that another adjective follows


class French:
    """French words by form."""

    def __init__(self) -> None:
        self.nouns: Forms[NounForm] = defaultdict(list)
        self.longest: dict[str, int] = {}  # first words of nouns of several words: the most words
        self._read_nouns()
        self.adjectives: Forms[AdjectiveForm] = defaultdict(list)
        self.strict: set[str] = set()  # adjectives with another form before a vowel
        self._read_adjectives()
        self.origins = _class("origin")
        """Adjectives such as *français*, which only a material may separate from the noun."""
        self.materials = _class("material")
        self.finite: Forms[VerbForm] = defaultdict(list)
        self.participles: Forms[tuple[str, str, bool | None]] = defaultdict(list)
        """Verb, gender and number of each form; number None for both."""
        self.auxiliary: dict[str, str] = {}
        self.frames = {"": frozenset[str](), "avoir": frozenset[str](), "?": frozenset(("i", "d"))}
        self._read_verbs()
        self.infinitives = frozenset(
            verb.removeprefix("se ").removeprefix("s'") for verb in self.auxiliary
        )

    def _read_nouns(self) -> None:
        for singular, plural, gender in read_lines("french/nouns.txt"):
            genders = "mf" if gender == "e" else gender
            if singular == plural:
                self.nouns[singular].append(NounForm(singular, genders, (False, True)))
            else:
                self.nouns[singular].append(NounForm(singular, genders, (False,)))
                self.nouns[plural].append(NounForm(singular, genders, (True,)))
            for form in (singular, plural):
                words = form.replace("'", "' ").split()
                self.longest[words[0]] = max(self.longest.get(words[0], 1), len(words))

    def _read_adjectives(self) -> None:
        for *cells, before_vowel, place, _ in read_lines("french/adjectives.txt"):
            readings: dict[str, tuple[set[str], set[bool]]] = {}
            for number, form in enumerate(cells):
                genders, plurals = readings.setdefault(form, (set(), set()))
                genders.add("mf"[number % 2])
                plurals.add(number > 1)
            before, around = place == "before", place == "around"
            for form, (found, numbers) in readings.items():
                reading = AdjectiveForm(
                    cells[0], "".join(found), tuple(numbers), before, around=around
                )
                self.adjectives[form].append(reading)
            if before_vowel != "-":
                reading = AdjectiveForm(cells[0], "m", (False,), before, liaison=True)
                self.adjectives[before_vowel].append(reading)
                self.strict.add(cells[0])

    def _read_verbs(self) -> None:
        for infinitive, takes, follows, *tenses, participle in read_lines("french/verbs.txt"):
            self.auxiliary[infinitive] = takes
            self.frames[infinitive] = frozenset(follows.split(", "))
            _add_forms(self.finite, infinitive, [forms.split() for forms in tenses])
            feminine = participle.replace("dû", "du") + "e"
            for form, gender, plural in _agreed(participle, feminine):
                self.participles[form].append((infinitive, gender, plural))


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


def _class(name: str) -> frozenset[str]:
    """Return the French adjectives of an English class."""
    classes = (line.split() for (line,) in read_lines("english/adjectives.txt"))
    english = next(set(words[1:]) for words in classes if words[0] == name + ":")
    cells = list(read_lines("french/adjectives.txt"))
    return frozenset(each[0] for each in cells if english.issuperset(each[6].split(", ")))


def _add_forms(finite: Forms[VerbForm], verb: str, tenses: list[list[str]]) -> None:
    """Add the forms of a verb: present, imperfect and future, and the moods made from them."""
    present, imperfect, future = tenses
    moods = [conditional(future), subjunctive(verb, present, imperfect)]
    for tense, forms in zip((*TENSES, "unreal", "subjunctive"), (*tenses, *moods), strict=True):
        persons: dict[str, list[str]] = {}
        for person, form in zip(PERSONS, forms, strict=True):
            persons.setdefault(form, []).append(person)
        for form, which in persons.items():
            finite[form].append(VerbForm(verb, tense, tuple(which)))


def _auxiliary_forms() -> Forms[VerbForm]:
    forms: Forms[VerbForm] = defaultdict(list)
    _add_forms(forms, "avoir", [_AVOIR[tense].split() for tense in TENSES])
    return forms


WORDS = French()
AVOIR = _auxiliary_forms()
"""Forms of the auxiliary, which is no verb of the lists."""
