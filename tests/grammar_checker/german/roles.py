"""Subject and object of a German clause, as English has them."""

from collections.abc import Iterable, Sequence

from tests.grammar_checker.german.parts import Parts, main_verb
from tests.grammar_checker.german.phrases import Reading, Tally
from tests.grammar_checker.translation.references import Mention, Roles

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
    if parts.infinitive is not None:
        return Roles(_mention([subject]), parts.infinitive.roles.object)
    if parts.group.lowest in INVERSE:
        return Roles(dative, _mention([subject]))
    return Roles(
        _mention([subject]), _mention(by_case.get("a", ())) or dative or _mention(governed)
    )


def governed_nouns(parts: Parts, roles: Roles) -> Tally:
    """Return the nouns that are subject and object, with their verb."""
    verb = main_verb(parts)
    # The infinitive has the object among its own nouns.
    nouns = roles if parts.infinitive is None else roles[:1]
    return tuple(("governed", verb, each.noun) for each in nouns if each is not None and each.noun)


def _mention(readings: Iterable[Reading]) -> Mention | None:
    third = [reading for reading in readings if reading.person in ("3s", "3p")]
    if not third:
        return None
    genders = frozenset(gender for reading in third for gender in reading.gender)
    pronoun = third[0].tally[:1] == (("person", "3"),)
    noun = next((word for kind, word, *_ in third[0].tally if kind == "noun"), "")
    return Mention(noun or "the pronoun", genders, pronoun, noun)
