"""Ladders: a chart is described once, and each card brings its data."""

import re

import pytest
import vl_convert

from lightning_modules.figures.charts import as_spec
from lightning_modules.figures.ladder_chart import (
    CORPORA,
    KEYS,
    LADDER,
    LENGTHS,
    SYSTEMS,
    DataChart,
    Rows,
    shared_charts,
)

RUNGS = (200_000, 400_000, 800_000)
SEEDS = [
    {"rung": rung, "seed": seed, "effect": place + seed / 10}
    for place, rung in enumerate(RUNGS)
    for seed in (1, 2, 3)
]
LOOK = {"system": "one", "colour": "#1248e0"}
DATA: dict[str, dict[str, Rows]] = {
    LADDER: {
        "margin": [{"low": -1, "high": 1}],
        "seeds": SEEDS,
        "rungs": [{"rung": rung, "effect": 1, "low": 0, "high": 2} for rung in RUNGS],
    },
    SYSTEMS: {
        "seeds": [
            {**LOOK, "rung": rung, "seed": 1, "value": 20, "shape": "square", "collapsed": False}
            for rung in RUNGS
        ],
        "means": [{**LOOK, "rung": rung, "value": 20, "dash": [6, 2]} for rung in RUNGS],
        "labels": [
            {"rung": RUNGS[-1], "value": 20, "colour": "#1248e0", "over": "one", "under": ""},
            {"rung": RUNGS[-1], "value": 19, "colour": "#a82508", "over": "", "under": "two"},
        ],
    },
    CORPORA: {
        "margin": [{"low": -0.1, "high": 0.1}],
        "corpora": [{"corpus": "en-fr", "effect": 0.3, "low": 0.2, "high": 0.4}],
        "pooled": [
            {"corpus": "pooled", "effect": 0.3, "low": 0.2, "high": 0.4, "from": 0, "to": 0.6}
        ],
    },
}


DATA[LENGTHS] = {
    "seeds": [{**row, "place": row["rung"] / 20_000} for row in DATA[SYSTEMS]["seeds"]],
    "means": [{**row, "place": row["rung"] / 20_000} for row in DATA[SYSTEMS]["means"]],
    "labels": [{**row, "place": row["rung"] / 20_000} for row in DATA[SYSTEMS]["labels"]],
}


def drawn(like):
    """The chart as the page draws it: what a card brings replaces what is shared."""
    own = DataChart(like, DATA[like], "Effect (BLEU)", "in words").spec
    spec = {**as_spec(shared_charts()[own.pop("like")]), **own, "width": 400}
    return vl_convert.vegalite_to_svg(spec)


def test_a_ladder_has_a_mark_for_each_seed_and_a_tick_for_each_rung():
    svg = drawn(LADDER)
    assert svg.count('aria-roledescription="point"') == len(SEEDS) + len(RUNGS)
    for rung in ("200k", "400k", "800k"):
        assert svg.count(f">{rung}<") == 1
    assert "Effect (BLEU)" in svg


@pytest.mark.parametrize("like", [SYSTEMS, LENGTHS])
def test_a_system_is_drawn_in_its_own_look(like):
    svg = drawn(like)
    assert 'stroke="#1248e0"' in svg
    assert 'stroke-dasharray="6,2"' in svg
    for name, colour in {"one": "#1248e0", "two": "#a82508"}.items():
        [label] = re.findall(rf"<text[^>]*>{name}</text>", svg)
        assert f'fill="{colour}"' in label


def test_a_forest_of_corpora_has_a_row_for_each_and_one_for_all():
    svg = drawn(CORPORA)
    assert ">en-fr<" in svg
    assert ">pooled<" in svg
    for explained in KEYS:
        assert svg.count(f">{explained}<") == 1
