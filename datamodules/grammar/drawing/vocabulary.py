"""Tables of words by class: which nouns, verbs and adjectives fit, and how often each is drawn."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from datamodules.grammar.drawing.draws import Pool, zipf_weights
from datamodules.grammar.meaning.lexicon import lexicon
from datamodules.grammar.meaning.phrases import (
    CATEGORIES,
    HUMAN,
    KINDS,
    OBJECTS,
    Adjective,
    Expression,
    Mode,
    Noun,
    Verb,
)

OFFSET = 12  # of the law of Zipf and Mandelbrot, for nouns, verbs and adjectives
PLURAL_SHARE = 0.45  # share of plurals among the nouns that have a plural
NounForm = tuple[Noun, bool]  # a noun, and whether it is plural
Word = TypeVar("Word")
OWNABLE = (*OBJECTS, "animal", "food", "idea")  # classes of nouns that may have an owner
NO_OWN = ("body",)  # classes without possessives: languages differ in how they say *her hand*

_DETERMINERS: dict[str, dict[str, float]] = {
    "singular": {"the": 8, "a": 5, "this": 2, "my": 1.5, "our": 1, "every": 0.7},
    "plural": {
        "the": 9, "this": 2, "my": 1.2, "our": 1, "two": 1, "many": 1, "three": 0.7,
        "several": 0.7, "four": 0.4,
    },
    "mass": {"the": 5, "this": 1, "my": 1, "our": 0.7},
    "name": {"": 1},
}  # fmt: skip
_OBJECT_DETERMINERS: dict[str, dict[str, float]] = {
    "singular": {"own": 2},
    "plural": {"own": 2, "some": 4},
    "mass": {"own": 1, "some": 4},
}
_DENIED = ("the", "a", "some", "this", "my", "our", "own")
_PLAIN = ("the", "a", "some", "this", "two", "three", "four", "several", "many", "every")


class Vocabulary:
    """The words of a corpus with their frequencies; tables are built where first needed."""

    def __init__(self, nouns: int, exponent: float) -> None:
        self.lexicon = lexicon(nouns)
        self._exponent = exponent
        self._noun_tables: dict[object, Pool[NounForm] | None] = {}
        self._verb_tables: dict[object, Pool[Verb] | None] = {}
        self._adjective_tables: dict[tuple[str, str, bool], Pool[Adjective] | None] = {}
        self._sense_tables: dict[tuple[str, ...], Pool[NounForm] | None] = {}
        self._determiner_tables: dict[object, Pool[str]] = {}
        self._mode_tables: dict[tuple[str, bool, bool], Pool[Mode]] = {}
        self._adverb_tables: dict[object, Pool[Expression] | None] = {}
        self.names = self._table(self.lexicon.names)
        self.tenses: Pool[str] = Pool(("present", "past", "future"), (4, 4, 2))

    def nouns(self, kinds: tuple[str, ...], plural: bool | None = None) -> Pool[NounForm] | None:
        """Return the nouns of some classes, in one number or both; None if there is none."""
        key = kinds, plural
        if key not in self._noun_tables:
            self._noun_tables[key] = self._build_nouns(kinds, plural)
        return self._noun_tables[key]

    def senses(self, kinds: tuple[str, ...]) -> Pool[NounForm] | None:
        """Return the nouns with two senses of which just one is in ``kinds``."""
        if kinds not in self._sense_tables:
            fitting = [
                sense
                for pair in self.lexicon.senses
                for sense, other in (pair, pair[::-1])
                if sense.kind in kinds and other.kind not in kinds
            ]
            self._sense_tables[kinds] = self._forms(fitting, None) if fitting else None
        return self._sense_tables[kinds]

    def verbs(self, frame: str, subject: str = "", object_: str = "") -> Pool[Verb] | None:
        """Return the verbs of a frame that fit a class as subject, and one as object, if given."""
        key = frame, subject, object_
        if key not in self._verb_tables:
            fitting = [
                verb
                for verb in self.lexicon.verbs
                if verb.frame == frame
                and (subject in verb.subjects if subject else self.nouns(verb.subjects))
                and (object_ in verb.objects if object_ else self._has_object(verb))
            ]
            self._verb_tables[key] = self._table(fitting, OFFSET) if fitting else None
        return self._verb_tables[key]

    def _has_object(self, verb: Verb) -> bool:
        return not verb.objects or self.nouns(verb.objects) is not None

    def adjectives(
        self, kind: str, unlike: str = "", predicative: bool = False
    ) -> Pool[Adjective] | None:
        """Return the adjectives for a class of nouns: after *be* if ``predicative``.

        ``unlike`` is the category of another adjective before the same noun; empty without one.
        """
        key = kind, unlike, predicative
        if key not in self._adjective_tables:
            fitting = [
                adjective
                for adjective in self.lexicon.adjectives
                if kind in adjective.kinds
                and (_describes(adjective, kind) if predicative else _precedes(adjective, unlike))
            ]
            self._adjective_tables[key] = self._table(fitting, OFFSET) if fitting else None
        return self._adjective_tables[key]

    def determiners(
        self, count: str, kind: str, plain: bool, is_object: bool, denied: bool
    ) -> Pool[str]:
        """Return the determiners for ``count`` (singular, plural, mass, name) and a class."""
        key = count, kind in NO_OWN or plain, is_object, denied
        if key not in self._determiner_tables:
            weights = dict(_DETERMINERS[count])
            if is_object:
                weights |= _OBJECT_DETERMINERS.get(count, {})
            for allowed, applies in ((_DENIED, denied), (_PLAIN, key[1])):
                if applies and count != "name":
                    weights = {name: weights[name] for name in weights if name in allowed}
            self._determiner_tables[key] = Pool(weights, weights.values())
        return self._determiner_tables[key]

    def modes(self, tense: str, habit: bool, wills: bool) -> Pool[Mode]:
        """Return the modes of a tense, with *can*, *want* and the like if ``wills``.

        In the past, only a habit has *never*, *often* and the like.
        """
        key = tense, habit, wills
        if key not in self._mode_tables:
            self._mode_tables[key] = self._build_modes(*key)
        return self._mode_tables[key]

    def adverbs(
        self,
        section: str,
        most_words: int,
        ends: bool = False,
        topic: bool = False,
        kind: str = "",
        negated: bool = False,
    ) -> Pool[Expression] | None:
        """Return the adverbs of a section of the lexicon with at most ``most_words`` words.

        ``topic`` chooses times that set the frame of a clause; times that stand at its end in every
        language (``ends``) set none. ``kind`` is the class of the subject, for adverbs of manner.
        """
        key = section, min(most_words, 4), ends, topic, kind, negated
        if key not in self._adverb_tables:
            fitting = [
                replace(adverb, kinds=()) if ends else adverb
                for adverb in self.lexicon.expressions[section]
                if adverb.words <= most_words
                and (not topic or "topic" in adverb.kinds)
                and (not kind or kind in adverb.kinds)
                and not (negated and "affirmed" in adverb.kinds)
            ]
            self._adverb_tables[key] = self._table(fitting) if fitting else None
        return self._adverb_tables[key]

    @cached_property
    def described(self) -> tuple[str, ...]:
        """Classes of nouns with an adjective that may stand after *be*."""
        return tuple(kind for kind in KINDS if self.adjectives(kind, predicative=True))

    @cached_property
    def prepositions(self) -> Pool[Expression]:
        """Prepositions of place."""
        return self._table(
            [
                preposition
                for preposition in self.lexicon.expressions["place_prepositions"]
                if self.nouns(preposition.kinds) is not None
            ]
        )

    def conjunctions(self, tense: str) -> Pool[Expression]:
        """Return the conjunctions that may join clauses of a tense."""
        table = self.adverbs(f"conjunctions_{tense}", 4)
        assert table is not None
        return table

    def _build_nouns(self, kinds: tuple[str, ...], plural: bool | None) -> Pool[NounForm] | None:
        weights = zipf_weights(len(self.lexicon.nouns), self._exponent, OFFSET)
        ranked = [
            (noun, weight)
            for noun, weight in zip(self.lexicon.nouns, weights, strict=True)
            if noun.kind in kinds and (noun.counted or not plural)
        ]
        return _forms(ranked, plural) if ranked else None

    def _forms(self, nouns: Sequence[Noun], plural: bool | None) -> Pool[NounForm]:
        return _forms(
            list(zip(nouns, zipf_weights(len(nouns), self._exponent, OFFSET), strict=True)), plural
        )

    def _table(self, words: Sequence[Word], offset: int = 0) -> Pool[Word]:
        return Pool(words, zipf_weights(len(words), self._exponent, offset))

    def _build_modes(self, tense: str, habit: bool, wills: bool) -> Pool[Mode]:
        often = self.lexicon.expressions["frequency"]
        modal = {verb.name: verb for verb in self.lexicon.verbs if verb.frame == "infinitive"}
        can, must = (Verb(name, "modal", ()) for name in ("can", "must"))
        modes: list[tuple[Mode, float]] = [(Mode(tense), 9.0), (Mode(tense, "not"), 3.0)]
        if tense == "present" or habit:
            modes += [(Mode(tense, "never", habit=habit), 1.0)]
            modes += [
                (Mode(tense, adverb=adverb, habit=habit), 1 / n)
                for n, adverb in enumerate(often, 1)
            ]
        if wills:
            modes += [
                (Mode(tense, negation, modal=verb), weight / rank)
                for negation, weight in (("", 2.0), ("not", 0.7))
                for rank, verb in enumerate(modal.values(), 1)
            ]
            if tense == "present":
                modes += [(Mode(tense, modal=can), 1.0), (Mode(tense, "not", modal=can), 0.5)]
                modes += [(Mode(tense, modal=must), 0.8), (Mode(tense, "not", modal=must), 0.3)]
            elif tense == "past":
                modes += [(Mode(tense, modal=can), 1.0), (Mode(tense, "not", modal=can), 0.5)]
        return Pool(*zip(*modes, strict=True))


def _forms(ranked: Sequence[tuple[Noun, float]], plural: bool | None) -> Pool[NounForm]:
    forms: list[NounForm] = []
    weights: list[float] = []
    for noun, weight in ranked:
        numbers = (False, True) if noun.counted else (False,)
        for number in numbers:
            if plural is None or number == plural:
                share = PLURAL_SHARE if number else 1 - PLURAL_SHARE if noun.counted else 1.0
                forms.append((noun, number))
                weights.append(weight * share)
    return Pool(forms, weights)


def _describes(adjective: Adjective, kind: str) -> bool:
    """Return whether an adjective fits after *be*; *French* is a noun there, of a person."""
    is_nationality = adjective.category == "origin" and kind in HUMAN
    return adjective.predicative and not is_nationality


def _precedes(adjective: Adjective, unlike: str) -> bool:
    """Return whether an adjective fits before a noun, beside an adjective of another category."""
    return (
        adjective.attributive and adjective.category != unlike and not (unlike and adjective.alone)
    )


def category_rank(adjective: Adjective) -> int:
    """Return the place of an adjective's category in the order of English adjectives."""
    return CATEGORIES.index(adjective.category)


def is_human(noun: Noun) -> bool:
    """Return whether a noun is a person, by class or by name."""
    return noun.kind in HUMAN or noun.kind in ("name", "surname")
