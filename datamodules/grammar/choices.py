"""Ranked tables of fitting words: verbs by subject and object, adverbs by number of words."""

from functools import cache

from datamodules.grammar.lexicon import words as lexicon
from datamodules.grammar.lexicon.words import Adjective, Fixed, Verb
from datamodules.grammar.lexicon.zipf import Table, zipf
from datamodules.grammar.nominals import Lead, as_lead
from datamodules.grammar.phrase import Phrase, fixed, phrase
from datamodules.grammar.verb_groups import HER, HIM, PRONOUN_SUBJECTS, THEM, Clitic, Subject

OWNABLE = ("thing", "clothes", "text", "food", "furniture", "vehicle", "animal")
"""Classes of nouns that may have an owner (*the teacher's book*)."""

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
    """Return the verbs with ``words`` English words for a class of subjects.

    Unless ``objects`` is empty, the verb must accept at least one of these classes as its object.
    """
    matches = [
        verb
        for verb in _VERBS[frame]
        if subject in verb.subjects
        and len(verb.english.split()) == words
        and (verb.past or not past)
        and (not objects or not set(objects).isdisjoint(verb.objects))
    ]
    return zipf(matches)


@cache
def adjectives_after_be(kind: str, degree: bool) -> Table[Adjective]:
    """Return the adjectives that may follow *be* for a class of nouns.

    With ``degree``, return only adjectives that may follow *very*, *too* or *as*.
    """
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
def adjective_after_be(
    adjective: Adjective, gender: str, plural: bool, degree: Fixed | None
) -> Phrase:
    """Write an adjective after *be*; the optional ``degree`` is *very*, *too* or *as*."""
    form = adjective.agreed(gender, plural)
    if degree is None:
        return phrase([adjective.english], [(form, (0,))])
    return phrase([degree.english, adjective.english], [(degree.french, (0,)), (form, (1,))])


@cache
def place_prepositions(
    words: int, following: tuple[str, ...]
) -> Table[tuple[Lead, tuple[str, ...], int]]:
    """Return place prepositions with the noun classes and the word count of the noun phrase."""
    return _prepositions(lexicon.PLACE_PREPOSITIONS, words, following)


@cache
def adjunct_prepositions(words: int) -> Table[tuple[Lead, tuple[str, ...], int]]:
    """Return the prepositions of place and company that may stand at the end of a clause."""
    prepositions = (*lexicon.PLACE_PREPOSITIONS, *lexicon.COMPANY_PREPOSITIONS)
    return _prepositions(prepositions, words, ("place", "landmark", "person"))


def _prepositions(
    prepositions: tuple[Fixed, ...], words: int, following: tuple[str, ...]
) -> Table[tuple[Lead, tuple[str, ...], int]]:
    matches = []
    for preposition in prepositions:
        kinds = tuple(kind for kind in preposition.kinds if kind in following)
        left = words - len(preposition.english.split())
        if kinds and 2 <= left <= 4:
            matches.append((as_lead(preposition), kinds, left))
    return zipf(matches)


@cache
def time_adverbs(tense: str, words: int) -> Table[Phrase]:
    """Return the adverbs of time for a tense that have ``words`` English words."""
    return _adverbs(lexicon.TIME_ADVERBS[tense], words)


@cache
def place_adverbs(words: int) -> Table[Phrase]:
    """Return the adverbs of place that have ``words`` English words."""
    return _adverbs(lexicon.PLACE_ADVERBS, words)


def _adverbs(adverbs: tuple[Fixed, ...], words: int) -> Table[Phrase]:
    return zipf(
        [
            fixed(adverb.english, adverb.french, adverb.links)
            for adverb in adverbs
            if len(adverb.english.split()) == words
        ]
    )
