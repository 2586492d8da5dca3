"""German verb groups: the halves of the verbal bracket, and the verbs at the end of a clause."""

from typing import NamedTuple

from datamodules.grammar.languages.german.verbs import VerbForms
from datamodules.grammar.languages.language import (
    EMPTY,
    MODAL,
    POSSIBLE,
    TENSE,
    VERB,
    Piece,
    Word,
    piece,
)

BARE = ("can", "must", "want:infinitive")
"""Modal verbs whose infinitive stands in the same clause, without *zu*."""
_BE = VerbForms.of("sein/ist/war/gewesen")
_HAVE = VerbForms.of("haben/hat/hatte/gehabt")
_WILL = VerbForms.of("werden/wird/wurde/geworden")
_MODALS = {
    "can": VerbForms.of("können/kann/konnte/gekonnt", "bare"),
    "must": VerbForms.of("müssen/muss/musste/gemusst", "bare"),
    "may": VerbForms.of("dürfen/darf/durfte/gedurft", "bare"),
}


class Group(NamedTuple):
    """The verb group of a clause, in its pieces."""

    finite: Piece
    right: Piece
    """The right half of the bracket: separable prefix, participle, infinitive."""
    last: Piece
    """The whole group at the end of a subordinate clause."""
    infinitive: Piece = EMPTY
    """The infinitive with *zu*, at the end of a clause of its own."""


def meant(modal: str, negation: str) -> str:
    """Return the modal verb: *must not* is *darf nicht*, since *muss nicht* means no need."""
    return "may" if modal == "must" and negation else modal


def modal_forms(name: str) -> VerbForms | None:
    """Return the forms of *can*, *must* or *may*; None for any other verb."""
    return _MODALS.get(name)


def verb_group(verb: VerbForms, tense: str, person: int, modal: VerbForms | None) -> Group:
    """Write a verb group.

    Args:
        verb: forms of the verb of the clause.
        tense: ``present``, ``past`` (one word), ``perfect`` or ``future``.
        person: of the subject.
        modal: forms of a verb with an infinitive.
    """
    if modal is None:
        return _group(verb, tense, person, (VERB,), [])
    if not modal.bare:
        group = _group(modal, tense, person, (MODAL,), [])
        return group._replace(infinitive=piece(verb.with_zu))
    infinitive: Word = (verb.prefix + verb.infinitive, (VERB,))
    return _group(modal, tense, person, (MODAL,), [infinitive])


def _group(
    verb: VerbForms, tense: str, person: int, roles: tuple[int, ...], inner: list[Word]
) -> Group:
    """Write the group of the highest verb; ``inner`` is the infinitive that depends on it."""
    if tense == "future":
        finite: Word = (_WILL.finite(False, person), (TENSE + POSSIBLE,))
        right = [*inner, (verb.prefix + verb.infinitive, roles)]
    elif tense == "perfect":
        auxiliary = _BE if verb.takes_be else _HAVE
        finite = auxiliary.finite(False, person), (TENSE,)
        right = [*inner, (verb.participle, roles)]
    else:
        form, roles = verb.finite(tense == "past", person), (*roles, TENSE + POSSIBLE)
        prefix: list[Word] = [(verb.prefix, roles)] if verb.prefix else []
        return Group(
            piece([(form, roles)]),
            piece([*inner, *prefix]),
            piece([*inner, (verb.prefix + form, roles)]),
        )
    return Group(piece([finite]), piece(right), piece([*right, finite]))
