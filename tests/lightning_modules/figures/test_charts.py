"""Figures of lines: what is drawn, what is said, and files for papers."""

import re
from itertools import combinations, pairwise
from pathlib import Path

import altair as alt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datamodules.corpus_statistics import CorpusStatistics
from lightning_modules.figures.charts import GREY, as_spec
from lightning_modules.figures.histograms import bin_labels, length_histogram
from lightning_modules.figures.lines import Lines, draw_lines, figures_of, point, rounded_out
from lightning_modules.figures.palette import COLOURS, LETTERS, LOOKS, looks_of
from lightning_modules.figures.picture_files import draw
from lightning_modules.figures.system_looks import legend_of, spread
from lightning_modules.metrics.bootstrap import Estimate
from tests.helpers.made_text import statistics
from tests.helpers.run_folders import COLUMN, TEXT_WIDTH

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
    return {width: picture(lines(), width) for width in (TEXT_WIDTH, COLUMN)}


def picture(of, width):
    return draw(as_spec(draw_lines(of, width)), "bleu")


def marks(svg, role):
    """Return the paths of each mark with this role."""
    groups = re.findall(rf'<g class="{role} role-mark[^"]*"[^>]*>(.*?)</g>', svg, re.DOTALL)
    return [path for group in groups for path in re.findall(r"<path [^>]*>", group)]


def _shape(path):
    [found] = re.findall(r' d="([^"]*)"', path)
    return found


def test_no_line_reaches_a_thin_group_whose_mark_is_hollow(drawn):
    svg = drawn[TEXT_WIDTH]["svg"].decode()
    for path in marks(svg, "mark-line"):
        assert _shape(path).count("L") == 2  # three of four groups
    filled = [re.search(r'fill="([^"]*)"', path) for path in marks(svg, "mark-symbol")]
    fills = [found[1] for found in filled if found]
    assert fills.count("white") == len(LABELS)


def test_a_thin_group_in_the_middle_breaks_the_line():
    svg = picture(lines(thin=("11–20",)), COLUMN)["svg"].decode()
    for path in marks(svg, "mark-line"):
        assert _shape(path).count("M") == 2


def test_each_line_has_its_label_at_its_end_and_none_over_another(drawn):
    svg = drawn[TEXT_WIDTH]["svg"].decode()
    [group] = re.findall(r'<g class="mark-text role-mark[^"]*"[^>]*>(.*?)</g>', svg, re.DOTALL)
    texts = re.findall(r'translate\([\d.]+,([\d.-]+)\)"[^>]*>([^<]+)</text>', group)
    assert {text for _, text in texts} == set(LABELS.values())
    heights = sorted(float(y) for y, _ in texts)
    assert all(b - a >= 8 for a, b in pairwise(heights))


@pytest.mark.parametrize("count", [21, 22, 60])
def test_more_lines_than_labels_fit_have_a_legend_that_names_them_all(count):
    labels = {f"s{n}": f"system {n}" for n in range(count)}
    points = [
        {"place": place, **point(label, f"{place}", Estimate(30.0 + number))}
        for number, label in enumerate(labels.values())
        for place in (0, 10)
    ]
    many = Lines(labels, points, alt.X("place:Q", title="length"), "BLEU", from_zero=True)
    svg = picture(many, TEXT_WIDTH)["svg"].decode()
    texts = re.findall(r">(system \d+)</text>", svg)
    assert sorted(texts) == sorted(labels.values())  # each once
    assert ("mark-text role-legend-label" in svg) == (count > 21)


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
    assert figures_of("bleu", lines(), TEXT_WIDTH).keys() == {"bleu", "bleu_magnified"}
    assert lines().crowded == (92, 98)
    few = ("seq2seq", "bahdanau", "transformer")
    assert figures_of("bleu", lines(names=few), TEXT_WIDTH).keys() == {"bleu"}
    assert lines(loss=20.0).crowded is None


def test_a_magnified_figure_names_every_line():
    # Lines that leave the range have no label at an end: the legend names them.
    drawn = figures_of("bleu", lines(), TEXT_WIDTH)["bleu_magnified"]
    svg = draw(as_spec(drawn), "bleu_magnified")["svg"].decode()
    assert all(f">{label}<" in svg for label in LABELS.values())


def test_the_description_has_the_ends_of_each_line(drawn):
    said = as_spec(draw_lines(lines(), "container"))["description"]
    assert "BLEU against source length" in said
    assert "No attention: 72.0 at 1–10, 32.0 at 21–30." in said  # 31+ is thin
    assert said in drawn[TEXT_WIDTH]["svg"].decode()


@pytest.mark.parametrize(("width", "inches"), [(TEXT_WIDTH, 6.3), (COLUMN, 3.03)])
def test_a_file_has_the_width_of_a_paper_and_type_of_8_points(drawn, width, inches):
    svg, pdf = drawn[width]["svg"].decode(), drawn[width]["pdf"]
    [found] = re.findall(r'^<svg [^>]*width="([\d.]+)in"', svg)
    assert float(found) == pytest.approx(inches, abs=0.002)
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
        said = files["txt"].decode()
        assert said.startswith("BLEU against source length. Lines: means over seeds; bands: 95% ")
        assert "test sentences 812; signature nrefs:1" in said


def test_a_legend_has_one_row_or_none_beside_labelled_lines():
    row = legend_of(["a", "b"], TEXT_WIDTH, beside=True)
    assert row is not None
    assert row["columns"] == 2
    assert legend_of(["a long label of a system"] * 14, TEXT_WIDTH, beside=True) is None
    column = legend_of(["a very long label of a system"] * 14, COLUMN)
    assert column is not None
    assert column["columns"] == 1


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [(0, 97.6, (0, 100)), (92, 97.6, (92, 98)), (0, 4.2, (0, 4.5)), (3, 3, (3, 3.2))],
)
def test_axes_have_round_ends(low, high, ends):
    assert rounded_out(low, high) == pytest.approx(ends)


