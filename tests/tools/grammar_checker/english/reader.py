"""Reads an English sentence."""

from collections import Counter

from tests.tools.grammar_checker.english.verbs import (
    BE,
    COMPARING,
    FRAMES,
    HAVE,
    HELPERS,
    STATES,
    EnglishVerbs,
)
from tests.tools.grammar_checker.english.words import CLASSES, WORDS, needs_ending
from tests.tools.grammar_checker.parts import Clause, Phrase, may_be_one
from tests.tools.grammar_checker.words import written

GENDERS = {"he": "m", "him": "m", "she": "f", "her": "f", "it": "n"}
SUBJECTS: dict[str, tuple[int, bool]] = {
    "I": (1, False), "i": (1, False), "we": (1, True), "he": (3, False), "she": (3, False),
    "it": (3, False), "they": (3, True),
}  # fmt: skip
OBJECTS: dict[str, tuple[int, bool]] = {
    "me": (1, False), "us": (1, True), "him": (3, False), "her": (3, False), "it": (3, False),
    "them": (3, True),
}  # fmt: skip
REFLEXIVES: dict[str, tuple[int, str, bool]] = {
    "myself": (1, "mfn", False), "ourselves": (1, "mfn", True), "himself": (3, "m", False),
    "herself": (3, "f", False), "itself": (3, "n", False), "themselves": (3, "mfn", True),
}  # fmt: skip
DOUBLE = CLASSES["two objects"]
MONTHS = CLASSES["months"]
PLACES = written(EnglishVerbs.expressions, "place preposition")


def split(sentence: str) -> list[str]:
    """Return the words of an English sentence, with commas and *'s* apart."""
    return sentence.replace(",", " ,").replace("?", " ?").replace("'s ", " 's ").split()


FACING = ("near", "behind", "in front of", "opposite")
WAYS = ("street", "road", "pavement", "river", "path", "stream", "motorway")
HOPING = ("hope", "promise", "swear")


