"""Agreement, elision, contraction and negation in the French of a whole split."""

import re
from collections import Counter
from fnmatch import fnmatch
from itertools import pairwise

from datamodules.grammar.lexicon import words as lexicon
from datamodules.grammar.lexicon.words import ADJECTIVES, NOUNS
from tests.datamodules.grammar.samples import bare_words, split

ASPIRATED = {"héros", "hibou", "hiboux", "hérisson", "hérissons", "haricot", "haricots", "homard",
             "homards", "hache", "haches", "harpe", "harpes", "hameau", "hameaux"}  # fmt: skip
WHOLE = {"le", "la", "je", "ne", "de", "que"}


def starts_with_vowel(word: str) -> bool:
    return word[0] in "aeiouyhàâéèêîôœ" and word not in ASPIRATED


def test_elision_and_contraction_everywhere():
    elided = contracted = 0
    for line in split("train").target:
        french = bare_words(line)
        for word, following in pairwise(french):
            if word.endswith("'"):
                assert starts_with_vowel(following), line
                elided += 1
            assert not (word in WHOLE and starts_with_vowel(following)), line
            assert (word, following) not in {("de", "le"), ("de", "les"), ("si", "il")}, line
            assert (word, following) not in {("de", "de"), ("de", "des"), ("à", "les")}, line
            contracted += word in ("du", "au", "aux")
    assert elided > 3000
    assert contracted > 500


# Gender and number of the noun after a French determiner; "*" means any gender.
DETERMINERS = {
    "le": "ms", "un": "ms", "ce": "ms", "cet": "ms", "mon": "*s", "son": "*s", "du": "ms",
    "au": "ms", "la": "fs", "une": "fs", "cette": "fs", "ma": "fs", "sa": "fs", "l'": "*s",
    "notre": "*s", "leur": "*s", "chaque": "*s", "les": "*p", "des": "*p", "ces": "*p",
    "mes": "*p", "ses": "*p", "nos": "*p", "leurs": "*p", "aux": "*p", "deux": "*p",
    "trois": "*p", "plusieurs": "*p",
}  # fmt: skip


def french_nouns() -> dict[str, set[str]]:
    """Return the genders and numbers of each French noun; the key is the first word of the noun."""
    agreements: dict[str, set[str]] = {}
    for noun in NOUNS:
        for form, number in ((noun.french, "s"), (noun.french_plural, "p")):
            if form:
                head = form.lstrip("*").split()[0]
                agreements.setdefault(head, set()).add(noun.gender + number)
    del agreements["lit"]  # "les lit" may also be "reads them"
    return agreements


def without_complements(line: str) -> str:
    """Shorten French compounds to their first word: *tarte aux pommes* to *tarte*."""
    for noun in NOUNS:
        for form in (noun.french, noun.french_plural):
            head, space, complement = form.partition(" ")
            if space:
                line = re.sub(rf"\b{head} {complement}\b", head, line)
    return line


def french_adjectives(before: bool) -> dict[str, set[str]]:
    """Return the genders and numbers of each form of the adjectives on one side of the noun."""
    agreements: dict[str, set[str]] = {}
    for item in ADJECTIVES:
        if item.before == before:
            for form, agreement in (
                (item.masculine, "ms"), (item.liaison, "ms"), (item.feminine, "fs"),
                (item.masculine_plural, "mp"), (item.feminine_plural, "fp"),
            ):  # fmt: skip
                agreements.setdefault(form, set()).add(agreement)
    return agreements


def test_determiners_and_adjectives_agree_with_their_noun():
    nouns = french_nouns()
    before, after = french_adjectives(True), french_adjectives(False)
    checked: Counter[str] = Counter()
    for line in split("train").target[:6000]:
        french = bare_words(without_complements(line))
        for start, determiner in enumerate(french):
            position = start + 1
            while position < len(french) and french[position] in before:
                position += 1
            if determiner not in DETERMINERS or position >= len(french):
                continue
            noun = french[position]
            if noun not in nouns:
                continue
            agreements = nouns[noun]
            assert any(fnmatch(item, DETERMINERS[determiner]) for item in agreements), line
            if determiner in ("ma", "sa", "la", "le", "ce"):
                assert not starts_with_vowel(french[start + 1]), line
            for adjective in french[start + 1 : position]:
                assert before[adjective] & agreements, line
                checked["before"] += 1
            if position + 1 < len(french) and french[position + 1] in after:
                assert after[french[position + 1]] & agreements, line
                checked["after"] += 1
            checked["nouns"] += 1
    assert checked["nouns"] > 10000
    assert min(checked["before"], checked["after"]) > 2000


def test_adjectives_have_a_form_for_a_vowel():
    liaison = {"vieux": "vieil", "beau": "bel", "nouveau": "nouvel"}
    singular = {noun.french.lstrip("*") for noun in NOUNS if noun.gender == "m"}
    checked = 0
    for line in [*split("train").target, *split("test").target]:
        french = bare_words(line)
        for word, following in pairwise(french):
            if following in singular and following not in {"souris", "ours"}:
                assert not (word in liaison and starts_with_vowel(following)), line
            if word in liaison.values():
                assert starts_with_vowel(following), line
                checked += 1
    assert checked > 100


def test_negation_stands_around_the_verb():
    for english, french in zip(split("train").source, split("train").target, strict=True):
        denied = len(re.findall(r"\b(not|cannot|never|no)\b", english))
        spelt = bare_words(french)
        assert denied == sum(word in ("ne", "n'") for word in spelt)
        assert denied == sum(word in ("pas", "jamais") for word in spelt)


def test_a_sentence_has_one_translation():
    text = split("train")
    pairs = set(zip(text.source, text.target, strict=True))
    assert len(pairs) == len(set(text.source))


def test_the_lexicon_is_large_enough():
    nouns, adjectives = {noun.english for noun in NOUNS}, {item.english for item in ADJECTIVES}
    groups = lexicon.TRANSITIVE, lexicon.INTRANSITIVE, lexicon.DITRANSITIVE, lexicon.REPORTING
    verbs = {verb.english for group in groups for verb in group}
    assert len(nouns) + len(adjectives) + len(verbs) >= 150
