"""Verb groups: verbs with subject and object pronouns, negation and auxiliaries.

Links: *not* links to *ne* and *pas*; *do* and the forms of *be going* link to the finite French
verb. An English past links to both words of the passé composé, but after *did* the verb links only
to the participle, and *did* to the auxiliary.
"""

from dataclasses import dataclass
from functools import cache, cached_property

from datamodules.grammar.languages import french
from datamodules.grammar.languages.french import (
    FIRST_PLURAL,
    FIRST_SINGULAR,
    THIRD_PLURAL,
    THIRD_SINGULAR,
)
from datamodules.grammar.lexicon.words import FREQUENCIES, Fixed, Verb
from datamodules.grammar.nominals import SHAPE_NUMBER, Shape
from datamodules.grammar.phrase import Phrase, phrase


def _auxiliary(base: str, third: str, past: str, infinitive: str) -> Verb:
    conjugation = french.conjugate(infinitive)
    return Verb(base, third, past, conjugation, "", True, False, ("", ""), (), ())


BE = _auxiliary("be", "is", "was", "être")
HAVE = _auxiliary("have", "has", "had", "avoir")
CAN = _auxiliary("can", "can", "could", "pouvoir")
MUST = _auxiliary("must", "must", "", "devoir")
WANT = _auxiliary("want", "wants", "wanted", "vouloir")
GOING = _auxiliary("going", "", "", "aller")


@dataclass(frozen=True, eq=False)
class Subject:
    """The subject that a verb agrees with; a noun phrase as subject has empty pronouns."""

    person: int
    gender: str
    plural: bool
    english: str = ""
    french: str = ""

    @cached_property
    def shape(self) -> int:
        """Index in ``SHAPES`` of a verb group that starts with the pronoun."""
        first = "il" if self.french in ("il", "ils") else "a" if self.french == "elle" else "b"
        return SHAPE_NUMBER[Shape(following=first)]


NOUN_SUBJECTS = {
    (gender, plural): Subject(THIRD_PLURAL if plural else THIRD_SINGULAR, gender, plural)
    for gender in "mf"
    for plural in (False, True)
}
PRONOUN_SUBJECTS = (
    Subject(THIRD_SINGULAR, "m", False, "he", "il"),
    Subject(THIRD_SINGULAR, "f", False, "she", "elle"),
    Subject(FIRST_SINGULAR, "m", False, "I", "je"),
    Subject(THIRD_PLURAL, "m", True, "they", "ils"),
    Subject(FIRST_PLURAL, "m", True, "we", "nous"),
)


@cache
def without_pronoun(subject: Subject) -> Subject:
    """Return ``subject`` without its pronoun, for the second verb of a clause."""
    return Subject(subject.person, subject.gender, subject.plural)


@dataclass(frozen=True, eq=False)
class Clitic:
    """An object pronoun: after the verb in English, before it in French."""

    english: str
    gender: str
    plural: bool

    @property
    def french(self) -> str:
        """French form before elision."""
        if self.plural:
            return "les"
        return "la" if self.gender == "f" else "le"


HIM, HER = Clitic("him", "m", False), Clitic("her", "f", False)
PERSONAL = {"m": HIM, "f": HER}
THEM = {gender: Clitic("them", gender, True) for gender in "mf"}
IT = {gender: Clitic("it", gender, False) for gender in "mf"}


@dataclass(frozen=True, eq=False)
class Mode:
    """Tense, negation (``not`` or ``never``), adverb of frequency and modal verb of a group."""

    past: bool = False
    negation: str = ""
    adverb: Fixed | None = None
    modal: Verb | None = None

    @property
    def habit(self) -> bool:
        """Whether the group expresses a frequency."""
        return self.adverb is not None or self.negation == "never"


_NEGATIONS = {"not": "pas", "never": "jamais"}
_OFTEN = tuple(Mode(adverb=adverb) for adverb in FREQUENCIES)

# Modes of each tense, with weights.
MODES: dict[str, tuple[tuple[Mode, float], ...]] = {
    "present": (
        (Mode(), 9.0),
        (Mode(negation="not"), 3.0),
        (Mode(negation="never"), 1.0),
        *((mode, 1 / rank) for rank, mode in enumerate(_OFTEN, 1)),
        (Mode(modal=CAN), 1.0),
        (Mode(modal=WANT), 1.0),
        (Mode(modal=MUST), 0.7),
        (Mode(modal=CAN, negation="not"), 0.5),
        (Mode(modal=WANT, negation="not"), 0.5),
        (Mode(modal=MUST, negation="not"), 0.3),
    ),
    "past": (
        (Mode(past=True), 9.0),
        (Mode(past=True, negation="not"), 3.0),
        (Mode(past=True, negation="never"), 1.0),
        (Mode(past=True, modal=WANT), 1.0),
        (Mode(past=True, modal=CAN), 1.0),
        (Mode(past=True, modal=CAN, negation="not"), 0.5),
    ),
    "future": ((Mode(modal=GOING), 4.0), (Mode(modal=GOING, negation="not"), 1.0)),
}


