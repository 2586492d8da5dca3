"""Fills a clause up to its length: adjectives, attributes, places, times, manners."""

from datamodules.grammar.drawing import open_words
from datamodules.grammar.drawing.noun_phrases import NounPhrases, can_be_extended, kind_of
from datamodules.grammar.meaning.phrases import Adverbial, Clause, NounPhrase

ADJECTIVE_SHARE = 0.6  # probability of an adjective, and of one more, where there is room
_LASTING = ("size", "age", "shape", "colour", "origin", "material")
"""Categories of qualities that do not come and go; nor do qualities without degrees (*blind*)."""
_NOWHERE = ("body", "idea")  # no place of their own (not *the idea behind the museum*)
_TOPIC_WORDS = 3  # most words of a time in a clause without room for it
_ATTRIBUTE_WORDS = 3  # fewest words of a preposition with its noun phrase
FILLERS = {
    "intransitive": ("time", "place", "manner"),
    "transitive": ("time", "place", "manner", "attribute"),
    "prepositional": ("time", "manner", "attribute"),
    "motion": ("time", "manner"),
    "ditransitive": ("time", "manner"),
    "quality": ("degree", "time"),
    "location": ("time",),
    "inverse": (),
    "reporting": (),
}


def takes_time(clause: Clause) -> bool:
    """Return whether a clause has room for a time: no habit, and no lasting quality."""
    quality = clause.adjective
    lasts = quality is not None and (quality.category in _LASTING or not quality.graded)
    return not (lasts or clause.mode.adverb is not None or clause.mode.negation == "never")


class Circumstances(NounPhrases):
    """Writer of all that a clause may have but does not need."""

    tense: str
    habit: bool

    def _fill(self, clause: Clause, frame: str, spare: int, timed: bool) -> int:
        """Add about ``spare`` words; return how many are left, below 0 if too many were added.

        Only a ``timed`` clause may have a time: two times side by side clash.
        """
        mode = clause.mode
        spare -= bool(mode.negation or mode.adverb) + 2 * (mode.modal is not None)
        reordering = self.knobs.reordering if timed else 0
        if "time" in FILLERS[frame] and reordering and self.random() < reordering:
            spare -= self._add_time(clause, max(spare, _TOPIC_WORDS), topic=True)
        spare -= self._add_adjectives(clause, spare)
        fillers = [filler for filler in FILLERS[frame] if timed or filler != "time"]
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
            case "time" if clause.time is None:
                return self._add_time(clause, spare, topic=False)
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

    def _add_time(self, clause: Clause, spare: int, topic: bool) -> int:
        if not takes_time(clause):
            return 0
        single = self.tense == "past" and not self.habit
        if topic and single and self.random() < self.knobs.open_words:
            clause.time = open_words.date(self.random, self.unit())
            return 4
        section = "time_habit" if self.habit else f"time_{self.tense}"
        negated = bool(clause.mode.negation)
        table = self.vocabulary.adverbs(section, spare, topic, negated=negated)
        if table is None:
            return 0
        clause.mode = clause.mode._replace(habit=self.habit)
        expression = table.draw(self.random)
        clause.time = Adverbial(self.unit(), expression)
        return expression.words

    def _add_manner(self, clause: Clause) -> int:
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


def _has_place(phrase: NounPhrase) -> bool:
    return can_be_extended(phrase) and phrase.core.noun.kind not in _NOWHERE
