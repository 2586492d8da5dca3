"""Charts of a search, filled as the page fills them and drawn."""

import re
from html import unescape

import vl_convert

from lightning_modules.figures.charts import as_spec
from lightning_modules.figures.search_charts import BEAM, ENDS, search_charts

TEXTS = r"<text[^>]*>([^<]*)</text>"
LABELS = {"bahdanau": "Bahdanau", "other": "</script><b>"}


def node(step, place, piece, best):
    numbers = {"probability": 0.5, "total": -1.0}
    return {"step": step, "place": place, "piece": piece, "label": piece, "best": best, **numbers}


NODES = [node(0, 1, "<s>", True), node(1, 1, "le", True), node(1, 2, "\"'`", False)]
LINKS = [
    {"step": 1, "place": 1, "before": 0, "from": 1, "best": True},
    {"step": 1, "place": 2, "before": 0, "from": 1, "best": False},
]
SYSTEMS = [
    {"system": label, "step": step, "eos": 0.4 * step, "wins": step == 2}
    for label in LABELS.values()
    for step in (1, 2)
]


def drawn(name, **datasets):
    spec = as_spec(search_charts(LABELS)[name])
    return vl_convert.vegalite_to_svg(spec | {"width": 600, "datasets": datasets})


def test_every_prefix_of_the_tree_is_named_and_hangs_on_its_line():
    svg = drawn(BEAM, nodes=NODES, links=LINKS)
    texts = [unescape(text) for text in re.findall(TEXTS, svg)]
    for each in NODES:
        assert texts.count(each["label"]) == 2  # white paper behind the letters
    assert "place in the beam" in texts
    assert "token of the translation" in texts
    assert re.findall(r'stroke-width="([0-9])" opacity="0.6"', svg) == ["3", "1"]


def test_every_step_of_every_system_is_a_mark_filled_where_the_end_wins():
    svg = drawn(ENDS, ends=SYSTEMS)
    texts = [unescape(text) for text in re.findall(TEXTS, svg)]
    assert set(LABELS.values()) < set(texts)
    white = re.findall(r'aria-roledescription="point"[^>]*fill="white"', svg)
    assert len(white) == len(SYSTEMS) - len(LABELS)
