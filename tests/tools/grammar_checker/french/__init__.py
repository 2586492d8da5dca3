"""Reads a French sentence."""

from tests.tools.grammar_checker.french.forms import WORDS, FrenchVerbs
from tests.tools.grammar_checker.reader import Clause, Phrase, mention_of
from tests.tools.grammar_checker.translation import Roles, gender_of_french
from tests.tools.grammar_checker.words import senses

PRONOUNS: dict[str, tuple[int, str, bool]] = {
    "je": (1, "mf", False), "j'": (1, "mf", False), "nous": (1, "mf", True),
    "il": (3, "m", False), "elle": (3, "f", False), "ils": (3, "m", True), "elles": (3, "f", True),
}  # fmt: skip
MONTHS = frozenset(
    ("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
     "octobre", "novembre", "décembre")
)  # fmt: skip
INDEFINITE = ("un", "une", "des", "du", "de la")
SENSES = senses("french/senses.txt")
FOOD, DRINK, BOX = ("food", "drink"), ("drink", "food"), ("container",)
FITTING: dict[str, tuple[str, ...]] = {
    "manger": FOOD, "dévorer": FOOD, "avaler": FOOD, "goûter": FOOD, "boire": DRINK,
    "siroter": DRINK, "verser": DRINK, "ouvrir": BOX, "fermer": BOX, "remplir": BOX, "vider": BOX,
    "porter": ("clothes",), "annuler": ("event",), "organiser": ("event",), "reporter": ("event",),
}  # fmt: skip
INVERSE = frozenset(("manquer", "plaire", "déplaire", "importer", "profiter", "répugner"))
"""Verbs whose object with *à* is the subject in English (*le chien lui manque*: he misses it)."""
FOR_THINGS = frozenset(
    ("acheter", "vendre", "casser", "réparer", "nettoyer", "trouver", "voler", "garder",
     "emprunter", "prêter", "jeter", "cacher", "ramasser", "chercher")
)  # fmt: skip
"""Verbs whose object is no event."""
"""Verbs that decide between the senses of their object."""


