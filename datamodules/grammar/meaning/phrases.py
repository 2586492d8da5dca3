"""Phrases and clauses as meanings: who does what to whom, in no language and in no order.

Every phrase has a number, its *unit*. Words of two languages are linked if they play the same role
in the same unit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, final

HUMAN = ("person", "kin")
ANIMATE = (*HUMAN, "animal")
OBJECTS = ("clothes", "tool", "container", "furniture", "machine", "instrument", "text", "vehicle")
"""Classes of things made by people, none of them food or a place."""
KINDS = (
    *ANIMATE, "food", "drink", "body", "plant", *OBJECTS, "place", "landmark", "material", "idea",
    "event",
)  # fmt: skip
"""All classes of nouns."""
LIFELESS = tuple(kind for kind in KINDS if kind not in ANIMATE)
GROUPS = {
    "human": HUMAN, "animate": ANIMATE, "object": OBJECTS, "lifeless": LIFELESS, "any": KINDS,
}  # fmt: skip
"""Names for several classes at once, as the lexicon uses them."""

CATEGORIES = ("opinion", "size", "quality", "age", "shape", "colour", "origin", "material")
"""Categories of adjectives, in the order in which English adjectives stand before a noun."""


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    """A noun, or one sense of a noun with several senses."""

    name: str  # key in the word lists of the languages; ``bat:animal`` is one sense of *bat*
    kind: str  # one of ``KINDS``, ``name`` for a first name, ``surname``, ``town``
    counted: bool = True  # whether the noun has a plural and takes *a*
    gender: str = ""  # ``m`` or ``f`` for persons: natural gender, which decides *he* or *she*
    plain: bool = False  # whether it takes no adjective and no possessive
    epicene: bool = False  # whether German has *es* or *sie* where English has *he*


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """An adjective with the classes of nouns which it fits."""

    name: str
    category: str
    kinds: tuple[str, ...]
    graded: bool = True  # whether *very* or *too* may stand before the adjective
    predicative: bool = True  # whether the adjective may stand after *be*
    attributive: bool = True  # whether the adjective may stand before a noun
    alone: bool = False  # fits beside no other adjective (*a pretty big dog* is rather big)
    lasting: bool = False  # a trait, or a worth: nobody is *generous on Mondays*
    results: tuple[str, ...] = ()  # what somebody does who is so (*he is tired, so he sleeps*)


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    """A verb in one frame, with the classes of nouns that fit as subject and as object."""

    name: str
    frame: str
    """``transitive``, ``intransitive``, ``prepositional``, ``motion``, ``ditransitive``,
    ``reporting``, ``inverse``, ``infinitive``, or ``be``."""
    subjects: tuple[str, ...]
    objects: tuple[str, ...] = ()
    state: bool = False  # whether it has no beginning or end (*love*, *know*)
    meant: bool = True  # whether the subject may act on purpose, so that an adverb of manner fits
    reflexive: bool = False  # whether *himself* fits as the object
    passive: bool = False  # whether all languages have a passive of it
    separable: bool = False  # whether it has a part in German that stands at the end of the clause
    dative: bool = False  # whether its object may look like a genitive in German
    thing: bool = False  # whether its preposition may be followed by a pronoun for a thing
    doubting: bool = False  # whether *that* is followed by what may not be so (*doubts that*)
    living: bool = False  # whether nothing but persons and animals can do it
    results: tuple[str, ...] = ()  # what somebody does who feels so (*because he loves her*)
    placed: bool = False  # whether a place fits (*sleeps in the house*)
    done: bool = False  # whether it may tell which one, as an event (*the book that he bought*)
    known: bool = False  # whether it may tell which one, in the present (*that he knows*)
    excludes: tuple[str, ...] = ()  # classes of nouns that can never be its object
    barred: tuple[str, ...] = ()  # nouns of its classes of objects that do not fit


@dataclass(frozen=True, eq=False, slots=True)
class Expression:
    """An invariable expression: an adverb, a conjunction, a preposition."""

    name: str
    kinds: tuple[str, ...] = ()
    """Classes of nouns, or nouns, that may follow a preposition, or be the subject beside a manner;
    ``topic`` for a time that sets the frame of a clause, ``affirmed`` for a time that fits no
    negated clause, ``subordinating`` for a conjunction."""
    words: int = 1  # rough number of words, for plans
    fits: tuple[str, ...] = ()
    """Classes of what may be at a place, or names and frames of the verbs that take an adverb of
    manner; empty for all."""


class Mode(NamedTuple):
    """Tense, negation, adverb of frequency and modal verb of a clause."""

    tense: str
    """``present``, ``past``, ``future``, ``perfect`` (*has slept*), ``supposed`` (*if he slept*) or
    ``unreal`` (*he would sleep*)."""
    negation: str = ""  # empty, ``not`` or ``never``
    adverb: Expression | None = None
    modal: Verb | None = None  # *can*, *must*, or a verb with an infinitive such as *try*
    habit: bool = False  # whether a past is repeated (*slept every day*)
    subjunctive: bool = False  # after *although*, *before*, *doubts that*: not said as a fact
    passive: bool = False  # the object of the meaning is the subject of the sentence


FIRST_SINGULAR, THIRD_SINGULAR, FIRST_PLURAL, THIRD_PLURAL = range(4)
"""Persons. A second person is left out: its number and politeness show in some languages only."""


class Core(NamedTuple):
    """A noun with its determiner and adjectives: the words that agree with each other."""

    noun: Noun
    plural: bool
    determiner: str
    """``the``, ``a``, ``some``, ``this``, ``my``, ``our``, ``his``, ``her``, ``its``, ``their``,
    ``whose``, ``every``, ``many``, ``several``, ``two``, digits of a number, ``title`` (*Mr*), or
    empty."""
    adjectives: tuple[Adjective, ...] = ()  # in the order of ``CATEGORIES``
    denied: bool = False  # whether the phrase is the direct object of a negated verb
    synonym: bool = False  # whether to use another word of the same meaning, if there is one
    possessor: Noun | None = None  # what *its* stands for


@final
class Pronoun(NamedTuple):
    """A personal pronoun; its form depends on the noun that it stands for."""

    person: int
    noun: Noun | None = None  # the antecedent; None for *I*, *we* and persons outside
    beside: Noun | None = None  # the second of two nouns that it stands for
    reflexive: bool = False  # *himself*: an object that is the subject
    gender: str = "m"  # natural gender, where there is no antecedent
    synonym: bool = False  # whether the antecedent is the synonym of the noun


@final
@dataclass(slots=True, eq=False)
class NounPhrase:
    """A noun phrase, with what belongs to it but does not agree with it."""

    unit: int
    core: Core
    owner: "NounPhrase | None" = None  # *the teacher* of *the teacher's book*
    attribute: "Prepositional | None" = None
    relative: "Clause | None" = None
    beside: "NounPhrase | None" = None  # *the woman* of *the man and the woman*

    @property
    def plural(self) -> bool:
        """Whether a verb with this subject is plural."""
        return self.core.plural or self.beside is not None

    @property
    def person(self) -> int:
        """Grammatical person: third, singular or plural."""
        return THIRD_PLURAL if self.plural else THIRD_SINGULAR


@final
class Prepositional(NamedTuple):
    """A preposition with its noun phrase."""

    preposition: Expression
    phrase: NounPhrase


@final
class Adverbial(NamedTuple):
    """An invariable expression as a part of a clause, with a unit of its own."""

    unit: int
    expression: Expression


@final
class Dated(NamedTuple):
    """A date: day, month (counted from 1) and year."""

    unit: int
    day: int
    month: int
    year: int


Participant: TypeAlias = NounPhrase | Pronoun
Place: TypeAlias = Prepositional | Adverbial
Time: TypeAlias = Adverbial | Dated


def gender_of(participant: Participant) -> str:
    """Return the gender of a person; empty for animals and things."""
    if type(participant) is NounPhrase:
        return participant.core.noun.gender
    noun = participant.noun
    return participant.gender if noun is None else noun.gender


def person_or_gender(participant: Participant) -> int | str:
    """Return the person of a participant, or of a third person singular the gender.

    Two participants that are alike in it may be meant by one English pronoun.
    """
    person = participant.person
    return gender_of(participant) if person == THIRD_SINGULAR else person


@final
@dataclass(slots=True, eq=False)
class Clause:
    """A clause: a verb with its participants and circumstances."""

    unit: int
    verb: Verb
    mode: Mode
    subject: Participant | None = None
    """None in a clause whose gap is ``subject`` or ``shared``, and in a passive without agent."""
    object: Participant | None = None
    recipient: Participant | None = None
    oblique: Participant | None = None  # what follows the verb's preposition
    adjective: Adjective | None = None
    degree: Expression | None = None  # *very*; *more*, *less* and *as* before a ``standard``
    standard: NounPhrase | None = None  # what the subject is compared with: *than the tree*
    complement: "Clause | None" = None  # the clause after *that*
    manner: Adverbial | None = None
    place: Place | None = None
    time: Time | None = None
    particle: Adverbial | None = None  # a word that only one language says
    gap: str = ""
    """What the antecedent of a relative clause is in it: ``subject``, ``object``, ``oblique``
    (*that he waits for*), ``owner`` of the subject or object, whose determiner is ``whose``, or
    ``place`` (*where*); ``shared`` for a clause behind *and* with the subject of the clause
    before."""
    antecedent: NounPhrase | None = None  # with ``shared``, the subject
    time_first: bool = False  # whether the time stands first in every language
    question: str = ""
    """``whether`` (*does he sleep*), or what is asked for: ``who`` (the subject), ``what`` (the
    object), ``where``."""
    synonym: bool = False  # whether to use another word of the same meaning, if there is one


class Joined(NamedTuple):
    """A clause of a sentence, with the conjunction before the clause."""

    clause: Clause
    conjunction: Adverbial | None = None
    comma: bool = False  # whether a comma stands before the clause


def inner_clauses(clause: Clause) -> Iterator[Clause]:
    """Yield a clause and all clauses inside it."""
    yield clause
    participants = (clause.subject, clause.object, clause.oblique)
    for participant in participants:
        if isinstance(participant, NounPhrase) and participant.relative is not None:
            yield from inner_clauses(participant.relative)
    if clause.complement is not None:
        yield from inner_clauses(clause.complement)


SOMEBODY = Pronoun(THIRD_SINGULAR)


def subject_of(clause: Clause) -> Participant:
    """Return what the finite verb agrees with: the antecedent where the clause has no subject."""
    subject = clause.object if clause.mode.passive else clause.subject
    return subject or clause.antecedent or SOMEBODY
