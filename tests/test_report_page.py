"""The report opened in a browser, from disk, as a reader does."""

import json
import shutil

import pytest

from sweeps.compare import build_comparison
from tests.run_folders import SOURCE, TARGET, make_failure, make_run

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
HOSTILE = ["</script><script>alert(1)</script>", "\"'`", "שלום", "語", "<b>", "the", "the"]

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium or chromedriver is missing"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
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


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    """The browser with the report of hostile runs opened and all charts drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    out = tmp_path_factory.mktemp("sweep")
    runs = [
        make_run(out / "0", "none", words=(HOSTILE, HOSTILE)),
        make_run(out / "1", HOSTILE[0], words=(HOSTILE, HOSTILE)),
        make_run(out / "2", "luong", 1, words=(HOSTILE, HOSTILE)),
        make_run(out / "3", "luong", 2, words=(SOURCE, TARGET)),
        make_failure(out / "4", error=HOSTILE[0]),
    ]
    build_comparison(runs, out, HOSTILE[0])
    browser.get_log("performance")  # what the browser loaded for itself
    browser.get((out / "report.html").as_uri())
    drawn = "return document.querySelectorAll('.chart svg.marks').length"
    WebDriverWait(browser, 20).until(lambda _: browser.execute_script(drawn) == 3)
    return browser


def texts(page, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
    return page.execute_script(script, selector)


def test_nothing_is_loaded_but_the_page_itself(page):
    sent = [
        message["params"]["request"]["url"]
        for entry in page.get_log("performance")
        if (message := json.loads(entry["message"])["message"])["method"]
        == "Network.requestWillBeSent"
    ]
    assert [url.rsplit("/", 1)[-1] for url in sent if not url.startswith("data:")] == [
        "report.html"
    ]


def test_the_console_stays_silent_and_no_hostile_word_runs(page):
    assert page.get_log("browser") == []
    assert page.execute_script("return document.scripts.length") == 5
    assert page.title.startswith("</script><script>")


def test_every_score_is_a_point_of_the_curve(page):
    curve = ".chart[data-spec=curve] svg"
    points = page.execute_script(
        "return document.querySelectorAll(arguments[0]).length",
        f"{curve} .mark-symbol.role-mark path",
    )
    assert points == 3 * 6
    drawn = " ".join(texts(page, f"{curve} text"))
    for words in ("source length (words)", "BLEU", "41–50", "n = 160", "luong", HOSTILE[0]):
        assert words in drawn
    assert "longest training sentence: 50 words" in drawn


def test_every_weight_is_a_cell_and_equal_words_stay_apart(page):
    for chart in ("attention-2", "attention-3"):
        cells = f".chart[data-spec={chart}] .mark-rect.role-mark path"
        assert len(texts(page, cells)) == len(HOSTILE) ** 2
        words = texts(page, f".chart[data-spec={chart}] .role-axis-label text")
        assert words == HOSTILE * 2


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
