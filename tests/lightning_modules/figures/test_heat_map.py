"""Drawn heat maps: every word is in its place, whatever characters it has."""

import io
import re
from html import unescape

import numpy as np
import pytest
from PIL import Image

from lightning_modules.figures.charts import save_chart
from lightning_modules.figures.heat_map import FAR, attention_map
from lightning_modules.runs.schema import SentenceAttention

ENGLISH = ["the", "old", "the", '"', "house", "'s", "<b>", "a&b"]
FRENCH = ["la", "«", "vieille", "»", "la", "l'eau", "\\", "datum.label"]
ARABIC = ["رأى", "البحار", "العجوز", "البيت"]
LEGEND = ["weight", "0.0", "0.5", "1.0"]
CHINESE = ["那", "位", "老", "水手"]


def sentence(source, target):
    weights = np.random.default_rng(0).dirichlet(np.ones(len(source)), size=len(target))
    return SentenceAttention(
        id=0, source_words=source, target_words=target, weights=weights.tolist()
    )


def words(drawn):
    """Return the texts of the picture in the order of the file."""
    svg = io.StringIO()
    drawn.save(svg, format="svg")
    return [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg.getvalue())]


@pytest.mark.parametrize(
    ("source", "target"),
    [(ENGLISH, FRENCH), (FRENCH, ENGLISH), (ARABIC, ENGLISH), (CHINESE, ARABIC), (["a"], ["b"])],
)
def test_every_word_stands_once_in_its_order(source, target):
    written = words(attention_map(sentence(source, target)))
    assert [word for word in written if word not in LEGEND] == source + target


def test_a_title_stands_above():
    written = words(attention_map(sentence(ENGLISH, FRENCH), 'layer 1, "mean"'))
    assert 'layer 1, "mean"' in written


@pytest.mark.parametrize(("source", "target", "times"), [(19, 19, 1), (FAR, 3, 2), (5, 40, 2)])
def test_words_far_from_the_axes_are_repeated(source, target, times):
    sides = [f"s{i}" for i in range(source)], [f"t{j}" for j in range(target)]
    written = words(attention_map(sentence(*sides)))
    for side in sides:
        assert [word for word in written if word in side] == side * times


def test_darker_cells_are_larger_weights(tmp_path):
    """The diagonal of a picture of the identity is dark, the rest white."""
    kept = SentenceAttention(
        id=0, source_words=["a", "b"], target_words=["c", "d"], weights=[[1, 0], [0, 1]]
    )
    save_chart(attention_map(kept), tmp_path / "map")
    assert {path.suffix for path in tmp_path.iterdir()} == {".svg", ".png", ".pdf"}
    svg = (tmp_path / "map.svg").read_text()
    fills = re.findall(r'aria-label="[^"]*weight: ([01.]+)"[^>]*fill="([^"]+)"', svg)
    assert [colour for _, colour in fills] == [
        "rgb(8, 48, 107)" if float(weight) else "rgb(255, 255, 255)" for weight, _ in fills
    ]
    assert len(fills) == 4
    with Image.open(tmp_path / "map.png") as picture:
        assert picture.width > 100
    assert (tmp_path / "map.pdf").read_bytes().startswith(b"%PDF")
