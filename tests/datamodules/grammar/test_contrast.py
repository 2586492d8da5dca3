"""Contrastive pairs of the grammar: one error each, equally long, spread over distances."""

import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from random import Random
from typing import Any

import pytest

from datamodules.contrast_pairs import ContrastPair
from datamodules.grammar.contrast import drawing
from datamodules.grammar.contrast.edits import Right
from datamodules.grammar.contrast.errors import CATEGORIES, CONTROLLED
from datamodules.grammar.languages import find_language
from datamodules.grammar.languages.language import read_sections
from datamodules.grammar.meaning.phrases import (
    THIRD_SINGULAR,
    Clause,
    Core,
    Expression,
    Joined,
    Mode,
    NounPhrase,
    Participant,
    Prepositional,
    Pronoun,
)
from tests.datamodules.grammar.meanings import (
    ADJECTIVES,
    HE,
    HOUSE,
    LEXICON,
    ME,
    NOUNS,
    SHE,
    SLEEP,
    THEY,
    Built,
    clause,
    phrase,
    relative,
    shared,
    sold,
    subordinate,
    two,
    unit,
)
from tests.helpers.data_settings import grammar_corpus
from tests.tools.grammar_checker import check_translation
from tests.tools.grammar_checker.german.words import WORDS as GERMAN
from tests.tools.grammar_checker.words import english, french

ALL = {"number", "coordination", "negation", "negation_control", "reflexive"}
SHOWN = {
    "en": ALL | {"particle", "particle_control"},
    "fr": ALL | {"gender", "antecedent", "sense", "clitics", "mood"},
    "de": ALL | {"gender", "antecedent", "sense", "particle", "particle_control", "case"},
}
"""Categories that a target language shows; it shows a sense if the source is English."""
RARE = {"reflexive", "clitics", "mood", "antecedent"}
DIRECTIONS = [("en", "fr"), ("en", "de"), ("fr", "de"), ("de", "fr"), ("fr", "en"), ("de", "en")]
FEWEST_SCORED, MOST_SCORED = 150, 500  # pairs of a category in one direction, at least and at most
MANY = 8_000  # sentences that show how varied the pairs are
VERBS = {verb.name for verb in LEXICON.verbs}
SENSES = {one.name.partition(":")[0] for one, _ in LEXICON.senses}
NAMES = NOUNS.keys() | {noun.name for pair in LEXICON.senses for noun in pair} | SENSES
HIMSELF = Pronoun(THIRD_SINGULAR, reflexive=True)
LEAST_NOUNS, LEAST_PARTS, MOST_ZU = 40, 8, 0.2


@cache
def drawn(target: str, sentences: int = 800, longest: int = 60) -> list[ContrastPair]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "MOST_SENTENCES", sentences)
        source = "fr" if target == "en" else "en"
        corpus = grammar_corpus(source=source, target=target, longest=longest)
        return corpus.contrastive_pairs()


def of_category(pairs: Iterable[ContrastPair], *categories: str) -> list[ContrastPair]:
    return [pair for pair in pairs if pair.category in categories]


def bare(sentence: str) -> list[str]:
    return sentence.replace("'", "' ").replace(",", "").rstrip(".?").split()


def first_change(pair: ContrastPair) -> tuple[list[str], int, str]:
    """Return the right words, the place of the first wrong one, and the wrong word there."""
    right, wrong = bare(pair.reference), bare(pair.contrastive)
    wrong += [""] * (len(right) - len(wrong))
    place = next(n for n, word in enumerate(right) if word != wrong[n])
    return right, place, wrong[place]


@pytest.mark.parametrize("target", ["fr", "en", "de"])
def test_pairs_differ_in_one_error(target):
    pairs = drawn(target)
    assert {pair.category for pair in pairs} <= SHOWN[target]
    for pair in pairs:
        right, wrong = pair.reference.split(), pair.contrastive.split()
        assert right != wrong
        if pair.category not in CONTROLLED:
            assert len(right) == len(wrong)
        assert pair.distance in drawing.DISTANCES


@pytest.mark.parametrize("target", ["fr", "de"])
def test_equal_corpora_write_equal_pairs(target):
    first = drawn(target, 60)
    drawn.cache_clear()
    assert drawn(target, 60) == first


@pytest.mark.long
def test_a_wrong_number_changes_the_verb_alone():
    for pair in of_category(drawn("de"), "number", "coordination"):
        right, wrong = pair.reference.split(), pair.contrastive.split()
        changed = [(a, b) for a, b in zip(right, wrong, strict=True) if a != b]
        assert len(changed) == 1
        assert changed[0][0].islower() or right[0] == changed[0][0]


