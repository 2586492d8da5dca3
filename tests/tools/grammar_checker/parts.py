"""What a reader knows of a sentence: noun phrases and clauses."""

from dataclasses import dataclass, field

from tests.tools.grammar_checker.translation import Mention


@dataclass(slots=True)
class Phrase:
    """A noun phrase or pronoun."""

    text: str
    person: int = 3
    genders: str = "mf"
    plural: bool | None = False  # None if the form does not tell the number
    human: str = ""
    noun: str = ""  # the noun in the singular, ``name`` or ``town``
    determiner: str = ""
    pronoun: bool = False
    reflexive: bool = False
    parts: "tuple[Phrase, ...]" = ()  # what *and* joins

    def persons(self) -> tuple[str, ...]:
        """Return the verb persons that agree with the phrase."""
        numbers = "sp" if self.plural is None else "p" if self.plural else "s"
        return tuple(f"{self.person}{number}" for number in numbers)


@dataclass(slots=True)
class Clause:
    """An open clause."""

    kind: str  # ``main``, ``relative``, ``complement``
    conjunction: str = ""
    subject: Phrase | None = None
    gap: Phrase | None = None  # the antecedent of an object relative, where the object is missing
    outer: "Clause | None" = None  # the clause that holds it
    antecedent: Phrase | None = None  # the noun before a relative clause
    use: str = ""  # what the antecedent is, other than subject or object: ``owner``, ``place``
    shared: bool = False  # whether the subject is that of the clause before
    asked: str = ""  # the auxiliary before the subject of a question
    mood: str = ""  # ``subjunctive`` where it is needed, ``either`` where it may stand
    verb: str = ""
    modal: str = ""
    near: Phrase | None = None
    """Last noun phrase since the verb or the beginning: what a relative clause belongs to."""
    negated: bool = False
    passive: bool = False
    direct: Phrase | None = None
    governed: Phrase | None = None  # the last noun phrase after a preposition that the verb governs
    agent: Phrase | None = None  # after *by*
    recipient: bool = False
    clitics: list[str] = field(default_factory=list)  # *y*, *en*
    tonic: bool = False  # whether a pronoun follows *à*
    unclear: list[Phrase] = field(default_factory=list)
    """Clitics that are direct objects or recipients (*me*, *nous*)."""
    prepositions: set[str] = field(default_factory=set)
    place: bool = False
    quality: str = ""
    complement: bool = False
    tense: str = ""
    adverb: bool = False  # whether an adverb or time has followed the verb
    manner: str = ""
    times: list[str] = field(default_factory=list)
    marks: set[str] = field(default_factory=set)  # of ``clash.py``
    first: bool = False  # whether a time stands before the subject
    places: list[str] = field(default_factory=list)
    """Nouns after prepositions of place, empty for adverbs."""
    goals: list[str] = field(default_factory=list)
    """The same after a preposition that the verb governs."""
    particle: str = ""
    participle: tuple[str, str, str, bool | None] | None = None
    """Auxiliary, form, gender and number."""
    object_before: Phrase | None = None
    """A direct object before the verb, other than the antecedent."""

    @property
    def waits(self) -> bool:
        """Whether the clause has its subject and lacks its verb."""
        return self.subject is not None and not self.verb

    @property
    def whole_verb(self) -> str:
        """The verb with its particle."""
        return f"{self.verb} {self.particle}".strip()


def mention_of(phrase: Phrase | None) -> Mention | None:
    """Return what a phrase tells about its noun; None for *I* and *we*."""
    if phrase is None or phrase.person != 3 or phrase.reflexive:
        return None
    ends = ("", "p") if phrase.plural is None else ("p",) if phrase.plural else ("",)
    genders = frozenset(gender + end for gender in phrase.genders for end in ends)
    return Mention(phrase.text, genders, phrase.pronoun, human=phrase.human)


def may_be_one(subject: Phrase | None, pronoun: Phrase | None) -> bool:
    """Return whether a pronoun, the subject of another clause, may stand for a subject."""
    if subject is None or pronoun is None or not pronoun.pronoun:
        return False
    alike = bool(set(subject.genders) & set(pronoun.genders))
    return alike and bool(set(subject.persons()) & set(pronoun.persons()))


def united(first: Phrase, second: Phrase) -> Phrase:
    """Return two phrases joined by *and*: feminine only if both are."""
    genders = {
        "f" if one == other == "f" else "m" for one in first.genders for other in second.genders
    }
    text = f"{first.text} and {second.text}"
    human = first.human if first.human == second.human else ""
    return Phrase(text, 3, "".join(sorted(genders)), True, human, parts=(first, second))
