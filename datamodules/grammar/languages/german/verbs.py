"""German verbs: principal parts, separable prefixes, and what the verbs govern."""

from dataclasses import dataclass
from typing import NamedTuple

from datamodules.grammar.languages.german.nouns import ACCUSATIVE, CASES, DATIVE
from datamodules.grammar.languages.language import (
    EMPTY,
    MODAL,
    OBJECT,
    POSSIBLE,
    RECIPIENT,
    SUBJECT,
    TENSE,
    TO,
    VERB,
    Piece,
    Word,
    piece,
)
from datamodules.grammar.meaning.phrases import (
    FIRST_SINGULAR,
    THIRD_SINGULAR,
    Clause,
    NounPhrase,
    Participant,
    Pronoun,
)

_UNSTRESSED = ("be", "ge", "emp", "ent", "er", "miss", "ver", "zer")
"""Prefixes of verbs whose participle has no *ge-*."""


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
    takes_be: bool  # whether the Perfekt is built with *sein*
    government: Government
    reflexive: int | None  # case of a reflexive pronoun
    inverse: bool  # whether the object of other languages is the subject (*das Haus gefällt mir*)
    bare: bool  # whether an infinitive follows without *zu*

    @classmethod
    def of(cls, forms: str, flags: str = "") -> "GermanVerb":
        """Read ``infinitive`` or ``infinitive/present/past/participle``, and the government."""
        first, *others = forms.split("/")
        prefix, _, infinitive = first.rpartition("-")
        present, past, participle = others or _weak(infinitive)
        words = flags.split()
        reflexive = {"sich": ACCUSATIVE, "sich:dat": DATIVE}
        return cls(
            prefix,
            infinitive,
            present,
            past,
            prefix + participle,
            "sein" in words,
            _government(words),
            next((case for word, case in reflexive.items() if word in words), None),
            "inverse" in words,
            "bare" in words,
        )

    def finite(self, past: bool, person: int) -> str:
        """Return a form of the present or of the Präteritum, without the prefix."""
        singular = person in (FIRST_SINGULAR, THIRD_SINGULAR)
        if past:
            return self.past if singular else self.past + ("n" if self.past[-1] == "e" else "en")
        if self.infinitive == "sein":
            return "sind" if not singular else "bin" if person == FIRST_SINGULAR else "ist"
        if person == THIRD_SINGULAR or (singular and self.present[-1] not in "td"):
            return self.present  # ich kann, muss, will, weiß
        return _first_person(self.infinitive) if singular else self.infinitive

    @property
    def with_zu(self) -> list[Word]:
        """The infinitive with *zu*, which stands inside a separable verb (*anzukommen*)."""
        if self.prefix:
            return [(f"{self.prefix}zu{self.infinitive}", (VERB, TO))]
        return [("zu", (TO,)), (self.infinitive, (VERB,))]


def _government(words: list[str]) -> Government:
    for number, word in enumerate(words):
        if word in CASES:
            before = words[number - 1] if number else ""
            is_preposition = before.isalpha() and before not in ("sein", "sich", "inverse", "bare")
            return Government(CASES[word], before if is_preposition else "")
    return Government()


def _weak(infinitive: str) -> tuple[str, str, str]:
    stem = _stem(infinitive)
    linked = stem + "e" if _needs_e(stem) else stem
    without_ge = stem.startswith(_UNSTRESSED) or infinitive.endswith("ieren")
    return linked + "t", linked + "te", ("" if without_ge else "ge") + linked + "t"


def _stem(infinitive: str) -> str:
    return infinitive[: -2 if infinitive.endswith("en") else -1]


def _needs_e(stem: str) -> bool:
    """Return whether *e* stands before *t*: *arbeitet*, *atmet*, *öffnet*."""
    return stem[-1] in "dt" or (stem[-1] in "mn" and stem[-2] not in "aeiouäöühlmnr")


def _first_person(infinitive: str) -> str:
    if infinitive.endswith("eln"):
        return infinitive[:-3] + "le"
    return _stem(infinitive) + "e"


BARE = ("can", "must", "want:infinitive")  # their infinitive has no *zu*
_BE = GermanVerb.of("sein/ist/war/gewesen")
_HAVE = GermanVerb.of("haben/hat/hatte/gehabt")
_WILL = GermanVerb.of("werden/wird/wurde/geworden")
_MODALS = {
    "can": GermanVerb.of("können/kann/konnte/gekonnt", "bare"),
    "must": GermanVerb.of("müssen/muss/musste/gemusst", "bare"),
    "may": GermanVerb.of("dürfen/darf/durfte/gedurft", "bare"),
}


class VerbPieces(NamedTuple):
    """The verb group of a clause, in its pieces."""

    finite: Piece
    right: Piece  # the right half of the bracket: separable prefix, participle, infinitive
    last: Piece  # the whole group at the end of a subordinate clause
    infinitive: Piece = EMPTY  # the infinitive with *zu*, at the end of a clause of its own


