"""The tree of a search against the search's own hypotheses and teacher forcing."""

import math

import pytest
import torch

from datamodules.tokenization import BOS, EOS
from lightning_modules.decoding.search import token_log_probabilities
from lightning_modules.decoding.search_tree import ROOT, search_with_tree
from tests.helpers.searches import beam_search, greedy_search, sampling_search
from tests.helpers.variants import sentences, small_model
from tests.lightning_modules.decoding.test_search import TRAP, A, B, C, Markov, source

SEARCHES = {
    "beam": beam_search(beam_size=4, n_best=4),
    "beam by log-probability": beam_search(beam_size=3, n_best=3, length_penalty=0.0),
    "greedy": greedy_search(),
    "samples": sampling_search(n_best=3),
}


@pytest.fixture(params=["bahdanau", "transformer"], scope="module")
def model(request):
    return small_model(request.param)


@pytest.mark.parametrize("name", SEARCHES)
def test_the_tree_ends_in_the_hypotheses_of_the_search(model, name):
    search = SEARCHES[name]
    src, mask = sentences([7])
    [wanted] = search(model, src, mask)
    best, tree = search_with_tree(search, model, src, mask)
    assert best.tokens == wanted[0].tokens
    found = [(tree.tokens(number), tree.nodes[number].score) for number in tree.finished]
    assert [tokens for tokens, _ in found[: len(wanted)]] == [each.tokens for each in wanted]
    scores = [score for _, score in found[: len(wanted)]]
    assert scores == pytest.approx([each.score for each in wanted], rel=1e-5)


@pytest.mark.parametrize("name", SEARCHES)
def test_probabilities_are_those_of_the_forced_prefix(model, name):
    src, mask = sentences([7])
    _, tree = search_with_tree(SEARCHES[name], model, src, mask)
    assert len(tree.nodes) > 5
    for number, node in enumerate(tree.nodes):
        tokens = tree.tokens(number)
        with torch.no_grad():
            memory = model.encode(src, mask)
            features = model.decode(memory, torch.tensor([[BOS, *tokens[:-1]]])).features[0]
            logs = token_log_probabilities(model, features)
        each = logs[torch.arange(len(tokens)), tokens].double()
        assert node.log_probability == pytest.approx(float(each[-1]), abs=1e-4)
        assert node.total == pytest.approx(float(each.sum()), abs=1e-3)


@pytest.mark.parametrize("name", SEARCHES)
def test_nodes_hang_on_the_step_before_and_fit_the_beam(model, name):
    search = SEARCHES[name]
    _, tree = search_with_tree(search, model, *sentences([9]))
    for number, node in enumerate(tree.nodes):
        path = tree.path(number)
        assert [tree.nodes[each].step for each in path] == list(range(node.step + 1))
        assert 0 <= node.place < search.beam_size
        if node.parent == ROOT:
            assert node.step == 0
        else:
            assert tree.nodes[node.parent].score is None  # what has ended does not continue
        assert node.score is not None or node.token != EOS
    places = [(node.step, node.place) for node in tree.nodes]
    assert len(set(places)) == len(places)


def test_what_the_beam_has_dropped_and_kept():
    """The tree of the example whose greedy translation is not the best."""
    search = beam_search(beam_size=2, n_best=2, length_penalty=0.0)
    best, tree = search_with_tree(search, Markov([TRAP]), *source(0))
    assert best.tokens == [B, C, EOS]
    first = [(node.token, round(math.exp(node.total), 3)) for node in tree.nodes if node.step == 0]
    assert first == [(A, 0.5), (B, 0.4)]
    assert [tree.tokens(number) for number in tree.finished] == [[B, C, EOS], [A, EOS]]


def test_a_search_ends_at_its_deadline_and_is_watched_no_longer(model):
    search = beam_search()
    with pytest.raises(TimeoutError):
        search_with_tree(search, model, *sentences([7]), deadline=0.0)
    assert search.watch is None
    search(model, *sentences([7]))
