"""Clauses against hand-written English and French."""

import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from datamodules.grammar.languages import find_language, french, german
from datamodules.grammar.languages.english import morphology
from datamodules.grammar.languages.french import elision
from datamodules.grammar.languages.french.nouns import AdjectiveForms, FrenchNoun, agree
from datamodules.grammar.languages.french.verbs import conjugate
from datamodules.grammar.languages.german.nouns import GermanNoun
from datamodules.grammar.languages.german.verbs import GermanVerb
from datamodules.grammar.languages.language import read_sections
from datamodules.grammar.meaning.lexicon import lexicon
from datamodules.grammar.meaning.phrases import (
    FIRST_PLURAL,
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
    Prepositional,
    Pronoun,
    Verb,
)
from datamodules.grammar.pairs import write_pair

LEXICON = lexicon(2000)
NOUNS = {noun.name: noun for noun in LEXICON.nouns}
ADJECTIVES = {adjective.name: adjective for adjective in LEXICON.adjectives}
BE = Verb("be", "be", (), state=True)
HE, SHE = Pronoun(THIRD_SINGULAR), Pronoun(THIRD_SINGULAR, gender="f")
ME, WE, THEY = Pronoun(FIRST_SINGULAR), Pronoun(FIRST_PLURAL), Pronoun(THIRD_PLURAL)


class Units:
    """Numbers of units, without end."""

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


def near(text: str) -> Prepositional:
    return Prepositional(Expression("near"), phrase(text))


def both(*joined: Joined | Clause) -> tuple[str, str]:
    meaning = [each if isinstance(each, Joined) else Joined(each) for each in joined]
    pair = write_pair(meaning, find_language("en"), find_language("fr"))
    return pair.source, pair.target


