"""The page of claims: what it opens with, what it says, and how it looks in a browser."""

import json
from dataclasses import replace

import pytest
from omegaconf import OmegaConf

from lightning_modules.figures.charts import as_spec
from lightning_modules.figures.forest_chart import forest_chart
from sweeps.claims.scoreboard import Scale, so_far
from sweeps.claims.scoreboard_page import write_scoreboard
from sweeps.claims.scoreboard_tables import effects_of
from sweeps.claims.verdict import Outcome
from tests.helpers.pages import needs_axe, screen, serious_violations
from tests.helpers.run_folders import WIDTHS
from tests.sweeps.claims.claim_results import a_result, by_name, on_corpus, results, said_of

LAPTOP = Scale("laptop")
MOST_BYTES = 3_000_000  # of the page of 52 claims


def test_the_page_has_command_date_cost_and_method(tmp_path, no_pictures):
    task = ["claims=bahdanau2015", "tier=laptop"]
    hydra = {"hydra": {"overrides": {"hydra": [], "task": task}}}
    (tmp_path / ".hydra").mkdir()
    OmegaConf.save(hydra, tmp_path / ".hydra" / "hydra.yaml")
    page = write_scoreboard(results(), LAPTOP, WIDTHS, tmp_path).read_text(encoding="utf-8")
    assert "✗ corpus and amount of training" in page
    facts = page[page.index('id="facts"') :]
    assert "python run.py claims=bahdanau2015 tier=laptop" in facts
    assert " training runs, tested " in facts
    assert page.index("How a verdict comes about") < page.index("<summary>Table")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["crosses"], "The verdict is not decided."),
        (["crosses", "unfair"], "None of the 2 verdicts is decided."),
        (["crosses", "holds"], None),
        (["lost"], None),  # no verdict
    ],
)
def test_a_page_without_a_decided_verdict_opens_with_that(tmp_path, no_pictures, names, said):
    shown = [by_name()[name] for name in names]
    page = write_scoreboard(shown, LAPTOP, WIDTHS, tmp_path).read_text(encoding="utf-8")
    assert ('id="answer"' in page) == (said is not None)
    assert said is None or said in page


def test_undecided_claims_say_what_every_budget_shows(tmp_path, no_pictures):
    """An effect that is large at every rung stands apart from one that is not."""

    def undecided(name, *outcomes):
        corpus = on_corpus((4.0, 5.0, 6.0), Outcome.UNDECIDED, reason="it was still learning")
        rungs = [
            replace(rung, verdict=replace(rung.verdict, outcome=outcome))
            for rung, outcome in zip(corpus.rungs, outcomes, strict=True)
        ]
        return a_result(name, replace(corpus, rungs=rungs))

    large = undecided("large", *3 * [Outcome.SUPPORTED])
    grown = undecided("grown", Outcome.UNDECIDED, *2 * [Outcome.REVERSED])
    mixed = undecided("mixed", *2 * [Outcome.SUPPORTED], Outcome.UNDECIDED)
    small = undecided("small", *3 * [Outcome.UNDECIDED])
    assert [so_far(one) for one in (large, grown, mixed, small)] == [
        (Outcome.SUPPORTED, "every budget so far"),
        (Outcome.REVERSED, "the largest budget so far"),
        None,
        None,
    ]
    [corpus] = large.corpora
    for changes in ({"too_few": "two runs are left"}, {"rungs": corpus.rungs[-1:]}):
        assert so_far(replace(large, corpora=[replace(corpus, **changes)])) is None
    page = write_scoreboard([large, grown, mixed, small], LAPTOP, WIDTHS, tmp_path).read_text()
    apart, against, others = (page.index(f"{words}<") for words in (
        "Undecided: supported at every budget so far, but training had not settled",
        "Undecided: reversed at the largest budget so far, but training had not settled",
        "The other 2 undecided",
    ))  # fmt: skip
    assert apart < page.index('<li><a href="#paper.large"') < against
    assert against < page.index('<li><a href="#paper.grown"') < others
    assert others < page.index('<li><a href="#paper.mixed"')
    assert "although at every budget so far the effect is large enough to count" in page
    found = "None of the 4 verdicts is decided. At the largest budget so far: "
    assert f"{found}1 supported and 1 reversed, 2 open." in page
    page = write_scoreboard([mixed, small], LAPTOP, WIDTHS, tmp_path).read_text()
    assert "so far" not in page
    assert "The 2 undecided<" in page


def test_captions_name_marks_that_are_drawn_alone(tmp_path, no_pictures):
    page = write_scoreboard([by_name()["regime"]], LAPTOP, WIDTHS, tmp_path).read_text()
    for mark in ("Hollow squares", "a run that collapsed", "Open diamonds", "the diamond is"):
        assert mark not in page
    page = write_scoreboard(results(), LAPTOP, WIDTHS, tmp_path).read_text()
    for mark in ("Hollow squares", "a run that collapsed", "Open diamonds", "the diamond is"):
        assert mark in page
    legend = as_spec(forest_chart(effects_of([by_name()["regime"]]), "container"))
    assert "reported in the paper" not in json.dumps(legend)
    assert "negligible" not in json.dumps(legend)