def meant(modal: str, negation: str) -> str:
    """Return the modal verb: *must not* is *darf nicht*, since *muss nicht* means no need."""
    return "may" if modal == "must" and negation else modal


def modal_forms(name: str) -> GermanVerb | None:
    """Return the forms of *can*, *must* or *may*; None for any other verb."""
    return _MODALS.get(name)


def verb_group(verb: GermanVerb, tense: str, person: int, modal: GermanVerb | None) -> VerbPieces:
    """Write a verb group; ``modal`` holds the forms of a verb with an infinitive.

    ``tense`` is ``present``, ``past`` (one word), ``perfect`` or ``future``.
    """
    if modal is None:
        return _group(verb, tense, person, (VERB,), [])
    if not modal.bare:
        group = _group(modal, tense, person, (MODAL,), [])
        return group._replace(infinitive=piece(verb.with_zu))
    infinitive: Word = (verb.prefix + verb.infinitive, (VERB,))
    return _group(modal, tense, person, (MODAL,), [infinitive])


def _group(
    verb: GermanVerb, tense: str, person: int, roles: tuple[int, ...], inner: list[Word]
) -> VerbPieces:
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
        return VerbPieces(
            piece([(form, roles)]),
            piece([*inner, *prefix]),
            piece([*inner, (verb.prefix + form, roles)]),
        )
    return VerbPieces(piece([finite]), piece(right), piece([*right, finite]))


_INDEFINITE = ("a", "some", "several", "many", "two", "three", "four")
"""Determiners of noun phrases that follow *nie* and *oft*; definite noun phrases go before."""
_AFTER_NOT = ("a", "some", "many")  # follow *nicht*; *nicht zwei* would deny the number


class Complements(NamedTuple):
    """The objects of a clause by their form, which decides their place."""

    pronouns: list[tuple[Pronoun, int, int]]  # with case and role; the accusative first
    phrases: list[tuple[NounPhrase, int]]  # with case: definite ones, then datives first
    prepositional: list[tuple[Participant, Government]]


def complements_of(clause: Clause, forms: GermanVerb) -> Complements:
    """Return the objects of a clause whose verb has ``forms``."""
    governed = forms.government
    found = Complements([], [], [])
    if clause.verb.frame == "ditransitive":
        recipient = governed if governed.preposition else Government(DATIVE)
        _sort_in(found, clause.object, Government(), OBJECT)
        _sort_in(found, clause.recipient, recipient, RECIPIENT)
    elif forms.inverse:
        _sort_in(found, clause.subject, Government(DATIVE), SUBJECT)
    elif clause.gap != "object":
        _sort_in(found, clause.oblique or clause.object, governed, OBJECT)
    found.phrases.sort(key=lambda entry: is_indefinite(entry[0]))
    return found


def _sort_in(
    found: Complements, participant: Participant | None, government: Government, role: int
) -> None:
    if participant is None:
        return
    if government.preposition:
        found.prepositional.append((participant, government))
    elif isinstance(participant, NounPhrase):
        found.phrases.insert(0, (participant, government.case))
    else:
        found.pronouns.append((participant, government.case, role))


def negated_object(clause: Clause, complements: Complements) -> Participant | None:
    """Return the object whose determiner *kein* is the negation of the clause, if there is one."""
    mode = clause.mode
    if mode.negation != "not" or not (mode.modal is None or mode.modal.name in BARE):
        return None
    last_first = [
        phrase for phrase, _ in reversed(complements.phrases) if phrase is not clause.subject
    ]
    governed = [each for each, _ in complements.prepositional if each is clause.object]
    return next((each for each in (*last_first, *governed) if _may_have_kein(each)), None)


def _may_have_kein(participant: Participant | None) -> bool:
    if not isinstance(participant, NounPhrase):
        return False
    core = participant.core
    return core.determiner == "a" or (core.denied and core.determiner == "some")


def is_indefinite(phrase: NounPhrase) -> bool:
    """Return whether *nie* and *oft* stand before a noun phrase."""
    determiner = phrase.core.determiner
    return determiner in _INDEFINITE or determiner.isdigit()


def follows_adverb(phrase: NounPhrase, clause: Clause) -> bool:
    """Return whether *nicht*, *nie* or *oft* stands before an object.

    A dative that is the subject of the meaning goes before them: *die Kinder fehlen vielen nicht*.
    """
    if phrase is clause.subject:
        return False
    if clause.mode.negation == "not":
        return phrase.core.determiner in _AFTER_NOT
    return is_indefinite(phrase)


def is_heavy(relative: Clause) -> bool:
    """Return whether a relative clause holds a clause, and so moves behind the verb."""
    participants = (relative.subject, relative.object, relative.oblique)
    return relative.complement is not None or any(
        isinstance(each, NounPhrase) and each.relative is not None for each in participants
    )
