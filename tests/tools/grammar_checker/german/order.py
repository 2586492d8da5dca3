"""The order of the parts of a German clause."""

from collections.abc import Sequence
from itertools import dropwhile, pairwise

from tests.tools.grammar_checker.clash import clashes
from tests.tools.grammar_checker.german.items import RESTING, Item
from tests.tools.grammar_checker.german.parts import INVERSE, Parts
from tests.tools.grammar_checker.german.phrases import INDEFINITE, MIXED, noun_of
from tests.tools.grammar_checker.german.words import EXPRESSIONS, WORDS
from tests.tools.grammar_checker.words import TRAITS

COUNTS = ("mehrer", "number", "numeral")  # determiners of noun phrases that stand before *nicht*
SHORT_PRONOUNS = ("pronoun", "self")


def wrong_order(parts: Parts) -> str:
    items = parts.items
    kinds = [item.kind for item in items]
    if kinds.count("negation") + sum(item.determiner == "kein" for item in items) > 1:
        return "two negations"
    if kinds.count("quality") > 1 or ("quality" in kinds and parts.group.lowest != "sein"):
        return "an adjective without sein"
    for item in items:
        if item.compares:
            return f"'{item.compares}' is missing after '{item.text}'"
    unnatural = next(clashes(_marks(items)), "") or _attributes(items[: parts.front])
    if unnatural:
        return unnatural
    if any(map(_reads_as_owner, items[parts.front :], items[parts.front + 1 :])):
        return "a dative that reads as a genitive"
    adverbs = {item.text for item in items if item.kind == "manner"}
    if any(item.kind == "quality" and item.text in adverbs for item in items):
        return "an adverb and an adjective that are one word"
    twice = [kind for kind in ("time", "manner", "frequency") if kinds.count(kind) > 1]
    if twice:
        return f"two adverbs of {twice[0]}"
    return (
        _order_of_adverbs(items)
        or _order_of_negation(items)
        or _order_of_qualities(items)
        or _duty("negation" in kinds or any(item.determiner == "kein" for item in items), parts)
    )


def _marks(items: Sequence[Item]) -> set[str]:
    """Return the marks of a clause that ``clash.py`` knows."""
    marks = {item.kind for item in items if item.kind in ("manner", "frequency")}
    for item in items:
        if item.text == "nicht" or item.determiner == "kein":
            marks.add("not")
        elif item.kind == "quality" and item.text in TRAITS and item.tally[0][0] != "comparison":
            marks.add("trait")
        elif item.kind == "time":
            words = tuple(item.text.split())
            marks |= {use for each, use in EXPRESSIONS.get(words[0], ()) if each == words}
    return marks


def _attributes(front: Sequence[Item]) -> str:
    """Return what is wrong with places beside the noun before the finite verb."""
    for head, item in pairwise(front):
        if item.preposition not in RESTING:
            continue
        if head.kind == "with" and head.preposition in RESTING:
            return f"'{item.text}' behind another place"
        noun = noun_of(head.readings[0])
        if head.kind == "noun" and (noun in WORDS.persons or not noun):
            return f"'{item.text}' beside the person '{head.text}'"
        if item.determiner in ("einig", "viel", "mehrer", "number", "none"):
            return f"'{item.text}' tells not which place"
    return ""


def _reads_as_owner(before: Item, item: Item) -> bool:
    """Return whether an object behind a place reads as its owner (*nahe dem Haus der Frau*)."""
    cases = {each.case for each in item.readings}
    return before.kind == "with" and before.nominal and item.kind == "noun" and "g" in cases


def _duty(negated: bool, parts: Parts) -> str:
    """Return what is wrong with a modal verb of duty: *must not* is *darf nicht*."""
    if parts.group.tense == "unreal":
        return ""
    if negated and "müssen" in parts.group.verbs:
        return "'müssen' with a negation must be dürfen"
    if not negated and "dürfen" in parts.group.verbs:
        return "'dürfen' without a negation must be müssen"
    return ""


def _order_of_adverbs(items: Sequence[Item]) -> str:
    kinds = [item.kind for item in items]
    if "manner" in kinds:
        after = items[kinds.index("manner") + 1 :]
        if any(
            item.kind == "noun" and item.determiner not in (*INDEFINITE, MIXED) for item in after
        ):
            return "an adverb before a definite noun phrase"
    if "negation" in kinds and "time" in kinds[kinds.index("negation") :]:
        return "a time after the negation"
    return ""


def _order_of_negation(items: Sequence[Item]) -> str:
    for place, item in enumerate(items):
        after = items[place + 1 :]
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


def _order_of_qualities(items: Sequence[Item]) -> str:
    """Return what is wrong with an adjective that is not the last part of its clause.

    Only an attribute of what it is compared with may follow.
    """
    for place, item in enumerate(items):
        compared = item.tally[:1] and item.tally[0][0] == "comparison"
        followers = [each for each in items[place + 1 :] if each.kind != "with" or not compared]
        if item.kind == "quality" and followers:
            return f"'{item.text}' does not stand at the end"
    return ""


def late_pronoun(parts: Parts, objects: Sequence[Item]) -> bool:
    """Return whether a pronoun stands behind an adverb, or behind what is too heavy."""
    items = parts.items[parts.front :]
    in_field = [item for item in objects if any(item is each for each in items)]
    pronouns = [item for item in in_field if item.kind in SHORT_PRONOUNS]
    if in_field[: len(pronouns)] != pronouns:
        return True
    # Without a choice of the first part, *sieht die Frau, die ..., sie* tells who sees whom.
    may_be_subject = not parts.front and any(item.text in ("sie", "es") for item in pronouns)
    for pronoun in pronouns:
        place = next(place for place, item in enumerate(items) if item is pronoun)
        before = items[:place]
        if any(item.kind not in (*SHORT_PRONOUNS, "noun", "with") for item in before):
            return True
        if any(item.related for item in before) and not may_be_subject:
            return True
    return False


def late_frequency(parts: Parts, objects: Sequence[Item]) -> bool:
    """Return whether *immer* or *nie* stands behind two definite objects."""
    definite = [
        item for item in objects if item.kind == "noun" and item.determiner not in INDEFINITE
    ]
    return len(definite) > 1 and any(
        item.kind == "frequency" or item.text == "nie"
        for item in parts.items[parts.items.index(definite[1]) :]
    )


def is_early(parts: Parts, subject: Item) -> bool:
    """Return whether only what may precede the subject does.

    That is a time or the dative of *fehlen* before the finite verb, pronouns, and what stands with
    *dessen*.
    """
    place = parts.items.index(subject)
    if place < parts.front:
        return place == 0
    has_other_front = bool(parts.front) and parts.items[0].kind != "time"
    if has_other_front and not (parts.owned or takes_dative_first(parts)):
        return False
    kinds = [item.kind for item in parts.items[parts.front : place]]
    if parts.owned:
        kinds = list(dropwhile("with".__eq__, kinds))  # *dessen Hund im Haus*
    if kinds and subject.kind != "noun":
        return False
    start = len(kinds)
    if takes_dative_first(parts) and (has_other_front or "noun" in kinds):
        start = kinds.index("noun") if "noun" in kinds else 0
    behind = set(kinds[start : start + 1]) - {"noun"} | set(kinds[start + 1 :])
    allowed = {*SHORT_PRONOUNS, "with", "time", "frequency", "negation"}
    return set(kinds[:start]) <= set(SHORT_PRONOUNS) and behind <= allowed


def takes_dative_first(parts: Parts) -> bool:
    """Return whether the object may precede the subject (*dem Mann fehlt sein Hund*)."""
    return parts.group.lowest in INVERSE
