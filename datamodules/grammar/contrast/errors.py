"""Errors of a translation, one at a time: where an error fits, and which words are then wrong.

Every category is a function that yields the errors of its kind in a sentence. The wrong words are
those of the same sentence with another meaning: a subject of another number gives the wrong verb.
Categories follow LingEval97 (Sennrich 2017); a language without the category yields none.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from datamodules.grammar.contrast.ambiguity import (
    SINGULAR_ALLOWED,
    could_be_reversed,
    decides,
    has_one_gender,
    listed,
    shows_number,
    strange_parts,
    words_of,
    wrong_genders,
)
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
)
from datamodules.grammar.drawing.clauses import last_part
from datamodules.grammar.languages.language import (
    ASK,
    DETERMINER,
    MODAL,
    NOT,
    NOUN,
    OBJECT,
    PASSIVE,
    QUALITY,
    RECIPIENT,
    SUBJECT,
    TENSE,
    VERB,
    WHO,
    is_subject_gap,
    subject_of,
)
from datamodules.grammar.meaning.phrases import (
    ANIMATE,
    THIRD_PLURAL,
    Clause,
    Mode,
    Noun,
    NounPhrase,
    Pronoun,
)

CONTROLLED = ("negation", "particle")  # lack words; ``NAME_control`` has equal length
NOT_SHARE = 0.35  # share of *not* that becomes *never*, to balance both directions
_GROUP = (VERB, TENSE, MODAL, PASSIVE, ASK)  # roles of the words of a verb group


def number(right: Right) -> Iterator[Site]:
    """Yield verbs in the number that the subject has not."""
    for clause, subject, form in _subjects(right):
        if subject.beside is None and form:
            core = subject.core
            kept = core.determiner in ("", "whose")
            other = core._replace(plural=not core.plural)
            other = other if kept else other._replace(determiner="the")
            change = partial(changed, subject, core=other)
            chosen = of(clause.unit, *_GROUP)
            yield from _sites(right, (subject.unit, NOUN), change, chosen, form, _misleads(subject))


def coordination(right: Right) -> Iterator[Site]:
    """Yield singular verbs of two subjects (*the man and the woman sleeps*)."""
    for clause, subject, form in _subjects(right):
        if not (form and subject.beside) or subject.core.noun.kind in SINGULAR_ALLOWED:
            continue
        core = subject.core._replace(plural=False, determiner="the")
        change = partial(changed, subject, core=core, beside=None)
        for site in _sites(right, (subject.unit, NOUN), change, of(clause.unit, *_GROUP)):
            if site.decides < site.near:  # *kommt der Mann und die Frau* is said
                yield site


def gender(right: Right) -> Iterator[Site]:
    """Yield determiners, relative pronouns and qualities in the gender that the noun has not."""
    if not right.language.agrees_in_gender:
        return
    for clause in right.clauses:
        described = _subject_phrase(clause) if clause.adjective is not None else None
        if described is not None and described.beside is None:
            yield from _of_another_gender(right, described, of(clause.unit, QUALITY))
        for phrase in _phrases(clause):
            if phrase.beside is not None:
                continue
            yield from _of_another_gender(right, phrase, of(phrase.unit, DETERMINER))
            relative = phrase.relative
            if relative is not None and _follows(right, phrase, relative):
                yield from _of_another_gender(right, phrase, of(relative.unit, WHO))


def antecedent(right: Right) -> Iterator[Site]:
    """Yield pronouns in another gender than the thing in the clause before.

    The source does not tell the gender (*it*, *they*), and no other noun before the pronoun has
    the gender of the wrong one.
    """
    for before, joined in zip(right.meaning, right.meaning[1:], strict=False):
        for name, role in (("subject", SUBJECT), ("object", OBJECT)):
            pronoun, stands_for = getattr(joined.clause, name), getattr(before.clause, name)
            if not isinstance(pronoun, Pronoun) or not isinstance(stands_for, NounPhrase):
                continue
            noun, near = pronoun.noun, right.first(joined.clause.unit, role)
            place = right.first(stands_for.unit, NOUN)
            if noun is not stands_for.core.noun or near is None or place is None:
                continue
            if noun.kind in ANIMATE or pronoun.beside or not has_one_gender(noun, right.language):
                continue
            for wrong in wrong_genders(right, joined.clause, name, near):
                other = right.another_gender(noun, wrong)
                if other is not None:
                    change = partial(changed, joined.clause, **{name: pronoun._replace(noun=other)})
                    if right.sounds_the_same(change):
                        form = f"{right.language.gender(noun)} {wrong}"
                        build = partial(right.with_wrong, change, all_of(joined.clause.unit))
                        yield Site(place, near, build, form)


def sense(right: Right) -> Iterator[Site]:
    """Yield nouns with two senses in the sense that the verb excludes."""
    others = {one: other for pair in right.lexicon.senses for one, other in (pair, pair[::-1])}
    bound = {noun for clause in right.clauses for noun in _pronoun_nouns(clause)}
    for clause in right.clauses:
        governed = ((each, OBJECT) for each in (clause.object, clause.oblique))
        for phrase, role in ((clause.subject, SUBJECT), *governed):
            if not isinstance(phrase, NounPhrase) or phrase.core.noun in bound:
                continue
            noun, plural = phrase.core.noun, phrase.core.plural
            other = others.get(noun)
            if other is None or not decides(clause.verb, role, noun, other):
                continue
            if listed(f"covers_{right.language.code}", noun.name.partition(":")[0]):
                continue
            place, verb = right.first(phrase.unit, NOUN), right.first(clause.unit, VERB)
            if place is None or verb is None or (plural and not other.counted):
                continue
            change = partial(changed, phrase, core=phrase.core._replace(noun=other))
            one, two = (words_of(each, plural, "", right.language) for each in (noun, other))
            if one != two and right.sounds_the_same(change):
                yield Site(verb, place, partial(right.all_wrong, change, place), noun.name)


def negation(right: Right) -> Iterator[Site]:
    """Yield clauses whose negation is missing."""
    for clause in right.clauses:
        if clause.mode.negation and not clause.question:
            yield from _other_negation(right, clause, "")


def negation_control(right: Right) -> Iterator[Site]:
    """Yield clauses with *never* for *not*, or the reverse."""
    for clause in right.clauses:
        mode = clause.mode
        if clause.question or (mode.negation == "not" and right.random() >= NOT_SHARE):
            continue
        if mode.negation:
            other = "never" if mode.negation == "not" else "not"
            yield from _other_negation(right, clause, other)


def particle(right: Right) -> Iterator[Site]:
    """Yield verbs without the separate part that belongs to them (*picks up*, *hebt ... auf*)."""
    for verb, place, _, part in _separate_parts(right):
        yield Site(verb, place, partial(_replaced, right, place, []), part)


def particle_control(right: Right) -> Iterator[Site]:
    """Yield verbs with a separate part of another verb that makes no verb with them."""
    known = right.language.separable_verbs
    parts = {known[verb.name][1] for verb in right.lexicon.verbs if verb.name in known}
    for verb, place, stem, part in _separate_parts(right):
        strange = [each for each in strange_parts(right.language.code, stem) if each in parts]
        if strange:
            other = strange[int(right.random() * len(strange))]
            yield Site(verb, place, partial(_replaced, right, place, [other]), part)


def case(right: Right) -> Iterator[Site]:
    """Yield objects in another case than the verb governs."""
    for clause in right.clauses:
        phrase = clause.object
        other = right.language.verb_of_another_case(clause.verb)
        if other is None or clause.mode.passive or listed("either_case", clause.verb.name):
            continue
        if clause.gap == "owner":  # *deren Fragen die Schüler helfen*: the pupils help them
            continue
        if isinstance(phrase, NounPhrase) and not _could_be_owner(right, phrase):
            change = partial(changed, clause, verb=other)
            yield from _sites(right, (clause.unit, VERB), change, all_of(phrase.unit))


def reflexive(right: Right) -> Iterator[Site]:
    """Yield *him* for *himself*, and the reverse, with verbs that fit both."""
    for clause in right.clauses:
        pronoun, subject = clause.object, _subject_phrase(clause)
        if not isinstance(pronoun, Pronoun) or subject is None or not clause.verb.reflexive:
            continue
        gender = pronoun.gender if pronoun.noun is None else pronoun.noun.gender
        fits = pronoun.person == THIRD_PLURAL or gender == subject.core.noun.gender
        if subject.person == pronoun.person and fits and not clause.mode.passive:
            other = pronoun._replace(reflexive=not pronoun.reflexive)
            change = partial(changed, clause, object=other)
            form = "reflexive" if pronoun.reflexive else "plain"
            yield from _sites(right, (subject.unit, NOUN), change, all_of(clause.unit), form)


def clitics(right: Right) -> Iterator[Site]:
    """Yield two pronouns before a French verb in the wrong order (*le me donne*)."""
    for clause in right.clauses:
        if isinstance(clause.object, Pronoun) and isinstance(clause.recipient, Pronoun):
            one, other = (right.first(clause.unit, role) for role in (OBJECT, RECIPIENT))
            if right.language.code == "fr" and one is not None and other is not None:
                first, second = sorted((one, other))
                yield Site(first, second, partial(_swapped, right, first, second))


def mood(right: Right) -> Iterator[Site]:
    """Yield the French indicative where a conjunction or verb asks for the subjunctive."""
    if right.language.code != "fr":
        return
    for clause, conjunction, _ in right.meaning:
        if conjunction is not None:
            yield from _other_mood(right, clause, all_of(conjunction.unit))
    for clause in right.clauses:
        if clause.complement is not None:
            yield from _other_mood(right, clause.complement, of(clause.unit, VERB))


CATEGORIES: dict[str, Callable[[Right], Iterator[Site]]] = {
    each.__name__: each
    for each in (
        number, coordination, gender, antecedent, sense, negation, negation_control, particle,
        particle_control, case, reflexive, clitics, mood,
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


def _could_be_owner(right: Right, phrase: NounPhrase) -> bool:
    """Return whether a dative behind a noun is a genitive as well (*die Frau der Flasche*)."""
    core = phrase.core
    first = next(places(right.written.text, all_of(phrase.unit)), 0)
    follows_noun = first > 0 and right.written.text.texts[first - 1][:1].isupper()
    return follows_noun and not core.plural and right.language.gender(core.noun) == "f"


def _subject_phrase(clause: Clause) -> NounPhrase | None:
    """Return the subject of the sentence as it is written, if it is a noun phrase."""
    if clause.verb.frame == "inverse":
        return None
    subject = subject_of(clause)
    return subject if isinstance(subject, NounPhrase) else None


def _subjects(right: Right) -> Iterator[tuple[Clause, NounPhrase, str]]:
    """Yield clauses with their subjects, and with the number if no other reading is possible.

    A relative clause that does not follow its noun at once may belong to another one.
    """
    for clause in right.clauses:
        subject = _subject_phrase(clause)
        if subject is None:
            continue
        apart = is_subject_gap(clause) and not _follows(right, subject, clause)
        open_ = apart or could_be_reversed(clause, subject, right.language)
        core = subject.core
        form = "plural" if core.plural else "singular"
        shown = subject.beside or shows_number(core.noun, core.determiner, right.language)
        yield clause, subject, form if shown and not open_ else ""


def _follows(right: Right, phrase: NounPhrase, relative: Clause) -> bool:
    """Return whether a relative clause follows its noun at once: it belongs to no other noun."""
    noun, relative_pronoun = right.first(phrase.unit, NOUN), right.first(relative.unit, WHO)
    if noun is None or relative_pronoun is None:
        return False
    between = right.written.text.texts[noun + 1 : relative_pronoun]
    return between in ([], [","])


def _of_another_gender(right: Right, phrase: NounPhrase, chosen: Chosen) -> Iterator[Site]:
    noun = phrase.core.noun
    other = right.another_gender(noun)
    if other is None or not has_one_gender(noun, right.language):
        return
    # Not *das Messer*: *die Messer* is right, as a plural.
    if shows_number(noun, "", right.language) or not noun.counted:
        change = partial(changed, phrase, core=phrase.core._replace(noun=other))
        form = f"{right.language.gender(noun)} {right.language.gender(other)}"
        yield from _sites(right, (phrase.unit, NOUN), change, chosen, form)


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


def _separate_parts(right: Right) -> Iterator[tuple[int, int, str, str]]:
    """Yield the places of a verb and of its separate part, with the stem and the part."""
    text, known = right.written.text, right.language.separable_verbs
    idle = f"idle_{right.language.code}", f"idle_from_{right.source.code}"
    for clause in right.clauses:
        stem, part = known.get(clause.verb.name, ("", ""))
        verbs = list(places(text, of(clause.unit, VERB)))
        place = next((place for place in verbs if part and text.texts[place] == part), None)
        is_idle = any(listed(section, clause.verb.name) for section in idle)
        if place is not None and verbs[0] != place and not is_idle:
            yield verbs[0], place, stem, part


def _replaced(right: Right, place: int, words: list[str]) -> Wrong:
    texts = list(right.written.text.texts)
    texts[place : place + 1] = words
    return right.sentence_of(texts), place


def _swapped(right: Right, first: int, second: int) -> Wrong:
    texts = list(right.written.text.texts)
    texts[first], texts[second] = texts[second], texts[first]
    return right.sentence_of(texts), second


def _other_mood(right: Right, clause: Clause, deciding: Chosen) -> Iterator[Site]:
    place = next(places(right.written.text, deciding), None)
    near = right.first(clause.unit, VERB)
    if clause.mode.subjunctive and place is not None and near is not None:
        change = partial(changed, clause, mode=clause.mode._replace(subjunctive=False))
        yield Site(place, near, partial(right.with_wrong, change, of(clause.unit, *_GROUP)))


def _phrases(clause: Clause) -> Iterator[NounPhrase]:
    for phrase in (clause.subject, clause.object, clause.recipient, clause.oblique):
        if isinstance(phrase, NounPhrase):
            yield phrase


def _pronoun_nouns(clause: Clause) -> Iterator[Noun]:
    for each in (clause.subject, clause.object, clause.recipient):
        if isinstance(each, Pronoun) and each.noun is not None:
            yield each.noun


def _misleads(subject: NounPhrase) -> bool | None:
    """Return whether the last noun before the verb has another number than the subject."""
    last = last_part(subject)
    if last is subject or not last.core.noun.counted:
        return False
    return last.core.plural != subject.core.plural
