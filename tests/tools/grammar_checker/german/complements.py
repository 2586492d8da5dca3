"""What a German verb requires of the clause: subject, objects, reflexive pronoun, order."""

from collections.abc import Iterable, Iterator
from itertools import permutations, product

from tests.tools.grammar_checker.german.items import RESTING, SELF, Item
from tests.tools.grammar_checker.german.order import (
    is_early,
    late_frequency,
    late_pronoun,
    takes_dative_first,
    wrong_order,
)
from tests.tools.grammar_checker.german.parts import (
    INVERSE,
    Parts,
    Result,
    governed_nouns,
    main_verb,
    roles_of,
)
from tests.tools.grammar_checker.german.phrases import INDEFINITE, MIXED, Reading, Tally, noun_of
from tests.tools.grammar_checker.german.verbs import Group, takes
from tests.tools.grammar_checker.german.words import CLASSES, WORDS, Frame
from tests.tools.grammar_checker.translation import OWNED_OBJECT, Roles

REFLEXIVE = {"mich": ("a", ("1s",)), "mir": ("d", ("1s",)), "uns": ("ad", ("1p",))}
"""Pronouns that may be reflexive, with cases and persons; *sich* stands for the third person."""
MODALS = ("können", "müssen", "dürfen")
THIRD = ("3s", "3p")
AT = CLASSES["at"]
NO_ITEM = Item("", "")


def results(parts: Parts) -> Iterator[Result | str]:
    wrong = wrong_order(parts)
    if wrong:
        yield wrong
        return
    found = list(_with_subject(parts))
    yield from found
    if not found:
        yield f"'{parts.group.lowest}' has a wrong subject or complement"


def _with_subject(parts: Parts) -> Iterator[Result]:
    bare = [item for item in parts.items if item.kind in ("noun", "pronoun", "self")]
    gaps = (None,) if parts.gap is None else parts.gap.readings
    for gap in gaps:
        if gap is not None and gap.case == "n" and not parts.governed:
            if gap.person in parts.group.persons:
                yield from _with_frame(parts, gap, gap, bare)
        elif parts.subject is not None:
            if parts.subject.person in parts.group.persons:
                yield from _with_frame(parts, gap, parts.subject, bare)
        else:
            for subject in _subjects(parts, bare):
                others = [item for item in bare if item is not subject]
                for reading in subject.readings:
                    if reading.case == "n" and reading.person in parts.group.persons:
                        yield from _with_frame(parts, gap, reading, others)


def _subjects(parts: Parts, bare: list[Item]) -> Iterator[Item]:
    """Yield what may be the subject: the first item, or the first noun behind pronouns.

    With *dessen* and *fehlen*, it may be the second.
    """
    starts = (0, 1) if parts.owned or takes_dative_first(parts) else (0,)
    found = []
    for start in starts:
        found += bare[start : start + 1]
        found += [item for item in bare[start:] if item.kind == "noun"][:1]
    for number, item in enumerate(found):
        is_new = all(item is not each for each in found[:number])
        if is_new and item.kind != "self" and is_early(parts, item):
            yield item


def _with_frame(
    parts: Parts, gap: Reading | None, subject: Reading, objects: list[Item]
) -> Iterator[Result]:
    """Yield the results in which the objects are those that a frame requires."""
    if late_pronoun(parts, objects) or late_frequency(parts, objects):
        return
    if parts.infinitive is not None and subject.person != parts.infinitive.person:
        return
    if subject.person not in THIRD and any(item.text.endswith(" sich") for item in parts.items):
        return
    for frame in WORDS.frames[parts.group.lowest]:
        if _fits_clause(parts, frame) and _fits_auxiliary(parts.group, frame):
            if parts.group.passive:
                frame = frame._replace(cases="")
            gender = "" if gap is None else gap.gender
            use = _owned(parts, subject) or ("subject" if gap is subject else "object")
            tense = "perfect" if parts.group.auxiliary else parts.group.tense
            for place, roles, tally in _complements(parts, frame, gap, subject, objects):
                yield Result(
                    gender, subject.person, tally, roles, main_verb(parts),
                    "place" if place else use, tense,
                )  # fmt: skip


def _owned(parts: Parts, subject: Reading) -> str:
    """Return whether the noun after *dessen* is the subject of English; nothing without one."""
    if not parts.owned:
        return ""
    is_subject = subject in parts.items[0].readings
    return "owner" if is_subject != (main_verb(parts) in INVERSE) else OWNED_OBJECT


