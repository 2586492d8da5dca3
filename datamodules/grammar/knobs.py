"""The knobs of the grammar: what makes its sentences easy or hard."""

from itertools import accumulate

from pydantic import BaseModel, ConfigDict, Field

from datamodules.grammar.drawing.tables import Table
from datamodules.grammar.meaning.lexicon import MOST_NOUNS


class Knobs(BaseModel):
    """Settings of ``data`` that decide what sentences are like; the defaults of data=grammar."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    vocabulary: int = Field(default=200, ge=60, le=MOST_NOUNS)
    """Number of nouns; verbs and adjectives come in proportion (up to 500 verbs)."""
    zipf: float = Field(default=0.9, ge=0, le=2)
    """Exponent of Zipf's law: the word of rank *r* is drawn in proportion to ``r ** -zipf``."""
    longest: int = Field(default=60, ge=10, le=200)  # most words of a sentence
    short_share: float = Field(default=0.5, ge=0, le=1)
    """Share of training sentences with at most 10 words."""
    embedding: float = Field(default=0.4, ge=0, le=0.7)
    """Share of clauses inside another clause, among the clauses after the first."""
    distance: float = Field(default=2.0, ge=0, le=5)
    """Mean number of words between a noun and its verb, where a sentence has room."""
    attractors: float = Field(default=0.5, ge=0, le=1)
    """Share of such gaps whose last noun has another number than the subject."""
    ambiguity: float = Field(default=0.3, ge=0, le=1)
    """Share of noun subjects with two senses, and of later subjects that are bound pronouns."""
    reordering: float = Field(default=0.9, ge=0, le=1)
    """Share of main clauses whose time stands at the end in one language, first in another; and of
    verbs whose past is a Perfekt in German."""
    open_words: float = Field(default=0.02, ge=0, le=1)
    """Share of noun phrases with an invented name, town or number; of times with a date."""
    verbosity: float = Field(default=0.05, ge=0, le=1)
    """Share of sentences that begin with a word that only one language says."""
    paraphrase: float = Field(default=0.0, ge=0, le=1)
    """Share of words with a synonym that are written with the synonym."""
    noise: float = Field(default=0.0, ge=0, le=1)
    """Share of training pairs with a wrong target sentence or a missing word."""


SHORTEST = 3  # smallest number of source words in a sentence
SHORT = 10  # largest number of words in a short sentence; all short lengths are equally common
DECAY = 0.98  # ratio of sentences with n + 1 words to sentences with n words, for n > SHORT


def training_lengths(longest: int, short_share: float) -> Table[int]:
    """Return the lengths of training sentences: many short sentences, and a long tail.

    Short sentences teach the words, even to a model without attention. In the tail every length is
    common enough to be learnt.
    """
    short = range(SHORTEST, SHORT + 1)
    tail = list(accumulate([DECAY] * (longest - SHORT), lambda weight, ratio: weight * ratio))
    weights = [short_share / len(short)] * len(short)
    weights += [(1 - short_share) * weight / sum(tail) for weight in tail]
    return Table(range(SHORTEST, longest + 1), weights)


def buckets(longest: int) -> tuple[tuple[int, int], ...]:
    """Return the smallest and largest number of words of each bucket: 1-10, 11-20 and so on."""
    return tuple(
        (max(SHORTEST, most - 9), min(most, longest)) for most in range(10, longest + 10, 10)
    )
