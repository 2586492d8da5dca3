"""Links between the words of a pair."""

from collections.abc import Iterator
from functools import cache

import pytest

from datamodules.grammar.languages import find_language
from datamodules.grammar.meaning.phrases import (
    FIRST_SINGULAR,
    THIRD_SINGULAR,
    Adverbial,
    Clause,
    Core,
    Expression,
    Joined,
    Mode,
    Noun,
    NounPhrase,
    Pronoun,
    Verb,
    inner_clauses,
)
from datamodules.grammar.pairs import SentencePair, write_pair
from tests.datamodules.grammar.meanings import (
    ADJECTIVES,
    HE,
    HOUSE,
    ME,
    ON,
    SHE,
    SLEEP,
    clause,
    compared,
    condition,
    phrase,
    saying,
    seen,
    shared,
    sold,
    two,
)
from tests.datamodules.grammar.samples import Link, pairs, parsed_links, split


def text_of(line: str) -> dict[tuple[int, int], bool]:
    return {(i, j): sure for i, j, sure in parsed_links(line)}


DIRECTIONS = [("en", "fr"), ("fr", "en"), ("en", "de"), ("de", "en"), ("de", "fr"), ("fr", "de")]


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_links_lie_inside_their_sentences_and_are_sorted(source, target):
    text = split("test", source, target)
    assert text.alignments is not None
    for read, written, line in zip(text.source, text.target, text.alignments, strict=True):
        links: list[Link] = parsed_links(line)
        assert [link[:2] for link in links] == sorted({link[:2] for link in links})
        assert all(i < len(read.split()) and j < len(written.split()) for i, j, _ in links)


@pytest.mark.parametrize("target", ["fr", "de"])
def test_almost_every_word_is_linked_and_surely(target):
    """Without words that one language adds, only articles and prepositions may lack a link."""
    linked = sure = words = 0
    for pair in pairs(500, 15, target=target, verbosity=0):
        links = parsed_links(pair.links)
        linked += len({j for _, j, _ in links})
        sure += len({j for _, j, is_sure in links if is_sure})
        words += pair.target_words
    assert linked / words > 0.97
    assert sure / words > 0.92


@pytest.mark.parametrize(("source", "target"), [("en", "fr"), ("en", "de"), ("fr", "de")])
def test_roles_round_trip(source, target):
    """Words of one language that link to the same word of the other play its role: both ways."""
    there, back = pairs(300, 20, source, target), pairs(300, 20, target, source)
    for pair, turned in zip(there, back, strict=True):
        assert (pair.source, pair.target) == (turned.target, turned.source)
        links = sorted((j, i, sure) for i, j, sure in parsed_links(pair.links))
        assert links == parsed_links(turned.links)


CAT = Noun("cat", "animal")
EAT = Verb("eat:transitive", "transitive", ("animal",), ("food",))
CHEESE = Noun("cheese", "food", counted=False)


def links_of(clause: Clause) -> tuple[str, str, str]:
    pair = write_pair([Joined(clause)], find_language("en"), find_language("fr"))
    return pair.source, pair.target, pair.links


@pytest.mark.parametrize(
    ("mode", "english", "french", "links"),
    [
        (Mode("present"), "The cat eats the cheese.", "Le chat mange le fromage.",
         "0-0 1-1 2-2 3-3 4-4"),
        # The auxiliary only helps; so does "did".
        (Mode("past"), "The cat ate the cheese.", "Le chat a mangé le fromage.",
         "0-0 1-1 2?2 2-3 3-4 4-5"),
        (Mode("past", "not"), "The cat did not eat the cheese.",
         "Le chat n'a pas mangé le fromage.",
         "0-0 1-1 2?2 3-2 3-3 4-4 5-5 6-6"),
        (Mode("past", "never", habit=True), "The cat never ate the cheese.",
         "Le chat ne mangeait jamais le fromage.", "0-0 1-1 2-2 2-4 3-3 4-5 5-6"),
        (Mode("future"), "The cat will eat the cheese.", "Le chat mangera le fromage.",
         "0-0 1-1 2?2 3-2 4-3 5-4"),
    ],
)  # fmt: skip
def test_sure_and_possible_links(mode, english, french, links):
    clause = Clause(3, EAT, mode, NounPhrase(1, Core(CAT, False, "the")))
    clause.object = NounPhrase(2, Core(CHEESE, False, "the"))
    assert links_of(clause) == (english, french, links)


