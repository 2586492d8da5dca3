"""The marks of verbs, adjectives and expressions against the word lists of the languages."""

import pytest

from datamodules.grammar.languages import french, german
from datamodules.grammar.languages.language import read_sections
from datamodules.grammar.meaning.lexicon import MOST_NOUNS, lexicon

FRENCH, GERMAN = read_sections(french.__name__), read_sections(german.__name__)
WORDS = lexicon(MOST_NOUNS)


def govern(sections, verb):
    return " ".join(sections["verbs"][verb.name][1:2])


@pytest.mark.parametrize("mark", ["passive", "reflexive"])
def test_a_verb_with_a_passive_or_a_reflexive_has_a_direct_object_everywhere(mark):
    marked = [verb for verb in WORDS.verbs if getattr(verb, mark)]
    assert len(marked) > 20
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
