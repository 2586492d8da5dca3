"""Heat maps as plain values for the script of a page."""

import numpy as np
import pytest

from lightning_modules.figures.heat_map import Panel
from lightning_modules.runs.schema import SentenceAttention
from sweeps.report.page_maps import HeatMap, heat_map, limit_heads, thousandths


def panel():
    attention = SentenceAttention(
        id=3,
        source_words=["the", "sea", "the"],
        target_words=["la", "mer"],
        weights=[[0.1, 0.2, 0.7], [0.0004, 0.9996, 0]],
        gold=[(1, 1)],
    )
    return Panel(attention, "a system", "sentence 3")


def test_a_map_has_its_words_numbered_and_its_weights_apart():
    made = heat_map(panel())
    assert made["source"] == ["0 the", "1 sea", "2 the"]
    assert made["target"] == ["0 la", "1 mer"]
    assert made["weights"] == [[100, 200, 700], [0, 1000, 0]]
    assert made["gold"] == [(1, 1)]
    cells, outlines = made["spec"]["layer"]
    assert cells["data"] == {"values": []}
    assert outlines["data"] == {
        "values": [{"source": "1 sea", "target": "1 mer", "link": "gold link"}]
    }
    assert "description" not in made["spec"]


def test_the_mean_of_the_heads_is_the_last_head():
    heads = np.random.default_rng(0).dirichlet(np.ones(3), (2, 4, 2))
    drawn = np.array(heat_map(panel(), heads)["heads"]) / 1000
    assert drawn.shape == (2, 5, 2, 3)
    assert drawn[:, :4] == pytest.approx(heads, abs=1e-3)
    assert drawn[:, 4] == pytest.approx(heads.mean(1), abs=1e-3)


def test_weights_of_sixteen_bits_are_rounded_like_others():
    assert thousandths(np.array([[0.5, 0.0625]], np.float16)) == [[500, 62]]


def test_a_page_keeps_as_many_heads_as_can_be_mailed():
    shapes = ((2, 2, 2), None, (3,), (2,))
    maps: list[HeatMap] = [{} if shape is None else {"heads": np.ones(shape)} for shape in shapes]
    assert limit_heads(maps, 10) == 1
    assert ["heads" in drawn for drawn in maps] == [True, False, False, True]
