"""Clauses against hand-written English, French and German."""

from pathlib import Path

import pytest

from datamodules.grammar.languages import find_language
from datamodules.grammar.languages.english import morphology
from datamodules.grammar.languages.french import elision
from datamodules.grammar.languages.french.nouns import AdjectiveForms, FrenchNoun
from datamodules.grammar.languages.french.verbs import conjugate
from datamodules.grammar.meaning.phrases import (
    FIRST_PLURAL,
    THIRD_PLURAL,
    Clause,
    Core,
    Mode,
    Noun,
    NounPhrase,
    Pronoun,
)
from datamodules.grammar.pairs import SentencePair, write_pair
from tests.datamodules.grammar.meanings import (
    HE,
    HOUSE,
    LEXICON,
    ME,
    NOUNS,
    SHE,
    TABLES,
    THEY,
    WE,
    Built,
    clause,
    dated,
    meaning_of,
    more,
    place,
    relative,
    shared,
    unit,
)


def read_table(name: str) -> dict[str, list[str]]:
    """Return the lines of a table beside this module by their first cell."""
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    cells = (line.split(" | ") for line in lines if not line.startswith("#"))
    return {first: others for first, *others in cells}


def pair_of(built: Built, target: str = "fr") -> SentencePair:
    return write_pair(meaning_of(built), find_language("en"), find_language(target))


def seen(*relative_clause, **parts) -> Clause:
    """Build *I see the man that …*."""
    return clause(ME, "see", relative(*relative_clause, **parts))


