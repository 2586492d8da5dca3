"""German clauses: main clauses, and subordinate ones with the verb at the end."""

from collections.abc import Iterator
from itertools import chain

from tests.tools.grammar_checker.german.complements import has_infinitive, results
from tests.tools.grammar_checker.german.items import CONTRACTED, Item
from tests.tools.grammar_checker.german.parts import Parts, Result
from tests.tools.grammar_checker.german.phrases import Reading, Tally, noun_of
from tests.tools.grammar_checker.german.verbs import ANY, GermanVerbs, Group, takes
from tests.tools.grammar_checker.german.words import WORDS
from tests.tools.grammar_checker.translation import OWNED_OBJECT

RELATIVE = {
    "der": (("n", "m"), ("d", "f")), "die": (("n", "f"), ("a", "f"), ("n", "p"), ("a", "p")),
    "das": (("n", "n"), ("a", "n")), "den": (("a", "m"),), "dem": (("d", "m"), ("d", "n")),
    "denen": (("d", "p"),),
}  # fmt: skip
"""Cases and genders of the relative pronouns."""
OWNERS = {"dessen": "mn", "deren": "fp"}
NUMBERS = {"m": "3s", "f": "3s", "n": "3s", "p": "3p"}
ASKING = {"wer": "n", "wen": "a", "wem": "d", "was": "na", "wo": ""}
"""Words that ask, with their cases."""
Field = tuple[int, tuple[Item, ...]]  # where a part of a clause ends, and its items
Ends = list[tuple[int, Result]]  # clauses with their ends


