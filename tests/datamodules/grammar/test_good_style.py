"""What no sentence says, because a language has another word for it, or a strange meaning."""

from collections.abc import Iterator
from functools import cache

import pytest

from datamodules.grammar.drawing.noun_phrases import kind_of
from datamodules.grammar.languages.language import subject_of
from datamodules.grammar.meaning.phrases import HUMAN, Adverbial, Clause, NounPhrase, inner_clauses
from datamodules.grammar.pairs import SentencePair
from tests.datamodules.grammar.samples import pairs


@cache
def drawn() -> list[SentencePair]:
    return pairs(4000, 20, vocabulary=2000, zipf=0.3)


def clauses() -> Iterator[Clause]:
    for pair in drawn():
        for joined in pair.meaning:
            yield from inner_clauses(joined.clause)


def phrases(clause: Clause) -> Iterator[NounPhrase]:
    for phrase in (clause.subject, clause.object, clause.oblique, clause.recipient):
        if isinstance(phrase, NounPhrase):
            yield phrase


@pytest.mark.long
def test_a_nationality_is_no_quality_of_a_person():
    """*Ich war französisch* is no German: *Franzose*."""
    of_things = 0
    for clause in clauses():
        if clause.adjective is not None and clause.adjective.category == "origin":
            assert kind_of(subject_of(clause)) not in HUMAN
            of_things += 1
    assert of_things > 20


def test_pretty_and_light_stand_alone():
    """*A pretty big house* is a rather big house."""
    alone = 0
    for clause in clauses():
        for phrase in phrases(clause):
            names = {adjective.name for adjective in phrase.core.adjectives}
            if names & {"pretty", "light"}:
                assert len(names) == 1
                alone += 1
    assert alone > 5


def test_places_of_adjectives():
    """*Sick*, not *ill*, stands before a noun; new things are *neuf*, not *nouveau*, after *be*."""
    before = {each.name for one in clauses() for p in phrases(one) for each in p.core.adjectives}
    after_be = {clause.adjective.name for clause in clauses() if clause.adjective is not None}
    assert "ill" in after_be - before
    assert "new" in before - after_be


def test_sooner_or_later_is_not_denied():
    affirmed = 0
    for clause in clauses():
        if isinstance(clause.time, Adverbial) and "affirmed" in clause.time.expression.kinds:
            assert not clause.mode.negation
            affirmed += 1
    assert affirmed > 20


def test_no_adverb_stands_beside_another():
    """*Il mangeait rarement lentement*: two words in *-ment* side by side."""
    often = [clause for clause in clauses() if clause.mode.adverb is not None]
    assert len(often) > 100
    assert not any(clause.manner or clause.degree for clause in often)
