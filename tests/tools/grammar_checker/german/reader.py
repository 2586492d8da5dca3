"""German sentences: main clauses side by side, with subordinate clauses before and behind."""

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from tests.tools.grammar_checker.german.clauses import ASKING, GermanClauses
from tests.tools.grammar_checker.german.items import CONTRACTED, PRONOUNS
from tests.tools.grammar_checker.german.parts import Result
from tests.tools.grammar_checker.german.phrases import Reading, Tally, determiners
from tests.tools.grammar_checker.german.words import EXPRESSIONS
from tests.tools.grammar_checker.translation import (
    Attached,
    Counted,
    Governed,
    Mention,
    Placed,
    Roles,
)

MOST_READINGS = 5000  # most readings of a sentence
PAST = ("past", "perfect")


class Facts(NamedTuple):
    """What one reading of a part of a sentence tells."""

    tally: Tally = ()
    mains: tuple[Roles, ...] = ()  # subject and object of each clause that no other clause holds

    follows: bool = False  # whether it has a main clause

    def with_before(self, clause: Result) -> "Facts":
        """Return what this part tells with a clause before it."""
        tally = tuple(map(_widened, clause.tally)) if self.follows else clause.tally
        return Facts(tally + self.tally, (clause.roles, *self.mains), self.follows)


class Before(NamedTuple):
    """What the rest of a sentence must know about the clauses before it."""

    past: bool = False  # whether the last main clause is in the past, if *wenn* follows
    condition: str = ""
    """``open`` if a clause such as *er würde schlafen* lacks its *wenn*, ``met`` if it has one."""
    asked: bool = False  # whether the sentence is a question
    person: str = ""  # of the last subject
    subject: Mention | None = None


