"""Clauses and templates that a test set has to itself, and what test and training share.

A clause or template belongs to the training text or to the other splits by its checksum alone, so
that no split needs to know another.
"""

from collections.abc import Callable, Iterable
from typing import Literal
from zlib import crc32

from datamodules.grammar.languages.language import MAIN, SUBORDINATE, Language, Text
from datamodules.grammar.meaning.phrases import Clause, NounPhrase, Participant, inner_clauses
from datamodules.grammar.pairs import SentencePair

Disjoint = Literal["sentences", "clauses", "templates"]
HELD_OUT = 4  # every fourth clause or template, by checksum, is kept out of the training text


def chooser(
    disjoint: Disjoint, language: Language, training: bool
) -> Callable[[Clause], bool] | None:
    """Return a function that tells whether a clause belongs to the training text, or does not."""
    if disjoint == "sentences":
        return None

    def chosen(clause: Clause) -> bool:
        key = template(clause) if disjoint == "templates" else clause_text(clause, language)
        return (crc32(key.encode()) % HELD_OUT > 0) == training

    return chosen


def clause_text(clause: Clause, language: Language) -> str:
    """Write a clause alone, with the clauses inside it."""
    text = Text()
    language.clause(clause, text, SUBORDINATE if clause.gap else MAIN)
    return " ".join(text.texts)


class Overlap:
    """Which clauses and templates of a test set occur in the training text."""

    def __init__(self, test: Iterable[SentencePair]) -> None:
        self._all = {name: set[str]() for name in ("clauses", "templates")}
        for pair in test:
            for name, parts in _parts(pair).items():
                self._all[name].update(parts)
        self._unseen = {name: set(parts) for name, parts in self._all.items()}

    def see(self, pair: SentencePair) -> None:
        """Take note of the parts of a training pair."""
        for name, parts in _parts(pair).items():
            self._unseen[name].difference_update(parts)

    @property
    def shares(self) -> dict[str, float]:
        """Share of the parts that occur in both, by the name of the parts."""
        return {name: 1 - len(self._unseen[name]) / len(parts) for name, parts in self._all.items()}


def _parts(pair: SentencePair) -> dict[str, Iterable[str]]:
    clauses = (inner for joined in pair.meaning for inner in inner_clauses(joined.clause))
    return {"clauses": pair.clauses, "templates": map(template, clauses)}


def template(clause: Clause) -> str:
    """Describe the structure of a clause, without its words."""
    mode = clause.mode
    parts = (
        clause.verb.frame,
        clause.gap,
        clause.question,
        mode.tense,
        mode.negation,
        mode.modal is not None,
        mode.adverb is not None,
        mode.subjunctive,
        mode.passive,
        *map(_shape, (clause.subject, clause.object, clause.recipient, clause.oblique)),
        clause.complement is not None,
        clause.manner is not None,
        clause.place.__class__.__name__,
        clause.time is not None,  # where it stands depends on the clauses that follow
        clause.standard is not None,
    )
    return repr(parts)


def _shape(participant: Participant | None) -> str:
    if not isinstance(participant, NounPhrase):
        reflexive = participant is not None and participant.reflexive
        return "reflexive" if reflexive else participant.__class__.__name__
    core = participant.core
    shape = ("plural" if core.plural else "singular", len(core.adjectives))
    around = (participant.owner, participant.attribute, participant.relative, participant.beside)
    return repr((*shape, *(part is not None for part in around)))