def wrong(category: str, target: str, *joined: Built, source: str = "en") -> set[str]:
    """Return the wrong sentences of a category."""
    parts = [each for one in joined for each in (one if isinstance(one, list) else [one])]
    meaning = [each if isinstance(each, Joined) else Joined(each) for each in parts]
    right = Right(meaning, find_language(source), find_language(target), LEXICON, Random(1).random)
    built = (site.wrong() for site in CATEGORIES[category](right))
    return {right.sentence(each) for each in built if each} - {right.sentence(right.text.texts)}


def it(noun_phrase: NounPhrase) -> Pronoun:
    return Pronoun(noun_phrase.person, noun_phrase.core.noun)


def sense(name: str) -> NounPhrase:
    found = next(noun for pair in LEXICON.senses for noun in pair if noun.name == name)
    return NounPhrase(unit(), Core(found, False, "the"))


def is_big(subject: Participant) -> Clause:
    return clause(subject, "be", adjective=ADJECTIVES["big"])


def test_an_object_that_could_be_the_subject_leaves_the_number_open():
    woman, children, man = phrase("the woman"), phrase("the child+"), phrase("the man")
    assert wrong("number", "de", clause(woman, "hear", object=children)) == set()
    assert wrong("number", "fr", clause(woman, "hear", object=children))
    assert wrong("number", "de", clause(man, "hear", object=children)) == {
        "der Mann hören die Kinder"
    }
    relative(woman, "object", "hear", subject=children)
    assert wrong("number", "de", clause(woman, "sleep", **SLEEP)) == {
        "die Frau, die die Kinder hören, schlafen"
    }


def test_an_owned_object_could_be_the_subject():
    """*dessen Seil der Mann und die Frau findet*: the rope finds them."""
    man = relative(phrase("the man"), "owner", "find", subject=two("the king", "the queen"),
                   object=phrase("whose key"))  # fmt: skip
    assert wrong("coordination", "fr", clause(man, "cough", **SLEEP))
    assert wrong("coordination", "de", clause(man, "cough", **SLEEP)) == {
        "der Mann, dessen Schlüssel der König und die Königin findet, hustet"
    }
    man.relative.subject = two("the woman", "the queen")
    assert wrong("coordination", "de", clause(man, "cough", **SLEEP)) == set()


def test_a_relative_clause_behind_another_noun_leaves_the_number_open():
    man = relative(phrase("the man"), "subject", "sleep", **SLEEP)
    assert len(wrong("number", "fr", clause(man, "cough"))) == 2
    man.attribute = Prepositional(Expression("in front of"), phrase("the house+"))
    assert len(wrong("number", "fr", clause(man, "cough"))) == 1


def test_a_plural_that_looks_like_the_singular_leaves_number_and_gender_open():
    knife = phrase("the knife")
    assert wrong("gender", "de", clause(HE, "buy", object=knife)) == set()
    assert wrong("gender", "de", clause(HE, "buy", object=phrase("the table")))
    knife.core = knife.core._replace(determiner="")
    knife.owner = NounPhrase(unit(), Core(LEXICON.names[0], False, ""))
    assert wrong("number", "de", is_big(knife)) == set()


@pytest.mark.parametrize(("target", "name"), [("de", "ladder"), ("fr", "tower")])
def test_a_word_of_two_genders_is_left_out(target, name):
    thing = phrase(f"the {name}")
    assert wrong("gender", target, is_big(thing)) == set()
    assert wrong("antecedent", target, is_big(thing), is_big(it(thing))) == set()


@pytest.mark.parametrize("name", ["child", "baby", "girl", "man", "dog"])
@pytest.mark.parametrize("target", ["fr", "de"])
def test_only_things_are_antecedents(name, target):
    someone = phrase(f"the {name}")
    clauses = clause(someone, "sleep", **SLEEP), is_big(it(someone))
    assert wrong("antecedent", target, *clauses) == set()


def test_no_other_noun_has_the_gender_of_the_wrong_pronoun():
    tree, key = phrase("the tree"), phrase("the key")
    assert wrong("antecedent", "de", is_big(tree), is_big(it(tree))) == {
        "der Baum ist groß sie ist groß", "der Baum ist groß es ist groß",
    }  # fmt: skip
    tree.attribute = Prepositional(Expression("in front of"), phrase("the church"))
    assert wrong("antecedent", "de", is_big(tree), is_big(it(tree))) == {
        "der Baum vor der Kirche ist groß es ist groß"
    }
    clauses = clause(HE, "buy", object=key), clause(phrase("the queen"), "lose", object=it(key))
    assert wrong("antecedent", "fr", *clauses) == set()


def test_it_may_be_the_fact():
    key = phrase("the key")
    clauses = clause(SHE, "find", object=key), clause(HE, "forget", object=it(key))
    assert not any(" es" in each for each in wrong("antecedent", "de", *clauses))


