"""English verb groups: auxiliaries, *do*, negation, infinitives, particles."""

from tests.grammar_checker.english.nouns import WORDS, EnglishNouns
from tests.grammar_checker.phrases import Clause
from tests.grammar_checker.words import PERSONS

BE = {
    "am": ("present", ("1s",)), "is": ("present", ("3s",)), "are": ("present", ("1p", "3p")),
    "was": ("past", ("1s", "3s")), "were": ("past", ("1p", "3p")),
}  # fmt: skip
NOT_THIRD = ("1s", "1p", "3p")
HELPERS = {
    "will": ("future", PERSONS), "do": ("present", NOT_THIRD), "does": ("present", ("3s",)),
    "did": ("past", PERSONS), "can": ("present", PERSONS), "cannot": ("present", PERSONS),
    "could": ("past", PERSONS), "must": ("present", PERSONS),
}  # fmt: skip
"""Auxiliaries with tense and persons."""
BASES = WORDS.bases | {"be"}
FRAMES = WORDS.frames | {"be": frozenset(("be",)), "?": frozenset(("i", "d")), "": frozenset()}


class EnglishVerbs(EnglishNouns):
    """Reads English verb groups."""

    def verb_begins(self) -> bool:
        """Return whether a verb group begins here."""
        clause = self.clause
        waits = clause.subject is not None and not clause.verb
        if clause.verb and not self.is_awaited() and self.after_phrase != self.at:
            return False
        return self._begins_at(self.at, waits)

    def _begins_at(self, place: int, waits: bool) -> bool:
        word = self.words[place]
        if word in HELPERS or word in BE:
            return True
        adverb = 1 if word == "never" else self.expression_at(place, "frequency")
        if adverb:
            return waits or self._begins_at(place + adverb, False)
        clause = self.clause
        if clause.verb == "be" and word in WORDS.adjectives and not clause.quality:
            return clause.place and not self.choose(place)
        return word in WORDS.finite

    def verb_group(self, clause: Clause) -> None:
        """Read a verb group as the verb of ``clause``."""
        assert clause.subject is not None
        persons = set(clause.subject.persons())
        early = self._adverb()
        clause.negated = early == "never"
        word = self.words[self.at]
        self.at += 1
        if word != early and (word in BE or word in HELPERS):
            self.report(f"'{early}' before '{word}'")
        if word in BE:
            tense, fitting = BE[word]
            clause.verb = "be"
            self._negation(clause)
        elif word in HELPERS:
            tense, fitting = HELPERS[word]
            self._helped(clause, word)
        else:
            form = WORDS.finite.get(word, [None])[0]
            for other in WORDS.finite.get(word, ()):
                form = other if persons & set(other.persons) else form
            if form is None:
                self.report(f"'{word}' is no finite verb")
                clause.verb = "?"
                return
            tense, fitting, clause.verb = form.tense, form.persons, form.lemma
        if not persons & set(fitting):
            self.report(f"'{word}' does not agree with its subject '{clause.subject.text}'")
        self.seen["tense"][tense] += 1
        self._chain(clause)

    def _adverb(self) -> str:
        """Read *never* or an adverb of frequency."""
        word = self.words[self.at]
        self.seen["negation"]["jamais"] += word == "never"
        if word == "never":
            self.at += 1
        else:
            self.take("frequency")
        return word

    def _negation(self, clause: Clause) -> bool:
        """Read *not*, or an adverb in its place; return whether *not* stands here."""
        if self.words[self.at] == "not":
            self.at += 1
            self.seen["negation"]["pas"] += 1
            clause.negated = True
            return True
        if self._adverb() == "never":
            clause.negated = True
        return False

    def _helped(self, clause: Clause, helper: str) -> None:
        """Read what follows an auxiliary."""
        if helper == "cannot":
            self.seen["negation"]["pas"] += 1
            clause.negated = True
        denied = self._negation(clause)
        word = self.words[self.at]
        if helper in ("do", "does", "did") and not denied:
            self.report(f"'{helper}' without not")
        if helper == "can" and denied:
            self.report("'can not' is one word")
        if helper in ("can", "cannot", "could", "must"):
            verb = "can" if helper[0] == "c" else "must"
            self.seen["verb"][verb] += 1
        clause.verb = word if word in BASES else ""
        if not clause.verb:
            self.report(f"'{word}' has a wrong form after '{helper}'")
            clause.verb = "?"
            return
        self.at += 1

    def _chain(self, clause: Clause) -> None:
        """Read an infinitive after the verb, and the particle of the verb."""
        frames = FRAMES[clause.verb]
        self.seen["verb"][clause.verb] += 1
        after = self.words[self.at + 1]
        if self.words[self.at] == "to" and after in BASES and "vto" in frames:
            clause.verb = after
            self.at += 2
            self.seen["verb"][clause.verb] += 1
        self.particle(clause)

    def particle(self, clause: Clause) -> None:
        """Read the particle of a verb (*wake up*)."""
        word = self.words[self.at]
        if clause.particle or word not in particles(clause.verb):
            return
        if not self.choose(self.at):
            clause.particle = word
            self.at += 1
            self.seen["verb"][clause.verb] -= 1
            self.seen["verb"][f"{clause.verb} {word}"] += 1


def particles(verb: str) -> set[str]:
    """Return the particles that a verb may have."""
    return {frame.partition("+")[0] for frame in FRAMES[verb] if "+" in frame}
