"""Samples: their frequencies, what is left out, and that the batch changes none."""

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

from datamodules.tokenization import BOS, EOS, PAD
from lightning_modules.decoding import SamplingSearch, SteppedSearch
from lightning_modules.decoding import captured_search as captured
from lightning_modules.decoding import search as searching
from lightning_modules.decoding.sampling import mixed, sample_keys, uniforms
from lightning_modules.kernels.choice import PLAIN, Kernels, use_kernels
from lightning_modules.variants import EncoderDecoder
from tests.helpers.emulated_graphs import EmulatedGraphs
from tests.helpers.searches import greedy_search, sampling_search
from tests.helpers.variants import numbers, sentences, small_model

VOCABULARY = 6
WORDS = [token for token in range(VOCABULARY) if token not in (PAD, BOS, EOS)]
MOST = 3
SAMPLES = 20_000
NARROW: dict[str, dict[str, Any]] = {
    "all": {},
    "cold": {"temperature": 0.5},
    "hot": {"temperature": 2.0},
    "two best": {"top_k": 2},
    "nucleus": {"top_p": 0.6},
    "everything": {"temperature": 0.7, "top_k": 3, "top_p": 0.9, "min_length": 1},
}


def splitmix(number: int) -> int:
    """The reference in whole numbers without limit."""
    most = 2**64 - 1
    number = (number + 0x9E3779B97F4A7C15) & most
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & most
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & most
    return number ^ (number >> 31)


def test_the_hash_is_that_of_splitmix():
    """The first numbers of its sequence from 1234567, as published with the algorithm."""
    step = 0x9E3779B97F4A7C15
    states = [1234567 + step * turn for turn in range(3)]
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [splitmix(state & (2**64 - 1)) for state in states] == published
    given = [0, 1, -1, 1234567, 2**62 + 11, -(2**63)]
    expected = [splitmix(number % 2**64) for number in given]
    assert [number % 2**64 for number in mixed(torch.tensor(given)).tolist()] == expected


def test_draws_are_uniform_and_independent():
    src, mask = sentences([3, 4, 5, 4])
    keys = sample_keys(7, src, mask, 5_000).flatten()
    assert len(keys.unique()) == len(keys)
    draws = [uniforms(keys, position) for position in range(3)]
    for each in draws:
        assert float(each.min()) >= 0
        assert float(each.max()) < 1
        shares = torch.histc(each, 20, 0, 1) / len(each)
        assert float((shares - 0.05).abs().max()) < 5 * math.sqrt(0.05 / len(each))
    for one, other in itertools.combinations(draws, 2):
        correlation = torch.corrcoef(torch.stack([one, other]))[0, 1]
        assert abs(float(correlation)) < 5 / math.sqrt(len(keys))


def narrowed(scores: np.ndarray, search: SamplingSearch) -> np.ndarray:
    """Return the probabilities to draw by, from log-probabilities ``(vocabulary,)``."""
    logits = scores / search.temperature
    if search.top_k is not None:
        logits[np.argsort(-logits)[search.top_k :]] = -math.inf
    probabilities = np.exp(logits) / np.exp(logits).sum()
    if search.top_p is not None:
        total = 0.0
        for token in np.argsort(-probabilities):
            if total >= search.top_p:
                probabilities[token] = 0.0
            total += probabilities[token]
    normalised: np.ndarray = probabilities / probabilities.sum()
    return normalised


@torch.no_grad()
def expected(model: EncoderDecoder, search: SamplingSearch) -> dict[tuple[int, ...], float]:
    """Return the probability of every translation of the first sentence, and its score."""
    src, mask = sentences([4], vocabulary=VOCABULARY)
    memory, found = model.encode(src, mask), dict[tuple[int, ...], float]()
    going: dict[tuple[int, ...], float] = {(): 1.0}
    for position in range(MOST):
        after: dict[tuple[int, ...], float] = {}
        for prefix, probability in going.items():
            decoded = model.decode(memory, torch.tensor([[BOS, *prefix]]))
            logits = model.logits(decoded.features)[0, -1].float()
            logits[[PAD, BOS]] = -math.inf
            scores = logits.log_softmax(0).double().numpy()
            if position < (search.min_length or 0):
                scores[EOS] = -math.inf
            for token, share in enumerate(narrowed(scores, search)):
                ends = token == EOS or position + 1 == MOST
                (found if ends else after)[*prefix, token] = probability * share
        going = after
    return {tokens: probability for tokens, probability in found.items() if probability}


