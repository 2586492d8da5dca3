"""Clauses against hand-written English and French."""

from collections.abc import Callable

import pytest

from datamodules.grammar.languages import find_language
from datamodules.grammar.languages.english import morphology
from datamodules.grammar.languages.french import elision
from datamodules.grammar.languages.french.nouns import AdjectiveForms, FrenchNoun
from datamodules.grammar.languages.french.verbs import conjugate
from datamodules.grammar.meaning.lexicon import lexicon
from datamodules.grammar.meaning.phrases import (
    FIRST_SINGULAR,
    THIRD_PLURAL,
    THIRD_SINGULAR,
    Adjective,
    Adverbial,
    Clause,
    Core,
    Dated,
    Expression,
    Joined,
    Mode,
    Noun,
    NounPhrase,
    Participant,
    Pronoun,
    Verb,
)
from datamodules.grammar.pairs import write_pair

LEXICON = lexicon(2000)
NOUNS = {noun.name: noun for noun in LEXICON.nouns}
ADJECTIVES = {adjective.name: adjective for adjective in LEXICON.adjectives}
BE = Verb("be", "be", (), state=True)
HE, SHE = Pronoun(THIRD_SINGULAR), Pronoun(THIRD_SINGULAR, gender="f")
ME, THEY = Pronoun(FIRST_SINGULAR), Pronoun(THIRD_PLURAL)


class Units:
    last = 0


def unit() -> int:
    Units.last += 1
    return Units.last


def phrase(text: str, denied: bool = False) -> NounPhrase:
    """Build ``the old/happy cat``: determiner, adjectives, noun; ``cat+`` is a plural."""
    determiner, *described, name = text.split()
    adjectives: tuple[Adjective, ...] = tuple(ADJECTIVES[word] for word in described)
    noun = NOUNS[name.rstrip("+")]
    core = Core(noun, name.endswith("+"), determiner.strip("-"), adjectives, denied)
    return NounPhrase(unit(), core)


def verb(name: str, frame: str = "transitive") -> Verb:
    """Return a verb that is in the lexicon only in one frame, or in the frame ``frame``."""
    known = {each.name: each for each in LEXICON.verbs}
    return known.get(name) or known[f"{name}:{frame}"]


def clause(subject: Participant | None, name: str, mode: Mode | str = "present", **parts) -> Clause:
    mode = Mode(mode) if isinstance(mode, str) else mode
    frame = parts.pop("frame", "transitive")
    found = BE if name == "be" else verb(name, frame)
    return Clause(unit(), found, mode, subject, **parts)


def saying(text: str, *kinds: str) -> Adverbial:
    return Adverbial(unit(), Expression(text, kinds))


def both(*joined: Joined | Clause) -> tuple[str, str]:
    meaning = [each if isinstance(each, Joined) else Joined(each) for each in joined]
    pair = write_pair(meaning, find_language("en"), find_language("fr"))
    return pair.source, pair.target


TRY = verb("try", "infinitive")
NOT, NEVER = Mode("present", "not"), Mode("past", "never", habit=True)


def relative(antecedent: NounPhrase, gap: str, name: str, mode: str, **parts) -> NounPhrase:
    subject = parts.pop("subject", None)
    antecedent.relative = clause(subject, name, mode, gap=gap, antecedent=antecedent, **parts)
    return antecedent


EXAMPLES: dict[str, tuple[Callable[[], Joined | Clause], str, str]] = {
    # Agreement of determiners, adjectives and participles.
    "the old tree": (
        lambda: clause(phrase("this old tree"), "be", adjective=ADJECTIVES["beautiful"]),
        "This old tree is beautiful.", "Ce vieil arbre est beau."),
    "order of adjectives": (
        lambda: clause(HE, "see", object=phrase("the beautiful small black cat")),
        "He sees the beautiful small black cat.", "Il voit le beau petit chat noir."),
    "clitic before avoir": (
        lambda: clause(THEY, "see", "past", object=Pronoun(THIRD_PLURAL, NOUNS["table"])),
        "They saw them.", "Ils les ont vues."),
    "antecedent before avoir": (
        lambda: clause(SHE, "see",
                       object=relative(phrase("the table+"), "object", "open", "past", subject=HE)),
        "She sees the tables that he opened.", "Elle voit les tables qu'il a ouvertes."),
    # Negation and objects.
    "denied indefinite": (lambda: clause(ME, "see", NOT, object=phrase("a house", denied=True)),
        "I do not see a house.", "Je ne vois pas de maison."),
    "de before a clitic": (lambda: clause(ME, "see", Mode("past", modal=TRY), object=HE),
        "I tried to see him.", "J'ai essayé de le voir."),
    # Determiners.
    "many": (lambda: clause(HE, "see", object=phrase("many animal+")),
        "He sees many animals.", "Il voit beaucoup d'animaux."),
    "owner": (
        lambda: clause(HE, "see", object=NounPhrase(unit(), phrase("- dog").core,
                                                    owner=phrase("the king"))),
        "He sees the king's dog.", "Il voit le chien du roi."),
    # Prepositions.
    "no preposition in English": (
        lambda: clause(HE, "obey", oblique=phrase("the king"), frame="prepositional"),
        "He obeys the king.", "Il obéit au roi."),
    "inverse": (lambda: clause(ME, "miss", object=phrase("the man+"), frame="inverse"),
        "I miss the men.", "Les hommes me manquent."),
    # Tenses and times.
    "habit": (lambda: clause(HE, "eat", Mode("past", habit=True), object=phrase("the bread"),
                             time=saying("every day")),
        "He ate the bread every day.", "Il mangeait le pain chaque jour."),
    "once": (lambda: clause(HE, "eat", "past", object=phrase("the bread"),
                            time=saying("last week", "topic")),
        "He ate the bread last week.", "La semaine dernière, il a mangé le pain."),
    "date": (
        lambda: clause(
            ME, "sleep", "past", frame="intransitive", time=Dated(unit(), 1, 3, 1987)),
        "I slept on 1 March 1987.", "Le 1er mars 1987, j'ai dormi."),
    "a topic stays in a subordinate clause": (
        lambda: Joined(clause(HE, "sleep", frame="intransitive", time=saying("in summer", "topic")),
                       saying("when", "subordinating")),
        "When he sleeps in summer.", "Quand il dort en été."),
    "give": (lambda: clause(HE, "give", object=phrase("the book"), recipient=SHE,
                            frame="ditransitive"),
        "He gives the book to her.", "Il lui donne le livre."),
    "particle": (lambda: clause(HE, "wake up", object=ME), "He wakes me up.", "Il me réveille."),
    "if": (lambda: Joined(clause(HE, "sleep", frame="intransitive"), saying("if", "subordinating")),
        "If he sleeps.", "S'il dort."),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name):
    build, english, french = EXAMPLES[name]
    assert both(build()) == (english, french)


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("de le roi", "du roi"), ("de le *héros", "du héros"), ("de le hôpital", "de l'hôpital"),
        ("de des églises", "d'églises"), ("de +le voir", "de le voir"), ("je aime", "j'aime"),
        ("à les amis", "aux amis"), ("à la *hache", "à la hache"),
        ("si elle", "si elle"), ("si ils", "s'ils"), ("que +la eau", "que l'eau"),
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
        for mode in (Mode("present"), Mode("past"), Mode("future"), NEVER):
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
    assert both(clause(subject, "see", object=seen)) == (
        "Mrs Velmora sees the cats.", "Madame Velmora voit les chats.",
    )  # fmt: skip
