"""A trace against the model itself."""

import math

import numpy as np
import pytest
import torch

from datamodules.tokenization import BOS, EOS
from lightning_modules.decoding.search import token_log_probabilities
from lightning_modules.training.factories import build_search
from sweeps.explorer.tracer import MOST_BYTES, Tracer
from tests.helpers.explorers import SOURCES, explore_config, tracer, trained_model
from tests.helpers.refusals import refused
from tests.helpers.variants import configuration

MODELS = ["bahdanau", "seq2seq", "transformer"]


@pytest.mark.parametrize("model", MODELS)
def test_a_trace_agrees_with_itself_and_with_the_forced_model(model):
    trained = trained_model(model)
    trace = Tracer(trained, explore_config())(SOURCES[2])
    best = [trace.nodes[number] for number in trace.best]
    assert [node.piece for node in best] == [step.piece for step in trace.steps]
    assert [node.probability for node in best] == pytest.approx(
        [step.probability for step in trace.steps], rel=1e-4
    )
    total = sum(math.log(step.probability) for step in trace.steps)
    assert best[-1].total == pytest.approx(total, rel=1e-4)
    assert trace.finished[0].total == pytest.approx(total, rel=1e-4)
    assert trace.finished[0].tokens == len(trace.steps)
    assert trace.finished[0].text == trace.text
    src = torch.tensor([[*trained.tokenizers.source.encode([SOURCES[2]])[0], EOS]])
    search = build_search(explore_config(), trained.model, trained.tokenizers.target)
    [[tokens, _, _], *_] = search(trained.model, src, src > 0)[0]
    assert trace.text == trained.tokenizers.target.decode([tokens])[0]
    with torch.no_grad():
        memory = trained.model.encode(src, src > 0)
        decoded = trained.model.decode(memory, torch.tensor([[BOS, *tokens[:-1]]]))
        logs = token_log_probabilities(trained.model, decoded.features[0])
    ends = [step.eos for step in trace.steps]
    assert ends == pytest.approx(logs[:, EOS].exp().tolist(), rel=1e-4)
    wins = [step.eos_wins for step in trace.steps]
    assert wins == (logs.argmax(1) == EOS).tolist()


@pytest.mark.parametrize("model", MODELS)
def test_attention_has_a_row_for_each_step_and_layers_and_heads(model):
    trace = tracer(model)(SOURCES[2])
    if model == "seq2seq":
        assert trace.weights is trace.heads is None
        return
    assert trace.weights is not None
    assert trace.weights.shape == (len(trace.steps), len(trace.source))
    np.testing.assert_allclose(trace.weights.sum(1), 1, atol=1e-5)
    if model == "bahdanau":
        assert trace.heads is None
        return
    assert trace.heads is not None
    assert trace.heads.shape[2:] == trace.weights.shape
    np.testing.assert_allclose(trace.heads[-1].mean(0), trace.weights, atol=1e-5)


def test_other_tokens_are_the_most_probable_ones():
    for step in tracer("bahdanau")(SOURCES[0]).steps:
        named = [probability for _, probability in step.instead]
        assert named == sorted(named, reverse=True)
        assert step.piece not in [piece for piece, _ in step.instead]
        assert step.probability + sum(named) <= 1 + 1e-5


def test_words_that_the_vocabulary_lacks_are_named():
    trace = tracer("bahdanau")("the  zebra\nsees zebras \ud800")
    assert trace.unknown == ["zebra", "zebras", "?"]
    assert trace.source == ["the", "zebra", "sees", "zebras", "?", "</s>"]


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("", "the sentence is empty"),
        (" \n\t ", "the sentence is empty"),
        ("cat " * 300, "the sentence has 301 tokens, more than max_line_tokens=200"),
        ("x" * (MOST_BYTES + 1), "more than 65,536 bytes"),
    ],
)
def test_sentences_that_are_refused(sentence, words):
    with refused(words):
        tracer("bahdanau")(sentence)


def test_a_search_has_so_many_seconds():
    slow = tracer("bahdanau")
    with refused("request_seconds=1e-09: shorten the sentence"):
        slow(SOURCES[0], 1e-9)
    assert slow(SOURCES[0], 600.0).steps


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("decoding=mbr", "MinimumBayesRisk has none of its own; set decoding=beam"),
        ("decoding.length=reference", "task=explore has no references"),
    ],
)
def test_searches_that_have_nothing_to_draw(given, words):
    with refused(words):
        Tracer(trained_model("bahdanau"), configuration("task=explore", given))
