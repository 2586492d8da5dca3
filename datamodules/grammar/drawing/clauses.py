"""Draws clauses, with the clauses inside them."""

from datamodules.grammar.drawing.circumstances import is_negated
from datamodules.grammar.drawing.draws import Pool
from datamodules.grammar.drawing.frames import (
    BE,
    FIRST_PERSONS,
    LOCATED,
    SPEAKERS,
    Frames,
    clashes,
    is_unclear,
    taken_up,
)
from datamodules.grammar.drawing.noun_phrases import POSSESSIVES, kind_of, may_be_told_apart
from datamodules.grammar.drawing.plans import ClausePlace, Plan
from datamodules.grammar.drawing.writer import NothingLeftError
from datamodules.grammar.meaning.phrases import (
    HUMAN,
    THIRD_SINGULAR,
    Clause,
    NounPhrase,
    Participant,
    Prepositional,
    Pronoun,
    gender_of,
)

MOST_TRIES, MOST_TRIES_INSIDE = 50, 30  # draws for a place, and inside another clause
TELLER_SHARE = 0.5  # share of pronouns for the subject around, where one fits
_ENOUGH = (*POSSESSIVES, "this", "every")  # determiners that a relative clause makes *the*
_PRESENT, _PAST = ("present", "known"), ("past", "done")  # tenses and marks of relative clauses
_OTHER_TENSES = {
    "future": Pool(("present", "past"), (1, 2)), "present": Pool(("present", "past"), (1, 1)),
}  # fmt: skip
"""Tenses of relative clauses, by the tense around them."""
LEAST_GAP = 3  # fewest words of an attribute or of a relative clause
HABIT_SHARE = 0.3  # share of sentences whose past is one of habits, not of single events
CONDITIONAL = ("supposed", "unreal")  # tenses of the clauses of a condition


