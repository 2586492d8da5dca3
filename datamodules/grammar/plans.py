"""Clause types as frames with slots, weighted so that the English word counts add up."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from datamodules.grammar.lexicon.zipf import ExactLength, Option, Random, Table
from datamodules.grammar.verb_groups import MODES, Mode, mode_words

LONGEST_CLAUSE = 20
LONGEST_RELATIVE = 8
SHORTEST_CLAUSE = {"present": 3, "past": 3, "future": 5}


class NounPlan(NamedTuple):
    """Plan of a noun phrase; ``relative`` is the number of words of its relative clause."""

    kind: str
    """``pronoun``, ``name``, ``possessed`` (*the teacher's book*), ``noun`` (any fitting noun), or
    a class of nouns: ``person``, ``thing`` (inanimate) or ``portable``."""
    words: int
    relative: int = 0


class Group(NamedTuple):
    """Plan of a verb group: the mode, and the number of words of the English verb."""

    mode: Mode
    verb_words: int


class Adjunct(NamedTuple):
    """Plan of the end of a clause: number of words for place and for time, 0 for none."""

    place: int
    time: int


Slot = list[Option[Any]]


def _nouns(weights: dict[str, Sequence[float]], relative: float = 0.0) -> list[Option[NounPlan]]:
    """Return noun plans; ``weights[kind]`` lists the weights of 1, 2, ... words.

    ``relative`` is the weight of each plan with a relative clause.
    """
    options = [
        (NounPlan(kind, words), words, weight)
        for kind, by_words in weights.items()
        for words, weight in enumerate(by_words, 1)
        if weight
    ]
    noun = "person" if "person" in weights else "noun"
    if relative:
        for words, clause in product((2, 3), range(3, LONGEST_RELATIVE + 1)):
            options.append((NounPlan(noun, words, clause), words + clause, relative))
    return options


SUBJECT = _nouns({"pronoun": (5,), "name": (2,), "noun": (0, 9, 5, 2)}, relative=0.4)
_PERSON: dict[str, Sequence[float]] = {"pronoun": (5,), "name": (2,), "person": (0, 9, 5, 2)}
PERSON = _nouns(_PERSON, relative=0.4)
SIMPLE_PERSON = _nouns(_PERSON)
THING = _nouns({"thing": (0, 6, 4, 2), "possessed": (0, 0.5, 1, 0.5)})
PORTABLE = _nouns({"portable": (0, 6, 4, 2)})
OBJECT = _nouns({"noun": (0, 8, 6, 3), "name": (0.5,), "possessed": (0, 0.5, 1, 0.7)}, relative=0.4)
SIMPLE_OBJECT = _nouns({"noun": (0, 8, 5, 2), "name": (0.5,)})
OBLIQUE = _nouns({"noun": (0, 8, 4, 2), "name": (0.5,)}, relative=0.2)
NOUN = _nouns({"noun": (0, 5, 3, 1)})
PLACE: Slot = [(words, words, weight) for words, weight in ((3, 6.0), (4, 4.0), (5, 2.0))]
DEGREE: Slot = [(False, 0, 3.0), (True, 1, 1.0)]
ADJECTIVE: Slot = [(None, 1, 1.0)]
EQUAL: Slot = [(words, 3 + words, weight) for words, weight in ((1, 1.0), (2, 5.0), (3, 2.0))]
EXISTENCE: Slot = [("", 2, 3.0), ("not", 3, 1.0)]
THAT_CLAUSE: Slot = [(words, 1 + words, 1.0) for words in range(5, LONGEST_CLAUSE - 3)]
ADJUNCT: Slot = [
    (Adjunct(place, time), place + time, weight * other)
    for (place, weight), (time, other) in product(
        ((0, 10.0), (1, 0.4), (2, 0.2), (3, 3.0), (4, 2.0), (5, 1.0)),
        ((0, 10.0), (1, 1.0), (2, 1.0), (3, 0.5)),
    )
]


def _groups(tense: str, verb_words: Iterable[int] = (1,), clitic: bool = False) -> Slot:
    return [
        (Group(mode, words), mode_words(mode, False) + words - 1 + clitic, weight / words**2)
        for mode, weight in MODES[tense]
        for words in verb_words
    ]


def _be(tense: str) -> Slot:
    """Return plans of *be* in every mode except with *can*, *must* and *want*."""
    return [
        (Group(mode, 1), mode_words(mode, True), weight)
        for mode, weight in MODES[tense]
        if mode.modal is None or tense == "future"
    ]


def _plain(tense: str, and_it: bool = False) -> Slot:
    """Return the affirmative mode without adverb, which is the first mode of each tense."""
    mode = MODES[tense][0][0]
    return [(Group(mode, 1), mode_words(mode, False) + (2 if and_it else 0), 1.0)]


class Frame(NamedTuple):
    """A clause type and its slots."""

    name: str
    slots: ExactLength[Any]


class Plans:
    """Draws a frame and fills its slots to an exact number of English words."""

    def __init__(self, frames: Sequence[tuple[str, float, Sequence[Slot]]], longest: int) -> None:
        weighted = [
            (Frame(name, ExactLength(slots, longest)), share) for name, share, slots in frames
        ]
        self._by_words: dict[int, Table[Frame]] = {}
        for words in range(longest + 1):
            fitting = [
                (frame, share * frame.slots.totals[words])
                for frame, share in weighted
                if frame.slots.totals[words]
            ]
            if fitting:
                self._by_words[words] = Table(*zip(*fitting, strict=True))

    def draw(self, words: int, random: Random) -> tuple[str, list[Any]]:
        """Return the name of a frame and one choice for each of its slots."""
        name, slots = self._by_words[words].draw(random)
        return name, slots.draw(words, random)


@cache
def subject_relatives(tense: str) -> Plans:
    """Return the predicates of relative clauses with *qui*, without subject or inner clause."""
    return Plans(
        [
            ("intransitive", 2, [_groups(tense), ADJUNCT]),
            ("transitive", 5, [_groups(tense, (1, 2)), SIMPLE_OBJECT, ADJUNCT]),
            ("clitic", 1, [_groups(tense, (1, 2), clitic=True), ADJUNCT]),
            ("prepositional", 2, [_groups(tense), SIMPLE_OBJECT, ADJUNCT]),
            ("adjective", 2, [_be(tense), DEGREE, ADJECTIVE]),
            ("location", 1, [_be(tense), PLACE]),
        ],
        LONGEST_RELATIVE,
    )


@cache
def object_relatives(tense: str) -> Plans:
    """Return the subject and verb of relative clauses with *que*."""
    return Plans([("object", 1, [SIMPLE_PERSON, _groups(tense, (1, 2))])], LONGEST_RELATIVE)


@cache
def clauses(tense: str) -> Plans:
    """Return the main and subordinate clauses of a tense, up to ``LONGEST_CLAUSE`` words."""
    frames = [
        ("intransitive", 3, [SUBJECT, _groups(tense), ADJUNCT]),
        ("transitive", 10, [SUBJECT, _groups(tense, (1, 2)), OBJECT, ADJUNCT]),
        ("clitic", 2, [SUBJECT, _groups(tense, (1, 2), clitic=True), ADJUNCT]),
        ("prepositional", 4, [SUBJECT, _groups(tense), OBLIQUE, ADJUNCT]),
        ("ditransitive", 3, [PERSON, _groups(tense), SIMPLE_OBJECT, NOUN]),
        ("report", 1.5, [SIMPLE_PERSON, _plain("present"), THAT_CLAUSE]),
        ("adjective", 2, [SUBJECT, _be(tense), DEGREE, ADJECTIVE]),
        ("adjective", 2, [THING, _be(tense), DEGREE, ADJECTIVE]),
        ("equal", 1, [SUBJECT, _be(tense), EQUAL]),
        ("location", 1, [SUBJECT, _be(tense), PLACE]),
        ("location", 1, [PORTABLE, _be(tense), PLACE]),
    ]
    if tense != "future":
        frames += [
            ("existence", 1, [EXISTENCE, NOUN, PLACE]),
            ("anaphora", 2, [SUBJECT, _plain(tense), NOUN, _plain(tense, and_it=True)]),
        ]
    return Plans(frames, LONGEST_CLAUSE)
