"""Which frame, verb and mode fit where a clause stands, and what an antecedent may be in it."""

from dataclasses import dataclass

from datamodules.grammar.drawing.draws import Pool, Random, Tables
from datamodules.grammar.drawing.noun_phrases import kind_of
from datamodules.grammar.drawing.participants import Participants
from datamodules.grammar.drawing.vocabulary import OWNABLE, Vocabulary
from datamodules.grammar.knobs import Knobs
from datamodules.grammar.meaning.phrases import (
    HUMAN,
    KINDS,
    Adjective,
    Clause,
    Mode,
    NounPhrase,
    Participant,
    Verb,
)

SUBJECT_GAP_SHARE, THING_GAP_SHARE = 0.6, 0.1
"""Shares of relative clauses of somebody, and of something, that is their subject."""
BE = Verb("be", "be", KINDS, state=True)
FRAMES = {
    "intransitive": (3.0, 1, 5), "transitive": (10.0, 3, 12), "prepositional": (4.0, 4, 9),
    "motion": (2.0, 4, 8), "ditransitive": (3.5, 6, 12), "quality": (5.0, 2, 7),
    "location": (1.5, 4, 5), "inverse": (2.0, 3, 6), "reporting": (7.0, 2, 12),
}  # fmt: skip
"""Weight of each frame, and its fewest and most words without the subject."""
MOST_WORDS = max(most for _, _, most in FRAMES.values())
_HOSTS = ("transitive", "prepositional", "reporting")  # frames that may hold a clause at their end
_PASSIVE_WORDS = 5  # of a passive with its agent
_EVENTS = ("intransitive", "transitive", "prepositional", "motion", "ditransitive")
_DEEDS = (*_EVENTS, "quality", "location", "reporting")
_ALLOWED = {
    "": _DEEDS, "deed": (*_EVENTS, "reporting"), "moment": ("intransitive", "motion"),
    "place": ("intransitive", "transitive"), "last": (*_DEEDS, "inverse"),
}  # fmt: skip
"""Frames of clauses where not only events fit. In the only clause of a sentence the subject may be
the object of another language: no pronoun for it follows."""
_RARE = {("relative", "intransitive"): 0.5}
"""Factors of weights: *that falls* says little."""
_PLAIN = ("reason", "result", "event", "moment")  # kinds of clauses without a modal verb
_LOCATED = ("person", "animal", "tool", "container", "text", "vehicle", "furniture", "machine")
"""Classes that may be somewhere."""


@dataclass(slots=True)
class ClausePlace:
    """Where a clause stands."""

    subject: Participant | None = None  # a bound pronoun; with some gaps, the antecedent
    object: NounPhrase | None = None  # the object of the clause before, for a pronoun
    gap: str = ""
    mark: str = ""  # what the verb must be like
    antecedent: NounPhrase | None = None
    verbs: Pool[Verb] | None = None  # the verbs that fit, if they are known already
    qualities: Pool[Adjective] | None = None  # the qualities, if it is one
    given: Participant | None = None  # an object that is known: a pronoun, or one with *whose*
    apart: NounPhrase | None = None  # an object that the subject must differ from in number
    words: int | None = None  # number of words; None for a part of the budget
    kind: str = ""
    """``reason`` after *because*, ``result`` after *so*, ``denied`` after *but*, ``moment`` after
    *before*, ``deed`` after *and*, ``event`` in a condition; otherwise empty."""
    negation: str | None = None  # the one that a clause behind *but* has
    last: bool = False  # whether no main clause follows
    subjunctive: bool = False
    first: bool = False  # whether *he*, *she* and *they* may stand for persons outside the sentence
    main: bool = False
    named: bool = False  # whether the subject is a noun phrase
    timed: bool = True  # whether a main clause may have a time of its own
    fronts: bool = True  # whether a time may stand first in a main clause
    plain: bool = False  # whether no clause stands inside the clause
    asks: bool = False
    there: bool = False  # whether the clause before has a place

    @property
    def governs(self) -> bool:
        """Whether the antecedent is what the verb governs."""
        return self.gap in ("object", "oblique")


