"""What a German verb requires of the clause: subject, objects, reflexive pronoun, order."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations, product

from tests.tools.grammar_checker.german.parts import (
    ANY,
    Group,
    Parts,
    Result,
    fits_sense,
    governed_nouns,
    main_verb,
    roles_of,
    takes,
)
from tests.tools.grammar_checker.german.phrases import INDEFINITE, RESTING, Item, Reading, Tally
from tests.tools.grammar_checker.german.words import WORDS, Frame
from tests.tools.grammar_checker.translation import Roles

REFLEXIVE = {"mich": ("a", ("1s",)), "mir": ("d", ("1s",)), "uns": ("ad", ("1p",))}
"""Pronouns that may be reflexive, with cases and persons; *sich* stands for the third person."""
COUNTS = ("mehrer", "number", "numeral")  # determiners of noun phrases that stand before *nicht*
THIRD = ("3s", "3p")
NO_ITEM = Item("", "")
ACCUSATIVE = ("ihn", "sie", "es", "sich", "mich", "uns")


def results(parts: Parts) -> Iterator[Result | str]:
    wrong = wrong_order(parts)
    if wrong:
        yield wrong
        return
    found = list(_with_subject(parts))
    yield from found
    if not found:
        yield f"'{parts.group.lowest}' has a wrong subject or complement"


def wrong_order(parts: Parts) -> str:
    kinds = [item.kind for item in parts.items]
    if kinds.count("negation") + sum(item.determiner == "kein" for item in parts.items) > 1:
        return "two negations"
    if kinds.count("quality") > 1 or ("quality" in kinds and parts.group.lowest != "sein"):
        return "an adjective without sein"
    twice = [kind for kind in ("time", "manner", "frequency") if kinds.count(kind) > 1]
    if twice:
        return f"two adverbs of {twice[0]}"
    return (
        _order_of_adverbs(parts.items)
        or _order_of_negation(parts)
        or _duty(
            "negation" in kinds or any(item.determiner == "kein" for item in parts.items), parts
        )
    )


def _duty(negated: bool, parts: Parts) -> str:
    """Return what is wrong with a modal verb of duty: *must not* is *darf nicht*."""
    if negated and "müssen" in parts.group.verbs:
        return "'müssen' with a negation must be dürfen"
    if not negated and "dürfen" in parts.group.verbs:
        return "'dürfen' without a negation must be müssen"
    return ""


def _order_of_adverbs(items: Sequence[Item]) -> str:
    kinds = [item.kind for item in items]
    if "manner" in kinds:
        after = items[kinds.index("manner") + 1 :]
        if any(item.kind == "noun" and item.determiner not in INDEFINITE for item in after):
            return "an adverb before a definite noun phrase"
    if "negation" in kinds and "time" in kinds[kinds.index("negation") :]:
        return "a time after the negation"
    return ""


def _late_pronoun(items: Sequence[Item], objects: Sequence[Item]) -> bool:
    """Return whether a pronoun stands behind a noun or adverb, or a dative before *ihn*."""
    pronouns = [item for item in objects if item.kind != "noun"]
    if list(objects[: len(pronouns)]) != pronouns:
        return True
    for pronoun in pronouns:
        before = items[: items.index(pronoun)]
        if any(item.kind not in ("pronoun", "self", "noun", "with") for item in before):
            return True
    return [item.text in ACCUSATIVE for item in pronouns[:2]] == [False, True]


def _order_of_negation(parts: Parts) -> str:
    items = parts.items
    for place, item in enumerate(items):
        after = items[place + 1 :]
        if item.kind == "quality" and after:
            return f"'{item.text}' does not stand at the end"
        if item.kind != "negation":
            continue
        if item.text == "nicht":
            late = [each for each in after if each.kind == "noun"]
            if any(each.determiner not in INDEFINITE for each in late):
                return "'nicht' before a definite object"
            if any(each.determiner == "ein" for each in late):
                return "'nicht ein' must be kein"
            if any(each.determiner in COUNTS for each in late):
                return "'nicht' before a number"
        if any(each.kind == "manner" for each in items[:place]):
            return f"'{item.text}' after an adverb"
    return ""


def _with_subject(parts: Parts) -> Iterator[Result]:
    bare = [item for item in parts.items if item.kind in ("noun", "pronoun", "self")]
    gaps = [("", None)] if parts.gap is None else [(each.case, each) for each in parts.gap.readings]
    for case, gap in gaps:
        if gap is not None and case == "n" and not _governed(parts):
            if gap.person in parts.group.persons:
                yield from _with_frame(parts, gap, (gap,), bare)
        elif parts.controlled:
            for person in ANY:
                yield from _with_frame(parts, gap, (Reading("n", "", person, ()),), bare)
        elif bare and bare[0].kind != "self":
            subjects = tuple(
                reading
                for reading in bare[0].readings
                if reading.case == "n" and reading.person in parts.group.persons
            )
            if subjects and _is_early(parts, bare[0]):
                yield from _with_frame(parts, gap, subjects, bare[1:])


def _is_early(parts: Parts, subject: Item) -> bool:
    """Return whether nothing but a time before the finite verb precedes the subject."""
    has_time = bool(parts.front) and parts.items[0].kind == "time"
    return parts.items.index(subject) == has_time


def _with_frame(
    parts: Parts, gap: Reading | None, subjects: tuple[Reading, ...], objects: list[Item]
) -> Iterator[Result]:
    """Yield the results in which the objects are those that a frame requires."""
    if _late_pronoun(parts.items[parts.front :], objects):
        return
    for subject in subjects:
        if parts.infinitive is not None and subject.person not in parts.infinitive.persons:
            continue
        for frame in WORDS.frames[parts.group.lowest]:
            if _fits_clause(parts, frame) and _fits_auxiliary(parts.group, frame):
                gender = "" if gap is None else gap.gender
                for roles, tally in _complements(parts, frame, gap, subject, objects):
                    use = "subject" if gap is subject else "object"
                    yield Result(gender, (subject.person,), tally, roles, main_verb(parts), use)


def _fits_clause(parts: Parts, frame: Frame) -> bool:
    if parts.infinitive is not None:
        return frame.clause == "zu"
    if parts.that is not None:
        return frame.clause == "dass"
    return frame.clause in ("", "quality")


def _fits_auxiliary(group: Group, frame: Frame) -> bool:
    if len(group.verbs) == 1:
        return group.auxiliary in ("", frame.auxiliary)
    return group.auxiliary in ("", WORDS.frames[group.verbs[0]][0].auxiliary)


def _complements(
    parts: Parts, frame: Frame, gap: Reading | None, subject: Reading, objects: list[Item]
) -> Iterator[tuple[Roles, Tally]]:
    """Yield roles and tallies of the readings in which objects and prepositions fit."""
    wanted = frame.reflexive
    if len(parts.group.verbs) > 1:
        wanted += WORDS.frames[parts.group.verbs[0]][0].reflexive
    for others in _without_reflexives(objects, wanted, subject.person):
        if gap is not None and gap is not subject and not _governed(parts):
            slots = [*others, Item("noun", "", (gap,))]
        else:
            slots = list(others)
        for assigned in _assigned(slots, frame.cases):
            if not all(fits_sense(parts.group.lowest, reading) for reading in assigned):
                continue
            for item, others_tally in _prepositional(parts, frame, gap):
                governed = [each for each in item.readings if each.case == frame.case]
                roles = roles_of(parts, subject, assigned, governed)
                nouns = governed_nouns(parts, roles)
                yield roles, _counted(parts, subject, assigned, (*others_tally, nouns))


def _governed(parts: Parts) -> bool:
    """Return whether a preposition stands before the relative pronoun."""
    return parts.gap is not None and bool(parts.gap.preposition)


def _without_reflexives(objects: list[Item], wanted: str, person: str) -> Iterator[list[Item]]:
    """Yield the objects that are left when reflexive pronouns have their places."""
    if any(item.kind == "self" for item in objects) and (not wanted or person not in THIRD):
        return
    if not wanted:
        yield objects
        return
    fitting = [place for place, item in enumerate(objects) if _reflects(item, wanted[0], person)]
    for place in fitting[:1]:
        left = objects[:place] + objects[place + 1 :]
        yield from _without_reflexives(left, wanted[1:], person)


def _reflects(item: Item, case: str, person: str) -> bool:
    if item.kind == "self":
        return person in THIRD
    cases, persons = REFLEXIVE.get(item.text, ("", ()))
    return item.kind == "pronoun" and case in cases and person in persons


def _assigned(objects: list[Item], cases: str) -> Iterator[tuple[Reading, ...]]:
    """Yield readings of the objects that have the cases which a frame requires.

    Of two noun phrases, a definite one stands before an indefinite one, else the dative first.
    """
    if len(objects) != len(cases):
        return
    for order in dict.fromkeys(permutations(cases)):
        if len(order) == 2 and all(item.kind == "noun" and item.text for item in objects):
            definite = [item.determiner not in INDEFINITE for item in objects]
            if definite == [False, True] or (definite != [True, False] and order[0] == "a"):
                continue
        fitting = [
            [reading for reading in item.readings if reading.case == case]
            for item, case in zip(objects, order, strict=True)
        ]
        yield from product(*fitting)


def _prepositional(
    parts: Parts, frame: Frame, gap: Reading | None
) -> Iterator[tuple[Item, tuple[Tally, ...]]]:
    """Yield the item that the verb governs with a preposition, and the tallies of all such items.

    All others must be places. The first item is empty if the verb governs none.
    """
    items = [item for item in parts.items if item.kind == "with"]
    place = bool(items) or any(item.kind == "place" for item in parts.items)
    quality = any(item.kind == "quality" for item in parts.items)
    if frame.clause == "quality" and not (place or quality):
        return
    resting = [_resting(item) for item in items]
    if not frame.preposition or _governed(parts):
        if not _governed(parts) or _is_governed(parts.gap, gap, frame):
            yield from ((NO_ITEM, tallies) for tallies in product(*resting))
        return
    for chosen, item in enumerate(items):
        if item.preposition == frame.preposition:
            own = _tallies(item, frame.case)
            for tallies in product(*resting[:chosen], own, *resting[chosen + 1 :]):
                yield item, tallies


def _is_governed(pronoun: Item | None, gap: Reading | None, frame: Frame) -> bool:
    """Return whether the relative pronoun has the preposition and case that the verb governs."""
    if pronoun is None or gap is None:
        return False
    return (frame.preposition, frame.case) == (pronoun.preposition, gap.case)


def _resting(item: Item) -> list[Tally]:
    """Return the tallies of the readings in which the item tells a place."""
    return _tallies(item, RESTING.get(item.preposition, "")) if item.determiner else []


def _tallies(item: Item, case: str) -> list[Tally]:
    return list(dict.fromkeys(each.tally for each in item.readings if each.case == case))


def _counted(
    parts: Parts, subject: Reading, objects: Iterable[Reading], others: Iterable[Tally]
) -> Tally:
    counted = list(subject.tally)
    for reading in objects:
        counted += reading.tally
    for tally in (*others, *(item.tally for item in parts.items)):
        counted += tally
    for clause in (parts.infinitive, parts.that):
        counted += clause.tally if clause is not None else ()
    counted += [("verb", verb) for verb in parts.group.verbs]
    if parts.group.tense:
        counted.append(("tense", parts.group.tense))
    return tuple(sorted(counted))


def has_infinitive(group: Group) -> bool:
    return len(group.verbs) == 1 and takes(group.lowest, "zu")
