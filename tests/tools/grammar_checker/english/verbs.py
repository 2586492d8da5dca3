"""English verb groups: auxiliaries, negation, questions, participles, particles."""

from tests.tools.grammar_checker.english.forms import EnglishNouns
from tests.tools.grammar_checker.english.words import CLASSES, WORDS
from tests.tools.grammar_checker.parts import Clause
from tests.tools.grammar_checker.words import PERSONS

BE = {
    "am": ("present", ("1s",)), "is": ("present", ("3s",)), "are": ("present", ("1p", "3p")),
    "was": ("past", ("1s", "3s")), "were": ("past", ("1p", "3p")),
}  # fmt: skip
NOT_THIRD = ("1s", "1p", "3p")
HELPERS = {
    "will": ("future", PERSONS), "do": ("present", NOT_THIRD), "does": ("present", ("3s",)),
    "did": ("past", PERSONS), "can": ("present", PERSONS), "cannot": ("present", PERSONS),
    "could": ("past", PERSONS), "must": ("present", PERSONS), "would": ("unreal", PERSONS),
}  # fmt: skip
"""Auxiliaries with tense and persons."""
HAVE = {"have": NOT_THIRD, "has": ("3s",)}
BASES = WORDS.bases | {"be"}
FRAMES = WORDS.frames | {"be": frozenset(("be",)), "?": frozenset(("i", "d")), "": frozenset()}
SENSING = CLASSES["sensing"]
STATES = CLASSES["states"]
COMPARING = ("more", "less", "as")


