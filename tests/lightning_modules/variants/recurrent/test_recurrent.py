"""Recurrent models against ``tests.reference``, and effects and errors of the settings."""

from typing import Any

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from omegaconf import OmegaConf

from datamodules.errors import UserError
from datamodules.tokenization import BOS, PAD
from tests.helpers.recurrent_models import (
    FLAGS,
    GENERAL,
    PLAIN,
    PREVIOUS,
    VOCABULARY,
    build,
    recurrent,
    sources,
    stepwise,
    targets,
    teacher_forced,
)
from tests.helpers.variants import CONF
from tests.reference import arrays
from tests.reference.recurrent import decode

LENGTHS = [1, 2, 7, 19, 33, 59, 60]
PUBLISHED = [
    "rnnencdec",
    "sutskever2014",
    "rnnsearch",
    "luong_global_dot",
    "luong_global_general",
    "luong_global_concat",
    "luong_global_location",
    "luong_local_m",
    "luong_local_p",
]

BOTH: dict[str, Any] = {"hidden_size": 4, "bidirectional": True}
FURTHER: dict[str, dict[str, Any]] = {
    "gru_2014_bidirectional_sum": {
        "cell": "gru_2014",
        "layers": 2,
        "encoder": BOTH | {"merge": "sum"},
        "attention": {"score": "additive"},
        "query": PREVIOUS,
    },
    "gru_2014_bidirectional_reversed_copy": {
        "cell": "gru_2014",
        "layers": 3,
        "encoder": BOTH | {"reverse_source": True},
        "hidden_size": 8,
        "bridge": "copy",
        "attention": GENERAL,
    },
    "gru_backward": {"layers": 2, "encoder": BOTH, "bridge": "backward", "attention": GENERAL},
    "lstm_dense": {"cell": "lstm", "layers": 2, "encoder": BOTH, "attention": GENERAL},
    "lstm_dense_sum": {"cell": "lstm", "encoder": BOTH | {"merge": "sum"}, "attention": GENERAL},
    "lstm_copy_sum": {
        "cell": "lstm",
        "layers": 2,
        "encoder": BOTH | {"merge": "sum", "reverse_source": True},
        "hidden_size": 4,
        "bridge": "copy",
        "attention": {"score": "dot"},
    },
    "lstm_backward": {"cell": "lstm", "encoder": BOTH, "bridge": "backward", "attention": GENERAL},
    "lstm_summary": {"cell": "lstm", "layers": 2, "bridge": "summary", "summary": True},
    "summary_and_attention": {"summary": True, "encoder": BOTH, "attention": GENERAL},
    "summary_and_attention_before": {
        "bridge": "summary",
        "summary": True,
        "attention": GENERAL,
        "query": PREVIOUS | {"context": True},
        "input_feeding": True,
        "readout": {"kind": "maxout", "size": 3, "state": "previous", "last_token": True},
    },
    "gru_alone": {"readout": {"kind": "none"}},
    "gru_alone_fed": {"readout": {"kind": "none"}, "input_feeding": True},
    "previous_state_read": {
        "readout": {"kind": "tanh", "size": 3, "state": "previous", "last_token": True}
    },
    "intra": {"attention": GENERAL, "intra_attention": {"score": "general"}},
    "intra_without_attention": {"cell": "lstm", "intra_attention": {"score": "dot"}},
    "intra_fed": {
        "attention": GENERAL,
        "intra_attention": {"score": "additive", "alignment_size": 3},
        "input_feeding": True,
    },
    "intra_heads": {"attention": GENERAL, "intra_attention": {"score": "scaled_dot", "heads": 2}},
    "intra_heads_before": {
        "attention": GENERAL,
        "query": PREVIOUS,
        "intra_attention": {"score": "cosine", "heads": 3},
    },
    "heads": {"encoder": BOTH, "attention": {"score": "scaled_dot", "heads": 4}},
    "heads_before": {
        "encoder": BOTH,
        "attention": {"score": "additive", "heads": 2, "window": "local_m", "half_width": 3},
        "query": PREVIOUS | {"last_token": True},
    },
    "heads_local_p": {
        "attention": {"score": "linear", "activation": "tanh", "heads": 2, "window": "local_p"},
        "query": FLAGS,
    },
    "heads_location": {"attention": {"score": "location", "max_length": 20, "heads": 2}},
    "location_cut": {"attention": {"score": "location", "max_length": 20}},
    "local_p_renormalised": {
        "attention": GENERAL | {"window": "local_p", "half_width": 2, "renormalise": True},
        "query": PREVIOUS,
    },
    **{
        f"query_{state}_{flag}": {
            "attention": GENERAL,
            "encoder": BOTH | {"reverse_source": True},
            "query": {"state": state, flag: True},
        }
        for state in ("previous", "current")
        for flag in FLAGS
    },
    "query_everything": {"attention": GENERAL, "query": FLAGS, "input_feeding": True},
    "query_everything_before": {"attention": {"score": "concat"}, "query": PREVIOUS | FLAGS},
}


