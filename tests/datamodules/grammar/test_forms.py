"""Forms of the grammar against hand-written English and French."""

import pytest

from datamodules.grammar.languages import english
from datamodules.grammar.lexicon import words as lexicon
from datamodules.grammar.lexicon.words import ADJECTIVES, NOUNS, TRANSITIVE, Adjective, Noun, Verb
from datamodules.grammar.nominals import (
    NO_LEAD,
    Lead,
    Role,
    bare,
    nominal,
    noun_form,
    prefixes,
    silent_article,
)
from datamodules.grammar.noun_phrases import OF
from datamodules.grammar.phrase import Phrase, crossed, joined, possessive
from datamodules.grammar.verb_groups import (
    BE,
    CAN,
    GOING,
    HIM,
    IT,
    NOUN_SUBJECTS,
    PRONOUN_SUBJECTS,
    THEM,
    WANT,
    Mode,
    Subject,
    verb_group,
)


def noun(word: str) -> Noun:
    return next(item for item in NOUNS if item.english == word)


def adjective(word: str) -> Adjective:
    return next(item for item in ADJECTIVES if item.english == word)


def verb(word: str) -> Verb:
    groups = TRANSITIVE, lexicon.INTRANSITIVE, lexicon.PREPOSITIONAL, lexicon.REPORTING
    return next(item for group in groups for item in group if item.english == word)


def pronoun(word: str) -> Subject:
    return next(item for item in PRONOUN_SUBJECTS if item.english == word)


def noun_phrase(text: str, lead: Lead = NO_LEAD, role: Role = "direct") -> Phrase:
    """Build the phrase of an English noun phrase, given as words separated by ``|``."""
    determiner, *described, name = text.split("|")
    head = next(item for item in NOUNS if name in (item.english, item.english_plural))
    form = noun_form(head, name == head.english_plural)
    chosen = [adjective(word) for word in described]
    before = next((item for item in chosen if item.before), None)
    after = next((item for item in chosen if not item.before), None)
    rest = nominal(form, before, after)
    written = [prefix[rest.shape] for prefix in prefixes(lead, role, form.count).items]
    prefix = next(item for item in written if item.english.split()[-1] == determiner)
    return joined(prefix, rest.phrase)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the|man", "l'homme"),
        ("the|hero", "le héros"),
        ("a|hero", "un héros"),
        ("the|axe", "la hache"),
        ("many|heroes", "beaucoup de héros"),
        ("many|owls", "beaucoup de hiboux"),
        ("many|friends", "beaucoup d'amis"),
        ("this|child", "cet enfant"),
        ("this|hedgehog", "ce hérisson"),
        ("an|old|actress", "une vieille actrice"),
        ("my|school", "mon école"),
        ("my|big|school", "ma grande école"),
        ("an|old|friend", "un vieil ami"),
        ("the|old|hero", "le vieux héros"),
        ("a|beautiful|hotel", "un bel hôtel"),
        ("a|new|umbrella", "un nouveau parapluie"),
        ("the|new|plane", "le nouvel avion"),
        ("the|beautiful|planes", "les beaux avions"),
        ("the|new|factories", "les nouvelles usines"),
        ("some|apples", "des pommes"),
        ("some|big|apples", "de grandes pommes"),
        ("some|huge|elephants", "d'énormes éléphants"),
        ("the|huge|table", "l'énorme table"),
        ("some|bread", "du pain"),
        ("some|meat", "de la viande"),
        ("some|water", "de l'eau"),
        ("the|big|white|cow", "la grande vache blanche"),
        ("the|jealous|women", "les femmes jalouses"),
        ("these|brown|dogs", "ces chiens marron"),
        ("the|newspapers", "les journaux"),
        ("two|delicious|apple pies", "deux tartes aux pommes délicieuses"),
        ("the|potatoes", "les pommes de terre"),
        ("the|train station", "la gare"),
        ("a|useful|tool", "un outil utile"),
        ("an|honest|lawyer", "un avocat honnête"),
    ],
)
def test_noun_phrases(text, expected):
    written = noun_phrase(text)
    assert written.french.strip() == expected
    assert written.english.strip() == text.replace("|", " ")


def test_indefinite_after_negation():
    assert noun_phrase("an|apple", role="denied direct").french == "de pomme "
    assert noun_phrase("an|egg", role="denied direct").french == "d'œuf "
    assert noun_phrase("any|big|cakes", role="denied direct").french == "de grands gâteaux "


@pytest.mark.parametrize(
    ("preposition", "text", "expected"),
    [
        ("à", "the|man", "à l'homme"),
        ("à", "the|teacher", "au professeur"),
        ("à", "the|student", "à l'étudiant"),
        ("à", "the|hero", "au héros"),
        ("à", "the|women", "aux femmes"),
        ("de", "the|market", "du marché"),
        ("de", "the|hospital", "de l'hôpital"),
        ("de", "the|hamlet", "du hameau"),
        ("de", "the|houses", "des maisons"),
        ("de", "a|church", "d'une église"),
        ("de", "some|churches", "d'églises"),
        ("de", "some|big|houses", "de grandes maisons"),
        ("que", "a|man", "qu'un homme"),
        ("que", "the|man", "que l'homme"),
        ("parce que", "a|man", "parce qu'un homme"),
    ],
)
def test_contraction_and_elision(preposition, text, expected):
    links = tuple((0, j) for j in range(len(preposition.split())))
    written = noun_phrase(text, Lead("x", preposition, links), "free")
    assert written.french.strip() == expected


