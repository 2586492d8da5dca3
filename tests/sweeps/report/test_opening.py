"""The top of a report: title, badge, facts, and sentences about what was found."""

import os
import random
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.text_metrics import Bleu
from sweeps.comparison.evaluation import evaluate
from sweeps.comparison.numbers import format_duration
from sweeps.comparison.record import Origin
from sweeps.comparison.significance_tables import differ, significance_tests
from sweeps.report.chips import ELSEWHERE, cautions_of, chips_of
from sweeps.report.findings import NO_ANSWER, ONE_TRAINING, TESTS_OF_ONE_TRAINING
from sweeps.report.group_tests import WHOLE, group_tests
from sweeps.report.headline import answer, headline
from sweeps.report.html import render_report
from sweeps.report.page_top import QUESTION, PageTop
from sweeps.report.report import make_report
from sweeps.report.run_headline import run_headline
from sweeps.tasks.compare import build_comparison
from tests.helpers.made_text import corpus, statistics_of
from tests.helpers.pages import texts, without_pictures
from tests.helpers.run_folders import (
    CONFIG,
    REPORT,
    SCORING,
    findings_of,
    make_failure,
    make_run,
    scoring_of,
)


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
        "✓ 18 held",
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
    words = [chip.words for chip in chips_of(PageTop(findings_of(fair[:1])), [])]
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
    all_weak = findings_of([runs[0], runs[3]])
    assert (all_weak.answer, all_weak.weak) == (NO_ANSWER, None)
    alone = findings_of(runs[:1])  # opens with its own alarm
    assert alone.weak is None
    assert alone.answer != NO_ANSWER


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


LENGTHS = scoring_of(edges=[10, 20, 30], resamples=200)
WORDS = [f"word{number}" for number in range(40)]
RATES = {
    "steady": lambda length: 0.1,
    "falling": lambda length: 0.02 * length,
    "steeper": lambda length: 0.04 * length,
    "weak": lambda length: 0.5,
    "lost": lambda length: 0.9,
    "parting": lambda length: 0.1 if length <= 10 else 0.4,
    "early": lambda length: 0.0 if length <= 10 else 0.5 - 0.01 * length,
    "crossing": lambda length: 0.0 if length <= 10 else 0.2,
}
"""Share of wrong words by the length of the sentence."""


@cache
def made_test(sentences=240):
    rng = random.Random(1)
    lines = [" ".join(rng.choices(WORDS, k=rng.randint(4, 30))) for _ in range(sentences)]
    return EvalSet(lines, lines)


@cache
def translations(kind, seed=1):
    rng = random.Random(f"{kind} {seed}")
    return [
        " ".join(
            "wrong" if rng.random() < RATES[kind](len(line.split())) else word
            for word in line.split()
        )
        for line in made_test().references
    ]


def system(name, kind, seeds=(1,)):
    test = made_test()
    outputs = []
    for seed in seeds:
        lines = translations(kind, seed)
        outputs.append(Output(seed, lines, statistics_of(lines, test.references), [Bleu()]))
    return System(name, test, outputs, f"the {name}, labelled")


def findings(*systems, limits=(), plain=()):
    evaluation = evaluate(systems, LENGTHS)
    tests = significance_tests(evaluation)
    return headline(group_tests(evaluation, tests.get("bleu")), limits, plain)


def test_the_story_of_a_falling_system_names_its_tests():
    best, lengths = findings(system("a", "falling"), system("b", "steady"))
    assert best.claim.startswith("“the b, labelled” has the highest BLEU on the whole test set, ")
    assert re.fullmatch(r"paired bootstrap, p .* \(Holm, 4 tests\)", best.test)
    assert lengths.claim.startswith(
        "From 1–10 to 21–30 words, BLEU of “the a, labelled” falls from "
    )
    assert "; BLEU of “the b, labelled” " in lengths.claim
    assert ". “the b, labelled” is ahead of “the a, labelled” " in lengths.claim
    assert re.match(
        r"trend over all lengths: for every ten words more, BLEU of “the b, labelled” divided by "
        r"that of “the a, labelled” grows by \d+% \[\d+, \d+\], ",
        lengths.test,
    )
    assert " (Holm, 1 pair); each length group: paired bootstrap, p " in lengths.test
    for each in (best, lengths):
        assert each.claim.count("[") == each.claim.count("]") >= 1


