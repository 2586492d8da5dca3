"""French noun phrases: determiners, adjectives, agreement."""

from tests.tools.grammar_checker.french.sound import elides
from tests.tools.grammar_checker.french.words import WORDS, AdjectiveForm
from tests.tools.grammar_checker.parts import Clause, Phrase
from tests.tools.grammar_checker.reader import Reader
from tests.tools.grammar_checker.senses import is_mass_in_french
from tests.tools.grammar_checker.words import NAMES, NounForm, VerbForm, expressions

DETERMINERS: dict[str, tuple[str, bool]] = {
    "le": ("m", False), "la": ("f", False), "l'": ("mf", False), "les": ("mf", True),
    "un": ("m", False), "une": ("f", False), "des": ("mf", True), "du": ("m", False),
    "ce": ("m", False), "cet": ("m", False), "cette": ("f", False), "ces": ("mf", True),
    "mon": ("mf", False), "ma": ("f", False), "mes": ("mf", True), "son": ("mf", False),
    "sa": ("f", False), "ses": ("mf", True), "notre": ("mf", False), "nos": ("mf", True),
    "leur": ("mf", False), "leurs": ("mf", True), "chaque": ("mf", False),
    "plusieurs": ("mf", True), "quelques": ("mf", True), "deux": ("mf", True),
    "trois": ("mf", True),
    "quatre": ("mf", True), "au": ("m", False), "aux": ("mf", True),
}  # fmt: skip
MEANINGS = {
    "ce": "this", "cet": "this", "cette": "this", "ces": "this", "mon": "my", "ma": "my",
    "mes": "my", "notre": "our", "nos": "our", "son": "his", "sa": "his", "ses": "his",
    "leur": "their", "leurs": "their", "chaque": "every", "plusieurs": "several", "deux": "two",
    "trois": "three", "quatre": "four", "beaucoup": "many",
}  # fmt: skip
"""Determiners that both languages count alike; *son* stands for *his*, *her* and *its*."""


OPEN = {
    "gentil": ("avec",), "méchant": ("avec",), "poli": ("avec",), "cruel": ("avec",),
    "sévère": ("avec",), "généreux": ("avec",), "patient": ("avec",), "content": ("avec", "de"),
    "heureux": ("avec", "de"), "fatigué": ("de",), "fier": ("de",), "jaloux": ("de",),
    "amoureux": ("de",), "plein": ("de",), "triste": ("de",), "satisfait": ("de",),
}  # fmt: skip
"""Adjectives with the prepositions of what they may govern."""


Described = list[tuple[str, list[AdjectiveForm]]]  # adjectives with their readings


