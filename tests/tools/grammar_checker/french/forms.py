"""French elision and contraction, and the words of a sentence."""

from itertools import pairwise
from typing import NamedTuple

from tests.tools.grammar_checker.reader import Clause, Phrase, Reader
from tests.tools.grammar_checker.words import (
    AdjectiveForm,
    NounForm,
    VerbForm,
    expressions,
    french,
    names,
)

ASPIRATED = (
    "hache", "hachoir", "haie", "haï", "hais", "hait", "hall", "hamac", "hamburger", "hameau",
    "hamster", "hanche", "hangar", "hareng", "haricot", "harnais", "harpe", "harpiste", "harpon",
    "haut", "hibou", "hochet", "homard", "houx", "huppe", "hurl", "hussard", "hutte", "hérisson",
    "héron", "hêtre",
)  # fmt: skip
"""Beginnings of words whose h stands like a consonant; *héros* is one, *héroïne* is not."""
VOWELS = frozenset("aeiouàâéèêëîïôöùûœ")
ELIDED = frozenset(("l'", "d'", "qu'", "n'", "m'", "j'", "s'", "jusqu'"))
FULL = frozenset(("le", "la", "de", "que", "ne", "me", "je", "parce"))


def split(sentence: str) -> list[str]:
    """Return the words of a French sentence, with elided words and commas apart."""
    words = []
    for word in sentence.replace(",", " ,").split():
        while "'" in word[:-1] and not word.lower().startswith("aujourd'"):
            first, _, word = word.partition("'")
            words.append(first + "'")
        words.append(word)
    return words


def elides(word: str) -> bool:
    """Return whether a word causes the elision of the word before."""
    word = word.lower()
    if word[0] == "h":
        return not (word.startswith(ASPIRATED) or word == "héros")
    return word[0] in VOWELS or word.startswith("yeu")


def check_sound(words: list[str], infinitives: frozenset[str]) -> list[str]:
    """Return what is wrong with elisions and contractions."""
    findings = []
    for place, (word, after) in enumerate(pairwise(words)):
        word = word.lower()
        if word[-1] == "'":
            if word == "s'" and after not in ("il", "ils"):
                findings.append(f"'{word} {after}': si elides before il and ils only")
            elif word not in ELIDED or not elides(after):
                findings.append(f"'{word}{after}' must not elide")
        elif word in FULL:
            if elides(after) and word != "parce":
                findings.append(f"'{word} {after}' must elide")
        elif word == "si" and after in ("il", "ils"):
            findings.append("'si il' must elide")
        if word in ("de", "à") and after in ("le", "les"):
            following = words[place + 2] if place + 2 < len(words) else ""
            if following not in infinitives and following not in ("lui", "leur"):
                findings.append(f"'{word} {after}' must contract")
    return findings


