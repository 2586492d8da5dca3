"""Fills a clause up to its length: adjectives, attributes, places, times, manners."""

from datamodules.grammar.drawing import open_words
from datamodules.grammar.drawing.noun_phrases import NounPhrases, can_be_extended, kind_of
from datamodules.grammar.meaning.phrases import Adverbial, Clause, NounPhrase

TIME_SHARE = 0.4  # probability of a time in a main clause that may have one
ADJECTIVE_SHARE = 0.6  # probability of an adjective, and of one more, where there is room
_LASTING = ("size", "age", "shape", "colour", "origin", "material")
"""Categories of qualities that do not come and go; nor do qualities without degrees (*blind*)."""
_NOWHERE = ("body", "idea")  # no place of their own (not *the idea behind the museum*)
_TOPIC_WORDS = 3  # most words of a time in a clause without room for it
_ATTRIBUTE_WORDS = 3  # fewest words of a preposition with its noun phrase
_TIMELESS = ("inverse", "reporting")  # frames without a time
FILLERS = {
    "intransitive": ("place", "manner"),
    "transitive": ("place", "manner", "attribute"),
    "prepositional": ("manner", "attribute"),
    "motion": ("manner",),
    "ditransitive": ("manner",),
    "quality": ("degree",),
    "location": (),
    "inverse": (),
    "reporting": (),
}


def takes_time(clause: Clause) -> bool:
    """Return whether a clause has room for a time: no habit, and no lasting quality."""
    quality = clause.adjective
    if quality is not None and (quality.category in _LASTING or not quality.graded):
        return False
    mode = clause.mode
    return not (mode.adverb or mode.negation == "never" or clause.verb.frame in _TIMELESS)


class Circumstances(NounPhrases):
    """Writer of all that a clause may have but does not need."""

    tense: str
    habit: bool

    def _fill(self, clause: Clause, frame: str, spare: int, host: bool) -> int:
        """Add about ``spare`` words; return how many are left, below 0 if too many were added.

        The end of a ``host`` holds a clause: what would stand behind it would belong to it.
        """
        mode = clause.mode
        spare -= bool(mode.negation or mode.adverb) + 2 * (mode.modal is not None)
        spare -= self._add_adjectives(clause, spare)
        fillers = [] if host else [*FILLERS[frame]]
        while spare > 0 and fillers:
            filler = fillers.pop(int(self.random() * len(fillers)))
            spare -= self._add(filler, clause, spare)
        return spare

    def _begin(self, clause: Clause) -> None:
        if self.knobs.verbosity and self.random() < self.knobs.verbosity:
            table = self.vocabulary.adverbs("particles", 5)
            assert table is not None
            clause.particle = Adverbial(self.unit(), table.draw(self.random))

    def _add(self, filler: str, clause: Clause, spare: int) -> int:
        """Add one circumstance of at most ``spare`` words; return its words, 0 if none fits."""
        no_adverb = clause.mode.adverb is None  # *rarely really big* has two of a kind
        match filler:
            case "place" if clause.place is None and spare >= _ATTRIBUTE_WORDS:
                clause.place = self.place_phrase()
                return _ATTRIBUTE_WORDS if clause.place is not None else 0
            case "attribute" if spare >= _ATTRIBUTE_WORDS:
                phrase = clause.oblique or clause.object
                if isinstance(phrase, NounPhrase) and _has_place(phrase):
                    return self.give_attributes(phrase, _ATTRIBUTE_WORDS, None)
            case "manner" if clause.verb.meant and no_adverb:
                return self._add_manner(clause)
            case "degree" if clause.adjective and clause.adjective.graded and no_adverb:
                table = self.vocabulary.adverbs("degree", 1)
                assert table is not None
                clause.degree = table.draw(self.random)
                return 1
        return 0

    def _add_adjectives(self, clause: Clause, spare: int) -> int:
        """Give the nouns of a clause up to ``spare`` adjectives; return how many."""
        added = 0
        participants = (clause.subject, clause.object, clause.oblique, clause.recipient)
        for phrase in participants:
            if isinstance(phrase, NounPhrase):
                while (
                    added < spare and self.random() < ADJECTIVE_SHARE and self.add_adjective(phrase)
                ):
                    added += 1
        return added

    def _add_time(self, clause: Clause, spare: int, fronts: bool, host: bool) -> int:
        """Give a clause a time, or none; return its words.

        The time stands at opposite ends, or first in every language (both if the clause
        ``fronts``), or last; the last two not in a ``host``.
        """
        knobs, random = self.knobs, self.random
        topic = fronts and not host and knobs.reordering > 0 and random() < knobs.reordering
        if not topic and random() >= TIME_SHARE:
            return 0
        first = not topic and fronts and random() < knobs.fronting
        if (host and not first) or not takes_time(clause):
            return 0
        single = self.tense == "past" and not self.habit
        if (topic or first) and single and random() < knobs.open_words:
            clause.time, clause.time_first = open_words.date(random, self.unit()), first
            return 4
        section = "time_habit" if self.habit else f"time_{self.tense}"
        table = self.vocabulary.adverbs(
            section,
            max(spare, _TOPIC_WORDS),
            ends=not (topic or first),
            topic=topic,
            negated=bool(clause.mode.negation),
        )
        expression = None if table is None else table.draw(random)
        if expression is None or expression.name in self.said:
            return 0
        self.said.add(expression.name)
        clause.mode = clause.mode._replace(habit=self.habit, simple=self.habit)
        clause.time, clause.time_first = Adverbial(self.unit(), expression), first
        return expression.words

    def _add_manner(self, clause: Clause) -> int:
        """Add an adverb of manner; no French one fits between *pas* and *de*."""
        if isinstance(clause.object, NounPhrase) and is_negated(clause, clause.object):
            return 0
        subject = clause.antecedent if clause.gap == "subject" else clause.subject
        assert subject is not None
        table = self.vocabulary.adverbs("manner", 1, kind=kind_of(subject))
        if table is None:
            return 0
        clause.manner = Adverbial(self.unit(), table.draw(self.random))
        return 1

    def give_attributes(self, phrase: NounPhrase, words: int, plural: bool | None) -> int:
        """Give a phrase a chain of attributes of about ``words`` words; the last has a number.

        Returns the number of words.
        """
        wanted = words
        while words >= _ATTRIBUTE_WORDS and _has_place(phrase):
            attribute = self.place_phrase(plural)
            if attribute is None:
                break
            phrase.attribute = attribute
            phrase = attribute.phrase
            words -= attribute.preposition.words + 2
        while words > 0 and self.add_adjective(phrase):
            words -= 1
        return wanted - words


def is_negated(clause: Clause, phrase: NounPhrase) -> bool:
    """Return whether a negation denies that there is what an indefinite phrase stands for."""
    return bool(clause.mode.negation) and phrase.core.determiner in ("a", "some")


def _has_place(phrase: NounPhrase) -> bool:
    return can_be_extended(phrase) and phrase.core.noun.kind not in _NOWHERE
