"""Variants that are sized to match another one."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from datamodules.batching import EncodedPairs, Sequences
from lightning_modules.building import build_data, build_settings
from lightning_modules.matching import count_operations, count_trained, fit_size, search
from tests.commands import TINY, inside, places
from tests.variants import LAPTOP, configuration


@pytest.fixture(scope="module")
def data():
    """Vocabularies as large as the built-in corpus has them, and sentences as long."""
    lengths = np.random.default_rng(1).integers(2, 26, (2, 50))
    sides = (Sequences.of([[5] * length for length in side]) for side in lengths)
    pairs = EncodedPairs(np.arange(50), *sides)
    return SimpleNamespace(
        vocabulary_sizes=(479, 821), prepared=SimpleNamespace(encoded={"train": pairs})
    )


@pytest.mark.parametrize("other", ["bahdanau", "transformer"])
@pytest.mark.parametrize("name", LAPTOP)
def test_every_variant_gets_as_many_parameters_as_another(name, other, data):
    config = configuration(f"model={name}", "match=parameters")
    wanted = configuration(f"model={other}")
    found = fit_size(config, wanted, build_settings(config).match, data)
    assert found.other == count_trained(wanted, data)
    assert found.own == count_trained(config, data)
    assert abs(found.apart) <= 0.02
    assert name != other or (config.scale, config.fine_scale) == (1, 1)


@pytest.mark.parametrize(
    ("name", "other"), [("transformer", "bahdanau"), ("seq2seq", "transformer")]
)
def test_a_variant_costs_as_much_as_another(name, other, data):
    config = configuration(f"model={name}", "match=flops")
    found = fit_size(config, configuration(f"model={other}"), build_settings(config).match, data)
    assert found.own == count_operations(config, data)
    assert abs(found.apart) <= 0.02


def test_widths_on_which_no_other_depends_fill_the_gaps(data):
    """A Transformer's width is a multiple of its heads: from one to the next it grows by 10%."""
    config = configuration("model=transformer", "match=parameters")
    other = configuration("model=transformer", "model.width=132")
    found = fit_size(config, other, build_settings(config).match, data)
    assert abs(found.apart) <= 0.02
    assert config.fine_scale != 1
    assert config.model.width in (128, 136)


@pytest.mark.parametrize("wanted", [1e3, 12_345, 9e6])
def test_the_nearest_of_counts_that_jump_is_found(wanted):
    def counted(factor):
        width = max(1, round(100 * factor / 8)) * 8
        return 50 * width + width**2

    _, found = search(counted, wanted)
    every = {50 * width + width**2 for width in range(8, 3300, 8)}
    assert found == min(every, key=lambda one: abs(one - wanted))


def test_a_run_that_matches_says_so_and_is_known_again(tmp_path):
    """What the command line says of the model is said of the variant alone."""
    folder = tmp_path / "run"
    tiny = [*TINY[:4], *TINY[5:], "budget=updates", "budget.updates=2", "logger=none"]
    command = [*tiny, *places(tmp_path), "model=seq2seq", "model.cell=lstm", "match=parameters"]
    inside(*command, f"hydra.run.dir={folder}")
    result = json.loads((folder / "result.json").read_text())
    config, found = result["config"], result["config"]["match"]["found"]
    assert config["scale"] < 1
    assert found["own"] == result["parameters"]
    assert found["own"] == pytest.approx(found["other"], rel=0.02)
    data = build_data(configuration(*tiny, *places(tmp_path)))
    assert found["other"] == count_trained(configuration("model=bahdanau"), data)
    assert result["training"]["updates"] == 2
    assert result["training"]["flops"] > 1e9
    inside(*command, f"hydra.run.dir={folder}")
    assert "finished before" in (folder / "run.log").read_text()