def _fits_clause(parts: Parts, frame: Frame) -> bool:
    if parts.group.passive:
        return frame.cases == "a" and frame.clause == "" == frame.reflexive == frame.preposition
    if parts.infinitive is not None:
        return frame.clause == "zu"
    if parts.that is not None:
        return frame.clause == "dass"
    return frame.clause in ("", "quality")


def _fits_auxiliary(group: Group, frame: Frame) -> bool:
    if len(group.verbs) == 1 and not group.passive:
        return group.auxiliary in ("", frame.auxiliary)
    return group.passive or group.auxiliary in ("", WORDS.frames[group.verbs[0]][0].auxiliary)


def _complements(
    parts: Parts, frame: Frame, gap: Reading | None, subject: Reading, objects: list[Item]
) -> Iterator[tuple[bool, Roles, Tally]]:
    """Yield the readings in which objects and prepositions fit.

    Each is whether the antecedent is a place, the roles, and the tally.
    """
    wanted = frame.reflexive
    unfit = {"essen": WORDS.others, "fressen": WORDS.persons}.get(main_verb(parts), ())
    mine = main_verb(parts) == "fressen" and subject.person not in THIRD
    if not parts.group.passive and (mine or noun_of(subject) in unfit):
        return
    if len(parts.group.verbs) > 1:
        wanted += WORDS.frames[parts.group.verbs[0]][0].reflexive
    for others in _without_reflexives(objects, wanted, subject.person, frame):
        slots = list(others)
        if gap is not None and gap is not subject and not (parts.governed or parts.owned):
            slots.append(Item("noun", "", (gap,)))
        for assigned in _assigned(slots, frame.cases):
            for place, item, others_tally in _prepositional(parts, frame, gap):
                case = "d" if parts.group.passive else frame.case
                governed = [each for each in item.readings if each.case == case][:1]
                roles = roles_of(parts, subject, assigned, () if parts.group.passive else governed)
                readings = [subject] * (parts.infinitive is not None) or [
                    subject, *assigned, *governed,
                ]  # fmt: skip
                nouns = governed_nouns(parts, readings)
                yield place, roles, _counted(parts, subject, assigned, (*others_tally, nouns))


def _without_reflexives(
    objects: list[Item], wanted: str, person: str, frame: Frame
) -> Iterator[list[Item]]:
    """Yield the objects that are left when reflexive pronouns have their places.

    A reflexive pronoun may also be the only object of a verb (*er wäscht sich*).
    """
    if not wanted:
        if all(item.kind != "self" for item in objects):
            yield objects
        if len(frame.cases) == len(objects) == 1 and _reflects(objects[0], frame.cases, person):
            yield [objects[0]._replace(readings=(Reading(frame.cases, "", "", SELF),))]
        return
    fitting = [place for place, item in enumerate(objects) if _reflects(item, wanted[0], person)]
    for place in fitting[:1]:
        left = objects[:place] + objects[place + 1 :]
        yield from _without_reflexives(left, wanted[1:], person, frame)


def _reflects(item: Item, case: str, person: str) -> bool:
    if item.kind == "self":
        return person in THIRD
    cases, persons = REFLEXIVE.get(item.text, ("", ()))
    return item.kind == "pronoun" and case in cases and person in persons


def _assigned(objects: list[Item], cases: str) -> Iterator[tuple[Reading, ...]]:
    """Yield readings of the objects that have the cases which a frame requires.

    Of two noun phrases, a definite one stands before an indefinite one, else the dative first; of
    two pronouns, the accusative.
    """
    if len(objects) != len(cases):
        return
    for order in dict.fromkeys(permutations(cases)):
        nouns = [item for item in objects if item.kind == "noun" and item.text]
        if len(nouns) == 2 and not any(item.determiner == MIXED for item in nouns):
            definite = [item.determiner not in INDEFINITE for item in objects]
            if definite == [False, True] or (definite != [True, False] and order[0] == "a"):
                continue
        if order == ("d", "a") and all(item.kind == "pronoun" for item in objects):
            continue
        fitting = [
            [reading for reading in item.readings if reading.case == case]
            for item, case in zip(objects, order, strict=True)
        ]
        yield from product(*fitting)


