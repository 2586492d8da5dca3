"""The objects of a German clause: their cases, and what decides where they stand."""

from typing import NamedTuple

from datamodules.grammar.languages.german.nouns import DATIVE
from datamodules.grammar.languages.german.verb_groups import BARE
from datamodules.grammar.languages.german.verbs import Government, VerbForms
from datamodules.grammar.languages.language import OBJECT, RECIPIENT, SUBJECT
from datamodules.grammar.meaning.phrases import Clause, NounPhrase, Participant, Pronoun

_INDEFINITE = ("a", "some", "several", "many", "two", "three", "four")
"""Determiners of noun phrases that follow *nie* and *oft*; definite noun phrases go before."""
_AFTER_NOT = ("a", "some", "many")
"""Determiners of noun phrases that follow *nicht*; *nicht zwei* would deny the number."""


class Complements(NamedTuple):
    """The objects of a clause by their form, which decides their place."""

    pronouns: list[tuple[Pronoun, int, int]]
    """With case and role; the accusative first."""
    phrases: list[tuple[NounPhrase, int]]
    """With case; definite ones before indefinite ones, then the dative first."""
    prepositional: list[tuple[Participant, Government]]


def complements_of(clause: Clause, forms: VerbForms) -> Complements:
    """Return the objects of a clause whose verb has ``forms``."""
    governed = forms.government
    found = Complements([], [], [])
    if clause.verb.frame == "ditransitive":
        recipient = governed if governed.preposition else Government(DATIVE)
        _sort_in(found, clause.object, Government(), OBJECT)
        _sort_in(found, clause.recipient, recipient, RECIPIENT)
    elif forms.inverse:
        _sort_in(found, clause.subject, Government(DATIVE), SUBJECT)
    elif clause.gap != "object":
        _sort_in(found, clause.oblique or clause.object, governed, OBJECT)
    found.phrases.sort(key=lambda entry: is_indefinite(entry[0]))
    return found


def _sort_in(
    found: Complements, participant: Participant | None, government: Government, role: int
) -> None:
    if participant is None:
        return
    if government.preposition:
        found.prepositional.append((participant, government))
    elif isinstance(participant, NounPhrase):
        found.phrases.insert(0, (participant, government.case))
    else:
        found.pronouns.append((participant, government.case, role))


def negated_object(clause: Clause, complements: Complements) -> Participant | None:
    """Return the object whose determiner *kein* is the negation of the clause, if there is one."""
    mode = clause.mode
    if mode.negation != "not" or not (mode.modal is None or mode.modal.name in BARE):
        return None
    last_first = [
        phrase for phrase, _ in reversed(complements.phrases) if phrase is not clause.subject
    ]
    governed = [each for each, _ in complements.prepositional if each is clause.object]
    return next((each for each in (*last_first, *governed) if _may_have_kein(each)), None)


def _may_have_kein(participant: Participant | None) -> bool:
    if not isinstance(participant, NounPhrase):
        return False
    core = participant.core
    return core.determiner == "a" or (core.denied and core.determiner == "some")


def is_indefinite(phrase: NounPhrase) -> bool:
    """Return whether *nie* and *oft* stand before a noun phrase."""
    determiner = phrase.core.determiner
    return determiner in _INDEFINITE or determiner.isdigit()


def follows_adverb(phrase: NounPhrase, clause: Clause) -> bool:
    """Return whether *nicht*, *nie* or *oft* stands before an object.

    A dative that is the subject of the meaning goes before them: *die Kinder fehlen vielen nicht*.
    """
    if phrase is clause.subject:
        return False
    if clause.mode.negation == "not":
        return phrase.core.determiner in _AFTER_NOT
    return is_indefinite(phrase)


def is_heavy(relative: Clause) -> bool:
    """Return whether a relative clause holds a clause, and so moves behind the verb."""
    participants = (relative.subject, relative.object, relative.oblique)
    return relative.complement is not None or any(
        isinstance(each, NounPhrase) and each.relative is not None for each in participants
    )
