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
    "a": "ein", "no": "kein", "my": "mein", "our": "unser", "his": "sein", "its": "sein",
    "her": "ihr", "their": "ihr",
}  # fmt: skip
"""Determiners without an ending in some forms, where the adjective shows gender and case."""
_OWN = ("his", "her", "its")
_QUANTITIES = {"some": "einig", "several": "mehrer", "many": "viel"}
_INVARIABLE = {"two": "zwei", "three": "drei", "four": "vier", "whose": ""}
"""*dessen* and *deren* stand before the phrase."""
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

    def core(self, key: tuple[Core, int, bool]) -> Piece:
        """Write determiner, adjectives and noun of a core in a case; maybe *kein* for *ein*."""
        core, case, negated = key
        noun = core.noun
        if case == GENITIVE and core.determiner == "four" and not core.adjectives:
            case = DATIVE  # no word would show the genitive
        gender = "p" if core.plural else self.gender(noun)
        determiner, adjective_ending = self._determiner(core, gender, case, negated)
        forms = self._nouns.get(noun.name)
        if forms is not None:
            word = forms.form(core.plural, case, adjective_ending)
        elif case == GENITIVE:
            word = noun.name + ("'" if noun.name[-1] in "sxz" else "s")
        else:
            word = noun.name
        stems = [self._adjectives[each.name].rpartition("/")[2] for each in core.adjectives]
        words = (*[stem + adjective_ending for stem in stems], word)
        roles = (*ADJECTIVES[: len(stems)], (NOUN,))
        return determined(determiner, words, roles)

    def _determiner(self, core: Core, gender: str, case: int, negated: bool) -> tuple[str, str]:
        """Return a determiner, and the ending of an adjective behind it."""
        name, strong = core.determiner, _STRONG[gender][case]
        short = case == NOMINATIVE or (case == ACCUSATIVE and gender in "fn")
        weak = "e" if short and gender != "p" else "en"
        if negated and name in ("a", "some"):
            name = "no"
        elif name == "some" and (core.denied or not core.plural):
            name = "" if core.denied else "etwas"
        elif core.possessor is not None and name in _OWN:
            # *das Mädchen* has *sein*, *die Geisel* has *ihr*
            name = "her" if self.gender(core.possessor) == "f" else "his"
        if name in _WITHOUT_ENDING:
            bare = (gender, case) in (("m", NOMINATIVE), ("n", NOMINATIVE), ("n", ACCUSATIVE))
            return _WITHOUT_ENDING[name] + strong * (not bare), strong if bare else weak
        if name == "the":
            return _DEFINITE[gender][case], weak
        if name in _WITH_STRONG_ENDING:
            return _WITH_STRONG_ENDING[name] + strong, weak
        if name in _QUANTITIES:
            return _QUANTITIES[name] + strong, strong
        if name == "title":
            return "Frau" if gender == "f" else "Herr" if case == NOMINATIVE else "Herrn", ""
        if case == GENITIVE:
            name = _GENITIVE_NUMERALS.get(name, name)
        plain = "en" if case == GENITIVE and gender in "mn" else strong
        return _INVARIABLE.get(name, name), plain


def _genitive(singular: str, gender: str) -> str:
    if gender == "f":
        return singular
    short = len(_SYLLABLES.findall(singular)) == 1 and singular[-1] not in "aeiouäöüyhr"
    return singular + ("es" if short or singular[-1] in "sßxz" else "s")
