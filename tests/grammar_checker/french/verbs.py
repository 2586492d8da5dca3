"""French verb groups: clitics, negation in two parts, auxiliaries, infinitives."""

from typing import NamedTuple

from tests.grammar_checker.french.nouns import WORDS, FrenchNouns
from tests.grammar_checker.phrases import Clause, Phrase
from tests.grammar_checker.words import VerbForm

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
    """An infinitive after another verb."""

    verb: str
    clitics: list[str]
    end: int


class FrenchVerbs(FrenchNouns):
    """Reads French verb groups."""

    habits = events = False
    """Whether a past so far is one of habits, and whether one is a single event."""

    def verb_begins(self) -> bool:
        """Return whether a verb group begins here."""
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
        """Read a verb group as the verb of ``clause``."""
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
    """Return whether two numbers may be the same."""
    return number is None or other is None or number == other
