"""Fixtures of several test files: a browser with a report, files to evaluate."""

import os
import shutil

import numpy as np
import pytest

from sweeps.tasks.compare import build_comparison
from tests.helpers.commands import write
from tests.helpers.pages import HOSTILE, HOSTILE_TEXT, WORDS
from tests.helpers.remembered import conf_read_once, flops_counted_once
from tests.helpers.run_folders import (
    REPORT,
    SCORING,
    TEXT,
    history,
    make_failure,
    make_run,
    translations,
)

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
HEADS = {0: np.random.default_rng(0).dirichlet(np.ones(len(WORDS)), (2, 3, len(WORDS)))}
"""Attention weights of sentence 0: two layers with three heads."""


def pytest_xdist_auto_num_workers():
    """Start one worker more than there are processors: many tests wait for other processes."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items):
    """Run the slow files first and the quick files last, so that all workers end together."""
    order = ["sweeps", "lightning_modules", "datamodules"]
    rooms = {place: number for number, place in enumerate(order)}
    items.sort(key=lambda item: min((rooms.get(p, 9) for p in item.path.parts), default=9))


@pytest.fixture(scope="session", autouse=True)
def each_process_does_it_once():
    with flops_counted_once(), conf_read_once():
        yield


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    if not (CHROMIUM and DRIVER):
        pytest.skip("chromium or chromedriver is missing")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    with webdriver.Chrome(options=options, service=service) as driver:
        yield driver


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder of a comparison of hostile runs."""
    out = tmp_path_factory.mktemp("sweep")

    def run(place, variant, seed=1, **more):
        lines = translations(HOSTILE_TEXT.references, variant, seed)
        lines[0] = HOSTILE_TEXT.references[0]
        made = {"text": HOSTILE_TEXT, "hypotheses": lines, **more}
        return make_run(out / str(place), variant, seed, **made)

    runs = [run(0, "none", history=history()), run(1, HOSTILE[0]), run(2, "luong", 1, heads=HEADS)]
    runs.append(run(3, "luong", 2, history=history(2)))
    runs.append(make_failure(out / "4", error=HOSTILE[0]))
    build_comparison(runs, out, SCORING, REPORT)
    return out


@pytest.fixture(scope="session")
def page(browser, folder):
    """The browser with the report, every fold open and all charts drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get_log("performance")  # what the browser loaded for itself
    browser.get((folder / "report.html").as_uri())
    wait = WebDriverWait(browser, 60)
    count = "return document.querySelectorAll('.chart svg.marks').length"
    shown = "return document.querySelectorAll('.chart').length"
    # Charts outside the folds come first: the curve, the learning curves by tokens, the heat map of
    # the viewer, and the heat maps of the open sentence.
    wait.until(lambda _: browser.execute_script(count) == 6)
    browser.execute_script("document.querySelectorAll('details.fold').forEach(d => d.open = true)")
    charts = browser.execute_script(shown) - 2  # the learning curves by seconds are not chosen
    wait.until(lambda _: browser.execute_script(count) == charts)
    return browser


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder with the test set and two systems in files, where the command is run."""
    write(tmp_path / "ref", TEXT.references)
    write(tmp_path / "src", TEXT.sources)
    write(tmp_path / "gold", TEXT.gold or [])
    for variant, seed in (("luong", 1), ("luong", 2), ("none", 1)):
        lines = translations(TEXT.references, variant, seed)
        write(tmp_path / f"{variant}{seed}", lines)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def quick_reports(monkeypatch):
    """Draw no pictures and no page, which take most of the time."""
    monkeypatch.setattr("sweeps.report.contents.save_chart", lambda chart, stem: [])
    monkeypatch.setattr("sweeps.report.publish.render_report", lambda report: "")
