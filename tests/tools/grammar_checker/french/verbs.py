"""French verb groups: clitics, negation, moods, compound tenses, participles."""

from dataclasses import replace
from typing import NamedTuple

from tests.tools.grammar_checker.french.nouns import FrenchNouns
from tests.tools.grammar_checker.french.words import AVOIR, CLASSES, WORDS
from tests.tools.grammar_checker.parts import Clause, Phrase
from tests.tools.grammar_checker.words import VerbForm

RANKS = {
    "me": 0, "m'": 0, "nous": 0, "se": 0, "s'": 0, "le": 1, "la": 1, "l'": 1, "les": 1, "lui": 2,
    "leur": 2, "y": 3, "en": 4,
}  # fmt: skip
DIRECT = {
    "le": ("m", False), "la": ("f", False), "l'": ("mf", False), "les": ("mf", True),
}  # fmt: skip
COMPOUND = {"present": "compound", "subjunctive": "past subjunctive"}
"""Compound tenses by the tense of their auxiliary."""
NEGATIONS = ("pas", "jamais")
STATES = CLASSES["states"]
LINKS = {"de": "de", "d'": "de", "à": "à"}


class Infinitive(NamedTuple):
    verb: str
    clitics: list[str]
    end: int


class FrenchVerbs(FrenchNouns):
    def verb_begins(self) -> bool:
        word, clause = self.words[self.at], self.clause
        if word in ("ne", "n'", "me", "m'", "lui", "se", "s'", "y"):
            return True
        if word in RANKS:
            if word == "en" and not self.is_finite(self.words[self.at + 1]):
                return False  # *en hiver*, *en face de*
            if clause.waits:
                return True
            return bool(clause.verb) and self.is_awaited() and self._is_clitic()
        if word in AVOIR or word in WORDS.finite:
            if clause.verb == "être" and word in WORDS.adjectives and not clause.quality:
                return clause.place != self.choose(self.at)
            after = self.after_phrase == self.at
            return clause.waits or not clause.verb or self.is_awaited() or after
        return False

    def _is_clitic(self) -> bool:
        """Return whether an article or *nous* is a clitic of an outer verb."""
        after = self.words[self.at + 1]
        if not self.is_finite(after) and after not in RANKS:
            return False
        if not self.may_name(after):
            return True
        clause = self.clause
        done = clause.gap or clause.direct or "d" not in WORDS.frames.get(clause.verb, ())
        return bool(done) != self.choose(self.at)

    def may_name(self, word: str) -> bool:
        """Return whether a word may stand behind an article: *les ratons laveurs*."""
        return word in WORDS.nouns or word in WORDS.adjectives or word in WORDS.longest

    def is_finite(self, word: str) -> bool:
        return word in WORDS.finite or word in AVOIR

    def verb_group(self, clause: Clause) -> None:
        negated = self.words[self.at] in ("ne", "n'")
        self.at += negated
        clitics = self._clitics()
        word = self.words[self.at]
        forms = self._in_mood(clause, word, any(is_own(clause, clitic) for clitic in clitics))
        self.at += 1
        self._negation(clause, negated)
        if self.words[self.at - 1] == "jamais" or self.take("frequency"):
            clause.marks.add("repeated")
        auxiliary = self._auxiliary(forms)
        if auxiliary is None:
            self._simple(clause, word, forms)
        else:
            self._agrees(clause, word, set(auxiliary.persons))
            self._compound(clause, auxiliary, clitics)
        clause.modal = clause.verb
        self._chain(clause, clitics)
        self.seen["verb"][clause.verb] += 1

    def _clitics(self) -> list[str]:
        clitics = []
        while self.words[self.at] in RANKS:
            clitics.append(self.words[self.at])
            self.at += 1
        self._check_order(clitics)
        return clitics

    def _check_order(self, clitics: list[str]) -> None:
        ranks = [RANKS[clitic] for clitic in clitics]
        if ranks != sorted(set(ranks)) or ranks[:2] == [0, 2] or len(ranks) > 2:
            self.report(f"'{' '.join(clitics)}' in a wrong order")

    def _negation(self, clause: Clause, negated: bool) -> None:
        word = self.words[self.at]
        if word in NEGATIONS:
            self.at += 1
            self.seen["negation"][word] += 1
            clause.marks |= {"not"} if word == "pas" else set()
            if not negated:
                self.report(f"'{word}' without ne")
        elif negated:
            self.report(f"ne without pas or jamais before '{word}'")
        clause.negated = negated

    def _in_mood(self, clause: Clause, word: str, reflexive: bool) -> list[VerbForm]:
        """Return the readings of a verb form that fit the mood of its clause."""
        forms = [
            form
            for form in (*AVOIR.get(word, ()), *WORDS.finite.get(word, ()))
            if reflexive or not is_pronominal(form.lemma)
        ]
        if clause.mood == "either":
            return forms
        needed = clause.mood == "subjunctive"
        fitting = [form for form in forms if (form.tense == "subjunctive") == needed]
        if forms and not fitting:
            self.report(f"'{word}' needs the {clause.mood or 'indicative'}")
        return fitting or forms

    def _auxiliary(self, forms: list[VerbForm]) -> VerbForm | None:
        """Return the auxiliary, if a participle follows."""
        word = self.words[self.at]
        for form in forms:
            if form.lemma == "avoir" and (word in WORDS.participles or word == "été"):
                return form
            if form.lemma == "être" and word in WORDS.participles and self._is_participle():
                return form
        return None

    def _is_participle(self) -> bool:
        """Return whether a participle after *être* is no adjective here."""
        word, after = self.words[self.at : self.at + 2]
        if word == "plus" and (after in WORDS.adjectives or after == "tard"):
            return False
        return word not in WORDS.adjectives or after == "par" or self.choose(self.at)

    def _simple(self, clause: Clause, word: str, forms: list[VerbForm]) -> None:
        assert clause.subject is not None
        persons = clause.subject.persons()
        known = [form for form in forms if form.lemma != "avoir" or "avoir" in WORDS.auxiliary]
        if not known:
            finding = "without a participle" if forms else "is no finite verb"
            self.report(f"'{word}' {finding}")
            clause.verb, clause.tense = ("avoir" if forms else "?"), "present"
            return
        self._agrees(clause, word, {person for form in known for person in form.persons})
        fitting = [form for form in known if set(form.persons) & set(persons)] or known
        fitting.sort(key=lambda form: not is_pronominal(form.lemma) and form.lemma != "être")
        chosen = fitting[0]
        if len({form.lemma for form in fitting}) > 1 and self.choose(self.at):
            chosen = next(form for form in fitting if form.lemma != chosen.lemma)
        clause.verb, clause.tense = chosen.lemma, chosen.tense

    def _agrees(self, clause: Clause, word: str, persons: set[str]) -> None:
        """Check that a form of these persons agrees with the subject, and learn its number."""
        subject = clause.subject
        assert subject is not None
        fitting = persons.intersection(subject.persons())
        if not fitting:
            self.report(f"'{word}' does not agree with its subject '{subject.text}'")
        elif subject.plural is None and len({person[1] for person in fitting}) == 1:
            subject.plural = fitting.pop()[1] == "p"

    def _compound(self, clause: Clause, auxiliary: VerbForm, clitics: list[str]) -> None:
        """Read the participles after an auxiliary: of a compound tense, a passive, or both."""
        helper, tense = auxiliary.lemma, auxiliary.tense
        if helper == "avoir":
            tense = self._past(auxiliary)
            if self.words[self.at] == "été":
                self.at += 1
                self.take("frequency")
                clause.verb, clause.tense = "être", tense
                if self.words[self.at] not in WORDS.participles or not self._is_participle():
                    self.seen["perfect"]["perfect"] += 1
                    return
                helper = "be"
        own = any(is_own(clause, clitic) for clitic in clitics)
        verb = self._participle(clause, helper, own)
        takes = WORDS.auxiliary[verb]
        through = "par" in WORDS.frames[verb]  # *est passé par*
        follows = self.words[self.at] == "par" and takes == "both" and not through
        moves = helper == "être" and (takes in ("être", "both") or own) and not follows
        if moves:
            tense = self._past(auxiliary)
        elif helper != "avoir":
            clause.passive = True
            self.seen["passive"]["passive"] += 1
        clause.verb, clause.tense = verb, tense
        self.seen["perfect"]["perfect"] += tense in ("compound", "past subjunctive")

    def _past(self, auxiliary: VerbForm) -> str:
        if auxiliary.tense not in COMPOUND:
            self.report(f"'{auxiliary.lemma}' before a participle in the {auxiliary.tense}")
        return COMPOUND.get(auxiliary.tense, "compound")

    def _participle(self, clause: Clause, helper: str, own: bool) -> str:
        """Read a participle; return its verb."""
        word = self.words[self.at]
        forms = [
            form for form in WORDS.participles[word] if own or not is_pronominal(form[0])
        ] or WORDS.participles[word]
        verbs = sorted({form[0]: None for form in forms}, key=lambda verb: not is_pronominal(verb))
        verb = verbs[1] if len(verbs) > 1 and self.choose(self.at) else verbs[0]
        _, gender, plural = next(form for form in forms if form[0] == verb)
        clause.participle = helper, word, gender, plural
        self.at += 1
        return verb

    def check_habits(self) -> None:
        """Check that an event in the imperfect is a habit, or happens while another does."""
        habits = [clause for clause in self.closed if "repeated" in clause.marks]
        wide = any(clause.first or clause.conjunction in self.restricting for clause in habits)
        for clause in self.closed:
            free = clause.kind == "complement" or clause in habits or wide
            related = clause.conjunction in self.conditional | self.restricting
            state = clause.passive or clause.modal in STATES
            event = clause.tense == "imperfect" and not state
            if event and not free and not related:
                self.report(f"'{clause.verb}' in the imperfect without a habit")

    def _linked(self, clause: Clause) -> Infinitive | None:
        """Return the infinitive that the verb of a clause governs, if it follows."""
        link = LINKS.get(self.words[self.at], "")
        if "v" + link not in WORDS.frames.get(clause.verb, ()):
            return None
        place = self.at + bool(link)
        return self._infinitive(clause, place + self.expression_at(place, "manner"))

    def infinitive_clause(self, clause: Clause) -> None:
        """Read *avant de la voir*, whose subject is that of the clause before."""
        mains = [each for each in self.closed if each.kind == "main"]
        subject = (mains[-1].subject if mains else None) or Phrase("?", plural=None)
        clause.subject = replace(subject, noun="", parts=(), pronoun=True)
        self.count_person(subject.person, bool(subject.plural))
        found = self._infinitive(clause, self.at)
        if found is None:
            self.report(f"'{clause.conjunction}' without an infinitive")
            return
        clause.tense = "subjunctive"  # which has the tense of any language
        self._chain(clause, self._taken(clause, found))
        self.seen["verb"][clause.verb] += 1

    def _infinitive(self, clause: Clause, place: int) -> Infinitive | None:
        clitics = []
        while self.words[place] in RANKS:
            clitics.append(self.words[place])
            place += 1
        verb = self.words[place]
        if verb not in WORDS.infinitives:
            return None
        if clitics and verb in WORDS.nouns and self.choose(place):
            return None
        if any(is_own(clause, clitic) for clitic in clitics):
            pronominal = [each for each in (f"se {verb}", f"s'{verb}") if each in WORDS.auxiliary]
            if pronominal and (verb not in WORDS.auxiliary or not self.choose(place)):
                verb = pronominal[0]
        if verb not in WORDS.auxiliary:
            self.report(f"'{verb}' without se")
            return None
        return Infinitive(verb, clitics, place + 1)

    def _chain(self, clause: Clause, clitics: list[str]) -> None:
        """Read an infinitive after the verb, and give the clitics to the last verb."""
        found = None if clause.passive else self._linked(clause)
        if found is not None:
            if clitics:
                self.report(f"'{clitics[0]}' stands before the infinitive")
            self.seen["verb"][clause.verb] += 1
            clause.marks |= {"chain"} if clause.verb not in ("pouvoir", "devoir") else set()
            self._check_participle(clause, None)
            clitics = self._taken(clause, found)
        for clitic in clitics:
            self._give(clause, clitic)

    def _taken(self, clause: Clause, found: Infinitive) -> list[str]:
        """Make an infinitive the verb of its clause; return its clitics."""
        clause.verb, self.at = found.verb, found.end
        self._check_order(found.clitics)
        if clause.verb == "être":
            self._passive_infinitive(clause)
        return found.clitics

    def _passive_infinitive(self, clause: Clause) -> None:
        """Read *vendue* of *peut être vendue*."""
        if self.words[self.at] in WORDS.participles and self._is_participle():
            clause.verb = self._participle(clause, "be", own=False)
            clause.passive = True
            self.seen["passive"]["passive"] += 1

    def _give(self, clause: Clause, clitic: str) -> None:
        if clitic in ("y", "en"):
            clause.clitics.append(clitic)
            return
        if is_own(clause, clitic):
            assert clause.subject is not None
            if not is_pronominal(clause.verb):
                self.seen["person"]["self"] += 1
                subject = clause.subject
                clause.direct = Phrase(
                    clitic, subject.person, subject.genders, subject.plural, pronoun=True,
                    reflexive=True,
                )  # fmt: skip
                clause.object_before = clause.direct
            return
        self.seen["person"][str(1 if clitic in ("me", "m'") else 2 if clitic == "nous" else 3)] += 1
        if clitic in DIRECT:
            genders, plural = DIRECT[clitic]
            clause.direct = Phrase(clitic, 3, genders, plural, pronoun=True)
            clause.object_before = clause.direct
        elif clitic in ("lui", "leur"):
            clause.recipient = True
            if "dà" not in WORDS.frames.get(clause.verb, ()):
                clause.governed = Phrase(clitic, 3, "mf", clitic == "leur", pronoun=True)
        else:
            clause.unclear.append(Phrase(clitic, 1, "mf", clitic == "nous"))

    def _check_participle(self, clause: Clause, before: Phrase | None) -> None:
        """Check the participle; ``before`` is a direct object before it."""
        if clause.participle is None:
            return
        auxiliary, word, gender, plural = clause.participle
        clause.participle = None
        verb_auxiliary = WORDS.auxiliary[clause.verb]
        reflexive = before is not None and before.reflexive
        if verb_auxiliary == "both":
            verb_auxiliary = "avoir" if clause.direct or clause.gap else "être"
        if reflexive or is_pronominal(clause.verb):
            verb_auxiliary = "être"
        if auxiliary != verb_auxiliary and not clause.passive:
            self.report(f"'{clause.verb}' takes {verb_auxiliary}")
        with_ = before if auxiliary == "avoir" else clause.subject
        if with_ is None:
            if gender != "m" or plural:
                self.report(f"'{word}' agrees with nothing")
        elif gender not in with_.genders or not _equal(plural, with_.plural):
            self.report(f"'{word}' does not agree with '{with_.text}'")
        else:
            with_.genders = gender


def is_pronominal(verb: str) -> bool:
    """Return whether an infinitive has a pronoun of its own (*se lever*, *s'endormir*)."""
    return verb.startswith(("se ", "s'"))


def is_own(clause: Clause, clitic: str) -> bool:
    """Return whether a clitic is of the person of the subject: *se lave*, *me lave*."""
    subject = clause.subject
    if subject is None or clitic in ("se", "s'"):
        return clitic in ("se", "s'")
    mine = clitic in ("me", "m'") and not subject.plural
    return subject.person == 1 and (mine or (clitic == "nous" and bool(subject.plural)))


def _equal(number: bool | None, other: bool | None) -> bool:
    return number is None or other is None or number == other
