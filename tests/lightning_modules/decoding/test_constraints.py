"""Constraints of a search, against enumeration of all translations of a vocabulary of 6."""

import itertools
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from datamodules.errors import UserError
from datamodules.tokenization import BOS, EOS, PAD, Words
from lightning_modules.decoding import BeamSearch, Hypothesis, SteppedSearch
from lightning_modules.decoding import captured_search as captured
from lightning_modules.decoding import search as searching
from lightning_modules.kernels.choice import PLAIN, Kernels, use_kernels
from lightning_modules.variants import EncoderDecoder
from lightning_modules.variants.base import select_batch
from tests.helpers.emulated_graphs import EmulatedGraphs
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import sentences, small_model

VOCABULARY = 6
WORDS = [token for token in range(VOCABULARY) if token not in (PAD, BOS, EOS)]
LENGTHS = [3, 2, 4, 2]
MOST = 4
"""Length limit, so that a beam of 81 prefixes holds all that have not ended."""
SETTINGS: dict[str, dict[str, Any]] = {
    "free": {},
    "least 2": {"min_length": 2},
    "least above the limit": {"min_length": 9},
    "no token twice": {"no_repeat_ngram": 1},
    "no pair twice": {"no_repeat_ngram": 2},
    "no triple twice": {"no_repeat_ngram": 3},
    "least 3 and no token twice": {"min_length": 3, "no_repeat_ngram": 1},
    "reference": {"length": "reference"},
    "reference and no token twice": {"length": "reference", "no_repeat_ngram": 1},
}
PREFIXES = {
    "no prefix": None,
    "prefixes": torch.tensor([[4, 5, 4], [PAD, PAD, PAD], [3, PAD, PAD], [5, 5, PAD]]),
}
REFERENCES = torch.tensor([4, 1, 3, 2])
NAMES = ["bahdanau", "seq2seq", "transformer"]


def every_translation(limit: int) -> Iterator[list[int]]:
    """Yield all translations up to a length limit: with EOS, or cut by the limit."""
    for length in range(limit):
        for words in itertools.product(WORDS, repeat=length):
            yield [*words, EOS]
    yield from (list(words) for words in itertools.product(WORDS, repeat=limit))


def repeats(tokens: list[int], size: int) -> bool:
    """Return whether the last n-gram of ``tokens`` occurs in them before."""
    last = tokens[-size:]
    return len(last) == size and last in (
        tokens[start : start + size] for start in range(len(tokens) - size)
    )


def is_allowed(
    tokens: list[int], prefix: list[int], least: int, ngram: int, length: int | None
) -> bool:
    """Return whether a translation respects constraints, read off their definitions."""
    if length is not None and (len(tokens) != length or tokens[-1] != EOS):
        return False
    if EOS in tokens[:least]:
        return False
    for place, token in enumerate(tokens):
        if place < len(prefix):
            if token != prefix[place]:
                return False
            continue
        before = tokens[:place]
        may_end = place >= least if length is None else place == length - 1
        must_end = length is not None and place == length - 1
        choices = [EOS] if must_end else [*WORDS, *([EOS] if may_end else [])]
        # An n-gram is repeated only where every other choice is a repetition, too.
        is_repeated = ngram and repeats(tokens[: place + 1], ngram)
        if is_repeated and not all(repeats([*before, other], ngram) for other in choices):
            return False
    return True


@cache
def model_of(name: str) -> EncoderDecoder:
    return small_model(name, vocabulary=VOCABULARY).double()


@cache
@torch.no_grad()
def log_probabilities(name: str) -> list[dict[tuple[int, ...], float]]:
    """Return the log-probability of every sentence's translations and their beginnings."""
    model, tables = model_of(name), list[dict[tuple[int, ...], float]]()
    paths = [
        (*words, last)
        for length in range(MOST)
        for words in itertools.product(WORDS, repeat=length)
        for last in (*WORDS, EOS)
    ]
    padded = torch.tensor([[*path, *[EOS] * (MOST - len(path))] for path in paths])
    tgt_in = torch.cat([torch.full((len(paths), 1), BOS), padded[:, :-1]], 1)
    src, mask = sentences(LENGTHS, vocabulary=VOCABULARY)
    for row, length in enumerate(LENGTHS):
        memory = model.encode(src[row : row + 1, :length], mask[row : row + 1, :length])
        memory = select_batch(memory, torch.zeros(len(paths), dtype=torch.long))
        logits = model.logits(model.decode(memory, tgt_in).features)
        logits[..., [PAD, BOS]] = -math.inf
        each = logits.log_softmax(-1).gather(2, padded.unsqueeze(2)).squeeze(2).cumsum(1)
        tables.append({path: float(each[n, len(path) - 1]) for n, path in enumerate(paths)})
    return tables