WORDS, NAMES = french(), names()
DETERMINERS: dict[str, tuple[str, bool]] = {
    "le": ("m", False), "la": ("f", False), "l'": ("mf", False), "les": ("mf", True),
    "un": ("m", False), "une": ("f", False), "des": ("mf", True), "du": ("m", False),
    "ce": ("m", False), "cet": ("m", False), "cette": ("f", False), "ces": ("mf", True),
    "mon": ("mf", False), "ma": ("f", False), "mes": ("mf", True), "son": ("mf", False),
    "sa": ("f", False), "ses": ("mf", True), "notre": ("mf", False), "nos": ("mf", True),
    "leur": ("mf", False), "leurs": ("mf", True), "chaque": ("mf", False),
    "plusieurs": ("mf", True), "deux": ("mf", True), "trois": ("mf", True),
    "quatre": ("mf", True), "au": ("m", False), "aux": ("mf", True),
}  # fmt: skip
MEANINGS = {
    "ce": "this", "cet": "this", "cette": "this", "ces": "this", "mon": "my", "ma": "my",
    "mes": "my", "notre": "our", "nos": "our", "son": "his", "sa": "his", "ses": "his",
    "leur": "their", "leurs": "their", "chaque": "every", "plusieurs": "several", "deux": "two",
    "trois": "three", "quatre": "four", "beaucoup": "many",
}  # fmt: skip
"""Determiners that both languages count alike; *son* stands for *his*, *her* and *its*."""


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
        if word[0].isupper() or word in ("monsieur", "madame"):
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
        before: list[tuple[str, list[AdjectiveForm]]] = []
        while not self._is_noun(place) and self.words[place] in WORDS.adjectives:
            before.append((self.words[place], WORDS.adjectives[self.words[place]]))
            place += 1
        noun, length = self._noun(place)
        if noun is None:
            return None
        place += length
        after: list[tuple[str, list[AdjectiveForm]]] = []
        while self.words[place] in WORDS.adjectives and not self._is_rather_verb(place):
            after.append((self.words[place], WORDS.adjectives[self.words[place]]))
            place += 1
        self.at = self.after_phrase = place
        text = " ".join(self.words[first:place])
        self._check_forms(first, determiner, noun, [*before, *after], text)
        for word, forms in before:
            if not forms[0].before:
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
        return phrase

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
        if self.words[place] not in WORDS.finite:
            return False
        clause = self.clause
        subject_here = clause.subject is None and not clause.verb
        return (subject_here or self.is_awaited() or not clause.verb) != self.choose(place)

    def _check_forms(
        self,
        first: int,
        determiner: str,
        noun: list[NounForm],
        adjectives: list[tuple[str, list[AdjectiveForm]]],
        text: str,
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
        adjectives: list[tuple[str, list[AdjectiveForm]]],
        text: str,
    ) -> Phrase:
        """Return the phrase with the gender and number that all its words allow."""
        for lemma, own, numbers, _ in noun:
            for number in _numbers(numbers, plural):
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


def _hides_number(
    numbers: tuple[bool, ...], adjectives: list[tuple[str, list[AdjectiveForm]]]
) -> bool:
    """Return whether noun and adjectives are the same in both numbers (*vieux bas marron*)."""
    return len(numbers) > 1 and all(
        {number for form in forms for number in form.plurals} >= set(numbers)
        for _, forms in adjectives
    )


def _numbers(numbers: tuple[bool, ...], plural: bool | None) -> tuple[bool, ...]:
    """Return the numbers that a form and its determiner both allow."""
    return tuple(number for number in numbers if plural is None or number == plural)


RANKS = {"me": 0, "m'": 0, "nous": 0, "le": 1, "la": 1, "l'": 1, "les": 1, "lui": 2, "leur": 2}
DIRECT = {
    "le": ("m", False), "la": ("f", False), "l'": ("mf", False), "les": ("mf", True),
}  # fmt: skip
AUXILIARIES = {
    "ai": ("avoir", "1s"), "a": ("avoir", "3s"), "avons": ("avoir", "1p"), "ont": ("avoir", "3p"),
    "suis": ("être", "1s"), "est": ("être", "3s"), "sommes": ("être", "1p"), "sont": ("être", "3p"),
}  # fmt: skip
NEGATIONS = ("pas", "jamais")
LINKS = {"de": "de", "d'": "de", "à": "à"}


class Infinitive(NamedTuple):
    verb: str
    clitics: list[str]
    end: int


