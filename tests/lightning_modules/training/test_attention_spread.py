"""The spread of attention: its formula, and what a training writes and logs of it."""

import csv
import math

import numpy as np
import pytest
import torch

from datamodules.batching import EncodedPairs, Sequences, collate
from lightning_modules.runs.files import read_history, read_result
from lightning_modules.training.attention_spread import mean_spread, spreads_of
from tests.helpers.commands import TINY, inside, places

SOURCES, TARGETS = [[5, 6, 7], [], [8]], [[5], [6, 7], [5, 6]]
"""Tokens of three sentences, without EOS."""


def batch():
    return collate(EncodedPairs(np.arange(3), Sequences.of(SOURCES), Sequences.of(TARGETS)))


def test_the_spread_is_the_entropy_over_that_of_equal_weights():
    """Padding does not count, nor a source of EOS alone; weights need not sum to 1."""
    weights = torch.full((3, 3, 4), torch.nan)  # at the padding of the target
    weights[0, 0] = torch.tensor([0.1, 0.1, 0.1, 0.1])  # as after the factors of local-p
    weights[0, 1] = torch.tensor([0.0, 1.0, 0.0, 0.0])
    weights[1] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    weights[2] = torch.tensor([0.25, 0.75, 0.0, 0.0])
    of_last = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75)) / math.log(2)
    total, counted = spreads_of(weights, batch())
    assert counted == 2 + 3
    assert total == pytest.approx(1 + 0 + 3 * of_last, rel=1e-6)


def test_what_has_no_weights_has_no_spread():
    assert spreads_of(None, batch()) == (0.0, 0)
    assert mean_spread([(0.0, 0), (0.0, 0)]) is None
    assert mean_spread([(1.0, 4), (2.0, 2), (0.0, 0)]) == 0.5


RUN = [*TINY, "trainer.val_check_interval=4"]


@pytest.mark.parametrize("model", ["luong_general", "transformer"])
def test_a_training_has_its_spread_before_the_first_update_and_at_validations(model, tmp_path):
    """Without steps, all are equal."""
    folder = tmp_path / "run"
    still = [f"model={model}", "optimizer.lr=1e-12", "logger=csv"]
    inside(*RUN, *still, *places(tmp_path), f"hydra.run.dir={folder}")
    result, history = read_result(folder), read_history(folder)
    assert result is not None
    start = result.training.start_spread
    assert start is not None
    assert 0.5 < start <= 1
    assert len(history) >= 1
    for point in history:
        assert point.attention_spread == pytest.approx(start, rel=1e-4)
    [file] = (folder / "logs").rglob("metrics.csv")
    with file.open(encoding="utf-8", newline="") as rows:
        logged = {
            int(row["step"]): float(row["val/attention_spread"])
            for row in csv.DictReader(rows)
            if row.get("val/attention_spread")
        }
    assert logged[0] == pytest.approx(start)
    assert len(logged) == 1 + len(history)


def test_a_training_without_attention_has_none(tmp_path):
    folder = tmp_path / "run"
    inside(*RUN, "model=seq2seq", "logger=none", *places(tmp_path), f"hydra.run.dir={folder}")
    result = read_result(folder)
    assert result is not None
    assert result.training.start_spread is None
    assert {point.attention_spread for point in read_history(folder)} == {None}
