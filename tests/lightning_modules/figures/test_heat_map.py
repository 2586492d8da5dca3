"""Drawn heat maps: every word is in its place, whatever characters it has."""

import io
import re
from html import unescape

import numpy as np
import pytest
from PIL import Image

from lightning_modules.figures.heat_map import Panel, attention_map, attention_panels
from lightning_modules.figures.picture_files import save_chart
from lightning_modules.runs.schema import SentenceAttention
from tests.helpers.run_folders import COLUMN, TEXT_WIDTH

ENGLISH = ["the", "old", "the", '"', "house", "'s", "<b>", "a&b"]
FRENCH = ["la", "«", "vieille", "»", "la", "l'eau", "\\", "datum.label"]
ARABIC = ["رأى", "البحار", "العجوز", "البيت"]
LEGEND = ["attention weight", "0.0", "0.5", "1.0"]
CHINESE = ["那", "位", "老", "水手"]
TEXTS = r"<text[^>]*>([^<]*)</text>"


def sentence(source, target):
    weights = np.random.default_rng(0).dirichlet(np.ones(len(source)), size=len(target))
    return SentenceAttention(
        id=0, source_words=source, target_words=target, weights=weights.tolist()
    )


def drawn(chart):
    svg = io.StringIO()
    chart.save(svg, format="svg")
    return svg.getvalue()


def drawn_width(svg):
    found = re.search(r'<svg[^>]* width="([\d.]+)"', svg)
    assert found
    return float(found[1])


def words(chart):
    """Return the texts of the picture in the order of the file."""
    return [unescape(text) for text in re.findall(TEXTS, drawn(chart))]


@pytest.mark.parametrize(
    ("source", "target"), [(ENGLISH, FRENCH), (FRENCH, ENGLISH), (CHINESE, ARABIC), (["a"], ["b"])]
)
def test_every_word_stands_once_in_its_order(source, target):
    written = words(attention_map(sentence(source, target)))
    assert [word for word in written if word not in LEGEND] == source + target


def long_sentence(count):
    return sentence([f"s{i}" for i in range(count)], [f"translation{j}" for j in range(count)])


@pytest.mark.parametrize("count", [1, 14, 120])
@pytest.mark.parametrize("width", [COLUMN, 2 * TEXT_WIDTH])
def test_a_map_of_any_length_fits_its_width_with_square_cells(count, width):
    svg = drawn(attention_map(long_sentence(count), "a system with a long name " * 9, width=width))
    assert drawn_width(svg) <= width
    cells = re.findall(r'<path aria-label="source[^>]*d="M[\d.]+,[\d.]+h([\d.]+)v([\d.]+)h', svg)
    assert len(cells) == count**2
    wide, high = map(float, cells[0])
    assert wide == pytest.approx(high, rel=0.01)
    assert wide <= 15


@pytest.mark.parametrize(("width", "step"), [(2 * TEXT_WIDTH, 1), (TEXT_WIDTH, 2), (COLUMN, 4)])
def test_labels_without_room_are_thinned_and_the_others_stay_in_order(width, step):
    """The rows of 56 words get 14, 7 and 3 points; a label needs 8."""
    long = long_sentence(56)
    svg = drawn(attention_map(long, width=width))
    shown = re.findall(r'<text(?![^>]*opacity="0")[^>]*>([^<]*)</text>', svg)
    expected = long.source_words[::step] + long.target_words[::step]
    assert [word for word in shown if word[-1].isdigit() and "." not in word] == expected
    assert 'font-size="8px"' in svg


def test_gold_links_are_outlined_and_named():
    attention = sentence(["a", "b", "a"], ["c", "d"])
    plain = drawn(attention_map(attention))
    attention.gold = [(2, 0), (0, 1)]
    svg = drawn(attention_map(attention))
    label = r'aria-label="source: (\d \w); target: (\d \w);[^"]*"[^>]*stroke="#d55e00"'
    assert re.findall(label, svg) == [("2 a", "0 c"), ("0 a", "1 d")]
    assert "gold link" in svg
    assert "gold link" not in plain


@pytest.mark.parametrize(("width", "letters"), [(TEXT_WIDTH, "abcd"), (COLUMN, "ab")])
def test_panels_have_letters_one_key_and_the_width_of_a_paper(width, letters):
    attention = sentence(ENGLISH, FRENCH)
    attention.gold = [(0, 0)]
    svg = drawn(attention_panels([Panel(attention, "a system", "sentence 7")] * 5, width))
    titles = [text for text in re.findall(TEXTS, svg) if text.endswith("a system")]
    assert titles == [f"({letter}) a system" for letter in letters]
    assert svg.count(">attention weight<") == svg.count(">gold link<") == 1
    assert drawn_width(svg) <= width
    assert {*re.findall(r'font-size="(\d+)px"', svg)} == {"8", "9"}


def test_the_caption_says_once_which_sentences_are_shown_and_why():
    attention = sentence(ENGLISH, FRENCH)
    reasons = ["Sentence 7: easily read", "Sentence 9: differ most", "Sentence 11: left out"]
    panels = [Panel(attention, "a system", "", why) for why in reasons for _ in range(2)]
    caption = attention_panels(panels, TEXT_WIDTH).to_dict()["usermeta"]["caption"]
    assert caption.endswith(f". {reasons[0]}. {reasons[1]}.")


@pytest.mark.parametrize("width", [TEXT_WIDTH, COLUMN])
def test_panels_with_words_of_all_lengths_fit_and_have_equal_cells(width):
    """Plots stand one above the other, so the longest word of one takes room from the other."""
    source = [f"s{number}" for number in range(19)]
    panels = [
        Panel(sentence(source, words), "a system", "sentence 7")
        for words in (["secrètement"] * 3, ["a"] * 4, ["fromage", "b"], ["c"])
    ]
    svg = drawn(attention_panels(panels, width))
    assert drawn_width(svg) <= width
    found = re.findall(r'<path aria-label="source[^>]*d="M[\d.]+,[\d.]+h([\d.]+)v', svg)
    sides = [float(side) for side in found]
    assert max(sides) == pytest.approx(min(sides), rel=0.02)


def test_darker_cells_are_larger_weights(tmp_path):
    """The diagonal of a picture of the identity is dark, the rest white."""
    kept = SentenceAttention(
        id=0, source_words=["a", "b"], target_words=["c", "d"], weights=[[1, 0], [0, 1]]
    )
    save_chart(attention_map(kept), tmp_path / "map")
    assert {path.suffix for path in tmp_path.iterdir()} == {".svg", ".png", ".pdf", ".txt", ".tex"}
    svg = (tmp_path / "map.svg").read_text()
    fills = re.findall(r'aria-label="[^"]*weight: ([01.]+)"[^>]*fill="([^"]+)"', svg)
    assert [colour for _, colour in fills] == [
        "rgb(8, 48, 107)" if float(weight) else "rgb(255, 255, 255)" for weight, _ in fills
    ]
    assert len(fills) == 4
    with Image.open(tmp_path / "map.png") as picture:
        assert picture.width > 100
    assert (tmp_path / "map.pdf").read_bytes().startswith(b"%PDF")