class FrenchVerbs(FrenchNouns):
    habits = events = False
    """Whether a past so far is one of habits, and whether one is a single event."""

    def verb_begins(self) -> bool:
        word, clause = self.words[self.at], self.clause
        if word in ("ne", "n'", "me", "m'", "lui"):
            return True
        waits = clause.subject is not None and not clause.verb
        if word in RANKS:
            if waits:
                return True
            return bool(clause.verb) and self.is_awaited() and self._is_clitic()
        if word in AUXILIARIES or word in WORDS.finite:
            if clause.verb == "être" and word in WORDS.adjectives and not clause.quality:
                return clause.place != self.choose(self.at)
            return waits or not clause.verb or self.is_awaited() or self.after_phrase == self.at
        return False

    def _is_clitic(self) -> bool:
        """Return whether an article or *nous* is a clitic of an outer verb."""
        after = self.words[self.at + 1]
        if after not in WORDS.finite and after not in AUXILIARIES and after not in RANKS:
            return False
        if after not in WORDS.nouns and after not in WORDS.adjectives:
            return True
        clause = self.clause
        done = clause.gap or clause.direct or "d" not in WORDS.frames.get(clause.verb, ())
        return bool(done) != self.choose(self.at)

    def verb_group(self, clause: Clause) -> None:
        negated = self.words[self.at] in ("ne", "n'")
        self.at += negated
        clitics = self._clitics()
        word = self.words[self.at]
        lemma, auxiliary = self._finite(clause, word)
        self.at += 1
        self._negation(clause, negated)
        clause.repeated |= self.take("frequency") or self.words[self.at - 1] == "jamais"
        clause.verb = lemma
        if auxiliary:
            self._compound(clause, auxiliary)
        self._chain(clause, clitics)
        self.seen["verb"][clause.verb] += 1

    def _clitics(self) -> list[str]:
        clitics = []
        while self.words[self.at] in RANKS:
            clitics.append(self.words[self.at])
            self.at += 1
        ranks = [RANKS[clitic] for clitic in clitics]
        if ranks != sorted(set(ranks)) or ranks == [0, 2] or len(ranks) > 2:
            self.report(f"'{' '.join(clitics)}' in a wrong order")
        return clitics

    def _negation(self, clause: Clause, negated: bool) -> None:
        word = self.words[self.at]
        if word in NEGATIONS:
            self.at += 1
            self.seen["negation"][word] += 1
            if not negated:
                self.report(f"'{word}' without ne")
        elif negated:
            self.report(f"ne without pas or jamais before '{word}'")
        clause.negated = negated

    def _finite(self, clause: Clause, word: str) -> tuple[str, str]:
        """Return the verb, and the auxiliary if a participle must follow."""
        assert clause.subject is not None
        persons = clause.subject.persons()
        after = self.at + 1
        while self.words[after] in NEGATIONS or self.expression_at(after, "frequency"):
            after += 1
        if word in AUXILIARIES:
            auxiliary, person = AUXILIARIES[word]
            compound = self._is_participle(after, auxiliary)
            if auxiliary == "avoir" or compound or word != "suis" or not self.choose(self.at):
                self._agrees(clause, word, {person})
                if not compound:
                    self.seen["tense"]["present"] += 1
                if auxiliary == "avoir" and not compound:
                    self.report(f"'{word}' without a participle")
                return auxiliary, auxiliary if compound else ""
        forms = WORDS.finite.get(word, [VerbForm("?", "", ())])
        fitting = [form for form in forms if set(form.persons) & set(persons)]
        if forms[0].lemma == "?":
            self.report(f"'{word}' is no finite verb")
        else:
            self._agrees(clause, word, {person for form in forms for person in form.persons})
        fitting = [form for form in fitting if form.lemma != "être"] or fitting
        chosen = (fitting or forms)[0]
        if len({form.lemma for form in fitting}) > 1 and self.choose(self.at):
            chosen = fitting[1]
        clause.tense = chosen.tense
        self.seen["tense"][{"imperfect": "past"}.get(chosen.tense, chosen.tense)] += 1
        return chosen.lemma, ""

    def _agrees(self, clause: Clause, word: str, persons: set[str]) -> None:
        """Check that a form of these persons agrees with the subject, and learn its number."""
        subject = clause.subject
        assert subject is not None
        fitting = persons.intersection(subject.persons())
        if not fitting:
            self.report(f"'{word}' does not agree with its subject '{subject.text}'")
        elif subject.plural is None and len({person[1] for person in fitting}) == 1:
            subject.plural = fitting.pop()[1] == "p"

    def _is_participle(self, place: int, auxiliary: str) -> bool:
        word = self.words[place]
        if auxiliary == "avoir":
            return word in WORDS.participles
        verbs = WORDS.participles.get(word, ())
        return bool(verbs) and word not in WORDS.adjectives

    def _compound(self, clause: Clause, auxiliary: str) -> None:
        word = self.words[self.at]
        forms = WORDS.participles.get(word)
        if forms is None:
            self.report(f"'{word}' between auxiliary and participle")
            return
        verbs = list(dict.fromkeys(form[0] for form in forms))
        verb = verbs[1] if len(verbs) > 1 and self.choose(self.at) else verbs[0]
        for lemma, gender, plural in forms:
            if lemma == verb:
                clause.participle = auxiliary, word, gender, plural
                break
        clause.verb, clause.tense = verb, "compound"
        self.seen["tense"]["past"] += 1
        self.at += 1

    def check_past(self, clause: Clause) -> None:
        """Check that no single event stands beside a habit, in all clauses so far."""
        # A time behind a single event in an inner clause may belong to an outer clause.
        self.habits |= clause.repeated and clause.tense == "imperfect"
        self.events |= clause.tense == "compound"
        if self.habits and self.events:
            self.report("a single event beside a habit")

    def _infinitive(self, frames: frozenset[str]) -> Infinitive | None:
        place = self.at
        link = LINKS.get(self.words[place], "")
        place += bool(link)
        place += self.expression_at(place, "manner")
        clitics = []
        while self.words[place] in RANKS:
            clitics.append(self.words[place])
            place += 1
        verb = self.words[place]
        if verb not in WORDS.infinitives or "v" + link not in frames:
            return None
        if clitics and verb in WORDS.nouns and self.choose(place):
            return None
        return Infinitive(verb, clitics, place + 1)

    def _chain(self, clause: Clause, clitics: list[str]) -> None:
        """Read an infinitive after the verb, and give the clitics to the last verb."""
        found = self._infinitive(WORDS.frames.get(clause.verb, frozenset()))
        if found is not None:
            if clitics:
                self.report(f"'{clitics[0]}' stands before the infinitive")
            self.seen["verb"][clause.verb] += 1
            self._check_participle(clause, None)
            clitics, clause.verb, self.at = found.clitics, found.verb, found.end
            ranks = [RANKS[clitic] for clitic in clitics]
            if ranks != sorted(set(ranks)) or ranks == [0, 2]:
                self.report(f"'{' '.join(clitics)}' in a wrong order")
        for clitic in clitics:
            self._give(clause, clitic)

    def _give(self, clause: Clause, clitic: str) -> None:
        self.seen["person"][str(1 if clitic in ("me", "m'") else 2 if clitic == "nous" else 3)] += 1
        if clitic in DIRECT:
            genders, plural = DIRECT[clitic]
            clause.direct = Phrase(clitic, 3, genders, plural, pronoun=True)
            clause.object_before = clause.direct
        elif clitic in ("lui", "leur"):
            clause.recipient = True
        else:
            clause.unclear.append(Phrase(clitic, 1, "mf", clitic == "nous"))

    def _check_participle(self, clause: Clause, before: Phrase | None) -> None:
        """Check the participle; ``before`` is a direct object before it."""
        if clause.participle is None:
            return
        auxiliary, word, gender, plural = clause.participle
        clause.participle = None
        verb_auxiliary = WORDS.auxiliary[clause.verb]
        if verb_auxiliary == "both":
            verb_auxiliary = "avoir" if clause.direct or clause.gap else "être"
        if auxiliary != verb_auxiliary:
            self.report(f"'{clause.verb}' takes {verb_auxiliary}")
        with_ = clause.subject if auxiliary == "être" else before
        if with_ is None:
            if gender != "m" or plural:
                self.report(f"'{word}' agrees with nothing")
        elif gender not in with_.genders or not _equal(plural, with_.plural):
            self.report(f"'{word}' does not agree with '{with_.text}'")
        else:
            with_.genders = gender


def _equal(number: bool | None, other: bool | None) -> bool:
    return number is None or other is None or number == other