CAN, TRY = Verb("can", "modal", ()), verb("try", "infinitive")
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
    "plural adjectives": (lambda: clause(HE, "see", object=phrase("some small house+")),
        "He sees some small houses.", "Il voit de petites maisons."),
    "order of adjectives": (
        lambda: clause(HE, "see", object=phrase("the beautiful small black cat")),
        "He sees the beautiful small black cat.", "Il voit le beau petit chat noir."),
    "distant adjective": (
        lambda: clause(NounPhrase(unit(), phrase("the house+").core, attribute=near("the tree")),
                       "be", "past", adjective=ADJECTIVES["big"]),
        "The houses near the tree were big.", "Les maisons près de l'arbre étaient grandes."),
    "être": (lambda: clause(SHE, "arrive", "past", frame="intransitive"),
        "She arrived.", "Elle est arrivée."),
    "clitic before avoir": (
        lambda: clause(THEY, "see", "past", object=Pronoun(THIRD_PLURAL, NOUNS["table"])),
        "They saw them.", "Ils les ont vues."),
    "antecedent before avoir": (
        lambda: clause(SHE, "see",
                       object=relative(phrase("the table+"), "object", "open", "past", subject=HE)),
        "She sees the tables that he opened.", "Elle voit les tables qu'il a ouvertes."),
    "it": (lambda: clause(Pronoun(THIRD_SINGULAR, NOUNS["house"]), "be",
                          adjective=ADJECTIVES["old"]), "It is old.", "Elle est vieille."),
    "number over a relative clause": (
        lambda: clause(relative(phrase("the cat+"), "subject", "see", "present",
                                object=phrase("a horse")), "sleep", frame="intransitive"),
        "The cats that see a horse sleep.", "Les chats qui voient un cheval dorment."),
    # Negation and objects.
    "denied indefinite": (lambda: clause(ME, "see", NOT, object=phrase("a house", denied=True)),
        "I do not see a house.", "Je ne vois pas de maison."),
    "denied plural": (lambda: clause(WE, "see", NOT, object=phrase("some egg+", denied=True)),
        "We do not see any eggs.", "Nous ne voyons pas d'œufs."),
    "never": (lambda: clause(phrase("the woman"), "be", NEVER, adjective=ADJECTIVES["rich"]),
        "The woman was never rich.", "La femme n'était jamais riche."),
    "cannot": (lambda: clause(THEY, "see", Mode("present", "not", modal=CAN), object=HE),
        "They cannot see him.", "Ils ne peuvent pas le voir."),
    "de before a clitic": (lambda: clause(ME, "see", Mode("past", modal=TRY), object=HE),
        "I tried to see him.", "J'ai essayé de le voir."),
    # Determiners.
    "partitive": (lambda: clause(HE, "buy", object=phrase("some bread")),
        "He buys some bread.", "Il achète du pain."),
    "many": (lambda: clause(HE, "see", object=phrase("many animal+")),
        "He sees many animals.", "Il voit beaucoup d'animaux."),
    "his and her": (lambda: clause(SHE, "see", object=phrase("her friend")),
        "She sees her friend.", "Elle voit son ami."),
    "ma before a vowel": (lambda: clause(ME, "see", object=phrase("my school")),
        "I see my school.", "Je vois mon école."),
    "owner": (
        lambda: clause(HE, "see", object=NounPhrase(unit(), phrase("- dog").core,
                                                    owner=phrase("the king"))),
        "He sees the king's dog.", "Il voit le chien du roi."),
    "number": (lambda: clause(HE, "see", object=phrase("345 cat+")),
        "He sees 345 cats.", "Il voit 345 chats."),
    # Prepositions.
    "contraction": (lambda: clause(HE, "speak", oblique=phrase("the man+"), frame="prepositional"),
        "He speaks to the men.", "Il parle aux hommes."),
    "no preposition in English": (
        lambda: clause(HE, "obey", oblique=phrase("the king"), frame="prepositional"),
        "He obeys the king.", "Il obéit au roi."),
    "de and some": (lambda: clause(HE, "sleep", place=near("some house+"), frame="intransitive"),
        "He sleeps near some houses.", "Il dort près de maisons."),
    "inverse": (lambda: clause(ME, "miss", object=phrase("the man+"), frame="inverse"),
        "I miss the men.", "Les hommes me manquent."),
    # Tenses and times.
    "habit": (lambda: clause(HE, "eat", Mode("past", habit=True), object=phrase("the bread"),
                             time=saying("every day")),
        "He ate the bread every day.", "Il mangeait le pain chaque jour."),
    "once": (lambda: clause(HE, "eat", "past", object=phrase("the bread"),
                            time=saying("last week", "topic")),
        "He ate the bread last week.", "La semaine dernière, il a mangé le pain."),
    "future": (lambda: clause(WE, "see", "future", object=THEY),
        "We will see them.", "Nous les verrons."),
    "date": (
        lambda: clause(
            ME, "sleep", "past", frame="intransitive", time=Dated(unit(), 1, 3, 1987)),
        "I slept on 1 March 1987.", "Le 1er mars 1987, j'ai dormi."),
    "a topic stays in a subordinate clause": (
        lambda: Joined(clause(HE, "sleep", frame="intransitive", time=saying("in summer", "topic")),
                       saying("when", "subordinating")),
        "When he sleeps in summer.", "Quand il dort en été."),
    "manner": (lambda: clause(HE, "see", "past", object=phrase("the cat"), manner=saying("slowly")),
        "He saw the cat slowly.", "Il a vu lentement le chat."),
    "give": (lambda: clause(HE, "give", object=phrase("the book"), recipient=SHE,
                            frame="ditransitive"),
        "He gives the book to her.", "Il lui donne le livre."),
    "that": (lambda: clause(HE, "say", complement=clause(SHE, "sleep", frame="intransitive"),
                            frame="reporting"), "He says that she sleeps.", "Il dit qu'elle dort."),
    "particle": (lambda: clause(HE, "wake up", object=ME), "He wakes me up.", "Il me réveille."),
    "particle and noun": (lambda: clause(HE, "wake up", object=phrase("the man")),
        "He wakes up the man.", "Il réveille l'homme."),
    "eyes": (lambda: clause(HE, "see", object=phrase("many eye+")),
        "He sees many eyes.", "Il voit beaucoup d'yeux."),
    "if": (lambda: Joined(clause(HE, "sleep", frame="intransitive"), saying("if", "subordinating")),
        "If he sleeps.", "S'il dort."),
    "an": (lambda: clause(HE, "see", object=phrase("a animal")),
        "He sees an animal.", "Il voit un animal."),
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


