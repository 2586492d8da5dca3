"""Figures for papers: of their width, without overlaps, told apart in grey, ready for LaTeX."""

import re
from dataclasses import replace
from itertools import combinations

import altair as alt
import numpy as np
import pytest
import vl_convert

from datamodules.corpus_statistics import CorpusStatistics
from lightning_modules.figures.charts import INCH, as_spec
from lightning_modules.figures.cost_chart import cost_chart
from lightning_modules.figures.failure_bands import failure_panels
from lightning_modules.figures.forest_chart import Effect, forest_chart
from lightning_modules.figures.hatches import hatches_of
from lightning_modules.figures.heat_map import Panel, attention_panels
from lightning_modules.figures.histograms import count_histogram, length_histogram
from lightning_modules.figures.lines import Lines, draw_lines, point, with_margins
from lightning_modules.figures.picture_files import draw
from lightning_modules.figures.seed_chart import seed_chart
from lightning_modules.figures.text_sizes import fitted, text_width
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.runs.schema import SentenceAttention
from tests.helpers.made_text import statistics
from tests.helpers.run_folders import COLUMN, TEXT_WIDTH
from tests.helpers.svg_texts import boxes, cut_off, overlaps
from tests.lightning_modules.figures.test_failure_bands import bands
from tests.sweeps.comparison.pdflatex import assert_floats_compile, pdflatex

LABELS = {
    "seq2seq": "No attention (Cho et al.)",
    "bahdanau": "Bahdanau, additive",
    "luong_global": "Luong global, dot",
    "luong_local": "Luong local-m, dot, D = 10",
    "transformer": "Transformer (Vaswani et al.)",
}
BASELINES = ("phrase table", "copy")
WIDTHS = (COLUMN, 3.3 * INCH, TEXT_WIDTH)


def lines(count=5, baselines=BASELINES):
    """Systems that end close together, and baselines as close."""
    labels = (
        LABELS if count == 5 else {f"s{n}": f"system {n} with layers={n}" for n in range(count)}
    )
    points = [
        {"place": place, **point(label, f"{place}", Estimate(70 - n - place / 2, 60 - n, 80 - n))}
        for n, label in enumerate(labels.values())
        for place in (5, 15, 25, 35, 45, 55)
    ]
    dashed = {
        name: [
            {"place": place, **point(name, f"{place}", Estimate(44.0 + n - place / 90))}
            for place in (5, 15, 25, 35, 45, 55)
        ]
        for n, name in enumerate(baselines)
    }
    title = "Right choices between two translations (%)"
    x = alt.X(
        "place:Q",
        title="Source length (words), 500 sentences each",
        scale=alt.Scale(domain=with_margins([5, 55]), nice=False),
    )
    return Lines(labels, points, x, title, from_zero=True, baselines=dashed, note="A_note & more.")


def attention():
    words = ["the", "international", "organisation", "of", "translators"]
    weights = np.random.default_rng(0).dirichlet(np.ones(5), 5).tolist()
    return SentenceAttention(
        id=0, source_words=words, target_words=words, weights=weights, gold=[(0, 0)]
    )


def counts(width):
    groups = [*(f"{low} to < {low + 10}" for low in range(0, 90, 10)), "90 to 100"]
    rows = [
        {"system": label, "group": group, "sentences": 10.0 + n, "bleu": 50.0}
        for label in LABELS.values()
        for n, group in enumerate(groups)
    ]
    return count_histogram(rows, LABELS, groups, "BLEU of the sentence", "Counted.", width)


def costs(width):
    known = {
        label: (1000.0 * n, Estimate(60.0 + n, 55, 70))
        for n, label in enumerate(LABELS.values(), start=1)
    }
    return cost_chart(known, LABELS, "training time (seconds)", "BLEU", "Means.", width)


def seeds(width):
    scores = {
        label: (Estimate(60.0 + n, 55, 70, 1.0, (59.0 + n, 61.0 + n)), [1, 2])
        for n, label in enumerate(LABELS.values())
    }
    return seed_chart(scores, LABELS, "BLEU", "Dots: seeds.", width)


