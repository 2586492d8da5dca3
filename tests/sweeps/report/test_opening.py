"""The top of a report: title, question, badge, caution, facts."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from sweeps.comparison.collect import collect
from sweeps.comparison.evaluation import evaluate
from sweeps.comparison.numbers import format_duration
from sweeps.comparison.record import Origin
from sweeps.report.findings import ONE_TRAINING, TESTS_OF_ONE_TRAINING, Findings
from sweeps.report.html import render_report
from sweeps.report.page_top import QUESTION, PageTop
from sweeps.report.report import make_report
from sweeps.tasks.compare import build_comparison
from tests.helpers.pages import texts, without_pictures
from tests.helpers.run_folders import CONFIG, REPORT, SCORING, make_run


def found(runs, origin=None):
    comparison = collect(runs)
    evaluation = evaluate([variant.system for variant in comparison.variants], SCORING)
    return Findings("sweep-0123", evaluation, comparison, origin=origin or Origin())


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
    opening = PageTop(found(runs))
    systems = "No attention and Luong local-m, general with model.dropout = 0, 0.3"
    assert opening.title == f"{systems}: BLEU against sentence length"
    assert opening.question == QUESTION


@pytest.mark.long
def test_the_files_of_a_comparison_bring_title_question_and_papers(tmp_path):
    asked = Origin(
        "Who wins?", "Does it win?", ("https://arxiv.org/abs/1409.0473",), "python run.py"
    )
    findings = found([make_run(tmp_path / "0"), make_run(tmp_path / "1", "luong")], asked)
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
    findings = found(runs)
    assert findings.headline
    page = render_report(make_report(findings, REPORT))
    for text in (ONE_TRAINING.format("Every system has"), TESTS_OF_ONE_TRAINING):
        assert page.count(text) == cautioned


def test_one_seed_among_several_is_told(tmp_path):
    runs = [
        make_run(tmp_path / f"{n}", v, s)
        for n, (v, s) in enumerate([("none", 1), ("luong", 1), ("luong", 2)])
    ]
    caution = found(runs).caution
    assert caution is not None
    assert caution.startswith(ONE_TRAINING.format("Some systems have"))


def test_the_badge_counts_the_states_and_a_broken_condition_comes_first(tmp_path):
    adam: Any = CONFIG["optimizer"]
    rates: dict[str, Any] = {"config": {"optimizer": {**adam, "lr": 5e-3}}}
    fair = [make_run(tmp_path / "0", "none", **rates), make_run(tmp_path / "1", "luong")]
    assert [words for _, words in PageTop(found(fair)).badge] == [
        "✓ 15 held",
        "◆ 1 differs by design (learning rate)",
    ]
    unfair = [*fair, make_run(tmp_path / "2", "transformer", parameters=2_000_000)]
    assert PageTop(found(unfair)).badge[0] == ("NOT HELD", "✗ 1 NOT HELD (parameters)")


@pytest.mark.long
@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ({"the corpus": ["a leak"]}, "the corpus: a leak"),
        ({"“Luong”": ["3 copies: “a”; “b”"]}, "translations of “Luong”: 3 copies"),
        (
            {"the corpus": ["a leak: “a”"], "“Luong”": ["copies"], "“none”": ["empty"]},
            "the corpus and translations of 2 systems; such as: a leak",
        ),
    ],
)
def test_warnings_name_the_texts(tmp_path, texts, told):
    findings = found([make_run(tmp_path / "0"), make_run(tmp_path / "1", "luong")])
    findings.__dict__["suspicions"] = texts
    lines = sum(map(len, texts.values()))
    assert f"Warnings about texts: {lines} ({told})" in render_report(make_report(findings, REPORT))


@pytest.mark.parametrize(("seconds", "shown"), [(42.4, "42 s"), (210, "3.5 min"), (7560, "2.1 h")])
def test_times_are_in_the_unit_in_which_they_are_read(seconds, shown):
    assert format_duration(seconds) == shown


@pytest.mark.parametrize(
    ("target", "synthetic"), [("grammar.GrammarCorpus", True), ("text.TextCorpus", False)]
)
def test_a_corpus_that_a_program_writes_is_named_so(tmp_path, target, synthetic):
    run = make_run(tmp_path / "0", config={"data": {"_target_": f"datamodules.{target}"}})
    [corpus] = dict(PageTop(found([run])).facts)["Corpus"]
    assert ("(synthetic: a program writes the sentences)" in corpus) == synthetic


def test_the_facts_have_the_cheapest_and_the_dearest_training(tmp_path):
    runs = [make_run(tmp_path / "0", "none"), make_run(tmp_path / "1", "luong", parameters=900_000)]
    [cost] = dict(PageTop(found(runs)).facts)["Cost"]
    assert re.fullmatch(r"[\d.]+ (s|min) a training.*, 816 k to 900 k parameters", cost), cost


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


FIRST_SCREEN = ["h1", ".question", "#not-held", "#answer", "#caution", "#facts", ".badge", "nav"]
CHART, FINDINGS = "[data-figure=bleu_by_length]", "#findings"


@pytest.mark.long
@pytest.mark.chromium
@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)])
def test_the_first_screen_has_the_story(opened, width, height):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    opened.execute_script("window.scrollTo(0, 0)")
    tops = opened.execute_script(
        "return arguments[0].map(s => document.querySelector(s).getBoundingClientRect().top)",
        [*FIRST_SCREEN, CHART, FINDINGS],
    )
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        opened.save_screenshot(Path(folder) / f"first_screen_{width}.png")
    assert tops == sorted(tops)
    assert 0 <= tops[0] < tops[-3] < height
    assert tops[-2] < height or width < 600  # a phone shows the chart after the story
    content, window = opened.execute_script(
        "return [document.documentElement.scrollWidth, window.innerWidth]"
    )
    assert content <= window


@pytest.mark.long
@pytest.mark.chromium
def test_contents_and_badge_lead_to_what_they_name(opened):
    links = "return [...document.querySelectorAll('nav a, a.badge')].map(a => a.hash)"
    targets = opened.execute_script(links)
    assert len(targets) == len(set(targets)) > 8
    for target in targets:
        assert opened.execute_script("return document.querySelector(arguments[0])", target), target
    assert texts(opened, ".badge.alarm")[0].split()[:3] == ["✗", "1", "NOT"]
    states = texts(opened, "#conditions li span")
    assert "✗ NOT HELD" in states
    assert "◆ differs by design" in states
