"""Clauses of an exact number of English words, written frame by frame."""

from collections.abc import Callable
from typing import Any, NamedTuple

from datamodules.grammar import plans
from datamodules.grammar.choices import (
    CLITICS,
    OWNABLE,
    PRONOUNS,
    REPORTING,
    adjective_after_be,
    adjectives_after_be,
    adjunct_prepositions,
    place_adverbs,
    place_prepositions,
    time_adverbs,
    verbs,
)
from datamodules.grammar.lexicon.words import ANIMATE, DEGREES, Fixed, Noun, Verb
from datamodules.grammar.lexicon.zipf import zipf
from datamodules.grammar.nominals import (
    NO_LEAD,
    SHAPE_NUMBER,
    Lead,
    NounForm,
    Role,
    Shape,
    bare,
    prefixes,
    preposition,
)
from datamodules.grammar.noun_phrases import Draft
from datamodules.grammar.phrase import crossed, fixed
from datamodules.grammar.plans import Adjunct, Group, NounPlan
from datamodules.grammar.verb_groups import (
    BE,
    IT,
    NOUN_SUBJECTS,
    PERSONAL,
    THEM,
    Subject,
    verb_group,
    without_pronoun,
)

THAT = Lead("that", "que", ((0, 0),))
_TO = Lead("", "à", ((0, 0),))
_THAN = Lead("as", "que", ((0, 0),))
_AS = Fixed("as", "aussi", ((0, 0),))
_AND = fixed("and", "et", ((0, 0),))
_WHO = fixed("who", "qui", ((0, 0),))
_THAT_SUBJECT = fixed("that", "qui", ((0, 0),))
_DEGREES = zipf(DEGREES)
_IL = SHAPE_NUMBER[Shape(following="il")]

_CLASSES = {
    "person": ("person",),
    "thing": (*OWNABLE[:-1], "drink", "place", "landmark"),
    "portable": ("thing", "clothes", "vehicle"),
    "possessed": OWNABLE,
}
_OPEN = ("place", "landmark")
_INDOORS = ("place", "furniture")

# Classes of nouns that can be located, with the classes of their places.
_LOCATIONS = {
    "person": _OPEN,
    "animal": _OPEN,
    "vehicle": _OPEN,
    "thing": _INDOORS,
    "clothes": _INDOORS,
}

_IS = {
    ("present", False): ("is", "a"),
    ("present", True): ("are", "a"),
    ("past", False): ("was", "avait"),
    ("past", True): ("were", "avait"),
}
# *There* links to *il y*; *no* links to *ne*, *pas* and *de*.
_THERE = {
    key: Lead(f"there {be}", f"il y {have}", ((0, 0), (0, 1), (1, 2)))
    for key, (be, have) in _IS.items()
}
_THERE_NO = {
    key: Lead(
        f"there {be} no", f"il ne y {have} pas de", ((0, 0), (2, 1), (0, 2), (1, 3), (2, 4), (2, 5))
    )
    for key, (be, have) in _IS.items()
}


class Actor(NamedTuple):
    """The subject of a clause: its agreement, its noun class, and its noun (None for a pronoun)."""

    agreement: Subject
    kind: str
    noun: Noun | None


def _actor(form: NounForm) -> Actor:
    noun = form.noun
    kind = "person" if noun.kind == "name" else noun.kind
    return Actor(NOUN_SUBJECTS[noun.gender, form.plural], kind, noun)


