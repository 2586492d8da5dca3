"""Words as concepts: what every language says, without the forms of any language."""

from dataclasses import dataclass
from typing import NamedTuple

HUMAN = ("person", "kin")
ANIMATE = (*HUMAN, "animal")
OBJECTS = ("clothes", "tool", "container", "furniture", "machine", "instrument", "text", "vehicle")
"""Classes of things made by people, none of them food or a place."""
KINDS = (
    *ANIMATE, "food", "drink", "body", "plant", *OBJECTS, "place", "landmark", "material", "idea",
    "event",
)  # fmt: skip
"""All classes of nouns."""
GROUPS = {"human": HUMAN, "animate": ANIMATE, "object": OBJECTS, "any": KINDS}
"""Names for several classes at once, as the lexicon uses them."""

CATEGORIES = ("opinion", "size", "quality", "age", "shape", "colour", "origin", "material")
"""Categories of adjectives, in the order in which English adjectives stand before a noun."""


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    """A noun, or one sense of a noun with several senses."""

    name: str
    """Key in the word lists of the languages; ``bat:animal`` is one sense of *bat*."""
    kind: str
    """One of ``KINDS``, ``name`` for a first name, ``surname``, ``town``."""
    counted: bool = True
    """Whether the noun has a plural and takes *a*."""
    gender: str = ""
    """``m`` or ``f`` for persons: natural gender, which decides *he* or *she*."""
    plain: bool = False
    """Whether the noun takes no adjective and no possessive, which could change its sense."""


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """An adjective with the classes of nouns which it fits."""

    name: str
    category: str
    kinds: tuple[str, ...]
    graded: bool = True
    """Whether *very* or *too* may stand before the adjective."""
    predicative: bool = True
    """Whether the adjective may stand after *be*."""
    attributive: bool = True
    """Whether the adjective may stand before a noun."""
    alone: bool = False
    """Whether it fits beside no other adjective (*a pretty big dog* is rather big)."""


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    """A verb in one frame, with the classes of nouns that fit as subject and as object."""

    name: str
    frame: str
    """``transitive``, ``intransitive``, ``prepositional``, ``motion``, ``ditransitive``,
    ``reporting``, ``inverse``, ``infinitive``, or ``be``."""
    subjects: tuple[str, ...]
    objects: tuple[str, ...] = ()
    state: bool = False
    """Whether the verb means a state, which has no beginning or end (*love*, *know*)."""
    meant: bool = True
    """Whether the subject may act on purpose, so that an adverb of manner fits."""


@dataclass(frozen=True, eq=False, slots=True)
class Expression:
    """An invariable expression: an adverb, a conjunction, a preposition."""

    name: str
    kinds: tuple[str, ...] = ()
    """Classes of nouns that may follow a preposition, or be the subject beside an adverb of manner;
    ``topic`` for a time that sets the frame of a clause, ``affirmed`` for a time that fits no
    negated clause, ``subordinating`` for a conjunction."""
    words: int = 1
    """Rough number of words, for plans."""


class Mode(NamedTuple):
    """Tense, negation, adverb of frequency and modal verb of a clause."""

    tense: str
    """``present``, ``past`` or ``future``."""
    negation: str = ""
    """Empty, ``not`` or ``never``."""
    adverb: Expression | None = None
    modal: Verb | None = None
    """*can*, *must*, or a verb with an infinitive such as *try*."""
    habit: bool = False
    """Whether a past is repeated (*slept every day*), which some languages say by another tense."""
    simple: bool = False
    """Whether a past is one word in a language with two pasts (*schlief*, not *hat geschlafen*)."""
