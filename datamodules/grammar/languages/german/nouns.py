"""German nouns, adjectives and determiners: four cases, three genders, endings that agree."""

import re
from typing import NamedTuple

from datamodules.grammar.languages.language import ADJECTIVES, NOUN, Piece, Section, determined
from datamodules.grammar.meaning.phrases import Core, Noun

NOMINATIVE, ACCUSATIVE, DATIVE, GENITIVE = range(4)
CASES = {"nom": NOMINATIVE, "acc": ACCUSATIVE, "dat": DATIVE, "gen": GENITIVE}
"""Cases, as the word list names them."""
_STRONG = {
    "m": ("er", "en", "em", "es"),
    "f": ("e", "e", "er", "er"),
    "n": ("es", "es", "em", "es"),
    "p": ("e", "e", "en", "er"),
}
"""Endings that show gender and case; ``p`` is the plural of all genders."""
_DEFINITE = {
    "m": ("der", "den", "dem", "des"),
    "f": ("die", "die", "der", "der"),
    "n": ("das", "das", "dem", "des"),
    "p": ("die", "die", "den", "der"),
}
_WITH_STRONG_ENDING = {"this": "dies", "every": "jed"}
"""Determiners that show gender and case, so that the adjective need not."""
_WITHOUT_ENDING = {
    "a": "ein", "my": "mein", "our": "unser", "his": "sein", "its": "sein", "her": "ihr",
    "their": "ihr",
}  # fmt: skip
"""Determiners without an ending in some forms, where the adjective shows gender and case."""
_OWN = ("his", "her", "its")
_QUANTITIES = {"some": "einig", "several": "mehrer", "many": "viel"}
_NUMERALS = {"two": "zwei", "three": "drei", "four": "vier"}
_GENITIVE_NUMERALS = {"two": "zweier", "three": "dreier"}


_SYLLABLES = re.compile("[aeiouyäöü]+", re.IGNORECASE)


class GermanNoun(NamedTuple):
    """A noun: its forms and its gender."""

    singular: str
    plural: str
    gender: str
    genitive: str  # genitive singular
    weak: bool = False  # has an ending in all cases but the nominative (*dem Studenten*)
    adjectival: bool = False  # declines as an adjective; ``singular`` is the stem (*Verlobt*)

    @classmethod
    def of(cls, cells: list[str]) -> "GermanNoun":
        """Read ``Singular/Plural``, the gender with ``weak`` or ``adj``, and maybe a genitive."""
        singular, _, plural = cells[0].partition("/")
        gender, *flags = cells[1].split()
        weak = "weak" in flags
        given = cells[2] if len(cells) > 2 else ""
        genitive = given or (plural if weak else _genitive(singular, gender))
        return cls(singular, plural, gender, genitive, weak, "adj" in flags)

    def form(self, plural: bool, case: int, ending: str) -> str:
        """Return a form; ``ending`` is that of an adjective in the place of the noun."""
        if self.adjectival:
            return self.singular + ending
        if plural:
            return self.plural + "n" * (case == DATIVE and self.plural.endswith(("e", "el", "er")))
        if case == GENITIVE:
            return self.genitive
        if self.weak and case != NOMINATIVE:
            return self.genitive.removesuffix("s")  # des Namens, dem Namen; des Herrn, dem Herrn
        return self.singular


