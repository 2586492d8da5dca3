"""The report on paper: what is open, in few pages."""

import base64
import re

import pytest

pytestmark = [pytest.mark.chromium, pytest.mark.long]

WHOLE = ".drawing, .card.wide, .attention"
"""What no page break may cut."""


@pytest.fixture
def fresh(browser, folder):
    """The report in a new tab, with its folds as a reader finds them."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.switch_to.new_window("tab")
    browser.get((folder / "report.html").as_uri())
    drawn = "return document.querySelectorAll('.chart svg.marks').length"
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script(drawn) == 6)
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
    assert before > 10
    pages, size = printed(fresh)
    assert 4 <= pages <= 12
    assert size < 5_000_000
    assert fresh.execute_script(closed) == before
    fresh.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert printed(fresh)[0] > 2 * pages


def test_a_picture_stays_whole_and_with_its_heading(fresh):
    fresh.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    script = """return [...document.querySelectorAll(arguments[0])]
        .map(e => getComputedStyle(e)[arguments[1]])"""
    assert set(fresh.execute_script(script, WHOLE, "breakInside")) == {"avoid"}
    assert set(fresh.execute_script(script, "h2, h3, summary", "breakAfter")) == {"avoid"}
    shown = "return [...document.querySelectorAll('button, #look')].some(e => e.checkVisibility())"
    buttons = fresh.execute_script(
        "return [...document.querySelectorAll('.save, #look')].some(e => e.checkVisibility())"
    )
    fresh.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert not buttons
    assert fresh.execute_script(shown)


def test_what_is_chosen_is_printed_as_a_word(fresh):
    fresh.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    script = """const style = getComputedStyle(document.querySelector('#significance select'));
        return [style.appearance, style.borderTopWidth, style.display]"""
    look = fresh.execute_script(script)
    fresh.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert look == ["none", "0px", "inline-block"]
