"""The knobs of the grammar: what makes its sentences easy or hard."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]


class Knobs(BaseModel):
    """Settings of ``data`` that decide what the sentences are like. A share is from 0 to 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    vocabulary: int = Field(ge=60, le=2000)
    """Number of nouns; verbs and adjectives come in proportion (up to 500 verbs)."""
    zipf: float = Field(ge=0, le=2)
    """Exponent of Zipf's law: the word of rank *r* is drawn in proportion to ``r ** -zipf``."""
    longest: int = Field(ge=10, le=200)
    """Most words of a sentence."""
    short_share: Share
    """Share of training sentences with at most 10 words."""
    embedding: Share
    """Share of clauses inside another clause, among the clauses after the first."""
    distance: float = Field(ge=0, le=10)
    """Mean number of words between a noun and its verb, where a sentence has room."""
    attractors: Share
    """Share of such gaps whose last noun has another number than the subject."""
    ambiguity: Share
    """Share of noun subjects with two senses, and of later subjects that are bound pronouns."""
    reordering: Share
    """Share of main clauses whose time stands at the end in one language, first in another."""
    open_words: Share
    """Share of noun phrases with an invented name, town or number; of times with a date."""
    verbosity: Share
    """Share of main clauses with a word that only one language says."""
    paraphrase: Share
    """Share of words with a synonym that are written with the synonym."""
    noise: Share
    """Share of training pairs with a wrong target sentence or a missing word."""