class Clauses(Frames):
    """Writer of clauses."""

    def draw_tense(self) -> None:
        """Draw the tense of a sentence."""
        self.tense, self.habit = self.tenses.draw(self.random), False
        if self.tense == "past":
            if self.shares["perfects"].choose():
                self.tense = "perfect"
            else:
                self.habit = self.random() < HABIT_SHARE

    def clause(self, plan: Plan, place: ClausePlace) -> Clause:
        """Draw a clause that may be kept.

        Raises ``NothingLeftError`` if none is found: the clause around it may then leave another
        place.
        """
        if self._keep is None:
            return self._clause(plan, place)
        tries = MOST_TRIES if place.main else MOST_TRIES_INSIDE
        return self.first_kept(tries, lambda: self._clause(plan, place), self._keep)

    def inside(self, plan: Plan, place: ClausePlace, tense: str, habit: bool = False) -> Clause:
        """Draw a clause in a tense of its own."""
        with self.in_tense(tense, habit):
            return self.clause(plan, place)

    def _clause(self, plan: Plan, place: ClausePlace) -> Clause:
        """Draw a clause; what it lacks of the budget's words is left for later clauses."""
        words = place.words
        if words is None:
            words = self.budget.take(0.6 + 0.8 * self.random())
        else:
            self.budget.clauses -= 1
        self.clauses += 1
        self.words += words
        subject = place.subject
        if subject is None and place.verbs is None and not place.named:
            subject = self.subject_pronoun(place)
        # A clause of given length fills a gap already: no gap opens inside its subject.
        opens = subject is None and place.words is None and not place.plain
        distance = self._distance() if opens else 0
        written = place.gap not in ("subject", "shared") and subject.__class__ is not Pronoun
        if written and not opens:
            self.distances.allows(0)  # counts as no words between a noun and its verb
        marks = place.first and self.habit  # nothing marks a habit behind a relative clause
        wide = distance > 0 and not marks and not place.gap
        in_subject = None
        if wide and plan.depth < self.deepest and self.shares["embedding"].draw():
            self.budget.clauses += 1
            in_subject = Plan(plan.depth + 1)
        at_end = plan.inside
        place.host = at_end is not None
        frame, verb = self._frame(words, subject, place)
        told = place.gap or place.verbs or place.kind or place.host
        passive = subject is None and verb.passive and not told and self.shares["passives"].draw()
        mode = self._mode(frame, verb, words, place, passive)
        clause = Clause(self.unit(), verb, mode, gap=place.gap, antecedent=place.antecedent)
        clause.synonym = self._synonym()
        if subject is None:
            subject = self._draw_subject(clause, frame, distance, in_subject, place)
            words -= 2
            if subject.relative is not None:
                self._unsquint(clause)
        elif place.gap != "subject" and subject is not place.antecedent:
            clause.subject = subject
            words -= 1 if subject.__class__ is Pronoun else 2
        frame = "passive" if passive else frame
        spare = words - self.complete(clause, frame, subject, place)
        spare = self._surround(clause, frame, spare, place)
        self.words -= spare
        self.budget.words = max(0, self.budget.words + spare)
        if at_end is not None:
            self._hold(clause, at_end)
            if clause.time is not None and not holds_clause(clause):
                self.shares["fronting"].count(clause.time_first, 1)
        if verb.passive and place.main and place.first and type(subject) is NounPhrase:
            self.shares["passives"].count(passive, not holds_clause(clause))
        return clause

    def _unsquint(self, clause: Clause) -> None:
        """Leave no adverb behind a relative clause: *the man who sold bells often sings*."""
        mode = clause.mode
        if mode.adverb is not None or mode.negation == "never":
            clause.mode = mode._replace(adverb=None, negation="not" if mode.negation else "")

    def _draw_subject(
        self, clause: Clause, frame: str, distance: int, plan: Plan | None, place: ClausePlace
    ) -> NounPhrase:
        """Draw the subject of the sentence, which is the object of a passive.

        Its number is not that of an object that could be taken for the subject (``place.apart``).
        """
        verb, mode, apart = clause.verb, clause.mode, place.apart
        kinds = verb.objects if mode.passive else verb.subjects
        if place.governs or place.kind == "moment":
            kinds = HUMAN
        elif verb is BE:
            kinds = LOCATED if frame == "location" else self.vocabulary.described
        role = "denied subject" if mode.negation else "subject"
        if mode.negation and frame == "inverse":  # the object elsewhere
            role = "denied other"
        elif frame in ("quality", "location") or mode.tense == "perfect":
            role = "known subject"  # who is known: not *a president has slept*
        senses = None if mode.passive else verb
        number = None if apart is None else not apart.plural
        subject = self.noun_phrase(kinds, role, None, distance > 0, senses, number)
        if mode.passive:
            clause.object = subject
        else:
            clause.subject = subject
        if distance and not (frame == "ditransitive" or verb.dative):  # *der Freund der Frau hilft*
            self._open_gap(subject, clause, distance, plan)
        second = 0 if clause.gap else self.coordinate(subject)
        if second:
            self.words += second
            self.distances.count(second)
        return subject

    def _distance(self) -> int:
        """Draw the number of words between subject and verb, and take them from the budget.

        The numbers are even from ``LEAST_GAP`` to twice the mean, so that all occur equally often;
        they are larger while clauses without room for any keep the mean too low.
        """
        most = max(LEAST_GAP + 1, round(2 * self.knobs.distance + self.distances.lack / 6))
        wanted = LEAST_GAP + int(self.random() * (most - LEAST_GAP + 1))
        wanted = max(LEAST_GAP, min(wanted, self.budget.free))
        if not self.distances.allows(wanted) or wanted > self.budget.free:
            return 0
        self.budget.words -= wanted
        return wanted

    def _open_gap(self, subject: NounPhrase, around: Clause, words: int, plan: Plan | None) -> None:
        """Put an attribute or a relative clause between a subject and its verb.

        The last noun there is an *attractor* if its number is not the number of the subject.
        """
        plural = subject.core.plural != self.shares["attractors"].draw()
        before, outer, clause = self.words, self.in_subject, None
        if plan is not None:
            self.in_subject = True
            alike = plural == subject.core.plural
            clause = self._relative(subject, around, plan, words - 1, alike)
            self.in_subject = outer
        if clause is None:
            written = self.give_attributes(subject, plural)
            self.distances.count(written)
            self.words += written
        else:
            self.distances.count(self.words - before + 1)
            inner = last_noun(clause)
            if inner is not None:
                self.set_number(inner, plural)
        last = last_part(subject)
        if last is not subject and last.core.noun.counted:
            self.shares["attractors"].count(last.core.plural != subject.core.plural, 1)

    def _relative(
        self,
        phrase: NounPhrase,
        around: Clause,
        plan: Plan,
        words: int | None = None,
        alike: bool = False,
    ) -> Clause | None:
        """Give a noun phrase of the clause ``around`` a relative clause; None if no verb fits.

        At the end of the clause (no number of ``words``), a pronoun may mean its subject. No noun
        of one number (``alike``) is the subject where the phrase could be.
        """
        if phrase.core.determiner in _ENOUGH:  # of several bells, *his bells that fall*
            phrase.core = phrase.core._replace(determiner="the", possessor=None)
        teller = around.subject or around.antecedent if words is None else None
        for tense, mark in self._tenses_inside(around):
            kind = kind_of(phrase)
            usual, others = self.gaps[kind, plan.inside is not None, mark]
            other = others is not None and self.shares["relatives"].draw()
            gaps = others if other or usual is None else usual
            if gaps is None:
                continue
            place = ClausePlace(mark=mark, antecedent=phrase, words=words)
            place.gap = gaps.draw(self.random)
            if not self._give_antecedent(place, phrase, teller, alike):
                continue
            self.describe(*phrase.core.adjectives)
            before = self.counted()
            try:
                phrase.relative = self.inside(plan, place, tense)
            except NothingLeftError:
                self.uncount(before)
                continue
            if self.gaps[kind, True, mark][1] is not None:
                self.shares["relatives"].count(gaps is others, 1)
            return phrase.relative
        return None

    def _give_antecedent(
        self, place: ClausePlace, phrase: NounPhrase, teller: Participant | None, alike: bool
    ) -> bool:
        """Decide what a relative clause says of its antecedent; return whether a verb fits."""
        governed, frame = phrase, "transitive"
        match place.gap:
            case "object" | "oblique":
                frame = "transitive" if place.gap == "object" else "prepositional"
                place.apart, place.subject = phrase, self._teller(teller, phrase)
                if place.subject is None and alike:
                    place.subject = FIRST_PERSONS.draw(self.random)
                elif place.subject is None:
                    place.subject = self.subject_pronoun(place)
            case "owner of object":
                place.gap = "owner"
                place.given = governed = self.owned_phrase(self.owned_kinds(place.mark))
                place.subject = FIRST_PERSONS.draw(self.random)  # *dont la souris a vu le cheval*
            case "owner":
                place.subject = self.owned_phrase(("kin",))
                return True
            case "place":
                place.mark += " placed"
                return True
            case _:
                place.subject = phrase
                return True
        # The verbs by which somebody may have told the antecedent apart.
        place.verbs = self.vocabulary.verbs[frame, "person", governed.core.noun, place.mark]
        return place.verbs is not None

    def _teller(self, teller: Participant | None, other: NounPhrase) -> Pronoun | None:
        """Draw a pronoun for the subject of the clause around, or nothing."""
        if teller is None or self.random() >= TELLER_SHARE or kind_of(teller) not in HUMAN:
            return None
        pronoun = taken_up(teller)
        if pronoun.person not in SPEAKERS:
            epicene = pronoun.noun is not None and pronoun.noun.epicene
            he = pronoun.person == THIRD_SINGULAR and gender_of(pronoun) == "m" and not epicene
            if clashes(teller, other) or (not he and teller.person == other.person):
                return None  # German *die sie sehen*
        return pronoun

    def _tenses_inside(self, around: Clause) -> list[tuple[str, str]]:
        """Draw the tenses of a relative clause of a clause, and the marks of its verb, best first.

        Beside what lasted in the past, an event would need a past before the past.
        """
        if self.tense in CONDITIONAL or self.habit:
            return [_PRESENT]
        other = _OTHER_TENSES.get(self.tense)
        if other is not None:
            return [_PRESENT, _PAST] if other.draw(self.random) == "present" else [_PAST, _PRESENT]
        lasts = self.tense == "past" and (around.verb.state or around.mode.modal is not None)
        return [("past", "known state") if lasts else _PAST]

    def extend(self, clause: Clause, last: bool) -> bool:
        """Let the last noun of a clause have a relative clause, if one fits; return whether it
        has: its nouns must be no others that the clauses behind could mean, if it is not the last.
        """
        inner, depth = clause, 1
        while (held := held_clause(inner)) is not None and depth < self.deepest:
            inner, depth = held, depth + 1
        if held or inner.time or inner.place or inner.manner or inner.mode.passive:
            return False
        host = _last_participant(inner)
        if not (isinstance(host, NounPhrase) and may_be_told_apart(host)):
            return False
        before = self.counted()
        with self.in_tense(inner.mode.tense, inner.mode.habit):
            self._hold(inner, Plan(depth))
        if host.relative is None:
            return False
        if (last or not is_unclear(clause)) and self.is_kept(clause):
            return True
        host.relative = None
        self.uncount(before)
        return False

    def _hold(self, clause: Clause, plan: Plan) -> None:
        """Put a clause at the end of another: after *that*, or after the last noun."""
        host = _last_participant(clause)
        if clause.verb.frame == "reporting":
            tense, doubted = self.tenses.draw(self.random), clause.verb.doubting
            if tense == "past" and (doubted or self.random() < self.knobs.perfects):
                tense = "perfect"
            elif tense == "future" and doubted:
                tense = "present"
            named = clause.subject is None or clause.subject.person in SPEAKERS
            place = ClausePlace(subjunctive=doubted, named=named)
            clause.complement = self.inside(plan, place, tense)
        elif isinstance(host, NounPhrase):
            if is_negated(clause, host):  # French would need the subjunctive
                host.core = host.core._replace(determiner="the")
            self._relative(host, clause, plan)


