"""A page of 14 systems with 5 seeds each is small enough to mail, and opens at once."""

import time
from statistics import median

import numpy as np
import pytest

from lightning_modules.metrics.text_metrics import Ter
from tests.helpers import run_folders
from tests.helpers.machine import slowness
from tests.helpers.run_folders import REPORT, history, make_run, scoring_of

pytestmark = [pytest.mark.chromium, pytest.mark.timed]

SYSTEMS, SEEDS, VALIDATIONS = 14, 5, 20
EDGES = [10, 20, 30, 40, 50]
SIZES = {(low - 9, low): 60 for low in (*EDGES, 60)}
"""Number of sentences by lowest and highest length: six full buckets, as in the quickstart."""
MOST_BYTES = 5_000_000
MOST_SECONDS = 2


@pytest.fixture(scope="module")
def large_page(tmp_path_factory):
    from sweeps.report.html import render_report
    from sweeps.tasks import compare

    out = tmp_path_factory.mktemp("large")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_folders, "SIZES", SIZES)
        text = run_folders.text()
    scoring = scoring_of(edges=EDGES, resamples=200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ter, "count", edits_without_shifts)
        runs = [
            make_run(
                out / f"{number}_{seed}",
                f"system{number}",
                seed,
                text=text,
                history=history(seed, VALIDATIONS),
            )
            for number in range(SYSTEMS)
            for seed in range(1, SEEDS + 1)
        ]
    with pytest.MonkeyPatch.context() as patch:  # the files of the figures take most of the time
        patch.setattr(compare, "write_report", lambda report, _: None)
        report = compare.build_comparison(runs, out, scoring, REPORT)
    page = out / "report.html"
    page.write_text(render_report(report), encoding="utf-8")
    return page


def edits_without_shifts(_metric, text, hypotheses):
    """Count the words that differ: TER's search for shifts took half of the time of this test."""
    lines = zip(hypotheses, text.references, strict=True)
    pairs = [(one.split(), other.split()) for one, other in lines]
    return np.array([(sum(map(str.__ne__, *pair)), len(pair[1])) for pair in pairs], np.float64)


def test_the_page_is_small(large_page):
    assert large_page.stat().st_size < MOST_BYTES


def test_the_first_chart_is_drawn_soon(browser, large_page):
    """The median of three times counts: at first the browser itself is still at work."""
    assert (
        median(seconds_to_open(browser, large_page) for _ in range(3)) < MOST_SECONDS * slowness()
    )


def seconds_to_open(browser, page):
    from selenium.webdriver.support.ui import WebDriverWait

    drawn = "return document.querySelectorAll('.chart svg.marks').length"
    browser.get("about:blank")
    begin = time.monotonic()
    browser.get(page.as_uri())
    wait = WebDriverWait(browser, 60, poll_frequency=0.05)
    wait.until(lambda _: browser.execute_script(drawn))
    return time.monotonic() - begin
