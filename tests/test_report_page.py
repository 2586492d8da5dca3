"""The report opened in a browser, from disk, as a reader does."""

import json
import shutil

import pytest

from sweeps.compare import build_comparison
from tests.run_folders import SCORING, TEXT, Text, make_failure, make_run, translations

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
HOSTILE = ["</script><script>alert(1)</script>", "\"'`", "שלום", "語", "<b>", "the", "the"]
WORDS = [*HOSTILE, *["le"] * 13]  # as many as are shown because they are easily read
HOSTILE_TEXT = Text(
    [" ".join(WORDS), *TEXT.sources[1:]], [" ".join(WORDS), *TEXT.references[1:]], TEXT.gold
)

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
    """The browser with the report of hostile runs, every fold open and all charts drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    out = tmp_path_factory.mktemp("sweep")

    def run(place, variant, seed=1):
        lines = translations(HOSTILE_TEXT.references, variant, seed)
        lines[0] = HOSTILE_TEXT.references[0]
        folder = out / str(place)
        return make_run(folder, variant, seed, text=HOSTILE_TEXT, hypotheses=lines)

    runs = [run(0, "none"), run(1, HOSTILE[0]), run(2, "luong", 1), run(3, "luong", 2)]
    runs.append(make_failure(out / "4", error=HOSTILE[0]))
    build_comparison(runs, out, SCORING)
    browser.get_log("performance")  # what the browser loaded for itself
    browser.get((out / "report.html").as_uri())
    wait = WebDriverWait(browser, 60)
    count = "return document.querySelectorAll('.chart svg.marks').length"
    shown = "return document.querySelectorAll('.chart').length"
    # Those outside the folds come first: the curve, and the attention of the open sentence.
    wait.until(lambda _: browser.execute_script(count) == 3)
    browser.execute_script("document.querySelectorAll('details.fold').forEach(d => d.open = true)")
    charts = browser.execute_script(shown)
    wait.until(lambda _: browser.execute_script(count) == charts)
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
    specs = page.execute_script("return document.querySelectorAll('.chart').length")
    assert page.execute_script("return document.scripts.length") == specs + 2
    assert page.execute_script("return document.querySelectorAll('td b, th b, p b').length") == 0


@pytest.mark.parametrize(
    "name", ["bleu_by_length", "ter_by_length", "aer_by_length", "words_by_frequency"]
)
def test_every_score_is_a_point_of_its_curve(page, name):
    curve = f".chart[data-spec=figure-{name}] svg"
    points = page.execute_script(
        "return document.querySelectorAll(arguments[0]).length",
        f"{curve} .mark-symbol.role-mark path",
    )
    expected = {"aer_by_length": 2 * 3, "words_by_frequency": len(rows(page, name))}
    assert points == expected.get(name, 3 * 3)
    drawn = " ".join(texts(page, f"{curve} text"))
    for words in ("luong", HOSTILE[0]):
        assert words in drawn
    if name == "bleu_by_length":
        for words in ("Source length (whitespace-separated words)", "BLEU", "11–20", "n = 2*"):
            assert words in drawn
        assert "longest training sentence: 15 words" in drawn


def rows(page, table):
    script = """return [...document.querySelectorAll(`[id="${arguments[0]}"] tbody tr`)]
        .map(row => [...row.children].map(cell => cell.textContent))"""
    return page.execute_script(script, table)


def test_tables_show_systems_and_numbers(page):
    systems = ["none", HOSTILE[0], "luong"]
    assert [row[0] for row in rows(page, "scores")] == systems
    assert [row[0] for row in rows(page, "bleu_by_length")] == systems
    assert [row[1] for row in rows(page, "scores")] == ["1", "1", "1, 2"]
    assert {(row[0], row[1]) for row in rows(page, "bleu_significance")} == {
        ("none", HOSTILE[0]), ("none", "luong"), (HOSTILE[0], "luong"),
    }  # fmt: skip
    for row in rows(page, "bleu_significance"):
        assert all(float(p) > 0 for p in row[6:10])
    assert [row[0] for row in rows(page, "speed")] == systems


def test_folds_hold_all_but_the_main_tables(page):
    """Opened here; a reader finds them closed."""
    script = """return [...document.querySelectorAll('table')]
        .map(table => [table.id, table.closest('details') !== null])"""
    folded = dict(page.execute_script(script))
    main = {"scores", "attention_scores", "bleu_by_length", "bleu_trend", "speed"}
    assert {name for name, inside in folded.items() if not inside} == main
    assert len(folded) > 15


def test_every_weight_is_a_cell_and_equal_words_stay_apart(page):
    for place in (2, 3):
        chart = f"attention-1-{place}"
        cells = f".chart[data-spec={chart}] .mark-rect.role-mark path:not([opacity='0'])"
        assert len(texts(page, cells)) == len(WORDS) ** 2
        words = texts(page, f".chart[data-spec={chart}] .role-axis-label text")
        assert words == WORDS * 4  # at both ends of rows and columns


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
