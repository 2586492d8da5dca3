"""Draws noun phrases."""

from datamodules.grammar.drawing import open_words
from datamodules.grammar.drawing.draws import Pool
from datamodules.grammar.drawing.vocabulary import NO_OWN, OWNABLE, NounForm
from datamodules.grammar.drawing.writer import NothingLeftError, Writer
from datamodules.grammar.meaning.phrases import (
    CATEGORIES,
    FIRST_PLURAL,
    FIRST_SINGULAR,
    HUMAN,
    THIRD_PLURAL,
    Adjective,
    Core,
    Expression,
    Noun,
    NounPhrase,
    Participant,
    Prepositional,
    Verb,
    person_or_gender,
)

NAME_SHARE = 0.12  # share of names among noun phrases for which a person fits
OWNER_SHARE = 0.25  # share of noun phrases with an owner, where an owner fits
CLAUSES_TO_A_PHRASE = 4  # how many times likelier *and* joins verbs than noun phrases
MOST_TRIES = 4  # draws for a noun that a sentence does not have yet
PREDICATE_TRIES = 12  # draws for a verb or quality that a sentence does not have yet
_OF_PERSON: dict[int | str, str] = {
    FIRST_SINGULAR: "my", FIRST_PLURAL: "our", THIRD_PLURAL: "their",
    "m": "his", "f": "her", "": "its",
}  # fmt: skip
"""Possessives by person; those of a third person singular by gender."""
POSSESSIVES = tuple(_OF_PERSON.values())
_JUDGING = ("opinion", "quality")  # categories with opposites of each other: *beautiful*, *ugly*
_OF_BOTH = ("the", "a", "some", "this")  # determiners that two nouns beside each other share
_ALONE = ("every", "title", "whose")  # determiners of phrases without *and*
IN_TOWN = Expression("in:town", ("town",))