class Frames(Participants):
    """Choice of the frame, the verb and the mode of a clause."""

    def __init__(self, vocabulary: Vocabulary, knobs: Knobs, random: Random) -> None:
        super().__init__(vocabulary, knobs, random)
        self.tense, self.habit, self.doubts = "present", False, False
        self._frames = Tables(self._build_frames)
        self.gaps = Tables(self._build_gaps)

    def _frame(
        self, words: int, subject: Participant | None, place: ClausePlace, host: bool
    ) -> tuple[str, Verb]:
        if place.verbs is not None:
            verb = self._verb(place.verbs)
            return verb.frame, verb
        if place.qualities is not None:
            return "quality", BE
        kind, mark = "" if subject is None else kind_of(subject), self._mark(place)
        if host and self.doubts:
            self.doubts, frame = False, "doubting"
        else:
            limit = place.kind or (place.gap if place.gap in ("", "place") else "relative")
            if self.habit or self.tense == "perfect":
                limit = "event"  # nobody *was always red*, or *has loved*
            elif not limit and place.first and place.last:
                limit = "last"
            elif "reports" in self.said and limit in ("", "deed"):
                limit = "event"  # one report a sentence
            key = kind, min(words - 1, MOST_WORDS), host, limit, mark, self.tense == "present"
            frame = self._frames[key].draw(self.random)
        if frame == "reporting":
            self.said.add("reports")
        table = self.vocabulary.verbs[frame, kind, "", mark]
        if table is None:
            return frame, BE
        verb = self._verb(table)
        return verb.frame, verb

    def _mark(self, place: ClausePlace) -> str:
        """Return the marks of verbs that fit: no states in a habit, future or perfect."""
        if place.mark or place.kind in ("event", "moment"):
            return place.mark or "meant"
        return "event" if self.habit or self.tense in ("future", "perfect") else ""

    def complete(
        self, clause: Clause, frame: str, subject: Participant, place: ClausePlace, host: bool
    ) -> int:
        """Give a clause what its frame needs besides the subject; return the fewest words."""
        modal = clause.mode.modal
        if modal is not None and modal.subjects and kind_of(subject) not in modal.subjects:
            clause.mode = clause.mode._replace(modal=None)  # no engine wants to sleep
        if frame == "passive":
            self.give_agent(clause)
            return _PASSIVE_WORDS
        self.participants(clause, frame, subject, place, host)
        return FRAMES[frame][1] - 2 * place.governs - (place.given is not None)

    def _build_frames(self, key: tuple[str, int, bool, str, str, bool]) -> Pool[str]:
        """Return the frames with verbs for a class of subjects (any class: empty), by weight."""
        kind, words, host, limit, mark, present = key
        possible = {frame for frame in FRAMES if self._is_possible(frame, kind, mark)}
        possible = possible.intersection(_ALLOWED.get(limit, _EVENTS)) or possible
        # A report of the past would need tenses of its own.
        allowed = possible - (set() if host and present else {"reporting"})
        if host:
            allowed = allowed.intersection(_HOSTS) or allowed
        fitting = {frame for frame in allowed if FRAMES[frame][1] <= words <= FRAMES[frame][2]}
        fitting = fitting or {frame for frame in allowed if FRAMES[frame][1] <= words}
        shortest = min(allowed, key=lambda frame: (FRAMES[frame][1], frame))
        weights = {
            frame: weight * _RARE.get((limit, frame), 1)
            for frame, (weight, _, _) in FRAMES.items()
            if frame in (fitting or {shortest})
        }
        return Pool(weights, weights.values())

    def _is_possible(self, frame: str, kind: str, mark: str = "") -> bool:
        if frame == "quality":
            return not kind or self.vocabulary.qualities[kind, False] is not None
        if frame == "location":
            return not kind or kind in _LOCATED
        return self.vocabulary.verbs[frame, kind, "", mark] is not None

    def _subject_kinds(self, frame: str, verb: Verb) -> tuple[str, ...]:
        if frame == "location":
            return _LOCATED
        return self.vocabulary.described if frame == "quality" else verb.subjects

    def _is_passive(self, place: ClausePlace, host: bool) -> bool:
        if place.gap or place.verbs or place.kind or host:
            return False
        return self.shares["passives"].draw()

    def _mode(self, frame: str, verb: Verb, words: int, place: ClausePlace, passive: bool) -> Mode:
        inside = place.gap not in ("", "shared")
        # *Ont demandé et voulaient* would need its subject again.
        past = place.gap == "shared" and self.tense == "past"
        plain = inside or past or place.kind in _PLAIN or frame == "reporting"
        if plain or (place.negation is None and words < FRAMES[frame][1] + 3):
            mode = Mode(self.tense, place.negation or "", habit=self.habit)
        else:
            modals = "willing" if verb.meant and not passive else "able"
            if self.habit or verb is BE:
                modals = ""
            elif verb.state:
                modals = "state"
            negation = "" if place.negation is None and "no" in self.said else place.negation
            mode = self.vocabulary.modes[self.tense, self.habit, modals, negation].draw(self.random)
            if mode.negation:
                self.said.add("no")
        if place.subjunctive or passive:
            mode = mode._replace(subjunctive=place.subjunctive, passive=passive)
        return mode

    def _build_gaps(self, key: tuple[str, bool, str]) -> tuple[Pool[str] | None, Pool[str] | None]:
        """Return what the antecedent of a relative clause may be in it, by its class: subject or
        object, and others.

        A verb whose object is the antecedent has no noun after it that could hold another clause.
        """
        kind, host, mark = key
        share = SUBJECT_GAP_SHARE if kind in HUMAN else THING_GAP_SHARE
        usual = {
            "subject": share * self._has_predicate(kind, mark),
            "object": (1 - share) * (not host and self._governs("transitive", kind, mark)),
        }
        others = self.other_gaps(kind, host, mark)
        return (
            Pool(usual, usual.values()) if any(usual.values()) else None,
            Pool(others, [1.0] * len(others)) if others and self.knobs.relatives else None,
        )

    def other_gaps(self, kind: str, host: bool, mark: str) -> list[str]:
        """Return the gaps but subject and object that a relative clause of a class may have."""
        possible = {
            "owner": kind in HUMAN,
            "owner of object": kind in HUMAN and not host,
            "oblique": not host and self._governs("prepositional", kind, mark),
            "place": kind == "place" and self._has_predicate("person", mark + " placed"),
        }
        return [name for name in possible if possible[name]]

    def owned_kinds(self, mark: str) -> tuple[str, ...]:
        """Return the classes of the objects that may be *whose*."""
        return tuple(kind for kind in OWNABLE if self._governs("transitive", kind, mark))

    def _governs(self, frame: str, kind: str, mark: str) -> bool:
        return self.vocabulary.verbs[frame, "person", kind, mark] is not None

    def _has_predicate(self, kind: str, mark: str) -> bool:
        return any(self._is_possible(frame, kind, mark) for frame in ("intransitive", "transitive"))
