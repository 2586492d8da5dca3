"""Errors of a translation, one at a time: where an error fits, and which words are then wrong.

Every category is a function that yields the errors of its kind in a sentence. The wrong words are
those of the same sentence with another meaning: a subject of another number gives the wrong verb.
Categories follow LingEval97 (Sennrich 2017); a language without the category yields none.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TypeGuard

from datamodules.grammar.contrast.edits import (
    Change,
    Chosen,
    Right,
    Site,
    Wrong,
    all_of,
    changed,
    of,
    places,
    write,
)
from datamodules.grammar.drawing.clauses import last_part
from datamodules.grammar.drawing.vocabulary import is_human
from datamodules.grammar.languages.language import (
    DETERMINER,
    MODAL,
    NOT,
    NOUN,
    OBJECT,
    QUALITY,
    SUBJECT,
    TENSE,
    VERB,
    WHO,
    read_sections,
)
from datamodules.grammar.meaning.phrases import (
    ANIMATE,
    Clause,
    Mode,
    Noun,
    NounPhrase,
    Participant,
    Pronoun,
    Verb,
)

_LISTS = read_sections(__package__, "verbs.txt")
IDLE = {code: frozenset(_LISTS[f"idle_{code}"]) for code in ("en", "de")}
ALIKE = frozenset(tuple(verb.split()) for verb in _LISTS["alike"])
_EXCLUDED = {verb: cells[0].split() for verb, cells in _LISTS["excluded"].items()}
_OPEN = {verb: cells[0].split() for verb, cells in _LISTS["open"].items()}
_LIVING_FRAMES = ("intransitive", "reporting", "prepositional")
"""Frames whose verbs have no thing as a subject if the grammar gives them living beings only; with
an object, a thing may be the means (*the bat broke the window*)."""
_MOVING = ("machine", "vehicle")
_OF_THINGS = (
    "age", "recover", "resemble", "resist", "stay", "succeed:prepositional", "suffer",
    "survive:prepositional", "win",
)  # fmt: skip
"""Verbs of these frames that fit things too."""


def decides(verb: Verb, role: int, noun: Noun, other: Noun) -> bool:
    """Return whether a verb excludes the ``other`` sense of its subject or object ``noun``."""
    if role == OBJECT:
        word = noun.name.partition(":")[0]
        return other.kind in _EXCLUDED.get(verb.name, ()) and word not in _OPEN.get(verb.name, ())
    lives = verb.frame in _LIVING_FRAMES and set(verb.subjects) <= set(ANIMATE)
    return lives and verb.name not in _OF_THINGS and other.kind not in (*ANIMATE, *_MOVING)


CONTROLLED = ("negation", "particle")  # lack words; ``NAME_control`` has equal length
NOT_SHARE = 0.35  # share of *not* that becomes *never*, to balance both directions


def number(right: Right) -> Iterator[Site]:
    """Yield verbs in the number that the subject has not."""
    for clause in right.clauses:
        subject = clause.antecedent if clause.gap == "subject" else clause.subject
        if clause.verb.frame == "inverse" or not _is_countable(subject):
            continue
        core = subject.core
        other = core._replace(plural=not core.plural, determiner="the" if core.determiner else "")
        change = partial(changed, subject, core=other)
        chosen = of(clause.unit, VERB, TENSE, MODAL)
        form = "plural" if core.plural else "singular"
        yield from _sites(right, (subject.unit, NOUN), change, chosen, form, _misleads(subject))


def gender(right: Right) -> Iterator[Site]:
    """Yield determiners, relative pronouns and qualities in the gender that the noun has not."""
    if not right.language.agrees_in_gender:
        return
    for clause in right.clauses:
        for phrase in _phrases(clause):
            other = right.another_gender(phrase.core.noun)
            if other is None or is_human(phrase.core.noun):  # many persons may have either gender
                continue
            change = partial(changed, phrase, core=phrase.core._replace(noun=other))
            choices = [of(phrase.unit, DETERMINER)]
            if phrase.relative is not None:
                choices.append(of(phrase.relative.unit, WHO))
            if phrase is clause.subject and clause.adjective is not None:
                choices.append(of(clause.unit, QUALITY))
            form = right.language.gender(phrase.core.noun)
            for chosen in choices:
                yield from _sites(right, (phrase.unit, NOUN), change, chosen, form)


def antecedent(right: Right) -> Iterator[Site]:
    """Yield pronouns in another gender than the noun in the clause before.

    The source does not tell the gender: *it*, *they*, not *she*.
    """
    for before, joined in zip(right.meaning, right.meaning[1:], strict=False):
        for name, role in (("subject", SUBJECT), ("object", OBJECT)):
            pronoun, stands_for = getattr(joined.clause, name), getattr(before.clause, name)
            if not isinstance(pronoun, Pronoun) or not isinstance(stands_for, NounPhrase):
                continue
            if pronoun.noun is not stands_for.core.noun:
                continue
            other = right.another_gender(pronoun.noun)
            near = right.first(joined.clause.unit, role)
            decides = right.first(stands_for.unit, NOUN)
            if other is not None and near is not None and decides is not None:
                changes = {name: pronoun._replace(noun=other)}
                change = partial(changed, joined.clause, **changes)
                form = right.language.gender(stands_for.core.noun)
                yield Site(decides, near, partial(_with_wrong_pronoun, right, change), form)


def sense(right: Right) -> Iterator[Site]:
    """Yield nouns with two senses in the sense that the verb excludes."""
    others = {one: other for pair in right.lexicon.senses for one, other in (pair, pair[::-1])}
    bound = {noun for clause in right.clauses for noun in _pronoun_nouns(clause)}
    for clause in right.clauses:
        for phrase, role in ((clause.subject, SUBJECT), (clause.object, OBJECT)):
            if not isinstance(phrase, NounPhrase) or phrase.core.noun in bound:
                continue
            other = others.get(phrase.core.noun)
            if other is None or not decides(clause.verb, role, phrase.core.noun, other):
                continue
            place, verb = right.first(phrase.unit, NOUN), right.first(clause.unit, VERB)
            if place is None or verb is None:
                continue
            if other.counted or not phrase.core.plural:
                change = partial(changed, phrase, core=phrase.core._replace(noun=other))
                build = partial(_in_other_sense, right, change, phrase.unit, place)
                yield Site(verb, place, build)


def negation(right: Right) -> Iterator[Site]:
    """Yield clauses whose negation is missing."""
    for clause in right.clauses:
        if clause.mode.negation:
            yield from _other_negation(right, clause, "")


def negation_control(right: Right) -> Iterator[Site]:
    """Yield clauses with *never* for *not*, or the reverse."""
    for clause in right.clauses:
        mode = clause.mode
        if mode.negation == "not":
            if right.random() >= NOT_SHARE:
                continue
            yield from _other_negation(right, clause, "never")
        elif mode.negation:
            yield from _other_negation(right, clause, "not")


def particle(right: Right) -> Iterator[Site]:
    """Yield verbs without the separate part that belongs to them (*wakes up*, *weckt ... auf*)."""
    for verb, place, _ in _separate_parts(right):
        yield Site(verb, place, partial(_replaced, right, place, []))


def particle_control(right: Right) -> Iterator[Site]:
    """Yield verbs with the separate part of another verb."""
    known = right.language.separable_verbs
    parts = sorted({part for _, part in known.values()})
    for verb, place, name in _separate_parts(right):
        taken = ALIKE.union(known.values())
        free = [part for part in parts if (known[name][0], part) not in taken]
        part = free[int(right.random() * len(free))]
        yield Site(verb, place, partial(_replaced, right, place, [part]))


def case(right: Right) -> Iterator[Site]:
    """Yield objects in another case than the verb governs."""
    for clause in right.clauses:
        phrase = clause.object
        other = right.language.verb_of_another_case(clause.verb)
        if isinstance(phrase, NounPhrase) and other is not None:
            change = partial(changed, clause, verb=other)
            yield from _sites(right, (clause.unit, VERB), change, all_of(phrase.unit))


CATEGORIES: dict[str, Callable[[Right], Iterator[Site]]] = {
    each.__name__: each
    for each in (
        number, gender, antecedent, sense, negation, negation_control, particle,
        particle_control, case,
    )
}  # fmt: skip


def sites(right: Right) -> Iterator[tuple[str, Site]]:
    """Yield where errors of all categories fit, with the category."""
    for category, find in CATEGORIES.items():
        for site in find(right):
            yield category, site


def _sites(
    right: Right,
    decides: tuple[int, int],
    change: Change,
    chosen: Chosen,
    form: str = "",
    attractor: bool | None = None,
) -> Iterator[Site]:
    """Yield a site if its words stand in the sentence; ``decides`` is a unit and a role."""
    place = right.first(*decides)
    near = next(places(right.written.text, chosen), None)
    if place is not None and near is not None:
        yield Site(place, near, partial(right.with_wrong, change, chosen), form, attractor)


def _with_wrong_pronoun(right: Right, change: Change) -> Wrong | None:
    source = write(right.meaning, right.source).sentence
    with change():
        if write(right.meaning, right.source).sentence != source:
            return None
    return right.with_wrong(change, lambda unit, role: True)


def _in_other_sense(right: Right, change: Change, unit: int, place: int) -> Wrong | None:
    """Return the sentence of the changed meaning, unless both senses are the same word."""
    with change():
        wrong = write(right.meaning, right.language)
    noun = next(places(wrong.text, of(unit, NOUN)))
    if wrong.text.texts[noun] == right.written.text.texts[place]:
        return None
    return wrong.sentence, place


def _other_negation(right: Right, clause: Clause, word: str) -> Iterator[Site]:
    place, verb = right.first(clause.unit, NOT), right.first(clause.unit, VERB)
    if place is not None and verb is not None:
        change = partial(_negated, clause, clause.mode._replace(negation=word))
        yield Site(verb, place, partial(right.all_wrong, change, place), clause.mode.negation)


@contextmanager
def _negated(clause: Clause, mode: Mode) -> Iterator[None]:
    """Give a clause another mode, and its object the determiner that the mode asks for."""
    thing = clause.object
    with ExitStack() as changes:
        changes.enter_context(changed(clause, mode=mode))
        if isinstance(thing, NounPhrase) and not mode.negation:
            core = thing.core._replace(denied=False)
            changes.enter_context(changed(thing, core=core))
        yield


def _separate_parts(right: Right) -> Iterator[tuple[int, int, str]]:
    """Yield the places of a verb and of its separate part, with the name of the verb."""
    text = right.written.text
    for clause in right.clauses:
        _, part = right.language.separable_verbs.get(clause.verb.name, ("", ""))
        verbs = list(places(text, of(clause.unit, VERB)))
        part_place = next((place for place in verbs if part and text.texts[place] == part), None)
        is_idle = clause.verb.name in IDLE.get(right.language.code, ())
        if part_place is not None and verbs[0] != part_place and not is_idle:
            yield verbs[0], part_place, clause.verb.name


def _replaced(right: Right, place: int, words: list[str]) -> Wrong:
    texts = list(right.written.text.texts)
    texts[place : place + 1] = words
    return right.sentence_of(texts), place


def _phrases(clause: Clause) -> Iterator[NounPhrase]:
    for phrase in (clause.subject, clause.object, clause.recipient, clause.oblique):
        if isinstance(phrase, NounPhrase):
            yield phrase


def _pronoun_nouns(clause: Clause) -> Iterator[Noun]:
    for each in (clause.subject, clause.object, clause.recipient):
        if isinstance(each, Pronoun) and each.noun is not None:
            yield each.noun


def _is_countable(subject: Participant | None) -> TypeGuard[NounPhrase]:
    return isinstance(subject, NounPhrase) and subject.core.noun.counted


def _misleads(subject: NounPhrase) -> bool | None:
    """Return whether the last noun before the verb has another number than the subject."""
    last = last_part(subject)
    if last is subject or not last.core.noun.counted:
        return False
    return last.core.plural != subject.core.plural
