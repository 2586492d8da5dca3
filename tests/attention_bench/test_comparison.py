"""Comparisons in Python: the tables of ``task=compare``, and no file until one asks for them."""

import csv

import pytest

import attention_bench as ab
from sweeps.report.findings import ONE_TRAINING
from sweeps.tasks.compare import build_comparison
from tests.helpers.pages import without_pictures
from tests.helpers.refusals import refused
from tests.helpers.run_folders import REPORT, SCORING, make_failure, make_run

GIVEN = ["scoring.edges=[10,20,30]", "scoring.resamples=200", "scoring.metrics=[bleu,exact]"]


@pytest.fixture(scope="module")
def runs(space):
    return [make_run(space / name, name) for name in ("none", "luong")]


@pytest.fixture(scope="module")
def comparison(runs):
    return ab.compare([ab.load(runs[0]), str(runs[1])], *GIVEN)


def test_tables_are_those_of_the_command(runs, comparison, space):
    scoring = SCORING.model_copy(update={"metrics": ["bleu", "exact"]})
    with without_pictures():
        build_comparison(runs, space / "out", scoring, REPORT)
    assert {file.stem for file in (space / "out" / "tables").glob("*.csv")} == set(
        comparison.tables
    )
    for name, frame in comparison.tables.items():
        with (space / "out" / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            written = [row for row in csv.reader(file) if not row[0].startswith("#")]
        assert list(frame.columns) == written[0][: len(frame.columns)]  # then comes the origin
        assert len(frame) == len(written) - 1


def test_findings_cautions_and_figure_are_shown(comparison):
    assert comparison.findings
    one_seed = ONE_TRAINING.format("Every system has")
    assert any(each.startswith(one_seed) for each in comparison.cautions)
    assert "bleu_by_length" in comparison.charts
    shown = comparison._repr_html_()
    assert shown.count("<img ") == 1
    assert shown.startswith("<ul><li>")
    assert one_seed in shown


def test_files_are_written_on_request(comparison, space, monkeypatch):
    monkeypatch.setattr("sweeps.report.publish.vega", str)
    monkeypatch.setattr("sweeps.report.publish.render_report", lambda report: "")
    with without_pictures():
        out = comparison.save(space / "saved")
    assert {"comparison.json", "bleu_by_length.csv", "tables"} <= {p.name for p in out.iterdir()}


def test_what_cannot_be_compared_is_refused(runs, space):
    with refused("runs: give a list of runs or folders"):
        ab.compare(str(runs[0]))
    with refused("is not a run and holds none"):
        ab.compare([space / "nothing"], *GIVEN)
    with refused("the loss is not a number; leave the run out"):
        ab.compare([*runs, make_failure(space / "failed")], *GIVEN)
    with refused("scoring.edges"):
        ab.compare(runs, "scoring.edges=[20,10]")
