"""German objects: in which case and with which preposition, and where a negation stands."""

from typing import NamedTuple

from datamodules.grammar.languages.german.nouns import DATIVE
from datamodules.grammar.languages.german.verbs import BARE, GermanVerb, Government
from datamodules.grammar.languages.language import OBJECT, RECIPIENT, SUBJECT
from datamodules.grammar.meaning.phrases import Clause, NounPhrase, Participant

_INDEFINITE = ("a", "some", "several", "many", "two", "three", "four")
"""Determiners of noun phrases that follow *nie* and *oft*; definite noun phrases go before."""
_AFTER_NOT = ("a", "some", "many")  # follow *nicht*; *nicht zwei* would deny the number
BY = Government(DATIVE, "von")  # of the agent of a passive
_DATIVE, _ACCUSATIVE = Government(DATIVE), Government()


class Complement(NamedTuple):
    """An object, a recipient or the agent of a passive."""

    participant: Participant
    government: Government
    role: int  # what a pronoun plays


class Complements(NamedTuple):
    """The complements of a clause by their form, which decides their place."""

    pronouns: list[Complement]  # the accusative first
    phrases: list[Complement]  # definite ones, then datives first; agents are among them
    prepositional: list[Complement]


def complements_of(clause: Clause, forms: GermanVerb) -> Complements:
    """Return the complements of a clause whose verb has ``forms``."""
    governed = forms.government
    found = Complements([], [], [])
    if clause.mode.passive:
        _sort_in(found, clause.subject, BY, SUBJECT)
    elif clause.verb.frame == "ditransitive":
        _sort_in(found, clause.object, _ACCUSATIVE, OBJECT)
        _sort_in(found, clause.recipient, governed if governed.preposition else _DATIVE, RECIPIENT)
        found.phrases.sort(key=_is_indefinite)
    elif forms.inverse:
        _sort_in(found, clause.subject, _DATIVE, SUBJECT)
    else:
        _sort_in(found, clause.oblique or clause.object, governed, OBJECT)
    return found


def _sort_in(
    found: Complements, participant: Participant | None, government: Government, role: int
) -> None:
    if participant is None or is_whose(participant):
        return
    complement = Complement(participant, government, role)
    if government is BY:
        found.phrases.append(complement)
    elif government.preposition:
        found.prepositional.append(complement)
    elif isinstance(participant, NounPhrase):
        found.phrases.insert(0, complement)
    else:
        found.pronouns.append(complement)


def is_whose(participant: Participant | None) -> bool:
    """Return whether a phrase is what *whose* owns: it begins the relative clause."""
    return isinstance(participant, NounPhrase) and participant.core.determiner == "whose"


def negated_object(clause: Clause, complements: Complements) -> Participant | None:
    """Return the object whose determiner *kein* is the negation of the clause, if there is one."""
    mode = clause.mode
    if mode.negation != "not" or not (mode.modal is None or mode.modal.name in BARE):
        return None
    phrases = [each.participant for each in reversed(complements.phrases)]
    last_first = [each for each in phrases if each is not clause.subject]
    governed = [each.participant for each in complements.prepositional]
    last_first += [each for each in governed if each is clause.object]
    return next((each for each in last_first if _may_have_kein(each)), None)


def _may_have_kein(participant: Participant) -> bool:
    if not isinstance(participant, NounPhrase):
        return False
    core = participant.core
    return core.determiner == "a" or (core.denied and core.determiner == "some")


def _is_indefinite(complement: Complement) -> bool:
    """Return whether *nie* and *oft* stand before a complement."""
    phrase = complement.participant
    if not isinstance(phrase, NounPhrase):
        return False
    determiner = phrase.core.determiner
    return determiner in _INDEFINITE or determiner.isdigit()


def place_of_adverb(clause: Clause, phrases: list[Complement]) -> int:
    """Return the number of the phrase that *nicht*, *nie* or *oft* stands before.

    A dative that is the subject of the meaning goes before them: *die Kinder fehlen vielen nicht*.
    Two definite objects have *nie* and *oft* between them.
    """
    denied = clause.mode.negation == "not"
    for number, complement in enumerate(phrases):
        phrase = complement.participant
        if phrase is clause.subject and not clause.mode.passive:
            continue
        if denied:
            if isinstance(phrase, NounPhrase) and phrase.core.determiner in _AFTER_NOT:
                return number
        elif _is_indefinite(complement):
            return number
    return 1 if len(phrases) > 1 and not denied else len(phrases)


def moved_relatives(clause: Clause, found: Complements, bracketed: bool) -> list[NounPhrase]:
    """Return the phrases whose relative clause stands behind the verbs.

    This is so if the relative clause holds a clause, or if nothing else but a negation stands
    between the phrase and verbs at the end of a ``bracketed`` clause.
    """
    every = [each.participant for each in (*found.phrases, *found.prepositional)]
    last = every[-1] if every and bracketed else None
    if not found.prepositional and (clause.place or clause.manner or clause.adjective):
        last = None
    return [
        phrase
        for phrase in every
        if isinstance(phrase, NounPhrase)
        and phrase.relative is not None
        and (phrase is last or _holds_clause(phrase.relative))
    ]


def _holds_clause(relative: Clause) -> bool:
    participants = (relative.subject, relative.object, relative.oblique)
    return relative.complement is not None or any(
        isinstance(each, NounPhrase) and each.relative is not None for each in participants
    )


def is_extended(phrase: NounPhrase) -> bool:
    """Return whether a phrase has more than a noun with determiner and adjectives."""
    return not (phrase.attribute is phrase.relative is phrase.owner is phrase.beside is None)