WRITTEN = read_table("examples.txt")
SLEEPER = relative("the man", "sleep")
TWO_THINGS = Pronoun(THIRD_PLURAL, NOUNS["table"], NOUNS["house"])
HERSELF, THEMSELVES = Pronoun(1, gender="f", reflexive=True), Pronoun(THIRD_PLURAL, reflexive=True)
OURSELVES = Pronoun(FIRST_PLURAL, reflexive=True)
EXAMPLES: dict[str, Built] = {
    # Agreement of determiners, adjectives and participles.
    "the old tree": clause("this old tree", "be", adjective="beautiful"),
    "order of adjectives": clause(HE, "see", "the beautiful small black cat"),
    "adjectives of a kind": clause(HE, "see", "the ugly hungry dog+"),
    "classifying adjectives": clause(HE, "see", "a strange red dress"),
    "clitic before avoir": clause(THEY, "see", TABLES, "past"),
    "antecedent before avoir": clause(
        SHE, "see", relative("the table+", "open", mode="past", subject=HE)
    ),
    # Where one goes, and where one is.
    "go to the school": clause(HE, "go", oblique="the school"),
    "go to a school": clause(HE, "go", oblique="a school"),
    "go to the forest": clause(HE, "go", oblique="the forest"),
    "in the cinema": clause(HE, "sleep", place=place("in", "the cinema")),
    "in an airport": clause(HE, "sleep", place=place("in", "a airport")),
    "near the house": clause(HE, "sleep", place=place("near", "the house")),
    "near two houses": clause(HE, "sleep", place=place("near", "two house+")),
    "try to sleep": clause(HE, "sleep", mode="past try"),
    # A name in the dative; an adverb behind what is definite.
    "like": clause("Daniel", "like", "the house", question="whether"),
    "never opens": clause(HE, "open", "the box", "past never habit"),
    # Negation and objects.
    "denied indefinite": clause(ME, "see", "a house", "present not"),
    "de before a clitic": clause(ME, "see", HE, "past try"),
    # Adverbs of manner in English: before the verb if a noun follows, but not behind a clause.
    "reluctantly obeys": clause(HE, "obey", oblique="the king", manner="reluctantly"),
    "will slowly close": clause(HE, "close", "the box", "future", manner="slowly"),
    "behind a relative clause": clause(SLEEPER, "close", "the box", manner="slowly"),
    "behind an infinitive": clause(HE, "close", "the box", "present try", manner="slowly"),
    "quickly sold": clause("the man", "sell", "the house", "past passive", manner="quickly"),
    # Determiners.
    "many": clause(HE, "see", "many animal+"),
    "owner": clause(HE, "see", "- dog of the king"),
    "a big animal": clause("this big cat", "be", adjective="big"),
    "de quelques": clause(HE, "dream", oblique="some house+"),
    # Prepositions.
    "no preposition in English": clause(HE, "obey", oblique="the king"),
    "à for a subject": clause("the king", "like", "the book"),
    "inverse": clause(ME, "miss:inverse", "the man+"),
    # Tenses and times.
    "habit": clause(HE, "eat", "the bread", "past habit", time="every day"),
    "once": clause(HE, "eat", "the bread", "past", time="last week"),
    "date": clause(ME, "sleep", mode="past", time=dated(1, 3, 1987)),
    "a topic stays in a subordinate clause": more(clause(HE, "sleep", time="in summer"), "when"),
    "give": clause(HE, "give", "the book", recipient=SHE),
    "give me": clause(HE, "give", "the book", recipient=ME),
    "explain to me": clause(HE, "explain:ditransitive", "the idea", recipient=ME),
    "particle": clause(HE, "wake up", ME),
    "if": more(clause(HE, "sleep"), "if"),
    "no adverb between pas and de": clause(HE, "close", "a box", "present not", manner="slowly"),
    "can, once": clause(HE, "see", SHE, "past can"),
    "can, as a habit": clause(HE, "see", SHE, "past not can habit"),
    "a time, not behind a state": clause(ME, "lose", "the wet shoe", "past", time="yesterday"),
    "a time first": clause("the man", "sleep", time="every day", time_first=True),
    # Two noun phrases, two verbs.
    "two subjects": clause("the man and the woman", "arrive", mode="past"),
    "two feminine subjects": clause("the girl and the woman", "be", adjective="happy"),
    "a pronoun for two": clause(
        Pronoun(THIRD_PLURAL, NOUNS["woman"], NOUNS["man"]), "see", TWO_THINGS
    ),
    "à is repeated": clause(HE, "give", "a book", recipient="the man and the king"),
    "de is repeated": clause(ME, "be", place=place("near", "the house and a tree")),
    "jusqu'à is repeated": clause(HE, "limp:motion", oblique="the house and the tree"),
    "travel": clause(HE, "travel:motion", mode="past", oblique="the valley"),
    "sur is not": clause(HE, "count", oblique="the man and the king"),
    "one subject": shared(clause("the man", "open", "the door"), "sleep"),
    "one subject, one object": shared(
        clause(ME, "buy", "the house", "past"), "sell", HOUSE, "past"
    ),
    # Relative clauses.
    "whose, subject": seen("the man", "sleep", subject="whose dog", gap="owner"),
    "whose, object": seen("the man", "see", "whose big house+", "past", subject=HE, gap="owner"),
    "where": seen("the house", "work", subject=HE, gap="place"),
    "dont": seen("the woman", "dream", subject=HE, gap="oblique"),
    "à qui": seen("the woman", "speak", subject=HE, gap="oblique"),
    "auxquelles": seen("the party+", "participate", subject=HE, gap="oblique"),
    "sur lequel": seen("the bed", "sleep", subject=HE, gap="oblique"),
    "that for": seen("the bus", "wait for", subject=HE),
    # Pronouns.
    "herself": clause(SHE, "wash", HERSELF, "past"),
    "themselves": clause("the man and the woman", "wash", THEMSELVES, "present not"),
    "ourselves": clause(WE, "wash", OURSELVES, "past try"),
    "me le": clause(HE, "give", HOUSE, recipient=ME),
    "les lui": clause(HE, "give", TABLES, "past", recipient=SHE),
    "y": clause(HE, "think", mode="present not", oblique=HOUSE),
    "à elle": clause(HE, "think", oblique=SHE),
    "lui": clause(HE, "obey", oblique=SHE),
    "en": clause(ME, "dream", mode="past", oblique=TABLES),
    "d'eux": clause(ME, "dream", oblique=THEY),
    "there": clause(ME, "see", HOUSE, "past", place="there"),
    "there, before an infinitive": clause(ME, "sleep", mode="present try", place="there"),
    # Moods.
    "although": [
        clause(HE, "work", mode="past"),
        more(clause(SHE, "arrive", mode="past subjunctive"), "although"),
    ],
    "although, now": [
        clause(HE, "work"),
        more(clause(SHE, "arrive", mode="present not subjunctive"), "although"),
    ],
    "before": [
        clause(HE, "work", mode="past"),
        more(clause(SHE, "arrive", mode="past subjunctive"), "before"),
    ],
    "before, of one subject": [
        clause(HE, "work", mode="past"),
        more(clause(HE, "see", SHE, "past subjunctive"), "before"),
    ],
    "if he had": [
        more(clause("the man", "own", "a dog", "supposed"), "if"),
        more(clause(HE, "sleep", mode="unreal"), comma=True),
    ],
    "if he were": [
        more(clause(HE, "be", mode="supposed", adjective="ill"), "if"),
        more(clause(ME, "see", HE, "unreal must"), comma=True),
    ],
    "if he could": [
        more(clause(HE, "see", ME, "supposed can"), "if"),
        more(clause(HE, "be", mode="unreal not", adjective="sad"), comma=True),
    ],
    # Passive and perfect.
    "passive, once": clause("the man", "sell", "the house", "past passive"),
    "passive, as a habit": clause(None, "sell", "the house+", "past never habit passive"),
    "passive, later": clause(None, "sell", TABLES, "future passive"),
    "passive infinitive": clause(None, "sell", "the house", "present not can passive"),
    "passive, relative": seen("the house+", "sell", mode="past passive", subject="the man"),
    "woken up": clause(None, "wake up", SHE, "past passive"),
    "perfect": clause(HE, "see", SHE, "perfect never"),
    "perfect with être": clause(THEY, "arrive", mode="perfect"),
    # Questions.
    "whether": clause("the man", "sleep", mode="past", question="whether"),
    "whether, with can": clause(HE, "sleep", mode="present not can", question="whether"),
    "whether, a topic": clause(HE, "sleep", mode="future", question="whether", time="next week"),
    "whether, with be": clause(HE, "be", adjective="ill", question="whether"),
    "who": clause(None, "see", ME, "present not", question="who"),
    "what": clause(HE, "look for", question="what"),
    "where?": clause("the man+", "work", question="where"),
    # Comparisons.
    "bigger": clause("the house", "be", adjective="big", degree="more", standard="a tree"),
    "more beautiful": clause(
        "the house", "be", adjective="beautiful", degree="more", standard="a tree"
    ),
    "better": clause("the table+", "be", adjective="good", degree="more", standard="a tree"),
    "as": clause(
        "the house", "be", mode="present not", adjective="high", degree="as", standard="a tree"
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name):
    """Each is written, and its words are linked, as ``examples.txt`` has it."""
    english, french, german, *links = WRITTEN[name]
    built = EXAMPLES[name]
    pairs = pair_of(built), pair_of(built, "de")
    assert [(pair.source, pair.target) for pair in pairs] == [(english, french), (english, german)]
    assert [pair.links for pair in pairs] == links


def test_every_line_of_the_examples_is_tested():
    assert set(WRITTEN) == set(EXAMPLES)


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("de le roi", "du roi"), ("de le *héros", "du héros"), ("de le hôpital", "de l'hôpital"),
        ("de +le voir", "de le voir"), ("je aime", "j'aime"),
        ("à les amis", "aux amis"), ("à la *hache", "à la hache"),
        ("si elle", "si elle"), ("si ils", "s'ils"), ("que +la eau", "que l'eau"),
        ("se y voir", "s'y voir"), ("le yaourt", "le yaourt"), ("à lequel il", "auquel il"),
        ("que est-ce que il", "qu'est-ce qu'il"), ("de y aller", "d'y aller"),
    ],
)  # fmt: skip
def test_elision(words, written):
    texts = words.split()
    elision.elide_and_contract(texts)
    joined = " ".join(text for text in texts if text).replace("' ", "'")
    assert joined.replace("*", "").replace("+", "") == written


