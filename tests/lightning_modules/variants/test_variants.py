"""Properties of every variant, independent of its equations."""

import math
from itertools import pairwise

import pytest
import torch
from torch.nn.functional import cross_entropy

from datamodules.tokenization import BOS, EOS, PAD
from lightning_modules.kernels.rnn import flip
from lightning_modules.training.factories import build_model
from lightning_modules.variants import EmbeddedEncoderDecoder, EncoderDecoder
from lightning_modules.variants.recurrent.encoder import reverse
from sweeps.comparison.conditions import PARAMETER_TOLERANCE
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import (
    ALL,
    LAPTOP,
    NAMES,
    OPTIONS,
    POSITIONS,
    STEPS,
    configuration,
    sentences,
    small_model,
    targets,
)

WITHOUT_ATTENTION = {
    "rnnencdec",
    "sutskever2014",
    "seq2seq",
    "seq2seq_reversed",
    "lstm_with_summary",
}
LENGTHS = [3, 9, 1, 14]


@pytest.mark.parametrize("name", ALL)
def test_weights_of_all_layers_and_heads_contain_those_of_decoding(name):
    model = small_model(name)
    src, mask = sentences(LENGTHS, width=20)
    tgt = targets(len(LENGTHS), 6)
    with torch.no_grad():
        memory = model.encode(src, mask)
        weights = model.decode(memory, tgt).weights
        all_weights = model.head_weights(memory, tgt)
        again = model.decode(memory, tgt).weights
    if name in WITHOUT_ATTENTION:
        assert weights is all_weights is None
        return
    assert weights is not None
    assert all_weights is not None
    assert all_weights.shape == (len(LENGTHS), *layers_and_heads(name), 6, 20)
    assert all_weights.min() >= 0
    assert all_weights.masked_select(~mask[:, None, None, None]).count_nonzero() == 0
    torch.testing.assert_close(all_weights[:, -1].mean(1), weights)
    torch.testing.assert_close(again, weights, rtol=0, atol=0)  # no hook is left behind
    heads_alone = weights.sum(-1)[:, None, None].expand(all_weights.shape[:-1])
    torch.testing.assert_close(all_weights.sum(-1), heads_alone)  # 1, or less with a local window


def layers_and_heads(name: str) -> tuple[int, int]:
    model, options = OPTIONS.get(name, (name, []))
    settings = configuration(f"model={model}", *options).model
    if "decoder_layers" in settings:
        last = settings.cross_attention == "last"
        return 1 if last else settings.decoder_layers, settings.heads
    return 1, settings.attention.get("heads") or 1


@pytest.mark.parametrize(
    ("name", "width"), [("bahdanau", 128), ("luong_global", 128), ("seq2seq_reversed", 144)]
)
@pytest.mark.parametrize("tied", ["output", "all"])
def test_tied_models_begin_without_a_bet(name, width, tied):
    """The first predictions are nearly uniform, with cross-entropy ln V; padding stays 0.

    A Transformer is different: the last token passes through to its row of the output layer.
    """
    given = [f"model.tied={tied}", f"model.embedding_size={width}", "tokenizer.shared=true"]
    config = configuration(f"model={name}", *given)
    torch.manual_seed(0)
    model = build_model(config, 4000, 4000)
    src, mask = torch.randint(4, 4000, (8, 12)), torch.ones(8, 12, dtype=torch.bool)
    tgt = torch.randint(4, 4000, (8, 13))
    with torch.no_grad():
        logits = model.logits(model.decode(model.encode(src, mask), tgt[:, :-1]).features)
    loss = cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten()).item()
    assert loss == pytest.approx(math.log(4000), abs=0.5)
    assert isinstance(model, EmbeddedEncoderDecoder)
    assert not model.output.weight[PAD].any()


