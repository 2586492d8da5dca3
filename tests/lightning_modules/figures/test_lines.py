"""Figures of lines: what is drawn, what is said, and files for papers."""

import re
from itertools import pairwise

import altair as alt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightning_modules.figures.charts import COLUMN, TEXT, as_spec, draw, save_chart
from lightning_modules.figures.lines import Lines, draw_lines, figures_of, point, rounded_out
from lightning_modules.figures.system_looks import legend_of, spread
from lightning_modules.metrics.bootstrap import Estimate

LABELS = {
    "seq2seq": "No attention", "bahdanau": "Bahdanau", "luong_global": "Luong global",
    "luong_local": "Luong local", "transformer": "Transformer",
}  # fmt: skip
GROUPS = ("1–10", "11–20", "21–30", "31+")
FIRST = {"seq2seq": 72, "bahdanau": 97, "luong_global": 96, "luong_local": 95, "transformer": 97.5}
LOSS = {"seq2seq": 20}


def lines(thin=("31+",), names=tuple(LABELS), loss=1.0):
    points = []
    for name in names:
        for place, group in enumerate(GROUPS):
            score = FIRST[name] - place * LOSS.get(name, loss)
            estimate = Estimate(score, score - 1, score + 0.5, 0.1, (score - 0.1, score + 0.1))
            points.append(
                {"place": 10 * place, **point(LABELS[name], group, estimate, group in thin)}
            )
    return Lines(
        {name: LABELS[name] for name in names},
        points,
        alt.X("place:Q", title="Source length"),
        "BLEU",
        from_zero=True,
        note="test sentences 812; signature nrefs:1",
    )


@pytest.fixture(scope="module")
def drawn():
    """Files of both widths by width, made once."""
    return {width: draw(as_spec(draw_lines(lines(), width))) for width in (TEXT, COLUMN)}


def marks(svg, role):
    """Return the paths of each mark with this role."""
    groups = re.findall(rf'<g class="{role} role-mark[^"]*"[^>]*>(.*?)</g>', svg, re.DOTALL)
    return [path for group in groups for path in re.findall(r"<path [^>]*>", group)]


def _shape(path):
    [found] = re.findall(r' d="([^"]*)"', path)
    return found


def test_no_line_reaches_a_thin_group_whose_mark_is_hollow(drawn):
    svg = drawn[TEXT]["svg"].decode()
    for path in marks(svg, "mark-line"):
        assert _shape(path).count("L") == 2  # three of four groups
    filled = [re.search(r'fill="([^"]*)"', path) for path in marks(svg, "mark-symbol")]
    fills = [found[1] for found in filled if found]
    assert fills.count("white") == len(LABELS)


def test_a_thin_group_in_the_middle_breaks_the_line():
    svg = draw(as_spec(draw_lines(lines(thin=("11–20",)), COLUMN)))["svg"].decode()
    for path in marks(svg, "mark-line"):
        assert _shape(path).count("M") == 2


def test_each_line_has_its_label_at_its_end_and_none_over_another(drawn):
    svg = drawn[TEXT]["svg"].decode()
    [group] = re.findall(r'<g class="mark-text role-mark[^"]*"[^>]*>(.*?)</g>', svg, re.DOTALL)
    texts = re.findall(r'translate\([\d.]+,([\d.-]+)\)"[^>]*>([^<]+)</text>', group)
    assert {text for _, text in texts} == set(LABELS.values())
    heights = sorted(float(y) for y, _ in texts)
    assert all(b - a >= 8 for a, b in pairwise(heights))


@given(st.lists(st.floats(-50, 250), min_size=1, max_size=30))
def test_labels_are_spread_inside_the_plot_in_their_order(wanted):
    places = spread(wanted, 9, 190)
    gap = min(9, 190 / max(1, len(wanted) - 1))
    inside = sorted(places)
    assert inside[0] >= -1e-6
    assert inside[-1] <= 190 + 1e-6
    assert all(b - a >= gap - 1e-6 for a, b in pairwise(inside))
    assert sorted(range(len(wanted)), key=places.__getitem__) == sorted(
        range(len(wanted)), key=wanted.__getitem__
    )


def test_a_lone_label_stands_where_its_line_ends():
    assert spread([50.0, 100.0], 9, 190) == [50.0, 100.0]


def test_four_lines_between_80_and_100_are_magnified():
    assert figures_of("bleu", lines(), TEXT).keys() == {"bleu", "bleu_magnified"}
    assert lines().crowded == (92, 98)
    few = ("seq2seq", "bahdanau", "transformer")
    assert figures_of("bleu", lines(names=few), TEXT).keys() == {"bleu"}
    assert lines(loss=20.0).crowded is None


def test_a_magnified_figure_names_every_line(tmp_path):
    """Lines that leave the range have no label at an end: the legend names them."""
    drawn = figures_of("bleu", lines(), TEXT)["bleu_magnified"]
    svg = draw(as_spec(drawn))["svg"].decode()
    assert all(f">{label}<" in svg for label in LABELS.values())


def test_the_description_has_the_ends_of_each_line(drawn):
    said = as_spec(draw_lines(lines(), "container"))["description"]
    assert "BLEU against Source length" in said
    assert "No attention: 72.0 at 1–10, 32.0 at 21–30." in said  # 31+ is thin
    assert said in drawn[TEXT]["svg"].decode()


@pytest.mark.parametrize(("width", "inches"), [(TEXT, 6.9), (COLUMN, 3.3)])
def test_a_file_has_the_width_of_a_paper_and_type_of_8_points(drawn, width, inches):
    svg, pdf = drawn[width]["svg"].decode(), drawn[width]["pdf"]
    [found] = re.findall(r'^<svg [^>]*width="([\d.]+)in"', svg)
    assert float(found) == pytest.approx(inches, abs=0.02)
    assert set(re.findall(r'font-size="([\d.]+)px"', svg)) == {"8"}  # one unit is one point
    [box] = re.findall(rb"/MediaBox ?\[0 0 ([\d.]+) [\d.]+\]", pdf)
    assert float(box) == pytest.approx(inches * 72, abs=1.5)


def test_a_pdf_has_its_fonts_and_no_picture_inside(drawn):
    for files in drawn.values():
        assert b"/FontFile" in files["pdf"]
        assert b"/Subtype /Image" not in files["pdf"]
        assert files["png"].startswith(b"\x89PNG")


def test_the_origin_of_the_numbers_is_beside_the_picture_not_inside(drawn):
    for files in drawn.values():
        assert "nrefs:1" not in files["svg"].decode()
        assert files["txt"].decode().startswith("test sentences 812; signature nrefs:1")


def test_the_files_of_a_chart_lie_side_by_side(tmp_path):
    save_chart(draw_lines(lines(names=("bahdanau",)), COLUMN), tmp_path / "bleu")
    assert {file.suffix for file in tmp_path.iterdir()} == {".svg", ".png", ".pdf", ".txt"}


def test_a_legend_has_one_row_or_none_beside_labelled_lines():
    row = legend_of(["a", "b"], TEXT, beside=True)
    assert row is not None
    assert row["columns"] == 2
    assert legend_of(["a long label of a system"] * 14, TEXT, beside=True) is None
    column = legend_of(["a long label of a system"] * 14, COLUMN)
    assert column is not None
    assert column["columns"] == 1


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [(0, 97.6, (0, 100)), (92, 97.6, (92, 98)), (0, 4.2, (0, 4.5)), (3, 3, (3, 3.2))],
)
def test_axes_have_round_ends(low, high, ends):
    assert rounded_out(low, high) == pytest.approx(ends)
