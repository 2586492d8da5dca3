"""English verb groups: auxiliaries, *do*, negation, adverbs of frequency."""

from dataclasses import dataclass

from datamodules.grammar.languages.english import morphology
from datamodules.grammar.languages.language import (
    ASK,
    GOVERN,
    MODAL,
    NOT,
    OFTEN,
    PASSIVE,
    POSSIBLE,
    TENSE,
    TO,
    VERB,
    Piece,
    Word,
    piece,
)
from datamodules.grammar.meaning.phrases import FIRST_SINGULAR, THIRD_SINGULAR, Mode


@dataclass(frozen=True, eq=False)
class EnglishVerb:
    """Forms of a verb, with the particle of a phrasal verb behind the first word."""

    base: str
    third: str
    past: str
    participle: str
    preposition: str = ""

    @classmethod
    def of(cls, cell: str, preposition: str = "") -> "EnglishVerb":
        """Read ``base``, ``base/past`` or ``base/past/participle``."""
        base, *irregular = cell.split("/")
        past = irregular[0] if irregular else morphology.past(base)
        participle = irregular[1] if len(irregular) > 1 else past
        return cls(base, morphology.third_person(base), past, participle, preposition)


_BE, _HAVE = EnglishVerb("be", "is", "was", "been"), EnglishVerb("have", "has", "had", "had")
_PASTS = ("past", "supposed")  # tenses with the form of the past
_AUXILIARIES = {"future": "will", "unreal": "would"}
_MODALS = {
    ("can", "present"): "can", ("can", "past"): "could", ("can", "supposed"): "could",
    ("can", "unreal"): "could", ("must", "present"): "must",
}  # fmt: skip


def verb_group(verb: EnglishVerb, mode: Mode, person: int, modal: EnglishVerb | None) -> Piece:
    """Write a verb group with its preposition; ``modal`` holds the forms of ``mode.modal``."""
    return piece(_words_of(verb, mode, person, modal, asked=False))


def asked_group(
    verb: EnglishVerb, mode: Mode, person: int, modal: EnglishVerb | None
) -> tuple[Piece, Piece]:
    """Write the auxiliary before the subject of a question, and the verbs behind the subject."""
    (auxiliary, roles), *others = _words_of(verb, mode, person, modal, asked=True)
    return piece([(auxiliary, (*roles, ASK + POSSIBLE))]), piece(others)


def _words_of(
    verb: EnglishVerb, mode: Mode, person: int, modal: EnglishVerb | None, asked: bool
) -> list[Word]:
    head, role, tail = verb, VERB, _words(verb.preposition, (GOVERN,))
    if mode.passive:
        head, role, tail = _BE, PASSIVE, [*_words(verb.participle, (VERB,)), *tail]
    if mode.modal is None:
        return [*_group(head, mode, person, role, asked), *tail]
    tail = [*_words(head.base, (role,)), *tail]
    auxiliary = _MODALS.get((mode.modal.name, mode.tense))
    if auxiliary is not None:
        return [*_auxiliary_group(auxiliary, mode, asked), *tail]
    to = (TO, VERB + POSSIBLE) if modal else (MODAL,)
    return [*_group(modal or _HAVE, mode, person, MODAL, asked), ("to", to), *tail]


def _group(verb: EnglishVerb, mode: Mode, person: int, role: int, asked: bool) -> list[Word]:
    middle = _middle(mode)
    auxiliary = _AUXILIARIES.get(mode.tense)
    if auxiliary is not None:
        return [(auxiliary, (TENSE,)), *middle, *_words(verb.base, (role,))]
    if mode.tense == "perfect":
        have = _HAVE.third if person == THIRD_SINGULAR else _HAVE.base
        return [(have, (TENSE,)), *middle, *_words(verb.participle, (role,))]
    past = mode.tense in _PASTS
    if verb.base == _BE.base:
        return [(_be(person, mode.tense), (role, TENSE + POSSIBLE)), *middle]
    if mode.negation == "not" or asked:
        do = "did" if past else "does" if person == THIRD_SINGULAR else "do"
        return [(do, (TENSE + POSSIBLE,)), *middle, *_words(verb.base, (role,))]
    form = verb.past if past else verb.third if person == THIRD_SINGULAR else verb.base
    return [*middle, *_words(form, (role, TENSE + POSSIBLE))]


def _auxiliary_group(form: str, mode: Mode, asked: bool) -> list[Word]:
    if form == "can" and mode.negation == "not" and not asked:
        return [("cannot", (MODAL, NOT))]
    return [(form, (MODAL, TENSE + POSSIBLE)), *_middle(mode)]


def _middle(mode: Mode) -> list[Word]:
    if mode.negation:
        return [(mode.negation, (NOT,))]
    return [] if mode.adverb is None else [(mode.adverb.name, (OFTEN,))]


def _words(form: str, roles: tuple[int, ...]) -> list[Word]:
    return [(word, roles) for word in form.split()]


def _be(person: int, tense: str) -> str:
    if tense == "supposed":
        return "were"
    if person == FIRST_SINGULAR:
        return "was" if tense == "past" else "am"
    if person == THIRD_SINGULAR:
        return "was" if tense == "past" else "is"
    return "were" if tense == "past" else "are"
