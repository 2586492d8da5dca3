"""English verb groups: auxiliaries, *do*, negation, adverbs of frequency."""

from dataclasses import dataclass

from datamodules.grammar.languages.english import morphology
from datamodules.grammar.languages.language import (
    MODAL,
    NOT,
    OFTEN,
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
    """Forms of a verb; the particle of a phrasal verb follows the first word."""

    base: str
    third: str
    past: str
    participle: str
    preposition: Piece

    @classmethod
    def of(cls, cell: str, preposition: Piece) -> "EnglishVerb":
        """Read ``base``, ``base/past`` or ``base/past/participle``."""
        base, past, participle = (*cell.split("/"), "", "")[:3]
        past = past or morphology.past(base)
        return cls(base, morphology.third_person(base), past, participle or past, preposition)


BE = "be"
_MODALS = {"can": ("can", "could"), "must": ("must", "had to")}


def verb_group(verb: EnglishVerb, mode: Mode, person: int, modal: EnglishVerb | None) -> Piece:
    """Write a verb group; ``modal`` holds the forms of ``mode.modal``."""
    if mode.modal is None:
        return piece(_group(verb, mode, person, VERB))
    infinitive = _words(verb.base, (VERB,))
    if mode.modal.name in _MODALS:
        return piece([*_auxiliary_group(_MODALS[mode.modal.name], mode), *infinitive])
    assert modal is not None
    finite = _group(modal, mode, person, MODAL)
    return piece([*finite, ("to", (TO, VERB + POSSIBLE)), *infinitive])


def _group(verb: EnglishVerb, mode: Mode, person: int, role: int) -> list[Word]:
    middle = _middle(mode)
    if mode.tense == "future":
        return [("will", (TENSE + POSSIBLE,)), *middle, *_words(verb.base, (role,))]
    past = mode.tense == "past"
    if verb.base == BE:
        return [(_be(person, past), (role, TENSE + POSSIBLE)), *middle]
    if mode.negation == "not":
        do = "did" if past else "does" if person == THIRD_SINGULAR else "do"
        return [(do, (TENSE + POSSIBLE,)), *middle, *_words(verb.base, (role,))]
    form = verb.past if past else verb.third if person == THIRD_SINGULAR else verb.base
    return [*middle, *_words(form, (role, TENSE + POSSIBLE))]


def _auxiliary_group(forms: tuple[str, str], mode: Mode) -> list[Word]:
    form = forms[mode.tense == "past"]
    if form == "can" and mode.negation == "not":
        return [("cannot", (MODAL, NOT))]
    return [(form, (MODAL, TENSE + POSSIBLE)), *_middle(mode)]


def _middle(mode: Mode) -> list[Word]:
    if mode.negation:
        return [(mode.negation, (NOT,))]
    return [] if mode.adverb is None else [(mode.adverb.name, (OFTEN,))]


def _words(form: str, roles: tuple[int, ...]) -> list[Word]:
    return [(word, roles) for word in form.split()]


def _be(person: int, past: bool) -> str:
    if person == FIRST_SINGULAR:
        return "was" if past else "am"
    if person == THIRD_SINGULAR:
        return "was" if past else "is"
    return "were" if past else "are"
