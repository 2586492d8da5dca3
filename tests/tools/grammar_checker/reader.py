"""Reads a sentence from left to right with a stack of open clauses; both languages derive from it.

A finite verb belongs to the innermost clause that has none: the clauses inside it end there. What
needs both a noun phrase and a verb (agreement, government) is checked when its clause ends.
"""

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field

from tests.tools.grammar_checker.translation import Attached, Governed, Mention, Roles
from tests.tools.grammar_checker.words import Expressions


@dataclass(slots=True)
class Phrase:
    """A noun phrase or pronoun."""

    text: str
    person: int = 3
    genders: str = "mf"
    plural: bool | None = False  # None if the form does not tell the number
    human: str = ""
    noun: str = ""  # the noun in the singular, ``name`` or ``town``
    determiner: str = ""
    pronoun: bool = False

    def persons(self) -> tuple[str, ...]:
        """Return the verb persons that agree with the phrase."""
        numbers = "sp" if self.plural is None else "p" if self.plural else "s"
        return tuple(f"{self.person}{number}" for number in numbers)


@dataclass(slots=True)
class Clause:
    """An open clause."""

    kind: str  # ``main``, ``relative``, ``complement``
    subject: Phrase | None = None
    gap: Phrase | None = None  # the antecedent of an object relative, where the object is missing
    antecedent: Phrase | None = None  # the noun before a relative clause
    verb: str = ""
    head: Phrase | None = None
    """First noun phrase since the verb or the beginning: what a relative clause can follow."""
    negated: bool = False
    direct: Phrase | None = None
    governed: Phrase | None = None  # the last noun phrase after a preposition that the verb governs
    recipient: bool = False
    unclear: list[Phrase] = field(default_factory=list)
    """Clitics that are direct objects or recipients (*me*, *nous*)."""
    prepositions: set[str] = field(default_factory=set)
    place: bool = False
    quality: bool = False
    complement: bool = False
    tense: str = ""
    repeated: bool = False  # whether an adverb or time tells that it happens again and again
    adverb: bool = False  # whether an adverb or time has followed the verb
    particle: str = ""
    participle: tuple[str, str, str, bool | None] | None = None
    """Auxiliary, form, gender and number."""
    object_before: Phrase | None = None
    """A direct object before the verb, other than the antecedent."""


def mention_of(phrase: Phrase | None) -> Mention | None:
    """Return what a phrase tells about its noun; None for *I* and *we*."""
    if phrase is None or phrase.person != 3:
        return None
    ends = ("", "p") if phrase.plural is None else ("p",) if phrase.plural else ("",)
    genders = frozenset(gender + end for gender in phrase.genders for end in ends)
    return Mention(phrase.text, genders, phrase.pronoun)


KINDS = (
    "verb", "tense", "adjective", "name", "person", "determiner", "negation", "adverb", "question",
    "comparison",
)  # fmt: skip
"""What is counted on both sides of a pair."""