def test_si_elides_only_before_il():
    condition = bare(Lead("if", "si", ((0, 0),)))
    assert condition[pronoun("he").shape].french == "s'"
    assert condition[pronoun("they").shape].french == "s'"
    assert condition[pronoun("she").shape].french == "si "
    assert condition[pronoun("I").shape].french == "si "


HE, SHE, ME, WE, THEY = (pronoun(word) for word in ("he", "she", "I", "we", "they"))
MAN, WOMEN = NOUN_SUBJECTS["m", False], NOUN_SUBJECTS["f", True]
PAST, NOT, NEVER = Mode(past=True), Mode(negation="not"), Mode(negation="never")
WILL = Mode(modal=GOING)


@pytest.mark.parametrize(
    ("written", "expected_english", "expected_french"),
    [
        (verb_group(MAN, verb("eat"), NOT), "does not eat", "ne mange pas"),
        (verb_group(MAN, verb("love"), NOT), "does not love", "n'aime pas"),
        (verb_group(HE, verb("see"), NOT, HIM), "he does not see him", "il ne le voit pas"),
        (verb_group(ME, verb("love"), Mode()), "I love", "j'aime"),
        (verb_group(ME, verb("love"), Mode(), HIM), "I love him", "je l'aime"),
        (verb_group(ME, verb("hear"), NOT), "I do not hear", "je n'entends pas"),
        (verb_group(WE, verb("eat"), NEVER), "we never eat", "nous ne mangeons jamais"),
        (verb_group(WE, verb("protect"), Mode()), "we protect", "nous protégeons"),
        (verb_group(THEY, verb("clean"), Mode()), "they clean", "ils nettoient"),
        (verb_group(THEY, verb("call"), Mode()), "they call", "ils appellent"),
        (verb_group(THEY, verb("choose"), Mode()), "they choose", "ils choisissent"),
        (verb_group(SHE, verb("buy"), Mode()), "she buys", "elle achète"),
        (verb_group(SHE, verb("read"), Mode()), "she reads", "elle lit"),
        (verb_group(MAN, verb("eat"), PAST), "ate", "a mangé"),
        (verb_group(MAN, verb("eat"), PAST, IT["f"]), "ate it", "l'a mangée"),
        (verb_group(WE, verb("see"), PAST, THEM["f"]), "we saw them", "nous les avons vues"),
        (
            verb_group(MAN, verb("eat"), Mode(past=True, negation="not")),
            "did not eat",
            "n'a pas mangé",
        ),
        (verb_group(SHE, verb("arrive"), PAST), "she arrived", "elle est arrivée"),
        (verb_group(WOMEN, verb("fall"), PAST), "fell", "sont tombées"),
        (verb_group(WOMEN, verb("love"), PAST), "loved", "aimaient"),
        (verb_group(MAN, verb("eat"), WILL), "is going to eat", "va manger"),
        (
            verb_group(ME, verb("see"), Mode(modal=GOING, negation="not"), HIM),
            "I am not going to see him",
            "je ne vais pas le voir",
        ),
        (
            verb_group(HE, verb("love"), Mode(modal=WANT, negation="not"), HIM),
            "he does not want to love him",
            "il ne veut pas l'aimer",
        ),
        (verb_group(MAN, verb("run"), Mode(modal=CAN, negation="not")), "cannot run",
         "ne peut pas courir"),
        (verb_group(MAN, verb("look at"), NOT, HIM), "does not look at him", "ne le regarde pas"),
        (verb_group(SHE, verb("need"), NOT), "she does not need", "elle n'a pas besoin"),
        (verb_group(WOMEN, BE, NOT), "are not", "ne sont pas"),
        (verb_group(MAN, BE, Mode(past=True, negation="not")), "was not", "n'était pas"),
    ],
)  # fmt: skip
def test_verb_groups(written, expected_english, expected_french):
    assert written.english.strip() == expected_english
    assert written.french.strip() == expected_french


def test_participle_agrees_with_antecedent():
    group = verb_group(MAN, verb("eat"), PAST, None, NOUN_SUBJECTS["f", True])
    assert group.french == "a mangées "


@pytest.mark.parametrize(
    ("word", "article"),
    [("apple", True), ("uniform", False), ("honest", True), ("hen", False), ("useful", False)],
)
def test_a_or_an(word, article):
    assert english.takes_an(word) is article


def test_links_of_negation_elision_and_articles():
    pieces = [noun_phrase("the|man"), verb_group(MAN, verb("eat"), NOT), noun_phrase("the|apple")]
    sentence = joined(joined(pieces[0], pieces[1]), pieces[2])
    assert sentence.english == "the man does not eat the apple "
    assert sentence.french == "l'homme ne mange pas la pomme "
    assert sentence.links.line(0, 0) == " 0-0 1-0 2-2 3-1 3-3 4-2 5-4 6-5"


def test_links_of_crossing_phrases():
    teacher = nominal(noun_form(noun("teacher"), False), owner=True)
    book = nominal(noun_form(noun("book"), False))
    owner = joined(prefixes(OF, "free", "singular").items[0][teacher.shape], teacher.phrase)
    owned = joined(silent_article()[book.shape], book.phrase)
    written = possessive(owner, owned)
    assert written.english == "the teacher's book "
    assert written.french == "le livre du professeur "
    assert written.links.line(0, 0) == " 0-2 1-0 1-3 2-1"

    gift = crossed(noun_phrase("the|child", Lead("", "à", ((0, 0),))), noun_phrase("a|key"))
    assert gift.english == "the child a key "
    assert gift.french == "une clé à l'enfant "
    assert gift.links.line(0, 0) == " 0-2 0-3 1-3 2-0 3-1"
