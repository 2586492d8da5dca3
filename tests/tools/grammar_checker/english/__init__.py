"""Reads an English sentence."""

from tests.tools.grammar_checker.english.forms import DETERMINERS, FRAMES, WORDS, EnglishVerbs
from tests.tools.grammar_checker.reader import Clause, Phrase, mention_of
from tests.tools.grammar_checker.translation import Roles
from tests.tools.grammar_checker.words import french

GENDERS = {"he": "m", "him": "m", "she": "f", "her": "f", "it": "n"}
SUBJECTS: dict[str, tuple[int, bool]] = {
    "I": (1, False), "i": (1, False), "we": (1, True), "he": (3, False), "she": (3, False),
    "it": (3, False), "they": (3, True),
}  # fmt: skip
OBJECTS: dict[str, tuple[int, bool]] = {
    "me": (1, False), "us": (1, True), "him": (3, False), "her": (3, False), "it": (3, False),
    "them": (3, True),
}  # fmt: skip
MONTHS = frozenset(
    ("January", "February", "March", "April", "May", "June", "July", "August", "September",
     "October", "November", "December")
)  # fmt: skip
PLACES = frozenset(
    " ".join(words)
    for each in EnglishVerbs.expressions.values()
    for words, use in each
    if use == "place preposition"
)


def split(sentence: str) -> list[str]:
    """Return the words of an English sentence, with commas and *'s* apart."""
    return sentence.replace(",", " ,").replace("'s ", " 's ").split()


class EnglishReader(EnglishVerbs):
    def expression(self) -> bool:
        if self.words[self.at] == "on" and self.words[self.at + 2] in MONTHS:
            self.seen["name"][self.words[self.at + 1]] += 1
            self.seen["name"][self.words[self.at + 3]] += 1
            self.at += 4
            self.seen["adverb"]["time"] += 1
            return True
        if self.words[self.at : self.at + 2] == ["this", "spring"] and self.choose(self.at):
            return False  # a coil, or a source
        return super().expression()

    def degree_fits(self) -> bool:
        return False

    def related(self) -> bool:
        word, clause = self.words[self.at], self.clause
        if word not in ("who", "that"):
            return False
        if word == "that" and clause.verb and clause.head is None and "r" in FRAMES[clause.verb]:
            clause.complement = True
            self.at += 1
            self.push(Clause("complement"))
            return True
        subject = word == "who" or self._begins_at(self.at + 1, True)
        head = clause.head
        known = head is not None and subject and head.human in ("h", "-")
        if head is not None and known and (head.human == "h") != (word == "who"):
            self.report(f"'{word}' after '{head.text}'")
        self.relative(subject)
        return True

    def phrase(self) -> None:
        if self._quality():
            return
        clause = self.clause
        preposition, place = self._preposition()
        ends = bool(self.expression_at(place, "time")) or not self._starts(place)
        if clause.gap and ends and preposition and preposition in FRAMES[clause.verb]:
            clause.prepositions.add(preposition)  # *the bus that I wait for*
            clause.governed, clause.gap = clause.gap, None
            self.at = place
            return
        phrase = self._pronoun(place, bool(preposition)) or self.noun_phrase(place)
        if phrase is None:
            return
        if preposition and clause.verb and preposition in PLACES:
            clause.place = True
        self.subject_or_attribute(phrase, preposition)
        self._check_some(clause, phrase)
        if clause.verb and clause.direct is phrase:
            if clause.adverb:
                self.report(f"an adverb before the object '{phrase.text}'")
            if phrase.pronoun:
                if clause.particle and self._is_separable(clause):
                    self.report(f"'{phrase.text}' stands before '{clause.particle}'")
                self.particle(clause)

    def _starts(self, place: int) -> bool:
        word = self.words[place]
        return word in DETERMINERS or word in OBJECTS or word.isdigit() or word[0].isupper()

    def _is_separable(self, clause: Clause) -> bool:
        return clause.particle + "+d" in FRAMES[clause.verb]

    def _check_some(self, clause: Clause, phrase: Phrase) -> None:
        direct = clause.direct is phrase
        if (
            phrase.determiner == "some"
            and direct
            and clause.negated
            and _is_always_direct(clause.verb)
        ):
            self.report(f"'some {phrase.text}' after a negation")
        if phrase.determiner == "any" and not (clause.verb and clause.negated):
            self.report(f"'any {phrase.text}' without a negation")

    def _preposition(self) -> tuple[str, int]:
        place = self.at
        for use in ("place preposition", "preposition"):
            length = self.expression_at(place, use)
            if length:
                return " ".join(self.words[place : place + length]), place + length
        return "", place

    def _pronoun(self, place: int, governed: bool) -> Phrase | None:
        word, clause = self.words[place], self.clause
        is_object = governed or bool(clause.verb)
        table = OBJECTS if is_object else SUBJECTS
        if word not in table or (not is_object and clause.subject is not None):
            return None
        after = self.words[place + 1]
        if word == "her" and (after in WORDS.nouns or after in WORDS.adjectives):
            rather = after in WORDS.finite and after not in WORDS.bases and self.is_awaited()
            if rather == self.choose(place):
                return None
        person, plural = table[word]
        self.at = place + 1
        self.seen["person"][str(2 if word in ("we", "us") else person)] += 1
        return Phrase(word, person, GENDERS.get(word, "mfn"), plural, pronoun=True)

    def _quality(self) -> bool:
        clause = self.clause
        if clause.verb != "be" or clause.quality:
            return False
        place = self.at + self.expression_at(self.at, "degree")
        if self.words[place] not in WORDS.adjectives:
            return False
        self.take("degree")
        self.seen["adjective"][self.words[place]] += 1
        clause.quality = True
        self.at = place + 1
        return True

    def governs(self, verb: str, preposition: str) -> bool:
        return any(frame.rpartition("+")[2] == preposition for frame in FRAMES[verb])

    def roles(self, clause: Clause) -> Roles:
        subject, thing = clause.subject, clause.direct or clause.governed
        return Roles(mention_of(subject), mention_of(thing))

    def close(self, clause: Clause) -> None:
        direct = clause.direct is not None or clause.gap is not None
        if clause.direct is not None and clause.gap is not None:
            self.report(f"'{clause.verb}' has two objects")
        frames = [
            frame.rpartition("+")[2]
            for frame in FRAMES[clause.verb]
            if frame.partition("+")[0] * ("+" in frame) == clause.particle
        ]
        if not any(self._fits(clause, frame, direct) for frame in frames):
            self.report(f"'{clause.verb}' has a wrong or missing complement")

    def _fits(self, clause: Clause, frame: str, direct: bool) -> bool:
        others = clause.prepositions - PLACES
        match frame:
            case "r":
                return clause.complement and not direct
            case "be":
                return (clause.quality or clause.place) and not direct and not others
            case "i":
                return not (direct or others or clause.complement)
            case "d":
                return direct and not others
            case "dto":
                return direct and others == {"to"}
            case "vto":
                return False
        return not direct and frame in clause.prepositions and others <= {frame}


def _is_always_direct(verb: str) -> bool:
    """Return whether all senses of a verb have a direct object in French too."""
    frames = [french().frames[each] for each in WORDS.verbs_in_french.get(verb, ())]
    return bool(frames) and all(each & {"d", "dà"} and "à" not in each for each in frames)
