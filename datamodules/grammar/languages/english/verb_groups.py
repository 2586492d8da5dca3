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
from datamodules.grammar.meaning.phrases import THIRD_SINGULAR, Mode


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
_FORMS_OF_BE = {
    "present": ("am", "is", "are", "are"),
    "past": ("was", "was", "were", "were"),
    "supposed": ("were", "were", "were", "were"),
}
"""By tense and person."""
_AUXILIARIES = {"future": "will", "unreal": "would"}
_MODALS = {
    ("can", "present"): "can", ("can", "past"): "could", ("can", "supposed"): "could",
    ("can", "unreal"): "could", ("must", "present"): "must",
}  # fmt: skip


def verb_group(
    verb: EnglishVerb, mode: Mode, person: int, modal: EnglishVerb | None, asked: bool
) -> Piece:
    """Write a verb group with its preposition; ``modal`` holds the forms of ``mode.modal``.

    In a group that is ``asked``, the first word stands before the subject.
    """
    head, role, tail = verb, VERB, _words(verb.preposition, GOVERN)
    if mode.passive:
        head, role, tail = _BE, PASSIVE, [*_words(verb.participle, VERB), *tail]
    if mode.modal is None:
        words = _finite(head, mode, person, role, asked)
    else:
        tail = [*_words(head.base, role), *tail]
        auxiliary = _MODALS.get((mode.modal.name, mode.tense))
        if auxiliary is None:
            to = (TO, VERB + POSSIBLE) if modal else (MODAL,)
            words = [*_finite(modal or _HAVE, mode, person, MODAL, asked), ("to", to)]
        elif auxiliary == "can" and mode.negation == "not" and not asked:
            words = [("cannot", (MODAL, NOT))]
        else:
            words = [(auxiliary, (MODAL, TENSE + POSSIBLE)), *_middle(mode)]
    if asked:
        words[0] = words[0][0], (*words[0][1], ASK + POSSIBLE)
    return piece([*words, *tail])


def _finite(verb: EnglishVerb, mode: Mode, person: int, role: int, asked: bool) -> list[Word]:
    """Write a finite verb, with an auxiliary or without, and what stands in the middle."""
    past, third = mode.tense in ("past", "supposed"), person == THIRD_SINGULAR
    middle, form, roles = _middle(mode), verb.base, (TENSE,)
    if mode.tense in _AUXILIARIES:
        finite = _AUXILIARIES[mode.tense]
    elif mode.tense == "perfect":
        finite, form = _HAVE.third if third else _HAVE.base, verb.participle
    elif verb.base == _BE.base:
        return [(_FORMS_OF_BE[mode.tense][person], (role, TENSE + POSSIBLE)), *middle]
    elif mode.negation == "not" or asked:
        finite, roles = "did" if past else "does" if third else "do", (TENSE + POSSIBLE,)
    else:
        form = verb.past if past else verb.third if third else verb.base
        return [*middle, *_words(form, role, TENSE + POSSIBLE)]
    return [(finite, roles), *middle, *_words(form, role)]


def _middle(mode: Mode) -> list[Word]:
    if mode.negation:
        return [(mode.negation, (NOT,))]
    return [] if mode.adverb is None else [(mode.adverb.name, (OFTEN,))]


def _words(form: str, *roles: int) -> list[Word]:
    return [(word, roles) for word in form.split()]
