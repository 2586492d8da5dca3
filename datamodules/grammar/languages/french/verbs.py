"""Conjugation of the French verbs of the lexicon, and verb groups.

Spelling is the traditional one (préférerai, il connaît, il appelle).
"""

import re
from dataclasses import dataclass
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
    piece,
    read_sections,
)
from datamodules.grammar.meaning.phrases import Mode

PRESENT_ER = ("e", "es", "e", "ons", "ez", "ent")
REGULAR = {
    "ir": (("is", "is", "it", "issons", "issez", "issent"), "i"),
    "re": (("s", "s", "", "ons", "ez", "ent"), "u"),
}
"""Endings of the present and the participle of regular verbs (*finir*, *vendre*)."""
IMPERFECT = ("ais", "ais", "ait", "ions", "iez", "aient")
FUTURE = ("ai", "as", "a", "ons", "ez", "ont")
SUBJUNCTIVE = ("e", "es", "e", "ions", "iez", "ent")

Forms = tuple[str, ...]


@dataclass(frozen=True)
class Conjugation:
    """The forms of one verb; persons in the order je tu il nous vous ils."""

    infinitive: str
    present: Forms
    imperfect: Forms
    future: Forms
    conditional: Forms
    subjunctive: Forms
    participle: str

    @classmethod
    def of(
        cls,
        infinitive: str,
        present: Forms,
        future_stem: str,
        participle: str,
        imperfect: Forms = (),
        subjunctive: Forms = (),
    ) -> "Conjugation":
        """Derive the tenses from stems, where they are not given."""
        imperfect = imperfect or add(present[3].removesuffix("ons"), IMPERFECT)
        future, conditional = add(future_stem, FUTURE), add(future_stem, IMPERFECT)
        if not subjunctive:  # *qu'ils viennent* gives *qu'il vienne*, but *nous venions*
            regular = add(present[5].removesuffix("ent"), SUBJUNCTIVE)
            subjunctive = (*regular[:3], *imperfect[3:5], regular[5])
        return cls(infinitive, present, imperfect, future, conditional, subjunctive, participle)


FAMILIES = {
    ending: tuple(cells) for ending, cells in read_sections(__package__)["families"].items()
}
"""Present forms, future stem, participle and, if irregular, the present subjunctive of the verbs
with an ending: the longest that fits."""
# Verbs that differ from the family of their ending.
EXACT: dict[str, Forms] = {"dire": ("dis dis dit disons dites disent", "dir", "dit")}
# Verbs in -eler and -eter that double the consonant; the others take è.
DOUBLING = ("appeler", "jeter", "étiqueter", "étinceler", "épeler", "chanceler", "feuilleter")

E_MUTE = re.compile(r"e([cdlmnprstv])er$")
E_ACUTE = re.compile(r"é(gu|qu|[bcdfghjklmnprstvz]+)er$")


def split_family(infinitive: str) -> tuple[str, Forms] | None:
    """Return what precedes the family ending, and the family; None for a regular verb."""
    if infinitive in EXACT:
        return "", EXACT[infinitive]
    endings = [ending for ending in FAMILIES if infinitive.endswith(ending)]
    if not endings or (infinitive.endswith("er") and infinitive != "aller"):
        return None
    longest = max(endings, key=len)
    return infinitive[: -len(longest)], FAMILIES[longest]


def add(stem: str, endings: Forms) -> Forms:
    """Attach each ending to the stem."""
    return tuple(stem + ending for ending in endings)


def conjugate_family(infinitive: str, prefix: str, family: Forms) -> Conjugation:
    """Conjugate an irregular verb from its family."""
    present, future, participle, *subjunctive = family
    return Conjugation.of(
        infinitive,
        tuple(prefix + form for form in present.split()),
        prefix + future,
        prefix + participle,
        add("ét", IMPERFECT) if infinitive == "être" else (),
        tuple(prefix + form for form in "".join(subjunctive).split()),
    )


def mute_stem(infinitive: str) -> str:
    """Return the stem of an -er verb before a mute e: lèv-, jett-, préfèr-, nettoi-."""
    if infinitive.endswith("yer"):
        return infinitive[:-3] + "i"
    if infinitive.endswith(DOUBLING):
        return infinitive[:-2] + infinitive[-3]
    changed = E_MUTE.sub(r"è\1er", infinitive)
    return E_ACUTE.sub(r"è\1er", changed)[:-2]


def hard_stem(infinitive: str) -> str:
    """Return the stem of an -er verb before a or o: mange-, lanç-."""
    stem = infinitive[:-2]
    if stem.endswith("g"):
        return stem + "e"
    return stem[:-1] + "ç" if stem.endswith("c") else stem


def future_stem(infinitive: str) -> str:
    """Return the future stem of an -er verb; é is kept, envoyer is irregular."""
    if infinitive.endswith("envoyer"):
        return infinitive.removesuffix("oyer") + "err"
    if E_ACUTE.search(infinitive):
        return infinitive
    return mute_stem(infinitive) + "er"


