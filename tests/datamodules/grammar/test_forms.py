"""Clauses against hand-written English, French and German."""

from collections.abc import Callable
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
    Dated,
    Joined,
    Mode,
    Noun,
    NounPhrase,
    Pronoun,
)
from datamodules.grammar.pairs import SentencePair, write_pair
from tests.datamodules.grammar.meanings import (
    ADJECTIVES,
    CAN,
    HE,
    HOUSE,
    LEXICON,
    LIKELY,
    ME,
    MUST,
    NEVER,
    NOT,
    NOUNS,
    ON,
    SHE,
    SLEEP,
    TABLES,
    THEY,
    TRY,
    WE,
    Built,
    clause,
    compared,
    condition,
    more,
    phrase,
    place,
    relative,
    saying,
    seen,
    shared,
    sold,
    subordinate,
    two,
    unit,
)


def read_table(name: str) -> dict[str, list[str]]:
    """Return the lines of a table beside this module by their first cell."""
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    cells = (line.split(" | ") for line in lines if not line.startswith("#"))
    return {first: others for first, *others in cells}


def pair_of(built: Built, target: str = "fr") -> SentencePair:
    joined = built if isinstance(built, list) else [built]
    meaning = [each if isinstance(each, Joined) else Joined(each) for each in joined]
    return write_pair(meaning, find_language("en"), find_language(target))


