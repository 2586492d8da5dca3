"""Reads a sentence from left to right with a stack of open clauses; both languages derive from it.

A finite verb belongs to the innermost clause that has none: the clauses inside it end there. What
needs both a noun phrase and a verb (agreement, government) is checked when its clause ends.
"""

from abc import ABC, abstractmethod
from collections import Counter
from typing import ClassVar

from tests.tools.grammar_checker.clash import clashes
from tests.tools.grammar_checker.notes import Notes
from tests.tools.grammar_checker.parts import Clause, Phrase
from tests.tools.grammar_checker.words import TRAITS


class Reader(Notes, ABC):
    restricting: ClassVar[frozenset[str]]  # *when* and *while*, which may belong to a time
    places: ClassVar[frozenset[str]]  # prepositions of places
    quantities: ClassVar[tuple[str, ...]]  # determiners of more than one, other than numbers
    owners: ClassVar[tuple[str, ...]]  # determiners that tell whose a thing is
    dating: ClassVar[str]  # the word before a date
    months: ClassVar[frozenset[str]]
    being: ClassVar[str]  # the verb *be*
    standards: ClassVar[dict[str, tuple[str, ...]]]  # words for *as* and *than*
    joining: ClassVar[frozenset[str]]  # words for *and* and *but*

    def __init__(self, words: list[str], flips: frozenset[int] = frozenset()) -> None:
        super().__init__()
        self.is_marked = words[-1:] == ["?"]
        self.words = [*(words[:-1] if self.is_marked else words), ".", ".", "."]
        """The words, with stops at the end so that a look ahead needs no test."""
        self.flips = flips
        self.choices: list[int] = []
        """Where the reading of an ambiguous word was chosen; ``flips`` chooses the other."""
        self.at = 0
        self.after_phrase = -1  # where the last noun phrase ended
        self.stack: list[Clause] = [Clause("main")]
        self.opening = False
        """Whether the sentence began with a conjunction, and its main clause is still to come."""

    # Reading.

    def read(self) -> None:
        last = len(self.words) - 3
        while self.at < last:
            before = self.at, len(self.stack), self.clause.verb
            self._step()
            if (self.at, len(self.stack), self.clause.verb) == before:
                around = " ".join(self.words[max(0, self.at - 2) : self.at + 2])
                self.report(f"'{self.words[self.at]}' does not fit here: {around}")
                return
        self._close_down_to(0)
        if self.opening:
            self.report("the main clause is missing")
        self.check_sentence()

    def choose(self, place: int) -> bool:
        """Return whether to take the second reading of an ambiguous word."""
        self.choices.append(place)
        return place in self.flips

    def _step(self) -> None:
        if self.words[self.at] == ",":
            self._comma()
        elif self._asks() or self._joined() or self._shared() or self.expression():
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
        if not self.opening and self.expression_at(self.at, "under") and self._joined():
            return
        self._close_down_to(0)
        found = self.expression_at(self.at, "beside")
        self.stack = [Clause("main")]
        if found:
            if self.words[self.at] in self.joining and self.shares_at(self.at + found):
                self.stack = [self._sharing()]
            self.at += found
        elif self.opening:
            self.opening = False
        else:
            self.report("a comma without a conjunction")

    def _asks(self) -> bool:
        clause = self.clause
        fresh = clause.kind == "main" and clause.subject is None and not clause.verb
        if not self.is_marked or self.question or not fresh or self.closed:
            return False
        return self.asks(clause)

    def _joined(self) -> bool:
        found = self.expression_at(self.at, "under")
        clause = self.clause
        if not found or (self.at and not clause.verb) or clause.waits:
            return False
        if not self.at:
            self.opening = True
        elif self.is_other_word():
            return False
        else:
            self._close_down_to(0)
        conjunction = " ".join(self.words[self.at : self.at + found])
        if conjunction in self.restricting and self.expression_before(self.at, "habit"):
            self.report(f"'{conjunction}' reads as which of the times before it")
        self.stack = [Clause("main", conjunction, mood=self.mood_after(conjunction))]
        self.at += found
        return True

    def _shared(self) -> bool:
        """Read *and* between two verbs with one subject."""
        word = self.words[self.at]
        if word not in self.joining or not self.clause.verb:
            return False
        if len(self.stack) > 1:
            self.report(f"what follows '{word}' belongs to the inner clause")
        self._close_down_to(0)
        self.stack = [self._sharing()]
        self.at += 1
        return True

    def _sharing(self) -> Clause:
        """Return a clause with the subject of the last main clause."""
        mains = [clause for clause in self.closed if clause.kind == "main"]
        before = mains[-1] if mains else Clause("main", subject=Phrase("?", plural=None))
        return Clause(
            "main", before.conjunction, before.subject, shared=True, mood=before.mood,
            marks=before.marks & {"repeated"},
        )  # fmt: skip

    def is_other_word(self) -> bool:
        """Return whether a conjunction is another word here (*si grand*, *s'est lavé*)."""
        return False

    def mood_after(self, conjunction: str) -> str:
        """Return the mood that a conjunction needs."""
        return ""

    def _date(self) -> bool:
        """Read *on 1 May 1990*."""
        first, day, month, year = (self.words[self.at : self.at + 4] + [""] * 3)[:4]
        if first != self.dating or month not in self.months:
            return False
        if not day.removesuffix("er").isdigit() or not year.isdigit():
            self.report("a wrong date")
        self.seen["name"] += Counter((day.removesuffix("er"), year))
        self.note_expression(self.clause, "time", " ".join((first, day, month, year)))
        self.at += 4
        return True

    def expression(self) -> bool:
        if self._date():
            return True
        for use in ("time", "manner", "place", "particle"):
            found = self.expression_at(self.at, use)
            if not found:
                continue
            clause = self.clause
            if use == "manner" and clause.waits and self.verb_begins():
                return False
            stops = self.words[self.at + found] == ","
            if use == "particle" and not (stops and clause.subject is None and not clause.verb):
                continue
            if clause.waits and not clause.asked:
                self.report(f"'{self.words[self.at]}' between subject and verb")
            if clause.subject is None and not clause.verb and not stops:
                continue
            self.note_expression(clause, use, " ".join(self.words[self.at : self.at + found]))
            self.at += found
            return True
        return False

    def note_place(self, phrase: Phrase, preposition: str) -> None:
        """Note the places of a noun phrase, unless the verb has them as its object."""
        clause = self.clause
        clause.place |= bool(clause.verb)
        first = preposition not in clause.prepositions
        governed = clause.verb and first and self.governs(clause, preposition)
        places = clause.goals if governed else clause.places
        places += [part.noun for part in phrase.parts or (phrase,)]

    def quality(self) -> bool:
        """Read an adjective after *be*, and what it compares with; return whether there is one."""
        clause = self.clause
        if clause.verb != self.being or clause.quality:
            return False
        compared, adjective, length = self.compared_at(self.at)
        if adjective:
            self.at += length
            self.seen["comparison"][compared] += 1
            self._standard("as" if compared == "as" else "more")
        else:
            after = self.expression_at(self.at, "degree")
            adjective = self.quality_at(self.at + after)
            if not adjective:
                return False
            self.take("degree")
            self.at += 1
            clause.marks |= {"trait"} if adjective in TRAITS else set()
        self.seen["adjective"][adjective] += 1
        clause.quality = adjective
        return True

    def _standard(self, degree: str) -> None:
        """Read *than the house*."""
        word = self.words[self.at]
        if word not in self.standards[degree]:
            self.report(f"'{word}' instead of what it is compared with")
            return
        self.clause.near = self.full_phrase(self.at + 1)
        if self.clause.near is None:
            self.report(f"'{word}' without a noun")

    def take(self, use: str) -> bool:
        """Read a fixed expression of a use, if there is one; return whether there is."""
        found = self.expression_at(self.at, use)
        self.at += found
        self.seen["adverb"][use] += bool(found)
        self.clause.marks |= {use} if found else set()
        return bool(found)

    def expression_at(self, place: int, use: str) -> int:
        """Return the number of words of an expression at a place, 0 if there is none."""
        for words, found in self.expressions.get(self.words[place], ()):
            if found == use and tuple(self.words[place : place + len(words)]) == words:
                return len(words)
        return 0

    def expression_before(self, place: int, use: str) -> bool:
        """Return whether an expression of a use ends at a place."""
        ends = range(max(0, place - 5), place)
        return any(each + self.expression_at(each, use) == place for each in ends)

    # Clauses.

    @property
    def clause(self) -> Clause:
        return self.stack[-1]

    def is_awaited(self) -> bool:
        """Return whether an outer clause still lacks its verb."""
        return any(not clause.verb for clause in self.stack[:-1])

    def relative(self, use: str) -> Clause:
        """Begin a relative clause after the last noun of the innermost clause."""
        head = self.clause.near
        if head is None or head.pronoun:
            self.report(f"'{self.words[self.at]}' has no antecedent")
            head = head or Phrase("?", plural=None)
        elif head.determiner in self.owners:
            self.report(f"'{self.words[self.at]}' tells which of '{head.text}', as its owner does")
        self.at += 1
        begun = Clause("relative", antecedent=head, use=use)
        if use == "subject":
            begun.subject = head
        elif use == "object":
            begun.gap = head
        begun.place = use == "place"
        self.stack.append(begun)
        return begun

    def _verb(self) -> None:
        depth = len(self.stack)
        while self.clause.verb and len(self.stack) > 1:
            self._close(self.stack.pop())
        clause = self.clause
        if len(self.stack) < depth and self.squints():
            self.report(f"an adverb between two verbs before '{self.words[self.at]}'")
        if clause.verb:
            self.report(f"'{self.words[self.at]}' is a second verb")
            clause = Clause("main", subject=Phrase("?", plural=None))
            self.stack[-1] = clause
        if clause.subject is None:
            self.report(f"'{self.words[self.at]}' has no subject")
            clause.subject = Phrase("?", plural=None)
        self.verb_group(clause)
        clause.near = None

    def _close_down_to(self, depth: int) -> None:
        while len(self.stack) > depth:
            self._close(self.stack.pop())

    def _close(self, clause: Clause) -> None:
        clause.outer = self.stack[-1] if self.stack else None
        if clause.asked and not clause.verb:
            self.complete_question(clause)
        if not clause.verb:
            self.report("a clause without a verb")
        else:
            for finding in clashes(clause.marks):
                self.report(f"'{clause.verb}': {finding}")
            self.close(clause)
            self.note(clause)
            self.closed.append(clause)

    def subject_or_attribute(self, phrase: Phrase, preposition: str) -> None:
        clause = self.clause
        if preposition:
            if clause.verb:
                if clause.governed is None and self.governs(clause, preposition):
                    clause.governed = phrase
                clause.prepositions.add(preposition)
            elif clause.subject is None:
                self.report(f"'{preposition} {phrase.text}' before the subject")
            elif not self.question and preposition in self.places:
                self._check_attribute(clause, phrase, preposition)
        elif clause.verb:
            if clause.direct is not None:
                self.report(f"'{phrase.text}' is a second object")
            elif phrase.pronoun and clause.prepositions:
                self.report(f"'{phrase.text}' stands before the preposition")
            clause.direct = phrase
        elif clause.subject is None:
            clause.subject = phrase
        else:
            self.report(f"'{phrase.text}' stands between subject and verb")
        clause.near = phrase.parts[-1] if phrase.parts else phrase

    def _check_attribute(self, clause: Clause, place: Phrase, preposition: str) -> None:
        """Check a place that belongs to a noun before the verb (*the tree near the house*)."""
        head = clause.near
        if head is not None and self.is_person(head):
            self.report(f"'{preposition} {place.text}' beside the person '{head.text}'")
        elif "attribute" in clause.marks:
            self.report(f"'{preposition} {place.text}' behind another place")
        if place.determiner in self.quantities or place.determiner.isdigit():
            self.report(f"'{preposition} {place.text}' tells not which place")
        clause.marks.add("attribute")

    # What the languages differ in.

    @abstractmethod
    def is_person(self, phrase: Phrase) -> bool:
        """Return whether a noun phrase can only mean a person."""

    @abstractmethod
    def asks(self, clause: Clause) -> bool:
        """Read what begins a question; return whether there is such a word."""

    def complete_question(self, clause: Clause) -> None:
        """Add the verb of a question that has only its auxiliary."""

    @abstractmethod
    def shares_at(self, place: int) -> bool:
        """Return whether a verb begins at a place, rather than a subject."""

    @abstractmethod
    def related(self) -> bool:
        """Read what begins a relative or object clause; return whether there is such a word."""

    def squints(self) -> bool:
        """Return whether an adverb here may belong to an inner clause or to the outer verb."""
        return False

    @abstractmethod
    def verb_begins(self) -> bool:
        """Return whether a verb group begins here."""

    @abstractmethod
    def verb_group(self, clause: Clause) -> None:
        """Read a verb group as the verb of ``clause``."""

    @abstractmethod
    def quality_at(self, place: int) -> str:
        """Return the adjective at a place that tells a quality of the subject, or nothing."""

    @abstractmethod
    def compared_at(self, place: int) -> tuple[str, str, int]:
        """Return the degree, adjective and length of *bigger* or *less red* at a place."""

    @abstractmethod
    def full_phrase(self, place: int) -> Phrase | None:
        """Read a noun phrase, or two with *and* between them."""

    @abstractmethod
    def phrase(self) -> None:
        """Read a noun phrase, with a preposition or without, or an adjective after *be*."""

    @abstractmethod
    def close(self, clause: Clause) -> None:
        """Check a complete clause."""

    @abstractmethod
    def governs(self, clause: Clause, preposition: str) -> bool:
        """Return whether the verb of a clause has an object with a preposition."""