@pytest.mark.parametrize(
    ("built", "source", "target", "links"),
    [
        # A preposition that the verb governs is linked to one of the other language, or not at all.
        ([clause(HE, "count", oblique=two("the man", "the king"), **ON)],
         "He counts on the man and the king.", "Il compte sur l'homme et le roi.",
         "0-0 1-1 2-2 3-3 4-3 5-4 6-5 7-6"),
        ([clause(HE, "obey", oblique=phrase("the king"), **ON)],
         "He obeys the king.", "Il obéit au roi.", "0-0 1-1 2-2 3-3"),
        ([clause(HE, "wait for", object=phrase("the bus"))],
         "He waits for the bus.", "Il attend l'autobus.", "0-0 1-1 3-2 4-2"),
        ([seen("the bed", "oblique", "sleep", subject=HE, **ON)],
         "I see the bed that he sleeps on.", "Je vois le lit sur lequel il dort.",
         "0-0 1-1 2-2 3-3 4-5 5-6 6-7 7-4"),
        ([clause(HE, "think", oblique=HOUSE, **ON)],
         "He thinks of it.", "Il y pense.", "0-0 1-2 2-1 3-1"),
        ([clause(HE, "give", object=phrase("a book"), recipient=two("the man", "the king"),
                 frame="ditransitive")],
         "He gives a book to the man and the king.", "Il donne un livre à l'homme et au roi.",
         "0-0 1-1 2-2 3-3 4-4 4-7 5-5 6-5 7-6 8-7 9-8"),
        # No preposition of the verb: what is an English subject has *à* in French.
        ([clause(phrase("the king"), "like", object=phrase("the book"), frame="inverse")],
         "The king likes the book.", "Le livre plaît au roi.", "0-3 1-4 2-2 3-0 4-1"),
        ([seen("the man", "owner", "sleep", subject=phrase("whose dog"), **SLEEP)],
         "I see the man whose dog sleeps.", "Je vois l'homme dont le chien dort.",
         "0-0 1-1 2-2 3-2 4-3 5-5 6-6"),
        ([clause(ME, "see", "past", object=HOUSE, place=saying("there"))],
         "I saw it there.", "Je l'y ai vue.", "0-0 1?2 1-3 2-1 3-1"),
        (shared(clause(ME, "buy", object=phrase("the house")), "sell", object=HOUSE),
         "I buy the house and sell it.", "J'achète la maison et la vends.",
         "0-0 1-0 2-1 3-2 4-3 5-5 6-4"),
        (condition(clause(HE, "be", "supposed", adjective=ADJECTIVES["ill"]),
                   clause(HE, "sleep", "unreal", **SLEEP)),
         "If he were ill, he would sleep.", "S'il était malade, il dormirait.",
         "0-0 1-0 2-1 3-2 4-3 5?4 6-4"),
        ([sold(Mode("past"), phrase("the man"))],
         "The house was sold by the man.", "La maison a été vendue par l'homme.",
         "0-0 1-1 2?2 2-3 3-4 4-5 5-6 6-6"),
        ([clause(HE, "see", Mode("perfect", "never"), object=SHE)],
         "He has never seen her.", "Il ne l'a jamais vue.", "0-0 1-2 2-1 2-3 3-4 4-2"),
        ([clause(HE, "see", question="what")],
         "What does he see?", "Qu'est-ce qu'il voit?", "0-0 1?0 1?1 1?2 2-1 3-2"),
        ([clause(HE, "work", "future", question="where", **SLEEP)],
         "Where will he work?", "Où est-ce qu'il travaillera?", "0-0 1?1 1?2 1?3 2-2 3-3"),
        ([compared("more", "good")], "The house is better than a tree.",
         "La maison est meilleure qu'un arbre.", "0-0 1-1 2-2 3-3 4-4 5-4 6-5"),
        ([compared("more", "big")], "The house is bigger than a tree.",
         "La maison est plus grande qu'un arbre.", "0-0 1-1 2-2 3-3 3-4 4-5 5-5 6-6"),
    ],
)  # fmt: skip
def test_links_of_every_construction(built, source, target, links):
    meaning = [each if isinstance(each, Joined) else Joined(each) for each in built]
    pair = write_pair(meaning, find_language("en"), find_language("fr"))
    assert (pair.source, pair.target, pair.links) == (source, target, links)


def test_clitics_particles_and_times_cross():
    clause = Clause(3, EAT, Mode("present"), Pronoun(FIRST_SINGULAR))
    clause.object = Pronoun(THIRD_SINGULAR, CHEESE)
    clause.time = Adverbial(4, Expression("in summer", ("topic",)))
    assert links_of(clause) == (
        "I eat it in summer.", "En été, je le mange.", "0-2 1-4 2-3 3-0 4-1",
    )  # fmt: skip


def test_an_owner_is_linked_across_the_noun():
    clause = Clause(3, EAT, Mode("present"), NounPhrase(1, Core(CAT, False, "the")))
    owner = NounPhrase(5, Core(Noun("king", "person", gender="m"), False, "the"))
    clause.object = NounPhrase(2, Core(CHEESE, False, ""), owner=owner)
    english, french, links = links_of(clause)
    assert (english, french) == (
        "The cat eats the king's cheese.", "Le chat mange le fromage du roi.",
    )  # fmt: skip
    assert text_of(links) == {
        (0, 0): True, (1, 1): True, (2, 2): True, (3, 5): True, (4, 5): False, (4, 6): True,
        (5, 4): True,
    }  # fmt: skip


def test_german_links():
    king, dog = Noun("king", "person", gender="m"), Noun("dog", "animal")
    wake = Verb("wake up", "transitive", ("person",), ("animal",))
    clause = Clause(3, wake, Mode("present"), NounPhrase(1, Core(king, False, "the")))
    clause.object = NounPhrase(2, Core(dog, False, "a"))
    german = find_language("de")
    woken = write_pair([Joined(clause)], find_language("en"), german)
    assert (woken.source, woken.target, woken.links) == (
        "The king wakes up a dog.", "Der König weckt einen Hund auf.",
        "0-0 1-1 2-2 2-5 3-2 3-5 4-3 5-4",
    )  # fmt: skip
    clause.mode = Mode("past", "not")
    clause.object.core = clause.object.core._replace(denied=True)
    denied = write_pair([Joined(clause)], find_language("en"), german)
    assert (denied.source, denied.target, denied.links) == (
        "The king did not wake up a dog.", "Der König hat keinen Hund aufgeweckt.",
        "0-0 1-1 2?2 3-3 4-5 5-5 6-3 7-4",
    )  # fmt: skip


@cache
def drawn() -> list[SentencePair]:
    return pairs(4000, 20, vocabulary=2000, zipf=0.3)


def clauses() -> Iterator[Clause]:
    for pair in drawn():
        for joined in pair.meaning:
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
    assert "ill" in after_be - before
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
