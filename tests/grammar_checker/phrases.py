"""The parts of a sentence that the English and the French reader know: phrases and clauses."""

from dataclasses import dataclass, field

from tests.grammar_checker.translation.references import Mention


@dataclass(slots=True)
class Phrase:
    """A noun phrase or pronoun."""

    text: str
    person: int = 3
    genders: str = "mf"
    plural: bool | None = False
    """None if the form does not tell the number."""
    human: str = ""
    noun: str = ""
    """The noun in the singular, ``name`` or ``town``."""
    determiner: str = ""
    pronoun: bool = False

    def persons(self) -> tuple[str, ...]:
        """Return the verb persons that agree with the phrase."""
        numbers = "sp" if self.plural is None else "p" if self.plural else "s"
        return tuple(f"{self.person}{number}" for number in numbers)


@dataclass(slots=True)
class Clause:
    """An open clause."""

    kind: str
    """``main``, ``relative``, ``complement``."""
    subject: Phrase | None = None
    gap: Phrase | None = None
    """The antecedent of an object relative, where the object is missing."""
    antecedent: Phrase | None = None
    """The noun before a relative clause."""
    verb: str = ""
    head: Phrase | None = None
    """First noun phrase since the verb or the beginning: what a relative clause can follow."""
    negated: bool = False
    direct: Phrase | None = None
    governed: Phrase | None = None
    """The last noun phrase after a preposition that the verb governs."""
    recipient: bool = False
    unclear: list[Phrase] = field(default_factory=list)
    """Clitics that are direct objects or recipients (*me*, *nous*)."""
    prepositions: set[str] = field(default_factory=set)
    place: bool = False
    quality: bool = False
    complement: bool = False
    tense: str = ""
    repeated: bool = False
    """Whether an adverb or time tells that it happens again and again."""
    adverb: bool = False
    """Whether an adverb or time has followed the verb."""
    particle: str = ""
    participle: tuple[str, str, str, bool | None] | None = None
    """Auxiliary, form, gender and number."""
    object_before: Phrase | None = None
    """A direct object before the verb, other than the antecedent."""


def mention_of(phrase: Phrase | None) -> Mention | None:
    """Return what a phrase tells about its noun; None for *I* and *we*."""
    if phrase is None or phrase.person != 3:
        return None
    ends = ("", "p") if phrase.plural is None else ("p",) if phrase.plural else ("",)
    genders = frozenset(gender + end for gender in phrase.genders for end in ends)
    return Mention(phrase.text, genders, phrase.pronoun)
