"""The report in a browser: its content, and that hostile words do no harm."""

import json
import os
import re
from pathlib import Path

import pytest
from PIL import Image, ImageStat

from tests.helpers.pages import HOSTILE, WORDS, number, rows, texts

pytestmark = [pytest.mark.chromium, pytest.mark.long]


def test_nothing_is_loaded_but_the_page_itself(page):
    """Requests may repeat, because other tests of this worker use the same browser."""
    sent = {
        message["params"]["request"]["url"]
        for entry in page.get_log("performance")
        if (message := json.loads(entry["message"])["message"])["method"]
        == "Network.requestWillBeSent"
    }
    assert {url.rsplit("/", 1)[-1] for url in sent if not url.startswith("data:")} == {
        "report.html"
    }


def test_the_console_stays_silent_and_no_hostile_word_runs(page):
    assert page.get_log("browser") == []
    assert page.execute_script("return document.scripts.length") == 5
    assert page.execute_script("return document.querySelectorAll('td b, th b, p b').length") == 0


@pytest.mark.parametrize(
    "name", ["bleu_by_length", "ter_by_length", "aer_by_length", "words_by_frequency"]
)
def test_every_score_is_a_point_of_its_curve(page, name):
    curve = f".chart[data-figure={name}] svg"
    points = page.execute_script(
        "return document.querySelectorAll(arguments[0]).length",
        f"{curve} .mark-symbol.role-mark path",
    )
    scored = [row for row in rows(page, name) if row[3] != "0"]
    expected = {"aer_by_length": 2 * 3, "words_by_frequency": len(scored)}
    assert points == expected.get(name, 3 * 3)
    drawn = " ".join(texts(page, f"{curve} text"))
    for words in ("luong", HOSTILE[0]):
        assert words in drawn
    if name == "bleu_by_length":
        for words in ("Source length (whitespace-separated words)", "BLEU", "11–20", "n = 2*"):
            assert words in drawn
        assert "longest training sentence: 15 words" in drawn


def test_tables_show_systems_and_numbers(page):
    systems = ["none", HOSTILE[0], "luong"]
    assert [row[0] for row in rows(page, "scores")] == systems
    assert [row[0] for row in rows(page, "bleu_by_length")] == systems
    assert [row[1] for row in rows(page, "scores")] == ["1", "1", "1, 2"]
    assert {(row[0], row[1]) for row in rows(page, "bleu_significance")} == {
        ("none", HOSTILE[0]), ("none", "luong"), (HOSTILE[0], "luong"),
    }  # fmt: skip
    for row in rows(page, "bleu_significance"):
        assert all(number(p) > 0 for p in row[6:10])
    assert [row[0] for row in rows(page, "speed")] == systems


def test_folds_hold_all_but_the_main_tables(page):
    """The folds are open here; a reader finds the folds closed."""
    script = """return [...document.querySelectorAll('table[id]')]
        .map(table => [table.id, table.closest('details') !== null])"""
    folded = dict(page.execute_script(script))
    main = {"scores", "attention_scores", "bleu_by_length", "bleu_trend", "speed"}
    assert {name for name, inside in folded.items() if not inside} == main
    assert len(folded) > 15


def test_every_weight_is_a_cell_and_equal_words_stay_apart(page):
    for place in (1, 2):
        chart = f"0-{place}"
        cells = f".chart[data-map='{chart}'] .layer_0_marks path"
        assert len(texts(page, cells)) == len(WORDS) ** 2
        words = texts(page, f".chart[data-map='{chart}'] .role-axis-label text")
        assert len(words) == 2 * len(WORDS)
        for word, shown in zip(WORDS * 2, words, strict=True):
            assert word.startswith(shown.removesuffix("…"))  # long words are cut off


def test_hostile_words_are_shown_as_they_are(page):
    shown = texts(page, "details.sentence dd")
    assert " ".join(WORDS) in shown
    assert " ".join(WORDS) in texts(page, "section.attention p")


def test_the_variant_without_attention_says_so(page):
    first, *_ = texts(page, "section.attention")
    assert "none" in first
    assert "no attention" in first


def test_the_failed_job_is_named(page):
    [failed] = texts(page, "#failed li")
    assert "luong, seed 1" in failed
    assert HOSTILE[0] in failed


def test_a_phone_needs_no_sideways_scrolling(page):
    narrow = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    script = "return [document.documentElement.scrollWidth, window.innerWidth]"
    content, window = page.execute_script(script)
    assert content <= window == 390


@pytest.mark.parametrize(("scheme", "paper"), [("light", "none"), ("dark", "invert(0.88)")])
def test_words_stand_out_by_day_and_by_night(page, scheme, paper):
    """At least 7 to 1, WCAG's strictest; figures change with the page."""
    feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
    colours = """return [...document.querySelectorAll('body, .card, .better, .worse')].map(e => {
        const style = getComputedStyle(e); return [style.color, style.backgroundColor] })"""
    pairs = page.execute_script(colours)
    assert len(pairs) > 10
    for pair in pairs:
        ink, ground = (_luminance(colour) for colour in pair)
        assert (max(ink, ground) + 0.05) / (min(ink, ground) + 0.05) >= 7, pair
        assert (ground < ink) == (scheme == "dark")
    style = "return getComputedStyle(document.querySelector('.paper')).filter"
    assert page.execute_script(style).startswith(paper)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [("desk", 1200, "light"), ("night", 1200, "dark"), ("phone", 390, "light")],
)
def test_screens_can_be_looked_at(page, tmp_path, name, width, scheme):
    """The variable ``SCREENSHOTS`` names a folder that keeps the pictures."""
    feature = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
    size = {"width": width, "height": 2400, "deviceScaleFactor": 1, "mobile": width < 600}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    folder = Path(os.environ.get("SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    assert page.save_screenshot(folder / f"{name}.png")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    with Image.open(folder / f"{name}.png") as picture:
        assert picture.size == (width, 2400)
        assert ImageStat.Stat(picture.convert("L")).stddev[0] > 5
        assert (ImageStat.Stat(picture.convert("L")).mean[0] < 128) == (scheme == "dark")


def _luminance(colour):
    """Relative luminance of ``rgb(r, g, b)``, as WCAG 2 defines it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
