"""Draws the meaning of whole sentences: clauses that say something of one topic."""

from collections import defaultdict
from functools import cached_property
from itertools import zip_longest
from typing import TypeAlias

from datamodules.grammar.drawing.circumstances import has_infinitive, takes_time
from datamodules.grammar.drawing.clauses import Clauses, holds_clause
from datamodules.grammar.drawing.draws import Pool
from datamodules.grammar.drawing.frames import SPEAKERS, clashes, is_unclear, taken_up
from datamodules.grammar.drawing.noun_phrases import kind_of, noun_of
from datamodules.grammar.drawing.plans import (
    BESIDE,
    LONGEST,
    MEAN,
    ClausePlace,
    Plan,
    WordBudget,
    plan_clauses,
)
from datamodules.grammar.drawing.writer import NothingLeftError
from datamodules.grammar.meaning.phrases import (
    ANIMATE,
    Adjective,
    Adverbial,
    Clause,
    Dated,
    Expression,
    Joined,
    NounPhrase,
    Prepositional,
    Pronoun,
    Verb,
    subject_of,
)

SHORT = 8  # words up to which a sentence has as many words as were planned
MOST_UNUSED = 4  # most words that are planned in addition for each word above ``SHORT``
FEW = 24  # words below which a sentence may have at most two main clauses and a subordinate one
STEADY = 16  # sentences over which an error of the mean length is mended
MOST_SHORT = 2  # main clauses that may be short
NEW_SHARE = 0.15  # share of clauses behind *and* in which somebody else does something
LEAST_MORE = 5  # most words that may be left over
MOST_SENTENCES = 100  # draws for a sentence
OBJECT_SHARE = 0.6  # share of clauses that say more of the object before, where they can
_FIRST = ("so:then",)  # conjunctions that may take the first place of a clause
_SUBORDINATING = {"because", "when", "while"}
_NAMING = {"because", "so:then", "but"}  # conjunctions before a pronoun for the topic
_OTHERS = {"when", "while"}  # conjunctions before what somebody else does
_REASONS = {"future": "present", "perfect": "past"}
"""Tenses of reasons, by the tense of the sentence, if another."""

# Qualities, or verbs with an object.
Reason: TypeAlias = tuple[Pool[Adjective] | None, Pool[Verb] | None]


