"""The parts of a German clause that has been read to its end, and what comes of them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tests.tools.grammar_checker.german.items import Item
from tests.tools.grammar_checker.german.phrases import NAMES, Reading, Tally, noun_of
from tests.tools.grammar_checker.german.verbs import Group
from tests.tools.grammar_checker.german.words import WORDS
from tests.tools.grammar_checker.translation import Mention, Roles


class Parts(NamedTuple):
    """A clause that has been read to its end."""

    items: tuple[Item, ...]
    group: Group
    gap: Item | None = None  # the relative pronoun, or the word that asks
    subject: Reading | None = None
    """The subject, if it is not written: of an infinitive, and behind *und* and *aber*."""
    front: int = 0  # number of items before the finite verb of a main clause
    is_main: bool = False
    infinitive: "Result | None" = None
    that: "Result | None" = None

    @property
    def owned(self) -> bool:
        """Whether the clause begins with what the antecedent owns (*dessen Hund*)."""
        return self.gap is not None and self.gap.kind == "owner"

    @property
    def governed(self) -> bool:
        """Whether a preposition stands before the relative pronoun."""
        return self.gap is not None and bool(self.gap.preposition)


class Result(NamedTuple):
    """A clause in which all is right."""

    gender: str  # what the antecedent must be; empty for other clauses
    person: str  # of the subject
    tally: Tally
    roles: Roles
    verb: str  # the verb that has the objects
    use: str
    """What the antecedent is in the clause: ``subject``, ``object``, ``owner`` or ``place``."""
    tense: str  # ``perfect`` for a past with an auxiliary


def main_verb(parts: Parts) -> str:
    """Return the verb that has the objects, which may stand in an infinitive clause."""
    return parts.group.lowest if parts.infinitive is None else parts.infinitive.verb


INVERSE = frozenset(("fehlen", "gefallen", "missfallen"))
"""Verbs whose dative is the subject in English (*das Haus gefällt mir*: I like it)."""


def roles_of(
    parts: Parts, subject: Reading, objects: Sequence[Reading], governed: Iterable[Reading]
) -> Roles:
    """Return the roles in one reading of a clause.

    Args:
        parts: the clause.
        subject: reading of the subject.
        objects: readings of the objects without a preposition.
        governed: readings of the object with a preposition.
    """
    by_case = {reading.case: [reading] for reading in objects}
    dative = _mention(by_case.get("d", ()))
    first = _with_possessive(_mention([subject]), [*objects, *governed])
    if parts.infinitive is not None:
        return Roles(first, parts.infinitive.roles.object)
    if parts.group.lowest in INVERSE:
        return Roles(dative, first)
    return Roles(first, _mention(by_case.get("a", ())) or dative or _mention(governed))


def _with_possessive(subject: Mention | None, objects: Iterable[Reading]) -> Mention | None:
    """Return the subject; for *Mädchen*, a possessive settles whether *sie* or *es* may follow.

    Not one of a relative clause, which may be somebody else's.
    """
    if subject is None or subject.noun != "Mädchen" or "p" in subject.genders:
        return subject
    simple = (each for each in objects if all(kind != "attached" for kind, *_ in each.tally))
    owners = {word for each in simple for kind, word, *_ in each.tally if kind == "determiner"}
    genders = "f" if "ihr" in owners else "nx" if "his" in owners else "nfx"
    return subject._replace(genders=frozenset(genders))


def governed_nouns(parts: Parts, readings: Iterable[Reading]) -> Tally:
    """Return the nouns that are subject, object or agent, with their verb."""
    verb = main_verb(parts)
    nouns = (noun for each in readings for noun in (noun_of(each), each.beside))
    return tuple(("governed", verb, noun) for noun in nouns if noun)


def _mention(readings: Iterable[Reading]) -> Mention | None:
    third = [reading for reading in readings if reading.person in ("3s", "3p")]
    if not third:
        return None
    pronoun = third[0].tally[:1] == (("person", "3"),)
    genders = {gender for reading in third for gender in reading.gender}
    noun = noun_of(third[0])
    if not pronoun:
        genders |= _by_class(third[0], genders)
    return Mention(noun or "the pronoun", frozenset(genders), pronoun, noun)


def _by_class(reading: Reading, genders: set[str]) -> set[str]:
    """Return the marks of pronouns that fit a noun of its class.

    Capitals stand for *darauf*, which fits no person; ``x`` for *es* after a preposition, which
    fits nothing else.
    """
    name = next((word for kind, word, *_ in reading.tally if kind == "name"), "")
    noun = noun_of(reading)
    if noun in WORDS.persons or (not noun and name in NAMES):
        return {"x"} if "n" in genders else set()
    return {gender.upper() for gender in genders}
