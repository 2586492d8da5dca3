"""Every French form of the lexicon against the dictionary of hunspell."""

import shutil
import subprocess

import pytest

from datamodules.grammar.languages import find_language, french
from datamodules.grammar.languages.french.conjugation import conjugate
from datamodules.grammar.languages.french.nouns import AdjectiveForms, NounForms, agree
from datamodules.grammar.languages.word_lists import read_sections

pytestmark = [
    pytest.mark.hunspell,
    pytest.mark.skipif(shutil.which("hunspell") is None, reason="hunspell is not installed"),
]


def noun_forms() -> set[str]:
    forms = set()
    for cells in read_sections(french.__name__)["nouns"].values():
        nouns = [NounForms.of(*cells[:2])]
        if len(cells) > 2:
            nouns.append(NounForms.of(*cells[2].split()))
        forms |= {form for noun in nouns for form in (noun.singular, noun.plural)}
    return forms


def adjective_forms() -> set[str]:
    forms = set()
    for cells in read_sections(french.__name__)["adjectives"].values():
        each = AdjectiveForms.of(*cells[:2])
        forms |= {each.agreed(gender, plural) for gender in "mf" for plural in (False, True)}
        forms.add(each.liaison)
    return forms


def verb_forms() -> set[str]:
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


def expressions() -> set[str]:
    return {" ".join(piece.texts) for piece in find_language("fr").expressions.values()}


@pytest.mark.parametrize("collect", [noun_forms, adjective_forms, verb_forms, expressions])
def test_every_form_is_in_the_dictionary(collect):
    words = {word.lstrip("*+") for form in collect() for word in form.split()}
    assert len(words) > 100
    done = subprocess.run(
        ["hunspell", "-d", "fr", "-i", "utf-8", "-l"],
        input="\n".join(sorted(words)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
