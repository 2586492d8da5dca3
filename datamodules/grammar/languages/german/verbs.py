"""German verbs: principal parts, separable prefixes, what they govern, and groups of verbs."""

from dataclasses import dataclass
from typing import NamedTuple

from datamodules.grammar.languages.german.nouns import ACCUSATIVE, CASES, DATIVE
from datamodules.grammar.languages.language import (
    EMPTY,
    MODAL,
    PASSIVE,
    POSSIBLE,
    TENSE,
    TO,
    VERB,
    Piece,
    Word,
    piece,
)
from datamodules.grammar.meaning.phrases import FIRST_SINGULAR, THIRD_SINGULAR

_UNSTRESSED = ("be", "ge", "emp", "ent", "er", "miss", "ver", "zer")
"""Prefixes of verbs whose participle has no *ge-*."""
_MARKS = ("sein", "sich", "sich:dat", "bare")


class Government(NamedTuple):
    """The case of an object, with the preposition before it, which may be empty."""

    case: int = ACCUSATIVE
    preposition: str = ""


@dataclass(frozen=True, eq=False)
class GermanVerb:
    """A verb: its principal parts without the separable prefix, and what it governs."""

    prefix: str  # separable prefix, which may be empty
    infinitive: str
    present: str  # third person singular, as for ``past``
    past: str
    participle: str  # with the separable prefix
    unreal: str  # Konjunktiv II, where it is not *würde* with an infinitive
    takes_be: bool  # whether the Perfekt is built with *sein*
    government: Government
    reflexive: int | None  # case of a reflexive pronoun
    bare: bool  # whether an infinitive follows without *zu* (*kann*, *muss*, *will*)

    @classmethod
    def of(cls, forms: str, flags: str = "") -> "GermanVerb":
        """Read ``infinitive`` or the principal parts, and the government.

        The parts are ``infinitive/present/past/participle``, with ``/unreal`` for a Konjunktiv II.
        """
        first, *others = forms.split("/")
        prefix, _, infinitive = first.rpartition("-")
        present, past, participle, *unreal = others or _weak(infinitive)
        marks = [word for word in flags.split() if word in _MARKS]
        governed = [word for word in flags.split() if word not in _MARKS]
        reflexive = DATIVE if "sich:dat" in marks else ACCUSATIVE if "sich" in marks else None
        return cls(
            prefix,
            infinitive,
            present,
            past,
            prefix + participle,
            "".join(unreal),
            "sein" in marks,
            Government(CASES[governed[-1]], "".join(governed[:-1])) if governed else Government(),
            reflexive,
            "bare" in marks,
        )

    def finite(self, tense: str, person: int) -> str:
        """Return a form of the Präteritum, Konjunktiv II or present, without the prefix."""
        singular = person in (FIRST_SINGULAR, THIRD_SINGULAR)
        if tense in ("past", "unreal"):
            form = self.past if tense == "past" else self.unreal
            return form if singular else form + ("n" if form[-1] == "e" else "en")
        if self.infinitive == "sein":
            return "sind" if not singular else "bin" if person == FIRST_SINGULAR else "ist"
        if person == THIRD_SINGULAR or (singular and self.present[-1] not in "td"):
            return self.present  # ich kann, muss, will, weiß
        if not singular:
            return self.infinitive
        short = self.infinitive.endswith("eln")
        return self.infinitive[:-3] + "le" if short else _stem(self.infinitive) + "e"

    def with_zu(self, *roles: int) -> list[Word]:
        """Return the infinitive with *zu*, which stands inside a separable verb (*anzukommen*)."""
        if self.prefix:
            return [(f"{self.prefix}zu{self.infinitive}", (*roles, TO))]
        return [("zu", (TO,)), (self.infinitive, roles)]


def _weak(infinitive: str) -> tuple[str, str, str]:
    stem = _stem(infinitive)
    hard = stem[-1] in "dt" or (stem[-1] in "mn" and stem[-2] not in "aeiouäöühlmnr")
    linked = stem + "e" * hard  # *arbeitet*, *atmet*, *öffnet*
    without_ge = stem.startswith(_UNSTRESSED) or infinitive.endswith("ieren")
    return linked + "t", linked + "te", ("" if without_ge else "ge") + linked + "t"


def _stem(infinitive: str) -> str:
    return infinitive[: -2 if infinitive.endswith("en") else -1]


_BE = GermanVerb.of("sein/ist/war/gewesen")
_HAVE = GermanVerb.of("haben/hat/hatte/gehabt")
_WILL = GermanVerb.of("werden/wird/wurde/geworden/würde")
_PASSIVE = GermanVerb.of("werden/wird/wurde/worden", "sein")


class VerbPieces(NamedTuple):
    """The verb group of a clause, in its pieces."""

    finite: Piece
    right: Piece  # the right half of the bracket: separable prefix, participle, infinitive
    last: Piece  # the whole group at the end of a subordinate clause
    infinitive: Piece = EMPTY  # the infinitive with *zu*, at the end of a clause of its own


def verb_group(
    verb: GermanVerb, tense: str, person: int, modal: GermanVerb | None, passive: bool
) -> VerbPieces:
    """Write a verb group; ``modal`` holds the forms of a verb with an infinitive.

    ``tense`` is ``present``, ``past`` (one word), ``perfect``, ``future`` or ``unreal``.
    """
    role, inner = VERB, list[Word]()
    if passive:
        role, inner, verb = PASSIVE, [(verb.participle, (VERB,))], _PASSIVE
    if modal is None:
        return _group(verb, tense, person, role, inner)
    if not modal.bare:
        group = _group(modal, tense, person, MODAL, [])
        return group._replace(infinitive=piece([*inner, *verb.with_zu(role)]))
    infinitive: Word = (verb.prefix + verb.infinitive, (role,))
    return _group(modal, tense, person, MODAL, [*inner, infinitive])


def _group(verb: GermanVerb, tense: str, person: int, role: int, inner: list[Word]) -> VerbPieces:
    """Write the group of the highest verb; ``inner`` holds the verbs that depend on it."""
    if tense == "future" or (tense == "unreal" and not verb.unreal):
        finite: Word = (_WILL.finite(tense, person), (TENSE,))
        right = [*inner, (verb.prefix + verb.infinitive, (role,))]
    elif tense == "perfect":
        auxiliary = _BE if verb.takes_be else _HAVE
        finite = auxiliary.finite("present", person), (TENSE,)
        right = [*inner, (verb.participle, (role,))]
    else:
        form, roles = verb.finite(tense, person), (role, TENSE + POSSIBLE)
        prefix: list[Word] = [(verb.prefix, roles)] if verb.prefix else []
        return VerbPieces(
            piece([(form, roles)]),
            piece([*inner, *prefix]),
            piece([*inner, (verb.prefix + form, roles)]),
        )
    return VerbPieces(piece([finite]), piece(right), piece([*right, finite]))