def conjugate_er(infinitive: str) -> Conjugation:
    """Conjugate a verb of the first group."""
    plain, hard, mute = infinitive[:-2], hard_stem(infinitive), mute_stem(infinitive)
    stems = (mute, mute, mute, hard, plain, mute)
    present = tuple(stem + ending for stem, ending in zip(stems, PRESENT_ER, strict=True))
    imperfect = tuple((plain if ending.startswith("i") else hard) + ending for ending in IMPERFECT)
    return Conjugation.of(infinitive, present, future_stem(infinitive), plain + "é", imperfect)


@cache
def conjugate(infinitive: str) -> Conjugation:
    """Return the forms of a French verb given by its infinitive."""
    found = split_family(infinitive)
    if found:
        return conjugate_family(infinitive, *found)
    stem, ending = infinitive[:-2], infinitive[-2:]
    if ending == "er":
        return conjugate_er(infinitive)
    if ending not in REGULAR:
        raise ValueError(f"not a French infinitive: {infinitive!r}")
    present, participle = REGULAR[ending]
    return Conjugation.of(
        infinitive, add(stem, present), infinitive.removesuffix("e"), stem + participle
    )


_NEGATIONS = {"not": "pas", "never": "jamais"}
_CLITIC_ORDER = ("se", "me", "nous", "+le", "+la", "+les", "lui", "leur", "y", "en")
_REFLEXIVES = ("me", "se", "nous", "se")  # by person
_FORMS = (0, 2, 3, 5)  # index in a conjugation of the persons *je*, *il*, *nous*, *ils*
_TENSES = {
    "present": "present", "past": "imperfect", "future": "future", "supposed": "imperfect",
    "unreal": "conditional",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class FrenchVerb:
    """A verb: its forms, its auxiliary, and the preposition before its object."""

    conjugation: Conjugation
    takes_be: bool
    preposition: tuple[str, ...]

    @classmethod
    def of(cls, cell: str, preposition: str = "") -> "FrenchVerb":
        """Read an infinitive; ``+`` after it marks a verb with the auxiliary *être*."""
        forms = conjugate(cell.rstrip("+"))
        return cls(forms, cell.endswith("+"), tuple(preposition.split()))


class Agreement(NamedTuple):
    """What a verb or participle agrees with."""

    person: int
    gender: str
    plural: bool


_BE, _HAVE = FrenchVerb.of("être"), FrenchVerb.of("avoir")
_MODALS = {"can": FrenchVerb.of("pouvoir"), "must": FrenchVerb.of("devoir")}


def verb_group(
    verb: FrenchVerb,
    modal: FrenchVerb | None,
    state: bool,
    mode: Mode,
    subject: Agreement,
    clitics: tuple[Word, ...],
    agreed: Agreement | None,
) -> Piece:
    """Write a verb group; ``modal`` holds the forms of a verb with an infinitive.

    ``agreed`` is an object before the verb, with which the participle agrees.
    """
    clitics = tuple(sorted(clitics, key=lambda clitic: _CLITIC_ORDER.index(clitic[0])))
    head, role, tail = verb, VERB, list[Word]()
    if mode.passive:
        participle = agree(verb.conjugation.participle, subject.gender, subject.plural)
        head, role, tail = _BE, PASSIVE, [(participle, (VERB,))]
    if mode.modal is None:
        return piece([*_finite(head, state, mode, subject, role, clitics, agreed), *tail])
    forms = modal or _MODALS[mode.modal.name]
    finite = _finite(forms, mode.modal.state, mode, subject, MODAL)
    to = [(word, (TO,)) for word in forms.preposition]
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
    before: list[Word] = [("ne", (NOT,))] if mode.negation else []
    after: list[Word] = []
    if mode.negation:
        after = [(_NEGATIONS[mode.negation], (NOT,))]
    elif mode.adverb is not None:
        after = [(mode.adverb.name, (OFTEN,))]
    pronouns = _written(clitics, subject)
    if mode.tense == "infinitive":
        missing = (OBJECT if mode.passive else SUBJECT) + POSSIBLE
        infinitive = verb.conjugation.infinitive, (role, TENSE + POSSIBLE, missing)
        if mode.negation:  # *avant de ne pas le voir*
            return [*before, *after, *pronouns, infinitive]
        return [*pronouns, infinitive, *after]
    before += pronouns
    person = _FORMS[subject.person]
    is_single = mode.tense == "past" and not (state or mode.habit)
    if mode.tense != "perfect" and not is_single:
        tense = "subjunctive" if mode.subjunctive else _TENSES[mode.tense]
        finite = getattr(verb.conjugation, tense)[person]
        return [*before, (finite, (role, TENSE + POSSIBLE)), *after]
    takes_be = verb.takes_be or any(text == "se" for text, _ in clitics)
    auxiliary = (_BE if takes_be else _HAVE).conjugation
    finite = (auxiliary.subjunctive if mode.subjunctive else auxiliary.present)[person]
    participle, target = verb.conjugation.participle, subject if takes_be else agreed
    if target is not None:
        participle = agree(participle, target.gender, target.plural)
    return [*before, (finite, (TENSE,)), *after, (participle, (role,))]


def _written(clitics: tuple[Word, ...], subject: Agreement) -> list[Word]:
    """Return the clitics, the reflexive one in the person of the subject."""
    return [
        (_REFLEXIVES[subject.person] if text == "se" else text, roles) for text, roles in clitics
    ]
