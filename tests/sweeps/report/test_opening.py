"""The top of a report: title, badge, facts, and sentences about what was found."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from lightning_modules.figures.charts import as_spec
from lightning_modules.testing.alarms import HEADINGS
from sweeps.comparison.numbers import format_duration
from sweeps.comparison.record import Origin
from sweeps.report.chips import ELSEWHERE, cautions_of, chips_of
from sweeps.report.findings import NO_ANSWER, ONE_TRAINING, TESTS_OF_ONE_TRAINING
from sweeps.report.html import render_report
from sweeps.report.page_top import QUESTION, PageTop
from sweeps.report.report import make_report
from sweeps.tasks.compare import build_comparison
from tests.helpers.made_text import corpus
from tests.helpers.pages import texts, without_pictures
from tests.helpers.run_folders import CONFIG, REPORT, SCORING, findings_of, make_failure, make_run


def test_a_comparison_without_a_title_is_named_by_its_systems_and_lists(tmp_path):
    labels = {"none": "No attention", "luong": "Luong local-m, general"}
    runs = [
        make_run(
            tmp_path / f"{variant}{rate}",
            variant,
            config={"label": label},
            overrides=[f"model={variant}", f"model.dropout={rate}", "seed=1"],
        )
        for variant, label in labels.items()
        for rate in (0, 0.3)
    ]
    opening = PageTop(findings_of(runs))
    systems = "No attention and Luong local-m, general with model.dropout = 0, 0.3"
    assert opening.title == f"{systems}: BLEU against sentence length"
    assert opening.question == QUESTION


@pytest.mark.long
def test_the_files_of_a_comparison_bring_title_question_and_papers(tmp_path):
    asked = Origin(
        "Who wins?", "Does it win?", ("https://arxiv.org/abs/1409.0473",), "python run.py"
    )
    findings = findings_of(
        [make_run(tmp_path / "0"), make_run(tmp_path / "1", "luong")], origin=asked
    )
    page = render_report(make_report(findings, REPORT))
    assert "<h1>Who wins?</h1>" in page
    assert "<title>Who wins?</title>" in page
    assert "Does it win?" in page
    assert '<a href="https://arxiv.org/abs/1409.0473">arxiv.org/abs/1409.0473</a>' in page
    assert "<code>python run.py</code>" in page


@pytest.mark.long
@pytest.mark.parametrize(("seeds", "cautioned"), [((1,), True), ((1, 2), False)])
def test_findings_of_one_seed_are_about_these_trainings(tmp_path, seeds, cautioned):
    runs = [
        make_run(tmp_path / f"{variant}{seed}", variant, seed)
        for variant in ("none", "luong")
        for seed in seeds
    ]
    findings = findings_of(runs)
    assert findings.headline
    page = render_report(make_report(findings, REPORT))
    for text in (ONE_TRAINING.format("Every system has"), TESTS_OF_ONE_TRAINING):
        assert page.count(text) == cautioned
    caution = findings_of([runs[0], *runs[-len(seeds) :]]).caution
    assert cautioned or str(caution).startswith(ONE_TRAINING.format("Some systems have"))


def test_the_badge_counts_the_states_and_a_broken_condition_comes_first(tmp_path):
    adam: Any = CONFIG["optimizer"]
    rates: dict[str, Any] = {"config": {"optimizer": {**adam, "lr": 5e-3}}}
    fair = [make_run(tmp_path / "0", "none", **rates), make_run(tmp_path / "1", "luong")]
    assert [words for _, words in PageTop(findings_of(fair)).badge] == [
        "✓ 18 conditions hold",
        "≠ 1 differs by design (learning rate)",
    ]
    unfair = [*fair, make_run(tmp_path / "2", "transformer", parameters=2_000_000)]
    assert PageTop(findings_of(unfair)).badge[0] == ("NOT HELD", "✗ 1 NOT HELD (parameters)")


def test_chips_say_what_the_answer_rests_on_and_where_more_stands(tmp_path):
    fair = [
        make_run(tmp_path / f"{variant}{seed}", variant, seed)
        for variant in ("none", "luong")
        for seed in (1, 2)
    ]
    top = PageTop(findings_of(fair))
    chips = {chip.words: chip.target for chip in chips_of(top, ["seeds", "conditions", "data"])}
    assert chips["2 seeds"] == "section-seeds"
    [fairness] = [words for words in chips if words.startswith("fair: ✓ ")]
    assert chips[fairness] == "conditions"
    [pairs] = [words for words in chips if words.endswith(" training pairs")]
    assert chips[pairs] == "section-data"
    [budget] = [words for words in chips if words.endswith(" target tokens (1.3 epochs)")]
    assert chips[budget] == ELSEWHERE  # a page without learning curves
    unfair = [*fair, make_run(tmp_path / "2", "transformer", parameters=2_000_000)]
    top = PageTop(findings_of(unfair))
    first, *_ = chips_of(top, ["conditions"])
    assert first.words.startswith("✗ 1 NOT HELD (parameters)")
    first, *_ = cautions_of(top, [])
    assert first == ("the comparison is not fair (parameters NOT HELD)", "not-held")
    alone = PageTop(findings_of(fair[:1]))
    [caution] = [chip.words for chip in cautions_of(alone, [])]
    assert caution == "a single run; another may give another result"
    words = [chip.words for chip in chips_of(alone, [])]
    assert not [each for each in words if "seed" in each or "fair" in each]


def test_training_pairs_say_how_long_half_of_them_are(tmp_path):
    runs = [make_run(tmp_path / name, name, data=corpus("a" * 12)) for name in ("none", "luong")]
    words = [chip.words for chip in chips_of(PageTop(findings_of(runs)), [])]
    assert "en → fr, 60,000 training pairs, half of at most 5 words" in words


def test_what_needs_care_is_counted(tmp_path):
    runs = [make_run(tmp_path / "0"), make_failure(tmp_path / "1", error="no data")]
    findings = findings_of(runs)
    findings.__dict__["suspicions"] = {"the corpus": ["a leak", "copies"]}
    assert list(cautions_of(PageTop(findings), ["summary"])) == [
        ("1 failed job", "failed"),
        ("2 warnings", "warnings"),
    ]


BELOW = {"kind": "below", "text": "BLEU 12.3 at 1–10 words, phrase table 45.6"}
RISING = {"kind": "rising", "text": "validation BLEU rose 14% over the last fifth"}


def test_systems_that_have_learned_too_little_are_named_beside_the_answer(tmp_path):
    """A system is named if all of its trainings have; that one still improves is no such alarm."""
    made = {("none", 1): [BELOW], ("none", 2): [BELOW, RISING], ("luong", 1): [RISING]}
    made |= {("luong", 2): [BELOW], ("transformer", 1): [BELOW]}
    runs = [
        make_run(tmp_path / f"{name}{seed}", name, seed, alarms=alarms)
        for (name, seed), alarms in made.items()
    ]
    found = findings_of(runs)
    why = "(on short sentences worse than a translation without a model)"
    told = f"‡ “none” and “transformer” have learned too little {why}: "
    told += "their scores and falls say little."
    assert found.weak == told
    answered = str(found.answer)
    for name in ("none", "transformer"):
        assert answered.count(f"“{name}”") == answered.count(f"“{name}”‡")
    assert "“luong”‡" not in answered
    assert "‡" in answered
    words = re.sub(r"<[^>]+>", "", render_report(make_report(found, REPORT)))
    assert told.replace("“", "").replace("”", "") in words
    assert findings_of(runs[2:4]).weak is None
    one = findings_of([runs[0], runs[2]])
    assert one.weak == f"‡ “none” has learned too little {why}: its scores and falls say little."
    assert one.answer != NO_ANSWER
    assert str(one.answer).startswith("Not settled yet. ")
    all_weak = findings_of([runs[0], runs[4]])
    assert (all_weak.answer, all_weak.weak) == (NO_ANSWER, None)
    # A mark on every name would say nothing.
    assert "‡" not in render_report(make_report(all_weak, REPORT))
    alone = findings_of(runs[:1])  # opens with its own alarm
    assert alone.weak is None
    assert alone.answer != NO_ANSWER


def test_curves_mark_systems_that_have_learned_too_little(tmp_path):
    runs = [make_run(tmp_path / "0", "none", alarms=[BELOW]), make_run(tmp_path / "1", "luong")]
    for made, marked in ((runs, True), (runs[1:], False), (runs[:1], False)):
        report, name = make_report(findings_of(made), REPORT), "bleu_by_length"
        for spec in (report.page_specs[name], as_spec(report.figures[name])):
            drawn = json.dumps(spec, ensure_ascii=False)
            assert ('"none‡"' in drawn) == marked
            assert "luong‡" not in drawn
        assert ("‡: learned too little." in render_report(report)) == marked


def test_the_alarms_of_a_system_say_why_it_has_learned_too_little(tmp_path):
    alike = {"kind": "alike", "text": "2 different word pairs"}
    made = {"none": [BELOW], "luong": [alike, RISING], "bahdanau": []}
    runs = [make_run(tmp_path / name, name, alarms=alarms) for name, alarms in made.items()]
    found = findings_of(runs)
    none, luong = found.too_weak
    below, same = (HEADINGS[kind] for kind in ("below", "alike"))
    assert (found.why_weak([none]), found.why_weak([luong])) == (below, same)
    assert found.why_weak(found.too_weak) == f"{below}, or {same}"
    assert str(found.weak_among([luong])).endswith(f" has learned too little ({same})")


@pytest.mark.long
@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ({"the corpus": ["a leak"]}, "the corpus: a leak"),
        ({"“Luong”": ["3 copies: “a”; “b”"]}, "translations of “Luong”: 3 copies"),
        (
            {"the corpus": ["a leak: “a”"], "“Luong”": ["copies"], "“none”": ["empty"]},
            "the corpus and translations of 2 systems, e.g. a leak",
        ),
    ],
)
def test_warnings_name_the_texts(tmp_path, texts, told):
    findings = findings_of([make_run(tmp_path / "0"), make_run(tmp_path / "1", "luong")])
    findings.__dict__["suspicions"] = texts
    lines = sum(map(len, texts.values()))
    assert f"Warnings: {lines} ({told})" in render_report(make_report(findings, REPORT))


@pytest.mark.parametrize(("seconds", "shown"), [(42.4, "42 s"), (210, "3.5 min"), (7560, "2.1 h")])
def test_times_are_in_the_unit_in_which_they_are_read(seconds, shown):
    assert format_duration(seconds) == shown


@pytest.mark.parametrize(
    ("target", "synthetic"), [("grammar.GrammarCorpus", True), ("text.TextCorpus", False)]
)
def test_the_facts_name_a_corpus_that_a_program_writes_and_the_costs(tmp_path, target, synthetic):
    runs = [make_run(tmp_path / "0", config={"data": {"_target_": f"datamodules.{target}"}})]
    runs.append(make_run(tmp_path / "1", "luong", parameters=900_000))
    facts = dict(PageTop(findings_of(runs)).facts)
    assert ("(synthetic: a program writes the sentences)" in facts["Corpus"][0]) == synthetic
    [cost] = facts["Cost"]
    assert re.fullmatch(r"[\d.]+ (s|min) per run.*, 820 k to 900 k parameters", cost), cost


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """The page of two systems, one of them unlike the others in size, in the browser."""
    out = tmp_path_factory.mktemp("opened")
    about = {"title": "Who wins?", "question": "Does it win?"}
    OmegaConf.save(
        OmegaConf.create(
            {"about": about, "hydra": {"overrides": {"hydra": [], "task": ["model=none,luong"]}}}
        ),
        out / "multirun.yaml",
    )
    runs = [make_run(out / "0", "none"), make_run(out / "1", "luong", parameters=2_000_000)]
    with without_pictures():
        build_comparison(runs, out, SCORING, REPORT)
    browser.get((out / "report.html").as_uri())
    yield browser
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


FIRST_SCREEN = ["h1", ".question", "#care", "#answer", ".chips"]
CHART, MORE = "[data-figure=bleu_by_length]", ["#facts", "#not-held", "#caution", "#findings"]


@pytest.mark.long
@pytest.mark.chromium
@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)])
def test_the_first_screen_has_the_story(opened, width, height):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    opened.execute_script("window.scrollTo(0, 0)")
    tops = opened.execute_script(
        "return arguments[0].map(s => document.querySelector(s).getBoundingClientRect().top)",
        [*FIRST_SCREEN, CHART, *MORE],
    )
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        opened.save_screenshot(Path(folder) / f"first_screen_{width}.png")
    assert tops == sorted(tops)
    story, chart = tops[: len(FIRST_SCREEN)], tops[len(FIRST_SCREEN)]
    assert 0 <= story[0] < story[-1] < chart < height
    content, window = opened.execute_script(
        "return [document.documentElement.scrollWidth, window.innerWidth]"
    )
    assert content <= window


@pytest.mark.long
@pytest.mark.chromium
def test_the_contents_stay_beside_a_wide_page_and_mark_what_is_read(opened):
    from selenium.webdriver.support.ui import WebDriverWait

    size = {"width": 1400, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    place = "return document.querySelector('nav').getBoundingClientRect()"
    before = opened.execute_script(place)
    left = opened.execute_script("return document.querySelector('main').getBoundingClientRect().x")
    assert before["right"] <= left
    opened.execute_script("document.querySelector('#section-speed').scrollIntoView()")
    marked = "return [...document.querySelectorAll('nav [aria-current]')].map(a => a.hash)"
    WebDriverWait(opened, 20).until(lambda page: page.execute_script(marked) == ["#section-speed"])
    assert opened.execute_script(place)["top"] == before["top"]
    opened.execute_script("scrollTo(0, document.documentElement.scrollHeight)")
    last = "return [...document.querySelectorAll('nav a')].at(-1).hash"
    end = [opened.execute_script(last)]
    WebDriverWait(opened, 20).until(lambda page: page.execute_script(marked) == end)
    size |= {"width": 390, "height": 844, "mobile": True}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    closed = "return !document.querySelector('nav details').open"
    WebDriverWait(opened, 20).until(lambda page: page.execute_script(closed))


@pytest.mark.long
@pytest.mark.chromium
def test_contents_and_chips_lead_to_what_they_name(opened):
    links = "return [...document.querySelectorAll(arguments[0])].map(a => a.hash)"
    chosen = ("nav a", ".chips a, #care a")
    contents, chips = (opened.execute_script(links, each) for each in chosen)
    assert len(contents) == len(set(contents)) > 8
    assert len(chips) == len(texts(opened, chosen[1])) > 4
    for target in [*contents, *chips]:
        assert opened.execute_script("return document.querySelector(arguments[0])", target), target
    care = texts(opened, "#care a")
    assert care[0] == "the comparison is not fair (parameters NOT HELD)"
    states = texts(opened, "#conditions li span")
    assert "✗ NOT HELD" in states
    assert "? not known" in states  # tuning, without a study
