"""Products by oneDNN against float64, and models that use these products."""

import time

import pytest
import torch
from torch.nn import functional

from datamodules.errors import UserError
from lightning_modules.kernels import LinearLayer, products
from lightning_modules.kernels.device import Processor, this_processor
from lightning_modules.kernels.products import NARROW, WIDE, multiply, multiply_transposed
from lightning_modules.runs.environment import environment
from lightning_modules.training.flops import _count_pair, build_to_count, count_flops
from lightning_modules.training.word_vectors import VectorFiles
from tests.helpers.variants import ALL, configuration, numbers, sentences, small_model, targets

ERROR = 1e-6
"""Largest error, as a share of |x| · |w|."""
ZEN5, ZEN4 = (
    frozenset({"avx2", "avx512f", "avx512_bf16", "avx_vnni"}),
    frozenset({"avx2", "avx512f", "avx512_bf16"}),
)
needs_onednn = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN"
)


def assert_near(actual, left, right, onto=0.0):
    """Compare with ``onto + left @ right`` in float64."""
    left, right = left.double(), right.double()
    sizes = left.abs() @ right.abs() + abs(onto)
    assert actual.shape == sizes.shape
    assert ((actual - (left @ right + onto)).abs() <= ERROR * sizes + 1e-30).all()


def strided(form, *shape):
    """Return numbers of a shape in another place in memory."""
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
        products.use(smallest)
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


@pytest.mark.long
@needs_onednn
@pytest.mark.parametrize("name", ["bahdanau", "luong_global", "transformer", "seq2seq"])
def test_the_operations_of_an_update_stay_the_same(name):
    counts = []
    for smallest in (1, None):
        products.use(smallest)
        config = configuration(f"model={name}", "scale=0.2", f"variant=counted_{smallest}")
        counts.append(count_flops(config, VectorFiles(), (50, 50)).coefficients)
    products.use(None)
    assert counts[0] == pytest.approx(counts[1], rel=1e-9)


@needs_onednn
def test_rows_that_pad_a_product_are_not_counted(onednn):
    config = configuration("model=transformer", "scale=0.2")
    model = build_to_count(config, VectorFiles(), (50, 5000))
    counts = []
    for smallest in (1, None):
        products.use(smallest)
        counts.append(_count_pair(model, 40, 40, rolled_out=False))
    assert counts[0] == counts[1]


def test_several_threads_compute_the_same(onednn):
    threads = torch.get_num_threads()
    left, right = numbers(40, 64), numbers(64, 48)
    alone = multiply(left, right)
    torch.set_num_threads(2)
    together = multiply(left, right)
    torch.set_num_threads(threads)
    torch.testing.assert_close(alone, together)


def test_other_types_autocast_and_small_products_stay_with_torch(monkeypatch):
    monkeypatch.setattr(products, "onednn", pytest.fail)
    layer, inputs = LinearLayer(8, 4), numbers(2, 8)
    products.use(1)
    try:
        layer.double()(inputs.double())
        with torch.autocast("cpu", torch.bfloat16):
            assert layer.float()(inputs).dtype == torch.bfloat16
        products.use(8 * 4 * 2 + 1)
        layer(inputs)
    finally:
        products.use(None)


@pytest.mark.parametrize(
    ("setting", "vendor", "instructions", "expected"),
    [
        ("auto", "AuthenticAMD", ZEN5, WIDE),
        ("auto", "AuthenticAMD", ZEN4, NARROW),
        ("auto", "AuthenticAMD", {"avx2"}, None),
        ("auto", "GenuineIntel", ZEN5, None),
        ("auto", "", {}, None),
        ("onednn", "GenuineIntel", ZEN5, NARROW),
        ("onednn", "AuthenticAMD", {"avx2"}, NARROW),
        ("torch", "AuthenticAMD", ZEN5, None),
    ],
)
def test_the_processor_alone_decides(setting, vendor, instructions, expected, monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    processor = Processor("a processor", vendor, frozenset(instructions))
    assert products.choose(setting, processor) == expected


def test_a_torch_without_onednn(monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    processor = Processor("a processor", "AuthenticAMD", ZEN5)
    assert products.choose("auto", processor) is None
    with pytest.raises(UserError, match="products=onednn: this torch has no oneDNN"):
        products.use(products.choose("onednn", processor))


def test_this_processor_is_that_of_the_system(tmp_path, monkeypatch):
    file = tmp_path / "cpuinfo"
    monkeypatch.setattr("lightning_modules.kernels.device.CPUINFO", file)
    this_processor.cache_clear()
    assert this_processor() == ("", "", frozenset())
    file.write_text(
        "vendor_id\t: AuthenticAMD\nmodel name : AMD X\nflags\t\t: fpu avx512f\n\nflags: y\n"
    )
    this_processor.cache_clear()
    assert this_processor() == ("AMD X", "AuthenticAMD", {"fpu", "avx512f"})
    this_processor.cache_clear()


@needs_onednn
def test_the_environment_says_what_multiplies(onednn):
    assert environment()["products"] == "oneDNN from 1 multiplications"
    products.use(None)
    assert environment()["products"] == "torch"


@needs_onednn
@pytest.mark.parametrize(("columns", "rows"), [(24, 300), (300, 24)])
def test_large_products_come_in_few_sizes(onednn, monkeypatch, columns, rows):
    """OneDNN keeps memory for every size; only the number of rows differs between batches."""
    sizes = set()
    multiply = products._pointwise

    def noted(inputs, weight, bias):
        sizes.add(len(inputs))
        return multiply(inputs, weight, bias)

    monkeypatch.setattr(products, "_pointwise", noted)
    weight = numbers(rows, columns)
    for count in range(products.MANY, products.MANY + 2 * products.STEP, 5):
        inputs, left = numbers(count, columns, seed=1), numbers(count, rows, seed=2)
        assert_near(products.onednn(inputs, weight, None), inputs, weight.T)
        assert_near(multiply_transposed(left, inputs), left.T, inputs)
    assert len(sizes) <= 4