class Sentences(Clauses):
    """Writer of sentences; equal random numbers give equal sentences."""

    @cached_property
    def _unused(self) -> dict[int, float]:
        """Share of the words planned for long sentences that is not used, by length."""
        return defaultdict(lambda: 0.9)

    def sentence(self, words: int) -> list[Joined]:
        """Draw a sentence of ``words`` words on average: its clauses side by side."""
        return self.first_kept(
            MOST_SENTENCES,
            lambda: self._sentence(words),
            lambda joined: all(self.is_kept(each.clause) for each in joined),
        )

    def _sentence(self, wanted: int) -> list[Joined]:
        """Draw a sentence.

        Long ones often end early: they are planned longer, by what others of about that length
        lacked.
        """
        long, unused = max(0, wanted - SHORT), self._unused[wanted // SHORT]
        words = wanted + int(unused * long)
        self.units = self.clauses = self.words = 0
        self.said.clear()
        self.doubts, self.joined, self.closed = False, frozenset(), False
        self.draw_tense()
        embedding = self.shares["embedding"].probability
        outline = plan_clauses(wanted, words, self.knobs, embedding, self.random)
        plans, count, gap, most, self.deepest = outline
        self.few = most == BESIDE and wanted < FEW
        single = len(plans) == 1
        self.habit = self.habit and single and wanted < 2 * MEAN
        self.budget = WordBudget(words - len(plans) + 1, count, gap)
        asks = single and self.shares["questions"].draw()
        moody = self._draw_mood(plans, count)
        joined = [self._first(plans.pop(0), single, asks)]
        while plans and self._continue(joined, plans.pop(0), not plans):
            pass
        for _ in range(0 if asks or self.habit else 2 * most):
            if self.budget.words <= LEAST_MORE:
                break
            self.budget.clauses = 1
            ends = self.closed or len(joined) == most
            if self.random() < embedding and self._extend(joined):
                continue
            if ends:
                break
            self.end_time(joined[-1].clause)
            if not self.is_kept(joined[-1].clause):
                raise NothingLeftError
            before = len(joined)
            self._continue(joined, Plan(), last=self.few or self.budget.words < 2 * LONGEST)
            self.budget.words -= len(joined) - before  # the conjunction
        if len(joined) == 1 and (self.opening or self.second):
            raise NothingLeftError
        self.length = self.words + self.clauses - 0.5  # most clauses have a word that joins them
        mains = sum(not is_bound(each) for each in joined)
        if mains > MOST_SHORT and self.length < MEAN * mains:  # a chain of short clauses
            raise NothingLeftError
        if long:
            unused += (wanted - self.length) / long / STEADY
            self._unused[wanted // SHORT] = min(MOST_UNUSED, max(0, unused))
        self._count_moved(joined[-1])
        self.shares["embedding"].count(self.clauses - len(joined), self.clauses - 1)
        self.shares["questions"].count(asks, len(joined) == 1)
        self.shares["moods"].count(moody, self.clauses > 1)
        return joined

    def _continue(self, joined: list[Joined], plan: Plan, last: bool) -> bool:
        """Add a clause to a sentence, if one fits; return whether another may follow."""
        before = self.counted()
        try:
            joined.append(self._next(plan, joined, last))
        except NothingLeftError:
            self.uncount(before)
            clause = joined[-1].clause
            if _fronts(joined[-1]):  # nothing follows: the time may be that of a last clause
                clause.time = None
                self._add_time(clause, 0, ClausePlace(last=True, host=holds_clause(clause)))
            return False
        return not self.closed

    def _extend(self, joined: list[Joined]) -> bool:
        """Let one more clause hold a relative clause, from the last to the first."""
        for each, following in reversed([*zip_longest(joined, joined[1:])]):
            joins = following is not None and joins_shareable(each, following)
            bound = following is not None and is_bound(following)
            if not bound and self.extend(each.clause, following is None):
                # What follows can share no subject any more.
                self.shares["coordination"].count(0, -joins)
                return True
        return False

    def _count_moved(self, last: Joined) -> None:
        clause = last.clause
        if _fronts(last) and takes_time(clause) and not closes(clause):
            time = clause.time
            topic = isinstance(time, Dated) or (time and "topic" in time.expression.kinds)
            self.shares["reordering"].count(bool(topic) and not clause.time_first, 1)

    def _draw_mood(self, plans: list[Plan], count: int) -> bool:
        """Draw the first conjunctions: of a condition, a concession, or as usual.

        Returns whether there is one of the first two, or a doubt.
        """
        self.opening = self.second = None
        if count == 1 or not self.shares["moods"].draw():
            return False
        if len(plans) == 1 and self.tense == "present":
            self.doubts = True
            return True
        longer = len(plans) > 2  # nothing follows a clause with *before* or *although*
        expressions = self.vocabulary.expressions
        if longer or self.tense in ("future", "perfect") or self.random() < 0.5:
            self.tense = "unreal"
            condition = expressions["conditions"].draw(self.random)
            opens = longer or self.random() < 0.5
            self.opening, self.second = (condition, None) if opens else (None, condition)
        else:
            self.second = expressions["moods"].draw(self.random)
        return True

    def _first(self, plan: Plan, single: bool, asks: bool) -> Joined:
        """Draw the first clause of a sentence, with its conjunction, if it has one."""
        place = ClausePlace(main=True, first=True, last=single, asks=asks)
        # *We write before we sleep* has an infinitive in French.
        place.named = self.second in self.vocabulary.expressions["moods"].items
        place.kind = "event" if self.opening or self.second else ""
        place.fronts = not asks
        return self._write(plan, place, self.opening)

    def _next(self, plan: Plan, before: list[Joined], last: bool) -> Joined:
        """Draw the next clause of a sentence, with its conjunction."""
        told = before[-1]
        place = ClausePlace(main=True, last=last)
        place.there = isinstance(told.clause.place, Prepositional)
        if self.opening and len(before) == 1:
            # A time of this clause would stand beside the time of the opening clause.
            place.timed = False
            self._take_up(place, told.clause, "")
            return self._write(plan, place, None)
        conjunction = self._join(told.clause, len(before), last)
        self._contrast(place, told.clause, conjunction.name)
        joins = conjunction.name == "and" and may_share(told)
        shares = joins and self._share(place, told.clause)
        if not (shares or place.named):
            self._take_up(place, told.clause, conjunction.name)
        self._say_more(place, told.clause, plan)
        joined = self._write(plan, place, conjunction)
        self.shares["coordination"].count(shares, joins)
        return joined

    def _write(self, plan: Plan, place: ClausePlace, conjunction: Expression | None) -> Joined:
        """Draw a clause with its conjunction, in the tense and mood that the conjunction asks."""
        unit = None if conjunction is None else Adverbial(self.unit(), conjunction)
        subordinate = conjunction is not None and "subordinating" in conjunction.kinds
        tense = self.tense
        if subordinate:
            self.closed, place.plain, place.timed = not place.first, True, False
            if tense == "unreal":
                tense = "supposed"
        if conjunction is not None:
            place.fronts = not subordinate and conjunction.name not in _FIRST
            place.subjunctive = conjunction in self.vocabulary.expressions["moods"].items
        if place.kind == "reason":
            tense = _REASONS.get(tense, tense)
        clause = self.inside(plan, place, tense, self.habit)
        return Joined(clause, unit, not (place.first or subordinate or place.gap))

    def _join(self, last: Clause, number: int, ends: bool) -> Expression:
        """Draw the conjunction before a later clause: one that its first clause allows.

        Subordinate clauses end a sentence; a third clause is one, if it ends the sentence.
        """
        if number == 1 and self.second is not None:
            moods = self.vocabulary.expressions["moods"]
            if self.second.name == "although" and not self._reasons(last):
                self.second = moods.items[-1]
            return self.second
        results = self._results(last)
        denied = "no" in self.said or (results is None and not isinstance(last.object, NounPhrase))
        refused: list[tuple[bool, set[str]]] = [
            (not ends or (holds_clause(last) and self.deepest <= 2), _SUBORDINATING),
            (last.verb.state or bool(last.time or last.mode.adverb), _OTHERS),
            (not self._reasons(last), {"because"}),
            (results is None, {"so:then"}),
            (denied, {"but"}),
            (kind_of(subject_of(last)) not in ANIMATE or is_unclear(last), _NAMING),
            (number > 1 and ends and self.few, {"and", "but", "so:then"} | _OTHERS),
        ]
        left_out = self.joined.union(*(names for refuses, names in refused if refuses))
        table = self.vocabulary.conjunctions[self.tense, left_out]
        if table is None:
            raise NothingLeftError
        conjunction = table.draw(self.random)
        self.joined |= {conjunction.name} - {"and"}
        return conjunction

    def _take_up(self, place: ClausePlace, last: Clause, name: str) -> None:
        """Give a clause a pronoun for the subject of the clause before, or for its object."""
        subject = subject_of(last)
        if isinstance(subject, NounPhrase):
            self.describe(*subject.core.adjectives)
            if name == "and" and (kind_of(subject) not in ANIMATE or self.random() < NEW_SHARE):
                self._move(place, subject)
                return
        if not is_unclear(last):
            place.subject = taken_up(subject)
        elif name == "and" and "other" not in self.said:
            self.said.add("other")
            place.named = True
        else:
            raise NothingLeftError

    def _move(self, place: ClausePlace, topic: NounPhrase) -> None:
        """Let somebody else do something to the topic: *the car is old, and we sell it*."""
        verbs = self.vocabulary.verbs["transitive", "person", topic.core.noun, self._mark(place)]
        if verbs is None or "other" in self.said:
            raise NothingLeftError
        self.said.add("other")
        place.subject = self.subject_pronoun(place)
        place.verbs, place.given, place.apart = verbs, taken_up(topic), topic

    def _contrast(self, place: ClausePlace, last: Clause, name: str) -> None:
        """Say what a conjunction asks for: a reason, a result, a denial, or something done."""
        match name:
            case "because" | "although":
                place.kind = "reason"
                place.negation = "not" if name == "although" else None
                reasons = self._reasons(last)
                place.qualities, place.verbs = reasons[int(self.random() * len(reasons))]
                if last.object is not None and place.verbs is not None:
                    place.given = taken_up(last.object)
            case "so:then":
                place.verbs, place.kind = self._results(last), "result"
            case "but":
                place.negation, place.kind = "not", "denied"
                place.verbs = self._results(last)
            case "and":
                place.kind = "deed"
            case "when" | "while" | "before":
                place.kind, place.named = "moment", name in _OTHERS
                if name == "when":
                    place.mark = "done"  # a moment: not *when she slept*

    def _reasons(self, last: Clause) -> list[Reason]:
        """Return what may be the reason for a clause: qualities of its subject, and what it feels
        for the object."""
        subject, thing, verb = subject_of(last), last.object, last.verb
        found: list[Reason] = []
        if last.mode.negation or last.adjective is not None:
            return found
        kind, noun = kind_of(subject), noun_of(thing)
        qualities = self.vocabulary.causes[kind, verb]
        if qualities is not None and "is" not in self.said:
            found.append((qualities, None))
        if not verb.meant or verb.frame != "transitive" or thing is None or noun is None:
            return found
        if not clashes(subject, thing):
            verbs = self.vocabulary.verbs["transitive", kind, noun, "state"]
            feelings = [one for one in verbs.items if verb.name in one.results] if verbs else []
            if feelings:
                found.append((None, Pool(feelings, [1.0] * len(feelings))))
        return found

    def _results(self, last: Clause) -> Pool[Verb] | None:
        quality = last.adjective
        if quality is None or last.mode.negation or last.standard is not None:
            return None
        return self.vocabulary.results[kind_of(subject_of(last)), quality]

    def _say_more(self, place: ClausePlace, last: Clause, plan: Plan) -> None:
        """Let a clause say something more of the object of the clause before, by a pronoun."""
        thing, subject = last.object, place.subject
        if last.mode.passive or thing is None:
            return
        if isinstance(thing, NounPhrase):
            if thing.core.denied and thing.core.determiner in ("a", "some"):
                return
            place.object = thing
        noun = noun_of(thing)
        free = (
            place.verbs is place.qualities is None
            and place.kind in ("", "deed", "denied")
            and plan.inside is None
            and self.budget.words < LONGEST  # a pronoun can have no relative clause
        )
        if noun is None or not free or subject is None or clashes(subject, thing):
            return
        if place.negation is None and self.random() >= OBJECT_SHARE:
            return
        verbs = self.vocabulary.verbs["transitive", kind_of(subject), noun, self._mark(place)]
        if verbs is not None:
            place.verbs, place.given = verbs, taken_up(thing)

    def _share(self, place: ClausePlace, last: Clause) -> bool:
        """Make a clause share the subject of the clause before, or not."""
        subject = subject_of(last)
        if kind_of(subject) not in ANIMATE or not self.shares["coordination"].draw():
            return False
        place.gap, place.timed = "shared", False
        if self.tense == "past":
            place.mark = "event"  # one tense in French and German
        place.subject = subject
        place.antecedent = subject if isinstance(subject, NounPhrase) else None
        return True


def _fronts(joined: Joined) -> bool:
    """Return whether a time may stand first in a main clause."""
    clause, conjunction, comma = joined
    if clause.question or clause.mode.habit:
        return False
    return conjunction is None or (comma and conjunction.expression.name not in _FIRST)


def closes(clause: Clause) -> bool:
    """Return whether a time at the end would belong to something inside a clause."""
    return holds_clause(clause) or has_infinitive(clause)


def is_bound(joined: Joined) -> bool:
    """Return whether nothing may come between a clause and the one before."""
    _, conjunction, comma = joined
    return conjunction is not None and not comma


def joins_shareable(before: Joined, joined: Joined) -> bool:
    """Return whether a clause could share the subject of the clause before."""
    conjunction = joined.conjunction
    joins = conjunction is not None and conjunction.expression.name == "and"
    return joins and may_share(before)


def may_share(joined: Joined) -> bool:
    """Return whether a clause behind *and* may share the subject of a main clause.

    Nothing at the end of the clause may seem to have a second verb, nor may its first words.
    """
    clause, mode = joined.clause, joined.clause.mode
    return not (
        clause.gap
        or holds_clause(clause)
        or mode.passive
        or mode.modal
        or mode.negation
        or mode.adverb
        or (mode.tense == "past" and clause.verb.state)
        or (isinstance(clause.subject, Pronoun) and clause.subject.person in SPEAKERS)
        or mode.tense in ("supposed", "unreal")
        or (clause.time and not clause.time_first)
    )
