"""Packed weights: in a search only, with the numbers of the plain weights."""

import pytest
import torch
from torch.nn import functional

from datamodules.errors import UserError
from lightning_modules.decoding import BeamSearch, GreedySearch
from lightning_modules.kernels import Packable, packed_weights, products
from lightning_modules.kernels.packed import Float32, Int8
from tests.helpers.variants import ALL, numbers, sentences, small_model

pytestmark = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN"
)
INT8_ERROR = 0.02
"""Largest error of a product, as a share of the root of the sum of squares of its factors."""


@pytest.mark.parametrize("inputs", [(7, 5), (1, 5), (0, 5), (2, 3, 5), (2, 0, 5)], ids=str)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("form", [Float32, Int8])
def test_packed_products_equal_plain_ones(form, bias, inputs, onednn):
    weight = numbers(9, 5)
    weight[3] = 0.0
    added = numbers(9, seed=1) if bias else None
    given = numbers(*inputs, seed=2)
    result = form(weight, added)(given)
    expected = functional.linear(given, weight, added)
    assert result.shape == expected.shape
    sizes = given.norm(dim=-1, keepdim=True) * weight.norm(dim=1)
    error = 1e-6 if form is Float32 else INT8_ERROR
    assert ((result - expected).abs() <= error * sizes + 1e-6).all()


def test_a_row_in_integers_does_not_depend_on_the_other_rows():
    product = Int8(numbers(9, 5), numbers(9))
    rows = numbers(6, 5) * torch.tensor([1e-6, 1.0, 50.0, 1.0, 1e4, 0.0]).unsqueeze(1)
    alone = torch.cat([product(row.unsqueeze(0)) for row in rows])
    assert torch.equal(product(rows), alone)


@pytest.mark.parametrize("name", ALL)
def test_a_search_with_packed_weights_finds_the_same(name, onednn):
    """Also with integers, hypotheses stay near: random weights make close decisions."""
    model, source = small_model(name).eval(), sentences([4, 7, 2])
    search = BeamSearch(3, n_best=2)
    ours = search(model, *source)
    products.use(None)
    theirs = search(model, *source)
    for one, other in zip(ours, theirs, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        for left, right in zip(one, other, strict=True):
            assert left.score == pytest.approx(right.score, rel=1e-4)
    for ranked in BeamSearch(3, int8=True)(model, *source):
        assert ranked[0].score < 0


@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_a_model_in_float64_keeps_its_precision(name, onednn):
    model, source = small_model(name).double().eval(), sentences([4, 7, 2])
    ours = GreedySearch()(model, *source)
    products.use(None)
    assert [one.score for [one] in ours] == [one.score for [one] in GreedySearch()(model, *source)]
    assert all(hypotheses for hypotheses in GreedySearch(int8=True)(model, *source))


@pytest.mark.parametrize("name", ["seq2seq", "bahdanau", "luong_global", "transformer"])
def test_steps_multiply_by_packed_weights_alone(name, monkeypatch):
    model, source = small_model(name).eval(), sentences([4, 7, 2])
    with torch.no_grad(), packed_weights(model, int8=True):
        memory = model.encode(*source)
        state = model.initial_state(memory)
        monkeypatch.setattr(products, "linear", pytest.fail)
        for operator in ("gru_cell", "lstm_cell"):
            monkeypatch.setattr(torch, operator, pytest.fail)
        step = model.step(memory, state, torch.tensor([5, 6, 7]))
        model.logits(step.features)


def test_weights_are_packed_as_long_as_the_search_lasts(monkeypatch):
    model = small_model("luong_global").eval()
    layers = [module for module in model.modules() if isinstance(module, Packable)]
    with packed_weights(model, int8=True):
        assert layers
        assert all(layer._packed is not None for layer in layers)
    assert all(layer._packed is None for layer in layers)
    monkeypatch.setattr(model, "encode", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        GreedySearch(int8=True)(model, *sentences([4, 2]))
    monkeypatch.undo()
    assert all(layer._packed is None for layer in layers)
    with packed_weights(model, int8=False):  # torch multiplies
        assert all(layer._packed is None for layer in layers)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    GreedySearch(int8=True)(model, *sentences([4, 2]))
    assert model.state_dict().keys() == before.keys()
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())


def test_new_weights_count_at_once(onednn):
    model, source = small_model("transformer").eval(), sentences([4, 7])
    GreedySearch()(model, *source)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    ours = GreedySearch()(model, *source)
    products.use(None)
    theirs = GreedySearch()(model, *source)
    assert [one[0].tokens for one in ours] == [one[0].tokens for one in theirs]


def test_integers_need_a_cpu_with_onednn_and_no_other_type(monkeypatch):
    with pytest.raises(
        ValueError, match=r"decoding\.int8=true: cannot be used with decoding\.bf16"
    ):
        BeamSearch(int8=True, bf16=True)
    with pytest.raises(UserError, match=r"decoding\.int8=true: needs a CPU"):
        GreedySearch(int8=True)(small_model("seq2seq").to("meta"), *sentences([3]))
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    with pytest.raises(UserError, match=r"decoding\.int8=true: needs a CPU"):
        GreedySearch(int8=True)(small_model("seq2seq"), *sentences([3]))


def test_small_packed_products_stay_with_torch(monkeypatch):
    monkeypatch.setattr(products, "onednn", pytest.fail)
    products.use(4 * 8 * 4 * 2 + 1)
    try:
        Float32(numbers(4, 8), None)(numbers(2, 8))
    finally:
        products.use(None)
