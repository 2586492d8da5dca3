"""Texts and cells of a page: long ids in short, the best of a column."""

import re
from types import SimpleNamespace
from typing import Any

import pytest

from lightning_modules.metrics.bootstrap import Estimate
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.html import SystemMarks, environment, marked_alike, page_cells, short_ids

COMMIT = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"


def test_a_long_id_is_short_and_whole_in_its_title():
    shown = f'commit <abbr title="{COMMIT}">0a1b2c3</abbr> of a &lt;b&gt;'
    assert short_ids(f"commit {COMMIT} of a <b>") == shown


def test_numbers_words_and_names_of_comparisons_stay_whole():
    for text in ("1234567890123", "effacedeffaced", "quickstart-1d2fae6f", "0.123456789012"):
        assert short_ids(text) == text


def test_an_interval_stands_beneath_its_value():
    table = Table("t", "T", [Column("bleu", "BLEU", "estimate")], [[Estimate(10.0, 9.0, 11.0)]], {})
    assert page_cells(table)[0][0].shown == "10.0\n[9.0,\u00a011.0]"


def test_rows_without_a_model_are_marked():
    rows: list[list[Cell]] = [["a", 1.0], ["copy", 2.0]]
    columns = [Column("system", "system"), Column("bleu", "BLEU", "number")]
    macros: Any = environment().get_template("macros.html.j2").module
    drawn = macros.table(Table("t", "T", columns, rows, {}, apart={"copy"}))
    _, body = drawn.split("<tbody>")
    assert re.findall("<tr.*?>", body) == ["<tr>", '<tr class="apart">']


def leading(columns, rows):
    cells = page_cells(Table("t", "T", columns, rows, {}))
    return [[cell.leads for cell in row] for row in cells]


def test_the_best_values_of_a_column_lead_where_it_has_a_direction():
    columns = [
        Column("bleu", "BLEU", "estimate", best=1),
        Column("aer", "AER", "number", best=-1),
        Column("seconds", "seconds", "number"),
    ]
    rows = [
        [Estimate(10.0, None, None), 0.5, 1.0],
        [Estimate(12.0, None, None), 0.2, 9.0],
        [Estimate(12.0, None, None), None, 2.0],
    ]
    assert leading(columns, rows) == [
        [False, False, False],
        [True, True, False],
        [True, False, False],
    ]


def test_equal_values_lead_nowhere():
    assert leading([Column("bleu", "BLEU", "number", best=1)], [[1.0], [1.0]]) == [[False]] * 2


def test_systems_have_the_marks_and_colours_of_their_charts():
    """Instead of quotes, in a sentence; without authors, where the labels differ without them."""
    marks = SystemMarks(
        {"bahdanau": "Bahdanau, additive", "transformer": "Transformer (V. & W. et al.)"}
    )
    bahdanau = '<span class="system" data-mark="■" style="--hue: #1248e0">Bahdanau, additive</span>'
    transformer = '<span class="system" data-mark="✚" style="--hue: #a04eac">Transformer</span>'
    sentence = "“Bahdanau, additive”‡ < “Transformer (V. & W. et al.)”, not “x”"
    assert marks.sentence(sentence) == f"{bahdanau}‡ &lt; {transformer}, not “x”"
    assert marks.label("Transformer (V. & W. et al.)") == transformer
    assert marks.label("a=<b>") == "a=&lt;b&gt;"
    weak = SystemMarks({"a": "A", "b": "B"}, ["A"])
    assert weak.label("A").endswith(">A</span>‡")
    assert weak.label("B").endswith(">B</span>")
    assert "‡" not in weak.sentence("“A” < “B”")  # sentences have their own
    same = SystemMarks({"a": "T (x)", "b": "T (y)"})
    assert ">T (x)</span>" in same.label("T (x)")


def test_hostile_labels_are_escaped():
    hostile = "<script>“&”</script>"
    marked = SystemMarks({"a": hostile}).sentence(f"“{hostile}” wins")
    assert "<script>" not in marked
    assert marked.endswith(">&lt;script&gt;“&amp;”&lt;/<wbr>script&gt;</span> wins")


@pytest.mark.parametrize(
    ("tests", "marked"),
    [
        ([["bahdanau", "transformer"]], True),
        ([["bahdanau"], ["transformer"]], True),
        ([["bahdanau, data=a"], ["bahdanau, data=b"]], False),  # each has the look of its model
    ],
)
def test_text_has_marks_only_if_the_charts_of_all_test_sets_have_the_same(tests, marked):
    parts = [
        SimpleNamespace(systems=[SimpleNamespace(name=each, label=each.title()) for each in names])
        for names in tests
    ]
    systems = [system for part in parts for system in part.systems]
    evaluation: Any = SimpleNamespace(systems=systems, parts=parts)
    labels = {system.name: system.label for system in systems}
    assert marked_alike(evaluation) == (labels if marked else {})