def published(name: str, *overrides: str) -> dict:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose("config", [f"model={name}", "++scale=0.016", *overrides])
    settings = OmegaConf.to_container(config.model, resolve=True)
    assert isinstance(settings, dict)
    return settings


def settings_of(name: str) -> dict:
    return published(name) if name in PUBLISHED else PLAIN | FURTHER[name]


def compare(actual, row, expected, length):
    logits, weights = actual
    np.testing.assert_allclose(logits[row].numpy(), expected.logits, rtol=0, atol=1e-9)
    if expected.weights is None:
        assert weights is None
        return
    real = weights[row, :, :length].numpy()
    np.testing.assert_allclose(real, expected.weights, rtol=0, atol=1e-9)
    assert weights[row, :, length:].count_nonzero() == 0


@pytest.mark.parametrize("name", [*PUBLISHED, *FURTHER])
def test_equals_the_equations(name):
    """Seven lengths from 1 to 60 (in a batch, stepwise, alone), and a batch of one length."""
    settings = settings_of(name)
    model = build(settings)
    parameters, tgt = arrays(model), targets(7)
    src, mask = sources(LENGTHS, 62)
    together, steps = (how(model, src, mask, tgt) for how in (teacher_forced, stepwise))
    for row, length in enumerate(LENGTHS):
        expected = decode(parameters, settings, src[row, :length].tolist(), tgt[row].tolist())
        compare(together, row, expected, length)
        compare(steps, row, expected, length)
        one = slice(row, row + 1)
        alone = teacher_forced(model, src[one, :length], mask[one, :length], tgt[one])
        compare(alone, 0, expected, length)
    src, mask = sources([9] * 7)
    together = teacher_forced(model, src, mask, tgt[:, :5])
    for row in range(7):
        expected = decode(parameters, settings, src[row].tolist(), tgt[row, :5].tolist())
        compare(together, row, expected, 9)


@pytest.mark.parametrize("cell", ["gru", "gru_2014", "lstm"])
@pytest.mark.parametrize("reverse_source", [False, True])
def test_padding_never_enters_a_bidirectional_encoder(cell, reverse_source):
    encoder = BOTH | {"reverse_source": reverse_source}
    model = build(PLAIN | {"cell": cell, "layers": 2, "encoder": encoder})
    src, mask = sources([3, 8, 1])
    noise = torch.randint(4, VOCABULARY, src.shape)
    with torch.no_grad():
        one, other = (
            model.encoder(model.src_embedding(ids), mask) for ids in (src, src.where(mask, noise))
        )
        assert one.states.equal(other.states)
        assert one.hidden.equal(other.hidden)
        assert one.states.masked_select(~mask.unsqueeze(-1)).count_nonzero() == 0


@pytest.mark.parametrize("name", ["rnnsearch", "luong_local_p"])
def test_parameters_begin_within_the_initial_range(name):
    settings = published(name, "model.initial_range=0.05")
    model = instantiate(settings, src_vocabulary=VOCABULARY, tgt_vocabulary=VOCABULARY)
    for parameter in model.parameters():
        assert parameter.abs().max() <= 0.05
        if parameter.numel() > 20:
            assert parameter.min() < -0.03
            assert parameter.max() > 0.03
    assert not model.src_embedding.weight[PAD].any()
    assert not model.tgt_embedding.weight[PAD].any()


def test_the_initial_range_leaves_the_temperature_of_cosine():
    """A logarithm drawn around 0 would mean a temperature near 1, too flat for a softmax."""
    settings = PLAIN | {"hidden_size": 4, "attention": {"score": "cosine"}, "initial_range": 0.1}
    model = recurrent(settings)
    assert model.get_parameter("attention.score.log_temperature").exp().item() == pytest.approx(0.1)


