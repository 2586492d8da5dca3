"""Ranked tables of the words that fit a place: verbs by subject and object, adverbs by length."""

from functools import cache

from datamodules.grammar import lexicon
from datamodules.grammar.lexicon import Adjective, Fixed, Verb
from datamodules.grammar.nominals import Lead, as_lead
from datamodules.grammar.phrase import Phrase, fixed, phrase
from datamodules.grammar.verb_groups import (
    HER,
    HIM,
    PRONOUN_SUBJECTS,
    THEM,
    Clitic,
    Subject,
)
from datamodules.grammar.zipf import Table, zipf

OWNED = ("thing", "clothes", "text", "food", "furniture", "vehicle", "animal")
"""Classes of what somebody's is said of."""

_VERBS = {
    "transitive": lexicon.TRANSITIVE,
    "intransitive": lexicon.INTRANSITIVE,
    "prepositional": lexicon.PREPOSITIONAL,
    "ditransitive": lexicon.DITRANSITIVE,
}

PRONOUNS: Table[Subject] = zipf(PRONOUN_SUBJECTS)
CLITICS: Table[Clitic] = zipf((HIM, HER, THEM["m"]))
REPORTING: Table[Verb] = zipf(lexicon.REPORTING)


@cache
def verbs(
    frame: str, subject: str, words: int = 1, past: bool = False, objects: tuple[str, ...] = ()
) -> Table[Verb]:
    """Return the verbs of ``words`` English words for a class of subject.

    ``objects`` are classes one of which the verb must accept as its object, unless empty.
    """
    fitting = [
        verb
        for verb in _VERBS[frame]
        if subject in verb.subjects
        and len(verb.english.split()) == words
        and (verb.past or not past)
        and (not objects or not set(objects).isdisjoint(verb.objects))
    ]
    return zipf(fitting)


@cache
def predicates(kind: str, degree: bool) -> Table[Adjective]:
    """Return the adjectives said of a class after *be*, only those with degrees if asked."""
    return zipf(
        [
            adjective
            for adjective in lexicon.ADJECTIVES
            if kind in adjective.kinds
            and adjective.predicative
            and (adjective.graded or not degree)
        ]
    )


@cache
def predicate(adjective: Adjective, gender: str, plural: bool, degree: Fixed | None) -> Phrase:
    """Write an adjective after *be*, with *very*, *too* or *as* before it."""
    form = adjective.agreed(gender, plural)
    if degree is None:
        return phrase([adjective.english], [(form, (0,))])
    return phrase([degree.english, adjective.english], [(degree.french, (0,)), (form, (1,))])


@cache
def places(words: int, following: tuple[str, ...]) -> Table[tuple[Lead, tuple[str, ...], int]]:
    """Return prepositions with the classes of nouns and the words left for the noun phrase."""
    return _prepositions(lexicon.PLACES, words, following)


@cache
def surroundings(words: int) -> Table[tuple[Lead, tuple[str, ...], int]]:
    """Return what may end a clause: places, and the company in which something is done."""
    both = (*lexicon.PLACES, *lexicon.COMPANY)
    return _prepositions(both, words, ("place", "landmark", "person"))


def _prepositions(
    prepositions: tuple[Fixed, ...], words: int, following: tuple[str, ...]
) -> Table[tuple[Lead, tuple[str, ...], int]]:
    fitting = []
    for preposition in prepositions:
        kinds = tuple(kind for kind in preposition.kinds if kind in following)
        left = words - len(preposition.english.split())
        if kinds and 2 <= left <= 4:
            fitting.append((as_lead(preposition), kinds, left))
    return zipf(fitting)


@cache
def times(tense: str, words: int) -> Table[Phrase]:
    """Return the adverbs of time of ``words`` English words that go with a tense."""
    return _adverbs(lexicon.TIMES[tense], words)


@cache
def here(words: int) -> Table[Phrase]:
    """Return the adverbs of place of ``words`` English words."""
    return _adverbs(lexicon.HERE, words)


def _adverbs(adverbs: tuple[Fixed, ...], words: int) -> Table[Phrase]:
    return zipf(
        [
            fixed(adverb.english, adverb.french, adverb.links)
            for adverb in adverbs
            if len(adverb.english.split()) == words
        ]
    )
