"""Products by oneDNN against float64, packed weights, and models that use them."""

import time

import pytest
import torch
from torch.nn import functional

from datamodules.errors import UserError
from lightning_modules.kernels import precision, products
from lightning_modules.kernels.products import (
    CACHE_LINE,
    Int8Product,
    LinearLayer,
    OnednnProduct,
    Packable,
    multiply,
    multiply_transposed,
    packed_weights,
)
from lightning_modules.training.flops import _count_pair
from lightning_modules.training.size_search import build_to_count
from tests.helpers.searches import beam_search, greedy_search
from tests.helpers.variants import ALL, configuration, numbers, sentences, small_model, targets

ERROR = 1e-6  # largest error, as a share of |x| · |w|


needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN"
)


def assert_near(actual, left, right, onto=0.0):
    left, right = left.double(), right.double()
    sizes = left.abs() @ right.abs() + abs(onto)
    assert actual.shape == sizes.shape
    assert ((actual - (left @ right + onto)).abs() <= ERROR * sizes + 1e-30).all()


def strided(form, *shape):
    if form == "transposed":
        return numbers(*shape[:-2], shape[-1], shape[-2]).transpose(-1, -2)
    if form == "every other":
        return numbers(*shape[:-1], 2 * shape[-1])[..., ::2]
    if form == "expanded":
        return numbers(*shape[:-2], 1, 1).expand(shape)
    return numbers(*shape)


FORMS = ("plain", "transposed", "every other", "expanded")


@needs_onednn
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "shape", [(7, 5), (1, 5), (0, 5), (3, 4, 5), (2, 0, 5), (2, 3, 4, 5), (5,)]
)
def test_linear_equals_float64_with_its_gradients(shape, form, onednn):
    inputs = (strided(form, *shape) if len(shape) > 1 else numbers(*shape)).requires_grad_()
    weight = strided(form, 9, 5).detach().requires_grad_()
    bias = numbers(9, seed=1).requires_grad_()
    result = products.linear(inputs, weight, bias)
    assert result.shape == (*shape[:-1], 9)
    direction = strided(form, *result.shape) if result.dim() > 1 else numbers(9)
    gradients = torch.autograd.grad(result, (inputs, weight, bias), direction)
    flat, left = direction.reshape(-1, 9), inputs.reshape(-1, 5)
    assert_near(result.reshape(-1, 9), left, weight.T, bias)
    assert_near(gradients[0].reshape(-1, 5), flat, weight)
    assert_near(gradients[1], flat.T, left)
    torch.testing.assert_close(gradients[2], flat.sum(0))


@needs_onednn
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sizes", [(3, 4, 5), (1, 4, 9), (9, 4, 1), (0, 4, 3), (3, 0, 4)])
def test_products_equal_float64(sizes, form, onednn):
    rows, inner, columns = sizes
    left, right = strided(form, rows, inner), strided(form, inner, columns)
    vector, matrix = numbers(columns), numbers(columns, rows).T
    assert_near(multiply(left, right), left, right)
    assert_near(multiply(left, right, vector), left, right, vector)
    assert_near(multiply(left, right, matrix), left, right, matrix)
    other = strided(form, rows, columns)
    total = multiply_transposed(left, other)
    assert_near(total, left.T, other)
    first = total.double()
    assert_near(multiply_transposed(left, other, total), left.T, other, first)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("columns", [9, 32])
def test_rows_of_an_aligned_product_begin_at_cache_lines(columns, dtype):
    left, right, onto = (
        torch.randn(*size, dtype=dtype) for size in ((3, 4), (4, columns), [columns])
    )
    for added in (None, onto):
        aligned = multiply(left, right, added, aligned=True)
        assert aligned.stride(0) * aligned.itemsize % CACHE_LINE == 0
        torch.testing.assert_close(aligned, multiply(left, right, added))


@needs_onednn
@pytest.mark.parametrize("form", FORMS)
def test_no_layout_of_a_factor_is_slow(form, onednn):
    """OneDNN needs a thousand times as long for a matrix with gaps."""

    def seconds(left, right):
        started = time.perf_counter()
        for _ in range(3):
            multiply(left, right)
        return time.perf_counter() - started

    sizes = (200, 96), (96, 160)
    plain = min(seconds(*(numbers(*size) for size in sizes)) for _ in range(3))
    other = min(seconds(*(strided(form, *size) for size in sizes)) for _ in range(3))
    assert other < 30 * plain


def test_layers_change_nothing_in_place_operators_may_follow(onednn):
    layer = LinearLayer(5, 4)
    inputs = numbers(2, 3, 5).requires_grad_()
    layer(inputs).relu_().sum().backward()
    ours = inputs.grad
    inputs.grad = None
    functional.linear(inputs, layer.weight, layer.bias).relu().sum().backward()
    torch.testing.assert_close(ours, inputs.grad)


@pytest.mark.parametrize("name", ALL)
def test_every_parameter_has_its_gradient(name, onednn):
    """Without gradients of an operator, torch only warns, and parameters stay as they are."""
    losses, gradients = [], []
    for smallest in (1, None):
        precision.use_products(smallest)
        model = small_model(name).train()
        src, mask = sentences([5, 3, 7])
        tgt = targets(3, 6)
        features = model.decode(model.encode(src, mask), tgt).features.flatten(0, 1)
        loss = model.loss(features, tgt.flatten(), 0.1)
        loss.backward()
        losses.append(loss.detach())
        gradients.append({key: value.grad for key, value in model.named_parameters()})
    torch.testing.assert_close(*losses)
    ours, theirs = gradients
    for key, gradient in theirs.items():
        assert (ours[key] is None) == (gradient is None), key
        torch.testing.assert_close(ours[key], gradient, rtol=1e-4, atol=1e-6, msg=key)