@pytest.mark.parametrize("tied", ["output", "all"])
def test_tied_tables_are_one_tensor(tied):
    settings = PLAIN | {"embedding_size": 3, "tied": tied}
    model = recurrent(settings).double()
    assert model.output.weight is model.tgt_embedding.weight
    assert (model.src_embedding.weight is model.tgt_embedding.weight) == (tied == "all")
    tables = [p for p in model.parameters() if p.shape == (VOCABULARY, 3)]
    assert len(tables) == (2 if tied == "output" else 1)
    src, mask = sources([4, 2])
    expected = decode(arrays(model), settings, src[0].tolist(), [BOS, 5, 6])
    compare(teacher_forced(model, src, mask, torch.tensor([[BOS, 5, 6]] * 2)), 0, expected, 4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bridge": "copy"}, "model.bridge=copy: .* have 4 numbers and the decoder's 6; .*dense"),
        ({"bridge": "backward"}, "model.bridge=backward: set model.encoder.bidirectional=true"),
        ({"bridge": "summary"}, "model.bridge=summary: set model.summary=true"),
        (
            {"readout": {"kind": "none"}, "attention": GENERAL},
            "model.readout.kind=none: .* context",
        ),
        ({"readout": {"kind": "none", "state": "previous"}}, "model.readout.kind=none: "),
        (
            {"readout": {"kind": "tanh", "size": 3, "state": "previous"}},
            "model.readout.state=previous: nothing would tell the output the last word",
        ),
        ({"attention": None, "query": {"last_token": True}}, "model.query.last_token=true: "),
        (
            {"attention": None, "query": PREVIOUS},
            "model.query.state=previous: .* set model.query.state=current",
        ),
        ({"readout": {"kind": "none", "size": 5}}, "model.readout.size=5: .* 6 numbers"),
        ({"readout": {"kind": "tanh"}}, "model.readout.kind=tanh: give model.readout.size=N"),
        ({"tied": "output"}, "model.tied=output: .* reads 3 numbers, an embedding has 5"),
        (
            {"tied": "all", "readout": {"kind": "tanh", "size": 5}},
            "model.tied=all: needs one vocab",
        ),
        ({"attention": {"score": "dot"}}, "model.attention.score=dot: Dot needs .* not 6 and 4"),
        ({"intra_attention": {"score": "x"}}, "model.intra_attention.score=x: choose one of dot"),
        ({"intra_attention": {"score": "location"}}, "model.intra_attention: .* looks at states"),
        ({"intra_attention": GENERAL | {"window": "local_m"}}, "model.intra_attention: .* window"),
    ],
)
def test_what_does_not_fit_together_is_refused(settings, message):
    with pytest.raises((UserError, ValueError), match=message) as refused:
        recurrent(PLAIN | settings, tgt_vocabulary=VOCABULARY + 1)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("group", ["attention", "intra_attention"])
@pytest.mark.parametrize("setting", ["heads", "half_width"])
def test_a_value_of_the_wrong_kind_is_told_by_its_own_key(group, setting):
    wrong = PLAIN | {group: GENERAL | {setting: "many"}}
    with pytest.raises(
        UserError, match=rf"^model\.{group}\.{setting}=many: .* integer.*"
    ) as raised:
        recurrent(wrong)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["plain", "fed", "stacked_2014"])
def test_dropout_acts_in_training_only(name):
    extra: dict[str, dict[str, Any]] = {
        "plain": {"attention": GENERAL},
        "fed": {"attention": GENERAL, "input_feeding": True},
        "stacked_2014": {"layers": 2, "cell": "gru_2014"},
    }
    settings = PLAIN | extra[name] | {"dropout": 0.4}
    model, without = build(settings), build(settings | {"dropout": 0.0})
    given = *sources([3, 9]), targets(2, 5)
    for how in (teacher_forced, stepwise):
        assert how(model, *given)[0].equal(how(without, *given)[0])
    model.train()
    assert not teacher_forced(model, *given)[0].equal(teacher_forced(model, *given)[0])
    without.train()
    assert teacher_forced(without, *given)[0].equal(teacher_forced(without, *given)[0])