def forest(width):
    names = ["bahdanau2015.figure2_falls", "luong2015.local_attention_is_better_than_global"]
    return forest_chart(
        [Effect(name, "A claim.", "supported", 2.5, 1, 4, 3) for name in names], width
    )


def lengths(width):
    found = CorpusStatistics.model_validate(statistics())
    return length_histogram(found, ("en", "fr"), "grammar", width)


CHARTS = {
    "lines": lambda width: draw_lines(lines(), width),
    "lines of many systems": lambda width: draw_lines(lines(12), width),
    "lines, magnified": lambda width: draw_lines(lines(), width, (40.0, 60.0)),
    "bands": lambda width: failure_panels(
        [bands(label) for label in LABELS.values()], "source words", "Shares.", width
    ),
    "maps": lambda width: attention_panels(
        [Panel(attention(), label, "sentence 1") for label in LABELS.values()], width
    ),
    "counts": counts,
    "costs": costs,
    "seeds": seeds,
    "forest": forest,
    "lengths": lengths,
}


@pytest.mark.parametrize("width", [COLUMN, TEXT_WIDTH])
def test_the_legend_of_a_forest_fits_beside_long_names(width):
    svg = vl_convert.vegalite_to_svg(as_spec(forest(width)))
    assert "too small to count" in svg
    assert cut_off(svg) == []


@pytest.mark.parametrize("width", [COLUMN, TEXT_WIDTH])
@pytest.mark.parametrize("words", [1, 3, 5, 6, 8])
def test_the_legend_of_a_forest_fits_beside_names_of_any_length(words, width):
    outcomes = ["supported", "reversed", "undecided"]
    effects = [
        Effect(f"paper2015.{'_'.join(words * [letter * 4])}", "A claim.", outcome, 2.5, 1, 4, 3)
        for letter, outcome in zip("abc", outcomes, strict=True)
    ]
    svg = vl_convert.vegalite_to_svg(as_spec(forest_chart(effects, width)))
    assert "too small to count" in svg
    assert "against" in svg
    assert cut_off(svg) == overlaps(svg) == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", CHARTS)
def test_a_figure_keeps_to_its_width_and_no_text_stands_on_another(name, width):
    svg = vl_convert.vegalite_to_svg(as_spec(CHARTS[name](width)))
    [drawn] = re.findall(r'^<svg [^>]*?width="([\d.]+)"', svg)
    assert float(drawn) <= width + 0.5
    assert overlaps(svg) == []
    assert cut_off(svg) == []


def test_the_boxes_of_texts_see_an_overlap():
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 50">{}'
        '<g transform="translate(20,20)"><text font-size="8px" text-anchor="end">left</text></g>'
        "</svg>"
    )
    other = '<text font-size="8px" transform="translate({},22) rotate({})">other</text>'
    assert overlaps(svg.format(other.format(10, 0))) == [("other", "left")]
    assert overlaps(svg.format(other.format(24, 0))) == []
    assert overlaps(svg.format(other.format(15, -90))) == [("other", "left")]
    assert cut_off(svg.format(other.format(90, 0))) == ["other"]
    assert [box.what for box in boxes(svg.format(""))] == ["left"]


@pytest.mark.parametrize(
    "text", ["Transformer (Vaswani et al.)", "Luong local-m, dot, D = 10", "51–60*"]
)
def test_the_sizes_of_letters_are_those_of_the_library_that_draws(text):
    """A legend of one entry is as wide as its label, beside what any legend has."""

    def drawn(label):
        chart = draw_lines(
            Lines(
                {"bahdanau": label},
                [{"place": 1, **point(label, "1", Estimate(1.0))}],
                alt.X("place:Q", title=label, axis=alt.Axis(title=label, titleAngle=0)),
                "y",
                from_zero=True,
            ),
            COLUMN,
        )
        titled = {"mark": {"type": "text", "align": "left", "text": label, "fontSize": 8}}
        spec = {**titled, "data": {"values": [{}]}, "config": as_spec(chart)["config"]}
        spec |= {"width": 1, "height": 20, "padding": 0, "encoding": {"x": {"value": 0}}}
        [width] = re.findall(r'^<svg [^>]*?width="([\d.]+)"', vl_convert.vegalite_to_svg(spec))
        return float(width)

    assert text_width(text, 8) == pytest.approx(drawn(text), abs=1.5)


