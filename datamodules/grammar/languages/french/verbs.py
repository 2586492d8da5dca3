"""Conjugation of the French verbs of the lexicon (pure Python, no data files).

Tenses: present, imperfect and future indicative, and the past participle.
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
    OFTEN,
    POSSIBLE,
    PREPOSITION,
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
PRESENT_IR = ("is", "is", "it", "issons", "issez", "issent")
PRESENT_RE = ("s", "s", "", "ons", "ez", "ent")
IMPERFECT = ("ais", "ais", "ait", "ions", "iez", "aient")
FUTURE = ("ai", "as", "a", "ons", "ez", "ont")

Forms = tuple[str, ...]


@dataclass(frozen=True)
class Conjugation:
    """The forms of one verb; persons in the order je tu il nous vous ils."""

    infinitive: str
    present: Forms
    imperfect: Forms
    future: Forms
    participle: str


FAMILIES = {
    ending: (cells[0], cells[1], cells[2])
    for ending, cells in read_sections(__package__)["families"].items()
}
"""Present forms, future stem and participle of the verbs with an ending: the longest that fits."""
# Verbs that differ from the family of their ending.
EXACT: dict[str, tuple[str, str, str]] = {"dire": ("dis dis dit disons dites disent", "dir", "dit")}
# Verbs in -eler and -eter that double the consonant; the others take è.
DOUBLING = ("appeler", "jeter", "étiqueter", "étinceler", "épeler", "chanceler", "feuilleter")

E_MUTE = re.compile(r"e([cdlmnprstv])er$")
E_ACUTE = re.compile(r"é(gu|qu|[bcdfghjklmnprstvz]+)er$")


def split_family(infinitive: str) -> tuple[str, tuple[str, str, str]] | None:
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


def conjugate_family(infinitive: str, prefix: str, family: tuple[str, str, str]) -> Conjugation:
    """Conjugate an irregular verb from its family."""
    forms, future, participle = family
    present = tuple(prefix + form for form in forms.split())
    stem = "ét" if infinitive == "être" else present[3].removesuffix("ons")
    return Conjugation(
        infinitive, present, add(stem, IMPERFECT), add(prefix + future, FUTURE), prefix + participle
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
    return Conjugation(
        infinitive, present, imperfect, add(future_stem(infinitive), FUTURE), plain + "é"
    )


def conjugate_ir(infinitive: str) -> Conjugation:
    """Conjugate a verb of the second group (finir)."""
    stem = infinitive[:-2]
    return Conjugation(
        infinitive,
        add(stem, PRESENT_IR),
        add(stem + "iss", IMPERFECT),
        add(infinitive, FUTURE),
        stem + "i",
    )


def conjugate_re(infinitive: str) -> Conjugation:
    """Conjugate a regular verb in -dre (vendre)."""
    stem = infinitive[:-2]
    return Conjugation(
        infinitive, add(stem, PRESENT_RE), add(stem, IMPERFECT), add(stem + "r", FUTURE), stem + "u"
    )


@cache
def conjugate(infinitive: str) -> Conjugation:
    """Return the forms of a French verb given by its infinitive."""
    found = split_family(infinitive)
    if found:
        return conjugate_family(infinitive, *found)
    regular = {"er": conjugate_er, "ir": conjugate_ir, "re": conjugate_re}
    if infinitive[-2:] not in regular:
        raise ValueError(f"not a French infinitive: {infinitive!r}")
    return regular[infinitive[-2:]](infinitive)


_NEGATIONS = {"not": "pas", "never": "jamais"}
_CLITIC_ORDER = ("me", "nous", "+le", "+la", "+les", "lui", "leur")
_FORMS = (0, 2, 3, 5)  # index in a conjugation of the persons *je*, *il*, *nous*, *ils*


@dataclass(frozen=True, eq=False)
class FrenchVerb:
    """A verb: its forms, its auxiliary, and the preposition before its object."""

    conjugation: Conjugation
    takes_be: bool
    preposition: Piece

    @classmethod
    def of(cls, cell: str, preposition: str = "") -> "FrenchVerb":
        """Read an infinitive; ``+`` after it marks a verb with the auxiliary *être*."""
        before = piece((word, (PREPOSITION,)) for word in preposition.split())
        return cls(conjugate(cell.rstrip("+")), cell.endswith("+"), before)


class Agreement(NamedTuple):
    """What a verb or participle agrees with."""

    person: int
    gender: str
    plural: bool


Clitic = tuple[str, int]  # an object pronoun and its role

_BE, _HAVE = FrenchVerb.of("être"), FrenchVerb.of("avoir")
_MODALS = {"can": FrenchVerb.of("pouvoir"), "must": FrenchVerb.of("devoir")}


class VerbGroup(NamedTuple):
    """All that decides the words of a verb group."""

    verb: FrenchVerb
    state: bool
    mode: Mode
    subject: Agreement
    clitics: tuple[Clitic, ...] = ()
    agreed: Agreement | None = None  # object before the verb: the participle agrees


def verb_group(group: VerbGroup, modal: FrenchVerb | None) -> Piece:
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
    verb: FrenchVerb,
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
