"""Which noun belongs to which verb, and for which noun a pronoun stands.

Clauses stand side by side, joined by conjunctions. In a clause that is not the first, *he*, *she*,
*it* or *they* stands for the subject or the object of the clause before. Subject and object are
those of English: in *das Haus gefällt dem Mann*, the subject is the man, as in *the man likes the
house*.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from tests.tools.grammar_checker.english.words import WORDS as ENGLISH
from tests.tools.grammar_checker.german.words import WORDS as GERMAN
from tests.tools.grammar_checker.senses import FRENCH_SENSES, GERMAN_SENSES, decided
from tests.tools.grammar_checker.words import read_lines

OWNED_OBJECT = "owner of the object"


class Mention(NamedTuple):
    """A subject or object of the third person."""

    text: str
    genders: frozenset[str]
    """Genders that the form allows: ``m``, ``f``, ``n``; ``p`` for plurals, ``mp`` and ``fp`` in a
    language with genders in the plural."""
    pronoun: bool = False
    noun: str = ""  # the noun in the singular; empty for pronouns and names
    human: str = ""  # ``h`` for persons, ``-`` for others, empty if the word does not tell


class Roles(NamedTuple):
    """Subject and object of a clause; None for the first person, and if there is none."""

    subject: Mention | None = None
    object: Mention | None = None


class Governed(NamedTuple):
    """A noun that is the subject or the object of a verb."""

    verb: str
    noun: str
    use: str = ""
    """``alone`` for a subject without an object, ``agent`` for one with an object, ``object``."""


class Attached(NamedTuple):
    """A noun with the verb of its relative clause."""

    noun: str
    verb: str
    use: str
    """What the noun is in the relative clause: ``subject``, ``object`` (also of a preposition),
    ``owner`` of the subject (*whose*) or ``OWNED_OBJECT``, ``place`` (*where*)."""
    plural: bool | None  # None if neither noun nor verb tells the number


class Placed(NamedTuple):
    """A time or a place in the clause to which a reader attaches it."""

    kind: str  # ``time``, ``place``, or ``goal`` for a place that the verb governs
    noun: str  # after the preposition of place; empty for a name, an adverb or a time
    verb: str  # of the clause
    inner: bool | None = None  # whether another clause holds it, where a reader tells
    wide: bool = False
    """Whether a time stands before what it may tell the time of too: other clauses behind its own,
    or an infinitive."""


class Meant(NamedTuple):
    """A pronoun, with what it may stand for in the clause before."""

    pronoun: Mention
    noun: Mention  # what it should stand for
    roles: frozenset[int]  # the places of ``Roles`` that it fits


def _meant(clauses: Sequence[Roles]) -> Iterator[Meant]:
    for before, after in pairwise(clauses):
        for place, pronoun in enumerate(after):
            known = {role: noun for role, noun in enumerate(before) if noun is not None}
            noun = before[place] or before[1 - place]
            if noun is None or pronoun is None or not pronoun.pronoun:
                continue
            fitting = (role for role, each in known.items() if _may_mean(pronoun, each))
            yield Meant(pronoun, noun, frozenset(fitting))


def wrong_references(clauses: Sequence[Roles]) -> Iterator[str]:
    """Yield the pronouns that agree with no noun in the clause before."""
    for pronoun, noun, roles in _meant(clauses):
        if not roles:
            yield f"'{pronoun.text}' cannot stand for '{noun.text}'"


def _other_references(clauses: Sequence[Roles], others: Sequence[Roles]) -> Iterator[str]:
    """Yield the pronouns that stand for something else in the translation."""
    one, other = list(_meant(clauses)), list(_meant(others))
    if len(one) == len(other):
        for here, there in zip(one, other, strict=True):
            if not here.roles & there.roles:
                yield f"'{here.pronoun.text}' stands for another noun than '{there.pronoun.text}'"


def _may_mean(pronoun: Mention, noun: Mention) -> bool:
    if {noun.human, pronoun.human} == {"h", "-"}:
        return False
    genders, allowed = noun.genders, pronoun.genders
    if noun.pronoun:  # it does not tell whether it stands for a person
        genders, allowed = map(_without_class, (genders, allowed))
    return not genders.isdisjoint(allowed)


def _without_class(genders: frozenset[str]) -> frozenset[str]:
    """Return German genders without what tells persons from things (*daran*, *an es*)."""
    return frozenset("n" if gender == "x" else gender.lower() for gender in genders)


Table = Mapping[str, frozenset[str]]


class Translations(NamedTuple):
    """The translations of words of one language into another."""

    verbs: Table
    adjectives: Table
    nouns: Table
    senses: Mapping[str, str]
    """What the nouns of the other language are, if their English word has two senses."""


def _with_particles(verbs: Table, column: int) -> Table:
    """Return the translations of verbs, with those of verbs with a particle (*go up*)."""
    cells = read_lines("particles.txt")
    return {**verbs, **{each[0]: frozenset(each[column].split(", ")) for each in cells}}


def _joined(first: Table, second: Table, senses_of_both: bool = False) -> Table:
    """Return the translations from French into German by way of English."""
    found: dict[str, set[str]] = defaultdict(set)
    for word, in_french in first.items():
        for each in in_french:
            found[each] |= {
                german
                for german in second.get(word, ())
                if not senses_of_both or _has_same_sense(each, german)
            }
    return {word: frozenset(words) for word, words in found.items()}


def _has_same_sense(french_noun: str, german_noun: str) -> bool:
    """Return whether two translations of an English noun may be of the same sense of it."""
    kinds = FRENCH_SENSES.get(french_noun), GERMAN_SENSES.get(german_noun)
    return None in kinds or kinds[0] == kinds[1]


_HELPERS = {
    "be": frozenset(("être",)), "can": frozenset(("pouvoir",)), "must": frozenset(("devoir",)),
}  # fmt: skip
IN_FRENCH = Translations(
    _with_particles(ENGLISH.verbs_in_french | _HELPERS, 1),
    ENGLISH.adjectives_in_french,
    ENGLISH.nouns_in_french,
    FRENCH_SENSES,
)
IN_GERMAN = Translations(
    _with_particles(GERMAN.verbs_in_german, 2),
    GERMAN.adjectives_in_german,
    GERMAN.nouns_in_german,
    GERMAN_SENSES,
)
FRENCH_IN_GERMAN = Translations(
    _joined(IN_FRENCH.verbs, IN_GERMAN.verbs),
    _joined(IN_FRENCH.adjectives, IN_GERMAN.adjectives),
    _joined(IN_FRENCH.nouns, IN_GERMAN.nouns, senses_of_both=True),
    {},
)


Fact = TypeVar("Fact", Governed, Attached, Placed)


def _paired(
    facts: Iterable[Fact],
    others: Iterable[Fact],
    table: Translations,
    alike: Callable[[Fact, Fact], bool],
) -> tuple[list[Fact], list[Fact]]:
    """Return the facts of either sentence without one of the other with its noun and verb."""
    alone, left = [], list(others)
    for each in sorted(facts, key=lambda fact: len(table.verbs.get(fact.verb, ()))):
        nouns = table.nouns.get(each.noun, ()) if each.noun else ("",)
        verbs = table.verbs.get(each.verb, ())
        fitting = (other for other in left if other.noun in nouns and other.verb in verbs)
        match = next((other for other in fitting if alike(each, other)), None)
        if match is None:
            alone.append(each)
        else:
            left.remove(match)
    return alone, left


def wrong_senses(
    governed: Iterable[Governed], others: Sequence[Governed], table: Translations
) -> Iterator[str]:
    """Yield the nouns that are not translated in the sense that their verbs decide."""
    settled = [each for each in governed if _in_sense(each, table)]
    alone, _ = _paired(settled, others, table, lambda a, b: b.noun in _in_sense(a, table))
    for each in alone:
        yield f"'{each.noun}' has another sense with '{each.verb}'"


def _in_sense(governed: Governed, table: Translations) -> frozenset[str]:
    """Return the translations of a noun in the sense that it has; nothing if it has but one."""
    words = table.nouns.get(governed.noun, frozenset())
    if table is FRENCH_IN_GERMAN:
        return words if governed.noun in FRENCH_SENSES else frozenset()
    kind = decided(governed.noun, governed.verb, governed.use)
    return frozenset(word for word in words if kind and table.senses.get(word) == kind)


class Counted:
    """What is counted in a sentence."""

    def __init__(self) -> None:
        self.seen: dict[str, Counter[str]] = defaultdict(Counter)
        self.nouns: Counter[tuple[str, bool | None]] = Counter()
        """Nouns with their numbers, None where the form does not tell it."""
        self.mains: list[Roles] = []  # subject and object of each clause that no other clause holds
        self.governed: list[Governed] = []  # nouns that are subjects and objects
        self.attached: list[Attached] = []  # nouns with relative clauses
        self.placed: list[Placed] = []  # times and places


EQUAL = (
    "tense", "name", "person", "determiner", "negation", "adverb", "question", "comparison",
    "passive",
)  # fmt: skip
"""What is counted alike in all languages."""


def differences(first: Counted, second: Counted, table: Translations) -> Iterable[str]:
    """Yield what differs between a sentence and its translation."""
    one, other = first.seen, second.seen
    for kind in EQUAL:
        counted = SETTLED[kind](one[kind], other[kind]) if kind in SETTLED else other[kind]
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
    yield from _other_references(first.mains, second.mains)
    yield from wrong_senses(first.governed, second.governed, table)
    if table is IN_FRENCH and one["perfect"].total() > other["perfect"].total():
        yield "a perfect without a passé composé"
    if table is IN_FRENCH:
        yield from _wrong_roles(first.governed, second.governed, table)
    yield from _wrong_relatives(first.attached, second.attached, table)
    yield from _misplaced(first.placed, second.placed, table)


def _filled(one: Counter[str], other: Counter[str], open_: str, meanings: str) -> Counter[str]:
    """Return words in which an ``open_`` one has the meanings that are missing."""
    settled = other.copy()
    free = settled.pop(open_, 0)
    for meaning in meanings.split():
        used = min(free, max(0, one[meaning] - settled[meaning]))
        free -= used
        settled[meaning] += used
    settled[open_] += free
    return settled


def _with_owners(one: Counter[str], other: Counter[str]) -> Counter[str]:
    """Return determiners in which German *ihr* is hers or theirs."""
    return _filled(one, other, "ihr", "his their")


def _with_subjunctives(one: Counter[str], other: Counter[str]) -> Counter[str]:
    """Return tenses in which a subjunctive without a tense of its own has the missing ones."""
    if one["subjunctive"] and not other["subjunctive"]:  # from French
        return one if _with_subjunctives(other, one) == other else other
    return _filled(one, other, "subjunctive", "present past future")


SETTLED = {"determiner": _with_owners, "tense": _with_subjunctives}


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
    left = Counter(others)
    by_choice = sorted(
        (len(table.get(word, ())), word, count) for word, count in words.items() if count
    )
    for _, word, count in by_choice:
        for _ in range(count):
            fitting = [each for each in table.get(word, ()) if left[each] > 0]
            if fitting:  # the one that fewest other words may have
                claims = {
                    each: sum(each in table.get(other, ()) for other in words) for each in fitting
                }
                left[min(fitting, key=claims.__getitem__)] -= 1
            else:
                yield f"the {kind} '{word}' has no translation among {sorted(left)}"


def _wrong_roles(
    governed: Sequence[Governed], others: Sequence[Governed], table: Translations
) -> Iterator[str]:
    """Yield the nouns that are the subject or the object of another verb in the translation."""
    alone, _ = _paired(
        governed, others, table, lambda a, b: (a.use == "object") == (b.use == "object")
    )
    for each in alone:
        if each.noun in table.nouns and each.noun not in ("name", "town"):
            yield f"'{each.noun}' is no {each.use} of '{each.verb}'"


def _wrong_relatives(
    relatives: Iterable[Attached], others: Sequence[Attached], table: Translations
) -> Iterable[str]:
    """Yield the relative clauses that belong to another noun, or in another way."""
    alone, _ = _paired(
        relatives, others, table, lambda a, b: a.use == b.use and _agree(a.plural, b.plural)
    )
    for each in alone:
        yield f"the relative clause with '{each.verb}' belongs to '{each.noun}' as {each.use}"


def _misplaced(
    placed: Sequence[Placed], others: Sequence[Placed], table: Translations
) -> Iterator[str]:
    """Yield the times and places that a reader attaches to another clause."""
    alone, left = _paired(placed, others, table, _is_placed_alike)
    for word, facts in (("the", alone), ("another", left)):
        for each in facts:
            if each.kind != "goal":
                yield f"{word} {each.kind} '{each.noun}' belongs to '{each.verb}'"


def _is_placed_alike(one: Placed, other: Placed) -> bool:
    times = {one.kind == "time", other.kind == "time"}
    return len(times) == 1 and one.wide == other.wide and _agree(one.inner, other.inner)


def _agree(one: bool | None, other: bool | None) -> bool:
    """Return whether two answers are equal, or one is unknown."""
    return None in (one, other) or one == other