def test_a_sense_is_open_where_the_other_one_fits():
    """*donner un rendez-vous* is the usual French."""
    given = clause(SHE, "give", object=sense("date:food"), recipient=phrase("the man"))
    assert wrong("sense", "fr", given) == set()
    eaten = clause(SHE, "eat", object=sense("date:food"))
    assert wrong("sense", "fr", eaten) == {"elle mange le rendez-vous"}
    assert wrong("sense", "de", eaten, source="fr") == set()


def test_a_negated_question_asks_for_the_same():
    asked = clause(SHE, "sleep", Mode("present", "not"), **SLEEP)
    assert wrong("negation", "fr", asked) == {"elle dort"}
    asked.question = "whether"
    assert wrong("negation", "fr", asked) == wrong("negation_control", "fr", asked) == set()


@pytest.mark.parametrize(
    ("target", "category", "right", "expected"),
    [
        ("en", "coordination", clause(two("the man", "the woman"), "sleep", **SLEEP),
         {"the man and the woman sleeps"}),
        ("fr", "coordination", clause(two("the man", "the woman"), "sleep", "past", **SLEEP),
         {"l'homme et la femme a dormi"}),
        ("de", "coordination", clause(two("the man+", "the woman"), "sleep", **SLEEP),
         {"die Männer und die Frau schläft"}),
        ("en", "number", clause(two("the man", "the woman"), "sleep", **SLEEP), set()),
        ("fr", "gender", is_big(two("the table", "the house")), set()),
        ("fr", "number", shared(clause(phrase("the man"), "sleep", **SLEEP), "cough"),
         {"l'homme dorment et tousse", "l'homme dort et toussent"}),
        ("de", "number", sold(Mode("present"), phrase("the woman+")),
         {"das Haus werden von den Frauen verkauft"}),
        ("fr", "number", clause(None, "sleep", question="who", **SLEEP), set()),
        ("en", "number", clause(phrase("the man"), "sleep", question="whether", **SLEEP),
         {"do the man sleep"}),
        ("de", "number", clause(phrase("the man"), "sleep", question="whether", **SLEEP),
         {"schlafen der Mann"}),
        ("en", "reflexive", clause(phrase("the man"), "wash", object=HIMSELF),
         {"the man washes him"}),
        ("fr", "reflexive", clause(phrase("the man"), "wash", object=HE), {"l'homme se lave"}),
        ("de", "reflexive", clause(phrase("the man+"), "wash", object=THEY),
         {"die Männer waschen sich"}),
        ("en", "reflexive", clause(phrase("the man"), "wash", object=SHE), set()),
        ("fr", "clitics", clause(phrase("the man"), "give", object=HOUSE, recipient=ME),
         {"l'homme la me donne"}),
        ("fr", "clitics", clause(phrase("the man"), "give", object=HOUSE, recipient=HE),
         {"l'homme lui la donne"}),
        ("de", "clitics", clause(phrase("the man"), "give", object=HOUSE, recipient=ME), set()),
        ("de", "case", clause(phrase("the woman"), "break", object=phrase("the bottle")),
         {"die Frau zerbricht der Flasche"}),
        ("de", "case", clause(phrase("the woman"), "break", "future", object=phrase("the bottle"),
                              question="whether"), set()),
        ("fr", "mood", subordinate("although", Mode("past", subjunctive=True)),
         {"il a travaillé bien qu'elle est arrivée"}),
        ("de", "mood", subordinate("although", Mode("past", subjunctive=True)), set()),
    ],
)  # fmt: skip
def test_errors_of_constructions(target, category, right, expected):
    assert wrong(category, target, right) == expected


def test_the_lists_name_words_of_the_lexicon():
    for section, entries in read_sections("datamodules.grammar.contrast", "verbs.txt").items():
        if not section.startswith("strange"):
            is_of_nouns = section.startswith(("two_genders", "covers"))
            assert entries.keys() <= (NAMES if is_of_nouns else VERBS), section


@pytest.mark.hunspell
@pytest.mark.skipif(shutil.which("hunspell") is None, reason="hunspell is not installed")
def test_a_wrong_part_makes_no_german_verb():
    """*nachschauen* is one, so that *schaut … nach* is no error."""
    lists = read_sections("datamodules.grammar.contrast", "verbs.txt")["strange_de"]
    words = [f"{part}{stem}" for stem, cells in lists.items() for part in cells[0].split()]
    command = ["hunspell", "-d", "de_DE", "-i", "utf-8", "-l"]
    unknown = subprocess.run(
        command, input="\n".join(words), capture_output=True, text=True, check=True
    )
    assert unknown.stdout.split() == words


def test_the_source_tells_no_gender_of_an_antecedent():
    for pair in of_category([*drawn("fr"), *drawn("de")], "antecedent"):
        assert {"it", "they", "them"}.intersection(bare(pair.source.lower()))


