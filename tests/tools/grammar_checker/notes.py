"""What a reader notes of a sentence: counted words, and which nouns belong to which verb."""

from collections import Counter
from typing import ClassVar

from tests.tools.grammar_checker.parts import Clause, Phrase, mention_of
from tests.tools.grammar_checker.translation import (
    OWNED_OBJECT,
    Attached,
    Counted,
    Governed,
    Placed,
    Roles,
)
from tests.tools.grammar_checker.words import Expressions

TENSES = {"imperfect": "past", "compound": "past", "perfect": "past", "past subjunctive": "past"}
"""What tenses and moods are counted as."""

SHORTEST_CHAINED = 7  # words of the clauses of which more than two may follow each other
TIMES = ("habit", "counted", "single")
"""Kinds of times that ``clash.py`` knows."""


class Notes(Counted):
    expressions: Expressions
    conditional: ClassVar[frozenset[str]]  # words for *if*
    owned: ClassVar[tuple[str, ...]]  # determiners of what *whose* owns

    def __init__(self) -> None:
        super().__init__()
        self.findings: list[str] = []
        self.is_marked = False  # whether the sentence ends with a question mark
        self.question = ""
        self.words: list[str] = []
        self.stack: list[Clause] = []  # clauses that are open
        self.closed: list[Clause] = []

    def report(self, finding: str) -> None:
        self.findings.append(finding)

    def count_person(self, person: int, plural: bool) -> None:
        self.seen["person"][str(2 if (person, plural) == (1, True) else person)] += 1

    def is_expression(self, text: str, use: str) -> bool:
        """Return whether a text is a fixed expression of a use."""
        words = tuple(text.split())
        return (words, use) in self.expressions.get(words[0], ())

    def note_expression(self, clause: Clause, use: str, text: str) -> None:
        clause.adverb = clause.adverb or bool(clause.verb)
        if use != "particle":
            self.seen["adverb"][use] += 1
        if use == "time":
            clause.times.append(text)
            clause.first |= clause.subject is None
            clause.marks |= {each for each in TIMES if self.is_expression(text, each)}
            if "habit" in clause.marks:
                self._repeat()
        elif use == "place":
            clause.place = True
            clause.places.append("")
        elif use == "manner":
            clause.manner = text
            clause.marks.add("manner")

    def _repeat(self) -> None:
        """Mark the clauses in which a time may tell that they happen again and again."""
        for clause in self.stack:
            clause.marks.add("repeated")

    def note(self, clause: Clause) -> None:
        """Note which nouns belong to the verb of a complete clause."""
        subject, thing = self.participants(clause)
        if clause.kind == "main":
            self.mains.append(Roles(mention_of(subject), mention_of(thing)))
        if clause.antecedent is not None:
            is_subject = clause.subject is clause.antecedent
            use = clause.use or ("subject" if is_subject else "object")
            if use == "owner" and not self._is_owned(subject):
                use = OWNED_OBJECT
            noun = clause.antecedent
            self.attached.append(Attached(noun.noun, clause.whole_verb, use, noun.plural))
        if clause.passive:
            self._note_governed(clause, subject, "object")
            self._note_governed(clause, clause.agent, "agent")
        else:
            self._note_governed(clause, thing, "object")
            use = "agent" if thing or clause.gap else "alone"
            self._note_governed(clause, None if clause.shared else subject, use)

    def _is_owned(self, subject: Phrase | None) -> bool:
        first = subject.parts[0] if subject and subject.parts else subject
        return first is not None and first.determiner in self.owned

    def _note_places(self, clause: Clause, followers: list[Clause]) -> None:
        """Note times and places of a clause; main clauses behind it share a time that is first."""
        verb, inner = clause.whole_verb, clause.kind != "main"
        followed = any(each.kind == "main" and not each.conjunction for each in followers)
        wide = clause.first and (followed or "chain" in clause.marks)
        self.placed += [Placed("time", "", verb, inner, wide) for _ in clause.times]
        for kind, places in (("place", clause.places), ("goal", clause.goals)):
            for place in places:
                named = place in ("name", "town")
                self.placed.append(Placed(kind, "" if named else place, verb, inner))

    def _note_governed(self, clause: Clause, phrase: Phrase | None, use: str) -> None:
        if phrase is not None and phrase is not clause.antecedent:
            for part in phrase.parts or (phrase,):
                self.governed.append(Governed(clause.whole_verb, part.noun, use))

    def check_sentence(self) -> None:
        if self.is_marked != bool(self.question):
            self.report("a question mark belongs to a question, and to nothing else")
        times = Counter(time for clause in self.closed for time in clause.times)
        for time, count in times.items():
            if count > 1:
                self.report(f"'{time}' is said twice")
        self.seen["question"] += Counter([self.question] if self.question else [])
        self._check_length()
        unreal = [clause for clause in self.closed if clause.tense == "unreal"]
        conditions = [
            c for c in self.closed if c.kind == "main" and c.conjunction in self.conditional
        ]
        supposed = bool(unreal) or any(TENSES.get(c.tense, c.tense) == "past" for c in conditions)
        if supposed and any(c.kind == "main" and c.tense == "future" for c in self.closed):
            self.report("a future beside a condition in the past")
        if unreal and not conditions:
            self.report(f"'{unreal[0].verb}' in the conditional without a condition")
        for number, clause in enumerate(self.closed, 1):
            self._note_places(clause, self.closed[number:])
            tense = TENSES.get(clause.tense, clause.tense)
            if tense == "unreal" and (clause in conditions or clause.kind != "main"):
                self.report(f"'{clause.verb}' in the conditional in an inner clause")
            if unreal and clause in conditions:
                if clause.tense not in ("past", "imperfect"):
                    self.report(f"'{clause.verb}' after if needs the past")
                tense = "unreal"
            self.seen["tense"][tense] += 1

    def _check_length(self) -> None:
        """Check that a sentence has two main clauses, or more if they are long, and one beside."""
        mains = [each for each in self.closed if each.kind == "main" and not each.shared]
        joined = [clause for clause in mains if clause.conjunction]
        most = max(2, len(self.words) // SHORTEST_CHAINED)
        if sum(not clause.conjunction for clause in mains) > most or len(joined) > 1:
            self.report("a chain of clauses")

    def participants(self, clause: Clause) -> tuple[Phrase | None, Phrase | None]:
        """Return the subject and the object of a complete clause, as English has them."""
        return clause.subject, None if clause.passive else clause.direct or clause.governed
