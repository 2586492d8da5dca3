"""Choosing layers and heads, and the content of ``alignment.json``."""

import numpy as np
import pytest

from datamodules.errors import UserError
from lightning_modules.runs.files import read_record, write_record
from lightning_modules.tasks.align import (
    STEPS,
    Alignment,
    GoldSummary,
    HeadChoice,
    place,
    resolve_indices,
    summarise,
    with_means,
)

LAYERS, HEADS = 3, 2
WEIGHTS = np.random.default_rng(0).random((len(STEPS), LAYERS, HEADS, 4, 5))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("layer", [0, -1, 1, "mean"])
@pytest.mark.parametrize("head", [0, 1, "mean"])
def test_a_view_picks_or_averages(step, layer, head):
    view = resolve_indices(HeadChoice(layer, head, step), LAYERS, HEADS, "transformer")
    expected = WEIGHTS[STEPS.index(step)]
    expected = expected.mean(0) if layer == "mean" else expected[layer]
    expected = expected.mean(0) if head == "mean" else expected[head]
    picked = with_means(WEIGHTS)[place(view, LAYERS, HEADS)]
    np.testing.assert_allclose(picked, expected, rtol=1e-12)


@pytest.mark.parametrize("index", [3, -4, "last", 0.0, None])
def test_what_a_model_does_not_have_is_refused(index):
    with pytest.raises(UserError, match=rf"layer={index}: transformer has 3, counted from 0"):
        resolve_indices(HeadChoice(index, 0, "read"), LAYERS, HEADS, "transformer")


def test_what_cannot_be_divided_is_none():
    """One pair, whose target words look at nothing, and gold without links."""
    counts = np.zeros((len(STEPS), 2, 2, 4), np.int64)
    statistics = np.array([[0, 0], [0, 0], [0, 2]])
    view = HeadChoice(0, "mean", "read")
    alignment = Alignment(view, 1, 1, [np.zeros((1, 2)), None], statistics, counts)
    summary = summarise(alignment, "luong")
    assert isinstance(summary, GoldSummary)
    assert (summary.pairs, summary.aligned, summary.coverage) == (2, 1, 0)
    for name in ("entropy", "distance", "aer", "precision", "recall"):
        assert getattr(summary, name) is None
    assert summary.aer_by_step == {"predicted": None, "read": None}
    assert summary.aer_by_layer["0"] == {"0": None, "mean": None}


@pytest.mark.parametrize("gold", [True, False])
def test_what_is_written_reads_back(tmp_path, gold):
    counts = np.ones((len(STEPS), LAYERS + 1, HEADS + 1, 4), np.int64) if gold else None
    view = HeadChoice(1, "mean", "read")
    alignment = Alignment(view, LAYERS, HEADS, [np.eye(2)], np.ones((3, 2)), counts)
    summary = summarise(alignment, "transformer")
    write_record(tmp_path / "alignment.json", summary)
    assert read_record(type(summary), tmp_path / "alignment.json") == summary