class NounPhrases(Writer):
    """Writer of noun phrases."""

    def noun_phrase(
        self,
        kinds: tuple[str, ...],
        role: str,
        possessor: Participant | None = None,
        extended: bool = False,
        verb: Verb | None = None,
        number: bool | None = None,
    ) -> NounPhrase:
        """Draw a noun phrase of some classes without adjectives: about two words.

        The ``role`` decides which determiners fit. ``possessor`` is the subject of the clause, for
        *his* and *its*. Before an attribute or a relative clause (``extended``) no name fits.
        A ``verb`` may tell which of its two senses a noun has. A ``number`` may be given (plural or
        not).
        """
        random = self.random
        free = not extended and role != "denied object"
        if free and number is None:
            if self._opens():
                opened = self._open(kinds)
                if opened is not None:
                    return opened
            if "person" in kinds and random() < NAME_SHARE:
                return self._named(self._name())
        form = None
        if verb is not None and number is None and random() < self.knobs.ambiguity:
            table = self.vocabulary.senses[verb, role.endswith("subject")]
            form = None if table is None else table.draw(random)
        if form is None:
            barred = () if verb is None or role.endswith("subject") else verb.barred
            form = self._noun(kinds, number, barred)
        phrase = NounPhrase(self.unit(), self.core(form, role, possessor))
        if free and form[0].kind in OWNABLE and random() < OWNER_SHARE:
            self._give_owner(phrase)
        return phrase

    def owned_phrase(self, kinds: tuple[str, ...]) -> NounPhrase:
        """Draw a noun phrase with *whose*."""
        noun, plural = self._noun(kinds, None)
        return NounPhrase(self.unit(), Core(noun, plural, "whose"))

    def coordinate(self, phrase: NounPhrase) -> int:
        """Give a phrase that may be one of two a second one, or none; return how many words."""
        share = self.knobs.coordination / CLAUSES_TO_A_PHRASE
        if not share or not may_be_two(phrase) or self.random() >= share:
            return 0
        first, noun = phrase.core, phrase.core.noun
        if noun.kind == "name":
            phrase.beside = self._named(self._name())
        else:
            kinds = HUMAN if noun.kind in HUMAN else (noun.kind,)
            core = self.core(self._noun(kinds, first.plural), "part", None)
            if first.determiner in _OF_BOTH and core.noun.counted == noun.counted:
                core = core._replace(determiner=first.determiner, possessor=None)
            phrase.beside = NounPhrase(self.unit(), core)
        if phrase.beside.core.noun is noun:
            phrase.beside = None
        return 0 if phrase.beside is None else 3

    def _noun(
        self, kinds: tuple[str, ...], plural: bool | None, barred: tuple[str, ...] = ()
    ) -> NounForm:
        table = self.vocabulary.nouns[kinds, plural, barred]
        assert table is not None
        return self._unsaid(table)

    def _unsaid(self, table: Pool[NounForm]) -> NounForm:
        """Draw a noun that the sentence does not have yet, if chance finds one."""
        random, said = self.random, self.said
        for _ in range(MOST_TRIES):
            drawn = table.draw(random)
            if drawn[0] not in said:
                break
        said.add(drawn[0])
        return drawn

    def _name(self) -> Noun:
        return self._unsaid(self.vocabulary.names)[0]

    def _verb(self, table: Pool[Verb]) -> Verb:
        """Draw a verb of whose word the sentence has none yet."""
        said = self.said
        for _ in range(PREDICATE_TRIES):
            verb = table.draw(self.random)
            stem = verb.name.partition(":")[0]
            if stem not in said:
                said.update((stem, verb.name))
                return verb
        raise NothingLeftError

    def describe(self, *adjectives: Adjective) -> None:
        """Take note of adjectives, so that no other says the same or the opposite."""
        for adjective in adjectives:
            self.said.update(_JUDGING if adjective.category in _JUDGING else (adjective.category,))

    def core(self, form: NounForm, role: str, possessor: Participant | None) -> Core:
        """Return a noun with a determiner that fits its role."""
        noun, plural = form
        count = "plural" if plural else "singular" if noun.counted else "mass"
        plain = noun.plain or noun.kind in NO_OWN
        determiner = self.vocabulary.determiners[count, plain, role].draw(self.random)
        thing = None
        if determiner == "own" and possessor is not None:
            determiner = _OF_PERSON[person_or_gender(possessor)]
            plural = plural or (determiner == "their" and noun.kind == "clothes")
            if determiner in ("its", "his", "her"):
                thing = noun_of(possessor)
        elif determiner in ("my", "our", "own"):
            if "mine" in self.said or determiner == "own":
                determiner = "the"
            self.said.add("mine")
        return Core(noun, plural, determiner, (), role == "denied object", self._synonym(), thing)

    def _synonym(self) -> bool:
        return self.knobs.paraphrase > 0 and self.random() < self.knobs.paraphrase

    def _named(self, noun: Noun, determiner: str = "") -> NounPhrase:
        return NounPhrase(self.unit(), Core(noun, False, determiner))

    def _opens(self) -> bool:
        return self.knobs.open_words > 0 and self.random() < self.knobs.open_words

    def _open(self, kinds: tuple[str, ...]) -> NounPhrase | None:
        if "person" in kinds and self.random() < 0.5:
            return self._named(open_words.surname(self.random), "title")
        table = self.vocabulary.nouns[kinds, True, ()]
        if table is None:
            return None
        noun, plural = table.draw(self.random)
        return NounPhrase(self.unit(), Core(noun, plural, open_words.number(self.random)))

    def _give_owner(self, phrase: NounPhrase) -> None:
        phrase.core = phrase.core._replace(determiner="")
        if self.random() < 0.4:
            phrase.owner = self._named(self._name())
        else:
            phrase.owner = self._named(self._noun(("person",), False)[0], "the")

    def add_adjective(self, phrase: NounPhrase) -> bool:
        """Add an adjective, at most two in all; return whether one fits.

        It is of another category than what is said of something after *be* in the sentence, and
        tells nothing that a verb of the sentence does (*breaks a broken cup*).
        """
        core = phrase.core
        noun, adjectives = core.noun, core.adjectives
        if noun.plain or not core.determiner or noun.kind in ("kin", "surname"):
            return False
        if ":" in noun.name or len(adjectives) > 1 or (adjectives and adjectives[0].alone):
            return False  # an adjective would tell the sense
        table = self.vocabulary.adjectives[noun.kind, adjectives[0] if adjectives else None]
        if table is None:
            return False
        drawn = table.draw(self.random)
        if drawn.category in self.said or not self.said.isdisjoint(drawn.results):
            return False
        if phrase.attribute is not None and noun.kind in HUMAN and drawn.category in _JUDGING:
            return False  # it would seem to go with the adjective: *gentil avec*, *fier de*
        rank = CATEGORIES.index  # the order of English adjectives
        both = tuple(sorted((*adjectives, drawn), key=lambda one: rank(one.category)))
        phrase.core = core._replace(adjectives=both)
        return True

    def place_phrase(self, located: str) -> Prepositional | None:
        """Draw where something of the class ``located`` happens: one place."""
        if self._opens():
            return Prepositional(IN_TOWN, self._named(open_words.town(self.random)))
        return self._prepositional("place_prepositions", located, "place", False)

    def attribute(self, phrase: NounPhrase, plural: bool) -> Prepositional | None:
        """Draw an attribute: where a thing is, where a person is from, what a person carries."""
        section = "plural_attributes" if plural else "attributes"
        kind, many = kind_of(phrase), phrase.core.plural
        return self._prepositional(section, kind, "attribute", plural, many)

    def _prepositional(
        self, section: str, kind: str, role: str, plural: bool, many: bool = False
    ) -> Prepositional | None:
        prepositions = self.vocabulary.prepositions[section, kind, plural]
        if prepositions is None:
            return None
        preposition = prepositions.draw(self.random)
        if preposition.name == "with" and many:
            return None  # one hat of several persons
        role = "carried" if preposition.name == "with" else role
        core = self.core(self._noun(preposition.kinds, plural), role, None)
        return Prepositional(preposition, NounPhrase(self.unit(), core))

    def set_number(self, phrase: NounPhrase, plural: bool) -> None:
        """Give a phrase another number, with a determiner that fits."""
        core = phrase.core
        if core.plural == plural or not core.noun.counted:
            return
        if phrase.owner is not None or core.determiner == "whose":
            phrase.core = core._replace(plural=plural)
        elif core.determiner:
            changed = self.core((core.noun, plural), "part", None)
            phrase.core = core._replace(
                plural=plural, determiner=changed.determiner, possessor=None
            )


def is_told_apart(phrase: NounPhrase) -> bool:
    """Return whether a relative clause may follow; a possessive gives way to *the*."""
    determiner = phrase.core.determiner
    return determiner not in ("", "title", "whose") and not determiner.isdigit()


def may_be_told_apart(phrase: NounPhrase) -> bool:
    """Return whether a relative clause may follow directly."""
    return is_told_apart(phrase) and phrase.attribute is phrase.relative is phrase.beside is None


def may_be_two(phrase: NounPhrase) -> bool:
    """Return whether *and* and a second noun phrase may follow."""
    core = phrase.core
    if core.determiner in _ALONE or ":" in core.noun.name:
        return False
    return phrase.owner is phrase.attribute is phrase.relative is None


def noun_of(participant: Participant | None) -> Noun | None:
    """Return the noun, or the noun that a pronoun stands for, if there is one."""
    if type(participant) is NounPhrase:
        return participant.core.noun
    return None if participant is None else participant.noun


def kind_of(participant: Participant | None) -> str:
    """Return the class of a participant; names, *I*, *we* and agents without a name are persons."""
    noun = participant.core.noun if type(participant) is NounPhrase else noun_of(participant)
    return "person" if noun is None or noun.kind in ("name", "surname") else noun.kind