class Clauses(Draft):
    """A draft that is written clause by clause."""

    tense: str = "present"

    def clause(self, words: int, lead: Lead = NO_LEAD) -> None:
        """Append a clause of 3 to ``LONGEST_CLAUSE`` English words after ``lead``."""
        frame, slots = plans.clauses(self.tense).draw(words, self.random)
        if frame == "existence":
            self._existence(lead, *slots)
            return
        subject, group, *rest = slots
        actor = self._subject(subject, group, lead)
        self._predicate(frame, actor, group, rest)

    def _predicate(self, frame: str, actor: Actor, group: Group, rest: list[Any]) -> None:
        write: Callable[..., None] = getattr(self, "_" + frame)
        write(actor, group, *rest)

    def _subject(self, plan: NounPlan, group: Group, lead: Lead) -> Actor:
        if plan.kind == "pronoun":
            subject = PRONOUNS.draw(self.random)
            self.lead(lead, subject.shape)
            return Actor(subject, "person", None)
        if plan.kind == "possessed":
            return _actor(self.possessed(OWNABLE, plan.words, lead))
        kinds = _CLASSES.get(plan.kind) or (("person",) if self.random() < 0.7 else ("animal",))
        role: Role = "denied" if group.mode.negation else "free"
        form = self.noun_phrase(kinds, plan.words, lead, role)
        self._relative(form, plan.relative)
        return _actor(form)

    def _relative(self, form: NounForm, words: int) -> None:
        """Append a relative clause of ``words`` words to a noun; 0 means no clause."""
        if not words:
            return
        tense = self.tense
        if tense == "future":
            self.tense = "present"  # a future clause would be too long for small ``words``
        antecedent = _actor(form)
        if antecedent.kind in ANIMATE and self.random() < 0.6:
            self._subject_relative(antecedent, words)
        else:
            self._object_relative(antecedent, words)
        self.tense = tense

    def _subject_relative(self, antecedent: Actor, words: int) -> None:
        self.phrases.append(_WHO if antecedent.kind == "person" else _THAT_SUBJECT)
        frame, (group, *rest) = plans.subject_relatives(self.tense).draw(words - 1, self.random)
        self._predicate(frame, antecedent, group, rest)

    def _object_relative(self, antecedent: Actor, words: int) -> None:
        _, (plan, group) = plans.object_relatives(self.tense).draw(words - 1, self.random)
        actor = self._subject(plan, group, THAT)
        verb = self._verb("transitive", actor, group, (antecedent.kind,))
        agreement = antecedent.agreement
        self.phrases.append(verb_group(actor.agreement, verb, group.mode, None, agreement))

    def _verb(self, frame: str, actor: Actor, group: Group, objects: tuple[str, ...] = ()) -> Verb:
        table = verbs(frame, actor.kind, group.verb_words, group.mode.past, objects)
        return table.draw(self.random)

    def _intransitive(self, actor: Actor, group: Group, adjunct: Adjunct) -> None:
        verb = self._verb("intransitive", actor, group)
        self.phrases.append(verb_group(actor.agreement, verb, group.mode))
        self._adjunct(group, adjunct)

    def _transitive(self, actor: Actor, group: Group, plan: NounPlan, adjunct: Adjunct) -> None:
        self._object("transitive", actor, group, plan, "direct")
        self._adjunct(group, adjunct)

    def _prepositional(
        self, actor: Actor, group: Group, plan: NounPlan, adjunct: Adjunct | None = None
    ) -> None:
        self._object("prepositional", actor, group, plan, "free")
        if adjunct is not None:
            self._adjunct(group, adjunct)

    def _object(self, frame: str, actor: Actor, group: Group, plan: NounPlan, role: Role) -> None:
        """Append a verb and its object."""
        wanted = {"name": ("person",), "possessed": OWNABLE}.get(plan.kind, ())
        verb = self._verb(frame, actor, group, wanted)
        self.phrases.append(verb_group(actor.agreement, verb, group.mode))
        if plan.kind == "possessed":
            kinds = tuple(kind for kind in verb.objects if kind in OWNABLE)
            form = self.possessed(kinds, plan.words)
        else:
            if group.mode.negation:
                role = "denied direct" if role == "direct" else "denied"
            lead = preposition(*verb.preposition)
            form = self.noun_phrase(verb.objects, plan.words, lead, role, actor.noun)
        self._relative(form, plan.relative)

    def _clitic(self, actor: Actor, group: Group, adjunct: Adjunct) -> None:
        verb = self._verb("transitive", actor, group, ("person",))
        clitic = CLITICS.draw(self.random)
        self.phrases.append(verb_group(actor.agreement, verb, group.mode, clitic))
        self._adjunct(group, adjunct)

    def _anaphora(self, actor: Actor, group: Group, plan: NounPlan, again: Group) -> None:
        """Append *buys the apple and eats it*; the French pronoun has the gender of the noun."""
        verb = self._verb("transitive", actor, group)
        self.phrases.append(verb_group(actor.agreement, verb, group.mode))
        form = self.noun_phrase(verb.objects, plan.words, NO_LEAD, "direct", actor.noun)
        self.phrases.append(_AND)
        table = verbs("transitive", actor.kind, 1, again.mode.past, (form.noun.kind,))
        second = table.draw(self.random)
        while second is verb:
            second = table.draw(self.random)
        singular = PERSONAL if form.noun.kind == "person" else IT
        clitic = (THEM if form.plural else singular)[form.noun.gender]
        subject = without_pronoun(actor.agreement)
        self.phrases.append(verb_group(subject, second, again.mode, clitic))

    def _ditransitive(self, actor: Actor, group: Group, to: NounPlan, given: NounPlan) -> None:
        verb = self._verb("ditransitive", actor, group)
        self.phrases.append(verb_group(actor.agreement, verb, group.mode))
        denied = bool(group.mode.negation)
        recipient = self.draw_noun_phrase(
            ("person",), to.words, _TO, "denied" if denied else "free", actor.noun
        )
        gift = self.draw_noun_phrase(
            verb.objects, given.words, NO_LEAD, "denied direct" if denied else "direct"
        )
        self.phrases.append(crossed(recipient.whole(), gift.whole()))

    def _report(self, actor: Actor, group: Group, words: int) -> None:
        verb = REPORTING.draw(self.random)
        self.phrases.append(verb_group(actor.agreement, verb, group.mode))
        self.clause(words, THAT)

    def _adjective(self, actor: Actor, group: Group, graded: bool, _: None) -> None:
        degree = _DEGREES.draw(self.random) if graded else None
        self._be_adjective(actor, group, degree)

    def _be_adjective(self, actor: Actor, group: Group, degree: Fixed | None) -> None:
        agreement = actor.agreement
        self.phrases.append(verb_group(agreement, BE, group.mode))
        adjective = adjectives_after_be(actor.kind, degree is not None).draw(self.random)
        self.phrases.append(
            adjective_after_be(adjective, agreement.gender, agreement.plural, degree)
        )

    def _equal(self, actor: Actor, group: Group, words: int) -> None:
        self._be_adjective(actor, group, _AS)
        self.noun_phrase((actor.kind,), words, _THAN, "free", actor.noun)

    def _location(self, actor: Actor, group: Group, words: int) -> None:
        self.phrases.append(verb_group(actor.agreement, BE, group.mode))
        self._place(words, _LOCATIONS[actor.kind])

    def _existence(self, lead: Lead, negation: str, plan: NounPlan, words: int) -> None:
        self.lead(lead, _IL)
        form, head = self.draw_head(tuple(_LOCATIONS), plan.words - 1)
        if negation:
            there = bare(_THERE_NO[self.tense, form.plural])
        else:
            affirmed = _THERE[self.tense, form.plural]
            there = prefixes(affirmed, "existence", form.count).draw(self.random)
        self.phrases.append(there[head.shape])
        self.phrases.append(head.phrase)
        self._place(words, _LOCATIONS[form.noun.kind])

    def _place(self, words: int, following: tuple[str, ...]) -> None:
        lead, kinds, left = place_prepositions(words, following).draw(self.random)
        self.noun_phrase(kinds, left, lead)

    def _adjunct(self, group: Group, adjunct: Adjunct) -> None:
        if adjunct.place > 2:
            lead, kinds, left = adjunct_prepositions(adjunct.place).draw(self.random)
            self.noun_phrase(kinds, left, lead)
        elif adjunct.place:
            self.phrases.append(place_adverbs(adjunct.place).draw(self.random))
        if adjunct.time:
            habit = self.tense == "present" and group.mode.habit
            adverbs = time_adverbs("habit" if habit else self.tense, adjunct.time)
            self.phrases.append(adverbs.draw(self.random))