def _last_participant(clause: Clause) -> Participant | None:
    return clause.object if clause.verb.frame == "transitive" else clause.oblique


def held_clause(clause: Clause) -> Clause | None:
    """Return the clause that a clause holds after its verb."""
    if clause.complement is not None:
        return clause.complement
    for part in (None if clause.mode.passive else clause.object, clause.oblique):
        if isinstance(part, NounPhrase) and part.relative is not None:
            return part.relative
    return None


def holds_clause(clause: Clause) -> bool:
    """Return whether a clause holds another after its verb."""
    return held_clause(clause) is not None


def last_noun(clause: Clause) -> NounPhrase | None:
    """Return the last noun phrase of a relative clause, as English orders the parts."""
    place = clause.place.phrase if isinstance(clause.place, Prepositional) else None
    parts = (clause.standard, place, clause.oblique, clause.recipient, clause.object)
    for phrase in (*parts, clause.subject):
        if isinstance(phrase, NounPhrase):
            return last_part(phrase)
    return None


def last_part(phrase: NounPhrase) -> NounPhrase:
    """Return the last noun phrase inside a noun phrase: the phrase itself, if nothing follows."""
    inner = None if phrase.relative is None else last_noun(phrase.relative)
    for part in (phrase.beside, phrase.attribute and phrase.attribute.phrase):
        if inner is None and part is not None:
            inner = last_part(part)
    return inner or phrase
