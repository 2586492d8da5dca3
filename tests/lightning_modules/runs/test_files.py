"""The files of a run read back as they were written; versions; what the schema does not know."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from datamodules.contrast_pairs import ContrastPair
from lightning_modules.metrics.contrast_choices import PairChoices
from lightning_modules.runs import files, schema
from lightning_modules.runs.checksums import verify_files
from lightning_modules.runs.files import BrokenFileError
from lightning_modules.runs.paths import TRACKER_ID
from tests.helpers.run_folders import make_failure, make_run, result

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
    st.builds(schema.WordCounts, target=COUNTS),
    st.builds(schema.JobState, share=NUMBERS, tokens_per_second=NUMBERS, val_bleu=NUMBERS),
    st.dictionaries(
        st.sampled_from(["data order", "chrf++", "torch"]),
        st.builds(schema.ValueComparison, then=JSON, now=JSON),
    ).map(lambda compared: schema.Reproduction(run="a", **compared)),
)
"""Contents of JSON files."""
PREDICTIONS = st.lists(st.builds(schema.Prediction, score=st.none() | NUMBERS))
FLOATS = ("seconds", "train_loss", "val_loss", "val_bleu")
HISTORIES = st.lists(
    st.builds(
        schema.HistoryPoint,
        **dict.fromkeys(FLOATS, NUMBERS),
        **dict.fromkeys(
            ("attention_spread", "learning_rate", "gradient_norm"), st.none() | NUMBERS
        ),
    )
)


patient = settings(deadline=None)  # files take longer on a busy machine


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@patient
@given(RECORDS)
def test_a_record_reads_back(folder, record):
    path = folder / "record.json"
    files.write_record(path, record)
    assert json.loads(path.read_text(encoding="utf-8"))["schema"] == schema.SCHEMA
    assert files.read_record(type(record), path) == record


@patient
@given(PREDICTIONS)
def test_predictions_read_back(folder, predictions):
    files.write_predictions(folder, predictions)
    assert files.read_predictions(folder) == predictions


@patient
@given(HISTORIES)
def test_a_history_reads_back(folder, points):
    files.write_history(folder, points)
    assert files.read_history(folder) == points


def test_a_run_reads_back(tmp_path):
    rng = np.random.default_rng(0)
    predictions = [
        schema.Prediction(id=number, source="a", reference="b", hypothesis="c")
        for number in range(3)
    ]
    run = files.RunScores(
        result=schema.Result(**result()),
        predictions=predictions,
        statistics={"bleu": rng.random((3, 10)), "links": rng.random((3, 4))},
        word_counts=schema.WordCounts(target={"a": 1}),
        choices=PairChoices.of(
            [ContrastPair("a", "b", "c", "number", 1, None)], np.ones(1), np.zeros(1)
        ),
    )
    files.write_run(tmp_path, run)
    read = files.read_run(tmp_path)
    assert read is not None
    assert read.result == run.result.model_copy(update={"files": read.result.files})
    assert "statistics.npz" in read.result.files
    assert (read.predictions, read.word_counts) == (predictions, run.word_counts)
    for one, other in ((read.statistics, run.statistics), (read.choices, run.choices)):
        np.testing.assert_equal(one, other)


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


@pytest.mark.parametrize("arrays", [{}, {"shapes": np.array([[2, 2]]), "weights": np.ones(3)}])
def test_attention_of_other_shapes_is_a_broken_file(tmp_path, arrays):
    files.write_arrays(tmp_path / "attention.npz", arrays)
    with pytest.raises(BrokenFileError, match=r"attention\.npz cannot be read: its shapes fit"):
        files.read_attention(tmp_path, [])


def test_a_file_that_is_not_there_is_none(tmp_path):
    assert files.read_result(tmp_path) is None
    assert files.read_predictions(tmp_path) == []
    assert files.read_run(tmp_path) is None
    assert files.read_state(tmp_path) is None


@pytest.mark.parametrize(
    "model", [schema.Result, schema.Prediction, schema.HistoryPoint, schema.Training]
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
        ("word_counts.json", files.read_run),
    ],
)
def test_a_file_of_another_version_is_refused_in_one_line(tmp_path, name, read):
    make_run(tmp_path)
    if name == "failure.json":
        make_failure(tmp_path)
    content = json.loads((tmp_path / name).read_text())
    assert content.pop("schema") == schema.SCHEMA
    for version in ({"schema": schema.SCHEMA + 1}, {"schema": "two"}, {}):
        (tmp_path / name).write_text(json.dumps(content | version))
        with verify_files(False), pytest.raises(BrokenFileError) as caught:
            read(tmp_path)
        found = version.get("schema")
        assert str(caught.value) == (
            f"{tmp_path / name} was written by another version of the harness (schema {found}, "
            f"here {schema.SCHEMA}): make the run again, or read it with that version"
        )


@pytest.mark.parametrize("content", ["[]", "3", '"x"', "null"])
def test_json_that_is_no_object_is_a_broken_file(tmp_path, content):
    (tmp_path / "result.json").write_text(content)
    line = r"result\.json cannot be read: : Input should be"
    with verify_files(False), pytest.raises(BrokenFileError, match=line):
        files.read_result(tmp_path)


def test_a_damaged_id_of_the_tracker_is_a_broken_file(tmp_path):
    (tmp_path / TRACKER_ID).write_bytes(b"\xff\xfe")
    with pytest.raises(BrokenFileError, match=f"{TRACKER_ID} cannot be read"):
        files.read_tracker_id(tmp_path)