class GermanClauses(GermanVerbs):
    def __init__(self, words: list[str]) -> None:
        super().__init__(words)
        self._clauses: dict[tuple[str, int], Ends] = {}

    def main_clauses(
        self, place: int, inverted: bool, gap: Item | None = None, subject: Reading | None = None
    ) -> Iterator[tuple[int, Result]]:
        """Yield the main clauses at a place.

        Args:
            place: of the first word.
            inverted: whether the clause begins with its verb.
            gap: the word that asks, before the verb.
            subject: that of the clause before, if it is not said again.
        """
        fronts: Iterator[Field] = iter([(place, ())]) if inverted else self._fronts(place)
        seen = set()
        for start, front in fronts:
            for wanted, prefix, finite in self.finite_verbs(start):
                for middle, items in self._fields(start + 1, front):
                    ends = self.right_half(middle, wanted, prefix, finite)
                    if gap is not None:
                        ends = chain(ends, self._with_infinitive(middle, wanted, prefix, finite))
                    for end, group in ends:
                        parts = Parts(items, group, gap, subject, len(front), is_main=True)
                        for found in self._finished(end, parts):
                            if found not in seen:
                                seen.add(found)
                                yield found

    def _with_infinitive(
        self, place: int, wanted: str, prefix: str, group: Group
    ) -> Iterator[tuple[int, Group]]:
        """Yield the ends of a clause that asks for the object of its infinitive.

        *Was versucht sie zu sehen?* has no comma.
        """
        for after, inner in self.infinitives_with_zu(place):
            for end, outer in self.right_half(after, wanted, prefix, group):
                if has_infinitive(outer):
                    yield end, outer._replace(verbs=(*outer.verbs, inner))

    def questions(self, place: int) -> Iterator[tuple[int, Result, str]]:
        """Yield the questions at a place, with what they ask for."""
        for end, result in self.main_clauses(place, inverted=True):
            yield end, result, "whether"
        word = self.words[place]
        if word in ASKING:
            kind = {"wo": "where", "was": "what"}.get(word, "who")
            readings = tuple(Reading(case, "mfnp", "3s", ()) for case in ASKING[word] or "-")
            asked = Item("asked", word, readings, preposition="wo" * (word == "wo"))
            for end, result in self.main_clauses(place + 1, inverted=True, gap=asked):
                yield end, result, kind

    def subordinate_clauses(self, place: int, conjunction: str) -> Ends:
        key = conjunction, place
        found = self._clauses.get(key)
        if found is None:
            found = self._clauses[key] = [
                (end, result)
                for end, result in self._with_last_verb(place, None)
                if _fits_conjunction(conjunction, result)
            ]
        return found

    def _fronts(self, place: int) -> Iterator[Field]:
        """Yield what may stand before the finite verb: a time, the subject, or a dative."""
        for end, item in self.items(place):
            cases = {each.case for each in item.readings}
            if item.kind == "time" or (item.kind == "pronoun" and cases & {"n", "d"}):
                yield end, (item,)
            elif item.kind == "noun":
                for after, items in self._fields(end, (item,)):
                    if all(each.kind == "with" for each in items[1:]):
                        yield after, items

    def _fields(self, place: int, items: tuple[Item, ...]) -> Iterator[Field]:
        """Yield how far the items of a clause may reach, with their relative clauses."""
        yield place, items
        if self.words[place] == ",":
            yield from self._fields_after_relative(place, items)
            return
        found = self.items(place)
        if not found:
            self.reject(place, "")
        for end, item in found:
            yield from self._fields(end, (*items, item))

    def _fields_after_relative(self, place: int, items: tuple[Item, ...]) -> Iterator[Field]:
        """Yield the fields with a relative clause behind the last noun phrase."""
        candidates = []
        for number in reversed(range(len(items))):
            if not items[number].nominal:
                break
            candidates.append(number)
            if items[number].kind == "noun":
                break
        for end, extended in self._with_relative(place, items, candidates):
            if self.words[end] == ",":
                yield from self._fields(end + 1, extended)
                yield from self._fields_after_relative(end, extended)
            yield end, extended

    def _with_relative(
        self, place: int, items: tuple[Item, ...], candidates: list[int]
    ) -> Iterator[Field]:
        """Yield the items with a relative clause that belongs to one of the candidates."""
        clauses = self._relatives(place) if candidates else []
        for end, result in clauses:
            for number in candidates:
                if not CONTRACTED.keys().isdisjoint(items[number].text.split()):
                    self.reject(place + 1, f"'{items[number].text}' contracts before its clause")
                    continue
                readings = tuple(
                    reading._replace(tally=_with_clause(reading, result))
                    for reading in items[number].readings
                    if reading.gender == result.gender
                    and not (noun_of(reading) in WORDS.persons and _misleads(end, result, clauses))
                )
                if readings:
                    changed = items[number]._replace(readings=readings, related=True)
                    yield end, (*items[:number], changed, *items[number + 1 :])
                else:
                    self.reject(place + 1, "the relative pronoun has another gender or number")

    def _relatives(self, place: int) -> Ends:
        key = "relative", place
        found = self._clauses.get(key)
        if found is None:
            found = self._clauses[key] = []
            for end, gap in self._relative_pronouns(place + 1):
                found += self._with_last_verb(end, gap)
            found += self._owned_clauses(place + 1)
            found[:] = [each for each in found if each[1].tense != "unreal"]
        return found

    def _owned_clauses(self, place: int) -> Iterator[tuple[int, Result]]:
        """Yield the relative clauses that begin with *dessen* or *deren* and a noun."""
        for after, words, cases in ((place, (), "nad"), *self.prepositions(place)):
            owner = self.words[after]
            if owner not in OWNERS:
                continue
            gap = Item("owner", owner, tuple(Reading("", each, "", ()) for each in OWNERS[owner]))
            for phrase in self.owned(after + 1):
                readings = tuple(each for each in phrase.readings if each.case in cases)
                owned = Item("with" if words else "noun", "", readings, " ".join(words))
                found = self._with_last_verb(phrase.end, gap, (owned,))
                yield from (each for each in found if not _is_turned(each, found))

    def _relative_pronouns(self, place: int) -> Iterator[tuple[int, Item]]:
        for after, words, cases in ((place, (), "nad"), *self.prepositions(place)):
            readings = tuple(
                Reading(case, gender, NUMBERS[gender], ())
                for case, gender in RELATIVE.get(self.words[after], ())
                if case in cases
            )
            if readings:
                text = self.words[after]
                yield after + 1, Item("relative", text, readings, " ".join(words))
        if self.words[place] == "wo":
            readings = tuple(Reading("", gender, "", ()) for gender in NUMBERS)
            yield place + 1, Item("relative", "wo", readings, "wo")

    def _with_last_verb(self, place: int, gap: Item | None, front: tuple[Item, ...] = ()) -> Ends:
        found = [
            ended
            for middle, items in self._fields(place, front)
            for end, group in self.last_verbs(middle)
            if self.words[end] in (",", ".", "als", "wie") or any(self.infinitives_with_zu(end))
            for ended in self._finished(end, Parts(items, group, gap, front=len(front)))
        ]
        return list(dict.fromkeys(found))

    def _infinitive_clauses(self, place: int, bare: bool = False) -> Ends:
        """Return the infinitive clauses at a place; without a comma, a ``bare`` infinitive."""
        key = "bare" if bare else "infinitive", place
        found = self._clauses.get(key)
        if found is None:
            found = self._clauses[key] = []
            fields: Iterator[Field] = iter([(place, ())]) if bare else self._fields(place, ())
            for middle, items in fields:
                for end, verb in self.infinitives_with_zu(middle):
                    group = Group((verb,), "", ANY)
                    for person in ANY:
                        subject = Reading("n", "", person, ())
                        found += self._finished(end, Parts(items, group, subject=subject))
        return found

    def _finished(self, place: int, parts: Parts) -> Iterator[tuple[int, Result]]:
        """Yield the results of a clause with what follows its verbs, which end at a place."""
        for end, ended in self._followed(place, parts):
            shares = self.words[end] == "und" and parts.is_main and self.is_finite(end + 1)
            if self.words[end] not in (",", ".") and not shares:
                self.reject(end, "")
                continue
            for result in results(ended):
                if isinstance(result, str):
                    self.reject(end, result)
                else:
                    yield end, result

    def _followed(self, place: int, parts: Parts) -> Iterator[tuple[int, Parts]]:
        yield place, parts
        items = parts.items
        if items and items[-1].compares:
            for end, quality in self.standards(place, items[-1]):
                yield from self._followed(end, parts._replace(items=(*items[:-1], quality)))
        bare = self.words[place] != ","
        if parts.infinitive is None and has_infinitive(parts.group):
            for end, result in self._infinitive_clauses(place + (not bare), bare):
                yield from self._followed(end, parts._replace(infinitive=result))
        if bare:
            return
        candidates = [each for each in range(parts.front, len(items)) if items[each].nominal]
        for end, extended in self._with_relative(place, items, candidates):
            yield from self._followed(end, parts._replace(items=extended))
        after = self.words[place + 1]
        if parts.that is None and after == "dass" and takes(parts.group.lowest, "dass"):
            for end, result in self.subordinate_clauses(place + 2, "dass"):
                yield from self._followed(end, parts._replace(that=result))


