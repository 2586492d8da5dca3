"""Checks one sentence, or a sentence with its translation."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import TypeVar

from tests.grammar_checker import english_nouns
from tests.grammar_checker.english import EnglishReader
from tests.grammar_checker.english import split as split_english
from tests.grammar_checker.french import FrenchReader
from tests.grammar_checker.french_nouns import NAMES, WORDS
from tests.grammar_checker.french_sound import check_sound
from tests.grammar_checker.french_sound import split as split_french
from tests.grammar_checker.reader import Reader

MOST_CHOICES = 5
"""Most ambiguous words of a sentence whose other readings are tried."""
Kind = TypeVar("Kind", bound=Reader)
ENGLISH = english_nouns.WORDS


def check_english(sentence: str) -> list[str]:
    """Return what is wrong with an English sentence."""
    return _read(EnglishReader, _prepared(split_english(_without_stop(sentence)))).findings


def check_french(sentence: str) -> list[str]:
    """Return what is wrong with a French sentence."""
    words = _prepared(split_french(_without_stop(sentence)))
    return check_sound(words, WORDS.infinitives) + _read(FrenchReader, words).findings


def check_pair(english: str, french: str) -> list[str]:
    """Return what is wrong with a sentence and its translation."""
    words = _prepared(split_english(_without_stop(english)))
    others = _prepared(split_french(_without_stop(french)))
    first, second = _read(EnglishReader, words), _read(FrenchReader, others)
    findings = [*first.findings, *check_sound(others, WORDS.infinitives), *second.findings]
    findings = findings or list(_differences(first, second))
    if findings and not first.findings and not second.findings:
        for one in _readings(EnglishReader, words):
            for other in _readings(FrenchReader, others):
                if not any(_differences(one, other)):
                    return check_sound(others, WORDS.infinitives)
    return findings


def _without_stop(sentence: str) -> str:
    return sentence.removesuffix(".") + " "


def _prepared(words: list[str]) -> list[str]:
    """Return words with a small letter at the beginning, unless it is a name."""
    if words and words[0] not in NAMES and words[0] not in ("Mr", "Mrs", "I"):
        words[0] = words[0].lower()
    return words


def _read(reader: type[Kind], words: list[str]) -> Kind:
    """Read a sentence; if something is wrong, try other readings of ambiguous words."""
    first = reader(words)
    first.read()
    return next(_readings(reader, words), first) if first.findings else first


def _readings(reader: type[Kind], words: list[str]) -> Iterator[Kind]:
    """Yield the readings of a sentence in which nothing is wrong."""
    first = reader(words)
    first.read()
    if not first.findings:
        yield first
    choices = list(dict.fromkeys(first.choices))[-MOST_CHOICES:]
    for number in range(1, len(choices) + 1):
        for flips in combinations(choices, number):
            other = reader(words, frozenset(flips))
            other.read()
            if not other.findings:
                yield other


def _differences(english: Reader, french: Reader) -> Iterable[str]:
    """Yield what differs between a sentence and its translation."""
    first, second = english.seen, french.seen
    for kind in ("tense", "name", "person", "determiner", "negation", "adverb"):
        if first[kind] != second[kind]:
            yield f"{kind}: {dict(first[kind])} is not {dict(second[kind])}"
    for kind, table in (
        ("verb", ENGLISH.verbs_in_french | VERBS),
        ("adjective", ENGLISH.adjectives_in_french),
    ):
        yield from _untranslated(kind, first[kind], second[kind], table)
        if first[kind].total() != second[kind].total():
            yield f"{kind}: another number of words"
    for plural in (False, True):
        words = Counter(
            {word: n for (word, number), n in english.nouns.items() if number == plural}
        )
        others = _of_number(french.nouns, plural)
        yield from _untranslated("noun", words, others, ENGLISH.nouns_in_french)
    if english.nouns.total() != french.nouns.total():
        yield "noun: another number of words"


VERBS = {
    "be": frozenset(("être",)), "can": frozenset(("pouvoir",)), "must": frozenset(("devoir",)),
}  # fmt: skip


def _of_number(nouns: Mapping[tuple[str, bool | None], int], plural: bool) -> Counter[str]:
    """Return the nouns of one number, and those whose form does not tell it."""
    found: Counter[str] = Counter()
    for (word, number), count in nouns.items():
        if number is None or number == plural:
            found[word] += count
    return found


def _untranslated(
    kind: str,
    words: Mapping[str, int],
    others: Mapping[str, int],
    table: Mapping[str, frozenset[str]],
) -> Iterable[str]:
    """Yield the words without a translation on the other side."""
    left = Counter(others)
    by_choice = sorted((len(table[word]), word, count) for word, count in words.items() if count)
    for _, word, count in by_choice:
        for _ in range(count):
            match = next((each for each in table[word] if left[each] > 0), None)
            if match is None:
                yield f"the {kind} '{word}' has no translation among {sorted(left)}"
            else:
                left[match] -= 1