@pytest.mark.long
@pytest.mark.parametrize("target", ["fr", "de"])
def test_no_noun_before_a_pronoun_has_the_wrong_gender(target):
    pronouns = {
        "fr": {"il": "m", "le": "m", "elle": "f", "la": "f"},
        "de": {"er": "m", "ihn": "m", "sie": "f", "es": "n"},
    }[target]
    for pair in of_category(drawn(target, MANY), "antecedent"):
        right, place, pronoun = first_change(pair)
        gender = pronouns.get(pronoun.lower())
        before = " ".join(right[: place if gender else 0]).replace("appareil photo", "appareil")
        assert [word for word in before.split() if genders_of(word, target) == {gender}] == [], pair


def genders_of(word: str, target: str) -> set[str]:
    """Return the genders of a noun in the singular."""
    if target == "de":
        return {form.gender for form in GERMAN.nouns.get(word, ())}
    forms = french().nouns.get(word, ())
    return {gender for form in forms if True not in form.plurals for gender in form.genders}


def changed_nouns(pairs: Iterable[ContrastPair], target: str) -> set[str]:
    """Return the first noun from each error on, in the right translation."""
    known: Mapping[str, Any] = french().nouns if target == "fr" else GERMAN.nouns
    found = set()
    for pair in pairs:
        right, place, _ = first_change(pair)
        found.update([form.lemma for word in right[place:] for form in known.get(word, ())][:1])
    return found


@pytest.mark.long
@pytest.mark.parametrize("target", ["fr", "de"])
def test_gender_and_sense_are_tested_over_many_nouns(target):
    pairs = drawn(target, MANY)
    assert len(changed_nouns(of_category(pairs, "gender"), target)) >= LEAST_NOUNS
    right = changed_nouns(of_category(pairs, "sense"), target)
    translations = english().nouns_in_french if target == "fr" else GERMAN.nouns_in_german
    assert sum(not translations[word].isdisjoint(right) for word in SENSES) >= LEAST_NOUNS


@pytest.mark.long
def test_many_separable_parts_are_tested():
    pairs = of_category(drawn("de", MANY), "particle", "particle_control")
    parts = Counter(right[place] for right, place, _ in map(first_change, pairs))
    assert len(parts) >= LEAST_PARTS
    assert parts["zu"] <= MOST_ZU * parts.total()


def scored(source: str, target: str, sentences: int, **knobs: Any) -> list[ContrastPair]:
    """Return pairs of a direction, at most ``MOST_SCORED`` of each category."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "MOST_SENTENCES", sentences)
        patch.setattr(drawing, "EACH", 10 * drawing.EACH)
        pairs = grammar_corpus(source=source, target=target, **knobs).contrastive_pairs()
    by_category: dict[str, list[ContrastPair]] = defaultdict(list)
    for pair in pairs:
        by_category[pair.category].append(pair)
    return [
        pair
        for found in by_category.values()
        for pair in found[:: 1 + len(found) // MOST_SCORED]  # from all distances
    ]


def mistaken(source: str, target: str, pairs: Iterable[ContrastPair]) -> list[ContrastPair]:
    """Return the pairs in which the checker finds no more in the wrong translation."""

    @cache
    def findings(sentence: str, translation: str) -> int:
        return len(check_translation(sentence, translation, (source, target)))

    return [
        pair
        for pair in pairs
        if findings(pair.source, pair.reference) or not findings(pair.source, pair.contrastive)
    ]


@pytest.mark.long
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_scorer_made_of_the_checker_is_right(source, target):
    pairs = scored(source, target, 150)
    assert {pair.category for pair in pairs} <= SHOWN[target]
    assert mistaken(source, target, pairs) == []


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_scorer_is_right_in_150_pairs_of_every_category(source, target):
    sentences = 30_000 if target == "en" else 3500
    pairs = scored(source, target, sentences, ambiguity=1)
    counts = Counter(pair.category for pair in pairs)
    often = SHOWN[target] - RARE - ({"sense"} if source != "en" else set())
    assert min(counts[category] for category in often) >= FEWEST_SCORED, counts
    assert mistaken(source, target, pairs) == []


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_scorer_is_right_with_all_words(source, target):
    pairs = scored(source, target, 1000, vocabulary=2000, zipf=0, ambiguity=1, longest=80)
    assert mistaken(source, target, pairs) == []


@pytest.mark.long
@pytest.mark.exhaustive
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_every_distance_has_its_pairs(source, target):
    pairs = grammar_corpus(source=source, target=target).contrastive_pairs()
    distances = Counter(pair.distance for pair in pairs)
    assert distances == dict.fromkeys(drawing.DISTANCES, drawing.EACH)