WRITTEN = read_table("examples.txt")
EXAMPLES: dict[str, Callable[[], Built]] = {
    # Agreement of determiners, adjectives and participles.
    "the old tree": lambda: clause(
        phrase("this old tree"), "be", adjective=ADJECTIVES["beautiful"]
    ),
    "order of adjectives": lambda: clause(
        HE, "see", object=phrase("the beautiful small black cat")
    ),
    "adjectives of a kind": lambda: clause(HE, "see", object=phrase("the ugly hungry dog+")),
    "classifying adjectives": lambda: clause(HE, "see", object=phrase("a strange red dress")),
    "clitic before avoir": lambda: clause(
        THEY, "see", "past", object=Pronoun(THIRD_PLURAL, NOUNS["table"])
    ),
    "antecedent before avoir": lambda: clause(
        SHE, "see", object=relative(phrase("the table+"), "object", "open", "past", subject=HE)
    ),
    # Where one goes, and where one is.
    "go to the school": lambda: clause(HE, "go", oblique=phrase("the school"), frame="motion"),
    "go to a school": lambda: clause(HE, "go", oblique=phrase("a school"), frame="motion"),
    "go to the forest": lambda: clause(HE, "go", oblique=phrase("the forest"), frame="motion"),
    "in the cinema": lambda: clause(HE, "sleep", place=place("in", "the cinema"), **SLEEP),
    "in an airport": lambda: clause(HE, "sleep", place=place("in", "a airport"), **SLEEP),
    "near the house": lambda: clause(HE, "sleep", place=place("near", "the house"), **SLEEP),
    "near two houses": lambda: clause(HE, "sleep", place=place("near", "two house+"), **SLEEP),
    "try to sleep": lambda: clause(HE, "sleep", Mode("past", modal=TRY), **SLEEP),
    # A name in the dative; an adverb behind what is definite.
    "like": lambda: clause(
        NounPhrase(unit(), Core(Noun("Daniel", "name", gender="m"), False, "")),
        "like",
        frame="inverse",
        object=phrase("the house"),
        question="whether",
    ),
    "never opens": lambda: clause(HE, "open", NEVER, object=phrase("the box")),
    # Negation and objects.
    "denied indefinite": lambda: clause(ME, "see", NOT, object=phrase("a house", denied=True)),
    "de before a clitic": lambda: clause(ME, "see", Mode("past", modal=TRY), object=HE),
    # Adverbs of manner in English: before the verb if a noun follows, but not behind a clause.
    "reluctantly obeys": lambda: clause(
        HE, "obey", oblique=phrase("the king"), manner=saying("reluctantly"), **ON
    ),
    "will slowly close": lambda: clause(
        HE, "close", "future", object=phrase("the box"), manner=saying("slowly")
    ),
    "behind a relative clause": lambda: clause(
        relative(phrase("the man"), "subject", "sleep", **SLEEP),
        "close",
        object=phrase("the box"),
        manner=saying("slowly"),
    ),
    "behind an infinitive": lambda: clause(
        HE, "close", Mode("present", modal=TRY), object=phrase("the box"), manner=saying("slowly")
    ),
    "quickly sold": lambda: sold(Mode("past"), phrase("the man"), manner=saying("quickly")),
    # Determiners.
    "many": lambda: clause(HE, "see", object=phrase("many animal+")),
    "owner": lambda: clause(
        HE, "see", object=NounPhrase(unit(), phrase("- dog").core, owner=phrase("the king"))
    ),
    "a big animal": lambda: clause(phrase("this big cat"), "be", adjective=ADJECTIVES["big"]),
    "de quelques": lambda: clause(HE, "dream", oblique=phrase("some house+"), **ON),
    # Prepositions.
    "no preposition in English": lambda: clause(
        HE, "obey", oblique=phrase("the king"), frame="prepositional"
    ),
    "à for a subject": lambda: clause(
        phrase("the king"), "like", object=phrase("the book"), frame="inverse"
    ),
    "inverse": lambda: clause(ME, "miss", object=phrase("the man+"), frame="inverse"),
    # Tenses and times.
    "habit": lambda: clause(
        HE, "eat", Mode("past", habit=True), object=phrase("the bread"), time=saying("every day")
    ),
    "once": lambda: clause(
        HE, "eat", "past", object=phrase("the bread"), time=saying("last week", "topic")
    ),
    "date": lambda: clause(
        ME, "sleep", "past", frame="intransitive", time=Dated(unit(), 1, 3, 1987)
    ),
    "a topic stays in a subordinate clause": lambda: Joined(
        clause(HE, "sleep", frame="intransitive", time=saying("in summer", "topic")),
        saying("when", "subordinating"),
    ),
    "give": lambda: clause(
        HE, "give", object=phrase("the book"), recipient=SHE, frame="ditransitive"
    ),
    "give me": lambda: clause(
        HE, "give", object=phrase("the book"), recipient=ME, frame="ditransitive"
    ),
    "explain to me": lambda: clause(
        HE, "explain", object=phrase("the idea"), recipient=ME, frame="ditransitive"
    ),
    "particle": lambda: clause(HE, "wake up", object=ME),
    "if": lambda: Joined(clause(HE, "sleep", frame="intransitive"), saying("if", "subordinating")),
    "no adverb between pas and de": lambda: clause(
        HE, "close", NOT, object=phrase("a box", denied=True), manner=saying("slowly")
    ),
    "can, once": lambda: clause(HE, "see", Mode("past", modal=CAN), object=SHE),
    "can, as a habit": lambda: clause(
        HE, "see", Mode("past", "not", modal=CAN, habit=True), object=SHE
    ),
    "a time, not behind a state": lambda: clause(
        ME, "lose", "past", object=phrase("the wet shoe"), time=saying("yesterday")
    ),
    "a time first": lambda: clause(
        phrase("the man"), "sleep", time=saying("every day"), time_first=True, **SLEEP
    ),
    # Two noun phrases, two verbs.
    "two subjects": lambda: clause(two("the man", "the woman"), "arrive", "past", **SLEEP),
    "two feminine subjects": lambda: clause(
        two("the girl", "the woman"), "be", adjective=ADJECTIVES["happy"]
    ),
    "a pronoun for two": lambda: clause(
        Pronoun(THIRD_PLURAL, NOUNS["woman"], NOUNS["man"]),
        "see",
        object=Pronoun(THIRD_PLURAL, NOUNS["table"], NOUNS["house"]),
    ),
    "à is repeated": lambda: clause(
        HE,
        "give",
        object=phrase("a book"),
        frame="ditransitive",
        recipient=two("the man", "the king"),
    ),
    "de is repeated": lambda: clause(ME, "be", place=place("near", two("the house", "a tree"))),
    "jusqu'à is repeated": lambda: clause(
        HE, "limp", oblique=two("the house", "the tree"), frame="motion"
    ),
    "travel": lambda: clause(HE, "travel", "past", oblique=phrase("the valley"), frame="motion"),
    "sur is not": lambda: clause(HE, "count", oblique=two("the man", "the king"), **ON),
    "one subject": lambda: shared(
        clause(phrase("the man"), "open", object=phrase("the door")), "sleep", **SLEEP
    ),
    "one subject, one object": lambda: shared(
        clause(ME, "buy", "past", object=phrase("the house")), "sell", object=HOUSE
    ),
    # Relative clauses.
    "whose, subject": lambda: seen(
        "the man", "owner", "sleep", subject=phrase("whose dog"), **SLEEP
    ),
    "whose, object": lambda: seen(
        "the man", "owner", "see", "past", subject=HE, object=phrase("whose big house+")
    ),
    "where": lambda: seen("the house", "place", "work", subject=HE, **SLEEP),
    "dont": lambda: seen("the woman", "oblique", "dream", subject=HE, **ON),
    "à qui": lambda: seen("the woman", "oblique", "speak", subject=HE, **ON),
    "auxquelles": lambda: seen("the party+", "oblique", "participate", subject=HE, **ON),
    "sur lequel": lambda: seen("the bed", "oblique", "sleep", subject=HE, **ON),
    "that for": lambda: seen("the bus", "object", "wait for", subject=HE),
    # Pronouns.
    "herself": lambda: clause(SHE, "wash", "past", object=Pronoun(1, gender="f", reflexive=True)),
    "themselves": lambda: clause(
        two("the man", "the woman"), "wash", NOT, object=Pronoun(THIRD_PLURAL, reflexive=True)
    ),
    "ourselves": lambda: clause(
        WE, "wash", Mode("past", modal=TRY), object=Pronoun(FIRST_PLURAL, reflexive=True)
    ),
    "me le": lambda: clause(HE, "give", object=HOUSE, recipient=ME, frame="ditransitive"),
    "les lui": lambda: clause(
        HE, "give", "past", object=TABLES, recipient=SHE, frame="ditransitive"
    ),
    "y": lambda: clause(HE, "think", NOT, oblique=HOUSE, **ON),
    "à elle": lambda: clause(HE, "think", oblique=SHE, **ON),
    "lui": lambda: clause(HE, "obey", oblique=SHE, **ON),
    "en": lambda: clause(ME, "dream", "past", oblique=TABLES, **ON),
    "d'eux": lambda: clause(ME, "dream", oblique=THEY, **ON),
    "there": lambda: clause(ME, "see", "past", object=HOUSE, place=saying("there")),
    "there, before an infinitive": lambda: clause(
        ME, "sleep", Mode("present", modal=TRY), place=saying("there"), **SLEEP
    ),
    # Moods.
    "although": lambda: subordinate("although", LIKELY),
    "although, now": lambda: subordinate("although", Mode("present", "not", subjunctive=True)),
    "before": lambda: subordinate("before", LIKELY),
    "before, of one subject": lambda: [
        clause(HE, "work", "past", **SLEEP),
        more(clause(HE, "see", LIKELY, object=SHE), "before", "subordinating"),
    ],
    "if he had": lambda: condition(
        clause(phrase("the man"), "own", "supposed", object=phrase("a dog")),
        clause(HE, "sleep", "unreal", **SLEEP),
    ),
    "if he were": lambda: condition(
        clause(HE, "be", "supposed", adjective=ADJECTIVES["ill"]),
        clause(ME, "see", Mode("unreal", modal=MUST), object=HE),
    ),
    "if he could": lambda: condition(
        clause(HE, "see", Mode("supposed", modal=CAN), object=ME),
        clause(HE, "be", Mode("unreal", "not"), adjective=ADJECTIVES["sad"]),
    ),
    # Passive and perfect.
    "passive, once": lambda: sold(Mode("past"), phrase("the man")),
    "passive, as a habit": lambda: sold(
        Mode("past", "never", habit=True), object=phrase("the house+")
    ),
    "passive, later": lambda: sold(Mode("future"), object=TABLES),
    "passive infinitive": lambda: sold(Mode("present", "not", modal=CAN)),
    "passive, relative": lambda: seen(
        "the house+", "object", "sell", Mode("past", passive=True), subject=phrase("the man")
    ),
    "woken up": lambda: clause(None, "wake up", Mode("past", passive=True), object=SHE),
    "perfect": lambda: clause(HE, "see", Mode("perfect", "never"), object=SHE),
    "perfect with être": lambda: clause(THEY, "arrive", "perfect", **SLEEP),
    # Questions.
    "whether": lambda: clause(phrase("the man"), "sleep", "past", question="whether", **SLEEP),
    "whether, with can": lambda: clause(
        HE, "sleep", Mode("present", "not", modal=CAN), question="whether", **SLEEP
    ),
    "whether, a topic": lambda: clause(
        HE, "sleep", "future", question="whether", time=saying("next week", "topic"), **SLEEP
    ),
    "whether, with be": lambda: clause(HE, "be", adjective=ADJECTIVES["ill"], question="whether"),
    "who": lambda: clause(None, "see", NOT, object=ME, question="who"),
    "what": lambda: clause(HE, "look for", question="what"),
    "where?": lambda: clause(phrase("the man+"), "work", question="where", **SLEEP),
    # Comparisons.
    "bigger": lambda: compared("more", "big"),
    "more beautiful": lambda: compared("more", "beautiful"),
    "better": lambda: compared("more", "good", "the table+"),
    "as": lambda: compared("as", "high", mode=NOT),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name):
    """Each is written, and its words are linked, as ``examples.txt`` has it."""
    english, french, german, *links = WRITTEN[name]
    built = EXAMPLES[name]()
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
    assert [morphology.plural(noun) for noun in ("box", "city", "day")] == [
        "boxes",
        "cities",
        "days",
    ]
    assert [morphology.third_person(verb) for verb in ("go back", "try", "wash")] == [
        "goes back", "tries", "washes",
    ]  # fmt: skip
    assert [morphology.past(verb) for verb in ("look for", "cry", "love")] == [
        "looked for", "cried", "loved",
    ]  # fmt: skip
    assert [morphology.takes_an(word) for word in ("hour", "uniform", "egg", "European")] == [
        True, False, True, False,
    ]  # fmt: skip


