"""``comparison.json`` reads back as it was written."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_modules.runs.files import BrokenFileError, write_record
from lightning_modules.runs.schema import SCHEMA, Result
from sweeps.comparison.conditions import Condition
from sweeps.comparison.record import (
    ComparisonRecord,
    FailureRecord,
    RunRecord,
    SystemRecord,
    read_comparison,
)
from tests.helpers.refusals import refused
from tests.helpers.run_folders import SCORING, result

NAMES = st.lists(st.text())
RUN = Result.model_validate(result())
RECORDS = st.builds(
    ComparisonRecord,
    scoring=st.just(SCORING),
    signatures=st.dictionaries(st.text(), st.text()),
    systems=st.lists(st.builds(SystemRecord, seeds=st.lists(st.integers()))),
    tables=NAMES,
    figures=NAMES,
    conditions=st.lists(st.builds(Condition)),
    runs=st.lists(st.builds(RunRecord, **{name: st.just(part) for name, part in RUN}), max_size=2),
    failed=st.lists(st.builds(FailureRecord)),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("comparison")


@pytest.fixture
def written(tmp_path):
    """The content of a comparison of one run and one failed job."""
    record = ComparisonRecord(
        name="x",
        scoring=SCORING,
        resamples=200,
        signatures={},
        systems=[],
        tables=[],
        figures=[],
        conditions=[Condition("data", True, "the same")],
        runs=[RunRecord(label="bahdanau", folder="0", **RUN.model_dump())],
        failed=[FailureRecord(label="luong", folder="../elsewhere/1", error="no memory")],
    )
    write_record(tmp_path / "out" / "comparison.json", record)
    return json.loads((tmp_path / "out" / "comparison.json").read_text())


@settings(deadline=None, max_examples=25)  # a busy machine may stop for longer
@given(RECORDS)
def test_a_comparison_reads_back(folder, record):
    write_record(folder / "comparison.json", record)
    assert read_comparison(folder) == record


def test_the_keys_are_those_of_a_result_after_label_and_folder(written):
    assert list(written)[:3] == ["schema", "name", "scoring"]
    [run] = written["runs"]
    assert list(run) == ["label", "folder", *Result.model_fields]
    assert run["folder"] == "0"
    assert written["failed"] == [
        {"label": "luong", "folder": "../elsewhere/1", "error": "no memory"}
    ]


def test_folders_are_those_of_all_jobs(tmp_path, written):
    record = read_comparison(tmp_path / "out")
    assert record.folders(tmp_path / "out") == [
        tmp_path / "out" / "0",
        tmp_path / "elsewhere" / "1",
    ]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"schema": SCHEMA + 1}, "comparison.json was written by another version of the harness"),
        ({"notes": 1}, "comparison.json cannot be read: notes: Extra inputs are not permitted"),
        ({"conditions": [{"name": 1}]}, "comparison.json cannot be read: conditions.0.name"),
    ],
)
def test_a_comparison_that_cannot_be_read(tmp_path, written, change, why):
    out = tmp_path / "out"
    (out / "comparison.json").write_text(json.dumps(written | change))
    with refused(f"{out}/{why}", error=BrokenFileError):
        read_comparison(out)


def test_a_missing_file_is_a_broken_file(tmp_path):
    with refused("No such file", "comparison.json", error=BrokenFileError):
        read_comparison(tmp_path)
