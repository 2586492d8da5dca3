"""Errors of a translation, one at a time: where an error fits, and which words are then wrong.

Every category is a function that yields the errors of its kind in a sentence. The wrong words are
those of the same sentence with another meaning: a subject of another number gives the wrong verb.
Categories follow LingEval97 (Sennrich 2017); a language without the category yields none.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from operator import ne

from datamodules.grammar.contrast.ambiguity import (
    SINGULAR_ALLOWED,
    could_be_reversed,
    decides,
    has_one_gender,
    listed,
    mentions,
    shows_number,
    strange_parts,
    words_of,
    wrong_genders,
)
from datamodules.grammar.contrast.edits import Change, Right, Site, Words, of, places
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
)
from datamodules.grammar.meaning.phrases import (
    ANIMATE,
    THIRD_PLURAL,
    THIRD_SINGULAR,
    Clause,
    Noun,
    NounPhrase,
    Pronoun,
    gender_of,
    subject_of,
)

CONTROLLED = ("negation", "particle")  # lack words; ``NAME_control`` has equal length
NOT_SHARE = 0.35  # share of *not* that becomes *never*, to balance both directions
_GROUP = (VERB, TENSE, MODAL, PASSIVE, ASK)  # roles of the words of a verb group

Place = tuple[int, ...]  # a unit, and roles of words in it


def number(right: Right) -> Iterator[Site]:
    """Yield verbs in the number that the subject has not."""
    for clause, subject in _subjects(right):
        core = subject.core
        if subject.beside is None and shows_number(core.noun, core.determiner, right.language):
            the = core.determiner if core.determiner in ("", "whose") else "the"
            other = core._replace(plural=not core.plural, determiner=the)
            form = "plural" if core.plural else "singular"
            change = [(subject, {"core": other})]
            places = (subject.unit, NOUN), (clause.unit, *_GROUP)
            yield from _sites(right, *places, change, form, _misleads(subject))


def coordination(right: Right) -> Iterator[Site]:
    """Yield singular verbs of two subjects (*the man and the woman sleeps*)."""
    for clause, subject in _subjects(right):
        if subject.beside is not None and subject.core.noun.kind not in SINGULAR_ALLOWED:
            core = subject.core._replace(plural=False, determiner="the")
            change = [(subject, {"core": core, "beside": None})]
            places = (subject.unit, NOUN), (clause.unit, *_GROUP)
            for site in _sites(right, *places, change):
                if site.decides < site.near:  # *kommt der Mann und die Frau* is said
                    yield site


def gender(right: Right) -> Iterator[Site]:
    """Yield determiners, relative pronouns and qualities in the gender that the noun has not."""
    if not right.language.agrees_in_gender:
        return
    for clause in right.clauses:
        described = _subject_phrase(clause) if clause.adjective is not None else None
        agreeing = [] if described is None else [(described, (clause.unit, QUALITY))]
        # Where one goes, another case may be right: *in einem Krankenhaus*, as a place.
        governed = None if clause.verb.frame == "motion" else clause.oblique
        for phrase in (clause.subject, clause.object, clause.recipient, governed):
            if isinstance(phrase, NounPhrase):
                agreeing.append((phrase, (phrase.unit, DETERMINER)))
                if phrase.relative is not None and _follows(right, phrase, phrase.relative):
                    agreeing.append((phrase, (phrase.relative.unit, WHO)))
        for phrase, near in agreeing:
            yield from _of_another_gender(right, phrase, near)


def antecedent(right: Right) -> Iterator[Site]:
    """Yield pronouns in another gender than the thing in the clause before.

    The source does not tell the gender (*it*, *they*), and no other noun before the pronoun has
    the gender of the wrong one.
    """
    for before, joined in zip(right.meaning, right.meaning[1:], strict=False):
        clause = joined.clause
        for name, role in (("subject", SUBJECT), ("object", OBJECT)):
            pronoun, near = getattr(clause, name), right.first(clause.unit, role)
            if not isinstance(pronoun, Pronoun) or pronoun.beside or near is None:
                continue
            noun = pronoun.noun
            phrases = (each for each in mentions(before.clause) if isinstance(each, NounPhrase))
            phrase = next((each for each in phrases if each.core.noun is noun), None)
            if noun is None or phrase is None or noun.kind in ANIMATE:
                continue
            for wrong in wrong_genders(right, clause, name, near):
                other = right.another_gender(noun, wrong)
                if other is not None and has_one_gender(noun, right.language):
                    change = [(clause, {name: pronoun._replace(noun=other)})]
                    if right.sounds_the_same(change):
                        form = f"{right.language.gender(noun)} {wrong}"
                        yield from _sites(right, (phrase.unit, NOUN), (clause.unit,), change, form)


def sense(right: Right) -> Iterator[Site]:
    """Yield nouns with two senses in the sense that the verb excludes."""
    others = {one: other for pair in right.lexicon.senses for one, other in (pair, pair[::-1])}
    for clause in right.clauses:
        governed = ((each, OBJECT) for each in (clause.object, clause.oblique))
        for phrase, role in ((clause.subject, SUBJECT), *governed):
            if not isinstance(phrase, NounPhrase):
                continue
            noun, plural = phrase.core.noun, phrase.core.plural
            other = others.get(noun)
            if other is None or (plural and not other.counted) or _is_taken_up(right, noun):
                continue
            said = (words_of(each, plural, "", right.language) for each in (noun, other))
            if decides(clause.verb, role, noun, other, right.language) and next(said) != next(said):
                change = [(phrase, {"core": phrase.core._replace(noun=other)})]
                if right.sounds_the_same(change):
                    places = (clause.unit, VERB), (phrase.unit, NOUN)
                    yield from _sites(right, *places, change, noun.name, whole=True)


def negation(right: Right) -> Iterator[Site]:
    """Yield clauses whose negation is missing."""
    for clause in right.clauses:
        if clause.mode.negation:
            yield from _other_negation(right, clause, "")


def negation_control(right: Right) -> Iterator[Site]:
    """Yield clauses with *never* for *not*, or the reverse, and nothing else changed."""
    for clause in right.clauses:
        negation = clause.mode.negation
        if negation == "never" or (negation == "not" and right.random() < NOT_SHARE):
            for site in _other_negation(right, clause, "never" if negation == "not" else "not"):
                yield site._replace(wrong=partial(_one_word, right, site.wrong))


def particle(right: Right) -> Iterator[Site]:
    """Yield verbs without the separate part that belongs to them (*picks up*, *hebt ... auf*)."""
    for verb, place, _, part in _separate_parts(right):
        yield Site(verb, place, partial(right.replaced, {place: None}), part)


def particle_control(right: Right) -> Iterator[Site]:
    """Yield verbs with a separate part of another verb that makes no verb with them."""
    known = right.language.separable_verbs
    parts = {known[verb.name][1] for verb in right.lexicon.verbs if verb.name in known}
    for verb, place, stem, part in _separate_parts(right):
        strange = [each for each in strange_parts(right.language.code, stem) if each in parts]
        if strange:
            other = strange[int(right.random() * len(strange))]
            yield Site(verb, place, partial(right.replaced, {place: other}), part)


def case(right: Right) -> Iterator[Site]:
    """Yield objects in another case than the verb governs."""
    for clause in right.clauses:
        phrase, other = clause.object, right.language.verb_of_another_case(clause.verb)
        if other is None or clause.mode.passive or listed("either_case", clause.verb.name):
            continue
        if clause.gap == "owner":  # *deren Fragen die Schüler helfen*: the pupils help them
            continue
        if isinstance(phrase, NounPhrase) and not _could_be_owner(right, phrase):
            change = [(clause, {"verb": other})]
            yield from _sites(right, (clause.unit, VERB), (phrase.unit,), change)


def reflexive(right: Right) -> Iterator[Site]:
    """Yield *him* for *himself*, and the reverse, with verbs that fit both."""
    for clause in right.clauses:
        pronoun, subject = clause.object, subject_of(clause)
        third = subject.person in (THIRD_SINGULAR, THIRD_PLURAL)
        if not (isinstance(pronoun, Pronoun) and clause.verb.reflexive and third):
            continue
        fits = pronoun.person == THIRD_PLURAL or gender_of(pronoun) == gender_of(subject)
        if subject.person == pronoun.person and fits and not clause.mode.passive:
            other = pronoun._replace(reflexive=not pronoun.reflexive)
            change = [(clause, {"object": other})]
            form = "reflexive" if pronoun.reflexive else "plain"
            place = clause.unit, SUBJECT
            if isinstance(subject, NounPhrase):
                place = subject.unit, NOUN
            yield from _sites(right, place, (clause.unit, OBJECT), change, form, whole=True)


def clitics(right: Right) -> Iterator[Site]:
    """Yield French words before a verb in the wrong order: pronouns (*le me donne*) and *ne*."""
    active = (each for each in right.clauses if not each.mode.passive)
    for clause in active if right.language.code == "fr" else ():
        governed = ((clause.object, OBJECT), (clause.recipient, RECIPIENT))
        roles = [role for each, role in governed if isinstance(each, Pronoun)]
        found = [right.first(clause.unit, role) for role in roles]
        before = sorted(place for place in found if place is not None)
        texts = right.text.texts
        if before and texts[before[0] - 1] == "ne":
            before.insert(0, before[0] - 1)
        for one, other in pairwise(before):
            form = texts[one] if texts[one] == "ne" else "pronouns"
            swapped = {one: texts[other], other: texts[one]}
            yield Site(other, one, partial(right.replaced, swapped), form)


def mood(right: Right) -> Iterator[Site]:
    """Yield the French indicative where a conjunction or verb asks for the subjunctive."""
    asking: list[tuple[Clause | None, Place]] = [
        (clause, (conjunction.unit,)) for clause, conjunction, _ in right.meaning if conjunction
    ]
    asking += ((clause.complement, (clause.unit, VERB)) for clause in right.clauses)
    for clause, place in asking:
        if clause and clause.mode.subjunctive and right.language.code == "fr":
            change: Change = [(clause, {"mode": clause.mode._replace(subjunctive=False)})]
            yield from _sites(right, place, (clause.unit, *_GROUP), change)


CATEGORIES: dict[str, Callable[[Right], Iterator[Site]]] = {
    each.__name__: each
    for each in (
        number, coordination, gender, antecedent, sense, negation, negation_control, particle,
        particle_control, case, reflexive, clitics, mood,
    )
}  # fmt: skip


def _sites(
    right: Right,
    decides: Place,
    near: Place,
    change: Change,
    form: str = "",
    attractor: bool | None = None,
    *,
    whole: bool = False,
) -> Iterator[Site]:
    """Yield a site, if its words stand in the sentence: the words at ``near``, or all, change."""
    one, other = right.first(*decides), right.first(*near)
    if one is not None and other is not None:
        wrong = partial(right.wrong, change, None if whole else of(*near))
        yield Site(one, other, wrong, form, attractor)


def _subject_phrase(clause: Clause) -> NounPhrase | None:
    """Return the subject of the sentence as it is written, if it is a noun phrase."""
    subject = None if clause.verb.frame == "inverse" else subject_of(clause)
    return subject if isinstance(subject, NounPhrase) else None


def _subjects(right: Right) -> Iterator[tuple[Clause, NounPhrase]]:
    """Yield clauses with their subjects, where no other reading is possible.

    A relative clause that does not follow its noun at once may belong to another one.
    """
    for clause in right.clauses:
        subject = _subject_phrase(clause)
        if subject is None or (is_subject_gap(clause) and not _follows(right, subject, clause)):
            continue
        if not could_be_reversed(clause, subject, right.language):
            yield clause, subject


def _follows(right: Right, phrase: NounPhrase, relative: Clause) -> bool:
    """Return whether a relative clause follows its noun at once: it belongs to no other noun."""
    noun, relative_pronoun = right.first(phrase.unit, NOUN), right.first(relative.unit, WHO)
    if noun is None or relative_pronoun is None:
        return False
    return right.text.texts[noun + 1 : relative_pronoun] in ([], [","])


def _misleads(subject: NounPhrase) -> bool | None:
    """Return whether the last noun before the verb has another number than the subject."""
    last = last_part(subject)
    if last is subject or not last.core.noun.counted:
        return False
    return last.core.plural != subject.core.plural


def _of_another_gender(right: Right, phrase: NounPhrase, near: Place) -> Iterator[Site]:
    noun = phrase.core.noun
    other = right.another_gender(noun)
    if other is None or phrase.beside is not None or not has_one_gender(noun, right.language):
        return
    # Not *das Messer*: *die Messer* is right, as a plural.
    if shows_number(noun, "", right.language) or not noun.counted:
        change = [(phrase, {"core": phrase.core._replace(noun=other)})]
        form = f"{right.language.gender(noun)} {right.language.gender(other)}"
        yield from _sites(right, (phrase.unit, NOUN), near, change, form)


def _is_taken_up(right: Right, noun: Noun) -> bool:
    """Return whether a pronoun stands for a noun: the pronoun would be wrong as well."""
    pronouns = (each for clause in right.clauses for each in mentions(clause))
    return any(isinstance(each, Pronoun) and each.noun is noun for each in pronouns)


def _other_negation(right: Right, clause: Clause, word: str) -> Iterator[Site]:
    """Yield a clause that is no question: *doesn't he sleep* asks for the same."""
    if not clause.question:
        change: Change = [(clause, {"mode": clause.mode._replace(negation=word)})]
        if isinstance(clause.object, NounPhrase) and not word:
            allowed = clause.object.core._replace(denied=False)
            change = [*change, (clause.object, {"core": allowed})]
        places = (clause.unit, VERB), (clause.unit, NOT)
        yield from _sites(right, *places, change, clause.mode.negation, whole=True)


def _one_word(right: Right, wrong: Callable[[], Words | None]) -> Words | None:
    """Return the wrong words if one of them alone differs."""
    words = wrong() or []
    return words if sum(map(ne, words, right.text.texts)) == 1 else None


def _separate_parts(right: Right) -> Iterator[tuple[int, int, str, str]]:
    """Yield the places of a verb and of its separate part, with the stem and the part."""
    texts, known = right.text.texts, right.language.separable_verbs
    idle = f"idle_{right.language.code}", f"idle_from_{right.source.code}"
    for clause in right.clauses:
        stem, part = known.get(clause.verb.name, ("", ""))
        if part and not any(listed(section, clause.verb.name) for section in idle):
            verb, *others = places(right.text, of(clause.unit, VERB))
            for place in others:
                if texts[place] == part:
                    yield verb, place, stem, part


def _could_be_owner(right: Right, phrase: NounPhrase) -> bool:
    """Return whether a dative behind a noun is a genitive as well (*die Frau der Flasche*)."""
    first = right.first(phrase.unit) or 0
    follows_noun = first > 0 and right.text.texts[first - 1][:1].isupper()
    return (
        follows_noun and not phrase.core.plural and right.language.gender(phrase.core.noun) == "f"
    )
