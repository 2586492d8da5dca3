"""The parts of a German clause that has been read to its end, and what comes of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tests.tools.grammar_checker.german.phrases import GermanItems, Item, Reading, Tally
from tests.tools.grammar_checker.german.words import WORDS
from tests.tools.grammar_checker.translation import Mention, Roles
from tests.tools.grammar_checker.words import senses

HAVE = {"habe": ("1s",), "hat": ("3s",), "haben": ("1p", "3p")}
BE = {"bin": ("1s",), "ist": ("3s",), "sind": ("1p", "3p")}
WILL = {"werde": ("1s",), "wird": ("3s",), "werden": ("1p", "3p")}
ANY = ("1s", "3s", "1p", "3p")


class Group(NamedTuple):
    """The verbs of a clause."""

    verbs: tuple[str, ...]  # the highest verb, and a verb that depends on it
    tense: str
    persons: tuple[str, ...]
    auxiliary: str = ""  # the auxiliary of a participle

    @property
    def lowest(self) -> str:
        return self.verbs[-1]


def takes(verb: str, clause: str) -> bool:
    return any(frame.clause == clause for frame in WORDS.frames[verb])


class GermanVerbs(GermanItems):
    def finite_verbs(self, place: int) -> Iterator[tuple[str, str, Group]]:
        """Yield the readings of a finite verb in the second place.

        Each is what the end of the clause must have (``participle``, ``infinitive`` or nothing),
        the separable prefix there, and the group, which lacks what is not yet read.
        """
        word = self.words[place]
        for table, auxiliary in ((HAVE, "haben"), (BE, "sein")):
            if word in table:
                yield "participle", "", Group((), "past", table[word], auxiliary)
        if word in WILL:
            yield "infinitive", "", Group((), "future", WILL[word])
        for form in WORDS.finite.get(word, ()):
            group = Group((form.lemma,), form.tense, form.persons)
            if not takes(form.lemma, "bare") or len(WORDS.frames[form.lemma]) > 1:
                yield "", form.prefix, group
            if takes(form.lemma, "bare"):
                yield "bare", "", group

    def right_half(
        self, place: int, wanted: str, prefix: str, group: Group
    ) -> Iterator[tuple[int, Group]]:
        """Yield the readings of the right half of the bracket, with their ends."""
        if prefix:
            if self.words[place] == prefix:
                yield place + 1, group
            else:
                self.reject(place, f"the prefix '{prefix}' is missing")
        elif not wanted:
            yield place, group
        elif wanted == "participle":
            for verb in WORDS.participles.get(self.words[place], ()):
                yield place + 1, group._replace(verbs=(verb,))
        elif wanted == "bare":
            for verb in WORDS.infinitives.get(self.words[place], ()):
                yield place + 1, group._replace(verbs=(*group.verbs, verb))
        else:
            yield from self._infinitives(place, group)

    def _infinitives(self, place: int, group: Group) -> Iterator[tuple[int, Group]]:
        """Yield infinitives after *werden*: one, or one with a modal verb."""
        for verb in WORDS.infinitives.get(self.words[place], ()):
            yield place + 1, group._replace(verbs=(verb,))
            for modal in WORDS.infinitives.get(self.words[place + 1], ()):
                if takes(modal, "bare"):
                    yield place + 2, group._replace(verbs=(modal, verb))

    def last_verbs(self, place: int) -> Iterator[tuple[int, Group]]:
        for after, inner in self.infinitives_with_zu(place):
            for end, group in self._ending(after):
                if takes(group.verbs[0], "zu") and len(group.verbs) == 1:
                    yield end, group._replace(verbs=(*group.verbs, inner))
        yield from self._ending(place)

    def _ending(self, place: int) -> Iterator[tuple[int, Group]]:
        word, after = self.words[place], self.words[place + 1]
        for form in WORDS.joined.get(word, ()):
            yield place + 1, Group((form.lemma,), form.tense, form.persons)
        for verb in WORDS.participles.get(word, ()):
            for table, auxiliary in ((HAVE, "haben"), (BE, "sein")):
                if after in table:
                    yield place + 2, Group((verb,), "past", table[after], auxiliary)
        for verb in WORDS.infinitives.get(word, ()):
            for form in WORDS.joined.get(after, ()):
                if takes(form.lemma, "bare"):
                    yield place + 2, Group((form.lemma, verb), form.tense, form.persons)
            if after in WILL:
                yield place + 2, Group((verb,), "future", WILL[after])
            if self.words[place + 2] in WILL:
                persons = WILL[self.words[place + 2]]
                for modal in WORDS.infinitives.get(after, ()):
                    if takes(modal, "bare"):
                        yield place + 3, Group((modal, verb), "future", persons)

    def infinitives_with_zu(self, place: int) -> Iterator[tuple[int, str]]:
        for verb in WORDS.with_zu.get(self.words[place], ()):
            yield place + 1, verb
        if self.words[place] == "zu":
            for verb in WORDS.infinitives.get(self.words[place + 1], ()):
                if "|" not in verb:
                    yield place + 2, verb


class Parts(NamedTuple):
    """A clause that has been read to its end."""

    items: tuple[Item, ...]
    group: Group
    gap: Item | None = None  # the relative pronoun
    controlled: bool = False  # whether the clause is an infinitive, without a subject
    front: int = 0  # number of items before the finite verb of a main clause
    infinitive: "Result | None" = None
    that: "Result | None" = None


class Result(NamedTuple):
    """A clause in which all is right."""

    gender: str  # what the antecedent must be; empty for other clauses
    persons: tuple[str, ...]  # what the subject of an infinitive may be
    tally: Tally
    roles: Roles
    verb: str  # the verb that has the objects
    use: str  # what the antecedent is in the clause: ``subject`` or ``object``


def main_verb(parts: Parts) -> str:
    """Return the verb that has the objects, which may stand in an infinitive clause."""
    return parts.group.lowest if parts.infinitive is None else parts.infinitive.verb


INVERSE = frozenset(("fehlen", "gefallen", "missfallen"))
"""Verbs whose dative is the subject in English (*das Haus gefällt mir*: I like it)."""


def roles_of(
    parts: Parts, subject: Reading, objects: Sequence[Reading], governed: Iterable[Reading]
) -> Roles:
    """Return the roles in one reading of a clause.

    Args:
        parts: the clause.
        subject: reading of the subject.
        objects: readings of the objects without a preposition.
        governed: readings of the object with a preposition.
    """
    by_case = {reading.case: [reading] for reading in objects}
    dative = _mention(by_case.get("d", ()))
    if parts.infinitive is not None:
        return Roles(_mention([subject]), parts.infinitive.roles.object)
    if parts.group.lowest in INVERSE:
        return Roles(dative, _mention([subject]))
    return Roles(
        _mention([subject]), _mention(by_case.get("a", ())) or dative or _mention(governed)
    )


def governed_nouns(parts: Parts, roles: Roles) -> Tally:
    """Return the nouns that are subject and object, with their verb."""
    verb = main_verb(parts)
    # The infinitive has the object among its own nouns.
    nouns = roles if parts.infinitive is None else roles[:1]
    return tuple(("governed", verb, each.noun) for each in nouns if each is not None and each.noun)


def _mention(readings: Iterable[Reading]) -> Mention | None:
    third = [reading for reading in readings if reading.person in ("3s", "3p")]
    if not third:
        return None
    genders = frozenset(gender for reading in third for gender in reading.gender)
    pronoun = third[0].tally[:1] == (("person", "3"),)
    noun = next((word for kind, word, *_ in third[0].tally if kind == "noun"), "")
    return Mention(noun or "the pronoun", genders, pronoun, noun)


SENSES = senses("german/senses.txt")
FOOD, BOX, EVENT = ("food", "drink"), ("container",), ("event",)
FITTING: dict[str, tuple[str, ...]] = {
    "essen": FOOD, "verschlingen": FOOD, "schlucken": FOOD, "trinken": FOOD, "ein|gießen": FOOD,
    "öffnen": BOX, "schließen": BOX, "füllen": BOX, "leeren": BOX, "ab|sagen": EVENT,
    "organisieren": EVENT, "verschieben": EVENT,
}  # fmt: skip
"""Verbs that decide between the senses of their object."""
FOR_THINGS = frozenset(
    ("kaufen", "verkaufen", "zerbrechen", "reparieren", "reinigen", "finden", "stehlen", "suchen",
     "behalten", "aus|leihen", "leihen", "weg|werfen", "verstecken", "auf|heben")
)  # fmt: skip
"""Verbs whose object is no event."""


def fits_sense(verb: str, reading: Reading) -> bool:
    noun = next((word for kind, word, *_ in reading.tally if kind == "noun"), "")
    kind = SENSES.get(noun, "")
    if reading.case != "a" or not kind:
        return True
    unfit = kind == "event" and verb in FOR_THINGS
    return not unfit and kind in FITTING.get(verb, (kind,))
