"""Clauses and templates that a test set has to itself, and what test and training share.

A clause or template belongs to the training text or to the other splits by its checksum alone, so
that no split needs to know another.
"""

from collections.abc import Callable, Iterable
from typing import Literal
from zlib import crc32

from datamodules.grammar.languages.language import Language, Text
from datamodules.grammar.meaning.phrases import Adverbial, Clause, NounPhrase, Participant

Disjoint = Literal["sentences", "clauses", "templates"]
HELD_OUT = 4
"""One of so many clauses or templates is kept out of the training text."""
Key = Callable[[Clause], str]


def key_of(disjoint: Disjoint, language: Language) -> Key:
    """Return a function that gives the text of a clause in ``language``, or its template."""
    if disjoint == "templates":
        return template
    return lambda clause: clause_text(clause, language)


def chooser(key: Key, training: bool) -> Callable[[Clause], bool]:
    """Return a function that tells whether a clause belongs to the training text, or does not."""
    return lambda clause: (crc32(key(clause).encode()) % HELD_OUT > 0) == training


def clause_text(clause: Clause, language: Language) -> str:
    """Write a clause alone, with the clauses inside it."""
    text = Text()
    language.clause(clause, text, subordinate=bool(clause.gap))
    return " ".join(text.texts)


def inner_clauses(clause: Clause) -> Iterable[Clause]:
    """Yield a clause and all clauses inside it."""
    yield clause
    participants = (clause.subject, clause.object, clause.recipient, clause.oblique)
    for participant in participants:
        if isinstance(participant, NounPhrase) and participant.relative is not None:
            yield from inner_clauses(participant.relative)
    if clause.complement is not None:
        yield from inner_clauses(clause.complement)


def template(clause: Clause) -> str:
    """Describe the structure of a clause, without its words."""
    mode = clause.mode
    parts = (
        clause.verb.frame,
        clause.gap,
        mode.tense,
        mode.negation,
        mode.modal is not None,
        mode.adverb is not None,
        *map(_shape, (clause.subject, clause.object, clause.recipient, clause.oblique)),
        clause.complement is not None,
        clause.manner is not None,
        clause.place.__class__.__name__,
        isinstance(clause.time, Adverbial) and "topic" in clause.time.expression.kinds,
        clause.time is not None,
    )
    return repr(parts)


def _shape(participant: Participant | None) -> str:
    if not isinstance(participant, NounPhrase):
        return participant.__class__.__name__
    core = participant.core
    shape = ("plural" if core.plural else "singular", len(core.adjectives))
    around = (participant.owner, participant.attribute, participant.relative)
    return repr((*shape, *(part is not None for part in around)))
