"""The cost and the size of a variant: FLOPs, and variants that are sized to match another one."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import pad
from torch.utils.flop_counter import FlopCounterMode

from datamodules.batching import EncodedPairs, Sequences, collate
from lightning_modules.attention import Score, Window, WindowMask
from lightning_modules.kernels.choice import equations_alone
from lightning_modules.training import flops as flops_module
from lightning_modules.training.factories import build_data
from lightning_modules.training.flops import EXTRA_FORMULAS
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.size_search import (
    build_to_count,
    count_per_token,
    count_trained,
    fit_size,
    search,
)
from tests.helpers.commands import TINY, inside, places
from tests.helpers.variants import ALL, LAPTOP, OPTIONS, configuration, flops_of

SIZES = [(9, 17), (21, 6)]
VOCABULARY = (150, 150)
UNUSED: Any = None


def composed(name, *overrides):
    """Return the configuration of a narrow variant."""
    model, options = OPTIONS.get(name, (name, []))
    widths = configuration(f"model={model}").model
    scale = 24 / widths.get("width", widths.hidden_size)
    given = [f"model={model}", f"scale={scale}", "tokenizer.shared=true", *options, *overrides]
    return configuration(*given)


def pairs_of(*sizes):
    sides = ([[5] * (length - 1) for length in side] for side in zip(*sizes, strict=True))
    return EncodedPairs(np.arange(len(sizes)), *map(Sequences.of, sides))


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_the_count_is_that_of_an_update(name):
    """Compare with a training loss on lengths outside of the fit, with dropout."""
    config = composed(name)
    flops = flops_of(config, *VOCABULARY)
    model = build_to_count(config, VOCABULARY)
    module = TranslationModule(model, UNUSED, UNUSED, UNUSED, UNUSED, 0.1, {})
    before = torch.backends.mkldnn.set_flags(_enabled=False)[0]
    try:
        for size in SIZES:
            pairs = pairs_of(size, size)
            counter = FlopCounterMode(display=False, custom_mapping=EXTRA_FORMULAS)
            with sdpa_kernel(SDPBackend.MATH), equations_alone(), counter:
                module.loss(collate(pairs), 0.1).backward()
            assert of_each(flops, pairs).sum() == pytest.approx(counter.get_total_flops(), rel=1e-9)
    finally:
        torch.backends.mkldnn.set_flags(_enabled=before)


def test_a_transformer_costs_what_its_sizes_say():
    """An update costs three forward passes, since every product has two gradients."""
    widths = ["model.width=24", "model.hidden_size=40", "model.heads=4"]
    config = configuration("model=transformer", *widths)
    flops = flops_of(config, 30, 50)
    src, tgt, width, hidden, layers = 9, 11, 24, 40, 2
    attention = 4 * width**2
    encoder = src * (attention + 2 * width * hidden) + 2 * src**2 * width
    decoder = tgt * (attention + 2 * width**2 + 2 * width * hidden) + 2 * src * width**2
    decoder += 2 * tgt**2 * width + 2 * src * tgt * width
    products = layers * (encoder + decoder) + tgt * width * 50
    assert of_each(flops, pairs_of((src, tgt)))[0] == pytest.approx(6 * products)


@pytest.mark.parametrize("name", ["retnet", "gated_linear", "gated_delta", "mamba2"])
def test_a_linear_recurrence_costs_as_much_at_every_position(name):
    """As its equation does, though chunks of positions are computed at once."""
    *_, src_squared, tgt_squared = flops_of(composed(name), *VOCABULARY).coefficients
    assert (src_squared, tgt_squared) == pytest.approx((0, 0), abs=1)


class Hidden(Window):
    """A window whose centre costs products of matrices."""

    def __init__(self, query_size, half_width):
        super().__init__(query_size, half_width)
        self.hidden = nn.Linear(query_size, 3)

    def forward(self, query, steps, src_lengths, src_size):
        share = self.hidden(query).sum(-1).sigmoid()
        return WindowMask(self.around((src_lengths - 1) * share, src_size)[1], None)


class Beginning(Score):
    """A score that computes energies of the first ten positions only."""

    def forward(self, query, keys):
        energies = query @ keys[..., :10, :].transpose(-1, -2)
        return pad(energies, (0, max(0, keys.shape[-2] - 10)), value=float("-inf"))


@pytest.mark.long
def test_the_count_of_a_users_window_is_that_of_an_update(caplog):
    plain, hidden = (
        flops_of(composed("luong_general", f"model.attention.window={window}"), *VOCABULARY)
        for window in ("global", f"{__name__}.Hidden")
    )
    size = composed("luong_general").model.hidden_size
    # Only the forward product counts, two operations each: no gradient comes through the mask.
    extra = of_each(hidden, pairs_of((30, 20)))[0] - of_each(plain, pairs_of((30, 20)))[0]
    assert extra == pytest.approx(20 * size * 3 * 2)
    assert caplog.text == ""


def test_a_users_score_that_leaves_out_far_positions_is_warned_of(caplog):
    flops_of(composed("luong_global", f"model.attention.score={__name__}.Beginning"), *VOCABULARY)
    assert "FLOPs do not follow sentence lengths" in caplog.text


def test_free_running_costs_its_own_tokens_too():
    forced, free = (
        flops_of(composed("luong_global", f"teacher_forcing={how}"), *VOCABULARY)
        for how in ("always", "never")
    )
    pairs = pairs_of(*SIZES)
    assert free.per_target_token(pairs) > 1.2 * forced.per_target_token(pairs)


def test_counting_draws_no_random_numbers(monkeypatch):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    flops = flops_of(composed("bahdanau"), *VOCABULARY)
    assert torch.equal(before, torch.get_rng_state())
    pairs = pairs_of(*SIZES)
    mean = of_each(flops, pairs).sum() / sum(tgt for _, tgt in SIZES)
    assert flops.per_target_token(pairs) == pytest.approx(mean)
    monkeypatch.setattr(flops_module, "PART", 1)
    assert flops.per_target_token(pairs) == pytest.approx(mean)


@pytest.fixture(scope="module")
def data():
    """Vocabulary sizes and sentence lengths like those of the built-in corpus."""
    lengths = np.random.default_rng(1).integers(2, 26, (2, 50))
    sides = (Sequences.of([[5] * length for length in side]) for side in lengths)
    pairs = EncodedPairs(np.arange(50), *sides)
    return SimpleNamespace(vocabulary_sizes=(479, 821), training_pairs=pairs)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        *((name, "bahdanau") for name in LAPTOP),
        ("bahdanau", "transformer"),
        ("seq2seq", "transformer"),
    ],
)
def test_every_variant_gets_as_many_parameters_as_another(name, other, data):
    config = configuration(f"model={name}", "match=parameters")
    wanted = configuration(f"model={other}")
    counts = fit_size(config, wanted, data)
    assert counts.other == count_trained(wanted, data)
    assert counts.own == count_trained(config, data)
    assert abs(counts.apart) <= 0.02
    assert name != other or (config.scale, config.fine_scale) == (1, 1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "other"), [("transformer", "bahdanau"), ("seq2seq", "transformer")]
)
def test_a_variant_costs_as_much_as_another(name, other, data):
    config = configuration(f"model={name}", "match=flops")
    wanted = configuration(f"model={other}")
    counts = fit_size(config, wanted, data)
    assert counts.own == count_per_token(config, data)
    assert abs(counts.apart) <= 0.02


@pytest.mark.long
def test_widths_on_which_no_other_depends_fill_the_gaps(data):
    """A Transformer's width is a multiple of its heads, so widths grow in steps of 10%."""
    config = configuration("model=transformer", "match=parameters")
    other = configuration("model=transformer", "model.width=132")
    counts = fit_size(config, other, data)
    assert abs(counts.apart) <= 0.02
    assert config.fine_scale != 1
    assert config.model.width in (128, 136)


