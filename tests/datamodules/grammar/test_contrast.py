"""Contrastive pairs of the grammar: one error each, equally long, spread over distances."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

from datamodules.contrast_pairs import ContrastPair
from datamodules.grammar.contrast import drawing
from datamodules.grammar.contrast.errors import CONTROLLED
from tests.helpers.data_settings import grammar_corpus
from tests.tools.grammar_checker import check_translation

SHOWN = {
    "fr": {"number", "gender", "antecedent", "sense", "negation", "negation_control"},
    "en": {"number", "antecedent", "negation", "negation_control", "particle", "particle_control"},
    "de": {
        "number", "gender", "antecedent", "sense", "negation", "negation_control", "particle",
        "particle_control", "case",
    },
}  # fmt: skip
"""Categories that a target language shows."""
DIRECTIONS = [("en", "fr"), ("en", "de"), ("fr", "de"), ("de", "fr"), ("fr", "en"), ("de", "en")]
FEWEST_SCORED, MOST_SCORED = 150, 500  # pairs of a category in one direction, at least and at most


@cache
def drawn(target: str, sentences: int = 800, longest: int = 60) -> list[ContrastPair]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "MOST_SENTENCES", sentences)
        source = "fr" if target == "en" else "en"
        corpus = grammar_corpus(source=source, target=target, longest=longest)
        return corpus.contrastive_pairs()


@pytest.mark.parametrize("target", ["fr", "en", "de"])
def test_pairs_differ_in_one_error(target):
    pairs = drawn(target)
    assert {pair.category for pair in pairs} == SHOWN[target]
    for pair in pairs:
        right, wrong = pair.reference.split(), pair.contrastive.split()
        assert right != wrong
        if pair.category not in CONTROLLED:
            assert len(right) == len(wrong)
        assert pair.distance in drawing.DISTANCES


@pytest.mark.parametrize("target", ["fr", "de"])
def test_equal_corpora_write_equal_pairs(target):
    first = drawn(target, 60)
    drawn.cache_clear()
    assert drawn(target, 60) == first


@pytest.mark.long
def test_a_wrong_number_changes_the_verb_alone():
    for pair in drawn("de"):
        if pair.category == "number":
            right, wrong = pair.reference.split(), pair.contrastive.split()
            changed = [(a, b) for a, b in zip(right, wrong, strict=True) if a != b]
            assert len(changed) == 1
            assert changed[0][0].islower() or right[0] == changed[0][0]


def scored(source: str, target: str, sentences: int, **knobs: Any) -> list[ContrastPair]:
    """Return pairs of a direction, at most ``MOST_SCORED`` of each category."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "MOST_SENTENCES", sentences)
        patch.setattr(drawing, "EACH", 10 * drawing.EACH)
        pairs = grammar_corpus(source=source, target=target, **knobs).contrastive_pairs()
    by_category: dict[str, list[ContrastPair]] = defaultdict(list)
    for pair in pairs:
        by_category[pair.category].append(pair)
    return [
        pair
        for found in by_category.values()
        for pair in found[:: 1 + len(found) // MOST_SCORED]  # from all distances
    ]


def mistaken(source: str, target: str, pairs: Iterable[ContrastPair]) -> list[ContrastPair]:
    """Return the pairs in which the checker finds no more in the wrong translation."""

    @cache
    def findings(sentence: str, translation: str) -> int:
        return len(check_translation(sentence, translation, (source, target)))

    return [
        pair
        for pair in pairs
        if findings(pair.source, pair.reference) or not findings(pair.source, pair.contrastive)
    ]


@pytest.mark.long
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_scorer_made_of_the_checker_is_right(source, target):
    pairs = scored(source, target, 150)
    rare = {"antecedent"} if target == "en" else set()
    assert SHOWN[target] - rare <= {pair.category for pair in pairs} <= SHOWN[target]
    assert mistaken(source, target, pairs) == []


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_scorer_is_right_in_150_pairs_of_every_category(source, target):
    sentences = 30_000 if target == "en" else 3500
    pairs = scored(source, target, sentences, ambiguity=1)
    counts = Counter(pair.category for pair in pairs)
    assert counts.keys() == SHOWN[target]
    assert min(counts.values()) >= FEWEST_SCORED, counts
    assert mistaken(source, target, pairs) == []


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_the_scorer_is_right_with_all_words(source, target):
    pairs = scored(source, target, 1000, vocabulary=2000, zipf=0, ambiguity=1, longest=80)
    assert mistaken(source, target, pairs) == []


def test_sources_do_not_tell_the_antecedent():
    pronouns = {"it", "they", "them"}
    for pair in drawn("fr"):
        if pair.category == "antecedent":
            assert pronouns.intersection(pair.source.lower().rstrip(".").split())


@pytest.mark.long
@pytest.mark.exhaustive
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_every_distance_has_its_pairs(source, target):
    pairs = grammar_corpus(source=source, target=target).contrastive_pairs()
    distances = Counter(pair.distance for pair in pairs)
    assert distances == dict.fromkeys(drawing.DISTANCES, drawing.EACH)
