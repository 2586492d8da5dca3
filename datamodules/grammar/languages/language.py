"""What every language of the grammar has: pieces of text with roles, and an order of parts.

A language derives from ``Language`` in a folder of its own, beside the list of its words.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import ClassVar, TypeGuard, TypeVar

from datamodules.grammar.meaning.phrases import (
    ANIMATE,
    SOMEBODY,
    Adverbial,
    Clause,
    Dated,
    Joined,
    Noun,
    NounPhrase,
    Participant,
    Place,
    Prepositional,
    Pronoun,
    Time,
    Verb,
    subject_of,
)

# Roles of words in a noun phrase, and in a clause. Doubled, so that the last bit is free.
PREPOSITION, DETERMINER, NOUN, OWNER = range(0, 8, 2)
ADJECTIVES = tuple((role,) for role in range(8, 24, 2))  # roles of one adjective after another
(
    SUBJECT, OBJECT, RECIPIENT, TENSE, VERB, NOT, OFTEN, MODAL, TO, THAT, WHO, DEGREE, QUALITY,
    AND, PASSIVE, PLACE_GAP, ASK, GOVERN,
) = range(0, 36, 2)  # fmt: skip
MAIN, INVERTED, SUBORDINATE, INFINITIVE = range(4)
"""Orders of the parts of a clause; *inverted*: a main clause whose first place is taken already, by
a conjunction or by a clause before; *infinitive*: a clause without its subject, which is the one of
the clause before (*avant de dormir*)."""
POSSIBLE = 1  # added to a role: links that this word has by the role are possible, not sure

Roles = tuple[int, ...]
Word = tuple[str, Roles]
Key = TypeVar("Key")
Value = TypeVar("Value")


_GOVERNING = ("transitive", "prepositional", "motion")  # frames with one object

Played = tuple[tuple[int, int, int], ...]  # word, role, and 1 if its links are only possible
PLAYED: list[Played] = []  # by the shape of pieces
_SHAPES: dict[tuple[Roles, ...], int] = {}


class Piece:
    """Words that stand together; those of the same ``shape`` play the same roles in one unit."""

    __slots__ = ("roles", "shape", "texts")

    def __init__(self, texts: tuple[str, ...], roles: tuple[Roles, ...]) -> None:
        """Store the words, which may be fewer than their ``roles``."""
        self.texts, self.roles = texts, roles
        shape = _SHAPES.get(roles)
        if shape is None:
            shape = _SHAPES[roles] = len(PLAYED)
            played = ((word, role) for word, several in enumerate(roles) for role in several)
            PLAYED.append(tuple((word, role >> 1, role & POSSIBLE) for word, role in played))
        self.shape = shape

    @property
    def played(self) -> Played:
        """The roles of the words."""
        return PLAYED[self.shape]


def piece(words: Iterable[Word]) -> Piece:
    """Build a piece from words with their roles."""
    words = list(words)
    return Piece(tuple([text for text, _ in words]), tuple([roles for _, roles in words]))


def determined(determiner: str, words: Iterable[str], roles: Iterable[Roles]) -> Piece:
    """Build a piece from words with their roles, after a determiner, which may be empty."""
    if not determiner:
        return Piece(tuple(words), tuple(roles))
    return Piece((determiner, *words), ((DETERMINER,), *roles))


@cache
def token(text: str, *roles: int) -> Piece:
    """Return a piece of one word."""
    return Piece((text,), (roles,))


@cache
def governing(preposition: str) -> Piece:
    """Return a preposition that a verb governs, which may be empty."""
    return piece((word, (GOVERN,)) for word in preposition.split())


EMPTY = Piece((), ())
APART, ASPIRATED = "+", "*"
"""Marks before a word that does not contract, and before a French word with an aspirated h."""
MERGED = ""  # text of a word that became a part of the word before
_NO_WORDS = (",", MERGED)


def without_preposition(verb: Verb, group: Piece) -> Piece:
    """Return a verb group that also plays the preposition that it lacks (*attend*, *wait for*)."""
    if verb.frame not in _GOVERNING or not group.texts:
        return group
    roles = [(*each, GOVERN + POSSIBLE) if VERB in each else each for each in group.roles]
    return Piece(group.texts, tuple(roles))


class Text:
    """An unfinished sentence of one language: its words, and the pieces that they come from."""

    __slots__ = ("clauses", "pieces", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.pieces: list[tuple[Piece, int, int]] = []  # unit, number of first word
        self.clauses: list[tuple[int, int]] = []  # first word, word after the last

    def add(self, added: Piece, unit: int) -> None:
        """Append a piece whose words play their roles in ``unit``."""
        texts = self.texts
        self.pieces.append((added, unit, len(texts)))
        texts += added.texts

    def comma(self) -> None:
        """Append a comma, which is no word of its own, unless it would be first or second."""
        if self.texts and self.texts[-1] != ",":
            self.texts.append(",")


class Cache(dict[Key, Value]):
    """Pieces by key, built where missing; emptied when full, so that memory stays bounded."""

    LIMIT = 50_000

    def __init__(self, build: Callable[[Key], Value]) -> None:
        super().__init__()
        self._build = build

    def __missing__(self, key: Key) -> Value:
        if len(self) >= self.LIMIT:
            self.clear()
        built = self[key] = self._build(key)
        return built


class Language(ABC):
    """One language: forms of words, and the order of the parts of a clause."""

    code: ClassVar[str]
    agrees_in_gender: ClassVar[bool] = True  # of determiners and adjectives
    that: ClassVar[Piece]  # before a clause that somebody says

    def __init__(self) -> None:
        """Read the list of words beside the class."""
        self.sections = read_sections(type(self).__module__)
        self.expressions = read_expressions(self.sections)

    def sentence(self, clauses: Iterable[Joined]) -> Text:
        """Write the clauses of a sentence."""
        text = Text()
        opened, before = False, None
        for clause, conjunction, comma in clauses:
            if comma:
                text.comma()
            order = INVERTED if opened else MAIN
            if conjunction is not None:
                name = conjunction.expression.name
                if "subordinating" in conjunction.expression.kinds:
                    order = SUBORDINATE
                    infinitive = name in self.sections.get("infinitive_conjunctions", ())
                    if infinitive and _keeps_subject(clause, before):
                        order = INFINITIVE
                elif name in self.sections.get("first_conjunctions", ()):
                    order = INVERTED
                self.conjunction(conjunction, clause, text, order)
            opened = order == SUBORDINATE and not text.clauses
            self.clause(clause, text, order)
            before = clause
        return text

    def conjunction(self, conjunction: Adverbial, clause: Clause, text: Text, order: int) -> None:
        """Write the conjunction before a clause."""
        self.adverbial(conjunction, text)

    @abstractmethod
    def clause(self, clause: Clause, text: Text, order: int) -> None:
        """Write the parts of a clause in the order of the language."""

    def finish(self, text: Text) -> tuple[str, list[int]]:
        """Return the written sentence, and for each word of ``text`` the number of its word.

        Words that merge (*de le* to *du*) have the same number.
        """
        texts = text.texts.copy()
        self.merge(texts)
        numbers = list(accumulate([word not in _NO_WORDS for word in texts], initial=-1))[1:]
        written = " ".join(filter(None, texts)).replace(" ,", ",").removesuffix(",")
        return written.replace(APART, "").replace(ASPIRATED, ""), numbers

    def merge(self, texts: list[str]) -> None:  # noqa: B027
        """Merge words with their neighbours, in place; the second of two becomes ``MERGED``."""

    def gender(self, noun: Noun) -> str:
        """Return the gender of a noun, as far as other words show the gender."""
        return noun.gender

    @property
    def separable_verbs(self) -> Mapping[str, tuple[str, str]]:
        """Verbs with a part that may stand apart: the verb without the part, and the part."""
        return {}

    def verb_of_another_case(self, verb: Verb) -> Verb | None:
        """Return a verb that governs another case than ``verb``; None if there is no such case."""
        return None

    # Parts of a clause that are alike in many languages, if the clause has them.

    def particle(self, particle: Adverbial | None, text: Text) -> None:
        """Write a particle and a comma, if this language has it."""
        if particle is not None and self.expressions[particle.expression.name].texts:
            self.adverbial(particle, text)
            text.comma()

    def graded(self, clause: Clause, form: str, comparative: str | None) -> Piece:
        """Return an adjective with its degree; a ``comparative`` needs no *more*."""
        if clause.degree is None:
            return token(form, QUALITY, DEGREE)
        if clause.degree.name == "more" and comparative:
            return token(comparative, QUALITY, DEGREE)
        degree = self.expressions[clause.degree.name].texts[0]
        return piece([(degree, (DEGREE,)), (form, (QUALITY,))])

    def standard(self, clause: Clause, text: Text) -> None:
        """Write what the subject is compared with, after *than* or the second *as*."""
        if clause.standard is not None:
            assert clause.degree is not None
            before = "as:standard" if clause.degree.name == "as" else "than"
            self.noun_phrase(clause.standard, text, self.expressions[before])

    def complement(self, clause: Clause, text: Text) -> None:
        """Write *that* and the clause after it."""
        if clause.complement is not None:
            text.add(self.that, clause.unit)
            self.clause(clause.complement, text, SUBORDINATE)

    def time(self, time: Time | None, text: Text) -> None:
        """Write when something happens."""
        if type(time) is Dated:
            text.add(_expression(self.date(time)), time.unit)
        else:
            self.adverbial(time, text)

    def place(self, place: Place | None, text: Text) -> None:
        """Write an adverb of place, or a preposition with its noun phrase."""
        if type(place) is Prepositional:
            self.noun_phrase(place.phrase, text, self.expressions[place.preposition.name])
        else:
            self.adverbial(place, text)

    def adverbial(self, adverbial: Adverbial | None, text: Text) -> None:
        """Write an invariable expression."""
        if adverbial is not None:
            text.add(self.expressions[adverbial.expression.name], adverbial.unit)

    @abstractmethod
    def noun_phrase(self, phrase: NounPhrase, text: Text, before: Piece = EMPTY) -> None:
        """Write a noun phrase after a preposition, which may be empty."""

    @abstractmethod
    def date(self, date: Dated) -> str:
        """Return a date with its preposition, each of its parts one word."""


def subject_and_role(clause: Clause) -> tuple[Participant, int]:
    """Return the subject, with what a pronoun plays there, where verbs may be inverse.

    *Il me manque* and *er fehlt mir* have the English object as their subject.
    """
    if clause.verb.frame == "inverse":
        return clause.object or SOMEBODY, OBJECT
    return subject_of(clause), OBJECT if clause.mode.passive else SUBJECT


def _keeps_subject(clause: Clause, before: Clause | None) -> bool:
    """Return whether the subject of a clause is a pronoun for the subject of the clause before."""
    if before is None or "inverse" in (clause.verb.frame, before.verb.frame):
        return False
    subject, topic = subject_of(clause), subject_of(before)
    if type(topic) is Pronoun or type(subject) is not Pronoun:
        return subject == topic
    return subject.person == topic.person and subject.noun is topic.core.noun


def is_subject_gap(clause: Clause) -> bool:
    """Return whether the antecedent of a relative clause is what its finite verb agrees with."""
    return clause.gap == ("object" if clause.mode.passive else "subject")


def is_human(phrase: NounPhrase) -> bool:
    """Return whether a noun phrase stands for persons: things and animals have no gender."""
    return phrase.core.noun.gender != ""


def is_whose(participant: Participant | None) -> TypeGuard[NounPhrase]:
    """Return whether a phrase is what *whose* owns: it begins the relative clause."""
    return type(participant) is NounPhrase and participant.core.determiner == "whose"


def is_thing(noun: Noun | None) -> bool:
    """Return whether a noun is a thing, not a person or an animal."""
    return noun is not None and noun.kind not in (*ANIMATE, "name", "surname")


def is_topic(clause: Clause) -> bool:
    """Return whether the time of a main clause stands first: it sets the frame of the clause."""
    time = clause.time
    if time is None or clause.question or clause.gap:
        return False
    return clause.time_first or type(time) is Dated or "topic" in time.expression.kinds


Section = dict[str, list[str]]  # cells after the name of each concept


@cache
def read_sections(package: str, name: str = "words.txt") -> dict[str, Section]:
    """Read all sections of a file in ``package``."""
    sections: dict[str, Section] = {}
    for line in files(package).joinpath(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            concept, *cells = (cell.strip() for cell in line.split("|"))
            section[concept] = cells
    return sections


def read_expressions(sections: dict[str, Section]) -> dict[str, Piece]:
    """Return the pieces of the sections ``prepositions`` and ``expressions``.

    ``/`` and the numbers of roles may follow a word (``la/1? semaine/1 dernière/0``, with ``?``
    after a role with possible links). Without numbers, all words of a preposition play the same
    role, and a word of another expression the role of its position.
    """
    pieces = {
        name: piece(_word(word, 0) for word in cells[0].split())
        for name, cells in sections["prepositions"].items()
    }
    spread = {name: _expression(cells[0]) for name, cells in sections["expressions"].items()}
    return pieces | spread


def _expression(text: str) -> Piece:
    return piece(_word(word, position) for position, word in enumerate(text.split()))


def _word(marked: str, position: int) -> Word:
    text, _, numbers = marked.partition("/")
    if not numbers:
        return text, (2 * position,)
    return text, tuple(
        2 * int(number.rstrip("?")) + POSSIBLE * number.endswith("?")
        for number in numbers.split(",")
    )
