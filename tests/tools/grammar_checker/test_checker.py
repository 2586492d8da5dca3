"""The grammar writes right sentences, and the checker finds planted errors."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count, islice
from typing import NamedTuple

import pytest

from tests.tools.grammar_checker import check_english, check_french, check_german, check_pair
from tests.tools.grammar_checker.__main__ import LANGUAGES, SETTINGS, Languages, pairs, wrong_pairs
from tests.tools.grammar_checker.words import FOLDER


class Plant(NamedTuple):
    """A kind of error: a pattern in the text of one language, and its replacement."""

    side: str
    name: str
    pattern: str
    replacement: str


def read_plants() -> list[Plant]:
    """Read the table of errors; a word in braces stands for a line ``WORD=pattern``."""
    plants = []
    patterns: dict[str, str] = {}
    for line in (FOLDER / "plants.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if "@" in line:
            side, name, pattern, replacement, _ = line.split("@")
            for word, meaning in patterns.items():
                pattern = pattern.replace("{" + word + "}", meaning)
            plants.append(Plant(side, name, pattern, replacement))
        else:
            word, _, meaning = line.partition("=")
            patterns[word] = meaning
    return plants


PLANTS = read_plants()


MOST_PAIRS = 30_000  # pairs of a setting in which errors are planted, at most
FEWEST = 20  # sentences in which each kind of error is planted, at least


class Drawn:
    """Right pairs of all settings in turn, drawn as far as they are looked at."""

    def __init__(self, language: str) -> None:
        every = (pairs(setting, MOST_PAIRS, ("en", language)) for setting in SETTINGS)
        self._source = (pair for turn in zip(*every, strict=True) for pair in turn)
        self._drawn: list[tuple[str, str]] = []

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for place in count():
            if place == len(self._drawn):
                pair = next(self._source, None)
                if pair is None:
                    return
                self._drawn.append(pair)
            yield self._drawn[place]


drawn = cache(Drawn)


def wrong(setting: str, most: int, languages: Languages) -> list[tuple[str, str, list[str]]]:
    return list(islice(wrong_pairs(setting, most, languages), 5))


@pytest.mark.parametrize("languages", LANGUAGES, ids="-".join)
@pytest.mark.parametrize("setting", ["default", "hard"])
def test_the_grammar_writes_right_pairs(setting: str, languages: Languages) -> None:
    assert wrong(setting, 400, languages) == []


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize("languages", LANGUAGES, ids="-".join)
@pytest.mark.parametrize("setting", list(SETTINGS))
def test_the_grammar_writes_thousands_of_right_pairs(setting: str, languages: Languages) -> None:
    """``make grammar`` reads 40,000 pairs of each two languages."""
    assert wrong(setting, 2_000, languages) == []


def with_capital(sentence: str, first: str) -> str:
    """Return a sentence that begins with a capital, though its ``first`` word has moved."""
    if not sentence.startswith(first) and not sentence[0].isupper():
        sentence = sentence.replace(f" {first} ", f" {first.lower()} ", 1)
        sentence = sentence[0].upper() + sentence[1:]
    return sentence


def planted(plant: Plant) -> list[tuple[str, str]]:
    found = []
    is_english = plant.side.endswith("en")
    for pair in drawn("de" if plant.side.endswith("de") else "fr"):
        text = pair[0 if is_english else 1]
        changed, places = re.subn(plant.pattern, plant.replacement, text, count=1)
        if places:
            changed = (
                with_capital(changed, text.split()[0]) if plant.replacement[:1] == "\\" else changed
            )
            found.append((changed, pair[1]) if is_english else (pair[0], changed))
            if len(found) == 2 * FEWEST:
                break
    return found


@pytest.mark.long
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.side}: {plant.name}")
def test_planted_errors_are_found(plant: Plant) -> None:
    found = planted(plant)
    assert len(found) >= FEWEST
    checks: dict[str, Callable[[tuple[str, str]], list[str]]] = {
        "fr": lambda pair: check_french(pair[1]),
        "de": lambda pair: check_german(pair[1]),
        "en": lambda pair: check_english(pair[0]),
        "pair-de": lambda pair: check_pair(*pair, "de"),
    }
    check = checks.get(plant.side, lambda pair: check_pair(*pair))
    assert [pair for pair in found if not check(pair)] == []


class Example(NamedTuple):
    """A sentence of the table, or a pair of English and French."""

    construction: str
    language: str
    right: bool
    text: str


def read_examples() -> list[Example]:
    """Read the table of sentences; a line in brackets names the construction of those below."""
    found, construction = [], ""
    for line in (FOLDER / "sentences.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            construction = line.strip("[]")
        elif line and not line.startswith("#"):
            language, mark, text = line.split(" ", 2)
            found.append(Example(construction, language, mark == "+", text))
    return found


EXAMPLES = read_examples()


@pytest.mark.parametrize("construction", dict.fromkeys(each.construction for each in EXAMPLES))
def test_right_and_wrong_sentences(construction: str) -> None:
    """Each construction has sentences that are right and wrong in each language."""
    checks: dict[str, Callable[[str], list[str]]] = {
        "en": check_english,
        "fr": check_french,
        "de": check_german,
        "pair": lambda text: check_pair(*text.split(" | ")),
    }
    examples = [each for each in EXAMPLES if each.construction == construction]
    judged = [each for each in examples if each.right != (not checks[each.language](each.text))]
    assert judged == []
    for right in (True, False):
        assert sum(each.right == right for each in examples) >= 5


def test_sides_are_checked_alone() -> None:
    assert check_french("Ces hommes ont vu la grande maison rouge.") == []
    assert check_french("Ces hommes a vu la grande maison rouge.") != []
    assert check_english("The trees near the house are old.") == []
    assert check_english("The trees near the house is old.") != []
    assert check_german("Die Bäume nahe dem Haus sind alt.") == []
    assert check_german("Die Bäume nahe dem Haus ist alt.") != []
