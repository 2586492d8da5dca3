"""French verb groups: clitics, negation in two parts, auxiliaries, agreement of participles."""

from dataclasses import dataclass
from typing import NamedTuple

from datamodules.grammar.languages.french.conjugation import Conjugation, conjugate
from datamodules.grammar.languages.french.nouns import agree
from datamodules.grammar.languages.language import (
    MODAL,
    NOT,
    OFTEN,
    POSSIBLE,
    PREPOSITION,
    TENSE,
    TO,
    VERB,
    Piece,
    Word,
    piece,
)
from datamodules.grammar.meaning.words import Mode

FINITE = (VERB, TENSE + POSSIBLE)
"""Roles of a verb that shows its tense itself."""
_NEGATIONS = {"not": "pas", "never": "jamais"}
_CLITIC_ORDER = ("me", "nous", "+le", "+la", "+les", "lui", "leur")
_FORMS = (0, 2, 3, 5)
"""Index in a conjugation of the persons *je*, *il*, *nous*, *ils*."""


@dataclass(frozen=True, eq=False)
class VerbForms:
    """A verb: its forms, its auxiliary, and the preposition before its object."""

    conjugation: Conjugation
    takes_be: bool
    preposition: Piece

    @classmethod
    def of(cls, cell: str, preposition: str = "") -> "VerbForms":
        """Read an infinitive; ``+`` after it marks a verb with the auxiliary *être*."""
        before = piece((word, (PREPOSITION,)) for word in preposition.split())
        return cls(conjugate(cell.rstrip("+")), cell.endswith("+"), before)


class Agreement(NamedTuple):
    """What a verb or participle agrees with."""

    person: int
    gender: str
    plural: bool


Clitic = tuple[str, int]
"""An object pronoun and its role."""

_BE, _HAVE = VerbForms.of("être"), VerbForms.of("avoir")
_MODALS = {"can": VerbForms.of("pouvoir"), "must": VerbForms.of("devoir")}


class Group(NamedTuple):
    """All that decides the words of a verb group."""

    verb: VerbForms
    state: bool
    mode: Mode
    subject: Agreement
    clitics: tuple[Clitic, ...] = ()
    agreed: Agreement | None = None
    """A direct object before the verb, with which the participle agrees."""


def verb_group(group: Group, modal: VerbForms | None) -> Piece:
    """Write a verb group; ``modal`` holds the forms of a verb with an infinitive."""
    mode = group.mode
    clitics = _sorted(group.clitics)
    if mode.modal is None:
        words = _finite(group.verb, group.state, mode, group.subject, VERB, clitics, group.agreed)
        return piece(words)
    simple = mode.modal.name in _MODALS
    head = _MODALS[mode.modal.name] if simple else modal
    assert head is not None
    state = simple or mode.modal.state
    words = _finite(head, state, mode, group.subject, MODAL, [], None)
    words += [(word, (TO,)) for word in head.preposition.texts]
    return piece([*words, *clitics, (group.verb.conjugation.infinitive, (VERB,))])


def _finite(
    verb: VerbForms,
    state: bool,
    mode: Mode,
    subject: Agreement,
    role: int,
    clitics: list[Word],
    agreed: Agreement | None,
) -> list[Word]:
    before: list[Word] = [("ne", (NOT,))] if mode.negation else []
    after: list[Word] = []
    if mode.negation:
        after = [(_NEGATIONS[mode.negation], (NOT,))]
    elif mode.adverb is not None:
        after = [(mode.adverb.name, (OFTEN,))]
    if mode.tense != "past" or state or mode.habit:
        tenses = {"present": "present", "past": "imperfect", "future": "future"}
        forms = getattr(verb.conjugation, tenses[mode.tense])
        finite = forms[_FORMS[subject.person]]
        return [*before, *clitics, (finite, (role, TENSE + POSSIBLE)), *after]
    auxiliary = (_BE if verb.takes_be else _HAVE).conjugation.present[_FORMS[subject.person]]
    participle = verb.conjugation.participle
    target = subject if verb.takes_be else agreed
    if target is not None:
        participle = agree(participle, target.gender, target.plural)
    return [*before, *clitics, (auxiliary, (TENSE,)), *after, (participle, (role,))]


def _sorted(clitics: tuple[Clitic, ...]) -> list[Word]:
    ordered = sorted(clitics, key=lambda clitic: _CLITIC_ORDER.index(clitic[0]))
    return [(text, (role,)) for text, role in ordered]
