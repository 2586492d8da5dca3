"""French prepositions, and the relative clauses that begin with them."""

from tests.tools.grammar_checker.french.verbs import FrenchVerbs
from tests.tools.grammar_checker.french.words import CLASSES, WORDS
from tests.tools.grammar_checker.parts import Clause
from tests.tools.grammar_checker.senses import human_of_french
from tests.tools.grammar_checker.words import written

PLACES = written(FrenchVerbs.expressions, "place preposition") | {"in"}
WHICH = {
    "lequel": ("m", False), "laquelle": ("f", False), "lesquels": ("m", True),
    "lesquelles": ("f", True),
}  # fmt: skip
MERGED_WHICH = {
    "auquel": ("à", "lequel"), "auxquels": ("à", "lesquels"), "auxquelles": ("à", "lesquelles"),
    "duquel": ("de", "lequel"), "desquels": ("de", "lesquels"), "desquelles": ("de", "lesquelles"),
}  # fmt: skip
WITH_SUBJUNCTIVE = CLASSES["with subjunctive"]
OF_OPINION = CLASSES["of opinion"]
DEFINITE = ("le", "la", "l'", "les")


class FrenchRelatives(FrenchVerbs):
    def is_other_word(self) -> bool:
        word, after = self.words[self.at : self.at + 2]
        reflexive = word == "s'" and after not in ("il", "ils")
        return reflexive or (self.clause.verb == "être" and after in WORDS.adjectives)

    def related(self) -> bool:
        word, clause = self.words[self.at], self.clause
        open_object = clause.verb and clause.near is None
        if word in ("que", "qu'") and open_object and "r" in WORDS.frames[clause.verb]:
            clause.complement = True
            self.at += 1
            self.stack.append(Clause("complement", mood=self._mood_of_complement(clause)))
            return True
        uses = {"qui": "subject", "que": "object", "qu'": "object", "où": "place", "dont": "dont"}
        if word in uses:
            self._in_mood_of(self.relative(uses[word]))
            return True
        return bool(clause.near) and self._with_preposition()

    def _mood_of_complement(self, clause: Clause) -> str:
        if clause.verb in WITH_SUBJUNCTIVE:
            return "subjunctive"
        return "either" if clause.negated and clause.verb in OF_OPINION else ""

    def _in_mood_of(self, clause: Clause) -> None:
        """Set the mood of a relative clause: subjunctive after *ne ... pas de N*."""
        if clause.antecedent is not None and clause.antecedent.determiner == "any":
            clause.mood = "subjunctive"

    def _with_preposition(self) -> bool:
        """Read *à qui*, *auquel*, *sur laquelle*."""
        word = self.words[self.at]
        if word in MERGED_WHICH:
            preposition, pronoun = MERGED_WHICH[word]
            end = self.at
        else:
            preposition, end, _ = self.preposition()
            pronoun = self.words[end]
            if not preposition or (pronoun not in WHICH and pronoun != "qui"):
                return False
            if preposition in ("à", "de") and pronoun in WHICH and pronoun != "laquelle":
                self.report(f"'{preposition} {pronoun}' must contract")
        head = self.clause.near
        assert head is not None
        if pronoun == "qui":
            if human_of_french(head.noun) == "-" and head.noun not in ("name", "town"):
                self.report(f"'{preposition} qui' after '{head.text}'")
        else:
            gender, plural = WHICH[pronoun]
            if gender not in head.genders or head.plural not in (None, plural):
                self.report(f"'{pronoun}' does not agree with '{head.text}'")
        self.at = end
        clause = self.relative("")
        clause.prepositions.add(preposition)
        self._in_mood_of(clause)
        return True

    def resolve_dont(self, clause: Clause) -> None:
        """Decide what *dont* is: the object of a verb with *de*, or the owner of a noun."""
        if clause.use != "dont":
            return
        frames = WORDS.frames.get(clause.verb, frozenset())
        definite = any(
            phrase is not None and phrase.determiner in DEFINITE
            for phrase in (clause.subject, clause.direct, clause.governed)
        )
        governed = "de" in frames and "de" not in clause.prepositions and clause.direct is None
        free = "i" in frames or frames & clause.prepositions
        if governed and (
            not definite or not free or not self.choose(5000 + 100 * len(self.stack) + self.at)
        ):
            clause.use = ""
            clause.prepositions.add("de")
            return
        clause.use = "owner"
        subject = clause.subject
        if subject and (subject.determiner.isdigit() or subject.determiner in self.quantities):
            self.report(f"'dont {subject.determiner}' reads as some of them")
        if not definite:
            self.report("'dont' without a noun with le, la, les")

    def preposition(self) -> tuple[str, int, str]:
        """Return a preposition, the place after it, and whether its noun may be bare."""
        place = self.at
        for use in ("place preposition", "preposition"):
            for words, found in self.expressions.get(self.words[place], ()):
                length = len(words)
                written = tuple(self.words[place : place + length])
                if found != use or written[:-1] != words[:-1]:
                    continue
                merged = {"du": "de", "des": "de", "d'": "de", "au": "à", "aux": "à"}
                if merged.get(written[-1], written[-1]) == words[-1]:
                    self.clause.place |= use == "place preposition" and bool(self.clause.verb)
                    return " ".join(words), *self.after_preposition(place + length - 1, words[-1])
        word = self.words[place]
        if word in ("à", "au", "aux"):
            return "à", *self.after_preposition(place, "à")
        if word in ("de", "d'", "du", "des") and self._is_of(place):
            return "de", *self.after_preposition(place, "de")
        return "", place, ""

    def after_preposition(self, last: int, word: str) -> tuple[int, str]:
        """Return where the noun phrase begins; *du* is the article of its own phrase."""
        if self.words[last] in ("du", "des", "au", "aux"):
            return last, "merged"
        after = self.words[last + 1]
        if word == "de":
            return last + 1, "plural"
        if after in ("de", "d'") and self.words[last + 2] in WORDS.adjectives:
            return last + 2, "plural"
        return last + 1, ""

    def _is_of(self, place: int) -> bool:
        """Return whether *de*, *du*, *des* is a preposition here, not an article."""
        clause = self.clause
        if self.after_phrase == place:
            return True
        if not clause.verb:
            return False
        frames = WORDS.frames[clause.verb]
        return "de" in frames and not ({"d", "dà"} & frames)
