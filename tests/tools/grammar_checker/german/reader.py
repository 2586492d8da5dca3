"""German sentences: main clauses side by side, with subordinate clauses before and behind."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from tests.tools.grammar_checker.german.complements import has_infinitive, results
from tests.tools.grammar_checker.german.parts import ANY, GermanVerbs, Group, Parts, Result, takes
from tests.tools.grammar_checker.german.phrases import (
    CONTRACTED,
    PRONOUNS,
    Item,
    Reading,
    Tally,
    determiners,
)
from tests.tools.grammar_checker.german.words import EXPRESSIONS
from tests.tools.grammar_checker.reader import KINDS
from tests.tools.grammar_checker.translation import Attached, Governed, Roles

RELATIVE = {
    "der": (("n", "m"), ("d", "f")), "die": (("n", "f"), ("a", "f"), ("n", "p"), ("a", "p")),
    "das": (("n", "n"), ("a", "n")), "den": (("a", "m"),), "dem": (("d", "m"), ("d", "n")),
    "denen": (("d", "p"),),
}  # fmt: skip
"""Cases and genders of the relative pronouns."""
Field = tuple[int, tuple[Item, ...]]  # where a part of a clause ends, and its items


class GermanClauses(GermanVerbs):
    def __init__(self, words: list[str]) -> None:
        super().__init__(words)
        self._clauses: dict[tuple[str, int], list[tuple[int, Result]]] = {}

    def main_clauses(self, place: int, inverted: bool) -> Iterator[tuple[int, Result]]:
        """Yield the main clauses at a place; an inverted one begins with its verb."""
        fronts: Iterator[Field] = iter([(place, ())]) if inverted else self._fronts(place)
        seen = set()
        for start, front in fronts:
            for wanted, prefix, finite in self.finite_verbs(start):
                for middle, items in self._fields(start + 1, front):
                    for end, group in self.right_half(middle, wanted, prefix, finite):
                        for found in self._finished(end, items, group, front=len(front)):
                            if found not in seen:
                                seen.add(found)
                                yield found

    def subordinate_clauses(self, place: int, conjunction: str) -> list[tuple[int, Result]]:
        key = conjunction, place
        found = self._clauses.get(key)
        if found is None:
            ends = self._with_last_verb(place, None)
            found = self._clauses[key] = [
                end for end in ends if conjunction != "als" or ("tense", "past") in end[1].tally
            ]
        return found

    def _fronts(self, place: int) -> Iterator[Field]:
        """Yield what may stand before the finite verb: a time, or the subject."""
        for end, item in self.items(place):
            if item.kind == "time" or (item.kind == "pronoun" and item.readings[0].case == "n"):
                yield end, (item,)
            elif item.kind == "noun":
                for after, items in self._fields(end, (item,)):
                    if all(each.kind == "with" for each in items[1:]):
                        yield after, items

    def _fields(self, place: int, items: tuple[Item, ...]) -> Iterator[Field]:
        """Yield how far the items of a clause may reach, with their relative clauses."""
        yield place, items
        if self.words[place] == ",":
            yield from self._fields_after_relative(place, items)
            return
        found = self.items(place)
        if not found:
            self.reject(place, "")
        for end, item in found:
            yield from self._fields(end, (*items, item))

    def _fields_after_relative(self, place: int, items: tuple[Item, ...]) -> Iterator[Field]:
        """Yield the fields with a relative clause behind the last noun phrase."""
        candidates = []
        for number in reversed(range(len(items))):
            if not items[number].nominal:
                break
            candidates.append(number)
            if items[number].kind == "noun":
                break
        for end, extended in self._with_relative(place, items, candidates):
            if self.words[end] == ",":
                yield from self._fields(end + 1, extended)
                yield from self._fields_after_relative(end, extended)
            yield end, extended

    def _with_relative(
        self, place: int, items: tuple[Item, ...], candidates: list[int]
    ) -> Iterator[Field]:
        """Yield the items with a relative clause that belongs to one of the candidates."""
        clauses = self._relatives(place) if candidates else []
        for end, result in clauses:
            for number in candidates:
                readings = tuple(
                    reading._replace(tally=_with_clause(reading, result))
                    for reading in items[number].readings
                    if reading.gender == result.gender
                )
                if readings:
                    changed = items[number]._replace(readings=readings)
                    yield end, (*items[:number], changed, *items[number + 1 :])
                else:
                    self.reject(place + 1, "the relative pronoun has another gender or number")

    def _relatives(self, place: int) -> list[tuple[int, Result]]:
        key = "relative", place
        found = self._clauses.get(key)
        if found is None:
            found = self._clauses[key] = []
            for end, gap in self._relative_pronouns(place + 1):
                found += self._with_last_verb(end, gap)
        return found

    def _relative_pronouns(self, place: int) -> Iterator[tuple[int, Item]]:
        for after, words, cases in ((place, (), "nad"), *self.prepositions(place)):
            readings = tuple(
                Reading(case, gender, "3p" if gender == "p" else "3s", ())
                for case, gender in RELATIVE.get(self.words[after], ())
                if case in cases
            )
            if readings:
                text = self.words[after]
                yield after + 1, Item("relative", text, readings, " ".join(words))

    def _with_last_verb(self, place: int, gap: Item | None) -> list[tuple[int, Result]]:
        found = [
            ended
            for middle, items in self._fields(place, ())
            for end, group in self.last_verbs(middle)
            if self.words[end] in (",", ".")
            for ended in self._finished(end, items, group, gap)
        ]
        return list(dict.fromkeys(found))

    def _infinitive_clauses(self, place: int) -> list[tuple[int, Result]]:
        key = "infinitive", place
        found = self._clauses.get(key)
        if found is None:
            found = self._clauses[key] = []
            for middle, items in self._fields(place, ()):
                for end, verb in self.infinitives_with_zu(middle):
                    group = Group((verb,), "", ANY)
                    found += self._finished(end, items, group, controlled=True)
        return found

    def _finished(
        self,
        place: int,
        items: tuple[Item, ...],
        group: Group,
        gap: Item | None = None,
        controlled: bool = False,
        front: int = 0,
    ) -> Iterator[tuple[int, Result]]:
        """Yield the results of a clause with what follows its verbs.

        Args:
            place: after the verbs.
            items: parts of the clause.
            group: its verbs.
            gap: relative pronoun.
            controlled: whether the clause is an infinitive.
            front: number of items before the finite verb; no clause behind belongs to them.
        """
        parts = Parts(items, group, gap, controlled, front)
        for end, ended in self._followed(place, parts):
            if self.words[end] not in (",", "."):
                self.reject(end, "")
                continue
            for result in results(ended):
                if isinstance(result, str):
                    self.reject(end, result)
                else:
                    yield end, result

    def _followed(self, place: int, parts: Parts) -> Iterator[tuple[int, Parts]]:
        yield place, parts
        if self.words[place] != ",":
            return
        items = parts.items
        candidates = [each for each in range(parts.front, len(items)) if items[each].nominal]
        for end, extended in self._with_relative(place, items, candidates):
            yield from self._followed(end, parts._replace(items=extended))
        if parts.infinitive is None and has_infinitive(parts.group):
            for end, result in self._infinitive_clauses(place + 1):
                yield from self._followed(end, parts._replace(infinitive=result))
        after = self.words[place + 1]
        if parts.that is None and after == "dass" and takes(parts.group.lowest, "dass"):
            for end, result in self.subordinate_clauses(place + 2, "dass"):
                yield from self._followed(end, parts._replace(that=result))


def _with_clause(reading: Reading, relative: Result) -> Tally:
    """Return what a noun phrase with a relative clause tells."""
    noun = next((word for kind, word, *_ in reading.tally if kind == "noun"), "")
    number = "p" if reading.gender == "p" else "s"
    attached = "attached", noun, relative.verb, relative.use, number
    return (*reading.tally, attached, *relative.tally)


MOST_READINGS = 5000  # most readings of a sentence


class Facts(NamedTuple):
    """What one reading of a part of a sentence tells."""

    tally: Tally = ()
    mains: tuple[Roles, ...] = ()  # subject and object of each clause that no other clause holds

    def with_before(self, clause: Result) -> "Facts":
        """Return what this part tells with a clause before it."""
        return Facts(clause.tally + self.tally, (clause.roles, *self.mains))


class GermanReading:
    """One reading of a sentence: what is counted in it."""

    def __init__(self, facts: Facts) -> None:
        self.mains = facts.mains
        self.governed: list[Governed] = []
        self.attached: list[Attached] = []
        self.seen: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
        self.nouns: Counter[tuple[str, bool | None]] = Counter()  # nouns with their numbers
        for kind, word, *others in facts.tally:
            if kind == "noun":
                self.nouns[word, others == ["p"]] += 1
            elif kind == "governed":
                self.governed.append(Governed(word, *others))
            elif kind == "attached":
                verb, use, number = others
                self.attached.append(Attached(word, verb, use, number == "p"))
            else:
                self.seen[kind][word] += 1


class GermanReader(GermanClauses):
    def __init__(self, sentence: str) -> None:
        first, *others = split(sentence)
        super().__init__([_with_small_letter(first), *others])
        self._first = first
        self._rests: dict[int, list[Facts]] = {}
        self.readings = [GermanReading(facts) for facts in islice(self._sentences(), MOST_READINGS)]

    @property
    def findings(self) -> list[str]:
        if self._first[0].islower():
            return [f"'{self._first}' at the beginning needs a capital"]
        if self.readings:
            return []
        around = " ".join(self.words[max(0, self.furthest - 3) : self.furthest + 3])
        reasons = "; ".join(reason for reason in self.reasons if reason)
        return [f"no reading beyond '{around}': {reasons or 'does not fit'}"]

    def _sentences(self) -> Iterator[Facts]:
        for start in (0, *self._particles()):
            for end, conjunction in self._conjunctions(start, "under"):
                yield from self._opened(end, conjunction)
            for after, main in self.main_clauses(start, inverted=False):
                for rest in self._rest(after):
                    yield rest.with_before(main)

    def _opened(self, place: int, conjunction: str) -> Iterator[Facts]:
        """Yield the readings of a sentence that begins with a subordinate clause."""
        for comma, opening in self.subordinate_clauses(place, conjunction):
            if self.words[comma] == ",":
                for after, main in self.main_clauses(comma + 1, inverted=True):
                    for rest in self._rest(after):
                        yield rest.with_before(main).with_before(opening)

    def _particles(self) -> list[int]:
        """Return where the sentence begins after a particle, with its comma."""
        return [end + 1 for end, _ in self._conjunctions(0, "particle") if self.words[end] == ","]

    def _conjunctions(self, place: int, use: str) -> list[tuple[int, str]]:
        """Return the conjunctions (or other expressions) at a place, with the places after."""
        return [
            (place + len(words), words[0])
            for words, found in EXPRESSIONS.get(self.words[place], ())
            if found == use and tuple(self.words[place : place + len(words)]) == words
        ]

    def _rest(self, place: int) -> list[Facts]:
        found = self._rests.get(place)
        if found is None:
            found = list(islice(self._read_rest(place), MOST_READINGS))
            self._rests[place] = found = list(dict.fromkeys(found))
        return found

    def _read_rest(self, place: int) -> Iterator[Facts]:
        if place == len(self.words) - 4:
            yield Facts()
        if self.words[place] != ",":
            return
        for use in ("beside", "consequence"):
            for after, _ in self._conjunctions(place + 1, use):
                for end, main in self.main_clauses(after, inverted=use == "consequence"):
                    for rest in self._rest(end):
                        yield rest.with_before(main)
        for after, conjunction in self._conjunctions(place + 1, "under"):
            for end, clause in self.subordinate_clauses(after, conjunction):
                for rest in self._rest(end):
                    yield rest.with_before(clause)


def split(sentence: str) -> list[str]:
    return sentence.removesuffix(".").replace(",", " ,").split()


def _with_small_letter(word: str) -> str:
    """Return the first word with a small letter, unless it has a capital elsewhere too."""
    small = word.lower()
    is_known = small in PRONOUNS or small in CONTRACTED or small in EXPRESSIONS
    return small if is_known or determiners(small) else word
