"""Tables of words by class: which nouns, verbs and adjectives fit, and how often each is drawn."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar, TypeVarTuple

from datamodules.grammar.drawing.draws import Pool, Tables, zipf_weights
from datamodules.grammar.meaning.lexicon import lexicon
from datamodules.grammar.meaning.phrases import (
    KINDS,
    LIFELESS,
    OBJECTS,
    Adjective,
    Expression,
    Mode,
    Noun,
    Verb,
)

OFFSET = 12  # of the law of Zipf and Mandelbrot, for nouns, verbs and adjectives
PLURAL_SHARE = 0.38  # share of plurals among the nouns that have a plural
_NUMBERS, _ONE_NUMBER = ((False, 1 - PLURAL_SHARE), (True, PLURAL_SHARE)), ((False, 1.0),)
OWNABLE = (*OBJECTS, "animal", "food", "idea")  # classes of nouns that may have an owner
NO_OWN = ("body", "landmark", "material", "event")
"""Classes without possessives: languages differ in how they say *her hand*."""

NounForm: TypeAlias = tuple[Noun, bool]  # a noun, and whether it is plural
Kinds: TypeAlias = tuple[str, ...]
Word = TypeVar("Word")
Parts = TypeVarTuple("Parts")

_DETERMINERS: dict[str, dict[str, float]] = {
    "singular": {"the": 8, "a": 5, "this": 1.2, "my": 0.8, "our": 0.5, "every": 0.2, "own": 2.5},
    "plural": {
        "the": 8, "some": 2.5, "this": 1, "my": 0.7, "our": 0.5, "two": 0.8, "many": 0.4,
        "three": 0.4, "several": 0.4, "four": 0.2, "own": 2.5,
    },
    "mass": {"the": 4, "this": 0.5, "my": 0.4, "our": 0.4, "some": 4, "own": 1},
}  # fmt: skip
_COUNTS = ("two", "three", "four", "many", "several")
_PERSONAL = ("my", "our", "own")
_BUT_THE = (*_PERSONAL, "this", "every", "some", *_COUNTS)
_NOT_AS: dict[str, tuple[str, ...]] = {
    "subject": ("some", "own"), "denied subject": ("some", "own", "every"),
    "object": (), "denied object": ("every", *_COUNTS), "goal": ("some", "own", "every"),
    "carried": (*_PERSONAL, "the", "this", "every", "several", "many", "some"),
    "other": ("some", "own"), "denied other": ("some", "own", "every", *_COUNTS),
    "place": _BUT_THE, "attribute": (*_BUT_THE, "a"),
    "known subject": ("a", "some", "own", "every", "many", "several"),
    "part": ("some", "own", "every", *_COUNTS), "standard": ("a", "some", "own", "every", *_COUNTS),
}  # fmt: skip
"""Determiners that a noun phrase does not have, by its role; *other* is an agent or object of a
verb that is the subject elsewhere, and *part* the second of two phrases with *and*. *Some* is no
subject in any language: *des hommes* are not the *some* of *some men are ill*."""
_EQUAL = {"opinion", "quality"}  # categories of adjectives that no order tells apart
_LASTING = ("size", "age", "shape", "colour", "origin", "material")
"""Categories of qualities that do not come and go."""

CAN, MUST = (Verb(name, "modal", ()) for name in ("can", "must"))
_ABLE = ((CAN, "", 1.0), (CAN, "not", 0.2))
_MODALS: dict[str, tuple[tuple[Verb, str, float], ...]] = {
    "present": (*_ABLE, (MUST, "", 0.8), (MUST, "not", 0.1)),
    "past": ((CAN, "not", 0.3),),  # *could* is no single event: *was able to*
    "supposed": (*_ABLE, (MUST, "", 0.8)), "unreal": (*_ABLE, (MUST, "", 0.8)),
}  # fmt: skip
"""Modal verbs by tense, with their negation and their weight."""


class Vocabulary:
    """The words of a corpus with their frequencies; a table is None if no word fits."""

    def __init__(self, nouns: int, exponent: float, separable: float) -> None:
        """Store the number of nouns, the exponent of Zipf's law, and the share of the verbs that
        German separates, where some of both sorts fit."""
        self.lexicon = lexicon(nouns)
        self._exponent, self._separable = exponent, separable
        self.names = self._pool([(name, False) for name in self.lexicon.names])
        self.tenses: Pool[str] = Pool(("present", "past", "future"), (4, 4, 2))
        self.nouns = Tables(self._nouns)
        self.senses = Tables(self._senses)
        self.verbs: Tables[str, str, Noun | str, str, Pool[Verb] | None] = Tables(self._verbs)
        self.determiners, self.modes = Tables(self._determiners), Tables(self._modes)
        self.adjectives = self._pools(self._adjectives, OFFSET)
        self.qualities = self._pools(self._qualities, OFFSET)
        self.causes, self.results = self._pools(self._causes), self._pools(self._results)
        self.times, self.manners = self._pools(self._times), self._pools(self._manners)
        self.prepositions = self._pools(self._prepositions)
        self.conjunctions = self._pools(self._conjunctions)
        self.expressions = {
            section: self._pool(words) for section, words in self.lexicon.expressions.items()
        }
        self.described = tuple(kind for kind in KINDS if self.qualities[kind, False])
        """Classes of nouns with an adjective that may stand after *be*."""

    def _pool(self, words: Sequence[Word], offset: int = 0) -> Pool[Word]:
        return Pool(words, zipf_weights(len(words), self._exponent, offset))

    def _pools(
        self, find: Callable[[*Parts], list[Word]], offset: int = 0
    ) -> Tables[*Parts, Pool[Word] | None]:
        """Return pools of what is found for a key; None for nothing."""
        return Tables(lambda *key: self._pool(words, offset) if (words := find(*key)) else None)

    def _nouns(self, kinds: Kinds, plural: bool | None, barred: Kinds) -> Pool[NounForm] | None:
        """Return the nouns of some classes, or with some names, but not those barred; of one
        number, if it is given."""
        weights = zipf_weights(len(self.lexicon.nouns), self._exponent, OFFSET)
        ranked = [
            (noun, weight)
            for noun, weight in zip(self.lexicon.nouns, weights, strict=True)
            if (noun.kind in kinds or noun.name in kinds) and noun.name not in barred
        ]
        return _forms(ranked, plural)

    def _senses(self, verb: Verb, is_subject: bool) -> Pool[NounForm] | None:
        """Return the nouns with two senses of which a verb excludes one, as its subject or not."""
        if is_subject:
            kinds, excluded = verb.subjects, LIFELESS if verb.living else ()
        else:
            kinds, excluded = verb.objects, verb.excludes
        fitting = [
            sense
            for pair in self.lexicon.senses
            for sense, other in (pair, pair[::-1])
            if sense.kind in kinds and other.kind in excluded
        ]
        weights = zipf_weights(len(fitting), self._exponent, OFFSET)
        return _forms(list(zip(fitting, weights, strict=True)), None)

    def _verbs(self, frame: str, subject: str, object_: Noun | str, mark: str) -> Pool[Verb] | None:
        """Return the verbs of a frame that fit a class as subject, and a noun or class as object
        (any: empty).

        ``mark`` holds the marks that the verbs must have, or ``event``.
        """
        if object_:
            every = self.verbs[frame, subject, "", mark]
            fitting = [verb for verb in every.items if _governs(verb, object_)] if every else []
        else:
            fitting = [
                verb
                for verb in self.lexicon.verbs
                if ("doubting" if verb.doubting else verb.frame) == frame
                and (subject in verb.subjects if subject else self.nouns[verb.subjects, None, ()])
                and self._has_object(verb)
                and all(not verb.state if m == "event" else getattr(verb, m) for m in mark.split())
            ]
        if not fitting:
            return None
        ranks = zipf_weights(len(fitting), self._exponent, OFFSET)
        weights = list(zip(fitting, ranks, strict=True))
        parted = sum(weight for verb, weight in weights if verb.separable)
        whole = sum(weight for verb, weight in weights if not verb.separable)
        if parted and whole:
            share = {True: self._separable / parted, False: (1 - self._separable) / whole}
            weights = [(verb, weight * share[verb.separable]) for verb, weight in weights]
        return Pool(*zip(*weights, strict=True))

    def _has_object(self, verb: Verb) -> bool:
        return not verb.objects or self.nouns[verb.objects, None, verb.barred] is not None

    def _adjectives(self, kind: str, other: Adjective | None) -> list[Adjective]:
        """Return the adjectives before a noun of a class, beside another one or alone."""
        return [
            adjective
            for adjective in self.lexicon.adjectives
            if kind in adjective.kinds
            and adjective.attributive
            and (other is None or not (adjective.alone or _of_one_rank(adjective, other)))
        ]

    def _qualities(self, kind: str, passing: bool) -> list[Adjective]:
        """Return the adjectives after *be* for a class: all, or those that come and go."""
        return [
            adjective
            for adjective in self.lexicon.adjectives
            if kind in adjective.kinds
            and adjective.predicative
            and not (passing and is_lasting(adjective))
        ]

    def _causes(self, kind: str, verb: Verb) -> list[Adjective]:
        """Return the qualities of a class that are a reason for what a verb says."""
        return [one for one in self._qualities(kind, False) if verb.name in one.results]

    def _results(self, kind: str, quality: Adjective) -> list[Verb]:
        """Return the verbs that say what somebody of a class does because of a quality."""
        return [
            verb
            for verb in self.lexicon.verbs
            if verb.name in quality.results and kind in verb.subjects and self._has_object(verb)
        ]

    def _determiners(self, count: str, plain: bool, role: str) -> Pool[str]:
        """Return the determiners for a count (singular, plural, mass) in a role.

        A plain noun has no possessive.
        """
        left_out = (*_NOT_AS[role], *(_PERSONAL if plain else ()))
        weights = _DETERMINERS[count].items()
        fitting = {name: weight for name, weight in weights if name not in left_out}
        return Pool(fitting, fitting.values())

    def _modes(self, tense: str, habit: bool, modals: str, negation: str | None) -> Pool[Mode]:
        """Return the modes of a tense, with *can* (``able``) and also *want* (``willing``).

        Those of a ``state`` have no adverb of frequency; all have one negation, if it is given.
        In the past, only a habit has *never*, *often* and the like; nor has a condition: *he would
        often sleep* is a habit.
        """
        plain = Mode(tense, habit=habit)
        modes = [(plain, 9.0), (plain._replace(negation="not"), 0.8)]
        if tense in ("present", "perfect") or habit:
            modes += [(plain._replace(negation="never"), 0.4)]
        if (tense == "present" or habit) and modals != "state":
            often = enumerate(self.lexicon.expressions["frequency"], 1)
            modes += [(plain._replace(adverb=adverb), 1 / rank) for rank, adverb in often]
        with_modal: list[tuple[Verb, str, float]] = []
        if modals == "willing":
            verbs = [
                verb
                for verb in self.lexicon.verbs
                if verb.frame == "infinitive"
                and not (tense in ("perfect", "future", "unreal") and verb.state)
            ]
            for negated, weight in (("", 2.0), ("not", 0.1)):
                with_modal += [(verb, negated, weight / n) for n, verb in enumerate(verbs, 1)]
        if modals in ("able", "willing"):
            with_modal += _MODALS.get(tense, ())
        modes += [
            (plain._replace(negation=negated, modal=verb), weight)
            for verb, negated, weight in with_modal
        ]
        if negation is not None:
            modes = [(mode, weight) for mode, weight in modes if mode.negation == negation]
        return Pool(*zip(*modes, strict=True))

    def _times(self, section: str, most_words: int, where: str, negated: bool) -> list[Expression]:
        """Return the times of at most some words: at opposite ends (``topic``), in ``front``, at
        the ``end`` in all languages, or there where one could be a topic (``comment``)."""
        return [
            time if where != "end" else replace(time, kinds=())
            for time in self.lexicon.expressions[section]
            if time.words <= most_words
            and (where not in ("topic", "comment") or ("topic" in time.kinds) == (where == "topic"))
            and not (negated and "affirmed" in time.kinds)
        ]

    def _manners(self, kind: str, verb: Verb) -> list[Expression]:
        """Return the adverbs of manner for a class of subjects and a verb."""
        return [
            adverb
            for adverb in self.lexicon.expressions["manner"]
            if kind in adverb.kinds and adverb.words == 1 and verb.name in adverb.fits
        ]

    def _prepositions(self, section: str, kind: str, plural: bool | None) -> list[Expression]:
        """Return prepositions of a section by the class before them, and the number behind."""
        return [
            preposition
            for preposition in self.lexicon.expressions[section]
            if kind in preposition.fits and self.nouns[preposition.kinds, plural, ()] is not None
        ]

    def _conjunctions(self, tense: str, left_out: frozenset[str]) -> list[Expression]:
        """Return the conjunctions that may join clauses of a tense, but some."""
        section = self.lexicon.expressions[f"conjunctions_{tense}"]
        return [word for word in section if word.name not in left_out]


def _forms(ranked: Sequence[tuple[Noun, float]], plural: bool | None) -> Pool[NounForm] | None:
    """Return nouns in both numbers or in one, if they have it."""
    forms = [
        ((noun, number), weight * share)
        for noun, weight in ranked
        for number, share in (_NUMBERS if noun.counted else _ONE_NUMBER)
        if plural in (None, number)
    ]
    return Pool(*zip(*forms, strict=True)) if forms else None


def _governs(verb: Verb, object_: Noun | str) -> bool:
    """Return whether a class, or a noun, fits as the object of a verb."""
    if isinstance(object_, str):
        return object_ in verb.objects
    objects = verb.objects
    return (object_.kind in objects or object_.name in objects) and object_.name not in verb.barred


def is_lasting(quality: Adjective) -> bool:
    """Return whether a quality does not come and go: a trait, or one without degrees (*blind*)."""
    return quality.category in _LASTING or not quality.graded or quality.lasting


def _of_one_rank(one: Adjective, other: Adjective) -> bool:
    """Return whether a comma or *and* would have to stand between two adjectives."""
    return one.category == other.category or {one.category, other.category} == _EQUAL