def test_long_titles_have_lines():
    assert fitted("short", 100, 8) == "short"
    title = fitted("Right choices between two translations (%)", 100, 8)
    assert isinstance(title, list)
    assert all(text_width(line, 8) <= 100 for line in title)
    assert " ".join(title) == "Right choices between two translations (%)"


@pytest.mark.parametrize("name", ["lines of BLEU", "costs", "counts"])
def test_a_legend_of_a_column_has_two_columns(name):
    charts = CHARTS | {
        "lines of BLEU": lambda width: draw_lines(replace(lines(), y_title="BLEU"), width)
    }
    svg = vl_convert.vegalite_to_svg(as_spec(charts[name](COLUMN)))
    shown = {"Bahdanau, additive", "Luong global, dot", "Transformer", "No attention"}
    lefts = {round(box.corners[0, 0]) for box in boxes(svg) if box.what in shown}
    assert len(lefts) == 2


def test_baselines_are_named_at_their_ends_or_in_the_legend():
    for width in WIDTHS:
        svg = vl_convert.vegalite_to_svg(as_spec(draw_lines(lines(), width)))
        texts = [box.what for box in boxes(svg)]
        assert all(texts.count(name) == 1 for name in BASELINES), (width, texts)


def test_the_legend_of_a_forest_explains_whiskers_diamonds_and_the_band():
    for width in WIDTHS:
        texts = [box.what for box in boxes(vl_convert.vegalite_to_svg(as_spec(forest(width))))]
        for what in ("supported", "95% interval", "reported in the paper", "too small to count"):
            assert texts.count(what) == 1, (width, what, texts)


def test_bars_of_any_two_systems_differ_in_grey():
    shapes = [fill.rpartition("-")[0] for fill in hatches_of(LABELS).values()]
    assert all(one != other for one, other in combinations(shapes, 2))
    drawn = draw(as_spec(counts(COLUMN)), "counts")
    svg = drawn["svg"].decode()
    defined = set(re.findall(r'<pattern id="([^"]+)"', svg))
    assert set(re.findall(r"url\(#([^)]+)\)", svg)) == defined
    assert len(defined) == len(LABELS)
    assert b"/Subtype /Image" not in drawn["pdf"]


def test_a_float_names_file_caption_and_label():
    wide, narrow = (
        draw(as_spec(draw_lines(lines(), width)), "bleu")["tex"].decode()
        for width in (TEXT_WIDTH, COLUMN)
    )
    for text, kind in ((wide, "figure*"), (narrow, "figure")):
        assert rf"\begin{{{kind}}}" in text
        assert r"\includegraphics[width=\linewidth]{bleu}" in text
        assert r"\label{fig:bleu}" in text
        text = text.replace(r"\allowbreak{}", "")
        assert r"(\%) against source length (words), 500 sentences each. " in text
        assert r" A\_" in text
    assert "tex" not in draw(as_spec(draw_lines(lines(), "container")), "bleu")


@pdflatex
def test_floats_compile_in_the_columns_of_acl(tmp_path):
    for width, end in ((TEXT_WIDTH, ""), (COLUMN, "_column")):
        for name in ("lines", "counts", "maps"):
            drawn = draw(as_spec(CHARTS[name](width)), f"{name}{end}")
            for ending in ("pdf", "tex"):
                (tmp_path / f"{name}{end}.{ending}").write_bytes(drawn[ending])
    assert_floats_compile(tmp_path)
