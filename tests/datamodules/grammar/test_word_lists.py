"""The marks of verbs, adjectives and expressions against the word lists of the languages."""

import pytest

from datamodules.grammar.languages import english, french, german
from datamodules.grammar.languages.language import read_sections
from datamodules.grammar.meaning.lexicon import MOST_NOUNS, lexicon
from datamodules.grammar.meaning.phrases import ANIMATE, KINDS

ENGLISH, FRENCH, GERMAN = (read_sections(each.__name__) for each in (english, french, german))
WORDS, COMMON = lexicon(MOST_NOUNS), lexicon(200)


def everything():
    """Yield all nouns, in each of their senses."""
    yield from WORDS.nouns
    for pair in WORDS.senses:
        yield from pair


def govern(sections, verb):
    return " ".join(sections["verbs"][verb.name][1:2])


@pytest.mark.parametrize("mark", ["passive", "reflexive"])
def test_a_verb_with_a_passive_or_a_reflexive_has_a_direct_object_everywhere(mark):
    marked = [verb for verb in WORDS.verbs if getattr(verb, mark)]
    assert len(marked) > 10
    assert {verb.frame for verb in marked} == {"transitive"}
    assert [verb.name for verb in marked if govern(FRENCH, verb) or govern(GERMAN, verb)] == []


def test_no_state_has_a_passive():
    assert [verb.name for verb in WORDS.verbs if verb.state and verb.passive] == []


def test_separable_verbs_are_those_with_a_part_in_german():
    for verb in WORDS.verbs:
        assert verb.separable == ("-" in GERMAN["verbs"][verb.name][0]), verb.name


def test_a_preposition_before_a_thing_is_y_or_en_in_french():
    for verb in WORDS.verbs:
        if verb.thing:
            assert verb.frame == "prepositional"
            assert govern(FRENCH, verb) in ("à", "de"), verb.name


def test_french_datives_have_a_preposition_that_becomes_a_dative():
    for name in FRENCH["datives"]:
        assert FRENCH["verbs"][name][1] == "à"


def test_common_verbs_have_many_separable_parts():
    parts = {verb.name: GERMAN["verbs"][verb.name][0].partition("-") for verb in COMMON.verbs}
    separable = {name: part for name, (part, dash, _) in parts.items() if dash}
    assert len(separable) >= 12
    assert len(set(separable.values())) >= 8


def decisions(words, noun, other):
    """Yield the verbs that take a noun in one sense and exclude the other."""
    for verb in words.verbs:
        if noun.kind in verb.objects and other.kind in verb.excludes:
            yield verb
        if noun.kind in verb.subjects and verb.living and other.kind not in ANIMATE:
            yield verb


def test_common_verbs_decide_the_sense_of_forty_nouns():
    decided = [
        (one, other)
        for one, other in COMMON.senses
        if any(next(decisions(COMMON, *pair), None) for pair in ((one, other), (other, one)))
    ]
    assert len(decided) >= 40
    for sections in (FRENCH, GERMAN):
        for one, other in decided:
            words = [sections["nouns"][sense.name][0] for sense in (one, other)]
            assert words[0] != words[1]


def test_no_sense_is_a_class_that_its_own_verbs_exclude():
    for verb in WORDS.verbs:
        assert not set(verb.objects) & set(verb.excludes), verb.name


def test_adverbs_of_manner_and_places_name_verbs_and_classes_that_exist():
    verbs = {verb.name for verb in WORDS.verbs} | {verb.frame for verb in WORDS.verbs}
    for adverb in WORDS.expressions["manner"]:
        assert set(adverb.fits) <= verbs, adverb.name
    kinds = {noun.name: noun.kind for noun in everything()} | {kind: kind for kind in KINDS}
    for section in ("place_prepositions", "attributes", "plural_attributes"):
        for preposition in WORDS.expressions[section]:
            assert set(preposition.fits) <= set(KINDS)
            if "furniture" in {kinds[place] for place in preposition.kinds}:
                assert not set(preposition.fits) & set(ANIMATE)


def test_comparatives_are_of_adjectives_with_degrees():
    graded = {adjective.name for adjective in WORDS.adjectives if adjective.graded}
    for sections in (ENGLISH, FRENCH, GERMAN):
        assert set(sections["comparatives"]) <= graded