def test_curves_part_where_the_difference_becomes_real():
    _, lengths = findings(system("a", "steady"), system("b", "parting"))
    assert re.search(
        r"“the a, labelled” is ahead of “the b, labelled” from 11–20 words on, and not before: "
        r"by [\d.]+ \[[\d., ]+\] at 11–20 words and by [\d.]+ \[[\d., ]+\] at 21–30 words$",
        lengths.claim,
    )


def test_without_a_trend_the_best_system_is_ahead_by_so_much():
    _, parting = findings(system("a", "steady"), system("b", "weak"))
    assert re.fullmatch(
        r"“the a, labelled” is ahead of “the b, labelled” in every length group: "
        r"by [\d.]+ \[[\d., ]+\] at 1–10 words(, by [\d.]+ \[[\d., ]+\] at 11–20 words)? "
        r"and by [\d.]+ \[[\d., ]+\] at 21–30 words",
        parting.claim,
    )


def test_curves_that_cross_are_told():
    *_, crossing = findings(system("a", "steady"), system("b", "crossing"))
    assert re.fullmatch(
        r"The curves of “the a, labelled” and “the b, labelled” cross: “the b, labelled” is ahead "
        r"by [\d.]+ \[.*\] at 1–10 words, and behind by [\d.]+ \[.*\] at \d\d–\d\d words",
        crossing.claim,
    )
    for other in ("weak", "falling"):
        told = findings(system("a", "steady"), system("b", other))
        assert not any("cross" in each.claim for each in told)


@pytest.mark.parametrize(
    ("kind", "topic"), [("crossing", "Crossing curves"), ("falling", "By length")]
)
def test_two_systems_are_compared_in_one_sentence(kind, topic):
    """Where their curves cross, that sentence has the test of the trend, too."""
    found = findings(system("a", kind), system("b", "steady"), system("c", "weak"), plain=["a"])
    assert [each.topic for each in found[2:]].count(topic) == 1
    assert found[2].topic == topic
    assert "trend over all lengths: " in found[2].test


def test_lengths_beyond_those_of_training_are_told():
    systems = [system("a", "falling"), system("b", "steady")]
    for limit, is_beyond in ((20, True), (21, False), (30, False)):
        claim = findings(*systems, limits=[limit])[1].claim
        assert (f"21–30 words (training sentences have at most {limit}), " in claim) == is_beyond
        short = findings(*systems, limits=[limit])[1].short
        assert short.startswith("From 1–10 to 21–30 words, BLEU falls by ")


@pytest.mark.parametrize("kinds", [("falling", "steady"), ("weak", "falling", "steady")])
def test_exchanged_scores_exchange_the_sentences(kinds):
    """The names move with the scores, and nothing else of the sentences changes."""
    names = "abc"[: len(kinds)]
    forward = findings(*(system(n, kind) for n, kind in zip(names, kinds, strict=True)))
    turned = findings(*(system(n, kind) for n, kind in zip(reversed(names), kinds, strict=True)))
    exchanged = dict(zip(names, reversed(names), strict=True))

    def moved(claim):
        return re.sub(r"the (\w), labelled", lambda m: f"the {exchanged[m[1]]}, labelled", claim)

    assert [moved(each.claim) for each in forward] == [each.claim for each in turned]
    assert [moved(each.short) for each in forward] == [each.short for each in turned]
    assert [moved(each.test) for each in forward] == [each.test for each in turned]


