"""The section on the corpora: once for each corpus, in every form; nothing for old runs."""

import io

import pytest
from rich.console import Console

from sweeps.report.html import render_report
from sweeps.report.report import make_report
from sweeps.report.sections.data import Corpora
from sweeps.report.wandb_comparison import report_sections
from sweeps.tasks.compare import build_comparison
from tests.helpers.made_text import corpus
from tests.helpers.pages import without_pictures
from tests.helpers.run_folders import REPORT, SCORING, make_run

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Three runs of one corpus, one with other batches; a run of another corpus; an old run."""
    folder = tmp_path_factory.mktemp("runs")
    runs = [
        make_run(folder / "0", "luong", 1, data=corpus("a" * 12)),
        make_run(folder / "1", "luong", 2, data=corpus("a" * 12)),
        make_run(folder / "2", "none", 1, data=corpus("a" * 12, padding=0.125)),
        make_run(folder / "3", "none", 2, data=corpus("b" * 12, cleaned=False)),
        make_run(folder / "4", "bahdanau", 2),
    ]
    with without_pictures():
        return build_comparison(runs, folder / "out", SCORING, REPORT), folder / "out"


def test_tables_hold_every_corpus_once(report):
    tables = report[0].tables
    corpora = tables["corpora"]
    keys = [column.key for column in corpora.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in corpora.rows]
    assert [(row["fingerprint"], row["source_padding"]) for row in rows] == [
        ("a" * 12, 25.0), ("a" * 12, 12.5), ("b" * 12, 25.0),
    ]  # fmt: skip
    assert rows[0]["pairs_per_second"] == 2.0
    assert {"corpus_splits", "corpus_splits_2", "corpus_cleaning"} <= tables.keys()
    assert "corpus_cleaning_2" not in tables
    assert tables["corpus_cleaning"].rows == [
        ["longer than 50 words", "train", "left out", 20, 15, 75.0, None, None],
        ["came before", "train", "left out", 5, 2, 40.0, 10.0, "“<b>a</b>”; “b”"],
    ]
    row = tables["corpus_splits"].rows[0]
    assert row[:7] == ["train", "en", 3, 37, 9, 40, 5.0]
    assert row[7:] == [pytest.approx(37 / 3), 5, 30, 30, pytest.approx(40 / 3), 6, 31, 31]


def test_files_page_terminal_and_wandb_have_the_section(report):
    made, out = report
    for name in ("length_histogram", "length_histogram_2"):
        assert (out / "figures" / f"{name}.svg").is_file()
    page = (out / "report.html").read_text("utf-8")
    assert page.count("<h2>Data</h2>") == 1
    assert page.count('data-figure="length_histogram') == 2
    assert page.count('<table id="corpus_splits') == 2
    assert "<b>a</b>" not in page.partition("<h2>Data</h2>")[2].partition("<h2>")[0]
    [part] = [each for each in made.parts if isinstance(each.section, Corpora)]
    console = Console(width=80, record=True, file=io.StringIO())
    for each in part.printed():
        console.print(each)
    printed = console.export_text()
    assert printed.count("Sentences of grammar") == 2
    assert max(map(len, printed.splitlines())) <= 80
    [section] = [each for each in report_sections(made) if each.heading == "Data"]
    assert section.figures == ["length_histogram", "length_histogram_2"]
    assert section.tables == ["corpora", "corpus_splits", "corpus_cleaning", "corpus_splits_2"]


@pytest.mark.exhaustive
def test_old_runs_have_no_section(tmp_path):
    made = build_comparison([make_run(tmp_path / "0")], tmp_path / "out", SCORING, REPORT)
    again = make_report(made.findings, REPORT)
    assert "<h2>Data</h2>" not in render_report(again)
    [section] = [each for each in report_sections(again) if each.heading == "Data"]
    assert not any(section[1:])