ADJECTIVE_ENDINGS = ("e", "en", "em", "er", "es")
UNKNOWN = set(Path(__file__).with_name("german_unknown.txt").read_text("utf-8").split())
"""Right words that the dictionary lacks."""


def french_nouns() -> set[str]:
    forms = set()
    for cells in read_sections(french.__name__)["nouns"].values():
        nouns = [FrenchNoun.of(*cells[:2])]
        if len(cells) > 2:
            nouns.append(FrenchNoun.of(*cells[2].split()))
        forms |= {form for noun in nouns for form in (noun.singular, noun.plural)}
    return forms


def french_adjectives() -> set[str]:
    forms = set()
    for cells in read_sections(french.__name__)["adjectives"].values():
        each = AdjectiveForms.of(*cells[:2])
        forms |= {each.agreed(gender, plural) for gender in "mf" for plural in (False, True)}
        forms.add(each.liaison)
    return forms


def french_verbs() -> set[str]:
    forms = set()
    for cells in read_sections(french.__name__)["verbs"].values():
        for infinitive in (cells[0], *cells[2:]):
            verb = conjugate(infinitive.rstrip("+").lstrip("*"))
            simple = (verb.present, verb.imperfect, verb.future)
            forms |= {tense[person] for tense in simple for person in (0, 2, 3, 5)}
            forms |= {verb.infinitive, verb.participle}
            if infinitive.endswith("+"):
                forms |= {agree(verb.participle, gender, True) for gender in "mf"}
    return forms


def german_nouns() -> set[str]:
    forms = set()
    for cells in read_sections(german.__name__)["nouns"].values():
        noun = GermanNoun.of(cells)
        if noun.adjectival:
            forms |= {noun.singular + ending for ending in ADJECTIVE_ENDINGS}
        else:
            numbers = (False, True) if noun.plural else (False,)
            forms |= {noun.form(number, case, "") for number in numbers for case in range(4)}
    return forms


def german_adjectives() -> set[str]:
    forms = set()
    for cells in read_sections(german.__name__)["adjectives"].values():
        plain, _, stem = cells[0].partition("/")
        forms |= {plain, *((stem or plain) + ending for ending in ADJECTIVE_ENDINGS)}
    return forms


def german_verbs() -> set[str]:
    forms = set()
    for cells in read_sections(german.__name__)["verbs"].values():
        verb = GermanVerb.of(*cells)
        finite = [verb.finite(past, person) for past in (False, True) for person in range(4)]
        forms |= {*finite, *(verb.prefix + form for form in finite), verb.participle}
        forms |= {word for word, _ in verb.with_zu}
    return forms


def expressions(code: str) -> set[str]:
    return {" ".join(piece.texts) for piece in find_language(code).expressions.values()}


@pytest.mark.hunspell
@pytest.mark.skipif(shutil.which("hunspell") is None, reason="hunspell is not installed")
@pytest.mark.parametrize(
    ("dictionary", "collect"),
    [
        ("fr", french_nouns), ("fr", french_adjectives), ("fr", french_verbs),
        ("fr", partial(expressions, "fr")), ("de_DE", german_nouns),
        ("de_DE", german_adjectives), ("de_DE", german_verbs),
        ("de_DE", partial(expressions, "de")),
    ],
)  # fmt: skip
def test_every_form_is_in_the_dictionary(dictionary, collect):
    words = {word.lstrip("*+") for form in collect() for word in form.split()}
    if dictionary == "de_DE":
        words = {part for word in words for part in word.split("-")} - UNKNOWN
    assert len(words) > 100
    done = subprocess.run(
        ["hunspell", "-d", dictionary, "-i", "utf-8", "-l"],
        input="\n".join(sorted(words)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
