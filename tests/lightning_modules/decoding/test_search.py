"""Searches over hand-written probabilities, where the best translations are known."""

import itertools
import math
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from datamodules.tokenization import BOS, EOS, PAD
from lightning_modules.decoding import search as searching
from lightning_modules.decoding.search import best_tokens, top
from lightning_modules.variants.base import DecoderOutput, EncoderDecoder, Step
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import sentences, small_model

A, B, C = 4, 5, 6
VOCABULARY = 7


class PositionMemory(NamedTuple):
    table: Tensor  # (batch, tokens, vocabulary): log-probabilities after each token


class Markov(EncoderDecoder):
    """A model whose next token depends on the last one, by a table for each sentence."""

    def __init__(self, tables: list[dict[int, dict[int, float]]]):
        super().__init__()
        # After a token without a table, all tokens have the same score.
        self.table = torch.zeros(len(tables), VOCABULARY, VOCABULARY)
        for sentence, table in enumerate(tables):
            for last, following in table.items():
                self.table[sentence, last] = -math.inf
                for token, probability in following.items():
                    self.table[sentence, last, token] = math.log(probability)

    @property
    def device(self):
        return self.table.device

    @property
    def features_size(self):
        return VOCABULARY

    def encode(self, src, src_mask):
        return PositionMemory(self.table[src[:, 0]])  # a source's first token chooses its table

    def initial_state(self, memory):
        return (torch.zeros(len(memory.table)),)

    def logits(self, features):
        return features

    def decode(self, memory, tgt_in):
        return DecoderOutput(tgt_in, None)

    def step(self, memory, state, last_token):
        sentences = torch.arange(len(memory.table))
        rows = sentences.repeat_interleave(len(last_token) // len(sentences))
        # The weights of a row are the last token and the step.
        weights = torch.stack([last_token.float(), state[0]], 1)
        return Step(memory.table[rows, last_token], (state[0] + 1,), weights)


# Greedy takes A (0.5) and ends at 0.5 * 0.4; the best sequence begins with B.
TRAP = {
    BOS: {A: 0.5, B: 0.4, EOS: 0.1},
    A: {A: 0.3, B: 0.3, EOS: 0.4},
    B: {C: 0.9, EOS: 0.1},
    C: {EOS: 1.0},
}
SHORT = {BOS: {EOS: 0.9, A: 0.1}, A: {EOS: 1.0}}
ENDLESS = {BOS: {A: 1.0}, A: {A: 0.9, B: 0.1}, B: {A: 1.0}}


def source(*sentences: int) -> tuple[Tensor, Tensor]:
    src = torch.tensor([[sentence, EOS] for sentence in sentences])
    return src, torch.ones_like(src, dtype=torch.bool)


def test_beam_finds_what_greedy_misses_and_ranks_it():
    search = beam_search(beam_size=3, n_best=3, length_penalty=0.0)
    [hypotheses] = search(Markov([TRAP]), *source(0))
    assert [hypothesis.tokens for hypothesis in hypotheses[:2]] == [[B, C, EOS], [A, EOS]]
    assert hypotheses[0].score == pytest.approx(math.log(0.4 * 0.9))


def test_weights_follow_the_hypothesis_through_the_beam():
    [hypotheses] = beam_search(beam_size=3, n_best=3, length_penalty=0.0)(
        Markov([TRAP]), *source(0)
    )
    for hypothesis in hypotheses:
        read = [BOS, *hypothesis.tokens[:-1]]
        expected = torch.tensor([[token, position] for position, token in enumerate(read)])
        torch.testing.assert_close(hypothesis.weights, expected.float())


def test_sentences_of_one_batch_do_not_meddle():
    model = Markov([TRAP, SHORT, ENDLESS])
    order = [0, 2, 1, 0, 1]
    for search in (greedy_search(), beam_search(beam_size=2, n_best=2)):
        together = search(model, *source(*order))
        alone = [search(model, *source(sentence))[0] for sentence in order]
        for one, other in zip(together, alone, strict=True):
            assert [h.tokens for h in one] == [h.tokens for h in other]
            assert [h.score for h in one] == pytest.approx([h.score for h in other])


def test_length_limit_cuts_what_never_ends():
    for search in (
        greedy_search(max_ratio=2.0, max_extra=3),
        beam_search(beam_size=2, max_ratio=2.0, max_extra=3),
    ):
        [[hypothesis]] = search(Markov([ENDLESS]), *source(0))
        assert hypothesis.tokens == [A] * 7  # 2 × 2 source tokens + 3


def test_length_penalty_prefers_longer_hypotheses():
    table = {BOS: {EOS: 0.30, A: 0.70}, A: {EOS: 0.4, B: 0.6}, B: {EOS: 0.6, A: 0.4}}

    def best(penalty: float) -> list[int]:
        search = beam_search(beam_size=4, length_penalty=penalty, max_ratio=0.0, max_extra=3)
        return search(Markov([table]), *source(0))[0][0].tokens

    assert best(0.0) == [EOS]
    assert best(3.0) == [A, B, EOS]


def test_scores_are_divided_by_the_penalty_of_wu_et_al():
    [[hypothesis]] = beam_search(beam_size=3, length_penalty=0.6)(Markov([TRAP]), *source(0))
    expected = math.log(0.4 * 0.9) / ((5 + 3) / 6) ** 0.6
    assert hypothesis.score == pytest.approx(expected)


def test_a_wide_beam_is_exhaustive():
    generator = torch.Generator().manual_seed(0)
    probabilities = torch.rand(VOCABULARY, VOCABULARY, generator=generator)
    tokens = [EOS, 3, A, B, C]
    table = {
        last: {token: float(probabilities[last, token]) for token in tokens}
        for last in [BOS, 3, A, B, C]
    }
    table = {
        last: {t: p / sum(row.values()) for t, p in row.items()} for last, row in table.items()
    }
    scored = []
    for length in range(3):
        for middle in itertools.product([3, A, B, C], repeat=length):
            path = [BOS, *middle, EOS]
            logs = [math.log(table[a][b]) for a, b in itertools.pairwise(path)]
            scored.append((sum(logs), path[1:]))
    best = max(scored)
    # Hypotheses cut by the limit compete too; a wide beam must hold the best finished hypothesis.
    search = beam_search(beam_size=20, n_best=20, length_penalty=0.0, max_ratio=0.0, max_extra=3)
    [hypotheses] = search(Markov([table]), *source(0))
    whole = [(h.score, h.tokens) for h in hypotheses if h.tokens[-1] == EOS]
    assert whole[0][1] == best[1]
    assert whole[0][0] == pytest.approx(best[0])


@pytest.mark.parametrize("columns", [3, 64, 127, 700, 1000])
@pytest.mark.parametrize("count", [1, 3])
def test_top_finds_what_topk_finds(columns, count):
    values = torch.randn(9, columns, generator=torch.Generator().manual_seed(columns))
    values[:, :2] = -math.inf
    values[0, -1] = 99.0  # in the columns after the last whole block
    best, places = top(values, count)
    expected, where = values.topk(count)
    torch.testing.assert_close(best, expected)
    assert torch.equal(values.gather(1, places), best)
    assert torch.equal(places[best.isfinite()], where[best.isfinite()])


def test_best_tokens_are_those_of_the_log_softmax(monkeypatch):
    monkeypatch.setitem(searching.ROWS, "cpu", 4)
    model = small_model("seq2seq", vocabulary=300)
    features = torch.randn(9, model.output.in_features, generator=torch.Generator().manual_seed(0))
    best, tokens = best_tokens(model, features, 3)
    logits = model.logits(features)
    logits[:, [PAD, BOS]] = -math.inf
    expected, where = logits.log_softmax(1).topk(3)
    torch.testing.assert_close(best, expected)
    assert torch.equal(tokens, where)


class Counting(Markov):
    projected = 0

    def logits(self, features):
        self.projected += len(features)
        return features


def test_what_has_ended_is_not_projected():
    """The output layer projects one row, then unfinished prefixes only."""
    table = {BOS: {A: 0.5, EOS: 0.3, B: 0.2}, A: {C: 1.0}, B: {C: 1.0}, C: {EOS: 1.0}}
    model = Counting([table])
    beam_search(beam_size=3, n_best=3)(model, *source(0))
    assert model.projected == 1 + 2 + 2


@pytest.mark.parametrize("search", [greedy_search(bf16=True), beam_search(bf16=True)])
def test_bf16_searches_in_bfloat16(search):
    kinds = set()
    model = small_model("bahdanau")
    model.output.register_forward_hook(lambda _, __, logits: kinds.add(logits.dtype))
    search(model, *sentences([4, 6]))
    assert kinds == {torch.bfloat16}
