"""Baselines of a comparison: in tables and figures, but not among the systems."""

import io

import pytest
from rich.console import Console

from sweeps.comparison.collect import collect
from sweeps.comparison.evaluation import evaluate
from sweeps.comparison.score_tables import by_length, score_tables
from sweeps.report.findings import Findings
from sweeps.report.report import make_report
from sweeps.report.sections.curves import length_lines
from sweeps.report.terminal import print_report
from tests.helpers.run_folders import REPORT, SCORING, TEXT, make_run, text, translations

PHRASES = translations(TEXT.references, "phrases")
WORSE = translations(TEXT.references, "none", 9)


@pytest.fixture
def findings_of(tmp_path):
    """Return the findings of runs; each gives the arguments of ``make_run``."""

    def findings(*runs, scoring=SCORING):
        folders = [make_run(tmp_path / str(n), **run) for n, run in enumerate(runs)]
        comparison = collect(folders)
        evaluation = evaluate([variant.system for variant in comparison.variants], scoring)
        return Findings("a sweep", evaluation, comparison)

    return findings


def names(systems):
    return [system.name for system in systems]


def run(variant="none", phrase_table=PHRASES, **more):
    return {"variant": variant, "phrase_table": phrase_table, **more}


def test_baselines_are_no_systems(findings_of):
    found = findings_of(run(), run("luong"))
    assert names(found.evaluation.systems) == ["none", "luong"]
    assert names(found.evaluation.baselines) == ["phrase table", "copy"]
    tests = [each.test for each in found.significance["bleu"].tests]
    assert {(test.first, test.second) for test in tests} == {("none", "luong")}
    assert "phrase table" not in found.every_seed


def test_scores_of_systems_are_the_same_without_baselines(findings_of):
    with_baselines = findings_of(run(), run("luong")).evaluation
    for output in (output for system in with_baselines.systems for output in system.outputs):
        object.__setattr__(output, "phrase_table", None)
    without = evaluate(with_baselines.systems, SCORING)
    assert without.baselines == []
    for system in without.systems:
        for bounds in (None, *without.bounds):
            for metric in ("bleu", "exact", "ter"):
                assert without.estimate(system, bounds, metric) == with_baselines.estimate(
                    system, bounds, metric
                )


def test_tables_have_baselines_last_and_without_seeds(findings_of):
    evaluation = findings_of(run(), run("luong")).evaluation
    bleu, exact, ter = (
        next(each for each in evaluation.metrics if each.name == name)
        for name in ("bleu", "exact", "ter")
    )
    whole, attention = score_tables(evaluation)
    for table in (whole, by_length(evaluation, bleu), by_length(evaluation, exact)):
        assert [row[:2] for row in table.rows[2:]] == [["phrase table", None], ["copy", None]]
        assert "Baselines without a model" in table.note
    for table in (attention, by_length(evaluation, ter)):
        assert [row[0] for row in table.rows] == ["none", "luong"]
        assert "Baselines" not in table.note


def test_buckets_are_those_of_the_comparison(findings_of):
    scoring = SCORING.model_copy(update={"edges": [5, 30]})
    evaluation = findings_of(run(), scoring=scoring).evaluation
    table, copy = evaluation.baselines
    for bounds in evaluation.bounds:
        assert evaluation.estimate(table, bounds, "bleu") is not None
        estimate = evaluation.estimate(copy, bounds, "exact")
        assert estimate is not None
        assert estimate.value < 10


def test_the_figure_has_a_dashed_line_with_a_name_for_each(findings_of):
    evaluation = findings_of(run(), run("luong")).evaluation
    lines = length_lines(evaluation, evaluation.metrics[0], "container")
    marks = [layer.to_dict()["mark"] for layer in lines.others]
    assert sum("strokeDash" in mark for mark in marks) == 2
    named = [mark["text"] for mark in marks if mark["type"] == "text" and "color" in mark]
    assert named == ["phrase table", "copy"]
    [aer] = [each for each in evaluation.metrics if each.name == "aer"]
    assert length_lines(evaluation, aer, "container").others == []


def test_the_terminal_shows_them_in_80_columns(findings_of):
    found = findings_of(run(), run("luong"))
    console = Console(width=80, record=True, file=io.StringIO())
    print_report(make_report(found, REPORT), console)
    shown = console.export_text()
    lines = [line.split() for line in shown.splitlines()]
    assert any(line[:3] == ["phrase", "table", "–"] for line in lines)
    assert "Baselines without a model" in shown
    assert ["system", "seed", "BLEU", "1–10", "11–20", "21–30*", "EM", "AER"] in lines


def test_runs_of_earlier_versions_have_none(findings_of):
    assert findings_of({"variant": "none"}).evaluation.baselines == []


def test_other_training_text_has_another_phrase_table(findings_of):
    found = findings_of(run(), run("luong", WORSE), run("transformer", WORSE))
    assert names(found.evaluation.baselines) == [
        "phrase table of none", "phrase table of luong", "copy of none",
    ]  # fmt: skip


def test_each_test_set_has_its_own(findings_of):
    other = text(5)
    lines = translations(other.references, "phrases")
    found = findings_of(run(), run("luong", lines, text=other))
    baselines = found.evaluation.baselines
    assert names(baselines) == [
        "phrase table of none", "copy of none", "phrase table of luong", "copy of luong",
    ]  # fmt: skip
    assert [each.test.references[0] for each in baselines[::2]] == [
        TEXT.references[0], other.references[0],
    ]  # fmt: skip


def test_a_system_may_have_the_name_of_a_baseline(findings_of):
    evaluation = findings_of(run("copy")).evaluation
    assert names(evaluation.baselines) == ["phrase table", "copy #2"]
    system = evaluation.estimate(evaluation.systems[0], None, "bleu")
    copy = evaluation.estimate(evaluation.baselines[1], None, "bleu")
    assert system is not None
    assert copy is not None
    assert system.value > 10 > copy.value