class GermanReading(Counted):
    """One reading of a sentence: what is counted in it."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self.mains = list(facts.mains)
        for kind, word, *others in facts.tally:
            if kind == "noun":
                self.nouns[word, others == ["p"]] += 1
            elif kind == "governed":
                self.governed.append(Governed(word, *others))
            elif kind == "placed":
                noun, verb, *width = others
                self.placed.append(Placed(word, noun, verb, wide=width == ["wide"]))
            elif kind == "attached":
                verb, use, number = others
                self.attached.append(Attached(word, verb, use, number == "p"))
            else:
                self.seen[kind][word] += 1


class GermanReader(GermanClauses):
    def __init__(self, sentence: str) -> None:
        first, *others = split(sentence)
        self._asks = sentence.endswith("?")
        super().__init__([_with_small_letter(first, self._asks), *others])
        self._first = first
        self._rests: dict[tuple[int, Before], list[Facts]] = {}
        self._facts = list(dict.fromkeys(islice(self._sentences(), MOST_READINGS)))

    @cached_property
    def readings(self) -> list[GermanReading]:
        return [GermanReading(facts) for facts in self._facts]

    @property
    def findings(self) -> list[str]:
        if self._first[0].islower():
            return [f"'{self._first}' at the beginning needs a capital"]
        if self._facts:
            return [f"'{time}' is said twice" for time in self._times_twice()]
        around = " ".join(self.words[max(0, self.furthest - 3) : self.furthest + 3])
        reasons = "; ".join(reason for reason in self.reasons if reason)
        return [f"no reading beyond '{around}': {reasons or 'does not fit'}"]

    def _times_twice(self) -> list[str]:
        times: Counter[str] = Counter()
        place = 0
        while place < len(self.words):
            ends = self._expressions_at(place, "time")[:1]
            if ends:
                times[" ".join(self.words[place : ends[0][0]])] += 1
            place = ends[0][0] if ends else place + 1
        return [time for time, count in times.items() if count > 1]

    def _sentences(self) -> Iterator[Facts]:
        for start in (0, *self._particles()):
            if self._asks:
                yield from self._questions(start)
                continue
            for end, conjunction in self._expressions_at(start, "under"):
                yield from self._opened(end, conjunction)
            yield from self._continued(self.main_clauses(start, inverted=False), Before())

    def _questions(self, place: int) -> Iterator[Facts]:
        for end, result, kind in self.questions(place):
            asked = result._replace(tally=(*result.tally, ("question", kind)))
            yield from self._continued(iter([(end, asked)]), Before(asked=True))

    def _opened(self, place: int, conjunction: str) -> Iterator[Facts]:
        """Yield the readings of a sentence that begins with a subordinate clause."""
        for comma, opening in self.subordinate_clauses(place, conjunction):
            if self.words[comma] == ",":
                mains = self.main_clauses(comma + 1, inverted=True)
                alike = (each for each in mains if _is_unreal(each[1]) == _is_unreal(opening))
                if conjunction == "wenn" and opening.tense == "perfect":
                    alike = (each for each in alike if each[1].tense not in PAST)
                before = Before(condition="met" if _is_unreal(opening) else "")
                for facts in self._continued(alike, before):
                    yield facts.with_before(opening)

    def _continued(self, clauses: Iterator[tuple[int, Result]], before: Before) -> Iterator[Facts]:
        """Yield main clauses with the rest of the sentence."""
        for end, main in clauses:
            if before.condition == "open" and not _is_unreal(main):
                continue
            condition = before.condition or ("open" if _is_unreal(main) else "")
            past = main.tense in PAST and self.words[end + 1] == "wenn"
            after = before._replace(condition=condition, past=past)
            if self.words[end] == "und" or self.words[end + 1] == "aber":
                after = after._replace(person=main.person, subject=main.roles.subject)
            for rest in self._rest(end, after):
                yield rest.with_before(main)._replace(follows=True)

    def _particles(self) -> list[int]:
        """Return where the sentence begins after a particle, with its comma."""
        return [end + 1 for end, _ in self._expressions_at(0, "particle") if self.words[end] == ","]

    def _expressions_at(self, place: int, use: str) -> list[tuple[int, str]]:
        """Return the places after the expressions of a use, with their first words."""
        return [
            (place + len(words), words[0])
            for words, found in EXPRESSIONS.get(self.words[place], ())
            if found == use and tuple(self.words[place : place + len(words)]) == words
        ]

    def _rest(self, place: int, before: Before) -> list[Facts]:
        key = place, before
        found = self._rests.get(key)
        if found is None:
            found = list(islice(self._read_rest(place, before), MOST_READINGS))
            self._rests[key] = found = list(dict.fromkeys(found))
        return found

    def _read_rest(self, place: int, before: Before) -> Iterator[Facts]:
        if place == len(self.words) - 4 and before.condition != "open":
            yield Facts()
        if not before.asked:
            yield from self._shared(place, before)
        if self.words[place] != ",":
            return
        plain = before._replace(person="", subject=None, past=False)
        if not before.asked:
            for use in ("beside", "consequence"):
                for after, _ in self._expressions_at(place + 1, use):
                    clauses = self.main_clauses(after, inverted=use == "consequence")
                    yield from self._continued(clauses, plain)
        for after, conjunction in self._expressions_at(place + 1, "under"):
            for end, clause in self.subordinate_clauses(after, conjunction):
                unreal = _is_unreal(clause)
                if unreal != (before.condition == "open"):
                    continue
                if before.past and clause.tense == "perfect":
                    self.reject(after, "'wenn' must be als")
                    continue
                met = plain._replace(condition="met") if unreal else plain
                for rest in self._rest(end, met):
                    yield rest.with_before(clause)

    def _shared(self, place: int, before: Before) -> Iterator[Facts]:
        """Yield clauses with the subject of the clause before; only *aber* has a comma."""
        start = place + 1 if self.words[place] == "und" else place + 2
        if start > place + 1 and tuple(self.words[place : place + 2]) != (",", "aber"):
            return
        if not before.person or not self.is_finite(start):
            return
        subject = Reading("n", "", before.person, ())
        for end, result in self.main_clauses(start, inverted=True, subject=subject):
            roles = Roles(before.subject, result.roles.object)
            shared = iter([(end, result._replace(roles=roles))])
            yield from self._continued(shared, before)


def _widened(told: tuple[str, ...]) -> tuple[str, ...]:
    return (*told[:-1], "wide") if told[-1] == "first" else told


def _is_unreal(clause: Result) -> bool:
    return clause.tense == "unreal"


def split(sentence: str) -> list[str]:
    return sentence.removesuffix(".").removesuffix("?").replace(",", " ,").split()


def _with_small_letter(word: str, asks: bool) -> str:
    """Return the first word with a small letter, unless it has a capital elsewhere too."""
    small = word.lower()
    is_known = any(small in words for words in (PRONOUNS, CONTRACTED, EXPRESSIONS, ASKING))
    return small if asks or is_known or determiners(small) else word
