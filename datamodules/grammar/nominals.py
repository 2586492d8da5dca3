"""Nouns with their adjectives, and what stands before them: determiners, prepositions, *que*."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Literal, NamedTuple

from datamodules.grammar import english, french
from datamodules.grammar.lexicon import ADJECTIVES, NAMES, NOUNS, Adjective, Fixed, Noun, Pairs
from datamodules.grammar.phrase import Phrase, phrase, tokens
from datamodules.grammar.zipf import Table, zipf, zipf_weights

PLURAL_SHARE = 0.3


class Shape(NamedTuple):
    """What the words before a phrase have to know of it."""

    gender: str = "m"
    plural: bool = False
    following: str = "b"
    """Stands for the first French word: a consonant, a vowel, or *il* (*si* elides before it)."""
    takes_an: bool = False
    adjective_first: bool = False
    """Whether the first French word is an adjective (*des* becomes *de* before it)."""


_EITHER = (False, True)
SHAPES = tuple(
    Shape(*values) for values in product("mf", _EITHER, ("b", "a", "il"), _EITHER, _EITHER)
)
SHAPE_NUMBER = {shape: number for number, shape in enumerate(SHAPES)}


@dataclass(frozen=True, eq=False)
class NounForm:
    """A noun in one number; ``count`` says which determiners it takes."""

    noun: Noun
    plural: bool

    @cached_property
    def words(self) -> int:
        """English words, the same in both numbers."""
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
        """One of ``singular``, ``plural``, ``mass`` and ``name``."""
        if self.noun.kind == "name":
            return "name"
        if self.plural:
            return "plural"
        return "singular" if self.noun.counted else "mass"


class Nominal(NamedTuple):
    """A noun with its adjectives, without determiner; ``shape`` is its number in ``SHAPES``."""

    phrase: Phrase
    shape: int


@cache
def nominal(
    form: NounForm,
    before: Adjective | None = None,
    after: Adjective | None = None,
    owner: bool = False,
) -> Nominal:
    """Put a noun form together with adjectives; ``owner`` writes *teacher's*."""
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
    """Return the noun forms of these classes with at most so many English words.

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
    """Return the one object of a noun in one number."""
    return NounForm(noun, plural)


@cache
def adjectives(kind: str, before: bool) -> Table[Adjective]:
    """Return the adjectives that go before or after a French noun of this class."""
    return zipf([item for item in ADJECTIVES if item.before == before and kind in item.kinds])


@dataclass(frozen=True, eq=False)
class Lead:
    """What joins a noun phrase or a clause to the text before it, possibly after a comma."""

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
    """Return the preposition that a verb asks for; either side may be empty."""
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
_OWN = ("my", "his", "our", "their")

Role = Literal["free", "direct", "denied", "denied direct", "existence"]
"""Where a noun phrase stands: ``direct`` for direct objects, ``denied`` in a negated clause,
``existence`` after *there is*."""

_CHOICES = {
    ("free", "singular"): ("the", "a", "this", *_OWN, "every"),
    ("free", "plural"): ("the", "some", "these", "two", "many", "three", *_OWN, "several"),
    ("free", "mass"): ("the", "this", *_OWN),
    ("direct", "mass"): ("the", "some", "this", *_OWN),
    ("existence", "singular"): ("a",),
    ("existence", "plural"): ("some", "two", "many", "three", "several"),
    ("existence", "mass"): ("some",),
    ("denied", "singular"): ("the", "this", *_OWN),
    ("denied", "plural"): ("the", "these", *_OWN),
    ("denied direct", "singular"): ("the", "a", "this", *_OWN),
    ("denied direct", "plural"): ("the", "any", "these", *_OWN),
    ("denied direct", "mass"): ("the", "any", "this", *_OWN),
}

Prefix = tuple[Phrase, ...]
"""What stands before a phrase, for each of ``SHAPES``."""


@cache
def prefixes(lead: Lead, role: Role, count: str) -> Table[Prefix]:
    """Return the determiners of a noun phrase, each with ``lead`` before it."""
    if count == "name":
        return zipf([bare(lead)])
    names = _CHOICES.get((role, count)) or _CHOICES["free", count]
    return zipf([_prefix(lead, name, role == "denied direct") for name in names])


@cache
def bare(lead: Lead) -> Prefix:
    """Return ``lead`` alone, as it is written before each shape."""
    return _prefix(lead, "", False)


def _prefix(lead: Lead, determiner: str, denied: bool) -> Prefix:
    return tuple(_before(lead, determiner, denied, shape) for shape in SHAPES)


@cache
def silent_article() -> Prefix:
    """Return the French definite article alone, for a noun that has none in English."""
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