class FrenchNouns(Reader):
    expressions = expressions("french/fixed.txt")

    def noun_phrase(self, place: int, bare: str = "") -> Phrase | None:
        """Read a noun phrase from a place; ``bare`` allows one without a determiner.

        ``bare`` is ``plural`` after *beaucoup de* and *près de*, ``any`` after a negation,
        ``merged`` where the article is a part of the preposition.
        """
        word = self.words[place]
        if word in MEANINGS:
            self.seen["determiner"][MEANINGS[word]] += 1
        if word in ("monsieur", "madame") or (word[0].isupper() and word not in WORDS.nouns):
            return self._name(place)
        if word == "beaucoup" and self.words[place + 1] in ("de", "d'"):
            return self._group(place + 2, "mf", True, "beaucoup")
        if word in ("de", "d'") and self.words[place + 1] in ("la", "l'"):
            genders, _ = DETERMINERS[self.words[place + 1]]
            return self._group(place + 2, genders, False, "de la")
        if word in DETERMINERS:
            genders, plural = DETERMINERS[word]
            return self._group(place + 1, genders, plural, "" if bare == "merged" else word)
        if word.isdigit():
            self.seen["name"][word] += 1
            return self._group(place + 1, "mf", True, word)
        if bare:
            return self._group(place, "mf", True if bare == "plural" else None, "")
        return None

    def _name(self, place: int) -> Phrase | None:
        title = self.words[place].lower() in ("monsieur", "madame")
        name = self.words[place + title]
        if not name[0].isupper():
            return None
        gender = NAMES.get(name, "mf")
        if title:
            gender = "m" if self.words[place].lower() == "monsieur" else "f"
        self.seen["name"][name] += 1
        self.at = self.after_phrase = place + title + 1
        town = not title and name not in NAMES
        return Phrase(name, genders=gender, noun="town" if town else "name")

    def _group(
        self, place: int, genders: str, plural: bool | None, determiner: str
    ) -> Phrase | None:
        first = place
        before: Described = []
        while not self._is_noun(place) and self.words[place] in WORDS.adjectives:
            before.append((self.words[place], WORDS.adjectives[self.words[place]]))
            place += 1
        noun, length = self._noun(place)
        if noun is None:
            return None
        if not determiner and plural and is_mass_in_french(noun[0].lemma):
            plural = None
        place += length
        after: Described = []
        while self.words[place] in WORDS.adjectives and not self._is_rather_verb(place):
            after.append((self.words[place], WORDS.adjectives[self.words[place]]))
            place += 1
            place += self.words[place] == "et" and self.words[place + 1] in WORDS.adjectives
        self.at = self.after_phrase = place
        text = " ".join(self.words[first:place])
        self._check_forms(first, determiner, noun, [*before, *after], text)
        for word, forms in before:
            if not (forms[0].before or (forms[0].around and after)):
                self.report(f"'{word}' stands after its noun")
        for word, forms in after:
            if forms[0].before:
                self.report(f"'{word}' stands before its noun")
        lemmas = [forms[0].lemma for _, forms in after if forms[0].lemma not in WORDS.materials]
        if any(lemma in WORDS.origins for lemma in lemmas[1:]):
            self.report(f"'{text}': an adjective of origin stands right after the noun")
        if determiner == "des" and before:
            self.report(f"'des {text}' needs de")
        if determiner == "de" and not before:
            self.report(f"'de {text}' needs des")
        phrase = self._agree(noun, genders, plural, [*before, *after], text)
        phrase.determiner = determiner
        if after:
            self._check_last(after[-1][1][0].lemma, text)
        return phrase

    def _check_last(self, adjective: str, text: str) -> None:
        """Check that an adjective does not govern what follows its noun phrase."""
        word = {"d'": "de", "du": "de", "des": "de"}.get(self.words[self.at], self.words[self.at])
        which = self.words[self.at + 1] == "qui" or "quel" in self.words[self.at + 1]
        if word in OPEN.get(adjective, ()) and not which:
            self.report(f"'{text} {word}': the adjective governs what follows")
        result = adjective.endswith(("é", "vide", "ouvert")) and adjective not in WORDS.materials
        if result and self.expression_at(self.at, "time"):
            self.report(f"'{text} {word}': the time tells when it came about")

    def _is_noun(self, place: int) -> bool:
        word = self.words[place]
        if self._noun(place)[1] > 1:
            return True
        if word not in WORDS.nouns:
            return False
        forms = WORDS.adjectives.get(word)
        if not forms or not forms[0].before:
            return True
        following = self.words[place + 1]
        after = WORDS.adjectives.get(following)
        several = following in WORDS.nouns and (after or following in WORDS.finite)
        if several and self.choose(place):
            return True  # a maid (*bonne*) who is married or labels something, not a good label
        return not ((after and after[0].before) or self._is_noun(place + 1))

    def _noun(self, place: int) -> tuple[list[NounForm] | None, int]:
        word = self.words[place]
        for length in range(WORDS.longest.get(word, 1), 1, -1):
            joined = " ".join(self.words[place : place + length]).replace("' ", "'")
            if joined in WORDS.nouns:
                return WORDS.nouns[joined], length
        return WORDS.nouns.get(word), 1

    def _is_rather_verb(self, place: int) -> bool:
        """Return whether a word such as *vide* is a verb here, not an adjective."""
        forms = WORDS.finite.get(self.words[place], ())
        clause = self.clause
        own = clause.subject is None and not clause.verb
        waiting = next((each for each in reversed(self.stack) if each.waits), None)
        fits = own or waiting is None or any(_fits_subject(form, waiting) for form in forms)
        after, following = self.words[place + 1 : place + 3]
        joined = self.words[place - 1] == "et" or (after == "et" and following in WORDS.adjectives)
        if not forms or not fits or joined or after in ("que", "qu'"):
            return False
        subject_here = clause.subject is None and not clause.verb
        return (subject_here or self.is_awaited() or not clause.verb) != self.choose(place)

    def _check_forms(
        self, first: int, determiner: str, noun: list[NounForm], adjectives: Described, text: str
    ) -> None:
        """Check the forms that depend on whether a vowel follows."""
        vowel = elides(self.words[first])
        genders = noun[0].genders
        if determiner in ("ce", "cet") and vowel != (determiner == "cet"):
            self.report(f"'{determiner} {text}' must be ce before a consonant, cet before a vowel")
        if determiner in ("ma", "sa") and vowel:
            self.report(f"'{determiner} {text}' must be mon or son before a vowel")
        if determiner in ("mon", "son") and not vowel and genders == "f":
            self.report(f"'{determiner} {text}' must be ma or sa")
        place = first
        for word, forms in adjectives:
            form = forms[0]
            follows = elides(self.words[place + 1])
            place += 1
            if form.liaison and not follows:
                self.report(f"'{word}' stands before a vowel only")
            changes = form.lemma in WORDS.strict and form.before and word == form.lemma
            one = form.plurals == (False,) or not any(True in each.plurals for each in noun)
            if changes and one and follows:
                self.report(f"'{word}' has another form before a vowel")

    def _agree(
        self,
        noun: list[NounForm],
        genders: str,
        plural: bool | None,
        adjectives: Described,
        text: str,
    ) -> Phrase:
        """Return the phrase with the gender and number that all its words allow."""
        for lemma, own, numbers, _ in noun:
            for number in (each for each in numbers if plural in (None, each)):
                left = "".join(gender for gender in own if gender in genders)
                for _, forms in adjectives:
                    fitting = [form for form in forms if number in form.plurals]
                    left = "".join(g for g in left if any(g in form.genders for form in fitting))
                if left:
                    hidden = plural is None and _hides_number(numbers, adjectives)
                    shown = None if hidden else number
                    self.nouns[lemma, shown] += 1
                    for _, forms in adjectives:
                        self.seen["adjective"][forms[0].lemma] += 1
                    return Phrase(text, genders=left, plural=shown, noun=lemma)
        self.report(f"'{text}' does not agree in gender and number")
        return Phrase(text, plural=None, noun=noun[0].lemma)


def _fits_subject(form: VerbForm, clause: Clause) -> bool:
    return clause.subject is None or bool({*form.persons} & {*clause.subject.persons()})


def _hides_number(numbers: tuple[bool, ...], adjectives: Described) -> bool:
    """Return whether noun and adjectives are the same in both numbers (*vieux bas marron*)."""
    return len(numbers) > 1 and all(
        {number for form in forms for number in form.plurals} >= set(numbers)
        for _, forms in adjectives
    )
