"""Fills a clause up to its length: adjectives, attributes, places, times, manners, comparisons."""

from dataclasses import replace

from datamodules.grammar.drawing import open_words
from datamodules.grammar.drawing.noun_phrases import (
    POSSESSIVES,
    NounPhrases,
    is_told_apart,
    kind_of,
)
from datamodules.grammar.drawing.plans import ClausePlace
from datamodules.grammar.drawing.vocabulary import is_lasting
from datamodules.grammar.meaning.phrases import (
    ANIMATE,
    HUMAN,
    Adverbial,
    Clause,
    Dated,
    NounPhrase,
    Participant,
    Pronoun,
)

TIME_SHARE = 0.4  # probability of a time in a main clause that may have one
ADJECTIVE_SHARES = (0.5, 0.1)  # probabilities of an adjective, and of one more
_TOPIC_WORDS = 3  # most words of a time in a clause without room for it
_ATTRIBUTE_WORDS = 3  # fewest words of a preposition with its noun phrase
_TIMELESS = ("inverse", "reporting")  # frames without a time
_ASKED = {"who": "subject", "what": "object", "where": "place"}  # part asked for, by question
FILLERS = {
    "intransitive": ("place", "manner"), "transitive": ("place", "manner", "attribute"),
    "prepositional": ("manner", "attribute"), "motion": ("manner",), "ditransitive": ("manner",),
    "quality": ("degree",),
}  # fmt: skip
"""What a clause of a frame may have besides its time."""


def takes_time(clause: Clause) -> bool:
    """Return whether a clause has room for a time: no habit, and no lasting quality or state."""
    quality, mode, verb = clause.adjective, clause.mode, clause.verb
    if quality is not None and is_lasting(quality):
        return False
    repeated = mode.tense == "present" or mode.habit
    return not (
        (verb.state and verb.frame != "be")
        or (repeated and not verb.meant)
        or mode.adverb
        or mode.negation == "never"
        or mode.tense in ("perfect", "supposed", "unreal")
        or verb.frame in _TIMELESS
    )


def has_infinitive(clause: Clause) -> bool:
    """Return whether what stands last belongs to an infinitive: *wants to swim in the morning*."""
    return clause.mode.modal is not None and clause.mode.modal.frame == "infinitive"


def may_compare(clause: Clause) -> bool:
    """Return whether a clause says of somebody or something what may be more or less so."""
    quality = clause.adjective
    if quality is None or clause.mode.adverb is not None:
        return False
    return quality.graded and quality.attributive  # not *more ill*