@cache
def mode_words(mode: Mode, be: bool) -> int:
    """Count the English words of a group with a verb of one word and without pronouns."""
    subject = NOUN_SUBJECTS["m", False]
    return verb_group(subject, BE if be else WANT, mode).links.english_words


@cache
def verb_group(
    subject: Subject,
    verb: Verb,
    mode: Mode,
    clitic: Clitic | None = None,
    antecedent: Subject | None = None,
) -> Phrase:
    """Write a verb with its pronouns, negation and auxiliaries.

    ``antecedent`` is a direct object before the verb (the antecedent of a relative clause with
    *que*); the participle agrees with ``antecedent``.
    """
    source = _english(subject, verb, mode)
    if clitic is not None:
        source.append((clitic.english, ("object",)))
    target = _french(subject, verb, mode, clitic, antecedent)
    french_tokens = [
        (text, tuple(i for i, (_, roles) in enumerate(source) if not rendered.isdisjoint(roles)))
        for text, rendered in ((text, set(roles)) for text, roles in target)
    ]
    return phrase([word for word, _ in source], french_tokens)


Roles = list[tuple[str, tuple[str, ...]]]
"""Words, each with its roles in the group."""


def _english(subject: Subject, verb: Verb, mode: Mode) -> Roles:
    words: Roles = [(subject.english, ("subject",))] if subject.english else []
    if mode.modal is None:
        return words + _english_finite(subject, verb, mode, "verb")
    words += _english_finite(subject, mode.modal, mode, "modal")
    if mode.modal in (WANT, GOING):
        words.append(("to", ("verb",)))
    return words + [(word, ("verb",)) for word in verb.english.split()]


def _english_finite(subject: Subject, verb: Verb, mode: Mode, part: str) -> Roles:
    adverb: Roles = []
    if mode.adverb is not None:
        adverb = [(mode.adverb.english, ("adverb",))]
    elif mode.negation:
        adverb = [(mode.negation, ("not",))]
    third = subject.person == THIRD_SINGULAR
    if verb is GOING:
        return [(_be(subject, False), (part,)), *adverb, ("going", (part,))]
    if verb is BE:
        return [(_be(subject, mode.past), (part,)), *adverb]
    if verb is CAN and mode.negation and not mode.past:
        return [("cannot", (part, "not"))]
    if verb in (CAN, MUST):
        return [(verb.past if mode.past else verb.english, (part,)), *adverb]
    if mode.negation == "not":
        do = "did" if mode.past else "does" if third else "do"
        return [(do, ("do",)), *adverb, *((word, (part,)) for word in verb.english.split())]
    form = verb.past if mode.past else verb.third if third else verb.english
    return adverb + [(word, (part,)) for word in form.split()]


def _be(subject: Subject, past: bool) -> str:
    if subject.person == FIRST_SINGULAR:
        return "was" if past else "am"
    if subject.plural:
        return "were" if past else "are"
    return "was" if past else "is"


def _french(
    subject: Subject, verb: Verb, mode: Mode, clitic: Clitic | None, antecedent: Subject | None
) -> Roles:
    words: Roles = [(subject.french, ("subject",))] if subject.french else []
    pronoun: Roles = [(clitic.french, ("object",))] if clitic is not None else []
    after: Roles = []
    if mode.negation:
        words.append(("ne", ("not",)))
        after = [(_NEGATIONS[mode.negation], ("not",))]
    elif mode.adverb is not None:
        after = [(mode.adverb.french, ("adverb",))]
    complement: Roles = [(verb.complement, ("verb",))] if verb.complement else []
    if mode.modal is not None:
        finite = _simple(subject, mode.modal, mode.past)
        infinitive = (verb.french.infinitive, ("verb",))
        return [*words, (finite, ("do", "modal")), *after, *pronoun, infinitive, *complement]
    if mode.past and not verb.state:
        agreed = subject if verb.moves else clitic or antecedent
        participle = verb.french.participle
        if agreed is not None:
            participle = french.agree(participle, agreed.gender, agreed.plural)
        auxiliary = _simple(subject, BE if verb.moves else HAVE, False)
        rendered = "do" if mode.negation == "not" else "verb"
        compound: Roles = [(auxiliary, (rendered,)), *after, (participle, ("verb",))]
        return words + pronoun + compound
    finite = _simple(subject, verb, mode.past)
    return [*words, *pronoun, (finite, ("do", "verb")), *after, *complement]


def _simple(subject: Subject, verb: Verb, past: bool) -> str:
    conjugation = verb.french
    return (conjugation.imperfect if past else conjugation.present)[subject.person]
