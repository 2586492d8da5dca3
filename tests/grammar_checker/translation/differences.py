"""What two readings of a pair of sentences do not share."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from tests.grammar_checker.translation.references import Attached, Governed, Roles, wrong_references
from tests.grammar_checker.translation.senses import wrong_senses
from tests.grammar_checker.translation.tables import Table, Translations


class Counted(Protocol):
    """What was counted in a sentence."""

    seen: dict[str, Counter[str]]
    nouns: Counter[tuple[str, bool | None]]

    @property
    def mains(self) -> Sequence[Roles]:
        """Subject and object of each clause that no other clause holds."""

    @property
    def governed(self) -> Sequence[Governed]:
        """Nouns that are subjects and objects."""

    @property
    def attached(self) -> Sequence[Attached]:
        """Nouns with relative clauses."""


def differences(first: Counted, second: Counted, table: Translations) -> Iterable[str]:
    """Yield what differs between a sentence and its translation."""
    one, other = first.seen, second.seen
    for kind in ("tense", "name", "person", "determiner", "negation", "adverb"):
        counted = _with_owners(one[kind], other[kind]) if kind == "determiner" else other[kind]
        if one[kind] != counted:
            yield f"{kind}: {dict(one[kind])} is not {dict(counted)}"
    for kind, words in (("verb", table.verbs), ("adjective", table.adjectives)):
        yield from _untranslated(kind, one[kind], other[kind], words)
        if one[kind].total() != other[kind].total():
            yield f"{kind}: another number of words"
    for plural in (False, True):
        nouns = Counter({word: n for (word, number), n in first.nouns.items() if number == plural})
        yield from _untranslated("noun", nouns, _of_number(second.nouns, plural), table.nouns)
    if first.nouns.total() != second.nouns.total():
        yield "noun: another number of words"
    yield from wrong_references(first.mains)
    yield from wrong_references(second.mains)
    yield from wrong_senses(first.governed, second.governed, table)
    yield from _wrong_relatives(first.attached, second.attached, table)


def _with_owners(english: Counter[str], other: Counter[str]) -> Counter[str]:
    """Return determiners in which German *ihr* has the meaning that is missing: hers or theirs."""
    settled = other.copy()
    free = settled.pop("ihr", 0)
    for meaning in ("his", "their"):
        used = min(free, max(0, english[meaning] - settled[meaning]))
        free -= used
        settled[meaning] += used
    settled["ihr"] += free
    return settled


def _of_number(nouns: Mapping[tuple[str, bool | None], int], plural: bool) -> Counter[str]:
    """Return the nouns of one number, and those whose form does not tell it."""
    found: Counter[str] = Counter()
    for (word, number), count in nouns.items():
        if number is None or number == plural:
            found[word] += count
    return found


def _untranslated(
    kind: str, words: Mapping[str, int], others: Mapping[str, int], table: Table
) -> Iterable[str]:
    """Yield the words without a translation on the other side."""
    left = Counter(others)
    by_choice = sorted(
        (len(table.get(word, ())), word, count) for word, count in words.items() if count
    )
    for _, word, count in by_choice:
        for _ in range(count):
            match = next((each for each in table.get(word, ()) if left[each] > 0), None)
            if match is None:
                yield f"the {kind} '{word}' has no translation among {sorted(left)}"
            else:
                left[match] -= 1


def _wrong_relatives(
    relatives: Iterable[Attached], others: Sequence[Attached], table: Translations
) -> Iterable[str]:
    """Yield the relative clauses that belong to another noun, or in another way."""
    left = list(others)
    for each in relatives:
        nouns = table.nouns.get(each.noun, ())
        verbs = table.verbs.get(each.verb, ())
        fitting = (other for other in left if other.noun in nouns and other.verb in verbs)
        match = next((other for other in fitting if _is_alike(each, other)), None)
        if match is None:
            yield f"the relative clause with '{each.verb}' belongs to '{each.noun}' as {each.use}"
        else:
            left.remove(match)


def _is_alike(one: Attached, other: Attached) -> bool:
    """Return whether two nouns are the same in their relative clauses, and have one number."""
    numbers = {one.plural, other.plural} - {None}
    return one.use == other.use and len(numbers) < 2