@pytest.mark.parametrize("kind", NARROW)
@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_frequencies_are_probabilities(name, kind):
    model = small_model(name, vocabulary=VOCABULARY)
    search = sampling_search(SAMPLES, max_ratio=0.0, max_extra=MOST, **NARROW[kind])
    [ranked] = search(model, *sentences([4], vocabulary=VOCABULARY), need_weights=False)
    assert len(ranked) == SAMPLES
    probabilities = expected(model, search)
    assert sum(probabilities.values()) == pytest.approx(1)
    counts = Counter(tuple(one.tokens) for one in ranked)
    assert set(counts) <= set(probabilities)
    for tokens, probability in probabilities.items():
        deviation = math.sqrt(probability * (1 - probability) / SAMPLES)
        assert abs(counts[tokens] / SAMPLES - probability) < 5 * deviation + 1e-6
    if kind == "all":  # then a score is the log-probability of what was drawn
        for one in ranked[::1000]:
            assert one.score == pytest.approx(math.log(probabilities[*one.tokens,]), rel=1e-4)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)


def tokens_of(search: SteppedSearch, model: EncoderDecoder, *source) -> list[list[list[int]]]:
    return [[one.tokens for one in ranked] for ranked in search(model, *source)]


@pytest.mark.parametrize("name", ["bahdanau", "transformer", "seq2seq"])
def test_a_sentence_has_the_same_samples_in_every_batch(name, monkeypatch):
    model, search = small_model(name).double(), sampling_search(3, top_p=0.9)
    lengths = [4, 9, 2, 6, 9]
    src, mask = sentences(lengths)
    together = tokens_of(search, model, src, mask)
    assert len({tuple(tokens) for ranked in together for tokens in ranked}) > len(lengths)
    for row, length in enumerate(lengths):
        alone = src[row : row + 1, :length], mask[row : row + 1, :length]
        assert tokens_of(search, model, *alone) == [together[row]]
    order = torch.tensor([3, 0, 4, 2, 1])
    shuffled = tokens_of(search, model, src[order], mask[order])
    assert shuffled == [together[row] for row in order.tolist()]
    monkeypatch.setitem(searching.ROWS, "cpu", 2)
    monkeypatch.setitem(searching.STEPS_TO_REMOVAL, "cpu", 4)
    assert tokens_of(search, model, src, mask) == together
    others = tokens_of(sampling_search(3, top_p=0.9, seed=2), model, src, mask)
    assert others != together


def test_more_samples_begin_with_the_fewer():
    model, source = small_model("bahdanau").double(), sentences([4, 6])
    few, many = (tokens_of(sampling_search(count), model, *source) for count in (2, 6))
    for some, every in zip(few, many, strict=True):
        assert all(tokens in every for tokens in some)


def test_a_captured_search_draws_the_same(monkeypatch, caplog):
    monkeypatch.setitem(captured.RECORDERS, "cpu", EmulatedGraphs)
    model, source = small_model("transformer").double(), sentences([5, 3, 9, 20, 2])
    search = sampling_search(3, temperature=0.8, top_k=9, top_p=0.95, no_repeat_ngram=2)
    expected_tokens = tokens_of(search, model, *source)
    use_kernels(Kernels(captured_search=True))
    found = tokens_of(search, model, *source)
    use_kernels(PLAIN)
    assert found == expected_tokens
    assert not caplog.records


def test_one_token_to_draw_from_is_greedy():
    model, source = small_model("bahdanau"), sentences([4, 6])
    greedy = tokens_of(greedy_search(), model, *source)
    narrow_ones: list[dict[str, Any]] = [{"top_k": 1}, {"top_p": 1e-6}]
    narrow_ones += [{"temperature": temperature} for temperature in (1e-3, 1e-40, 1e-300)]
    for narrow in narrow_ones:
        assert tokens_of(sampling_search(1, **narrow), model, *source) == greedy


def test_ties_are_kept():
    scores = torch.tensor([[0.4, 0.2, 0.2, 0.2]]).log()
    for narrow in ({"top_k": 2}, {"top_p": 0.5}):
        assert sampling_search(1, **narrow).narrowed(scores).isfinite().all()
    assert sampling_search(1, top_p=0.39).narrowed(scores).isfinite().tolist() == [
        [True, False, False, False]
    ]


def test_narrowing_matches_the_reference():
    logits = numbers(5, 40).log_softmax(1)
    search = sampling_search(1, temperature=0.8, top_k=12, top_p=0.7)
    found = search.narrowed(logits).double().softmax(1).numpy()
    for row, scores in enumerate(logits.double().numpy()):
        np.testing.assert_allclose(found[row], narrowed(scores, search), rtol=1e-5, atol=1e-9)


def test_sampling_with_a_beam_ends_with_one_line():
    with pytest.raises(ValueError, match=r"decoding.beam_size=4: sampling keeps no beam"):
        sampling_search(1, beam_size=4)
