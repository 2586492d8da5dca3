"""The report in a browser and on paper, for everybody."""

import base64
import json
import re
from itertools import pairwise

import pytest

from tests.helpers.pages import (
    HOSTILE,
    WORDS,
    all_drawn,
    needs_axe,
    rows,
    screen,
    serious_violations,
    texts,
)

pytestmark = [pytest.mark.chromium, pytest.mark.long]


OWN = ("data:", "chrome://", "chrome-untrusted://")


def test_nothing_is_loaded_but_the_page_itself(page):
    """Requests may repeat, because other tests of this worker use the same browser.

    The browser loads pages of its own, such as that of a new tab.
    """
    sent = {
        message["params"]["request"]["url"]
        for entry in page.get_log("performance")
        if (message := json.loads(entry["message"])["message"])["method"]
        == "Network.requestWillBeSent"
    }
    assert {url.rsplit("/", 1)[-1] for url in sent if not url.startswith(OWN)} == {"report.html"}


def test_the_console_stays_silent_and_no_hostile_word_runs(page):
    assert page.get_log("browser") == []
    assert page.execute_script("return document.scripts.length") == 6
    assert page.execute_script("return document.querySelectorAll('td b, th b, p b').length") == 0


@pytest.mark.parametrize(
    "name", ["bleu_by_length", "ter_by_length", "aer_by_length", "words_by_frequency"]
)
def test_every_score_is_a_point_of_its_curve(page, name):
    from selenium.webdriver.support.ui import WebDriverWait

    curve = f".chart[data-figure={name}] svg"
    choose = """const panel = document.querySelector(arguments[0]).closest('.choice > .panel');
        if (!panel) return;
        const select = panel.parentElement.querySelector('select');
        select.selectedIndex = [...panel.parentElement.querySelectorAll('.panel')].indexOf(panel);
        select.dispatchEvent(new Event('change', {bubbles: true}))"""
    page.execute_script(choose, f".chart[data-figure={name}]")
    WebDriverWait(page, 60).until(all_drawn)
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
        for words in ("Source length (words)", "BLEU", "11–20", "21–30*", "n = 2"):
            assert words in drawn
        assert "longest training sentence: 15 words" in drawn


def test_the_main_tables_are_shown_and_others_can_be_chosen(page):
    """The folds are open here; a reader finds the folds closed."""
    script = """return [...document.querySelectorAll('table[id]')]
        .map(table => [table.id, table.closest('details, .choice') !== null])"""
    chosen = dict(page.execute_script(script))
    main = {"scores", "attention_scores", "bleu_by_length", "bleu_trend", "speed"}
    assert {name for name, inside in chosen.items() if not inside} == main
    assert len(chosen) > 15


def test_signatures_and_resamples_stand_in_the_method_alone(page):
    """Each table would repeat them in its caption."""
    captions = [each.text for each in page.find_elements("css selector", "p.caption")]
    method = page.find_element("css selector", "#method").get_attribute("textContent")
    assert "|tok:13a|" in method
    assert "resamples from seed" in method
    told = ("|tok:13a|", "resampling seed")
    assert not [caption for caption in captions if any(words in caption for words in told)]


def test_one_of_the_other_scores_is_shown_at_a_time(page):
    from selenium.webdriver.support.ui import Select

    place = "#section-other_scores_by_length"
    select = Select(page.find_element("css selector", f"{place} select"))
    shown = f"return [...document.querySelectorAll('{place} .panel')].map(e => e.checkVisibility())"
    try:
        for number in (2, 0):
            select.select_by_index(number)
            assert [*map(bool, page.execute_script(shown))].index(True) == number
            assert page.execute_script(shown).count(True) == 1
    finally:
        select.select_by_index(0)


def test_hostile_words_are_shown_as_they_are(page):
    for selector in ("#look [data-shown=source]", "#look [data-shown=reference]", ".strip .line"):
        shown = [text.strip() for text in texts(page, selector)]
        assert set(shown) == {" ".join(WORDS)}


