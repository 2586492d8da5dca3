"""French nouns and adjectives: gender, number, determiners."""

from dataclasses import dataclass

from datamodules.grammar.languages.french.elision import causes_elision
from datamodules.grammar.languages.language import (
    ADJECTIVES,
    DETERMINER,
    NOUN,
    Piece,
    Section,
    Word,
    piece,
)
from datamodules.grammar.meaning.phrases import Adjective, Core, Noun

_DETERMINERS = {
    name: [form.partition("/") for form in forms.split()]
    for name, forms in {
        "the": "le la les",
        "a": "un une -",
        "some": "- - des",
        "this": "ce/cet cette ces",
        "my": "mon ma/mon mes",
        "our": "notre notre nos",
        "his": "son sa/son ses",
        "her": "son sa/son ses",
        "its": "son sa/son ses",
        "their": "leur leur leurs",
        "every": "chaque chaque -",
        "whose": "le la les",
        "several": "- - plusieurs",
        "two": "- - deux",
        "three": "- - trois",
        "four": "- - quatre",
        "title": "monsieur madame -",
    }.items()
}
"""Masculine, feminine and plural, each with the form before a vowel."""


_CLASSIFYING = ("shape", "colour", "origin", "material")
"""Categories of adjectives that another follows without *et*: *une robe rouge étrange*."""


def plural(word: str) -> str:
    """Return the regular plural of a noun or of a masculine adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith(("eau", "eu", "au")) and word != "bleu":
        return word + "x"
    return word + "s"


def feminine(adjective: str) -> str:
    """Return the regular feminine singular of an adjective or participle."""
    if adjective.endswith("e"):
        return adjective
    if adjective.endswith("eux"):
        return adjective[:-1] + "se"
    if adjective.endswith("er"):
        return adjective[:-2] + "ère"
    if adjective.endswith(("on", "en")):
        return adjective + "ne"
    return adjective + "e"


def agree(masculine: str, gender: str, is_plural: bool) -> str:
    """Return a regular adjective or participle in the given gender and number."""
    form = feminine(masculine) if gender == "f" else masculine
    return plural(form) if is_plural else form


@dataclass(frozen=True, eq=False)
class FrenchNoun:
    """A noun: singular, plural, gender."""

    singular: str
    plural: str
    gender: str

    @classmethod
    def of(cls, cell: str, gender: str) -> "FrenchNoun":
        """Read ``singular`` or ``singular/plural``."""
        singular, _, irregular = cell.partition("/")
        return cls(singular, irregular or plural(singular), gender)


@dataclass(frozen=True, eq=False)
class AdjectiveForms:
    """An adjective: ``before`` a vowel a masculine may differ (*bel*)."""

    masculine: str
    feminine: str
    liaison: str
    masculine_plural: str
    feminine_plural: str
    position: str  # before or after the noun; ``around``: before it if one of a class is behind it

    @classmethod
    def of(cls, cell: str, position: str) -> "AdjectiveForms":
        """Read ``masculine[/feminine[/liaison or -[/masculine plural]]]``."""
        masculine, form, liaison, many = (*cell.split("/"), "", "", "")[:4]
        if form == masculine and not (liaison or masculine.endswith("e")):  # invariable
            return cls(masculine, masculine, masculine, masculine, masculine, position)
        form, many = form or feminine(masculine), many or plural(masculine)
        return cls(masculine, form, liaison.strip("-") or masculine, many, plural(form), position)

    def agreed(self, gender: str, is_plural: bool, following: str = "") -> str:
        """Return the form for a noun of the given gender and number, before a word."""
        if gender == "f":
            return self.feminine_plural if is_plural else self.feminine
        if is_plural:
            return self.masculine_plural
        return self.liaison if causes_elision(following) else self.masculine


class FrenchNouns:
    """Writer of nouns with their determiners and adjectives."""

    def __init__(self, sections: dict[str, Section]) -> None:
        self._nouns: dict[tuple[str, bool], FrenchNoun] = {}  # by name, or of its synonym
        for name, (cell, gender, *synonym) in sections["nouns"].items():
            self._nouns[name, False] = forms = FrenchNoun.of(cell, gender)
            self._nouns[name, True] = FrenchNoun.of(*synonym[0].split()) if synonym else forms
        self._adjectives = {
            name: AdjectiveForms.of(*cells[:2]) for name, cells in sections["adjectives"].items()
        }
        self._comparatives = {
            name: AdjectiveForms.of(cells[0], "after")
            for name, cells in sections["comparatives"].items()
        }

    def forms(self, noun: Noun, synonym: bool = False) -> FrenchNoun:
        """Return the forms of a noun or of its synonym; a name is the same in all languages."""
        given = self._nouns.get((noun.name, synonym))
        return given or FrenchNoun(noun.name, noun.name, noun.gender or "m")

    def _forms_for(self, adjective: Adjective, noun: Noun | None) -> AdjectiveForms:
        """Return the forms of an adjective, which may be another for a class (*un gros chat*)."""
        kind = "" if noun is None else noun.kind
        of_class = self._adjectives.get(f"{adjective.name}:{kind}")
        return of_class or self._adjectives[adjective.name]

    def degrees(
        self, adjective: Adjective, noun: Noun | None, gender: str, is_plural: bool
    ) -> tuple[str, str]:
        """Return an adjective after *être*, said of a noun, and its comparative in one word
        (*meilleur*), if there is one."""
        plain, more = self._forms_for(adjective, noun), self._comparatives.get(adjective.name)
        comparative = "" if more is None else more.agreed(gender, is_plural)
        return plain.agreed(gender, is_plural), comparative

    def ends_in_state(self, core: Core) -> bool:
        """Return whether the last word is an adjective of what comes and goes (*mouillé*)."""
        for adjective in core.adjectives:
            forms = self._forms_for(adjective, core.noun)
            if forms.position != "before":
                passing = adjective.category == "quality" and not adjective.lasting
                return passing or forms.agreed("m", False).endswith("é")  # *doré*
        return False

    def core(self, core: Core) -> Piece:
        """Write determiner, adjectives and noun."""
        forms = self.forms(core.noun, core.synonym)
        noun = forms.plural if core.plural else forms.singular
        words: list[Word] = [(word, (NOUN,)) for word in noun.split()]
        before, joins, classed = False, False, False
        for adjective, role in reversed([*zip(core.adjectives, ADJECTIVES, strict=False)]):
            given = self._forms_for(adjective, core.noun)
            if given.position == "before" or (classed and given.position == "around"):
                form = given.agreed(forms.gender, core.plural, following=words[0][0])
                words.insert(0, (form, role))
                before = True
            else:
                words += [("et", ())] if joins else []
                words.append((given.agreed(forms.gender, core.plural), role))
                classed = adjective.category in _CLASSIFYING
                joins = not classed
        determiner = _determiner(core, forms.gender, words[0][0], before)
        return piece([*[(word, (DETERMINER,)) for word in determiner], *words])


def _determiner(core: Core, gender: str, following: str, adjective_first: bool) -> list[str]:
    name = core.determiner
    if name == "many":
        return ["beaucoup", "de"]
    before_adjective = name == "some" and core.plural and adjective_first
    if before_adjective or (core.denied and name in ("a", "some")):
        return ["de"]
    if name == "some" and not core.plural:
        return ["de", "la" if gender == "f" else "le"]
    if name not in _DETERMINERS:
        return [name] if name else []
    plain, _, liaison = _DETERMINERS[name][2 if core.plural else gender == "f"]
    return [liaison if liaison and causes_elision(following) else plain]