class Reader(ABC):
    expressions: Expressions

    def __init__(self, words: list[str], flips: frozenset[int] = frozenset()) -> None:
        self.words = [*words, ".", ".", "."]
        """The words, with stops at the end so that a look ahead needs no test."""
        self.flips = flips
        self.choices: list[int] = []
        """Where the reading of an ambiguous word was chosen; ``flips`` chooses the other."""
        self.at = 0
        self.after_phrase = -1  # where the last noun phrase ended
        self.findings: list[str] = []
        self.stack: list[Clause] = [Clause("main")]
        self.opening = False
        """Whether the sentence began with a conjunction, and its main clause is still to come."""
        self.seen: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
        self.nouns: Counter[tuple[str, bool | None]] = Counter()
        """Nouns with their numbers, None where the form does not tell it."""
        self.mains: list[Roles] = []  # subject and object of each clause that no other clause holds
        self.governed: list[Governed] = []  # nouns that are subjects and objects
        self.attached: list[Attached] = []  # nouns with relative clauses

    # Reading.

    def read(self) -> None:
        last = len(self.words) - 3
        while self.at < last:
            before = self.at
            self._step()
            if self.at == before:
                around = " ".join(self.words[max(0, self.at - 2) : self.at + 2])
                self.report(f"'{self.words[self.at]}' does not fit here: {around}")
                return
        self._close_down_to(0)
        if self.opening:
            self.report("the main clause is missing")

    def report(self, finding: str) -> None:
        self.findings.append(finding)

    def choose(self, place: int) -> bool:
        """Return whether to take the second reading of an ambiguous word."""
        self.choices.append(place)
        return place in self.flips

    def _step(self) -> None:
        word = self.words[self.at]
        if word == ",":
            self._comma()
        elif self._joined() or self.expression():
            return
        elif not self.related() and not self.verb_begins():
            self.phrase()
        elif self.at < len(self.words) and self.verb_begins():
            self._verb()

    def _comma(self) -> None:
        self.at += 1
        clause = self.clause
        if clause.subject is None and not clause.verb:
            if self.at < 2 or len(self.stack) > 1:
                self.report("a comma in the wrong place")
            return
        self._close_down_to(0)
        found = self.expression_at(self.at, "beside")
        if found:
            self.at += found
        elif self.opening:
            self.opening = False
        else:
            self.report("a comma without a conjunction")
        self.stack = [Clause("main")]

    def _joined(self) -> bool:
        found = self.expression_at(self.at, "under")
        clause = self.clause
        if not found or (clause.subject is not None and not clause.verb):
            return False
        if self.at and not clause.verb:
            return False
        if not self.at:
            self.opening = True
        else:
            if self.degree_fits():
                return False
            self._close_down_to(0)
            self.stack = [Clause("main")]
        self.at += found
        return True

    def degree_fits(self) -> bool:
        return False

    def expression(self) -> bool:
        for use in ("time", "manner", "place", "particle"):
            found = self.expression_at(self.at, use)
            if not found:
                continue
            clause = self.clause
            stops = self.words[self.at + found] == ","
            if use == "particle" and not (stops and clause.subject is None and not clause.verb):
                continue
            if clause.subject is not None and not clause.verb:
                self.report(f"'{self.words[self.at]}' between subject and verb")
            if clause.subject is None and not clause.verb and not stops:
                continue
            clause.place = clause.place or use == "place"
            clause.adverb = clause.adverb or bool(clause.verb)
            self.at += found
            if use != "particle":
                self.seen["adverb"][use] += 1
            return True
        return False

    def take(self, use: str) -> bool:
        """Read a fixed expression of a use, if there is one; return whether there is."""
        found = self.expression_at(self.at, use)
        self.at += found
        self.seen["adverb"][use] += bool(found)
        return bool(found)

    def expression_at(self, place: int, use: str) -> int:
        """Return the number of words of an expression at a place, 0 if there is none."""
        for words, found in self.expressions.get(self.words[place], ()):
            if found == use and tuple(self.words[place : place + len(words)]) == words:
                return len(words)
        return 0

    # Clauses.

    @property
    def clause(self) -> Clause:
        return self.stack[-1]

    def is_awaited(self) -> bool:
        """Return whether an outer clause still lacks its verb."""
        return any(not clause.verb for clause in self.stack[:-1])

    def push(self, clause: Clause) -> None:
        self.stack.append(clause)

    def relative(self, subject: bool) -> None:
        """Begin a relative clause after the head of the innermost clause."""
        head = self.clause.head
        if head is None or head.pronoun:
            self.report(f"'{self.words[self.at]}' has no antecedent")
            head = head or Phrase("?", plural=None)
        self.at += 1
        begun = Clause("relative", antecedent=head)
        if subject:
            begun.subject = head
        else:
            begun.gap = head
        self.push(begun)

    def _verb(self) -> None:
        while self.clause.verb and len(self.stack) > 1:
            self._close(self.stack.pop())
        clause = self.clause
        if clause.verb:
            self.report(f"'{self.words[self.at]}' is a second verb")
            clause = Clause("main", subject=Phrase("?", plural=None))
            self.stack[-1] = clause
        if clause.subject is None:
            self.report(f"'{self.words[self.at]}' has no subject")
            clause.subject = Phrase("?", plural=None)
        self.verb_group(clause)
        clause.head = None

    def _close_down_to(self, depth: int) -> None:
        while len(self.stack) > depth:
            self._close(self.stack.pop())

    def _close(self, clause: Clause) -> None:
        if not clause.verb:
            self.report("a clause without a verb")
        else:
            self.close(clause)
            self._note(clause)

    def _note(self, clause: Clause) -> None:
        """Note which nouns belong to the verb of a complete clause."""
        verb = f"{clause.verb} {clause.particle}".strip()
        subject, thing = clause.subject, clause.direct or clause.governed
        if clause.kind == "main":
            self.mains.append(self.roles(clause))
        if clause.antecedent is not None:
            use = "subject" if subject is clause.antecedent else "object"
            noun = clause.antecedent
            self.attached.append(Attached(noun.noun, verb, use, noun.plural))
        if thing is not None and thing is not clause.antecedent:
            self.governed.append(Governed(verb, thing.noun, "object"))
        if subject is not None and subject is not clause.antecedent:
            use = "agent" if thing or clause.gap else "alone"
            self.governed.append(Governed(verb, subject.noun, use))

    def subject_or_attribute(self, phrase: Phrase, preposition: str) -> None:
        clause = self.clause
        if preposition:
            if clause.verb:
                clause.prepositions.add(preposition)
                if self.governs(clause.verb, preposition):
                    clause.governed = phrase
        elif clause.verb:
            if clause.direct is not None:
                self.report(f"'{phrase.text}' is a second object")
            clause.direct = phrase
        elif clause.subject is None:
            clause.subject = phrase
        else:
            self.report(f"'{phrase.text}' stands between subject and verb")
        if clause.head is None:
            clause.head = phrase

    # What the languages differ in.

    @abstractmethod
    def related(self) -> bool:
        """Read what begins a relative or object clause; return whether there is such a word."""

    @abstractmethod
    def verb_begins(self) -> bool:
        """Return whether a verb group begins here."""

    @abstractmethod
    def verb_group(self, clause: Clause) -> None:
        """Read a verb group as the verb of ``clause``."""

    @abstractmethod
    def phrase(self) -> None:
        """Read a noun phrase, with a preposition or without, or an adjective after *be*."""

    @abstractmethod
    def close(self, clause: Clause) -> None:
        """Check a complete clause."""

    @abstractmethod
    def governs(self, verb: str, preposition: str) -> bool:
        """Return whether a verb has an object with a preposition."""

    @abstractmethod
    def roles(self, clause: Clause) -> Roles:
        """Return the subject and the object of a complete clause."""