class FrenchReader(FrenchVerbs):
    def expression(self) -> bool:
        day, month, year = self.words[self.at + 1 : self.at + 4] if self._has_date() else "   "
        if month in MONTHS:
            if not (day == "1er" or day.isdigit()) or not year.isdigit():
                self.report("a wrong date")
            self.seen["name"][day.removesuffix("er")] += 1
            self.seen["name"][year] += 1
            self.at += 4
            self.seen["adverb"]["time"] += 1
            return True
        clause, time = self.clause, self.expression_at(self.at, "time")
        repeated = time > 0 and time == self.expression_at(self.at, "habit")
        read = super().expression()
        clause.repeated |= read and repeated and not self._may_belong_outside()
        return read

    def _may_belong_outside(self) -> bool:
        """Return whether a time here may tell when an outer clause in the present happens."""
        outer = [clause for clause in self.stack[:-1] if clause.verb]
        return any(clause.tense not in ("imperfect", "compound") for clause in outer)

    def _has_date(self) -> bool:
        return self.words[self.at] == "le" and self.words[self.at + 2] in MONTHS

    def degree_fits(self) -> bool:
        return self.clause.verb == "être" and self.words[self.at + 1] in WORDS.adjectives

    def related(self) -> bool:
        word, clause = self.words[self.at], self.clause
        if word == "qui":
            self.relative(subject=True)
            return True
        if word not in ("que", "qu'"):
            return False
        if clause.verb and clause.head is None and "r" in WORDS.frames[clause.verb]:
            clause.complement = True
            self.at += 1
            self.push(Clause("complement"))
        else:
            self.relative(subject=False)
        return True

    def phrase(self) -> None:
        if self._pronoun() or self._quality():
            return
        clause = self.clause
        word = self.words[self.at]
        preposition, place, bare = self._preposition()
        if not preposition:
            if word in ("de", "d'") and clause.negated and clause.verb:
                bare = "any"
            elif word in ("de", "d'") and self.words[self.at + 1] not in ("la", "l'"):
                self._bare_plural()
                return
            place = self.at + 1 if bare else self.at
            if word in ("au", "aux"):
                return
        phrase = self.noun_phrase(place, bare)
        if phrase is None:
            return
        named = phrase.noun == "name" and preposition == "à" and self.choose(self.at)
        if preposition == "à" and (phrase.noun == "town" or named):  # a town may be called Sonia
            preposition, clause.place = "in", True
        self.subject_or_attribute(phrase, preposition)
        if clause.direct is phrase and clause.negated and phrase.determiner in INDEFINITE:
            self.report(f"'{phrase.text}' needs de after a negation")

    def _pronoun(self) -> bool:
        word, clause = self.words[self.at], self.clause
        if word not in PRONOUNS or clause.verb or clause.subject is not None:
            return False
        person, genders, plural = PRONOUNS[word]
        clause.subject = clause.head = Phrase(word, person, genders, plural, pronoun=True)
        self.seen["person"][str(2 if word == "nous" else person)] += 1
        self.at += 1
        return True

    def _quality(self) -> bool:
        clause = self.clause
        if clause.verb != "être" or clause.quality:
            return False
        place = self.at + self.expression_at(self.at, "degree")
        forms = WORDS.adjectives.get(self.words[place])
        if forms is None:
            return False
        self.take("degree")
        subject = clause.subject
        assert subject is not None
        if not any(
            set(form.genders) & set(subject.genders)
            and (subject.plural is None or subject.plural in form.plurals)
            and not form.liaison
            for form in forms
        ):
            self.report(f"'{self.words[place]}' does not agree with '{subject.text}'")
        self.seen["adjective"][forms[0].lemma] += 1
        clause.quality = True
        self.at = place + 1
        return True

    def _bare_plural(self) -> None:
        """Read *de grandes maisons*."""
        if self.words[self.at + 1] in WORDS.adjectives:
            phrase = self._group(self.at + 1, "mf", True, "de")
            if phrase is not None:
                self.subject_or_attribute(phrase, "")

    def _preposition(self) -> tuple[str, int, str]:
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
                    return " ".join(words), *self._after_preposition(place + length - 1, words[-1])
        word = self.words[place]
        if word in ("à", "au", "aux"):
            return "à", *self._after_preposition(place, "à")
        if word in ("de", "d'", "du", "des") and self._is_of(place):
            return "de", *self._after_preposition(place, "de")
        return "", place, ""

    def _after_preposition(self, last: int, word: str) -> tuple[int, str]:
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

    def close(self, clause: Clause) -> None:
        self.check_past(clause)
        direct = clause.direct is not None or clause.gap is not None
        if clause.direct is not None and clause.gap is not None:
            self.report(f"'{clause.verb}' has two objects")
        recipient = clause.recipient or "à" in clause.prepositions
        before = clause.object_before or clause.gap
        frames = WORDS.frames.get(clause.verb, frozenset(("i",)))
        for pronoun in clause.unclear:
            if direct or not self._is_direct(frames, recipient):
                recipient = True
            else:
                direct, before = True, pronoun
        if not self._fits(clause, frames, direct, recipient):
            self.report(f"'{clause.verb}' has a wrong or missing complement")
        self._check_sense(clause)
        clause.direct = clause.direct or (before if direct else None)
        self._check_participle(clause, before)

    def _check_sense(self, clause: Clause) -> None:
        phrase = clause.direct or clause.gap
        kind = SENSES.get(phrase.noun) if phrase is not None else None
        if kind is None:
            return
        unfit = kind == "event" and clause.verb in FOR_THINGS
        if unfit or kind not in FITTING.get(clause.verb, kind):
            self.report(f"'{phrase.noun if phrase else ''}' does not fit '{clause.verb}'")

    def _is_direct(self, frames: frozenset[str], recipient: bool) -> bool:
        if {"d", "à"} <= frames and self.choose(1000 + self.at):
            return False
        return "d" in frames or (recipient and "dà" in frames)

    def governs(self, verb: str, preposition: str) -> bool:
        return preposition in WORDS.frames.get(verb, ())

    def roles(self, clause: Clause) -> Roles:
        """Return the subject and the object of a complete clause, as English has them."""
        subject, thing = clause.subject, clause.direct or clause.governed
        for phrase in (subject, thing):
            if phrase is not None and phrase.genders == "mf" and not phrase.pronoun and phrase.noun:
                phrase.genders = gender_of_french(phrase.noun)
        is_direct = clause.direct is not None and clause.direct.person == 3
        if clause.verb in INVERSE and not is_direct:
            subject, thing = clause.governed, clause.subject
        return Roles(mention_of(subject), mention_of(thing))

    def _fits(self, clause: Clause, frames: frozenset[str], direct: bool, recipient: bool) -> bool:
        if clause.complement:
            return "r" in frames and not direct
        for frame in frames:
            match frame:
                case "be":
                    fits = (clause.quality or clause.place) and not (direct or recipient)
                case "i":
                    fits = not (direct or recipient)
                case "d":
                    fits = direct and not recipient
                case "dà":
                    fits = direct and recipient
                case "à":
                    fits = recipient and not direct
                case _:
                    fits = frame in clause.prepositions and not direct and not recipient
            if fits:
                return True
        return False