def _prepositional(
    parts: Parts, frame: Frame, gap: Reading | None
) -> Iterator[tuple[bool, Item, tuple[Tally, ...]]]:
    """Yield what the verb governs with a preposition, and the tallies of all items with one.

    All others must be places. The first value is whether the relative pronoun is a place. The item
    is empty if the verb governs none; in the passive, it is the agent.
    """
    items = [item for item in parts.items if item.kind == "with"]
    has_place = parts.governed or bool(items) or any(item.kind == "place" for item in parts.items)
    quality = any(item.kind == "quality" for item in parts.items)
    if frame.clause == "quality" and not (has_place or quality):
        return
    preposition, case, verb = frame.preposition, frame.case, main_verb(parts)
    resting = [_attributive(parts, item) or _resting(item, verb) for item in items]
    if parts.governed and _is_governed(parts.gap, gap, frame):
        yield from ((False, NO_ITEM, tallies) for tallies in product(*resting))
    place = parts.governed and _is_place(parts.gap, gap)
    if parts.governed and not place:
        return
    if parts.group.passive:
        preposition, case = "von", "d"
    if not preposition or parts.group.passive:
        yield from ((place, NO_ITEM, tallies) for tallies in product(*resting))
    for chosen, item in enumerate(items):
        if item.preposition == preposition:
            own = _tallies(item, case)
            for tallies in product(*resting[:chosen], own, *resting[chosen + 1 :]):
                yield place, item, tallies


def _is_governed(pronoun: Item | None, gap: Reading | None, frame: Frame) -> bool:
    """Return whether the relative pronoun has the preposition and case that the verb governs."""
    if pronoun is None or gap is None or not frame.preposition:
        return False
    return (frame.preposition, frame.case) == (pronoun.preposition, gap.case)


def _is_place(pronoun: Item | None, gap: Reading | None) -> bool:
    """Return whether the relative pronoun tells a place: *in dem*, *wo*."""
    if pronoun is None or gap is None:
        return False
    return pronoun.text == "wo" or RESTING.get(pronoun.preposition) == gap.case


def _resting(item: Item, verb: str) -> list[Tally]:
    """Return the tallies of the readings in which the item tells a place."""
    if not item.determiner or (item.preposition == "an" and not _is_at(item)):
        return []
    case = RESTING.get(item.preposition, "")
    places = [
        (each, (("placed", "place", noun_of(each), verb),))
        for each in item.readings
        if each.case == case
    ]
    return list(dict.fromkeys(each.tally + place for each, place in places))


def _is_at(item: Item) -> bool:
    """Return whether *an* tells a place here (*am Flughafen*)."""
    return any(noun_of(each) in AT for each in item.readings)


def _attributive(parts: Parts, item: Item) -> list[Tally]:
    """Return the tallies of what a noun has or where it comes from (*der Mann mit dem Hut*)."""
    before = parts.items[: parts.items.index(item)]
    behind_noun = bool(before) and before[-1].nominal
    return _tallies(item, "d") if behind_noun and item.preposition in ("mit", "aus") else []


def _tallies(item: Item, case: str) -> list[Tally]:
    return list(dict.fromkeys(each.tally for each in item.readings if each.case == case))


def _counted(
    parts: Parts, subject: Reading, objects: Iterable[Reading], others: Iterable[Tally]
) -> Tally:
    counted, verb = list(subject.tally), main_verb(parts)
    for reading in objects:
        counted += reading.tally
    for tally in (*others, *(item.tally for item in parts.items)):
        counted += tally
    counted += [("placed", "place", "", verb) for item in parts.items if item.kind == "place"]
    for number, item in enumerate(parts.items):
        if item.kind == "time":
            counted.append(("placed", "time", "", verb, _width(parts, number)))
    for clause in (parts.infinitive, parts.that):
        counted += clause.tally if clause is not None else ()
    counted += [("verb", verb) for verb in parts.group.verbs]
    if parts.group.passive:
        counted.append(("passive", "passive"))
    if parts.group.tense:
        counted.append(("tense", parts.group.tense))
    return tuple(sorted(counted))


def _width(parts: Parts, number: int) -> str:
    """Return whether a time is ``wide``: outside an infinitive; or ``first`` in its clause."""
    if parts.infinitive is not None:
        return "wide"
    if number >= parts.front or not parts.is_main:
        return ""
    chain = len(parts.group.verbs) > 1 and parts.group.verbs[0] not in MODALS
    return "wide" if chain else "first"


def has_infinitive(group: Group) -> bool:
    return len(group.verbs) == 1 and takes(group.lowest, "zu")
