"""The verbs of a German clause: the finite verb, and the right half of the bracket."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.tools.grammar_checker.german.items import GermanItems
from tests.tools.grammar_checker.german.words import PAST, PRESENT, UNREAL, WORDS

ANY = ("1s", "3s", "1p", "3p")


class Group(NamedTuple):
    """The verbs of a clause."""

    verbs: tuple[str, ...]  # the highest verb, and a verb that depends on it
    tense: str
    persons: tuple[str, ...]
    auxiliary: str = ""  # the auxiliary of a participle
    passive: bool = False

    @property
    def lowest(self) -> str:
        return self.verbs[-1]


def _helpers() -> dict[str, list[tuple[str, Group]]]:
    """Return what the end of a clause must have with each form of an auxiliary, and its group."""
    found: dict[str, list[tuple[str, Group]]] = {}
    for wanted, forms, group in (
        ("participle", "habe hat haben", Group((), "past", (), "haben")),
        ("participle", "bin ist sind", Group((), "past", (), "sein")),
        ("infinitive", "werde wird werden", Group((), "future", ())),
        ("infinitive", "würde würden", Group((), "unreal", ())),
        ("passive", "werde wird werden", Group((), "present", (), passive=True)),
        ("passive", "wurde wurden", Group((), "past", (), passive=True)),
        ("passive", "würde würden", Group((), "unreal", (), passive=True)),
    ):
        words = forms.split()
        for word, persons in zip(words, PRESENT if len(words) == 3 else PAST, strict=True):
            found.setdefault(word, []).append((wanted, group._replace(persons=persons)))
    return found


HELPERS = _helpers()


def helping(word: str, wanted: str) -> list[Group]:
    return [group for kind, group in HELPERS.get(word, ()) if kind == wanted]


def takes(verb: str, clause: str) -> bool:
    return any(frame.clause == clause for frame in WORDS.frames[verb])


def _may_be_passive(verb: str) -> bool:
    return any(frame.cases == "a" and not frame.clause for frame in WORDS.frames[verb])


class GermanVerbs(GermanItems):
    def is_finite(self, place: int) -> bool:
        return self.words[place] in HELPERS or self.words[place] in WORDS.finite

    def finite_verbs(self, place: int) -> Iterator[tuple[str, str, Group]]:
        """Yield the readings of a finite verb in the second place.

        Each is what the end of the clause must have (``participle``, ``infinitive``, ``passive``
        or nothing), the separable prefix there, and the group, which lacks what is not yet read.
        """
        word = self.words[place]
        for wanted, group in HELPERS.get(word, ()):
            yield wanted, "", group
        for form in WORDS.finite.get(word, ()):
            group = Group((form.lemma,), form.tense, form.persons)
            if not takes(form.lemma, "bare") or len(WORDS.frames[form.lemma]) > 1:
                yield "", form.prefix, group
            if takes(form.lemma, "bare"):
                yield "bare", "", group

    def right_half(
        self, place: int, wanted: str, prefix: str, group: Group
    ) -> Iterator[tuple[int, Group]]:
        """Yield the readings of the right half of the bracket, with their ends."""
        word = self.words[place]
        if prefix:
            if word == prefix:
                yield place + 1, group
            else:
                self.reject(place, f"the prefix '{prefix}' is missing")
        elif not wanted:
            yield place, group
        elif wanted == "participle":
            for verb in WORDS.participles.get(word, ()):
                yield place + 1, group._replace(verbs=(verb,))
            if group.auxiliary == "sein" and self.words[place + 1] == "worden":
                for end, verb in self._passives(place, "worden"):
                    yield end, group._replace(verbs=(verb,), passive=True)
        elif wanted == "passive":
            for end, verb in self._passives(place, ""):
                yield end, group._replace(verbs=(verb,))
        elif wanted == "bare":
            for end, inner in self._infinitives(place):
                yield end, _under(group, inner)
        else:
            yield from self._after_werden(place, group)

    def _passives(self, place: int, helper: str) -> Iterator[tuple[int, str]]:
        """Yield the participles that may be passive, with *werden* or *worden* behind them."""
        if helper and self.words[place + 1] != helper:
            return
        for verb in WORDS.participles.get(self.words[place], ()):
            if _may_be_passive(verb):
                yield place + 1 + bool(helper), verb

    def _infinitives(self, place: int) -> Iterator[tuple[int, Group]]:
        """Yield infinitives, active (*sehen*) and passive (*gesehen werden*)."""
        for verb in WORDS.infinitives.get(self.words[place], ()):
            yield place + 1, Group((verb,), "", ())
        for end, verb in self._passives(place, "werden"):
            yield end, Group((verb,), "", (), passive=True)

    def _after_werden(self, place: int, group: Group) -> Iterator[tuple[int, Group]]:
        """Yield infinitives after *wird* and *würde*: one, or one with a modal verb."""
        for end, inner in self._infinitives(place):
            if group.tense != "unreal" or inner.lowest not in UNREAL:
                yield end, _under(group, inner)
            for modal in WORDS.infinitives.get(self.words[end], ()):
                if group.tense != "unreal" and takes(modal, "bare"):
                    yield end + 1, _under(group._replace(verbs=(modal,)), inner)

    def last_verbs(self, place: int) -> Iterator[tuple[int, Group]]:
        for after, inner in self.infinitives_with_zu(place):
            for end, group in self._ending(after):
                if takes(group.verbs[0], "zu") and len(group.verbs) == 1 and not group.passive:
                    yield end, group._replace(verbs=(*group.verbs, inner))
        yield from self._ending(place)

    def _ending(self, place: int) -> Iterator[tuple[int, Group]]:
        word, after = self.words[place], self.words[place + 1]
        for form in WORDS.joined.get(word, ()):
            yield place + 1, Group((form.lemma,), form.tense, form.persons)
        for verb in WORDS.participles.get(word, ()):
            for group in helping(after, "participle"):
                yield place + 2, group._replace(verbs=(verb,))
            if _may_be_passive(verb):
                for group in helping(after, "passive"):
                    yield place + 2, group._replace(verbs=(verb,))
                for group in helping(self.words[place + 2], "participle"):
                    if after == "worden" and group.auxiliary == "sein":
                        yield place + 3, group._replace(verbs=(verb,), passive=True)
        for end, inner in self._infinitives(place):
            yield from self._ending_of_infinitive(end, inner)

    def _ending_of_infinitive(self, end: int, inner: Group) -> Iterator[tuple[int, Group]]:
        """Yield the groups of an infinitive with the finite verb behind it."""
        word, after = self.words[end], self.words[end + 1]
        for form in WORDS.joined.get(word, ()):
            if takes(form.lemma, "bare"):
                yield end + 1, _under(Group((form.lemma,), form.tense, form.persons), inner)
        for group in helping(word, "infinitive"):
            if group.tense != "unreal" or inner.lowest not in UNREAL:
                yield end + 1, _under(group, inner)
        for group in helping(after, "infinitive"):
            for modal in WORDS.infinitives.get(word, ()):
                if group.tense == "future" and takes(modal, "bare"):
                    yield end + 2, _under(group._replace(verbs=(modal,)), inner)

    def infinitives_with_zu(self, place: int) -> Iterator[tuple[int, str]]:
        for verb in WORDS.with_zu.get(self.words[place], ()):
            yield place + 1, verb
        if self.words[place] == "zu":
            for verb in WORDS.infinitives.get(self.words[place + 1], ()):
                if "|" not in verb:
                    yield place + 2, verb


def _under(group: Group, inner: Group) -> Group:
    """Return a group with an infinitive under it."""
    return group._replace(verbs=(*group.verbs, *inner.verbs), passive=inner.passive)
