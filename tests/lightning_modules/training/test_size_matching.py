"""Variants that are sized to match another one."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from datamodules.batching import EncodedPairs, Sequences
from lightning_modules.training.factories import build_data
from lightning_modules.training.settings import training_settings
from lightning_modules.training.size_search import count_per_token, count_trained, fit_size, search
from lightning_modules.training.word_vectors import VectorFiles
from tests.helpers.commands import TINY, inside, places
from tests.helpers.variants import LAPTOP, configuration

NO_VECTORS = VectorFiles()


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
    counts = fit_size(config, wanted, training_settings(config).match, NO_VECTORS, data)
    assert counts.other == count_trained(wanted, NO_VECTORS, data)
    assert counts.own == count_trained(config, NO_VECTORS, data)
    assert abs(counts.apart) <= 0.02
    assert name != other or (config.scale, config.fine_scale) == (1, 1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "other"), [("transformer", "bahdanau"), ("seq2seq", "transformer")]
)
def test_a_variant_costs_as_much_as_another(name, other, data):
    config = configuration(f"model={name}", "match=flops")
    wanted, match = configuration(f"model={other}"), training_settings(config).match
    counts = fit_size(config, wanted, match, NO_VECTORS, data)
    assert counts.own == count_per_token(config, NO_VECTORS, data)
    assert abs(counts.apart) <= 0.02


@pytest.mark.long
def test_widths_on_which_no_other_depends_fill_the_gaps(data):
    """A Transformer's width is a multiple of its heads, so widths grow in steps of 10%."""
    config = configuration("model=transformer", "match=parameters")
    other = configuration("model=transformer", "model.width=132")
    counts = fit_size(config, other, training_settings(config).match, NO_VECTORS, data)
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
    assert counts["other"] == count_trained(configuration("model=bahdanau"), NO_VECTORS, data)
    assert result["training"]["updates"] == 2
    assert result["training"]["flops"] > 1e9
    inside(*command, f"hydra.run.dir={folder}")
    assert "finished before" in (folder / "run.log").read_text()