def limits_of(search: SteppedSearch, prefix: Tensor | None) -> list[int]:
    limits = search._limits(torch.arange(4) < torch.tensor(LENGTHS)[:, None], REFERENCES, prefix)
    return [int(limit) for limit in limits]


def prefix_of(prefix: Tensor | None, number: int) -> list[int]:
    return [] if prefix is None else [token for token in prefix[number].tolist() if token != PAD]


def all_allowed(search: SteppedSearch, prefix: Tensor | None) -> list[list[list[int]]]:
    """Return the translations of each sentence that a search may find."""
    references = REFERENCES.tolist() if search.length == "reference" else [None] * len(LENGTHS)
    found = []
    for number, limit in enumerate(limits_of(search, prefix)):
        forced = prefix_of(prefix, number)[: limit if references[number] is None else limit - 1]
        least, ngram = search.min_length or 0, search.no_repeat_ngram or 0
        found.append(
            [
                tokens
                for tokens in every_translation(limit)
                if is_allowed(tokens, forced, max(least, len(forced)), ngram, references[number])
            ]
        )
    return found


def searched(search: SteppedSearch, model: EncoderDecoder, prefix: Tensor | None) -> Any:
    return search(model, *sentences(LENGTHS, vocabulary=VOCABULARY), lengths=REFERENCES,
                  prefix=prefix)  # fmt: skip


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", NAMES)
def test_a_wide_beam_finds_the_best_of_all_that_is_allowed(name, setting, prefix):
    model, given = model_of(name), PREFIXES[prefix]
    limits = {"max_ratio": 0.0, "max_extra": MOST}
    search = beam_search(3**MOST + 40, 0.6, n_best=5, **limits, **SETTINGS[setting])
    found = searched(search, model, given)
    for number, possible in enumerate(all_allowed(search, given)):
        table = log_probabilities(name)[number]
        scored = [(table[*tokens] / search.penalty(len(tokens)), tokens) for tokens in possible]
        best = sorted(scored, key=lambda pair: -pair[0])[: search.n_best]
        assert [one.tokens for one in found[number]] == [tokens for _, tokens in best]
        assert [one.score for one in found[number]] == pytest.approx(
            [score for score, _ in best], rel=1e-5
        )


def step_by_step(name: str, search: SteppedSearch, prefix: Tensor | None) -> Any:
    """Return greedy translations, each token the best of those with an allowed continuation."""
    found = []
    for number, possible in enumerate(all_allowed(search, prefix)):
        table = log_probabilities(name)[number]
        tokens: list[int] = []
        while tokens not in possible:
            following = {each[len(tokens)] for each in possible if each[: len(tokens)] == tokens}
            scored = [(table[*tokens, token], [*tokens, token]) for token in following]
            tokens = max(scored)[1]
        found.append((tokens, table[*tokens]))
    return found


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", NAMES)
def test_greedy_search_takes_the_best_token_that_is_allowed(name, setting, prefix):
    model, given = model_of(name), PREFIXES[prefix]
    search = greedy_search(max_ratio=0.0, max_extra=MOST, **SETTINGS[setting])
    expected = step_by_step(name, search, given)
    for [one], (tokens, score) in zip(searched(search, model, given), expected, strict=True):
        assert one.tokens == tokens
        assert one.score == pytest.approx(score, rel=1e-5)


@pytest.mark.parametrize("width", [1, 3])
def test_the_reference_gives_exactly_its_length(width):
    search = beam_search(width, length="reference") if width > 1 else greedy_search(
        length="reference"
    )  # fmt: skip
    model, lengths = small_model("transformer"), torch.tensor([1, 30, 7])
    found = search(model, *sentences([4, 6, 5]), lengths=lengths)
    for ranked, length in zip(found, lengths.tolist(), strict=True):
        for one in ranked:
            assert len(one.tokens) == length
            assert one.tokens[-1] == EOS
            assert EOS not in one.tokens[:-1]
    with pytest.raises(UserError, match=r"decoding.length=reference: there are no references"):
        search(model, *sentences([4, 6, 5]))


