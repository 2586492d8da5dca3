"""Pool noun phrases."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from datamodules.grammar.drawing import open_words
from datamodules.grammar.drawing.draws import Pool, Random
from datamodules.grammar.drawing.vocabulary import (
    OWNABLE,
    NounForm,
    Vocabulary,
    category_rank,
    is_human,
)
from datamodules.grammar.meaning.phrases import (
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
    Pronoun,
)

if TYPE_CHECKING:  # pydantic takes a while
    from datamodules.grammar.knobs import Knobs

NAME_SHARE = 0.12  # share of names among noun phrases for which a person fits
OWNER_SHARE = 0.25  # share of noun phrases with an owner, where an owner fits
MOST_TRIES = 4  # draws for a noun that a sentence does not have yet
IN_TOWN = Expression("in:town", ("town",))


@dataclass
class NounPhrases:
    """Writer of noun phrases; ``random`` decides everything."""

    vocabulary: Vocabulary
    knobs: "Knobs"
    random: Random
    units: int = 0  # number of units of the unfinished sentence
    said: set[str] = field(default_factory=set)  # nouns and times of the sentence

    def unit(self) -> int:
        """Return the number of a new unit."""
        self.units += 1
        return self.units

    def noun_phrase(
        self,
        kinds: tuple[str, ...],
        possessor: Participant | None = None,
        denied: bool = False,
        extended: bool = False,
        ambiguous: bool = False,
    ) -> NounPhrase:
        """Draw a noun phrase of some classes without adjectives: about two words.

        ``possessor`` is the subject of the clause, for *his* and *its*; None for a subject. The
        direct object of a negated verb is ``denied``. Before an attribute or a relative clause
        (``extended``) no name fits. ``ambiguous`` allows a word with two senses.
        """
        if not extended and not denied:
            if self.knobs.open_words and self.random() < self.knobs.open_words:
                opened = self._open(kinds)
                if opened is not None:
                    return opened
            if any(kind in HUMAN for kind in kinds) and self.random() < NAME_SHARE:
                return self._named(self.vocabulary.names.draw(self.random))
        form = self._sense(kinds) if ambiguous else None
        if form is None:
            table = self.vocabulary.nouns(kinds)
            assert table is not None
            form = self._unsaid(table)
        phrase = NounPhrase(self.unit(), self._core(form, possessor, denied))
        if not (denied or extended) and form[0].kind in OWNABLE and self.random() < OWNER_SHARE:
            self._give_owner(phrase)
        return phrase

    def _unsaid(self, table: Pool[NounForm]) -> NounForm:
        """Draw a noun that the sentence does not have yet, if chance finds one."""
        form = table.draw(self.random)
        for _ in range(MOST_TRIES):
            if form[0].name not in self.said:
                break
            form = table.draw(self.random)
        self.said.add(form[0].name)
        return form

    def _sense(self, kinds: tuple[str, ...]) -> NounForm | None:
        if self.random() >= self.knobs.ambiguity:
            return None
        table = self.vocabulary.senses(kinds)
        return None if table is None else table.draw(self.random)

    def _core(self, form: NounForm, possessor: Participant | None, denied: bool) -> Core:
        noun, plural = form
        count = "plural" if plural else "singular" if noun.counted else "mass"
        table = self.vocabulary.determiners(
            count, noun.kind, noun.plain, possessor is not None, denied
        )
        determiner = table.draw(self.random)
        thing = None
        if determiner == "own":
            determiner = _possessive(possessor)
            if determiner == "its":
                thing = noun_of(possessor)
        return Core(noun, plural, determiner, (), denied, self._synonym(), thing)

    def _synonym(self) -> bool:
        return self.knobs.paraphrase > 0 and self.random() < self.knobs.paraphrase

    def _named(self, noun: Noun, determiner: str = "") -> NounPhrase:
        return NounPhrase(self.unit(), Core(noun, False, determiner))

    def _open(self, kinds: tuple[str, ...]) -> NounPhrase | None:
        if any(kind in HUMAN for kind in kinds) and self.random() < 0.5:
            return self._named(open_words.surname(self.random), "title")
        table = self.vocabulary.nouns(kinds, plural=True)
        if table is None:
            return None
        noun, plural = table.draw(self.random)
        return NounPhrase(self.unit(), Core(noun, plural, open_words.number(self.random)))

    def _give_owner(self, phrase: NounPhrase) -> None:
        table = self.vocabulary.nouns(("person",), plural=False)
        if table is None or self.random() < 0.4:
            owner = self._named(self.vocabulary.names.draw(self.random))
        else:
            owner = NounPhrase(self.unit(), Core(table.draw(self.random)[0], False, "the"))
        phrase.core = phrase.core._replace(determiner="")
        phrase.owner = owner

    def add_adjective(self, phrase: NounPhrase) -> bool:
        """Add an adjective of another category, at most two in all; return whether one fits."""
        core = phrase.core
        noun, adjectives = core.noun, core.adjectives
        if noun.plain or not core.determiner or noun.kind in ("kin", "surname"):
            return False
        if ":" in noun.name:  # an adjective would tell the sense
            return False
        if len(adjectives) > 1 or (adjectives and adjectives[0].alone):
            return False
        unlike = adjectives[0].category if adjectives else ""
        table = self.vocabulary.adjectives(noun.kind, unlike)
        if table is None:
            return False
        both: tuple[Adjective, ...] = (*adjectives, table.draw(self.random))
        phrase.core = core._replace(adjectives=tuple(sorted(both, key=category_rank)))
        return True

    def place_phrase(self, plural: bool | None = None) -> Prepositional | None:
        """Draw a preposition of place with a noun phrase, in one number or both."""
        if plural is None and self.random() < self.knobs.open_words:
            return Prepositional(IN_TOWN, self._named(open_words.town(self.random)))
        for _ in range(8):
            preposition = self.vocabulary.prepositions.draw(self.random)
            table = self.vocabulary.nouns(preposition.kinds, plural)
            if table is not None:
                core = self._core(self._unsaid(table), None, False)
                return Prepositional(preposition, NounPhrase(self.unit(), core))
        return None

    def set_number(self, phrase: NounPhrase, plural: bool) -> None:
        """Give a phrase another number, with a determiner that fits."""
        core = phrase.core
        if phrase.owner is not None:
            phrase.core = core._replace(plural=plural and core.noun.counted)
        if core.plural == plural or not core.noun.counted or not core.determiner:
            return
        form = core.noun, plural
        changed = self._core(form, None, core.denied)
        phrase.core = changed._replace(adjectives=core.adjectives, synonym=core.synonym)


def can_be_extended(phrase: Participant | None) -> bool:
    """Return whether an attribute or relative clause may follow."""
    return (
        isinstance(phrase, NounPhrase)
        and bool(phrase.core.determiner)
        and phrase.core.determiner != "title"
    )


def noun_of(participant: Participant | None) -> Noun | None:
    """Return the noun, or the noun that a pronoun stands for, if there is one."""
    if isinstance(participant, NounPhrase):
        return participant.core.noun
    return None if participant is None else participant.noun


def kind_of(participant: Participant) -> str:
    """Return the class of a participant; names and *I* or *we* are persons."""
    noun = noun_of(participant)
    if noun is None or noun.kind in ("name", "surname"):
        return "person"
    return noun.kind


def _possessive(possessor: Participant | None) -> str:
    assert possessor is not None
    match possessor.person:
        case person if person == FIRST_SINGULAR:
            return "my"
        case person if person == FIRST_PLURAL:
            return "our"
        case person if person == THIRD_PLURAL:
            return "their"
    noun = noun_of(possessor)
    if noun is None:
        gender = possessor.gender if isinstance(possessor, Pronoun) else ""
    elif is_human(noun):
        gender = noun.gender
    else:
        return "its"
    return "her" if gender == "f" else "his"
