"""Reads a French sentence."""

import re
from itertools import pairwise

from tests.tools.grammar_checker.french.nouns import DETERMINERS
from tests.tools.grammar_checker.french.relatives import DEFINITE, PLACES, FrenchRelatives
from tests.tools.grammar_checker.french.verbs import RANKS, is_pronominal
from tests.tools.grammar_checker.french.words import CLASSES, WORDS, AdjectiveForm
from tests.tools.grammar_checker.parts import Clause, Phrase, may_be_one, united
from tests.tools.grammar_checker.senses import gender_of_french, human_of_french

PRONOUNS: dict[str, tuple[int, str, bool]] = {
    "je": (1, "mf", False), "j'": (1, "mf", False), "nous": (1, "mf", True),
    "il": (3, "m", False), "elle": (3, "f", False), "ils": (3, "m", True), "elles": (3, "f", True),
}  # fmt: skip
TONIC: dict[str, tuple[int, str, bool]] = {
    "moi": (1, "mf", False), "nous": (1, "mf", True), "lui": (3, "m", False),
    "elle": (3, "f", False), "eux": (3, "m", True), "elles": (3, "f", True),
}  # fmt: skip
"""Pronouns for persons after prepositions."""
IRREGULAR = {
    "meilleur": ("bon", "m", False), "meilleure": ("bon", "f", False),
    "meilleurs": ("bon", "m", True), "meilleures": ("bon", "f", True),
    "pire": ("mauvais", "mf", False), "pires": ("mauvais", "mf", True),
}  # fmt: skip
MEANT = {"plus": "more", "moins": "less", "aussi": "as"}
MONTHS = CLASSES["months"]
INDEFINITE = ("un", "une", "des", "du", "de la")
INVERSE = CLASSES["inverse"]
TONIC_VERBS = CLASSES["tonic"]
INSTITUTIONS = CLASSES["institutions"]
ASKING = {
    "qu' est-ce que": "what", "qu' est-ce qu'": "what", "où est-ce que": "where",
    "où est-ce qu'": "where", "est-ce que": "whether", "est-ce qu'": "whether", "qui": "who",
}  # fmt: skip
"""How questions begin."""
FORMS = {"à": ("à", "au", "aux"), "de": ("de", "d'", "du", "des")}
DATED = re.compile(r"\b(?:hier|dernier|dernière|il y a)\b|\d")
"""What tells when a single event was."""