@needs_onednn
def test_rows_that_pad_a_product_are_not_counted(onednn):
    config = configuration("model=transformer", "scale=0.2")
    model = build_to_count(config, (50, 5000))
    counts = []
    for smallest in (1, None):
        precision.use_products(smallest)
        counts.append(_count_pair(model, 40, 40, rolled_out=False))
    assert counts[0] == counts[1]


def test_other_types_autocast_and_small_products_stay_with_torch(monkeypatch):
    monkeypatch.setattr(products, "onednn", pytest.fail)
    layer, inputs = LinearLayer(8, 4), numbers(2, 8)
    precision.use_products(1)
    try:
        layer.double()(inputs.double())
        with torch.autocast("cpu", torch.bfloat16):
            assert layer.float()(inputs).dtype == torch.bfloat16
        precision.use_products(8 * 4 * 2 + 1)
        layer(inputs)
    finally:
        precision.use_products(None)


@needs_onednn
@pytest.mark.parametrize(("columns", "rows"), [(24, 300), (300, 24)])
def test_large_products_come_in_few_sizes(onednn, monkeypatch, columns, rows):
    """OneDNN keeps memory for every size; only the number of rows differs between batches."""
    sizes = set()
    multiply = products.onednn_linear

    def noted(inputs, *others):
        sizes.add(len(inputs))
        return multiply(inputs, *others)

    monkeypatch.setattr(products, "onednn_linear", noted)
    weight = numbers(rows, columns)
    for count in range(products.MANY, products.MANY + 2 * products.STEP, 5):
        inputs, left = numbers(count, columns, seed=1), numbers(count, rows, seed=2)
        assert_near(products.onednn(inputs, weight, None), inputs, weight.T)
        assert_near(multiply_transposed(left, inputs), left.T, inputs)
    assert len(sizes) <= 4


INT8_ERROR = 0.02
"""Largest error of a product, as a share of the root of the sum of squares of its factors."""


@pytest.mark.parametrize("inputs", [(7, 5), (1, 5), (0, 5), (2, 3, 5), (2, 0, 5)], ids=str)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("form", [OnednnProduct, Int8Product])
def test_packed_products_equal_plain_ones(form, bias, inputs, onednn):
    weight = numbers(9, 5)
    weight[3] = 0.0
    added = numbers(9, seed=1) if bias else None
    given = numbers(*inputs, seed=2)
    result = form(weight, added)(given)
    expected = functional.linear(given, weight, added)
    assert result.shape == expected.shape
    sizes = given.norm(dim=-1, keepdim=True) * weight.norm(dim=1)
    error = 1e-6 if form is OnednnProduct else INT8_ERROR
    assert ((result - expected).abs() <= error * sizes + 1e-6).all()


def test_a_row_in_integers_does_not_depend_on_the_other_rows():
    product = Int8Product(numbers(9, 5), numbers(9))
    rows = numbers(6, 5) * torch.tensor([1e-6, 1.0, 50.0, 1.0, 1e4, 0.0]).unsqueeze(1)
    alone = torch.cat([product(row.unsqueeze(0)) for row in rows])
    assert torch.equal(product(rows), alone)


@pytest.mark.parametrize("name", ALL)
def test_a_search_with_packed_weights_finds_the_same(name, onednn):
    """Also with integers, hypotheses stay near: random weights make close decisions."""
    model, source = small_model(name).eval(), sentences([4, 7, 2])
    search = beam_search(3, n_best=2)
    ours = search(model, *source)
    precision.use_products(None)
    theirs = search(model, *source)
    for one, other in zip(ours, theirs, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        for left, right in zip(one, other, strict=True):
            assert left.score == pytest.approx(right.score, rel=1e-4)
    for ranked in beam_search(3, int8=True)(model, *source):
        assert ranked[0].score < 0


@pytest.mark.parametrize("name", ["bahdanau", "transformer"])
def test_a_model_in_float64_keeps_its_precision(name, onednn):
    model, source = small_model(name).double().eval(), sentences([4, 7, 2])
    ours = greedy_search()(model, *source)
    precision.use_products(None)
    assert [one.score for [one] in ours] == [one.score for [one] in greedy_search()(model, *source)]
    assert all(hypotheses for hypotheses in greedy_search(int8=True)(model, *source))


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
        greedy_search(int8=True)(model, *sentences([4, 2]))
    monkeypatch.undo()
    assert all(layer._packed is None for layer in layers)
    with packed_weights(model, int8=False):  # torch multiplies
        assert all(layer._packed is None for layer in layers)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    greedy_search(int8=True)(model, *sentences([4, 2]))
    assert model.state_dict().keys() == before.keys()
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())


def test_weights_on_another_device_stay_as_they_are(onednn):
    """A machine whose processor multiplies by oneDNN may have a GPU."""
    with packed_weights(small_model("seq2seq").to("meta"), int8=False):
        pass


def test_integers_need_a_cpu_with_onednn_and_no_other_type(monkeypatch):
    with pytest.raises(
        ValueError, match=r"decoding\.int8=true: cannot be used with decoding\.bf16"
    ):
        beam_search(int8=True, bf16=True)
    with pytest.raises(UserError, match=r"decoding\.int8=true: needs a CPU"):
        greedy_search(int8=True)(small_model("seq2seq").to("meta"), *sentences([3]))
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    with pytest.raises(UserError, match=r"decoding\.int8=true: needs a CPU"):
        greedy_search(int8=True)(small_model("seq2seq"), *sentences([3]))
