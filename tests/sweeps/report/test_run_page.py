"""The page of one run: what the run has recorded, in the sections of a comparison's page."""

import re
from itertools import pairwise

import numpy as np
import pytest
from omegaconf import OmegaConf

from datamodules.nearest_copy import NEAREST_COPY
from lightning_modules.metrics.sentences import typical_by_length
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.runs.schema import HistoryPoint
from lightning_modules.testing.scoring import PHRASE_TABLE, baselines_of_run
from sweeps.comparison.evaluation import evaluate
from sweeps.report.findings import Findings
from sweeps.report.html import render_report
from sweeps.report.report import make_report
from sweeps.report.run_page import report_of_run, write_run_page
from sweeps.report.sections.attention_over_training import moment, thinned
from sweeps.report.sections.example_sentences import SideBySide
from sweeps.report.sections.sentence_table import SentenceTable
from tests.helpers.made_text import statistics_of
from tests.helpers.pages import (
    HEADS,
    HOSTILE,
    HOSTILE_TEXT,
    WORDS,
    all_drawn,
    needs_axe,
    screen,
    serious_violations,
    texts,
)
from tests.helpers.refusals import refused
from tests.helpers.run_folders import (
    REPORT,
    SCORING,
    TEXT,
    attention_history,
    findings_of,
    make_failure,
    make_run,
    result,
    translations,
)

CONFIG = OmegaConf.create({"report": REPORT.model_dump()})
MOST_BYTES = 1_000_000
ALARMS = [
    {"kind": "below", "text": "BLEU 12.3 at 1–10 words, phrase table 45.6"},
    {"kind": "rising", "text": "validation BLEU rose 14% over the last fifth"},
]


def rising(share):
    """A training whose loss falls, and whose last fifth added this share of its BLEU."""
    return {**result()["training"], "convergence": {"fall": 0.3, "last_fifth_bleu": share}}


def curve(validations=5):
    return [
        HistoryPoint(
            target_tokens=1000 * place,
            seconds=2.5 * place,
            train_loss=4 / place,
            val_loss=5 / place,
            val_bleu=60 - 40 / place,
            attention_spread=0.9 / place,
            learning_rate=0.004 * (1 - place / validations),
            gradient_norm=2 / place,
        )
        for place in range(1, validations + 1)
    ]