class FrenchReader(FrenchRelatives):
    conditional = frozenset(("si", "s'"))
    restricting = frozenset(("quand", "alors que", "alors qu'", "pendant que", "pendant qu'"))
    being, standards = "être", dict.fromkeys(("as", "more"), ("que", "qu'"))
    places, dating, months = PLACES, "le", MONTHS
    quantities = ("des", "quelques", "beaucoup", "plusieurs", "deux", "trois", "quatre")
    owned = DEFINITE
    owners = ("mon", "ma", "mes", "son", "sa", "ses", "notre", "nos", "leur", "leurs")
    joining = frozenset(("et", "mais"))

    def asks(self, clause: Clause) -> bool:
        found = next((each for each in ASKING if self._has(each)), None)
        if found is None:
            return False
        self.at += len(found.split())
        self.question = ASKING[found]
        if self.question == "who":
            clause.subject = Phrase("qui", genders="m", human="h", pronoun=True)
        elif self.question == "what":
            clause.gap = Phrase("que", genders="m", human="-", pronoun=True)
        clause.place = self.question == "where"
        return True

    def _has(self, words: str) -> bool:
        expected = words.split()
        return self.words[self.at : self.at + len(expected)] == expected

    def shares_at(self, place: int) -> bool:
        word, after = self.words[place : place + 2]
        if word in PRONOUNS or self.expression_at(place, "time"):
            return False
        clitic = word in RANKS and (after in RANKS or self.is_finite(after))
        if clitic and word in DETERMINERS and self.may_name(after):
            return self.choose(place)
        return word in ("ne", "n'") or clitic or (word not in DETERMINERS and self.is_finite(word))

    def _joined(self) -> bool:
        joined = super()._joined()
        if joined and self.clause.conjunction in ("avant de", "avant d'"):
            self.infinitive_clause(self.clause)
        return joined

    def mood_after(self, conjunction: str) -> str:
        return "subjunctive" if conjunction.startswith(("bien ", "avant ")) else ""

    def phrase(self) -> None:
        if self._pronoun() or self.quality():
            return
        clause = self.clause
        word = self.words[self.at]
        preposition, place, bare = self.preposition()
        if not preposition:
            if word in ("de", "d'") and clause.negated and clause.verb:
                bare = "any"
            elif word in ("de", "d'") and self.words[self.at + 1] not in ("la", "l'"):
                self._bare_plural()
                return
            place = self.at + 1 if bare else self.at
            if word in ("au", "aux"):
                return
        phrase = self._tonic(place, preposition) or self.full_phrase(place, bare, preposition)
        if phrase is None:
            return
        if preposition == "par" and clause.passive and clause.agent is None:
            clause.agent = clause.near = phrase
            return
        named = phrase.noun == "name" and preposition == "à" and self.choose(self.at)
        if preposition == "à" and (phrase.noun == "town" or named):  # a town may be called Sonia
            preposition = "in"
        if preposition == "à" and self._is_at(phrase):
            preposition = "in"
        if preposition in PLACES:
            self.note_place(phrase, preposition)
        self.subject_or_attribute(phrase, preposition)
        if bare == "any" and clause.manner.endswith("ment"):
            self.report(f"'{clause.manner}' between the negation and 'de {phrase.text}'")
        parts = phrase.parts or (phrase,)
        indefinite = any(part.determiner in INDEFINITE for part in parts)
        if clause.direct is phrase and clause.negated and indefinite:
            self.report(f"'{phrase.text}' needs de after a negation")

    def _is_at(self, phrase: Phrase) -> bool:
        """Return whether *à* tells a place here (*au cinéma*)."""
        frames = WORDS.frames.get(self.clause.verb, frozenset())
        definite = phrase.determiner in (*DEFINITE, "") and not phrase.plural
        if not definite or phrase.noun not in INSTITUTIONS:
            return False
        return not frames & {"à", "dà"} or self.choose(3000 + self.at)

    def full_phrase(self, place: int, bare: str = "", preposition: str = "") -> Phrase | None:
        """Read a noun phrase, or two with *et* between them; *à* and *de* are said twice."""
        first = self.noun_phrase(place, bare)
        if first is not None and bare == "any":
            first.determiner = "any"
        return self._with_second(first, preposition)

    def _with_second(self, first: Phrase | None, preposition: str) -> Phrase | None:
        """Read the second of two noun phrases with *et* between them."""
        if first is None or self.words[self.at] != "et":
            return first
        begins, merged = self.at + 1, ""
        begins += self.words[begins] == "jusqu'"
        last = preposition.split()[-1] if preposition else ""
        word = self.words[begins]
        if last in FORMS and word in FORMS[last]:
            begins, merged = self.after_preposition(begins, last)
        elif not self._noun_begins(begins):
            return first
        elif last in FORMS:
            self.report(f"'{last}' is missing before '{word}'")
        second = self.noun_phrase(begins, merged)
        return first if second is None else united(first, second)

    def _noun_begins(self, place: int) -> bool:
        """Return whether a noun phrase begins after *et*, rather than a verb with a clitic."""
        word, after = self.words[place : place + 2]
        if word in RANKS and (self.is_finite(after) or after in RANKS):
            return self.may_name(after) and not self.choose(place)
        named = word[0].isupper() or word in ("monsieur", "madame", "beaucoup")
        partitive = word in ("de", "d'")
        return word in DETERMINERS or word.isdigit() or named or partitive

    def _tonic(self, place: int, preposition: str) -> Phrase | None:
        word = self.words[place]
        if not preposition or word not in TONIC:
            return None
        person, genders, plural = TONIC[word]
        self.at = place + 1
        self.clause.tonic |= preposition == "à"
        self.count_person(person, plural)
        return Phrase(word, person, genders, plural, pronoun=True)

    def _pronoun(self) -> bool:
        word, clause = self.words[self.at], self.clause
        if word not in PRONOUNS or clause.verb or clause.subject is not None:
            return False
        person, genders, plural = PRONOUNS[word]
        clause.subject = clause.near = Phrase(word, person, genders, plural, pronoun=True)
        self.count_person(person, plural)
        self.at += 1
        return True

    def quality_at(self, place: int) -> str:
        forms = WORDS.adjectives.get(self.words[place])
        if forms is None:
            return ""
        self._agree_quality(self.words[place], forms)
        return forms[0].lemma

    def _agree_quality(self, word: str, forms: list[AdjectiveForm]) -> None:
        subject = self.clause.subject
        assert subject is not None
        if not any(
            set(form.genders) & set(subject.genders)
            and (subject.plural is None or subject.plural in form.plurals)
            and not form.liaison
            for form in forms
        ):
            self.report(f"'{word}' does not agree with '{subject.text}'")

    def compared_at(self, place: int) -> tuple[str, str, int]:
        word, after = self.words[place : place + 2]
        if word in MEANT and after in WORDS.adjectives:
            lemma = self.quality_at(place + 1)
            if word == "plus" and lemma == "bon":
                self.report(f"'plus {after}' must be meilleur")
            return MEANT[word], lemma, 2
        if word not in IRREGULAR:
            return "", "", 0
        lemma, genders, plural = IRREGULAR[word]
        self._agree_quality(word, [AdjectiveForm(lemma, genders, (plural,), before=True)])
        return "more", lemma, 1

    def _bare_plural(self) -> None:
        """Read *de grandes maisons*."""
        if self.words[self.at + 1] in WORDS.adjectives:
            phrase = self._with_second(self._group(self.at + 1, "mf", True, "de"), "")
            if phrase is not None:
                self.subject_or_attribute(phrase, "")

    def close(self, clause: Clause) -> None:
        self._check_event(clause)
        self._check_goal(clause)
        self._place_clitics(clause)
        self.resolve_dont(clause)
        direct = clause.direct is not None or clause.gap is not None
        if clause.direct is not None and clause.gap is not None:
            self.report(f"'{clause.verb}' has two objects")
        recipient = clause.recipient or "à" in clause.prepositions
        before = clause.object_before or clause.gap
        frames = WORDS.frames.get(clause.verb, frozenset(("i",)))
        self._check_tonic(clause)
        for pronoun in clause.unclear:
            if direct or not self._is_direct(frames, recipient):
                recipient = clause.recipient = True
                clause.governed = clause.governed or pronoun
            else:
                direct, before = True, pronoun
        if clause.passive:
            if direct or clause.complement or not frames & {"d", "dà"}:
                self.report(f"'{clause.verb}' has no passive")
        elif not self._fits(clause, frames, direct, recipient):
            self.report(f"'{clause.verb}' has a wrong or missing complement")
        many = clause.governed is not None and clause.governed.determiner == "beaucoup"
        if clause.negated and clause.verb in INVERSE and many:
            self.report(f"a negation before '{clause.verb} à beaucoup'")
        clause.direct = clause.direct or (before if direct else None)
        self._check_participle(clause, before)

    def check_sentence(self) -> None:
        super().check_sentence()
        self.check_habits()
        mains = [clause for clause in self.closed if clause.kind == "main"]
        for before, clause in pairwise(mains):
            one = may_be_one(before.subject, clause.subject)
            if one and clause.conjunction.startswith("avant q"):
                self.report(f"'{clause.conjunction}' with the same subject needs an infinitive")
            if clause.shared:
                self._check_shared(before, clause)
        for clause in self.closed:
            outer = clause.outer if clause.antecedent is not None else None
            if outer is None or outer.conjunction in self.conditional:
                continue
            if (outer.tense, clause.tense) == ("imperfect", "compound"):
                self.report(f"'{clause.verb}' was over before '{outer.verb}'")

    def _check_shared(self, before: Clause, clause: Clause) -> None:
        """Check that a subject is said again where the tense changes, and in the first person."""
        tenses = {before.tense, clause.tense}
        mine = clause.subject is not None and clause.subject.person == 1
        if mine or tenses == {"compound", "imperfect"}:
            self.report(f"the subject of '{clause.verb}' must be said again")

    def _check_goal(self, clause: Clause) -> None:
        """Check that *aller à* has a definite place: *aller dans une maison*."""
        goal = clause.governed
        if clause.verb == "aller" and goal is not None and "à" in clause.prepositions:
            some = INDEFINITE + self.quantities + self.owners
            if any(
                each.determiner in some or each.determiner.isdigit() or each.noun == "quartier"
                for each in goal.parts or (goal,)
            ):
                self.report(f"'aller à {goal.text}' must be dans")

    def _check_event(self, clause: Clause) -> None:
        """Check that *pouvait* is no single event (*a pu*)."""
        single = any(DATED.search(time) for time in clause.times)
        could = clause.modal == "pouvoir" and clause.tense == "imperfect"
        if single and could and clause.conjunction not in self.conditional:
            self.report(f"the imperfect of pouvoir with '{clause.times[0]}'")

    def _place_clitics(self, clause: Clause) -> None:
        """Decide what *y* and *en* stand for: an object with a preposition, or a place."""
        frames = WORDS.frames.get(clause.verb, frozenset())
        for clitic in clause.clitics:
            fitting = ("de",) if clitic == "en" else ("à", "dans", "sur")
            frame = next((each for each in fitting if each in frames), "")
            free = "i" in frames or "d" in frames or frame in ("dans", "sur")
            if clitic == "y" and (not frame or (free and not self.choose(2000 + self.at))):
                self.seen["adverb"]["place"] += 1
                clause.place = True
                clause.places.append("")
                clause.prepositions |= {frame} - {""}
            else:
                self.seen["person"]["3"] += 1
                clause.prepositions.add(frame)
                if not frame:
                    self.report(f"'{clause.verb}' has no object with de")
                clause.governed = Phrase(clitic, 3, "mf", None, human="-", pronoun=True)
        clause.clitics = []

    def _check_tonic(self, clause: Clause) -> None:
        tonic = clause.verb in TONIC_VERBS or is_pronominal(clause.verb)
        if clause.recipient and tonic:
            self.report(f"'lui' with '{clause.verb}', which needs à and a pronoun")
        if clause.tonic and not tonic and not clause.unclear:
            self.report(f"'{clause.verb} à' and a pronoun: must be lui or leur")

    def _is_direct(self, frames: frozenset[str], recipient: bool) -> bool:
        if {"d", "à"} <= frames and self.choose(1000 + self.at):
            return False
        return "d" in frames or (recipient and "dà" in frames)

    def is_person(self, phrase: Phrase) -> bool:
        return phrase.noun == "name" or human_of_french(phrase.noun) == "h"

    def governs(self, clause: Clause, preposition: str) -> bool:
        frames = WORDS.frames.get(clause.verb, frozenset())
        return preposition in frames or (
            preposition == "in" and "dans" in frames and clause.governed is None
        )

    def participants(self, clause: Clause) -> tuple[Phrase | None, Phrase | None]:
        subject, thing = super().participants(clause)
        for phrase in (subject, thing):
            for part in (phrase.parts or (phrase,)) if phrase is not None else ():
                if part.noun and not part.pronoun:
                    part.human = human_of_french(part.noun)
                    if part.genders == "mf":
                        part.genders = gender_of_french(part.noun)
        is_direct = clause.direct is not None and clause.direct.person == 3
        to = clause.recipient or "à" in clause.prepositions
        if to and clause.verb in INVERSE and not is_direct and not clause.passive:
            return clause.governed, subject
        return subject, thing

    def _fits(self, clause: Clause, frames: frozenset[str], direct: bool, recipient: bool) -> bool:
        if clause.complement:
            return "r" in frames and not direct
        for frame in frames:
            match frame:
                case "be":
                    fits = bool(clause.quality or clause.place) and not (direct or recipient)
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