SCHEMES = ("light", "dark")
WIDTHS = (390, 768, 1400)


@needs_axe
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_serious_on_the_report(page, scheme):
    with screen(page, scheme=scheme):
        assert serious_violations(page) == []


def test_the_page_has_its_landmarks_and_headings_without_a_gap(page):
    script = "return [...document.body.children].map(e => e.localName)"
    assert page.execute_script(script)[:3] == ["header", "main", "footer"]
    script = "return [...document.querySelectorAll('h1, h2, h3')].map(e => Number(e.localName[1]))"
    levels = page.execute_script(script)
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_chart_is_one_picture_with_a_name(page):
    script = """return [...document.querySelectorAll('.chart')].filter(e => e.dataset.name)
        .map(e => [e.role, e.ariaLabel])"""
    charts = page.execute_script(script)
    assert len(charts) > 10
    assert {role for role, _ in charts} == {"img"}
    assert all(any(map(str.isdigit, name)) for _, name in charts)  # the main numbers
    maps = [name for _, name in charts if "Attention of" in name]
    assert any(name.startswith(f"Attention of {HOSTILE[0]}, sentence 0") for name in maps)


def test_every_button_and_choice_has_a_name(page):
    seen = (
        "return [...document.querySelectorAll('button, select')].filter(e => e.checkVisibility())"
    )
    names = [control.accessible_name for control in page.execute_script(seen)]
    assert len(names) > 20
    assert all(name.strip(" ◀▶") for name in names)
    saves = [name for name in names if name.startswith(("SVG of", "PNG of", "CSV of"))]
    assert len(saves) > 10


def test_the_buttons_of_a_chart_show_under_the_pointer_and_where_the_focus_is(page):
    from selenium.webdriver.common.action_chains import ActionChains

    def shown():
        return page.execute_script(
            "return Number(getComputedStyle(arguments[0].querySelector('.saves')).opacity)", chart
        )

    with screen(page):
        chart = page.find_element("css selector", ".drawing:has([data-figure=bleu_by_length])")
        page.execute_script("document.activeElement.blur()")
        ActionChains(page).move_to_element(page.find_element("css selector", "h1")).perform()
        assert not shown()
        page.execute_script(
            "arguments[0].querySelector('button').focus({preventScroll: true})", chart
        )
        assert shown()
        page.execute_script("document.activeElement.blur()")
        assert not shown()
        ActionChains(page).move_to_element(chart).perform()
        assert shown()
        ActionChains(page).move_to_element(page.find_element("css selector", "h1")).perform()


def test_the_keyboard_reaches_every_control_and_the_focus_is_seen(page):
    """Tab goes through what can be pressed or chosen, in the order of the page."""
    from selenium.webdriver.common.keys import Keys

    page.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    seen = []
    for _ in range(12):
        page.switch_to.active_element.send_keys(Keys.TAB)
        focused = page.switch_to.active_element
        seen.append(focused)
        style = "return getComputedStyle(arguments[0]).outlineStyle"
        assert page.execute_script(style, focused) != "none"
    assert len({element.id for element in seen}) == len(seen)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_needs_sideways_scrolling(page, width):
    with screen(page, width):
        script = "return [document.documentElement.scrollWidth, window.innerWidth]"
        content, window = page.execute_script(script)
        assert content <= window == width
        script = """return [...document.querySelectorAll('.chart svg')]
            .filter(e => e.getBoundingClientRect().right > innerWidth)
            .map(e => e.closest('.chart').dataset.name)"""
        assert page.execute_script(script) == []