ROOT = Path(__file__).parents[3]
HEADLINE = ("seq2seq", "bahdanau", "luong_global", "luong_local", "transformer")
VISIONS = {
    "of three cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}  # fmt: skip
"""What other eyes see of linear RGB: Machado, Oliveira and Fernandes 2009, severity 1."""
XYZ = np.array([
    [0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175],
    [0.0193339, 0.119192, 0.9503041],
])  # fmt: skip
WHITE = np.ones(3)


def rgb(colour):
    return np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255


def linear(colour):
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """The contrast of WCAG 2.2."""
    low, high = sorted(float(XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour):
    """CIELAB of linear RGB."""
    relative = XYZ @ np.clip(colour, 0, 1) / (XYZ @ WHITE)
    x, y, z = np.where(
        relative > 216 / 24389, np.cbrt(relative), (24389 / 27 * relative + 16) / 116
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def at_night(colour):
    """The colour under the filter of dark pages: the matrices are those of CSS Filter Effects."""
    css = (ROOT / "sweeps/report/templates/report.css").read_text(encoding="utf-8")
    [share] = re.findall(r"filter: invert\((\S+)\) hue-rotate\(180deg\)", css)
    inverted = colour * (1 - 2 * float(share)) + float(share)
    luma = np.array([0.213, 0.715, 0.072])
    return np.clip(2 * np.full((3, 3), luma) @ inverted - inverted, 0, 1)


@pytest.mark.parametrize("colour", [*COLOURS, GREY])
def test_every_colour_stands_out_from_paper_by_day_and_by_night(colour):
    assert contrast(rgb(colour), WHITE) >= 3
    assert contrast(at_night(rgb(colour)), at_night(WHITE)) >= 3
    letters = rgb(LETTERS.get(colour, colour))
    assert contrast(letters, WHITE) >= 4.5
    assert contrast(at_night(letters), at_night(WHITE)) >= 4.5


@pytest.mark.parametrize("vision", VISIONS)
def test_colour_blind_readers_tell_the_systems_of_the_quickstart_apart(vision):
    seen = [lab(VISIONS[vision] @ linear(rgb(LOOKS[name].colour))) for name in HEADLINE]
    for one, other in combinations(seen, 2):
        assert np.linalg.norm(one - other) > 25  # a difference of 2.3 is just noticeable
    assert len({LOOKS[name].shape for name in HEADLINE}) == len(HEADLINE)  # without any colours


def test_every_variant_has_a_look_of_its_own():
    assert LOOKS.keys() == {file.stem for file in (ROOT / "conf" / "model").glob("*.yaml")}
    assert len(set(LOOKS.values())) == len(LOOKS)


def test_unknown_names_have_looks_that_neither_order_nor_process_changes():
    names = ["google", "ours", "theirs", "bahdanau, data=text"]
    assert looks_of(names) == looks_of(reversed(names))
    assert list(looks_of(names)) == names
    assert looks_of(["ours"])["ours"].dash == (1, 0)
    assert not set(LOOKS.values()) & {looks_of([name])[name] for name in map(str, range(300))}
    assert len({look.colour for look in looks_of(names).values()}) == len(names)


def test_no_file_of_a_user_has_the_look_of_a_published_model():
    names = [f"file {number}" for number in range(100)]
    assert not {looks_of([name])[name] for name in names} & {*LOOKS.values()}


def test_a_system_has_the_look_of_its_model_alone_and_the_colour_in_any_company():
    changed = "bahdanau, model.cell=lstm"
    assert looks_of([changed])[changed] == LOOKS["bahdanau"]
    assert looks_of([changed, "transformer"])[changed] == LOOKS["bahdanau"]
    beside = looks_of([changed, "bahdanau", "bahdanau #2"])
    assert beside["bahdanau"] == LOOKS["bahdanau"]
    assert {look.colour for look in beside.values()} == {LOOKS["bahdanau"].colour}
    assert len({look.shape for look in beside.values()}) == 3
    further = looks_of(["transformer", "ours", changed, "bahdanau"])
    assert further[changed] == looks_of([changed, "bahdanau"])[changed]


def test_no_two_of_many_systems_look_alike():
    looks = looks_of([*(f"system {number}" for number in range(100)), *reversed(LOOKS)])
    assert len(set(looks.values())) == len(looks)
    assert looks.items() >= LOOKS.items()  # a variant keeps its look in any company


def test_the_shares_of_each_line_are_those_of_its_sentences():
    found = CorpusStatistics.model_validate(statistics())
    spec = as_spec(length_histogram(found, ("en", "fr"), "Lengths", COLUMN))
    lines: dict[tuple[str, str], list[dict]] = {}
    for each in spec["data"]["values"]:
        lines.setdefault((each["split"], each["side"]), []).append(each)
    assert len(lines) == 6
    for (split, side), points in lines.items():
        counted = found.splits[split][side.partition(" ")[0]].histogram
        assert [point["sentences"] for point in points] == counted
        assert sum(point["share"] for point in points) == pytest.approx(100)


def test_bins_are_named_by_their_lengths():
    assert list(bin_labels([1, 2, 3]).values()) == ["1", "2", "3+"]
    assert list(bin_labels([1, 6, 11]).values()) == ["1–5", "6–10", "11+"]
    assert bin_labels([1]) == {1: "1+"}
