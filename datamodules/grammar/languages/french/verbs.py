"""Conjugation of the French verbs of the lexicon, and verb groups.

Spelling is the traditional one (préférerai, il connaît, il appelle).
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from datamodules.grammar.languages.french.nouns import agree
from datamodules.grammar.languages.language import (
    MODAL,
    NOT,
    OBJECT,
    OFTEN,
    PASSIVE,
    POSSIBLE,
    SUBJECT,
    TENSE,
    TO,
    VERB,
    Piece,
    Word,
    governing,
    piece,
    read_sections,
)
from datamodules.grammar.meaning.phrases import FIRST_PLURAL, Mode

PRESENT_ER = ("e", "es", "e", "ons", "ez", "ent")
IMPERFECT = ("ais", "ais", "ait", "ions", "iez", "aient")
FUTURE = ("ai", "as", "a", "ons", "ez", "ont")
SUBJUNCTIVE = ("e", "es", "e", "ions", "iez", "ent")

Forms = tuple[str, ...]


class Conjugation(NamedTuple):
    """The forms of one verb; persons in the order je tu il nous vous ils."""

    infinitive: str
    present: Forms
    imperfect: Forms
    future: Forms
    conditional: Forms
    subjunctive: Forms
    participle: str


FAMILIES = read_sections(__package__)["families"]
"""Present forms, future stem, participle and, if irregular, the present subjunctive of the verbs
with an ending: the longest that fits."""
# Verbs in -eler and -eter that double the consonant; the others take è.
DOUBLING = ("appeler", "jeter", "étiqueter", "étinceler", "épeler", "chanceler", "feuilleter")

E_MUTE = re.compile(r"e([cdlmnprstv])er$")
E_ACUTE = re.compile(r"é(gu|qu|[bcdfghjklmnprstvz]+)er$")


def add(stem: str, endings: Iterable[str]) -> Forms:
    """Attach each ending to the stem."""
    return tuple([stem + ending for ending in endings])


@cache
def conjugate(infinitive: str) -> Conjugation:
    """Return the forms of a French verb given by its infinitive."""
    subjunctive: Forms = ()
    if infinitive.endswith("er") and infinitive != "aller":
        plain, hard, mute = infinitive[:-2], _hard_stem(infinitive), _mute_stem(infinitive)
        stems = (mute, mute, mute, hard, plain, mute)
        present = tuple(map(str.__add__, stems, PRESENT_ER))
        imperfect = tuple(
            (plain if ending.startswith("i") else hard) + ending for ending in IMPERFECT
        )
        future, participle = _future_stem(infinitive), plain + "é"
    else:
        ending = max(filter(infinitive.endswith, FAMILIES), key=len)
        before = infinitive.removesuffix(ending)
        forms, future, participle, *irregular = FAMILIES[ending]
        present = add(before, forms.split())
        stem = "ét" if infinitive == "être" else present[3].removesuffix("ons")
        imperfect, future, participle = add(stem, IMPERFECT), before + future, before + participle
        subjunctive = add(before, "".join(irregular).split())
    if not subjunctive:  # *qu'ils viennent* gives *qu'il vienne*, but *nous venions*
        regular = add(present[5].removesuffix("ent"), SUBJUNCTIVE)
        subjunctive = (*regular[:3], *imperfect[3:5], regular[5])
    return Conjugation(
        infinitive,
        present,
        imperfect,
        add(future, FUTURE),
        add(future, IMPERFECT),
        subjunctive,
        participle,
    )


def _mute_stem(infinitive: str) -> str:
    """Return the stem of an -er verb before a mute e: lèv-, jett-, préfèr-, nettoi-."""
    if infinitive.endswith("yer"):
        return infinitive[:-3] + "i"
    if infinitive.endswith(DOUBLING):
        return infinitive[:-2] + infinitive[-3]
    changed = E_MUTE.sub(r"è\1er", infinitive)
    return E_ACUTE.sub(r"è\1er", changed)[:-2]


def _hard_stem(infinitive: str) -> str:
    """Return the stem of an -er verb before a or o: mange-, lanç-."""
    stem = infinitive[:-2]
    if stem.endswith("g"):
        return stem + "e"
    return stem[:-1] + "ç" if stem.endswith("c") else stem


def _future_stem(infinitive: str) -> str:
    """Return the future stem of an -er verb; é is kept, envoyer is irregular."""
    if infinitive.endswith("envoyer"):
        return infinitive.removesuffix("oyer") + "err"
    return infinitive if E_ACUTE.search(infinitive) else _mute_stem(infinitive) + "er"


_NEGATIONS = {"not": "pas", "never": "jamais"}
_CLITIC_ORDER = ("se", "me", "nous", "+le", "+la", "+les", "lui", "leur", "y", "en")
_REFLEXIVES = ("me", "se", "nous", "se")  # by person
_FORMS = (0, 2, 3, 5)  # index in a conjugation of the persons *je*, *il*, *nous*, *ils*
_TENSES = {
    "present": "present", "past": "imperfect", "future": "future", "supposed": "imperfect",
    "unreal": "conditional",
}  # fmt: skip


class FrenchVerb(NamedTuple):
    """A verb: its forms, its auxiliary, and the preposition before its object."""

    conjugation: Conjugation
    takes_be: bool
    preposition: Piece

    @classmethod
    def of(cls, cell: str, preposition: str = "") -> "FrenchVerb":
        """Read an infinitive; ``+`` after it marks a verb with the auxiliary *être*."""
        forms = conjugate(cell.rstrip("+"))
        return cls(forms, cell.endswith("+"), governing(preposition))


class Agreement(NamedTuple):
    """What a verb or participle agrees with."""

    person: int
    gender: str

    @property
    def plural(self) -> bool:
        """Whether it is more than one."""
        return self.person >= FIRST_PLURAL


_BE, _HAVE = FrenchVerb.of("être"), FrenchVerb.of("avoir")


def verb_group(
    verb: FrenchVerb,
    modal: FrenchVerb | None,
    state: bool,
    mode: Mode,
    subject: Agreement,
    clitics: tuple[Word, ...],
    agreed: Agreement | None,
) -> Piece:
    """Write a verb group; ``modal`` holds the forms of ``mode.modal``.

    ``agreed`` is an object before the verb, with which the participle agrees.
    """
    clitics = tuple(sorted(clitics, key=lambda clitic: _CLITIC_ORDER.index(clitic[0])))
    head, role, tail = verb, VERB, list[Word]()
    if mode.passive:
        participle = agree(verb.conjugation.participle, subject.gender, subject.plural)
        head, role, tail = _BE, PASSIVE, [(participle, (VERB,))]
    if modal is None:
        return piece([*_finite(head, state, mode, subject, role, clitics, agreed), *tail])
    assert mode.modal is not None
    finite = _finite(modal, mode.modal.state, mode, subject, MODAL)
    to = [(word, (TO,)) for word in modal.preposition.texts]
    infinitive = (head.conjugation.infinitive, (role,))
    return piece([*finite, *to, *_written(clitics, subject), infinitive, *tail])


def _finite(
    verb: FrenchVerb,
    state: bool,
    mode: Mode,
    subject: Agreement,
    role: int,
    clitics: tuple[Word, ...] = (),
    agreed: Agreement | None = None,
) -> list[Word]:
    """Write a finite verb, or an infinitive, with clitics, negation and adverb of frequency."""
    before, after = list[Word](), list[Word]()
    if mode.negation:
        before, after = [("ne", (NOT,))], [(_NEGATIONS[mode.negation], (NOT,))]
    elif mode.adverb is not None:
        after = [(mode.adverb.name, (OFTEN,))]
    pronouns = _written(clitics, subject)
    forms, person = verb.conjugation, _FORMS[subject.person]
    if mode.tense == "infinitive":
        missing = (OBJECT if mode.passive else SUBJECT) + POSSIBLE
        verbs = [*pronouns, (forms.infinitive, (role, TENSE + POSSIBLE, missing))]
        return [*before, *after, *verbs] if mode.negation else [*verbs, *after]
    is_single = mode.tense == "past" and not (state or mode.habit)
    if mode.tense != "perfect" and not is_single:
        tense = "subjunctive" if mode.subjunctive else _TENSES[mode.tense]
        finite: Word = getattr(forms, tense)[person], (role, TENSE + POSSIBLE)
        return [*before, *pronouns, finite, *after]
    takes_be = verb.takes_be or any(text == "se" for text, _ in clitics)
    auxiliary = (_BE if takes_be else _HAVE).conjugation
    finite = (auxiliary.subjunctive if mode.subjunctive else auxiliary.present)[person], (TENSE,)
    participle, target = forms.participle, subject if takes_be else agreed
    if target is not None:
        participle = agree(participle, target.gender, target.plural)
    return [*before, *pronouns, finite, *after, (participle, (role,))]


def _written(clitics: tuple[Word, ...], subject: Agreement) -> list[Word]:
    """Return the clitics, the reflexive one in the person of the subject."""
    return [
        (_REFLEXIVES[subject.person] if text == "se" else text, roles) for text, roles in clitics
    ]
