"""Comparisons on several corpora, and what a window costs."""

import pytest

from lightning_modules.metrics.word_alignment import Gold
from sweeps.comparison.collect import collect
from sweeps.report.html import render_report
from sweeps.report.report import make_report
from sweeps.report.sections.window_costs import Windows, window_costs
from tests.helpers.run_folders import REPORT, Text, findings_of, make_run, text
from tests.sweeps.comparison.test_conditions import condition

TEXTS = {"0": text(1), "1": text(2)}


def model(window: str, score="general") -> dict:
    attention = {"score": score, "window": window}
    if window != "global":
        attention["half_width"] = 2
    return {"model": {"_target_": "lightning_modules.variants.Recurrent", "attention": attention}}


def run(folder, number, variant, corpus, config, worse=0, **changes):
    """A run on one of two corpora; ``worse`` translations out of ten miss a word."""
    given: Text = TEXTS[corpus]
    hypotheses = [
        " ".join(line.split()[1:]) if place % 10 < worse else line
        for place, line in enumerate(given.references)
    ]
    make_run(
        folder / str(number),
        variant,
        text=given,
        hypotheses=hypotheses,
        overrides=[f"model={variant}", f"data.reordering={corpus}"],
        config=config,
        data={"name": "grammar", "fingerprint": f"f{corpus}"},
        **changes,
    )


@pytest.fixture
def runs(tmp_path):
    for number, corpus in enumerate(("0", "1")):
        run(tmp_path, 2 * number, "free", corpus, model("global"))
        run(tmp_path, 2 * number + 1, "local", corpus, model("local_m"), worse=4)
    return [tmp_path / str(number) for number in range(4)]


@pytest.fixture
def findings(runs):
    return findings_of(runs)


def test_a_crossed_comparison_is_checked_on_each_corpus(tmp_path, runs):
    data = condition(collect(runs), "data")
    assert data.holds
    assert data.text == "on each of 2 corpora alone: fingerprint f0; fingerprint f1"
    assert condition(collect(runs), "data order").holds
    run(tmp_path, 4, "only here", "1", model("global"))  # corpora with other systems: a mistake
    assert not condition(collect([*runs, tmp_path / "4"]), "data").holds


def test_a_broken_condition_of_one_corpus_is_told(tmp_path, runs):
    run(tmp_path, 3, "local", "1", model("local_m"), training={"target_tokens": 7})
    budget = condition(collect(runs), "budget")
    assert not budget.holds
    assert "local" in budget.text


def costs_of(findings, bleu=None):
    return window_costs(findings.evaluation, findings.comparison, bleu)


def test_what_a_window_costs(findings):
    costs = costs_of(findings, findings.significance["bleu"])
    assert [(cost.system.name, cost.without.name) for cost in costs] == [
        (f"local, data.reordering={n}", f"free, data.reordering={n}") for n in "01"
    ]
    for cost in costs:
        assert cost.window == "local-m"
        assert cost.half_width == 2
        assert cost.cost is not None
        assert cost.bleu is not None
        assert cost.bleu_without is not None
        assert cost.cost.value == pytest.approx(cost.bleu_without.value - cost.bleu.value)
        assert cost.cost.low is not None
        assert 0 < cost.cost.low < cost.cost.value
        assert cost.p is not None
        assert cost.p < 0.05
    assert all("costs" in line and "D = 2" in line for line in Windows(findings).lines)


def test_links_out_of_reach_are_counted(findings):
    for group in findings.evaluation.groups:
        test = group.systems[0].test
        sentences = len(test.references)
        test.gold = [Gold.of([(0, 0), (5, 2)]) for _ in range(sentences)]
    costs = costs_of(findings)
    assert [cost.out_of_reach for cost in costs] == [50, 50]
    assert [cost.cost for cost in costs] == [None, None]


def test_other_scores_are_no_pair(tmp_path):
    run(tmp_path, 0, "free", "0", model("global", score="dot"))
    run(tmp_path, 1, "local", "0", model("local_m", score="general"))
    assert costs_of(findings_of([tmp_path / "0", tmp_path / "1"])) == []


@pytest.mark.long
def test_the_page_has_a_figure_for_each_corpus(findings):
    report = make_report(findings, REPORT)
    assert {"bleu_by_length", "bleu_by_length_2"} <= set(report.figures)
    assert "windows" in report.tables
    page = render_report(report)
    assert 'data-figure="bleu_by_length_2"' in page
    assert "What a window costs" in page