def coverage_score(
    search: BeamSearch, strength: float, one: Hypothesis, src: int, log: float
) -> float:
    """Wu et al. 2016, eq. 14."""
    assert one.weights is not None
    covered = one.weights[:, :src].sum(0).clamp(max=1.0).log().sum()
    ranked: float = log / search.penalty(len(one.tokens)) + strength * float(covered)
    return ranked


@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_the_coverage_penalty_is_that_of_wu_et_al(name):
    model, strength = model_of(name), 0.7
    limits: Any = {"max_ratio": 0.0, "max_extra": 3, "n_best": 27 + 40}
    plain = beam_search(27 + 40, 0.6, **limits)
    search = beam_search(27 + 40, 0.6, coverage_penalty=strength, **limits)
    src = sentences(LENGTHS, vocabulary=VOCABULARY)
    for length, ranked, without in zip(
        LENGTHS, search(model, *src), plain(model, *src), strict=True
    ):
        expected = {
            tuple(one.tokens): coverage_score(
                plain, strength, one, length, one.score * plain.penalty(len(one.tokens))
            )
            for one in without
        }
        assert {tuple(one.tokens) for one in ranked} == set(expected)
        scores = [expected[tuple(one.tokens)] for one in ranked]
        assert [one.score for one in ranked] == pytest.approx(scores, rel=1e-4)
        assert scores == sorted(scores, reverse=True)


def test_coverage_needs_attention():
    search, target = beam_search(coverage_penalty=0.2), Words.train(["a"], 10, 1)
    for name in ("bahdanau", "transformer"):
        search.prepare(small_model(name), target)
    with pytest.raises(UserError, match=r"decoding.coverage_penalty=0.2: this model has no att"):
        search.prepare(small_model("seq2seq"), target)


SEARCHES: dict[str, Callable[[], SteppedSearch]] = {
    "greedy": lambda: greedy_search(min_length=4, no_repeat_ngram=2),
    "greedy reference": lambda: greedy_search(length="reference", no_repeat_ngram=1),
    "beam": lambda: beam_search(3, n_best=2, min_length=4, no_repeat_ngram=2),
    "coverage": lambda: beam_search(3, n_best=3, coverage_penalty=0.4, no_repeat_ngram=1),
}


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_a_captured_search_respects_the_same(name, kind, monkeypatch, caplog):
    monkeypatch.setitem(captured.RECORDERS, "cpu", EmulatedGraphs)
    model, search = small_model(name).double(), SEARCHES[kind]()
    lengths = [5, 3, 9, 20, 2]
    prefix = torch.tensor([[5, 6, 7], [8, PAD, PAD], *[[PAD] * 3] * 3])
    for given in (None, prefix):
        source, references = sentences(lengths), torch.tensor(lengths) + 2
        expected = search(model, *source, lengths=references, prefix=given)
        use_kernels(Kernels(captured_search=True))
        found = search(model, *source, lengths=references, prefix=given)
        use_kernels(PLAIN)
        for ranked, others in zip(found, expected, strict=True):
            assert [one.tokens for one in ranked] == [one.tokens for one in others]
            assert [one.score for one in ranked] == pytest.approx([one.score for one in others])
    assert not caplog.records


@pytest.mark.parametrize("search", [greedy_search(min_length=2), beam_search(2, min_length=2)])
def test_chunks_of_rows_respect_their_own_bounds(search, monkeypatch):
    model, given = small_model("transformer"), sentences([4, 9, 6, 3, 5])
    prefix = torch.tensor([[5, 6], [PAD, PAD], [7, PAD], [8, 9], [PAD, PAD]])
    expected = search(model, *given, prefix=prefix)
    monkeypatch.setitem(searching.ROWS, "cpu", 2)
    found = search(model, *given, prefix=prefix)
    assert [[one.tokens for one in ranked] for ranked in found] == [
        [one.tokens for one in ranked] for ranked in expected
    ]
    for number, ranked in enumerate(found):
        forced = prefix_of(prefix, number)
        assert ranked[0].tokens[: len(forced)] == forced


def test_constraints_that_contradict_each_other_end_with_one_line():
    with pytest.raises(ValueError, match=r"decoding.min_length=2: decoding.length=reference"):
        greedy_search(length="reference", min_length=2)
