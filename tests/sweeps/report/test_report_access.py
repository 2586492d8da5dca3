"""The report for everybody: screen readers, keyboards, phones, wide screens, day and night."""

from itertools import pairwise

import pytest

from tests.helpers.pages import HOSTILE, needs_axe, screen, serious_violations

pytestmark = [pytest.mark.chromium, pytest.mark.long]

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
    names = [
        control.accessible_name
        for control in page.find_elements("css selector", "button, select")
        if control.is_displayed()
    ]
    assert len(names) > 20
    assert all(name.strip(" ◀▶") for name in names)
    saves = [name for name in names if name.startswith(("SVG of", "PNG of", "CSV of"))]
    assert len(saves) > 10


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


def test_a_fold_opens_by_the_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    fold = page.find_element("css selector", "details.fold")
    opened = fold.get_attribute("open")
    summary = fold.find_element("css selector", "summary")
    summary.send_keys(Keys.ENTER)
    assert fold.get_attribute("open") != opened
    summary.send_keys(Keys.SPACE)
    assert fold.get_attribute("open") == opened


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


def test_a_phone_leaves_out_seeds_and_counts(page):
    script = """return [...document.querySelectorAll('#scores thead th')]
        .filter(e => e.checkVisibility()).map(e => e.textContent)"""
    with screen(page, 1400):
        wide = page.execute_script(script)
    with screen(page, 390):
        narrow = page.execute_script(script)
    assert wide[:3] == ["system", "seed", "sentences"]
    assert narrow == ["system", *wide[3:]]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_paper_of_charts_is_dark_at_night(page, scheme):
    """The paper of a chart is white; at night black and white change places."""
    with screen(page, scheme=scheme):
        script = "return getComputedStyle(document.querySelector('.paper')).filter"
        assert page.execute_script(script).startswith("none" if scheme == "light" else "invert")
