"""German sentences: main clauses side by side, with subordinate clauses before and behind."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from tests.grammar_checker.german.clauses import GermanClauses
from tests.grammar_checker.german.items import CONTRACTED, PRONOUNS
from tests.grammar_checker.german.parts import Result
from tests.grammar_checker.german.phrases import Tally, determiners
from tests.grammar_checker.german.words import EXPRESSIONS
from tests.grammar_checker.reader import KINDS
from tests.grammar_checker.translation.references import Attached, Governed, Roles

MOST_READINGS = 5000
"""Most readings of a sentence."""


class Facts(NamedTuple):
    """What one reading of a part of a sentence tells."""

    tally: Tally = ()
    mains: tuple[Roles, ...] = ()
    """Subject and object of each clause that no other clause holds."""

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
        self.nouns: Counter[tuple[str, bool | None]] = Counter()
        """Nouns with their numbers."""
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
    """Reads a German sentence."""

    def __init__(self, sentence: str) -> None:
        first, *others = split(sentence)
        super().__init__([_with_small_letter(first), *others])
        self._first = first
        self._rests: dict[int, list[Facts]] = {}
        self.readings = [GermanReading(facts) for facts in islice(self._sentences(), MOST_READINGS)]

    @property
    def findings(self) -> list[str]:
        """What is wrong with the sentence."""
        if self._first[0].islower():
            return [f"'{self._first}' at the beginning needs a capital"]
        if self.readings:
            return []
        around = " ".join(self.words[max(0, self.furthest - 3) : self.furthest + 3])
        reasons = "; ".join(reason for reason in self.reasons if reason)
        return [f"no reading beyond '{around}': {reasons or 'does not fit'}"]

    def _sentences(self) -> Iterator[Facts]:
        """Yield the readings of the whole sentence."""
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
        """Return the readings of what follows a clause."""
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
    """Return the words of a German sentence, with commas apart."""
    return sentence.removesuffix(".").replace(",", " ,").split()


def _with_small_letter(word: str) -> str:
    """Return the first word with a small letter, unless it has a capital elsewhere too."""
    small = word.lower()
    is_known = small in PRONOUNS or small in CONTRACTED or small in EXPRESSIONS
    return small if is_known or determiners(small) else word
