"""Findings depend neither on the order of systems nor on earlier files."""

import json
from dataclasses import replace

import pytest

from lightning_modules.metrics.systems import System
from sweeps.comparison.collect import Comparison, collect
from sweeps.comparison.evaluation import RESAMPLES_FOR_A_TEST, evaluate
from sweeps.report.findings import Findings
from sweeps.report.publish import write_files
from sweeps.report.report import make_report
from tests.helpers.run_folders import REPORT, SCORING, TEXT, make_run, translations, unsealed

NOTHING = Comparison([], [], [])


@pytest.fixture
def undrawn(monkeypatch):
    """Draw no pictures, which take most of the time."""
    monkeypatch.setattr("sweeps.report.report.Part.figures", {})


def systems_of(comparison):
    return [variant.system for variant in comparison.variants]


def report_of(*folders):
    findings = Findings("x", evaluate(systems_of(collect(folders)), SCORING), NOTHING)
    return make_report(findings, REPORT)


def test_every_test_of_many_systems_can_be_significant(tmp_path):
    """No p-value is below 1 / (resamples + 1), and Holm multiplies the smallest by the tests."""
    [good] = systems_of(collect([make_run(tmp_path / "0", hypotheses=TEXT.references)]))
    [bad] = systems_of(collect([make_run(tmp_path / "1", hypotheses=["x"] * len(TEXT.references))]))
    several = [
        System(f"{kind} {number}", good.test, system.outputs)
        for kind, system in (("good", good), ("bad", bad))
        for number in range(4)
    ]
    scoring = SCORING.model_copy(update={"resamples": 100})
    evaluation = evaluate(several, scoring)
    table = make_report(Findings("x", evaluation, NOTHING), REPORT).tables["bleu_significance"]
    keys = [column.key for column in table.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
    assert evaluation.draws.count == RESAMPLES_FOR_A_TEST * len(rows) > 100
    assert table.origin["resamples"] == evaluation.draws.count
    for row in rows:
        differ = str(row["first"]).split()[0] != str(row["second"]).split()[0]
        for method in ("p_bootstrap_holm", "p_randomisation_holm"):
            p = row[method]
            assert isinstance(p, float)
            assert (p < 0.05) == differ


def test_few_tests_take_the_resamples_that_were_asked_for(tmp_path):
    runs = [make_run(tmp_path / "0", "none"), make_run(tmp_path / "1", "luong")]
    scoring = SCORING.model_copy(update={"resamples": 5000})
    assert evaluate(systems_of(collect(runs)), scoring).draws.count == 5000


def test_only_its_own_earlier_files_are_removed(tmp_path, undrawn):
    two = [make_run(tmp_path / "0", "none"), make_run(tmp_path / "1", "luong")]
    out = tmp_path / "out"
    write_files(report_of(*two), {}, out)
    assert (out / "tables" / "bleu_significance.csv").is_file()
    for kind in ("tables", "figures"):
        (out / kind).mkdir(exist_ok=True)
        (out / kind / "mine.png").write_text("kept")
    write_files(report_of(two[0]), {}, out)
    assert not (out / "tables" / "bleu_significance.csv").exists()
    assert (out / "tables" / "scores.csv").is_file()
    assert (out / "tables" / "mine.png").read_text() == "kept"
    assert (out / "figures" / "mine.png").read_text() == "kept"


def test_the_order_of_runs_does_not_move_words_between_groups(tmp_path):
    """The runs were trained on other texts: words that both know have the first run's counts."""
    first = make_run(tmp_path / "0", "none")
    hypotheses = translations(TEXT.references, "none")
    second = unsealed(make_run(tmp_path / "1", "luong", hypotheses=hypotheses))
    content = json.loads((second / "word_counts.json").read_text())
    content["target"] = dict.fromkeys(content["target"], 5000) | {"new": 7}
    (second / "word_counts.json").write_text(json.dumps(content))
    [test] = {
        id(system.test): system.test for system in systems_of(collect([first, second]))
    }.values()
    counts = json.loads((first / "word_counts.json").read_text())["target"]
    assert test.reference_counts == {"new": 7} | {**content["target"], **counts}


def test_what_a_test_set_lacks_comes_from_the_runs(tmp_path):
    [system] = systems_of(collect([make_run(tmp_path / "0")]))
    whole = system.test
    bare = replace(whole, gold=None, reference_counts=None)
    bare.complete(whole)
    assert bare.gold == whole.gold
    assert bare.reference_counts == whole.reference_counts
    given = replace(whole, reference_counts={"a": 1})
    given.complete(replace(whole, reference_counts={"a": 2, "b": 3}))
    assert given.reference_counts == {"a": 1, "b": 3}


def test_alignment_tables_tell_the_step(tmp_path):
    runs = [
        make_run(tmp_path / step, step, config={"scoring": {"attention_step": step}})
        for step in ("predicted", "read")
    ]
    tables = report_of(*runs).tables
    assert tables["aer_by_length"].origin["attention step"] == "predicted/read"
    assert "attention step" not in tables["bleu_by_length"].origin
    assert (
        "attention step" not in report_of(make_run(tmp_path / "0", "none")).tables["scores"].origin
    )
