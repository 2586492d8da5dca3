"""Every form of the French and German word lists against hunspell's dictionaries."""

import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from datamodules.grammar.languages import find_language, french, german
from datamodules.grammar.languages.french.nouns import AdjectiveForms, FrenchNoun, agree
from datamodules.grammar.languages.french.verbs import conjugate
from datamodules.grammar.languages.german.nouns import GermanNoun
from datamodules.grammar.languages.german.verbs import GermanVerb
from datamodules.grammar.languages.language import read_sections

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
        tenses = ("present", "past", "unreal") if verb.unreal else ("present", "past")
        finite = [verb.finite(tense, person) for tense in tenses for person in range(4)]
        forms |= {*finite, *(verb.prefix + form for form in finite), verb.participle}
        forms |= {word for word, _ in verb.with_zu()}
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
