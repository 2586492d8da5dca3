"""German objects: in which case and with which preposition, and where a negation stands."""

from dataclasses import dataclass

from datamodules.grammar.languages.german.nouns import DATIVE, NOMINATIVE
from datamodules.grammar.languages.german.verbs import GermanVerb, Government
from datamodules.grammar.languages.language import OBJECT, RECIPIENT, SUBJECT, is_thing, is_whose
from datamodules.grammar.meaning.phrases import Clause, NounPhrase, Participant

_INDEFINITE = ("a", "some", "several", "many", "two", "three", "four")
"""Determiners of noun phrases that follow *nie* and *oft*; definite noun phrases go before."""
_WITHOUT_CASE = ("", "title", "two", "three", "four")
_AFTER_NOT = ("a", "some", "many")  # follow *nicht*; *nicht zwei* would deny the number
BY = Government(DATIVE, "von")  # of the agent of a passive
_NOMINATIVE, _ACCUSATIVE, _DATIVE = Government(NOMINATIVE), Government(), Government(DATIVE)


@dataclass(slots=True, eq=False)
class Complement:
    """An object, a recipient or the agent of a passive."""

    participant: Participant
    government: Government
    role: int  # what a pronoun plays


@dataclass(slots=True, eq=False)
class Complements:
    """The complements of a clause by their form, which decides their place."""

    pronouns: list[Complement]  # the accusative first
    phrases: list[Complement]  # definite ones, then datives first; agents are among them
    prepositional: list[Complement]
    adverb: int  # number of the phrase that *nicht*, *nie* or *oft* stands before
    circumstances: int  # number of the phrase that manner and place stand before
    negated: Participant | None  # the object whose determiner *kein* is the negation of the clause
    moved: list[NounPhrase]  # whose relative clause stands at the end of the clause


def complements_of(clause: Clause, forms: GermanVerb, may_deny: bool) -> Complements:
    """Return the complements of a clause whose verb has ``forms``.

    One of them ``may_deny`` the clause with *kein*, unless its verb is in a clause of its own.
    """
    pronouns: list[Complement] = []
    phrases: list[Complement] = []
    prepositional: list[Complement] = []
    for participant, government, role in _governed(clause, forms):
        if participant is None or is_whose(participant):
            continue
        complement = Complement(participant, government, role)
        if government.preposition and government is not BY:
            prepositional.append(complement)
        elif government is BY or type(participant) is NounPhrase:
            phrases.insert(0, complement)
        else:
            pronouns.append(complement)
    if len(phrases) > 1:
        phrases.sort(key=_is_indefinite)
    negated = None
    if may_deny and clause.mode.negation == "not":
        last_first = [each for each in reversed(phrases) if each.participant is not clause.subject]
        last_first += [each for each in prepositional if each.participant is clause.object]
        negated = next((each.participant for each in last_first if _may_have_kein(each)), None)
    adverb, circumstances = _places(clause, phrases) if phrases else (0, 0)
    moved = _moved(clause, phrases, prepositional, circumstances)
    return Complements(pronouns, phrases, prepositional, adverb, circumstances, negated, moved)


def _governed(
    clause: Clause, forms: GermanVerb
) -> tuple[tuple[Participant | None, Government, int], ...]:
    if clause.mode.passive:
        return ((clause.subject, BY, SUBJECT),)
    if clause.verb.frame == "inverse":
        if is_dative_first(clause):
            return ((clause.object, _NOMINATIVE, OBJECT),)
        return ((clause.subject, _DATIVE, SUBJECT),)
    governed = forms.government
    if clause.recipient is None:
        return ((clause.oblique or clause.object, governed, OBJECT),)
    to = governed if governed.preposition else _DATIVE
    return (clause.object, _ACCUSATIVE, OBJECT), (clause.recipient, to, RECIPIENT)


def is_dative_first(clause: Clause) -> bool:
    """Return whether a dative stands where others have the subject: *dem Mann fehlt sein Hund*.

    Not so where nothing shows the dative of somebody: *Anne fehlt Paul* says that he misses her,
    but *Daniel gefällt das Haus* is clear.
    """
    dative, subject = clause.subject, clause.object
    if clause.verb.frame != "inverse":
        return False
    if type(dative) is not NounPhrase or type(subject) is not NounPhrase:
        return False
    determiner = dative.core.determiner
    shown = determiner not in _WITHOUT_CASE and not determiner.isdigit()
    return shown or is_thing(subject.core.noun)


def _places(clause: Clause, phrases: list[Complement]) -> tuple[int, int]:
    """Return which phrase an adverb stands before, and which one manner and place.

    A dative that is the subject of the meaning goes before them: *sie fehlt vielen nicht*. So does
    the agent of a passive, but an adverb alone goes before it (*wurde oft vom König gesehen*).
    A definite object stands before *nie* and *oft* (*sie macht die Tür oft auf*), but not one that
    more belongs to (*sie macht oft die Tür des Hauses auf*), and two have them between. An
    indefinite object goes behind manner and place (*sie sieht im Haus einen Hund*), unless the
    clause is negated.
    """
    count, denied = len(phrases), clause.mode.negation == "not"
    if clause.mode.passive:
        return (0 if clause.manner is None else count), count
    for number, complement in enumerate(phrases):
        phrase = complement.participant
        if phrase is clause.subject:
            continue
        if not denied and _is_indefinite(complement):
            return number, number
        determiner = phrase.core.determiner if type(phrase) is NounPhrase else ""
        if determiner in _AFTER_NOT if denied else is_extended(phrase):
            return number, count
    return (1 if count > 1 and not denied else count), count


def _may_have_kein(complement: Complement) -> bool:
    phrase = complement.participant
    if type(phrase) is not NounPhrase:
        return False
    core = phrase.core
    return core.determiner == "a" or (core.denied and core.determiner == "some")


def _is_indefinite(complement: Complement) -> bool:
    """Return whether *nie* and *oft* stand before a complement."""
    phrase: Participant | None = complement.participant
    while type(phrase) is NounPhrase:
        determiner = phrase.core.determiner
        if determiner in _INDEFINITE or determiner.isdigit():
            return True
        phrase = phrase.beside
    return False


def _moved(
    clause: Clause, phrases: list[Complement], prepositional: list[Complement], circumstances: int
) -> list[NounPhrase]:
    """Return the phrases whose relative clause stands at the end of the clause.

    This is so if the relative clause holds a clause, or if only verbs and a negation follow the
    phrase.
    """
    every = [each.participant for each in phrases + prepositional]
    heavy = [each for each in every if type(each) is NounPhrase and each.relative is not None]
    if not heavy:
        return heavy
    ends_with_phrase = not prepositional and circumstances == len(phrases)
    last = None if ends_with_phrase and (clause.place or clause.manner) else every[-1]
    return [each for each in heavy if each is last or _holds_clause(each.relative)]


def _holds_clause(relative: Clause | None) -> bool:
    assert relative is not None
    participants = (relative.subject, relative.object, relative.oblique)
    return relative.complement is not None or any(
        type(each) is NounPhrase and each.relative is not None for each in participants
    )


def is_extended(phrase: Participant) -> bool:
    """Return whether a phrase has more than a noun with determiner and adjectives."""
    if type(phrase) is not NounPhrase:
        return False
    return not (phrase.attribute is phrase.relative is phrase.owner is phrase.beside is None)