def test_every_word_has_forms_in_every_language():
    """All nouns in both numbers, all adjectives and verbs are written without an error."""
    english, french = find_language("en"), find_language("fr")
    for noun in (*LEXICON.nouns, *(sense for pair in LEXICON.senses for sense in pair)):
        for plural in (False, True)[: 1 + noun.counted]:
            subject = NounPhrase(unit(), Core(noun, plural, "the"))
            written = write_pair(
                [Joined(clause(subject, "be", adjective=ADJECTIVES["old"]))], english, french
            )
            assert len(written.source.split()) == 4
    for each in LEXICON.verbs:
        for mode in (*map(Mode, ("present", "past", "future", "perfect", "unreal")), NEVER, LIKELY):
            if each.frame not in ("infinitive", "inverse"):
                write_pair([Joined(Clause(unit(), each, mode, SHE))], english, french)
    for adjective in LEXICON.adjectives:
        assert write_pair([Joined(clause(SHE, "be", adjective=adjective))], english, french)


@pytest.fixture
def plain_noun() -> Noun:
    return NOUNS["cat"]


def test_a_name_is_the_same_in_every_language(plain_noun):
    name = Noun("Velmora", "surname", counted=False, gender="f")
    subject = NounPhrase(unit(), Core(name, False, "title"))
    seen = NounPhrase(unit(), Core(plain_noun, True, "the"))
    pair = pair_of(clause(subject, "see", object=seen))
    assert pair.source == "Mrs Velmora sees the cats."
    assert pair.target == "Madame Velmora voit les chats."