def test_french_forms():
    assert FrenchNoun.of("cheval/chevaux", "m").plural == "chevaux"
    assert FrenchNoun.of("gâteau", "m").plural == "gâteaux"
    new = AdjectiveForms.of("nouveau/nouvelle/nouvel", "before")
    assert (new.liaison, new.masculine_plural, new.feminine_plural) == (
        "nouvel", "nouveaux", "nouvelles",
    )  # fmt: skip
    brown = AdjectiveForms.of("marron/marron", "after")
    assert {brown.feminine, brown.masculine_plural, brown.feminine_plural} == {"marron"}
    assert conjugate("manger").present[3] == "mangeons"
    assert conjugate("appeler").future[2] == "appellera"


@pytest.mark.parametrize(("infinitive", "moods"), read_table("moods.txt").items())
def test_french_moods(infinitive, moods):
    forms = conjugate(infinitive)
    assert ", ".join((*forms.subjunctive[2:4], forms.conditional[2])) == moods[0]


def test_english_forms():
    forms = (
        (morphology.plural, {"box": "boxes", "city": "cities", "day": "days"}),
        (morphology.third_person, {"go back": "goes back", "try": "tries", "wash": "washes"}),
        (morphology.past, {"look for": "looked for", "cry": "cried", "love": "loved"}),
        (morphology.takes_an, {"hour": True, "uniform": False, "egg": True, "European": False}),
    )
    for inflect, expected in forms:
        assert {word: inflect(word) for word in expected} == expected


def test_every_word_has_forms_in_every_language():
    """All nouns in both numbers, all adjectives and verbs are written without an error."""
    for noun in (*LEXICON.nouns, *(sense for pair in LEXICON.senses for sense in pair)):
        for plural in (False, True)[: 1 + noun.counted]:
            subject = NounPhrase(unit(), Core(noun, plural, "the"))
            assert len(pair_of(clause(subject, "be", adjective="old")).source.split()) == 4
    modes = [Mode(tense) for tense in ("present", "past", "future", "perfect", "unreal")]
    modes += [Mode("past", "never", habit=True), Mode("past", subjunctive=True)]
    for verb in LEXICON.verbs:
        for mode in modes:
            if verb.frame not in ("infinitive", "inverse"):
                assert pair_of(Clause(unit(), verb, mode, SHE))
    for adjective in LEXICON.adjectives:
        assert pair_of(clause(SHE, "be", adjective=adjective.name))


def test_a_name_is_the_same_in_every_language():
    name = Noun("Velmora", "surname", counted=False, gender="f")
    subject = NounPhrase(unit(), Core(name, False, "title"))
    pair = pair_of(clause(subject, "see", "the cat+"))
    assert pair.source == "Mrs Velmora sees the cats."
    assert pair.target == "Madame Velmora voit les chats."