def _misleads(end: int, result: Result, others: Ends) -> bool:
    """Return whether a reader takes the antecedent, an object, for the subject.

    *Männer, die die Frauen sehen* are men who see the women; sense decides if the other is a thing.
    """
    return result.use == "object" and any(
        (after, each.use, each.verb, each.gender) == (end, "subject", result.verb, result.gender)
        and not (each.roles.object and each.roles.object.noun in WORDS.others)
        for after, each in others
    )


def _is_turned(ended: tuple[int, Result], others: Ends) -> bool:
    """Return whether a reader takes the first noun, which is the object, for the subject.

    *Der Mann, dessen Pferd die Maus hört* is a man whose horse hears the mouse; but nobody's house
    sees a woman.
    """
    end, result = ended
    subject, thing = result.roles
    if subject is None or thing is None or result.use != OWNED_OBJECT:
        return False
    acts = subject.noun in WORDS.persons and thing.noun in WORDS.others
    turned = ((each.use, each.verb) for after, each in others if after == end)
    return not acts and ("owner", result.verb) in turned


def _fits_conjunction(conjunction: str, result: Result) -> bool:
    if conjunction == "als":
        return result.tense in ("past", "perfect")
    return conjunction == "wenn" or result.tense != "unreal"


def _with_clause(reading: Reading, relative: Result) -> Tally:
    """Return what a noun phrase with a relative clause tells."""
    number = "p" if reading.gender == "p" else "s"
    attached = "attached", noun_of(reading), relative.verb, relative.use, number
    return (*reading.tally, attached, *relative.tally)