@pytest.mark.parametrize("name", ALL)
def test_every_parameter_learns(name):
    model = small_model(name).train()
    src, mask = sentences(LENGTHS)
    features = model.decode(model.encode(src, mask), targets(len(LENGTHS), 8)).features
    model.logits(features).logsumexp(-1).sum().backward()
    assert [n for n, p in model.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("name", ALL)
def test_beam_of_one_equals_greedy(name):
    model = small_model(name)
    src, mask = sentences([5, 12, 1, 8, 8])
    greedy = greedy_search()(model, src, mask)
    beam = beam_search(beam_size=1, length_penalty=0.0)(model, src, mask)
    for one, other in zip(greedy, beam, strict=True):
        assert one[0].tokens == other[0].tokens
        assert one[0].score == pytest.approx(other[0].score, rel=1e-4)
        if one[0].weights is not None:
            torch.testing.assert_close(one[0].weights, other[0].weights)


@pytest.mark.parametrize("name", ALL)
def test_found_hypotheses_score_as_teacher_forcing_says(name):
    model = small_model(name)
    src, mask = sentences([5, 12, 1, 8, 8])
    results = beam_search(beam_size=4, n_best=3, length_penalty=0.0)(model, src, mask)
    for row, hypotheses in enumerate(results):
        one = slice(row, row + 1)
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(hypothesis.tokens) for hypothesis in hypotheses}) == len(hypotheses) == 3
        for tokens, score, weights in hypotheses:
            with torch.no_grad():
                memory = model.encode(src[one], mask[one])
                decoded = model.decode(memory, torch.tensor([[BOS, *tokens[:-1]]]))
                logits = model.logits(decoded.features)[0]
            logits[:, [0, BOS]] = float("-inf")
            forced = logits.log_softmax(-1)[range(len(tokens)), tokens].sum().item()
            assert score == pytest.approx(forced, rel=1e-4, abs=1e-4)
            if weights is not None:
                assert decoded.weights is not None
                torch.testing.assert_close(weights, decoded.weights[0], rtol=1e-4, atol=1e-5)


def test_a_variant_without_an_output_layer_of_its_own_has_the_same_loss_of_padded_positions():
    model = small_model("seq2seq").double()
    features = torch.randn(6, model.features_size, dtype=torch.float64)
    tokens = torch.tensor([3, -1, 4, 5, -1, 3])
    given = features, tokens, 0.1, (tokens >= 0).sum()
    theirs = EncoderDecoder.loss(model, *given)
    torch.testing.assert_close(theirs, model.loss(*given))
    real = tokens >= 0
    torch.testing.assert_close(theirs, model.loss(features[real], tokens[real], 0.1))


def test_reversal_keeps_eos_last_and_padding_behind():
    src, mask = sentences([4, 1, 6])
    mirrored = reverse(src, mask)
    assert mirrored[0].tolist() == [*src[0, :3].flip(0).tolist(), EOS, 0, 0]
    assert mirrored[1].tolist() == src[1].tolist()
    assert mirrored[2].tolist() == [*src[2, :5].flip(0).tolist(), EOS]
    torch.testing.assert_close(reverse(mirrored, mask), src)
    states = torch.randn(3, 6, 2)
    torch.testing.assert_close(reverse(states, mask)[0, 0], states[0, 2])


def test_flipping_turns_eos_too():
    src, mask = sentences([4, 1, 6])
    mirrored = flip(src, mask.sum(1))
    assert mirrored[0].tolist() == [*src[0, :4].flip(0).tolist(), 0, 0]
    assert mirrored[1].tolist() == src[1].tolist()
    torch.testing.assert_close(flip(mirrored, mask.sum(1)), src)


@pytest.mark.parametrize("names", [LAPTOP, STEPS, POSITIONS], ids=["family", "ladder", "length"])
def test_laptop_sizes_are_comparable(names):
    """The comparisons keep the condition on parameters at the built-in vocabularies."""
    counts = {}
    for name in names:
        model = build_model(configuration(f"model={name}"), 479, 821)
        counts[name] = sum(parameter.numel() for parameter in model.parameters())
    assert max(counts.values()) <= (1 + PARAMETER_TOLERANCE) * min(counts.values()), counts


def test_each_step_of_the_ladder_changes_one_thing_besides_widths():
    """The first step changes the class, and so all settings."""
    models = [configuration(f"model={name}").model for name in STEPS[1:]]
    changes = [
        {key for key in one if one[key] != other[key]} - {"width"}
        for one, other in pairwise(models)
    ]
    assert changes == [
        {"encoder_layers", "decoder_layers"},
        {"heads"},
        {"positions"},
        {"hidden_size"},
        {"residual", "norm"},
        {"cross_attention"},
        {"encoder_mixer"},
        {"decoder_mixer", "hidden_size"},
    ]


@pytest.mark.long
@pytest.mark.exhaustive
def test_one_number_scales_every_width():
    for name in NAMES:
        whole, half = (configuration(f"model={name}", f"scale={scale}").model for scale in (1, 0.5))
        for key in ("hidden_size", "embedding_size"):
            size = whole.get(key)
            assert size is None or half[key] == pytest.approx(size / 2, rel=0.02), name
        if width := whole.get("width"):  # a multiple of eight, for as many heads
            assert half.width % 8 == 0
            assert abs(half.width - width / 2) <= 4, name
            assert half.width < width