@pytest.mark.parametrize("wanted", [1e3, 12_345, 9e6])
def test_the_nearest_of_counts_that_jump_is_found(wanted):
    def counted(factor):
        width = max(1, round(100 * factor / 8)) * 8
        return 50 * width + width**2

    _, nearest = search(counted, wanted)
    every = {50 * width + width**2 for width in range(8, 3300, 8)}
    assert nearest == min(every, key=lambda one: abs(one - wanted))


@pytest.mark.long
def test_a_run_that_matches_says_so_and_is_known_again(tmp_path):
    """Overrides of the model change the variant, not the variant to match."""
    folder = tmp_path / "run"
    tiny = [*TINY[:4], *TINY[5:], "scale=1", "budget=updates", "budget.updates=2", "logger=none"]
    command = [*tiny, *places(tmp_path), "model=seq2seq", "model.cell=lstm", "match=parameters"]
    inside(*command, f"hydra.run.dir={folder}")
    result = json.loads((folder / "result.json").read_text())
    config, counts = result["config"], result["config"]["match"]["found"]
    assert config["scale"] < 1
    assert counts["own"] == result["parameters"]
    assert counts["own"] == pytest.approx(counts["other"], rel=0.02)
    data = build_data(configuration(*tiny, *places(tmp_path)))
    assert counts["other"] == count_trained(configuration("model=bahdanau"), data)
    assert result["training"]["updates"] == 2
    assert result["training"]["flops"] > 1e9
    inside(*command, f"hydra.run.dir={folder}")
    assert "finished before" in (folder / "run.log").read_text()


def of_each(flops, pairs):
    return flops.of_lengths(pairs.src.lengths, pairs.tgt.lengths)
