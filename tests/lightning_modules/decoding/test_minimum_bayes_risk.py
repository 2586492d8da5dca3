"""Minimum Bayes risk against the sum over all candidates, and the words that it compares."""

import math
from functools import partial
from typing import Any

import pytest
import torch
from sacrebleu import sentence_bleu, sentence_chrf

from datamodules.tokenization import Words
from lightning_modules.decoding import MinimumBayesRisk, Search
from tests.helpers.searches import beam_search, greedy_search, sampling_search
from tests.helpers.variants import sentences, small_model

TARGET = Words.train(["the cat sees a dog and it sleeps in this house near old trees"], 100, 1)
LENGTHS = [4, 7, 2]


def prepared(candidates: Search, utility: Any = "chrf", n_best: int = 1) -> MinimumBayesRisk:
    search = MinimumBayesRisk(candidates, utility, n_best)
    search.prepare(small_model("bahdanau"), TARGET)
    return search


def expected(weights: dict[str, float], utility: str) -> dict[str, float]:
    """The expectation, by sacreBLEU's own functions."""
    score: Any = sentence_chrf
    if utility == "bleu":
        score = partial(sentence_bleu, use_effective_order=True)
    return {
        text: sum(weight * score(text, [other]).score for other, weight in weights.items())
        for text in weights
    }


@pytest.mark.parametrize("utility", ["chrf", "bleu"])
@pytest.mark.parametrize("kind", ["samples", "beam"])
def test_the_candidate_with_the_highest_expectation_wins(kind, utility):
    model = small_model("bahdanau", vocabulary=len(TARGET))
    source = sentences(LENGTHS, vocabulary=len(TARGET))
    options: Any = {"max_ratio": 0.0, "max_extra": 6}
    if kind == "samples":
        candidates: Search = sampling_search(12, temperature=0.7, **options)
    else:
        candidates = beam_search(12, 0.6, n_best=12, **options)
    found = prepared(candidates, utility, n_best=12)(model, *source)
    for ranked, given in zip(found, candidates(model, *source), strict=True):
        texts = TARGET.decode([one.tokens for one in given])
        weights = dict.fromkeys(texts, 0.0)
        total = sum(math.exp(one.score) for one in given)
        for text, one in zip(texts, given, strict=True):
            weights[text] += 1 / 12 if kind == "samples" else math.exp(one.score) / total
        utilities = expected(weights, utility)
        written = TARGET.decode([one.tokens for one in ranked])
        assert sorted(written) == sorted(weights)  # each text once
        assert [one.score for one in ranked] == pytest.approx([utilities[each] for each in written])
        scores = [one.score for one in ranked]
        assert scores == sorted(scores, reverse=True)
        for one in ranked:
            assert one.weights is not None
            assert one.weights.shape == (len(one.tokens), max(LENGTHS))


def test_a_single_candidate_is_what_its_search_finds():
    model = small_model("transformer", vocabulary=len(TARGET))
    source = sentences(LENGTHS, vocabulary=len(TARGET))
    greedy = greedy_search()
    for [one], [other] in zip(
        prepared(greedy)(model, *source), greedy(model, *source), strict=True
    ):
        assert one.tokens == other.tokens


def test_constraints_are_those_of_the_candidates():
    model = small_model("transformer", vocabulary=len(TARGET))
    source = sentences(LENGTHS, vocabulary=len(TARGET))
    search = prepared(sampling_search(5, length="reference"))
    lengths = torch.tensor([3, 1, 8])
    found = search(model, *source, lengths=lengths)
    assert [len(ranked[0].tokens) for ranked in found] == lengths.tolist()


def test_more_translations_than_candidates_end_with_one_line():
    with pytest.raises(ValueError, match=r"decoding.n_best=5: .* decoding.candidates.n_best=4"):
        MinimumBayesRisk(sampling_search(4), "chrf", 5)
    with pytest.raises(ValueError, match=r"decoding.n_best=2: .* decoding.candidates.n_best=1"):
        MinimumBayesRisk(greedy_search(), "bleu", 2)
