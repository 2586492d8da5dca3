"""English noun phrases: determiner, order of adjectives, number."""

from tests.tools.grammar_checker.reader import Clause, Phrase, Reader
from tests.tools.grammar_checker.translation import natural_genders
from tests.tools.grammar_checker.words import PERSONS, NounForm, english, expressions, names

WORDS, NAMES = english(), names()
ANY, ONE, MANY = None, False, True
DETERMINERS: dict[str, bool | None] = {
    "the": ANY, "a": ONE, "an": ONE, "some": MANY, "any": MANY, "this": ONE, "these": MANY,
    "my": ANY, "our": ANY, "his": ANY, "her": ANY, "its": ANY, "their": ANY, "every": ONE,
    "many": MANY, "several": MANY, "two": MANY, "three": MANY, "four": MANY,
}  # fmt: skip
MASS_TOO = ("the", "some", "any", "this", "my", "our", "his", "her", "its", "their")
"""Determiners of nouns without plural."""
MEANINGS = {
    "this": "this", "these": "this", "my": "my", "our": "our", "his": "his", "her": "his",
    "its": "his", "their": "their", "every": "every", "several": "several", "two": "two",
    "three": "three", "four": "four", "many": "many",
}  # fmt: skip
"""Determiners that both languages count alike."""
TITLES = {"Mr": "m", "Mrs": "f"}
MASS_SENSES = ("port", "rocket", "rubber", "cork", "marble", "plaster", "gum")
SILENT = ("hour", "heir", "honest")  # beginnings with a vowel in sound though not in writing
HARD = ("uni", "use", "usu", "uto", "eu", "ewe", "uku", "one")
"""Beginnings with a consonant in sound though not in writing."""


class EnglishNouns(Reader):
    expressions = expressions("english/fixed.txt")

    def noun_phrase(self, place: int) -> Phrase | None:
        word = self.words[place]
        if word in DETERMINERS:
            if word in MEANINGS:
                self.seen["determiner"][MEANINGS[word]] += 1
            return self._group(place + 1, word)
        if word.isdigit():
            self.seen["name"][word] += 1
            return self._group(place + 1, word)
        if word[0].isupper() and word not in WORDS.adjectives and word != "I":
            return self._name(place)
        return None

    def _name(self, place: int) -> Phrase | None:
        title, before = self.words[place] in TITLES, place
        name = self.words[place + title]
        if not name[0].isupper():
            return None
        self.seen["name"][name] += 1
        place += title + 1
        if self.words[place] == "'s":
            return self._group(place + 1, "the")
        self.at = self.after_phrase = place
        genders = TITLES[self.words[before]] if title else NAMES.get(name, "n")
        return Phrase(name, 3, genders, noun="name")

    def _group(self, place: int, determiner: str) -> Phrase | None:
        first = place
        while self._is_adjective(place):
            place += 1
        adjectives = self.words[first:place]
        forms = WORDS.nouns.get(self.words[place])
        if forms is None:
            return None
        text = " ".join(self.words[first : place + 1])
        for adjective in adjectives:
            self.seen["adjective"][adjective] += 1
        ranks = [WORDS.adjectives[adjective] for adjective in adjectives]
        if ranks != sorted(set(ranks)):
            self.report(f"'{text}': adjectives in a wrong order")
        self._check_article(determiner, self.words[first])
        form = self._number(forms, determiner, f"{determiner} {text}")
        plural = form.plurals[0]
        self.nouns[form.lemma, plural] += 1
        if self.words[place + 1] == "'s":
            return self._group(place + 2, "the")
        self.at = self.after_phrase = place + 1
        if WORDS.adjectives.get(self.words[place + 1], -1) >= 0 and not self._fits_after(place + 1):
            self.report(f"'{self.words[place + 1]}' stands before its noun")
        genders = natural_genders(form.lemma, form.human)
        return Phrase(text, 3, genders, plural, form.human, form.lemma, determiner)

    def _fits_after(self, place: int) -> bool:
        """Return whether an adjective after a noun is another word: a verb, *next week*."""
        return self.words[place] in WORDS.finite or self.words[place] in self.expressions

    def _is_adjective(self, place: int) -> bool:
        word, after = self.words[place], self.words[place + 1]
        if word not in WORDS.adjectives:
            return False
        if word not in WORDS.nouns:
            return True
        if after not in WORDS.nouns and after not in WORDS.adjectives:
            return False
        # An auxiliary, rather than several female deer.
        rather = after == "does" or (after in WORDS.finite and after not in WORDS.bases)
        return rather == self.choose(place)

    def _check_article(self, determiner: str, word: str) -> None:
        lower = word.lower()
        vowel = lower.startswith(SILENT) or (lower[0] in "aeiou" and not lower.startswith(HARD))
        if determiner in ("a", "an") and vowel != (determiner == "an"):
            self.report(f"'{determiner} {word}' must be a before a consonant, an before a vowel")

    def _number(self, forms: list[NounForm], determiner: str, text: str) -> NounForm:
        """Return the reading of a noun that fits its determiner."""
        wanted = MANY if determiner.isdigit() else DETERMINERS[determiner]
        for form in forms:
            if wanted is ANY or form.plurals[0] == wanted:
                if form.lemma not in WORDS.masses or determiner in MASS_TOO:
                    return form
            elif determiner in MASS_TOO and _may_be_mass(form.lemma):
                return form
        self.report(f"'{text}' does not agree in number")
        return forms[0]


def _may_be_mass(lemma: str) -> bool:
    """Return whether a noun, or one sense of it, has no plural (*some port*)."""
    return lemma in WORDS.masses or lemma in MASS_SENSES


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
    def verb_begins(self) -> bool:
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
    return {frame.partition("+")[0] for frame in FRAMES[verb] if "+" in frame}