def test_shuffled_scores_leave_no_sentence_of_a_difference():
    """Each sentence's two translations change sides at random: then the systems are equal."""
    rng = np.random.default_rng(3)
    pair = translations("falling"), translations("steady")
    sides = rng.integers(2, size=len(pair[0]))
    test = made_test()
    systems = []
    for name, turned in (("a", 0), ("b", 1)):
        lines = [pair[side ^ turned][place] for place, side in enumerate(sides)]
        outputs = [Output(1, lines, statistics_of(lines, test.references), [Bleu()])]
        systems.append(System(name, test, outputs))
    assert _no_difference(findings(*systems))


def _no_difference(found):
    [only] = found
    return only.claim.startswith("No system is shown to have a higher BLEU than another: ")


def test_systems_that_are_alike_share_the_first_place():
    found = findings(system("a", "steady"), system("b", "steady"), system("c", "weak"))
    best, *_ = found
    assert best.short.endswith("have the highest BLEU; their order is not shown")
    assert best.claim.startswith("The highest BLEU have “the a, labelled” with ")
    assert "and “the b, labelled” with" in best.claim
    assert "whose order is not shown" in best.claim
    assert "“the c, labelled”, the next" in best.claim


def test_a_system_that_varies_much_is_not_among_the_first():
    steady, crossing = system("a", "steady", (1, 2, 3)), system("b", "crossing", (1, 2, 3))
    nothing = [""] * len(made_test().references)
    failed = [
        Output(seed, nothing, statistics_of(nothing, made_test().references), [Bleu()])
        for seed in (2, 3)
    ]
    varied = System("c", made_test(), [*system("c", "steady").outputs, *failed], "the c, labelled")
    evaluation = evaluate([steady, crossing, varied], LENGTHS)
    tests = significance_tests(evaluation)["bleu"]
    [group] = group_tests(evaluation, tests)
    assert [each.name for each in group.ranked] == ["a", "b", "c"]
    apart = group.test(steady, varied, WHOLE)
    assert apart is not None
    assert not differ(apart)
    best, *_ = headline([group], ())
    assert best.short == "“the a, labelled” has the highest BLEU"


def test_a_difference_that_one_of_two_tests_finds_is_not_told():
    """As the section of the tests says: take such a pair as not told apart."""
    evaluation = evaluate([system("a", "falling"), system("b", "steady")], LENGTHS)
    bleu = significance_tests(evaluation)["bleu"]
    apart = [replace(each, p_randomisation_holm=0.06) for each in bleu.tests]
    assert all(each.p_bootstrap_holm < 0.05 for each in bleu.tests if each.subset == "all")
    found = headline(group_tests(evaluation, replace(bleu, tests=apart)), ())
    assert found[0].claim.startswith("No system is shown to have a higher BLEU than another: ")
    assert not any("is ahead" in each.claim for each in found)


def test_the_answer_gives_both_ends_of_the_curves_that_part():
    found = findings(system("a", "falling"), system("b", "steady"))
    numbers = re.fullmatch(
        r"From 1–10 to 21–30 words, BLEU falls by (\d+)% with “the a, labelled”; "
        r"no fall is shown with “the b, labelled”\.",
        answer(found) or "",
    )
    assert numbers is not None
    ends = re.search(r"falls from ([\d.]+) \[.*?\] to ([\d.]+)", found[1].claim)
    assert ends is not None
    share = 100 * (1 - float(ends[2]) / float(ends[1]))
    assert float(numbers[1]) == pytest.approx(share, abs=1)


def test_a_system_that_translates_nothing_does_not_count_as_robust():
    found = findings(system("a", "falling"), system("b", "steeper"), system("z", "lost"))
    assert found[0].short == "“the a, labelled” has the highest BLEU"
    assert "BLEU of “the b, labelled” falls" in found[1].claim
    assert "BLEU of “the a, labelled” falls" in found[1].claim


