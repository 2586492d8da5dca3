"""Links between the words of a pair."""

from collections.abc import Iterator

import pytest

from datamodules.grammar.meaning.phrases import Adverbial, Clause, NounPhrase, inner_clauses
from tests.datamodules.grammar.samples import DIRECTIONS, Link, meanings, pairs, parsed_links

AUXILIARIES = {
    "a", "ont", "avons", "ai", "est", "sont", "hat", "haben", "habe", "ist", "sind", "bin",
}  # fmt: skip


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_links_lie_inside_their_sentences_and_are_sorted(source, target):
    for pair in pairs(300, 20, source, target) + pairs(80, 60, source, target):
        links: list[Link] = parsed_links(pair.links)
        assert [link[:2] for link in links] == sorted({link[:2] for link in links})
        words = len(pair.source.split()), len(pair.target.split())
        assert all(i < words[0] and j < words[1] for i, j, _ in links)


@pytest.mark.parametrize("target", ["fr", "de"])
def test_almost_every_word_is_linked_and_surely(target):
    """Without words that one language adds, only articles and prepositions may lack a link.

    Auxiliaries of a past that English has in one word are linked possibly.
    """
    linked = sure = words = auxiliaries = 0
    for pair in pairs(500, 15, target=target, verbosity=0):
        links = parsed_links(pair.links)
        linked += len({j for _, j, _ in links})
        sure += len({j for _, j, is_sure in links if is_sure})
        words += pair.target_words
        auxiliaries += sum(word.strip(",.?") in AUXILIARIES for word in pair.target.split())
    assert linked / words > 0.97
    assert sure / (words - auxiliaries) > 0.95


@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("en", "de"), ("fr", "de")])
def test_roles_round_trip(source, target):
    """Words of one language that link to the same word of the other play its role: both ways."""
    there, back = pairs(300, 20, source, target), pairs(300, 20, target, source)
    for pair, turned in zip(there, back, strict=True):
        assert (pair.source, pair.target) == (turned.target, turned.source)
        links = sorted((j, i, sure) for i, j, sure in parsed_links(pair.links))
        assert links == parsed_links(turned.links)


def clauses() -> Iterator[Clause]:
    for meaning in meanings(4000, 20, vocabulary=2000, zipf=0.3):
        for joined in meaning:
            yield from inner_clauses(joined.clause)


def phrases(of: Clause) -> Iterator[NounPhrase]:
    for part in (of.subject, of.object, of.oblique, of.recipient):
        if isinstance(part, NounPhrase):
            yield part


@pytest.mark.long
def test_a_nationality_is_no_quality_of_a_person():
    """*Ich war französisch* is no German: *Franzose*."""
    qualities = {each.adjective.name for each in clauses() if each.adjective is not None}
    assert len(qualities) > 10
    assert not qualities & {"French", "English", "German"}


def test_pretty_and_light_stand_alone():
    """*A pretty big house* is a rather big house."""
    alone = 0
    for each in clauses():
        for part in phrases(each):
            names = {adjective.name for adjective in part.core.adjectives}
            if names & {"pretty", "light"}:
                assert len(names) == 1
                alone += 1
    assert alone > 3


def test_places_of_adjectives():
    """*Sick*, not *ill*, stands before a noun; new things are *neuf*, not *nouveau*, after *be*."""
    before = {each.name for one in clauses() for p in phrases(one) for each in p.core.adjectives}
    after_be = {clause.adjective.name for clause in clauses() if clause.adjective is not None}
    assert "ill" not in before
    assert "new" in before - after_be


def test_sooner_or_later_is_not_denied():
    affirmed = 0
    for each in clauses():
        if isinstance(each.time, Adverbial) and "affirmed" in each.time.expression.kinds:
            assert not each.mode.negation
            affirmed += 1
    assert affirmed > 5


def test_no_adverb_stands_beside_another():
    """*Il mangeait rarement lentement*: two words in *-ment* side by side."""
    often = [clause for clause in clauses() if clause.mode.adverb is not None]
    assert len(often) > 100
    assert not any(clause.manner or clause.degree for clause in often)
