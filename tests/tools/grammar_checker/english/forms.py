"""English noun phrases: determiner, order of adjectives, number."""

from tests.tools.grammar_checker.english.words import CLASSES, WORDS
from tests.tools.grammar_checker.parts import Phrase, united
from tests.tools.grammar_checker.reader import Reader
from tests.tools.grammar_checker.senses import natural_genders
from tests.tools.grammar_checker.words import NAMES, NounForm, expressions

ANY, ONE, MANY = None, False, True
DETERMINERS: dict[str, bool | None] = {
    "the": ANY, "a": ONE, "an": ONE, "some": MANY, "any": MANY, "this": ONE, "these": MANY,
    "my": ANY, "our": ANY, "his": ANY, "her": ANY, "its": ANY, "their": ANY, "every": ONE,
    "many": MANY, "several": MANY, "two": MANY, "three": MANY, "four": MANY, "whose": ANY,
    "'s": ANY,
}  # fmt: skip
MASS_TOO = ("the", "some", "any", "this", "my", "our", "his", "her", "its", "their", "whose", "'s")
"""Determiners of nouns without plural."""
MEANINGS = {
    each: each
    for each in ("this", "my", "our", "his", "their", "every", "several", "two", "three", "four",
                 "many")
} | {"these": "this", "her": "his", "its": "his"}  # fmt: skip
"""Determiners that both languages count alike."""
TITLES = {"Mr": "m", "Mrs": "f"}
MASS_SENSES = CLASSES["mass senses"]
SILENT = ("hour", "heir", "honest")  # beginnings with a vowel in sound though not in writing
HARD = ("uni", "use", "usu", "uto", "eu", "ewe", "uku", "one")
"""Beginnings with a consonant in sound though not in writing."""


class EnglishNouns(Reader):
    expressions = expressions("english/fixed.txt")

    def full_phrase(self, place: int) -> Phrase | None:
        """Read a noun phrase, or two with *and* between them."""
        first = self.noun_phrase(place)
        if first is None or self.words[self.at] != "and" or not self.noun_begins(self.at + 1):
            return first
        second = self.noun_phrase(self.at + 1)
        if second is None:
            return first
        if {first.human, second.human} == {"h", "-"}:
            self.report(f"'{first.text}' and '{second.text}' are of two kinds")
        return united(first, second)

    def noun_begins(self, place: int) -> bool:
        word = self.words[place]
        named = word[0].isupper() and word != "I"
        return word in DETERMINERS or word.isdigit() or named

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
            return self._group(place + 1, "'s")
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
            return self._group(place + 2, "'s")
        self.at = self.after_phrase = place + 1
        asked = bool(self.stack[0].asked)  # *is the man in the house ill*
        if (
            not asked
            and self.words[place + 1] in WORDS.adjectives
            and not self._fits_after(place + 1)
        ):
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
            elif not form.plurals[0] and determiner in MASS_TOO and _may_be_mass(form.lemma):
                return form
        self.report(f"'{text}' does not agree in number")
        return forms[0]


def _may_be_mass(lemma: str) -> bool:
    """Return whether a noun, or one sense of it, has no plural (*some port*)."""
    return lemma in WORDS.masses or lemma in MASS_SENSES