def test_the_answer_has_the_largest_fall_first_and_two_of_many_systems():
    kinds = {"a": "steady", "b": "steeper", "c": "falling"}
    few = answer(findings(*(system(name, kind) for name, kind in kinds.items())))
    falls = [int(share) for share in re.findall(r"(\d+)%", few or "")]
    assert falls == sorted(falls, reverse=True)
    assert len(falls) == 2
    many = kinds | dict.fromkeys("def", "weak")
    told = answer(findings(*(system(name, kind) for name, kind in many.items())))
    assert re.findall(r"the (\w), labelled", told or "") == ["b", "a"]


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        (("steeper", "falling"), "The system with attention loses less: {b}."),
        (("steeper", "falling", "steady"), "Both with attention lose less: {b} and {c}."),
        (
            ("falling", "steady", "steeper"),
            "1 of 2 with attention lose less: {b}; not shown for {c}.",
        ),
        (("falling", "steeper"), "No system with attention is shown to lose less: {b}."),
    ],
)
def test_systems_with_attention_are_compared_with_the_one_without(kinds, told):
    systems = [system(name, kind) for name, kind in zip("abc", kinds, strict=False)]
    found = answer(findings(*systems, plain=["a"])) or ""
    start = r"From 1–10 to 21–30 words, “the a, labelled” loses \d+% of its BLEU \([^)]+\)\. "
    shares = {name: rf"“the {name}, labelled” \((\d+%|no clear fall)\)" for name in "bc"}
    assert re.fullmatch(start + told.format(**shares), found), found
    # Nothing of the kind where several systems, or none, have no attention.
    for plain in ((), ["a", "b"]):
        assert "with attention" not in (answer(findings(*systems, plain=plain)) or "")


@pytest.mark.parametrize(("kind", "told"), [("early", True), ("falling", False)])
def test_a_fall_that_ends_early_is_told(kind, told):
    found = answer(findings(system("a", kind), system("b", "steady"), plain=["a"])) or ""
    lost = re.search(r" loses (\d+)% of its BLEU \(([\d.]+) to ([\d.]+)\)", found)
    assert lost
    assert int(lost[1]) == pytest.approx(100 * (1 - float(lost[3]) / float(lost[2])), abs=1)
    assert ("), all of it by 11–20 words. " in found) == told


@pytest.mark.parametrize(("plain", "other"), [("falling", "steady"), ("early", "falling")])
def test_the_answer_rests_on_a_finding_with_intervals_and_tests(plain, other):
    systems = [system("a", plain), system("b", other), system("c", other)]
    found = findings(*systems, plain=["a"], limits=[20])
    [rests] = [each for each in found if f"{each.short}." == answer(found)]
    assert rests.claim.startswith("From 1–10 to 21–30 words (training sentences have at most 20), ")
    for name in "abc":
        assert re.search(rf"of “the {name}, labelled” \w+ .*\[[\d.]+, [\d.]+\]", rests.claim)
    real = other == "steady"
    assert (" grows by " in rests.test) == real
    assert ("no system is shown to keep a larger share" in rests.test) == (not real)
    assert "Holm over 3 pairs" in rests.test
    pair = findings(*systems[:2], plain=["a"], limits=[20])  # one sentence says all of two systems
    assert len([each for each in pair if each.claim.startswith("From 1–10")]) == 1


@pytest.mark.parametrize(("kind", "told"), [("early", True), ("steady", False)])
def test_one_run_says_where_its_largest_clear_fall_is(kind, told):
    *_, by_length = run_headline(evaluate([system("a", kind)], LENGTHS))
    where = "; the largest clear fall is from 1–10 to 11–20 words, by "
    assert (where in by_length.claim) == told
    assert ("clear fall" in by_length.claim) == told


def test_without_curves_that_part_the_answer_names_the_best_system():
    answers = {"weak": "“the a, labelled” has the highest BLEU.", "steady": NOTHING}
    for kind, expected in answers.items():
        assert answer(findings(system("a", "steady"), system("b", kind))) == expected
    assert answer([]) is None


NOTHING = "No system is shown to have a higher BLEU than another."


def test_one_system_alone_has_no_findings():
    assert findings(system("a", "steady")) == []