class EnglishVerbs(EnglishNouns):
    def verb_begins(self) -> bool:
        clause, main = self.clause, self.stack[0]
        complete = clause.verb and (clause.verb != "be" or clause.quality or clause.place)
        if main.asked and main.waits and (clause is main or complete):
            return self._rest_begins(self.at, main.asked)
        if clause.verb and not self.is_awaited() and self.after_phrase != self.at:
            return False
        return self.finite_begins(self.at, clause.waits)

    def _rest_begins(self, place: int, auxiliary: str) -> bool:
        """Return whether what follows the subject of a question begins here."""
        word = self.words[place]
        adverb = 1 if word in ("not", "never") else self.expression_at(place, "frequency")
        if adverb:
            return word == "not" or auxiliary in BE or self._rest_begins(place + adverb, auxiliary)
        if auxiliary in HAVE:
            return word == "been" or word in WORDS.participles
        if auxiliary not in BE:
            return word in BASES
        quality = word in WORDS.adjectives or word in WORDS.comparatives or word in COMPARING
        return quality or word in WORDS.participles or self.expression_at(place, "degree") > 0

    def finite_begins(self, place: int, waits: bool) -> bool:
        word = self.words[place]
        if word in HELPERS or word in BE or word in HAVE:
            return True
        if word == "had" and self.words[place + 1] == "to":
            return True
        adverb = 1 if word == "never" else self.expression_at(place, "frequency")
        if adverb:
            return waits or self.finite_begins(place + adverb, False)
        manner = self.expression_at(place, "manner")
        if manner:
            return self.finite_begins(place + manner, waits)
        clause = self.clause
        if clause.verb == "be" and word in WORDS.adjectives and not clause.quality:
            return clause.place and not self.choose(place)
        return word in WORDS.finite

    def verb_group(self, clause: Clause) -> None:
        assert clause.subject is not None
        persons = set(clause.subject.persons())
        word = clause.asked
        if not word:
            early = self._adverb()
            clause.negated = early == "never"
            word = self.words[self.at]
            self.at += 1
            if word != early and (word in BE or word in HELPERS):
                self.report(f"'{early}' before '{word}'")
        clause.tense, fitting = self._finite(clause, word, persons)
        if not persons & set(fitting):
            self.report(f"'{word}' does not agree with its subject '{clause.subject.text}'")
        self.seen["verb"][clause.verb] += 1
        self._mark_states(clause)
        self._chain(clause)

    def _mark_states(self, clause: Clause) -> None:
        clause.marks |= {"never"} if clause.negated and "not" not in clause.marks else set()
        if clause.tense == "past" and clause.verb in STATES and not clause.passive:
            clause.marks.add("state")

    def _finite(self, clause: Clause, word: str, persons: set[str]) -> tuple[str, tuple[str, ...]]:
        """Read what follows the first word of a verb group; return its tense and persons."""
        if word in BE:
            self._negation(clause)
            self._be(clause)
            supposed = word == "were" and clause.conjunction == "if"
            return BE[word][0], PERSONS if supposed else BE[word][1]
        if word in ("have", "has", "had") and self.words[self.at] == "to":
            self._oblige(clause, self.at + 1)
            return ("past", PERSONS) if word == "had" else ("present", HAVE[word])
        if word in HAVE and (clause.asked or self._completes()):
            self._negation(clause)
            self._perfect(clause)
            return "perfect", HAVE[word]
        if word in HELPERS:
            self._helped(clause, word)
            tense, fitting = HELPERS[word]
            if word == "could" and self._supposes(clause):
                return "unreal", fitting
            if word == "could" and not clause.negated and clause.verb not in SENSING:
                clause.marks.add("done")
            return tense, fitting
        form = WORDS.finite.get(word, [None])[0]
        for other in WORDS.finite.get(word, ()):
            form = other if persons & set(other.persons) else form
        if form is None:
            self.report(f"'{word}' is no finite verb")
            clause.verb = "?"
            return "present", PERSONS
        clause.verb = form.lemma
        return form.tense, form.persons

    def _supposes(self, clause: Clause) -> bool:
        """Return whether *could* tells what would be possible on a condition."""
        if clause.kind != "main" or clause.conjunction == "if" or "if" not in self.words:
            return False
        return "would" in self.words or not self.choose(self.at)

    def _adverb(self) -> str:
        word = self.words[self.at]
        self.seen["negation"]["jamais"] += word == "never"
        if word == "never":
            self.at += 1
        elif not self.take("frequency"):
            self.take("manner")
        return word

    def _negation(self, clause: Clause) -> bool:
        """Read *not*, or an adverb in its place; return whether *not* stands here."""
        if self.words[self.at] == "not":
            self.at += 1
            self.seen["negation"]["pas"] += 1
            clause.negated = True
            clause.marks.add("not")
            self.take("frequency")
            return True
        if self._adverb() == "never":
            clause.negated = True
        return False

    def _completes(self) -> bool:
        """Return whether a participle follows *have*."""
        place = self.at
        while length := self._adverb_at(place):
            place += length
        return self.words[place] == "been" or self.words[place] in WORDS.participles

    def _adverb_at(self, place: int) -> int:
        """Return the number of words of an adverb that may stand between two verbs."""
        uses = ("frequency", "manner")
        found = (self.expression_at(place, use) for use in uses)
        return int(self.words[place] in ("not", "never")) or max(found)

    def _perfect(self, clause: Clause) -> None:
        word = self.words[self.at]
        self.seen["perfect"]["perfect"] += 1
        if word == "been":
            self.at += 1
            self._be(clause)
        elif word in WORDS.participles:
            clause.verb = WORDS.participles[word][0]
            self.at += 1
        else:
            self.report(f"'{word}' is no participle")
            clause.verb = "?"

    def _be(self, clause: Clause) -> None:
        """Read what follows *be*: a participle of a passive, or something else later."""
        word = self.words[self.at]
        clause.verb = "be"
        if word not in WORDS.participles:
            return
        if (
            word in WORDS.adjectives
            and self.words[self.at + 1] != "by"
            and not self.choose(self.at)
        ):
            return
        clause.verb, clause.passive = WORDS.participles[word][0], True
        self.seen["passive"]["passive"] += 1
        self.at += 1

    def _oblige(self, clause: Clause, place: int) -> None:
        """Read the infinitive after *have to*."""
        self.seen["verb"]["must"] += 1
        self._infinitive(clause, place, "have to")

    def _infinitive(self, clause: Clause, place: int, after: str) -> None:
        word = self.words[place]
        self.at = place + 1
        if word == "be":
            self._be(clause)
        elif word in BASES:
            clause.verb = word
        else:
            self.report(f"'{word}' has a wrong form after '{after}'")
            clause.verb = "?"

    def _helped(self, clause: Clause, helper: str) -> None:
        if helper == "cannot":
            self.seen["negation"]["pas"] += 1
            clause.negated = True
            clause.marks.add("not")
        denied = self._negation(clause)
        if helper in ("do", "does", "did") and not denied and not clause.asked:
            self.report(f"'{helper}' without not")
        if helper == "can" and denied and not clause.asked:
            self.report("'can not' is one word")
        if self.words[self.at] == "have" and self.words[self.at + 1] == "to":
            self._oblige(clause, self.at + 2)
            return
        if helper in ("can", "cannot", "could", "must"):
            verb = "can" if helper[0] == "c" else "must"
            self.seen["verb"][verb] += 1
        self._infinitive(clause, self.at, helper)

    def _chain(self, clause: Clause) -> None:
        """Read an infinitive after the verb, and the particle of the verb."""
        after = self.words[self.at + 1]
        if self.words[self.at] == "to" and after in BASES and "vto" in FRAMES[clause.verb]:
            clause.verb = after
            clause.marks.add("chain")
            self.at += 2
            if after == "be":
                self._be(clause)
            self.seen["verb"][clause.verb] += 1
        if clause.passive and clause.verb == "be":
            self.report("'be' has no passive")
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
    return {frame.partition("+")[0] for frame in FRAMES[verb] if "+" in frame}
