"""Diverse beam search against a plain search of lists, on a vocabulary of 6."""

import math
from typing import Any

import pytest
import torch

from datamodules.tokenization import BOS, EOS, PAD
from lightning_modules.decoding import DiverseBeamSearch
from lightning_modules.decoding import captured_search as captured
from lightning_modules.kernels.choice import PLAIN, Kernels, use_kernels
from lightning_modules.variants import EncoderDecoder
from tests.helpers.emulated_graphs import EmulatedGraphs
from tests.helpers.searches import LIMITS, beam_search
from tests.helpers.variants import sentences, small_model

VOCABULARY = 6
MOST = 5
LENGTHS = [3, 2, 4]


def diverse_search(groups: int, diversity: float, **options: Any) -> DiverseBeamSearch:
    beam = {"beam_size": 4, "length_penalty": 0.6, "coverage_penalty": None, "n_best": 4}
    return DiverseBeamSearch(groups, diversity, **(beam | LIMITS | options))


@torch.no_grad()
def next_scores(model: EncoderDecoder, memory: Any, prefix: list[int]) -> list[float]:
    logits = model.logits(model.decode(memory, torch.tensor([[BOS, *prefix]])).features)[0, -1]
    logits[[PAD, BOS]] = -math.inf
    scores: list[float] = logits.log_softmax(0).tolist()
    return scores


def by_lists(model: EncoderDecoder, memory: Any, search: DiverseBeamSearch) -> list:
    """Algorithm 1 of Vijayakumar et al. 2018, one group and one prefix after the other."""
    size = search.beam_size // search.groups
    going: list[list[tuple[list[int], float]]] = [[([], 0.0)] for _ in range(search.groups)]
    finished: list[list[tuple[list[int], float]]] = [[] for _ in range(search.groups)]
    for position in range(MOST):
        chosen: list[int] = []
        for group in range(search.groups):
            candidates = [
                ([*prefix, token], total + score)
                for prefix, total in going[group]
                for token, score in enumerate(next_scores(model, memory, prefix))
                if score > -math.inf
            ]
            costs = [
                search.diversity * chosen.count(each[-1]) - total for each, total in candidates
            ]
            order = sorted(range(len(candidates)), key=costs.__getitem__)
            best = [candidates[number] for number in order[: size - len(finished[group])]]
            chosen += [tokens[-1] for tokens, _ in best]
            ended = [each[0][-1] == EOS or position + 1 == MOST for each in best]
            finished[group] += [one for one, ends in zip(best, ended, strict=True) if ends]
            going[group] = [one for one, ends in zip(best, ended, strict=True) if not ends]
    scored = [
        (total / search.penalty(len(tokens)), tokens)
        for group in finished
        for tokens, total in group
    ]
    return sorted(scored, key=lambda each: -each[0])[: search.n_best]


@pytest.mark.parametrize(
    ("beam_size", "groups", "diversity"),
    [(4, 4, 0.5), (4, 2, 0.5), (4, 2, 5.0), (6, 3, 0.8), (6, 2, 0.3), (3, 1, 0.5), (4, 4, 0.0)],
)
@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_groups_find_what_lists_find(name, beam_size, groups, diversity):
    model = small_model(name, vocabulary=VOCABULARY).double()
    search = diverse_search(
        groups, diversity, beam_size=beam_size, n_best=beam_size, max_ratio=0.0, max_extra=MOST
    )
    src, mask = sentences(LENGTHS, vocabulary=VOCABULARY)
    for row, ranked in enumerate(search(model, src, mask)):
        one = slice(row, row + 1), slice(LENGTHS[row])
        expected = by_lists(model, model.encode(src[one], mask[one]), search)
        scores = [score for score, _ in expected]
        assert [found.score for found in ranked] == pytest.approx(scores, rel=1e-5)
        # The same hypothesis of two groups has one score, and no order.
        assert sorted(found.tokens for found in ranked) == sorted(tokens for _, tokens in expected)


def test_diversity_makes_hypotheses_differ():
    model, source = small_model("transformer").double(), sentences([6, 9, 4])
    firsts = []
    for diversity in (0.0, 2.0, 50.0):
        found = diverse_search(4, diversity)(model, *source)
        firsts.append([len({one.tokens[0] for one in ranked}) for ranked in found])
    assert firsts[0] == [1, 1, 1]  # four groups that find the same
    assert firsts[2] == [4, 4, 4]
    assert sum(firsts[0]) <= sum(firsts[1]) <= sum(firsts[2])


def test_one_group_finds_what_a_beam_finds():
    model, source = small_model("bahdanau").double(), sentences([6, 9, 4])
    found = diverse_search(1, 1.0)(model, *source)
    expected = beam_search(4, 0.6, n_best=4)(model, *source)
    for ranked, others in zip(found, expected, strict=True):
        assert [one.tokens for one in ranked] == [one.tokens for one in others]


def test_groups_respect_constraints():
    model, source = small_model("transformer").double(), sentences([6, 9, 4])
    search = diverse_search(2, 0.5, length="reference", no_repeat_ngram=1)
    lengths = torch.tensor([3, 7, 5])
    for ranked, length in zip(search(model, *source, lengths=lengths), lengths, strict=True):
        for one in ranked:
            assert len(one.tokens) == len(set(one.tokens)) == length
            assert one.tokens[-1] == EOS


def test_a_captured_search_finds_the_same(monkeypatch, caplog):
    monkeypatch.setitem(captured.RECORDERS, "cpu", EmulatedGraphs)
    model, source = small_model("transformer").double(), sentences([5, 3, 9, 20, 2])
    search = diverse_search(2, 0.7, coverage_penalty=0.3)
    expected = search(model, *source)
    use_kernels(Kernels(captured_search=True))
    found = search(model, *source)
    use_kernels(PLAIN)
    for ranked, others in zip(found, expected, strict=True):
        assert [one.score for one in ranked] == pytest.approx([one.score for one in others])
        assert sorted(one.tokens for one in ranked) == sorted(one.tokens for one in others)
    assert not caplog.records


def test_groups_divide_the_beam():
    with pytest.raises(ValueError, match=r"decoding.groups=3: must divide decoding.beam_size=4"):
        diverse_search(3, 0.5)
