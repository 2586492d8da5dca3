"""The files of a run read back as they were written; versions; what the schema does not know."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from lightning_modules.metrics.curves import CurvePoint
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.resampling import Interval, Resamples
from lightning_modules.runs import files, schema
from lightning_modules.runs.checksums import verify_files
from lightning_modules.runs.files import BrokenFileError
from lightning_modules.runs.renamed import upgraded
from tests.helpers.run_folders import TEXT, make_failure, make_run, result

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
COUNTS = st.dictionaries(st.text(), st.integers(0))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
TRAININGS = st.builds(
    schema.Training,
    target_tokens=st.none() | st.integers(),
    flops=NUMBERS,
    data_order_at=st.dictionaries(st.integers(), st.text()),
)
DATA = st.builds(
    schema.Data, pairs=COUNTS, left_out=st.dictionaries(st.text(), COUNTS), vocabulary=COUNTS
)
ENVIRONMENTS = st.dictionaries(st.sampled_from(["torch", "hydra-core", "threads"]), JSON)
RECORDS = st.one_of(
    st.builds(
        schema.Result,
        scores=st.dictionaries(st.text(), NUMBERS).map(lambda scores: scores | {"bleu": 1.0}),
        intervals=st.dictionaries(st.text(), st.tuples(NUMBERS, NUMBERS)),
        vectors=st.dictionaries(st.text(), st.builds(schema.Coverage)),
        training=TRAININGS,
        decoding=st.dictionaries(st.text(), JSON),
        data=DATA,
        environment=ENVIRONMENTS.map(schema.Environment.model_validate),
        peak_memory_mib=NUMBERS,
        config=st.dictionaries(st.text(), JSON),
    ),
    st.builds(schema.Failure, seed=st.none() | st.integers() | st.text()),
    st.builds(schema.WordCounts, source=COUNTS, target=COUNTS, reference=COUNTS),
    st.builds(schema.JobState, share=NUMBERS, tokens_per_second=NUMBERS, val_bleu=NUMBERS),
    st.dictionaries(
        st.sampled_from(["data order", "chrf++", "torch"]),
        st.builds(schema.ValueComparison, then=JSON, now=JSON),
    ).map(lambda compared: schema.Reproduction(run="a", **compared)),
)
"""Contents of JSON files."""
PREDICTIONS = st.lists(
    st.builds(
        schema.Prediction, score=st.none() | NUMBERS, reference_nats=st.none() | st.lists(NUMBERS)
    )
)
FLOATS = ("seconds", "train_loss", "val_loss", "val_bleu")
HISTORIES = st.lists(st.builds(schema.HistoryPoint, **dict.fromkeys(FLOATS, NUMBERS)))
ROUNDED = st.integers(-(10**6), 10**6).map(lambda number: number / 10**4)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"))
SCORES = st.dictionaries(st.sampled_from(["bleu", "chrf++", "ter", "recall"]), ROUNDED)
POINTS = st.builds(
    CurvePoint,
    variant=NAMES,
    bounds=st.builds(Bounds),
    scores=SCORES,
    bleu_interval=st.none() | st.tuples(ROUNDED, ROUNDED).map(Interval._make),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@given(RECORDS)
def test_a_record_reads_back(folder, record):
    path = folder / "record.json"
    files.write_record(path, record)
    assert json.loads(path.read_text(encoding="utf-8"))["schema"] == schema.SCHEMA
    assert files.read_record(type(record), path) == record


@given(PREDICTIONS)
def test_predictions_read_back(folder, predictions):
    files.write_predictions(folder, predictions)
    assert files.read_predictions(folder) == predictions


@given(HISTORIES)
def test_a_history_reads_back(folder, points):
    files.write_history(folder, points)
    assert files.read_history(folder) == points


@given(st.lists(POINTS))
def test_scores_by_length_read_back(folder, points):
    files.write_curve(folder, points, Resamples(200, 7))
    rows = files.read_curve(folder)
    assert [row.point for row in rows] == points
    assert {row.resamples for row in rows} <= {Resamples(200, 7)}
    assert all(row.signature.startswith("nrefs:1") for row in rows)


def test_arrays_read_back(tmp_path):
    rng = np.random.default_rng(0)
    statistics = {"bleu": rng.random((3, 10)), "links": rng.random((3, 4))}
    files.write_statistics(tmp_path, statistics)
    read = files.read_statistics(tmp_path, 3)
    assert read is not None
    assert read.keys() == statistics.keys()
    for name, array in statistics.items():
        np.testing.assert_array_equal(read[name], array)
    heads = {7: rng.random((2, 4, 3, 5)).astype(np.float16).astype(float)}
    files.write_head_attention(tmp_path, heads)
    np.testing.assert_array_equal(files.read_head_attention(tmp_path)[7], heads[7])


def test_attention_reads_back(tmp_path):
    lines = [("a b c", "x y"), ("a", ""), ("a b", "x y z")]
    predictions = [
        schema.Prediction(id=number, source=source, reference="", hypothesis=hypothesis)
        for number, (source, hypothesis) in enumerate(lines)
    ]
    shapes = [(len(target.split()), len(source.split())) for source, target in lines]
    weights = [np.random.default_rng(0).random(shape) for shape in shapes]
    files.write_attention(tmp_path, weights)
    read = files.read_attention(tmp_path, predictions)
    assert read is not None
    for number, part in enumerate(weights):
        got = np.array(read[number].weights).reshape(part.shape)
        np.testing.assert_array_equal(got, part.astype(np.float16).astype(float).round(4))


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"shapes": np.ones((1, 2), int)},
        {"shapes": np.array([[2, 2]]), "weights": np.ones(3)},
        {"shapes": np.ones(2, int), "weights": np.ones(1)},
    ],
)
def test_attention_of_other_shapes_is_a_broken_file(tmp_path, arrays):
    files.write_arrays(tmp_path / "attention.npz", arrays)
    with pytest.raises(BrokenFileError, match=r"attention\.npz cannot be read: its shapes fit"):
        files.read_attention(tmp_path, [])


def test_the_id_of_the_tracked_run_reads_back(tmp_path):
    assert files.read_tracker_id(tmp_path) is None
    files.write_tracker_id(tmp_path, "abc123")
    assert files.read_tracker_id(tmp_path) == "abc123"


def test_a_file_that_is_not_there_is_none(tmp_path):
    assert files.read_result(tmp_path) is None
    assert files.read_predictions(tmp_path) == []
    assert files.read_word_counts(tmp_path) is None
    assert files.read_curve(tmp_path) == []
    assert files.read_state(tmp_path) is None


@pytest.mark.parametrize(
    "model",
    [
        *(schema.Result, schema.Failure, schema.Prediction, schema.WordCounts),
        *(schema.HistoryPoint, schema.JobState, schema.Training, schema.Data, schema.Coverage),
    ],
)
def test_no_field_beyond_the_schema_can_be_written(model):
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        model(no_such_field=1)


def test_a_file_with_a_field_beyond_the_schema_is_broken(tmp_path):
    run = make_run(tmp_path)
    content = json.loads((run / "result.json").read_text())
    content["training"]["loss"] = 1.0
    (run / "result.json").write_text(json.dumps(content))
    line = r"result\.json cannot be read: training\.loss: Extra inputs are not permitted"
    with verify_files(False), pytest.raises(BrokenFileError, match=line):
        files.read_result(run)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("result.json", files.read_result),
        ("failure.json", files.read_failure),
        ("word_counts.json", files.read_word_counts),
    ],
)
def test_a_file_of_a_newer_version_asks_for_an_update(tmp_path, name, read):
    make_failure(make_run(tmp_path))
    content = json.loads((tmp_path / name).read_text())
    present = schema.SCHEMA
    assert content["schema"] == present
    (tmp_path / name).write_text(json.dumps(content | {"schema": present + 1, "new": 1}))
    with verify_files(False), pytest.raises(BrokenFileError) as caught:
        read(tmp_path)
    assert str(caught.value) == (
        f"{name} was written by a newer version of the harness (schema {present + 1}, here "
        f"{present}): update the harness to read the file"
    )
    (tmp_path / name).write_text(json.dumps(content | {"schema": "two"}))
    no_number = f"{name} cannot be read: schema: no number"
    with verify_files(False), pytest.raises(BrokenFileError, match=no_number):
        read(tmp_path)


def test_a_file_without_a_version_is_of_version_1(tmp_path):
    old = result(scores={"bleu": 12.0, "aer": None})
    (tmp_path / "result.json").write_text(json.dumps(old))
    read = files.read_result(tmp_path)
    assert read is not None
    assert read.scores == {"bleu": 12.0}
    (tmp_path / "result.json").write_text(json.dumps(old | {"schema": 2}))
    with pytest.raises(BrokenFileError, match=r"result\.json cannot be read: scores\.aer"):
        files.read_result(tmp_path)


def test_what_is_no_record_of_results_is_left_as_it_is():
    for content in ({}, {"scores": 3}, {"runs": 4}, {"runs": [5, {"scores": [None]}]}):
        assert upgraded(dict(content), 1) == content


@pytest.mark.parametrize("content", ["[]", "3", '"x"', "null"])
def test_json_that_is_no_object_is_a_broken_file(tmp_path, content):
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(BrokenFileError, match=r"result\.json cannot be read: : Input should be"):
        files.read_result(tmp_path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "column variant is missing"),
        ("variant,seed\n", "column length_low is missing"),
        ("HEAD\na,1\n", "invalid literal for int"),
        ("HEAD\na,1,1,10,2,x,,,s,100,1\n", "could not convert string to float: 'x'"),
        ("HEAD\na,1,1,10,2,1.0,,,s,100,1,9\n", "a row has more cells than columns"),
    ],
)
def test_scores_by_length_that_cannot_be_read(tmp_path, text, why):
    head = "variant,seed,length_low,length_high,sentences,bleu,bleu_low,bleu_high,signature"
    text = text.replace("HEAD", f"{head},resamples,resampling_seed")
    (tmp_path / "bleu_by_length.csv").write_text(text)
    with pytest.raises(BrokenFileError, match=rf"bleu_by_length\.csv cannot be read: {why}"):
        files.read_curve(tmp_path)


def test_the_curve_of_a_run_has_all_its_sentences(tmp_path):
    rows = files.read_curve(make_run(tmp_path))
    assert sum(row.point.sentences for row in rows) == len(TEXT.references)