def test_only_a_wide_screen_has_room_for_seeds_and_counts(page):
    script = """return [...document.querySelectorAll('#scores thead th')]
        .filter(e => e.checkVisibility()).map(e => e.textContent)"""
    titles = {}
    for width in (1600, 1280, 390):
        with screen(page, width):
            titles[width] = page.execute_script(script)
    assert titles[1600][:3] == ["system", "seed", "sentences"]
    assert titles[1280] == titles[390] == ["system", *titles[1600][3:]]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_paper_of_charts_is_dark_at_night(page, scheme):
    """A card shows through its chart; at night black and white of the chart change places."""
    with screen(page, scheme=scheme):
        script = "return getComputedStyle(document.querySelector('.paper')).filter"
        assert page.execute_script(script).startswith("none" if scheme == "light" else "invert")
        script = "return getComputedStyle(document.querySelector('.paper')).backgroundColor"
        assert page.execute_script(script) == "rgba(0, 0, 0, 0)"
        grounds = """return [...document.querySelectorAll('.chart svg')]
            .map(svg => svg.style.backgroundColor || svg.querySelector(':scope > rect'))"""
        assert not any(page.execute_script(grounds))


WHOLE = ".drawing, .card.wide, .attention"  # what no page break may cut


@pytest.fixture
def fresh(browser, folder):
    """The report in a new tab, with its folds as a reader finds them."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.switch_to.new_window("tab")
    browser.get((folder / "report.html").as_uri())
    WebDriverWait(browser, 60).until(all_drawn)
    yield browser
    browser.close()
    browser.switch_to.window(browser.window_handles[0])


def printed(browser):
    """Print on A4; return the number of pages and the size of the file in bytes."""
    paper = {"preferCSSPageSize": True, "paperWidth": 8.27, "paperHeight": 11.69}
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", paper)["data"])
    assert pdf.startswith(b"%PDF")
    return len(re.findall(rb"/Type\s*/Page\b", pdf)), len(pdf)


def test_the_page_prints_in_few_pages_and_closed_parts_stay_closed(fresh):
    closed = "return document.querySelectorAll('details:not([open])').length"
    before = fresh.execute_script(closed)
    assert before > 2
    pages, size = printed(fresh)
    assert 4 <= pages <= 12
    assert size < 5_000_000
    assert fresh.execute_script(closed) == before
    fresh.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert printed(fresh)[0] > pages
    fresh.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    script = """return [...document.querySelectorAll('.fold > :not(summary)')]
        .map(part => part.checkVisibility())"""
    shown = fresh.execute_script(script)
    fresh.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert len(shown) >= before
    assert all(shown)


def test_closed_parts_and_headings_above_nothing_else_are_not_printed(fresh):
    fresh.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    closed = """return [...document.querySelectorAll('.fold:not([open]) > summary')]
        .filter(e => e.checkVisibility()).map(e => e.textContent)"""
    bare = """return [...document.querySelectorAll('main section > h2')].filter(heading =>
        heading.checkVisibility() && ![...heading.parentElement.children].some(
            each => each !== heading && each.checkVisibility())).map(e => e.textContent)"""
    shown = "return [...document.querySelectorAll('h2')].filter(e => e.checkVisibility()).length"
    found = [fresh.execute_script(script) for script in (closed, bare, shown)]
    fresh.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert found[:2] == [[], []]
    assert 3 <= found[2] < fresh.execute_script(shown)


def test_a_picture_stays_whole_and_with_its_heading(fresh):
    fresh.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    script = """return [...document.querySelectorAll(arguments[0])]
        .map(e => getComputedStyle(e)[arguments[1]])"""
    assert set(fresh.execute_script(script, WHOLE, "breakInside")) == {"avoid"}
    assert set(fresh.execute_script(script, "h2, h3, summary", "breakAfter")) == {"avoid"}
    some = "return [...document.querySelectorAll(arguments[0])].some(e => e.checkVisibility())"
    # Words of a sentence and headers of a table are read on paper too.
    buttons = "button:not(.word, th button)"
    assert not fresh.execute_script(some, buttons)
    assert fresh.execute_script(some, ".word")
    fresh.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert fresh.execute_script(some, buttons)