def scored(phrases=(), aer=None, **more):
    """Return the scores that a run of ``make_run`` records; ``phrases`` are the phrase table's."""
    lines = translations(TEXT.references, "luong", 1)
    output = Output(1, lines, dict(statistics_of(lines, TEXT.references)))
    system = System("luong", EvalSet(TEXT.references, TEXT.sources), [output])
    evaluation = evaluate([system], SCORING)
    [group], metrics = evaluation.groups, evaluation.metrics
    known = {each.name: evaluation.estimate(system, None, each.name) for each in metrics}
    tables = {
        PHRASE_TABLE: phrases or translations(TEXT.references, "none", 5),
        NEAREST_COPY: TEXT.sources,
    }
    baselines = baselines_of_run(system.test, tables, metrics, group.buckets)
    return {
        "scores": {name: each.value for name, each in known.items() if each}
        | ({} if aer is None else {"aer": aer}),
        "intervals": {name: (each.low, each.high) for name, each in known.items() if each},
        "baselines": {name: each.model_dump() for name, each in baselines.items()},
        **more,
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    made = scored(alarms=ALARMS, suspicions=["it looks odd"])
    return make_run(
        folder, "luong", history=curve(), attention_history=attention_history(5), **made
    )


@pytest.fixture(scope="module")
def report(run):
    return report_of_run(run, REPORT)


def test_recorded_scores_are_those_of_an_evaluation(run, report):
    ours, whole = report.findings.evaluation, findings_of([run]).evaluation
    [system], [theirs] = ours.systems, whole.systems
    assert ours.bounds == whole.bounds
    for bounds in (None, *whole.bounds):
        assert ours.sentences(bounds) == whole.sentences(bounds)
        for metric in ("bleu", "exact", "chrf"):
            mine = ours.estimate(system, bounds, metric)
            other = whole.estimate(theirs, bounds, metric)
            assert mine is not None
            assert other is not None
            assert mine.value == pytest.approx(other.value, abs=1e-4)
            if metric == "bleu" or bounds is None:
                assert (mine.low, mine.high) == pytest.approx((other.low, other.high), abs=1e-4)
    assert [each.label for each in ours.baselines] == ["phrase table", "nearest copy"]


def test_the_page_has_what_a_run_is_asked_for(run):
    page = write_run_page(CONFIG, run)
    text = (run / "report.html").read_text(encoding="utf-8")
    assert page.html == text
    assert len(text.encode()) < MOST_BYTES
    for words in (
        "Too little learned",
        "On short sentences worse than a translation without a model:",
        "BLEU is ",
        "Ten translations, from short to long",
        "Size and speed",
        "python run.py model=luong seed=1",
        "it looks odd",
        "learning rate",
        "How attention forms",
    ):
        assert words in text
    for figure in ("bleu_by_length", "learning_rate_by_target_tokens"):
        assert f'data-figure="{figure}"' in text
    for several in (
        "fair comparison",
        "of each system",
        "conditions hold",
        "by_seconds",
        "Runs</dt>",
    ):
        assert several not in text
    assert not (run / "tables").exists()
    assert not list(run.glob("*.part*"))


def test_a_comparison_of_one_is_the_page_of_the_run(run, report):
    """The numbers of the one are drawn again, those of the other recorded."""
    compared = make_report(findings_of([run]), REPORT)
    assert [part.name for part in compared.parts] == [part.name for part in report.parts]
    assert set(compared.tables) == set(report.tables)
    assert set(compared.page_specs) == set(report.page_specs)


def test_ten_translations_go_from_short_to_long(report):
    [part] = [part for part in report.parts if part.name == "translations"]
    cards = part.section.cards
    lengths = [len(card.source.split()) for card in cards]
    assert len(cards) == 10
    assert lengths == sorted(lengths)
    assert all(card.translations[0].heat_map for card in cards)


def test_typical_sentences_have_the_median_score_of_their_part():
    rng = np.random.default_rng(0)
    lengths, scores = rng.integers(1, 60, 103), rng.uniform(0, 100, 103)
    numbers = typical_by_length(lengths, scores)
    parts = np.array_split(np.argsort(lengths, kind="stable"), 10)
    for number, part in zip(numbers, parts, strict=True):
        below = (scores[part] < scores[number]).sum()
        assert below == (len(part) - 1) // 2
        assert number in part
    assert typical_by_length([3, 1, 2], [0, 0, 0]) == [1, 2, 0]
    assert typical_by_length([], []) == []


def formed(report):
    [part] = [part for part in report.parts if part.name == "attention_over_training"]
    return part.section.sentences


def test_the_page_has_the_attention_at_each_validation(report):
    kept = attention_history(5)
    sentences = formed(report)
    assert [each["map"]["target"][0][2:] for each in sentences] == [
        each.target.split()[0] for each in kept.sentences
    ]
    for shown, sentence in zip(sentences, kept.sentences, strict=True):
        weights = np.array([step["weights"] for step in shown["steps"]]) / 1000
        assert weights == pytest.approx(sentence.weights, abs=1.5e-3)
        assert shown["steps"][-1]["at"] == "after 5,000 target tokens, validation BLEU 52.0"
    assert moment(7, []) == "validation 7"


def test_a_page_leaves_out_validations_before_it_is_too_large(monkeypatch):
    steps = [{"at": f"{number}", "weights": [[0] * 10] * 10} for number in range(7)]
    sentences = [{"name": "a", "steps": steps}, {"name": "b", "steps": steps}]
    for most, left in ((1400, "0123456"), (1399, "0246"), (500, "036"), (1, "6")):
        monkeypatch.setattr("sweeps.report.sections.attention_over_training.MOST_WEIGHTS", most)
        for each in thinned(sentences):
            assert "".join(step["at"] for step in each["steps"]) == left


def test_a_run_without_attention_over_its_training_has_no_slider(tmp_path):
    bare = report_of_run(make_run(tmp_path / "0"), REPORT)
    assert formed(bare) == []
    assert 'id="formed"' not in render_report(bare)


def test_learning_curves_need_what_a_run_has_recorded(tmp_path):
    old = [point.model_copy(update={"learning_rate": None}) for point in curve()]
    made = make_run(tmp_path / "0", history=old)
    figures = report_of_run(made, REPORT).page_specs
    learning = [name for name in figures if name.startswith("learning")]
    assert learning == [
        f"learning_{what}_by_target_tokens" for what in ("bleu", "loss", "gradient")
    ]
    bare = report_of_run(make_run(tmp_path / "1", "none"), REPORT)
    assert "learning" not in "".join(bare.page_specs)
    assert render_report(bare)


@pytest.mark.parametrize(("table", "ahead"), [(TEXT.references, True), (["x"], False)])
def test_the_answer_about_a_run_names_a_translation_without_a_model_that_is_better(
    run, tmp_path, table, ahead
):
    lines = table * (len(TEXT.references) // len(table))
    with_table = scored(phrases=lines)
    made = make_run(tmp_path / "0", "luong", **with_table)
    answer = str(report_of_run(made, REPORT).findings.answer)
    assert (" (100.0 for the phrase table, without a model), and " in answer) == ahead


def test_the_page_has_every_sentence_or_evenly_spaced_ones(run, report, monkeypatch):
    def shown(of):
        [section] = [each.section for each in of.parts if isinstance(each.section, SentenceTable)]
        return section.shown

    assert shown(report) == list(range(len(TEXT.references)))
    monkeypatch.setattr("sweeps.report.sections.sentence_table.MOST_ALONE", 5)
    assert shown(report_of_run(run, REPORT)) == [
        place * len(TEXT.references) // 5 for place in range(5)
    ]


def test_the_alignment_error_stands_next_to_the_maps(tmp_path):
    """The lowest first; a run without attention has none."""
    error = make_run(tmp_path / "0", "luong", **scored(aer=12.34))
    told = "Alignment error on the whole test set, 0% if all links are right: 12.3%."
    assert told in render_report(report_of_run(error, REPORT))
    runs = [make_run(tmp_path / name, name) for name in ("none", "transformer", "luong")]
    found = findings_of(runs)
    [part] = [part for part in make_report(found, REPORT).parts if part.name == "sentences"]
    errors = {
        each.label: found.evaluation.mean(each, None, "aer") for each in found.evaluation.systems
    }
    assert errors.pop("none") is None
    lowest, other = sorted(errors, key=lambda each: errors[each] or 0)
    told = f": {errors[lowest]:.1f}% for “{lowest}” and {errors[other]:.1f}% for “{other}”."
    assert isinstance(part.section, SideBySide)
    best = found.group_tests[0].ranked[0].label
    assert told in str(part.section.errors)
    assert (f"not that of “{best}”" in str(part.section.errors)) == (best == other)


def test_several_runs_are_no_run_alone(tmp_path):
    runs = [make_run(tmp_path / "0"), make_run(tmp_path / "1", "luong")]
    assert not findings_of(runs).alone
    assert not findings_of([runs[0], make_failure(tmp_path / "2")]).alone
    assert findings_of(runs[:1]).alone


def test_a_folder_without_a_result_is_refused(tmp_path):
    with refused(f"runs={tmp_path}: has no result; name a finished run"):
        write_run_page(CONFIG, tmp_path)


@pytest.mark.long
def test_a_tracker_gets_the_pictures_that_it_cannot_draw(run):
    pictures = write_run_page(CONFIG, run).draw()
    assert "95% bootstrap" in pictures["bleu_by_length"].caption
    assert "means over seeds" not in pictures["failures_by_length"].caption  # there is one
    assert not any(name.startswith("learning") for name in pictures)
    for name, picture in pictures.items():
        assert picture.png.startswith(b"\x89PNG")
        about = "Share of the translations" if "failures" in name else "95% bootstrap"
        assert about in picture.caption


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """The browser with the page of a hostile run, all charts drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    lines = translations(HOSTILE_TEXT.references, "luong", 1)
    lines[0] = HOSTILE_TEXT.references[0]
    folder = make_run(
        tmp_path_factory.mktemp("hostile"),
        HOSTILE[0],
        text=HOSTILE_TEXT,
        hypotheses=lines,
        heads=HEADS,
        history=curve(),
        attention_history=attention_history(5, HOSTILE_TEXT),
        alarms=[{"kind": "alike", "text": HOSTILE[0]}],
    )
    write_run_page(CONFIG, folder)
    browser.get_log("browser")
    browser.get((folder / "report.html").as_uri())
    WebDriverWait(browser, 60, poll_frequency=0.1).until(all_drawn)
    return browser


@pytest.mark.long
@pytest.mark.chromium
def test_every_chart_is_drawn_and_no_hostile_word_runs(opened):
    drawn = "return [...document.querySelectorAll('.chart')].map(e => e.dataset.name)"
    names = opened.execute_script(drawn)
    assert {"bleu_by_length", "learning_gradient_by_target_tokens"} <= set(names)
    assert any(name.startswith("attention-") for name in names)
    assert opened.get_log("browser") == []
    assert HOSTILE[0] in " ".join(texts(opened, "#too-little-learned bdi"))
    assert len(texts(opened, ".translations > li")) == 10
    script = "return [...document.querySelectorAll('h1, h2, h3')].map(e => Number(e.localName[1]))"
    levels = opened.execute_script(script)
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def formed_weights(browser):
    script = """const place = document.querySelector('#formed .chart');
        return [...place.querySelectorAll('.layer_0_marks path')]
            .map(path => path.__data__.datum.weight)"""
    return browser.execute_script(script)


@pytest.mark.long
@pytest.mark.chromium
def test_a_slider_goes_through_the_validations(opened):
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait

    section = opened.find_element("id", "formed")
    slider, output, play = (
        section.find_element("css selector", kind) for kind in ("input", "output", "[data-play]")
    )
    wait = WebDriverWait(opened, 30, poll_frequency=0.05)
    kept = attention_history(5, HOSTILE_TEXT).sentences[0].weights

    def drawn(place):
        expected = pytest.approx(kept[place].ravel(), abs=1.5e-3)
        wait.until(lambda _: formed_weights(opened) == expected)
        at = f"after {place + 1},000 target tokens, validation BLEU"
        assert output.text.startswith(at)
        assert slider.get_attribute("aria-valuetext") == output.text

    drawn(4)
    slider.send_keys(Keys.ARROW_LEFT)
    drawn(3)
    slider.send_keys(Keys.HOME)
    drawn(0)
    name = "return document.querySelector('#formed .chart').ariaLabel"
    assert f"Most weight: {WORDS[0]} on {WORDS[0]} (0.05)" in opened.execute_script(name)
    play.click()
    assert play.text == "Pause"
    wait.until(lambda _: play.text == "Play")
    drawn(4)
    Select(section.find_element("css selector", "select")).select_by_index(1)
    other = attention_history(5, HOSTILE_TEXT).sentences[1].weights[4]
    expected = pytest.approx(other.ravel(), abs=1.5e-3)
    wait.until(lambda _: formed_weights(opened) == expected)
    assert opened.get_log("browser") == []


@needs_axe
@pytest.mark.chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_the_page_of_a_run(opened, scheme):
    with screen(opened, scheme=scheme):
        assert serious_violations(opened) == []


@pytest.mark.long
@pytest.mark.chromium
@pytest.mark.parametrize("width", [390, 768, 1400])
def test_the_page_of_a_run_needs_no_sideways_scrolling(opened, width):
    with screen(opened, width=width):
        content = opened.execute_script("return document.documentElement.scrollWidth")
    assert content <= width


def test_a_page_opens_with_what_is_alarming_and_says_more_after_the_first_figure(tmp_path):
    runs = [
        make_run(tmp_path / "0", "none", alarms=ALARMS, training=rising(0.14)),
        make_run(tmp_path / "1", "luong", alarms=ALARMS[1:], training=rising(0.2)),
        make_run(tmp_path / "2", "bahdanau"),
    ]
    findings: Findings = findings_of(runs)
    alarms = findings.alarms
    assert alarms is not None
    assert alarms.title == "1 of 3 training runs has learned too little"
    assert alarms.in_short == "on short sentences worse than a translation without a model"
    assert alarms.improving == (
        "2 of 3 training runs were still improving when they ended: over the last fifth, "
        "validation BLEU rose by 14% to 20% of its last value; over the last half, the validation "
        "loss fell by 30%. Train longer to be sure."
    )
    page = render_report(make_report(findings, REPORT))
    opening = ("care", "answer", "section-bleu_by_length", "facts", "too-little-learned")
    places = [page.index(f'id="{id}"') for id in opening]
    assert places == sorted(places)
    [care] = re.findall(r'id="care">(.*?)</p>', page, re.DOTALL)
    assert '<a href="#too-little-learned">1 of 3 training runs has learned too little</a>' in care
    assert '<a href="#still-improving">2 of 3 training runs were still improving' in care
    assert "none, seed 1 (BLEU 12.3 at 1–10 words, phrase table 45.6)" in page
    [summary] = [part for part in make_report(findings, REPORT).parts if part.name == "summary"]
    assert summary.lines[0] == alarms.title
    assert summary.lines[2] == alarms.improving


def test_the_advice_has_twice_the_budget_where_all_runs_have_the_same(tmp_path):
    def advice(*amounts):
        budgets = ({"kind": "target_tokens", "target_tokens": amount} for amount in amounts)
        runs = [
            make_run(tmp_path / f"{amounts}{n}", "none", n, alarms=ALARMS, config={"budget": each})
            for n, each in enumerate(budgets)
        ]
        alarms = findings_of(runs).alarms
        assert alarms is not None
        return alarms.advice

    assert "train longer with budget.target_tokens=800_000, or" in advice(400_000, 400_000)
    assert "train longer, or with another optimizer.lr" in advice(400_000, 200_000)


def test_a_training_that_still_improves_is_told_once(tmp_path):
    training = rising(0.2)
    runs = [
        make_run(tmp_path / "0", "none", training=training, alarms=ALARMS[1:]),
        make_run(tmp_path / "1", "luong", training=training),
    ]
    findings = findings_of(runs)
    assert findings.alarms is not None
    assert str(findings.alarms.improving).startswith(
        "2 of 2 training runs were still improving when they ended: over the last fifth, "
        "validation BLEU rose by 20% of its last value (1 of them); over the last half, the "
    )
    page = render_report(make_report(findings, REPORT))
    assert 'id="too-little-learned"' not in page  # a line, no card
    assert page.count(str(findings.alarms.improving)) == 1