class Circumstances(NounPhrases):
    """Writer of all that a clause may have but does not need."""

    def _surround(self, clause: Clause, frame: str, spare: int, place: ClausePlace) -> int:
        """Add what a clause may have besides its participants; return how many words are left."""
        if place.main and place.timed:
            spare -= self._add_time(clause, spare, place)
        if place.first and self.habit:
            self._mark_habit(clause)
        if place.main and place.kind != "reason":
            spare -= self._compare(clause)
        spare = self._fill(clause, "host" if place.host else frame, spare, place)
        if not (clause.mode.negation or clause.mode.passive or place.host):
            for phrase in (clause.object, clause.oblique, clause.recipient):
                if phrase.__class__ is NounPhrase:
                    spare -= self.coordinate(phrase)
        if place.first and place.fronts and self.shares["verbosity"].choose():
            particle = self.vocabulary.expressions["particles"].draw(self.random)
            clause.particle = Adverbial(self.unit(), particle)
        if place.asks:
            self._ask(clause)
        return spare

    def _mark_habit(self, clause: Clause) -> None:
        """Show that a past is one of habits: by its time, *never*, or *often* and the like."""
        mode = clause.mode
        if clause.time is None and mode.adverb is None and mode.negation != "never":
            if mode.negation:
                clause.mode = mode._replace(negation="never")
            else:
                often = self.vocabulary.expressions["frequency"]
                clause.mode = mode._replace(adverb=often.draw(self.random))

    def _ask(self, clause: Clause) -> None:
        """Make a question of a clause: of all of it, or of its subject, object or place."""
        options = ["whether"]
        subject, thing = clause.subject, clause.object
        if not (clause.mode.negation or clause.mode.passive):
            others = (thing, clause.oblique, clause.recipient)
            if (
                kind_of(subject) in HUMAN
                and is_simple(subject)
                and clause.verb.frame != "inverse"
                and not any(refers_back(other) for other in others)
            ):
                options.append("who")
            if clause.verb.passive and is_simple(thing) and kind_of(thing) not in ANIMATE:
                options.append("what")
            if clause.place is not None:
                options.append("where")
        clause.question = options[int(self.random() * len(options))]
        if clause.question in _ASKED:
            setattr(clause, _ASKED[clause.question], None)

    def _fill(self, clause: Clause, frame: str, spare: int, place: ClausePlace) -> int:
        """Add about ``spare`` words; return how many are left, below 0 if too many were added."""
        mode = clause.mode
        spare -= (mode.negation != "" or mode.adverb is not None) + 2 * (mode.modal is not None)
        spare -= self._add_adjectives(clause, spare)
        order = [*FILLERS.get(frame, ())]
        while spare > 0 and order:
            filler = order.pop(int(self.random() * len(order))) if len(order) > 1 else order.pop()
            spare -= self._add(filler, clause, spare, place)
        return spare

    def _add(self, filler: str, clause: Clause, spare: int, place: ClausePlace) -> int:
        """Add one circumstance of at most ``spare`` words; return its words, 0 if none fits."""
        if filler == "place":
            somewhere = clause.verb.placed and clause.gap != "place" and not clause.mode.negation
            fits = somewhere and clause.manner is None and not has_attribute(clause)
            return self.add_place(clause, spare, place) if fits else 0
        if filler == "attribute":
            phrase = clause.oblique or clause.object
            free = clause.place is None and not has_attribute(clause)
            fits = spare >= _ATTRIBUTE_WORDS and free and kind_of(phrase) not in HUMAN
            if fits and isinstance(phrase, NounPhrase):
                return self.give_attributes(phrase, False)
        elif clause.mode.adverb is None:  # *rarely really big* has two of a kind
            inside = self.in_subject or clause.gap not in ("", "shared")
            meant = clause.verb.meant and not (clause.mode.negation or inside)
            if filler == "manner" and meant:
                return self._add_manner(clause)
            quality = clause.adjective
            if quality is not None and quality.graded and clause.degree is None:
                clause.degree = self.vocabulary.expressions["degree"].draw(self.random)
                return 1
        return 0

    def add_place(self, clause: Clause, spare: int, place: ClausePlace) -> int:
        """Add where something happens: *there*, or a place; return how many words."""
        if place.there and self.random() < self.knobs.pronouns:
            there = self.vocabulary.expressions["places"].draw(self.random)
            clause.place = Adverbial(self.unit(), there)
            return 1
        if spare >= _ATTRIBUTE_WORDS:
            clause.place = self.place_phrase(_located(clause))
        return 0 if clause.place is None else _ATTRIBUTE_WORDS

    def _add_adjectives(self, clause: Clause, spare: int) -> int:
        """Give the nouns of a clause up to ``spare`` adjectives; return how many."""
        added, random = 0, self.random
        for phrase in (clause.subject, clause.object, clause.oblique, clause.recipient):
            if phrase.__class__ is NounPhrase:
                for share in ADJECTIVE_SHARES:
                    if added < spare and random() < share and self.add_adjective(phrase):
                        added += 1
        return added

    def _compare(self, clause: Clause) -> int:
        """Compare the subject with something of its class, or not; return the words."""
        if not may_compare(clause) or not self.shares["comparatives"].choose():
            return 0
        clause.standard = self.noun_phrase((_located(clause),), "standard", extended=True)
        clause.degree = self.vocabulary.expressions["comparisons"].draw(self.random)
        return 3

    def _add_time(self, clause: Clause, spare: int, place: ClausePlace) -> int:
        """Give a clause a time, or none; return its words, if they are taken from later clauses.

        The time stands at opposite ends, or first in every language, or last; in a host, whose end
        holds a clause, it stands first.
        """
        random, host = self.random, place.host
        # German puts a long subject before a pronoun, and then this time behind the verb.
        fronts = place.fronts and (place.last or clause.object.__class__ is not Pronoun)
        moves = fronts and place.last and not host
        topic = moves and self.shares["reordering"].draw()
        if not topic and random() >= TIME_SHARE:
            return 0
        first = not topic and fronts and self.shares["fronting"].draw()
        if has_infinitive(clause) or (host and not first) or not takes_time(clause):
            return 0
        front = topic or first
        if front and self.tense == "past" and not self.habit and random() < self.knobs.open_words:
            clause.time, clause.time_first = open_words.date(random, self.unit()), first
            if not (topic or host):
                self.shares["fronting"].count(first, 1)
            return 4
        section = "time_habit" if self.habit else "time_" + self.tense
        most = min(4, max(spare, _TOPIC_WORDS))
        where = "topic" if topic else "front" if first else "comment" if moves else "end"
        table = self.vocabulary.times[section, most, where, clause.mode.negation != ""]
        expression = None if table is None else table.draw(random)
        if expression is None or expression.name in self.said:
            return 0
        self.said.add(expression.name)
        if fronts and not (topic or host):
            self.shares["fronting"].count(first, 1)
        clause.time, clause.time_first = Adverbial(self.unit(), expression), first
        # With fewer words left, a clause with a time would more often be the last.
        return 0 if topic else expression.words

    def _add_manner(self, clause: Clause) -> int:
        """Add an adverb of manner, unless a place would seem to belong to the noun before it."""
        table = self.vocabulary.manners[_located(clause), clause.verb]
        if clause.place is not None or table is None:
            return 0
        clause.manner = Adverbial(self.unit(), table.draw(self.random))
        return 1

    def end_time(self, clause: Clause) -> None:
        """Let the time of a clause that is not the last one stand at one end in all languages."""
        time = clause.time
        strands = clause.object.__class__ is Pronoun  # in German, behind a long subject
        if isinstance(time, Dated):
            clause.time, clause.time_first = (None, False) if strands else (time, True)
        elif time is not None and "topic" in time.expression.kinds:
            first = clause.time_first or self.random() < self.knobs.fronting
            clause.time_first = first and not strands
            if not clause.time_first:
                clause.time = Adverbial(time.unit, replace(time.expression, kinds=()))

    def give_attributes(self, phrase: NounPhrase, plural: bool) -> int:
        """Give a phrase an attribute whose noun has a number, if any fits; return its words."""
        if phrase.core.determiner in POSSESSIVES or not is_told_apart(phrase):
            return 0
        phrase.attribute = self.attribute(phrase, plural)
        if phrase.attribute is None:
            return 0
        phrase.core = phrase.core._replace(adjectives=())  # one modifier of a noun is enough
        return phrase.attribute.preposition.words + 2


def is_negated(clause: Clause, phrase: NounPhrase) -> bool:
    """Return whether a negation denies that there is what an indefinite phrase stands for."""
    return clause.mode.negation != "" and phrase.core.determiner in ("a", "some")


def has_attribute(clause: Clause) -> bool:
    """Return whether a noun of a clause has a place, or what somebody carries, behind it."""
    return any(
        phrase.__class__ is NounPhrase and phrase.attribute is not None
        for phrase in (clause.subject, clause.object, clause.oblique)
    )


def _located(clause: Clause) -> str:
    """Return the class of who does something, and so is where it happens."""
    return kind_of(clause.subject or clause.antecedent)


def is_simple(participant: Participant | None) -> bool:
    """Return whether a participant is a pronoun, or a noun phrase without a clause or attribute."""
    if type(participant) is not NounPhrase:
        return participant is not None
    return participant.relative is participant.attribute is None


def refers_back(participant: Participant | None) -> bool:
    """Return whether a participant has *himself*, *his* or the like, for the subject."""
    if type(participant) is NounPhrase:
        return participant.core.determiner in ("his", "her", "its", "their")
    return participant is not None and participant.reflexive