class EnglishReader(EnglishVerbs):
    conditional = frozenset(("if",))
    restricting = frozenset(("when", "while"))
    being, standards = "be", {"as": ("as",), "more": ("than",)}
    places, dating, months = PLACES, "on", MONTHS
    quantities = ("some", "many", "several", "two", "three", "four")
    owned = ("whose",)
    owners = ("my", "our", "his", "her", "its", "their", "'s")
    joining = frozenset(("and", "but"))

    def asks(self, clause: Clause) -> bool:
        word, after = self.words[self.at : self.at + 2]
        if word == "who":
            self.question = "who"
            clause.subject = Phrase("who", human="h", pronoun=True)
            self.at += 1
            return True
        begun = 1 if word in ("what", "where") else 0
        auxiliary = after if begun else word
        if auxiliary not in BE and auxiliary not in HELPERS and auxiliary not in HAVE:
            return False
        self.question = word if begun else "whether"
        if word == "what":
            clause.gap = Phrase("what", genders="n", human="-", pronoun=True)
        clause.place = word == "where"
        clause.asked = auxiliary
        self.at += begun + 1
        return True

    def complete_question(self, clause: Clause) -> None:
        if clause.asked in BE and clause.waits and clause.place | bool(clause.places):
            clause.verb, clause.place = "be", True
            clause.tense, persons = BE[clause.asked]
            assert clause.subject is not None
            if not set(persons) & set(clause.subject.persons()):
                self.report(f"'{clause.asked}' does not agree with '{clause.subject.text}'")
            self.seen["verb"]["be"] += 1

    def shares_at(self, place: int) -> bool:
        if self.words[place] in SUBJECTS or self.expression_at(place, "time"):
            return False
        return self.finite_begins(place, True)

    def expression(self) -> bool:
        if self.words[self.at : self.at + 2] == ["this", "spring"] and self.choose(self.at):
            return False  # a coil, or a source
        return super().expression()

    def related(self) -> bool:
        word, clause = self.words[self.at], self.clause
        if word == "whose":
            self._whose()
            return True
        if word == "where":
            if self.relative("place").antecedent and clause.near and clause.near.human == "h":
                self.report(f"'where' after '{clause.near.text}'")
            return True
        if word not in ("who", "that"):
            return False
        if word == "that" and clause.verb and clause.near is None and "r" in FRAMES[clause.verb]:
            clause.complement = True
            self.at += 1
            self.stack.append(Clause("complement"))
            return True
        subject = word == "who" or self.finite_begins(self.at + 1, True)
        head = clause.near
        known = head is not None and subject and head.human in ("h", "-")
        if head is not None and known and (head.human == "h") != (word == "who"):
            self.report(f"'{word}' after '{head.text}'")
        self.relative("subject" if subject else "object")
        return True

    def _whose(self) -> None:
        """Read *whose* and its noun: the subject of the clause, unless another one follows."""
        clause = self.relative("owner")
        owned = self._group(self.at, "whose")
        if owned is None:
            self.report("'whose' without a noun")
            return
        clause.subject = clause.near = owned

    def phrase(self) -> None:
        if self.quality():
            return
        clause, start, began = self.clause, self.at, self.after_phrase
        preposition, place = self._preposition()
        ends = bool(self.expression_at(place, "time")) or not self._starts(place)
        if clause.gap and ends and preposition and self.governs(clause, preposition):
            clause.prepositions.add(preposition)  # *the bus that I wait for*
            clause.governed, clause.gap = clause.gap, None
            self.at = place
            return
        other = self.noun_begins(place) or self.words[place] in SUBJECTS
        if clause.use == "owner" and clause.waits and not preposition and other:
            clause.gap, clause.subject = clause.subject, None
        phrase = self._pronoun(place, bool(preposition)) or self.full_phrase(place)
        if phrase is None:
            return
        if preposition == "by" and clause.passive and clause.agent is None:
            clause.agent = clause.near = phrase
            return
        behind = began == start
        own = preposition in ("with", "from") and behind and not self.governs(clause, preposition)
        if own and not phrase.pronoun:  # *the man with the hat*
            clause.near = phrase
            return
        if preposition in PLACES:
            if self.words[start - 1] == "immediately":
                self.report(f"'immediately {preposition}' tells how near, not when")
            if preposition in FACING and phrase.noun in WAYS:
                self.report(f"'{preposition} {phrase.text}' has no front")
            self.note_place(phrase, preposition)
        elif not preposition and not phrase.pronoun:
            self._receive(clause)
        self.subject_or_attribute(phrase, preposition)
        self._check_some(clause, phrase)
        if clause.verb and clause.direct is phrase:
            if clause.adverb:
                self.report(f"an adverb before the object '{phrase.text}'")
            if phrase.pronoun:
                if clause.particle and self._is_separable(clause):
                    self.report(f"'{phrase.text}' stands before '{clause.particle}'")
                self.particle(clause)

    def _receive(self, clause: Clause) -> None:
        """Take a pronoun between verb and object as the recipient (*gives me the book*)."""
        if clause.verb in DOUBLE and clause.direct is not None and clause.direct.pronoun:
            clause.prepositions.add("to")
            clause.direct, clause.governed = None, clause.direct

    def _starts(self, place: int) -> bool:
        word = self.words[place]
        return self.noun_begins(place) or word in OBJECTS or word in REFLEXIVES or word == "I"

    def _is_separable(self, clause: Clause) -> bool:
        return clause.particle + "+d" in FRAMES[clause.verb]

    def _check_some(self, clause: Clause, phrase: Phrase) -> None:
        told = clause.direct is phrase or clause.verb == "be"
        if phrase.determiner == "some" and told and clause.negated:
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
        if word in REFLEXIVES:
            return self._reflexive(place)
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
        self.count_person(person, plural)
        subject = clause.subject
        if (
            is_object
            and person == 1
            and subject
            and (subject.person, subject.plural) == (1, plural)
        ):
            self.report(f"'{word}' for the subject needs -self")
        return Phrase(word, person, GENDERS.get(word, "mfn"), plural, pronoun=True)

    def _reflexive(self, place: int) -> Phrase:
        word, subject = self.words[place], self.clause.subject
        person, genders, plural = REFLEXIVES[word]
        self.at = place + 1
        self.seen["person"]["self"] += 1
        alike = subject is not None and (subject.person, subject.plural) == (person, plural)
        if subject is None or not alike or not set(genders) & set(_genders(subject)):
            self.report(f"'{word}' does not agree with '{subject.text if subject else ''}'")
        return Phrase(word, person, genders, plural, pronoun=True, reflexive=True)

    def compared_at(self, place: int) -> tuple[str, str, int]:
        word, after = self.words[place : place + 2]
        if word in COMPARING and after in WORDS.adjectives:
            if word in ("more", "less") and needs_ending(after):
                self.report(f"'{word} {after}' with a short adjective")
            return word, after, 2
        return "more", WORDS.comparatives.get(word, ""), 1

    def quality_at(self, place: int) -> str:
        return self.words[place] if self.words[place] in WORDS.adjectives else ""

    def squints(self) -> bool:
        word, adverbs = self.words[self.at], ("manner", "frequency")
        if word == "never" or any(self.expression_at(self.at, use) for use in adverbs):
            return True
        full = word not in BE and word not in HELPERS and word not in HAVE
        return full and any(self.expression_before(self.at, use) for use in adverbs)

    def is_person(self, phrase: Phrase) -> bool:
        return phrase.human == "h" or phrase.noun == "name"

    def governs(self, clause: Clause, preposition: str) -> bool:
        frame = f"{clause.particle}+{preposition}" if clause.particle else preposition
        return frame in FRAMES[clause.verb]

    def check_sentence(self) -> None:
        super().check_sentence()
        for clause in self.closed:
            outer = clause.outer if clause.kind == "complement" else None
            if outer and outer.verb in HOPING and may_be_one(outer.subject, clause.subject):
                self.report(f"'{outer.verb} that' with the same subject")
        told = Counter(
            (clause.quality or clause.verb, clause.particle, clause.negated, *clause.prepositions)
            for clause in self.closed
            if clause.quality or clause.verb not in ("?", "be")
        )
        for (what, *_), count in told.items():
            if count > 1:
                self.report(f"'{what}' is said twice")

    def close(self, clause: Clause) -> None:
        if clause.tense == "perfect" and clause.conjunction == "before":
            self.report(f"'{clause.verb}' in the perfect behind before")
        states = clause.verb == "be" or clause.verb in STATES
        if clause.tense == "perfect" and states and not clause.marks & {"never", "frequency"}:
            self.report(f"'{clause.verb}' in the perfect tells of a state")
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
        if clause.passive:
            return not direct and not clause.complement and frame in PASSIVE_FRAMES and not others
        match frame:
            case "r":
                return clause.complement and not direct
            case "be":
                return bool(clause.quality or clause.place) and not direct and not others
            case "i":
                return not (direct or others or clause.complement)
            case "d":
                return direct and not others
            case "dto":
                return direct and others == {"to"}
            case "vto":
                return False
        return not direct and frame in clause.prepositions and others <= {frame}


PASSIVE_FRAMES = ("d", "dto")


def _genders(phrase: Phrase) -> str:
    """Return the genders that a reflexive pronoun for a phrase may have."""
    return "mfn" if phrase.plural else phrase.genders
