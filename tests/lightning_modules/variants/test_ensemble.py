"""An ensemble of models of any variants is a variant itself."""

import itertools

import numpy as np
import pytest
import torch

from datamodules.batching import EncodedPairs, Sequences, collate
from datamodules.tokenization import BOS, EOS, PAD, UNK
from lightning_modules.testing.forced_decoding import ForcedDecoding
from lightning_modules.variants import Ensemble
from tests.helpers.commands import TINY, inside, mistake, places, succeed
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import sentences, small_model, targets

SEARCHES = [greedy_search(), beam_search(beam_size=3, n_best=3)]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", ["luong_global", "transformer"])
def test_an_ensemble_of_one_is_its_model(name, search):
    model, given = small_model(name), sentences([4, 9, 6])
    for ranked, expected in zip(
        search(Ensemble([model]), *given), search(model, *given), strict=True
    ):
        assert [one.tokens for one in ranked] == [one.tokens for one in expected]
        for one, other in zip(ranked, expected, strict=True):
            assert one.score == pytest.approx(other.score, rel=1e-5)
            torch.testing.assert_close(one.weights, other.weights)


@torch.no_grad()
def test_the_probabilities_are_the_mean():
    models = [small_model(name) for name in ("transformer", "bahdanau", "seq2seq")]
    (src, mask), tgt = sentences([5, 8]), targets(2, 6)

    def decoded(model):
        features, weights = model.decode(model.encode(src, mask), tgt)
        return model.logits(features).softmax(-1), weights

    together, weights = decoded(Ensemble(models))
    single = [decoded(model) for model in models]
    torch.testing.assert_close(together, sum(each for each, _ in single) / 3)
    torch.testing.assert_close(weights, (single[0][1] + single[1][1]) / 2)


@torch.no_grad()
def test_a_search_finds_the_best_by_the_mean_of_all_models():
    """Against all translations of a vocabulary of 6, by the probabilities of each model."""
    models = [small_model(name, vocabulary=6) for name in ("transformer", "bahdanau", "seq2seq")]
    words, most = (UNK, 4, 5), 3
    src, mask = sentences([3, 5], vocabulary=6)
    search = beam_search(40, 0.0, n_best=40, max_ratio=0.0, max_extra=most)
    paths = [
        [*middle, last]
        for length in range(most)
        for middle in itertools.product(words, repeat=length)
        for last in ((EOS,) if length + 1 < most else (*words, EOS))
    ]
    for row, ranked in enumerate(search(Ensemble(models).eval(), src, mask)):
        one = src[row : row + 1, mask[row]], mask[row : row + 1, mask[row]]
        memories = [model.encode(*one) for model in models]
        expected = {}
        for path in paths:
            tgt_in = torch.tensor([[BOS, *path[:-1]]])
            each = [
                model.logits(model.decode(memory, tgt_in).features)[0].softmax(1)
                for model, memory in zip(models, memories, strict=True)
            ]
            mean = torch.stack(each).mean(0)
            mean[:, [PAD, BOS]] = 0.0
            mean = mean / mean.sum(1, keepdim=True)
            expected[*path,] = float(mean[torch.arange(len(path)), path].log().sum())
        assert len(expected) == len(ranked)
        for found in ranked:
            assert found.score == pytest.approx(expected[*found.tokens,], rel=1e-4)
        scores = [found.score for found in ranked]
        assert scores == sorted(scores, reverse=True)


@torch.no_grad()
def test_teacher_forcing_repeats_the_search():
    ensemble = Ensemble([small_model("transformer"), small_model("luong_global")]).eval()
    src, mask = sentences([4, 9, 6])
    for row, [best] in enumerate(beam_search(length_penalty=0)(ensemble, src, mask)):
        one = src[row : row + 1, mask[row]], mask[row : row + 1, mask[row]]
        memory = ensemble.encode(*one)
        logits = ensemble.logits(
            ensemble.decode(memory, torch.tensor([[BOS, *best.tokens[:-1]]])).features
        )
        logits[..., [PAD, BOS]] = float("-inf")
        found = logits.log_softmax(-1)[0, torch.arange(len(best.tokens)), best.tokens]
        assert float(found.sum()) == pytest.approx(best.score, rel=1e-4)


@torch.no_grad()
def test_an_ensemble_can_be_forced():
    models = [small_model("transformer"), small_model("luong_global")]
    batch = collate(EncodedPairs(np.arange(2), *(Sequences.of([[5, 6], [7]]) for _ in range(2))))
    together, *single = (
        ForcedDecoding(each).predict_step(batch) for each in (Ensemble(models), *models)
    )
    for one, *others in zip(together, *single, strict=True):
        mean = sum(np.exp(-other.nats) for other in others) / 2
        np.testing.assert_allclose(np.exp(-one.nats), mean, rtol=1e-5)


def test_limits_are_the_shortest():
    learned = small_model("transformer", "model.positions=learned", "model.max_length=90")
    location = small_model("luong_location", "model.attention.max_length=50")
    limit = Ensemble([small_model("seq2seq"), learned, location]).limit()
    assert limit == ("model.attention.max_length", 50, 90)
    decoder = small_model("transformer", "model.decoder_positions=learned", "model.max_length=40")
    assert Ensemble([decoder]).limit() == ("model.max_length", None, 40)
    assert Ensemble([decoder, location]).limit() == ("model.attention.max_length", 50, 40)
    assert Ensemble([small_model("seq2seq")]).limit() is None


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    space = tmp_path_factory.mktemp("ensemble")
    trained = {
        "transformer": ["model=transformer"],
        "rnn": ["model=luong_global"],
        "other": ["model=seq2seq", "data.seed=7", "data.train_size=100"],
    }
    for name, model in trained.items():
        given = [*TINY, *places(space), "logger=none", *model]
        inside(*given, f"hydra.run.dir={space}/{name}")
    return space


@pytest.mark.long
def test_runs_translate_as_an_ensemble(runs):
    text = "The cat sleeps.\n\nThe dog sees the cat.\n"
    together = f"checkpoint=[{runs}/transformer,{runs}/rnn]"
    lines = succeed("task=translate", together, stdin=text).splitlines()
    assert len(lines) == 3
    assert lines[1] == ""
    best = {}
    for name, given in (("one", f"{runs}/rnn"), ("list", f"[{runs}/rnn]")):
        n_best = ["decoding.n_best=2", f"checkpoint={given}"]
        best[name] = succeed("task=translate", *n_best, stdin=text)
    assert best["one"] == best["list"]
    assert best["one"].count("|||") == 2 * 2 * 2


@pytest.mark.long
def test_other_vocabularies_end_with_one_line(runs):
    given = [f"checkpoint=[{runs}/transformer,{runs}/other]", f"input={__file__}"]
    line = mistake("task=translate", *given)
    assert f"checkpoint={runs}/other: has other vocabularies than {runs}/transformer" in line
    assert "give the folder of a run" in mistake("task=translate", "checkpoint=[]")


@pytest.mark.long
@pytest.mark.parametrize("task", ["align", "test"])
@pytest.mark.exhaustive
def test_other_tasks_take_one_run(runs, task):
    """The result of a test names one variant and the cost of one training."""
    line = mistake(f"task={task}", f"checkpoint=[{runs}/rnn,{runs}/rnn]", *places(runs))
    assert "only task=translate takes several runs" in line
