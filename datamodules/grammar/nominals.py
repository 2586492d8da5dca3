"""Nouns with their adjectives, and the words before: determiners, prepositions, *que*."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Literal, NamedTuple

from datamodules.grammar.languages import english, french
from datamodules.grammar.lexicon.words import (
    ADJECTIVES,
    NAMES,
    NOUNS,
    Adjective,
    Fixed,
    Noun,
    Pairs,
)
from datamodules.grammar.lexicon.zipf import Table, zipf, zipf_weights
from datamodules.grammar.phrase import Phrase, phrase, tokens

PLURAL_SHARE = 0.3


class Shape(NamedTuple):
    """Properties of a phrase that decide the form of the words before the phrase."""

    gender: str = "m"
    plural: bool = False
    following: str = "b"
    """Start of the phrase in French: ``b`` for a consonant, ``a`` for a vowel, or ``il``, before
    which *si* elides."""
    takes_an: bool = False
    """Whether the English article before the phrase is *an*."""
    adjective_first: bool = False
    """Whether the first French word is an adjective, before which *des* becomes *de*."""


_BOOLS = (False, True)
SHAPES = tuple(Shape(*values) for values in product("mf", _BOOLS, ("b", "a", "il"), _BOOLS, _BOOLS))
SHAPE_NUMBER = {shape: number for number, shape in enumerate(SHAPES)}


@dataclass(frozen=True, eq=False)
class NounForm:
    """A noun in the singular or the plural."""

    noun: Noun
    plural: bool

    @cached_property
    def words(self) -> int:
        """Number of English words, equal in the singular and the plural."""
        return len(self.noun.english.split())

    @property
    def english(self) -> str:
        """English form."""
        return self.noun.english_plural if self.plural else self.noun.english

    @property
    def french(self) -> str:
        """French form."""
        return self.noun.french_plural if self.plural else self.noun.french

    @cached_property
    def count(self) -> str:
        """``singular``, ``plural``, ``mass`` or ``name``; decides the possible determiners."""
        if self.noun.kind == "name":
            return "name"
        if self.plural:
            return "plural"
        return "singular" if self.noun.counted else "mass"


class Nominal(NamedTuple):
    """A noun with its adjectives, without determiner; ``shape`` is an index in ``SHAPES``."""

    phrase: Phrase
    shape: int


@cache
def nominal(
    form: NounForm,
    before: Adjective | None = None,
    after: Adjective | None = None,
    owner: bool = False,
) -> Nominal:
    """Combine a noun form with adjectives; with ``owner``, add *'s* (*teacher's*)."""
    noun = form.noun
    adjectives = [adjective for adjective in (before, after) if adjective is not None]
    head = len(adjectives)
    source = [adjective.english for adjective in adjectives] + form.english.split()
    target = tokens(form.french, noun.links, head)
    if before is not None:
        liaison = (noun.gender, form.plural) == ("m", False) and french.starts_with_vowel(
            form.french
        )
        text = before.liaison if liaison else before.agreed(noun.gender, form.plural)
        target.insert(0, (text, (0,)))
    if after is not None:
        target.append((after.agreed(noun.gender, form.plural), (head - 1,)))
    if owner:
        source[-1] += "'s"
    shape = Shape(
        noun.gender,
        form.plural,
        "a" if french.starts_with_vowel(target[0][0]) else "b",
        english.takes_an(source[0]),
        before is not None,
    )
    return Nominal(phrase(source, target), SHAPE_NUMBER[shape])


@cache
def noun_forms(kinds: tuple[str, ...], most_words: int) -> Table[NounForm]:
    """Return the noun forms of the classes ``kinds`` with at most ``most_words`` English words.

    Nouns follow Zipf's law within their class.
    """
    forms, weights = [], []
    for kind in kinds:
        nouns = [noun for noun in NOUNS + NAMES if noun.kind == kind]
        for noun, weight in zip(nouns, zipf_weights(len(nouns)), strict=True):
            if len(noun.english.split()) <= most_words:
                forms.append(noun_form(noun, False))
                weights.append(weight * (1 - PLURAL_SHARE) if noun.counted else weight)
                if noun.counted:
                    forms.append(noun_form(noun, True))
                    weights.append(weight * PLURAL_SHARE)
    return Table(forms, weights)


@cache
def noun_form(noun: Noun, plural: bool) -> NounForm:
    """Return the cached ``NounForm`` of a noun in the singular or the plural."""
    return NounForm(noun, plural)


@cache
def adjectives(kind: str, before: bool) -> Table[Adjective]:
    """Return the adjectives that stand before, or after, a French noun of the class ``kind``."""
    return zipf([item for item in ADJECTIVES if item.before == before and kind in item.kinds])


@dataclass(frozen=True, eq=False)
class Lead:
    """The words that join a phrase or clause to the text before, optionally after a comma."""

    english: str = ""
    french: str = ""
    links: Pairs = ()
    comma: bool = False


@cache
def as_lead(item: Fixed) -> Lead:
    """Return a preposition as the lead of a noun phrase."""
    return Lead(item.english, item.french, item.links)


@cache
def preposition(english_: str, french_: str) -> Lead:
    """Return the preposition that a verb requires; either language may have none."""
    return Lead(english_, french_, ((0, 0),)) if french_ else NO_LEAD


NO_LEAD = Lead()

# French forms: masculine, feminine, plural; the form before a vowel after a slash.
_DETERMINERS = {
    "the": "le la les",
    "a": "un une",
    "this": "ce/cet cette",
    "these": "- - ces",
    "my": "mon ma/mon mes",
    "his": "son sa/son ses",
    "our": "notre notre nos",
    "their": "leur leur leurs",
    "every": "chaque chaque",
    "some": "- - des",
    "two": "- - deux",
    "three": "- - trois",
    "several": "- - plusieurs",
}
_POSSESSIVES = ("my", "his", "our", "their")

Role = Literal["free", "direct", "denied", "denied direct", "existence"]
"""Position of a noun phrase: ``direct`` for direct objects, ``denied`` in a negated clause,
``existence`` after *there is*."""

_CHOICES = {
    ("free", "singular"): ("the", "a", "this", *_POSSESSIVES, "every"),
    ("free", "plural"): ("the", "some", "these", "two", "many", "three", *_POSSESSIVES, "several"),
    ("free", "mass"): ("the", "this", *_POSSESSIVES),
    ("direct", "mass"): ("the", "some", "this", *_POSSESSIVES),
    ("existence", "singular"): ("a",),
    ("existence", "plural"): ("some", "two", "many", "three", "several"),
    ("existence", "mass"): ("some",),
    ("denied", "singular"): ("the", "this", *_POSSESSIVES),
    ("denied", "plural"): ("the", "these", *_POSSESSIVES),
    ("denied direct", "singular"): ("the", "a", "this", *_POSSESSIVES),
    ("denied direct", "plural"): ("the", "any", "these", *_POSSESSIVES),
    ("denied direct", "mass"): ("the", "any", "this", *_POSSESSIVES),
}

Prefix = tuple[Phrase, ...]
"""The words before a phrase, for each shape in ``SHAPES``."""


@cache
def prefixes(lead: Lead, role: Role, count: str) -> Table[Prefix]:
    """Return the determiners of a noun phrase, with ``lead`` before each determiner."""
    if count == "name":
        return zipf([bare(lead)])
    names = _CHOICES.get((role, count)) or _CHOICES["free", count]
    return zipf([_prefix(lead, name, role == "denied direct") for name in names])


@cache
def bare(lead: Lead) -> Prefix:
    """Return the form of ``lead`` before each shape, without determiner."""
    return _prefix(lead, "", False)


def _prefix(lead: Lead, determiner: str, denied: bool) -> Prefix:
    return tuple(_before(lead, determiner, denied, shape) for shape in SHAPES)


@cache
def silent_article() -> Prefix:
    """Return the French definite article, for a noun without article in English."""
    return tuple(
        phrase([], [(_french("the", False, shape)[0], ())], shape.following) for shape in SHAPES
    )


def _before(lead: Lead, determiner: str, denied: bool, shape: Shape) -> Phrase:
    source = lead.english.split()
    target = tokens(lead.french, lead.links)
    if determiner:
        target += [(word, (len(source),)) for word in _french(determiner, denied, shape)]
        source.append("an" if determiner == "a" and shape.takes_an else determiner)
    written = phrase(source, target, shape.following)
    if lead.comma:
        return written._replace(english=", " + written.english, french=", " + written.french)
    return written


def _french(determiner: str, denied: bool, shape: Shape) -> Sequence[str]:
    if determiner == "any" or (determiner == "a" and denied):
        return ["de"]
    if determiner == "many":
        return ["beaucoup", "de"]
    if determiner == "some" and shape.plural and shape.adjective_first:
        return ["de"]
    if determiner == "some" and not shape.plural:
        return ["de", _french("the", denied, shape)[0]]
    forms = (_DETERMINERS[determiner] + " - -").split()
    form = forms[2] if shape.plural else forms[shape.gender == "f"]
    plain, _, liaison = form.partition("/")
    return [liaison if liaison and shape.following != "b" else plain]