class GermanNouns:
    """The nouns and adjectives of the word list."""

    def __init__(self, sections: dict[str, Section]) -> None:
        self._nouns = {name: GermanNoun.of(cells) for name, cells in sections["nouns"].items()}
        self._adjectives = {name: cells[0] for name, cells in sections["adjectives"].items()}
        self._comparatives = {name: cells[0] for name, cells in sections["comparatives"].items()}

    def gender(self, noun: Noun) -> str:
        """Return the grammatical gender; a name has the gender of its bearer, a town is neuter."""
        forms = self._nouns.get(noun.name)
        if forms is not None:
            return forms.gender
        return "n" if noun.kind == "town" else noun.gender

    def degrees(self, adjective: str) -> tuple[str, str]:
        """Return an adjective after *sein*, where it has no ending, and its comparative."""
        plain, _, stem = self._adjectives[adjective].partition("/")
        return plain, self._comparatives.get(adjective, (stem or plain) + "er")

    def core(self, core: Core, case: int, negated: bool) -> Piece:
        """Write determiner, adjectives and noun; ``negated`` writes *kein* for *ein*."""
        noun = core.noun
        if case == GENITIVE and core.determiner == "four" and not core.adjectives:
            case = DATIVE  # no word would show the genitive
        gender = "p" if core.plural else self.gender(noun)
        determiner, adjective_ending = self._determiner(core, gender, case, negated)
        forms = self._nouns.get(noun.name)
        if forms is None:
            word = _name(noun.name, case)
        else:
            word = forms.form(core.plural, case, adjective_ending)
        stems = [self._adjectives[each.name].rpartition("/")[2] for each in core.adjectives]
        words = (*[stem + adjective_ending for stem in stems], word)
        roles = (*ADJECTIVES[: len(stems)], (NOUN,))
        return determined(determiner, words, roles)

    def _determiner(self, core: Core, gender: str, case: int, negated: bool) -> tuple[str, str]:
        name, strong = core.determiner, _STRONG[gender][case]
        if negated and name in ("a", "some"):
            return _with_ein_ending("kein", gender, case)
        if name == "some" and (core.denied or not core.plural):
            return "" if core.denied else "etwas", _strong_adjective(gender, case)
        if name == "the":
            return _DEFINITE[gender][case], _weak_ending(gender, case)
        if name in _WITH_STRONG_ENDING:
            return _WITH_STRONG_ENDING[name] + strong, _weak_ending(gender, case)
        if (
            core.possessor is not None and name in _OWN
        ):  # *das Mädchen* has *sein*, *die Geisel* has *ihr*
            feminine = self.gender(core.possessor) == "f"
            return _with_ein_ending("ihr" if feminine else "sein", gender, case)
        if name in _WITHOUT_ENDING:
            return _with_ein_ending(_WITHOUT_ENDING[name], gender, case)
        if name == "whose":  # *dessen* and *deren* stand before the phrase
            return "", _strong_adjective(gender, case)
        if name == "title":
            man = "Herr" if case == NOMINATIVE else "Herrn"
            return "Frau" if gender == "f" else man, ""
        if name in _QUANTITIES:
            return _QUANTITIES[name] + strong, strong
        numerals = _NUMERALS | _GENITIVE_NUMERALS if case == GENITIVE else _NUMERALS
        return numerals.get(name, name), _strong_adjective(gender, case)


def _with_ein_ending(stem: str, gender: str, case: int) -> tuple[str, str]:
    strong = _STRONG[gender][case]
    if (gender, case) in (("m", NOMINATIVE), ("n", NOMINATIVE), ("n", ACCUSATIVE)):
        return stem, strong
    return stem + strong, _weak_ending(gender, case)


def _weak_ending(gender: str, case: int) -> str:
    short = case == NOMINATIVE or (case == ACCUSATIVE and gender in "fn")
    return "e" if short and gender != "p" else "en"


def _strong_adjective(gender: str, case: int) -> str:
    return "en" if case == GENITIVE and gender in "mn" else _STRONG[gender][case]


def _genitive(singular: str, gender: str) -> str:
    if gender == "f":
        return singular
    short = len(_SYLLABLES.findall(singular)) == 1 and singular[-1] not in "aeiouäöüyhr"
    return singular + ("es" if short or singular[-1] in "sßxz" else "s")


def _name(name: str, case: int) -> str:
    if case != GENITIVE:
        return name
    return name + ("'" if name[-1] in "sxz" else "s")