def test_a_margin_that_is_a_share_of_what_attention_brings_says_so():
    holds = by_name()["holds"]
    plain = said_of(holds, LAPTOP)
    assert "the smallest effect that counts is 1.00. " in plain
    share = {"value": 0.05, "unit": "attention", "why": "a share", "written": "2026-01-01"}
    made = a_result("share", *holds.corpora, margin=share)
    counts = "counts is 1.00 (5% of the 20.0 BLEU that attention brings here). "
    assert counts in said_of(made, LAPTOP)


def test_a_claim_of_no_difference_has_no_sides():
    for says, sides in (("larger", True), ("no_difference", False)):
        one = a_result("one", *by_name()["holds"].corpora, says=says)
        spec = as_spec(forest_chart(effects_of([one]), 455.0))
        assert ("for the claim" in json.dumps(spec)) == sides
        assert ("hold inside the grey band" in json.dumps(spec)) != sides


def test_few_seeds_are_said_to_be_few_and_no_interval_wide():
    corpus = on_corpus((4.0, 5.0, 6.0), Outcome.UNDECIDED, reason="1 seed; 3 are needed")
    wide = "1 seed; 3 are needed; the interval is wide, too."
    assert wide in said_of(a_result("wide", corpus), LAPTOP)
    few = [
        replace(rung, verdict=replace(rung.verdict, interval=None, reason="1 seed; 3 are needed"))
        for rung in corpus.rungs
    ]
    one = a_result("few", replace(corpus, rungs=few, verdict=few[-1].verdict))
    assert ": 1 seed; 3 are needed. " in said_of(one, LAPTOP)


def test_the_forest_marks_extensions(tmp_path, no_pictures):
    one = by_name()["regime"]
    for extension in (None, "The systems are others."):
        shown = replace(one, extension=extension)
        for width in ("container", 455.0, 218.0):
            spec = json.dumps(as_spec(forest_chart(effects_of([shown]), width)), ensure_ascii=False)
            marked = "†" in spec or r"\u2020" in spec  # expressions of Vega have it escaped
            assert marked == (extension is not None), width
        page = write_scoreboard([shown], LAPTOP, WIDTHS, tmp_path).read_text(encoding="utf-8")
        assert ("†: extensions" in page) == (extension is not None)


@pytest.mark.parametrize(
    ("scale", "corpora", "said"),
    [
        (LAPTOP, ["en-fr"], "a sample of its own for each seed"),
        (LAPTOP, ["draws"], "one training of each system on each"),
        (Scale("laptop", ("data.zipf=1.2",)), ["en-fr"], "with the settings of the command"),
    ],
)
def test_the_method_says_what_the_corpora_are(tmp_path, no_pictures, scale, corpora, said):
    texts = ["a sample of its own for each seed", "one training of each system on each"]
    texts.append("with the settings of the command")
    made = [on_corpus((1, 2, 3), Outcome.SUPPORTED, corpus) for corpus in corpora]
    page = write_scoreboard([a_result("one", *made)], scale, WIDTHS, tmp_path).read_text()
    assert [text for text in texts if text in page] == [said]


def test_the_page_of_52_claims_is_small(tmp_path, no_pictures):
    ladder = on_corpus((1, 2, 3), Outcome.SUPPORTED)
    german = on_corpus((1, 2, 3), Outcome.SUPPORTED, "en-de")
    many = [a_result(f"claim{n}", ladder, german) for n in range(52)]
    page = write_scoreboard(many, LAPTOP, WIDTHS, tmp_path)
    assert page.stat().st_size < MOST_BYTES


@pytest.fixture
def opened(browser, tmp_path, no_pictures):
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get_log("browser")
    browser.get(write_scoreboard(results(), LAPTOP, WIDTHS, tmp_path).as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
    waiting = "return document.querySelectorAll('.chart:not(:has(svg.marks))').length === 0"
    WebDriverWait(browser, 60, poll_frequency=0.1).until(lambda _: browser.execute_script(waiting))
    return browser


@pytest.mark.long
@pytest.mark.chromium
def test_every_chart_is_drawn_without_a_word_in_the_console(opened):
    drawn = opened.execute_script("return document.querySelectorAll('svg.marks').length")
    ladders = 2 * sum(bool(corpus.rungs) for one in results() for corpus in one.corpora)
    assert drawn == ladders + 2  # all effects, and the corpora of one claim
    assert opened.get_log("browser") == []


@needs_axe
@pytest.mark.chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_the_scoreboard(opened, scheme):
    with screen(opened, scheme=scheme):
        assert serious_violations(opened) == []


@pytest.mark.long
@pytest.mark.chromium
@pytest.mark.parametrize("width", [390, 1400])
def test_the_scoreboard_needs_no_sideways_scrolling(opened, width):
    with screen(opened, width=width):
        content = opened.execute_script("return document.documentElement.scrollWidth")
    assert content <= width
