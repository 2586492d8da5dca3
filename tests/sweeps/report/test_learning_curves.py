"""Learning curves of trainings: recorded, read and drawn."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from datamodules.batching import as_built
from datamodules.corpus import ParallelText
from lightning_modules.figures.charts import as_spec
from lightning_modules.ranks.updates import RankFlags
from lightning_modules.runs.files import BrokenFileError, clear_results, read_history, write_history
from lightning_modules.training.budgets import Budget
from lightning_modules.training.callbacks import History, TrainingBudget
from lightning_modules.training.flops import Flops
from sweeps.comparison.collect import collect
from sweeps.report.sections.learning import learning_curves, learning_figures, learning_table
from tests.helpers.run_folders import history, make_run, unsealed
from tests.lightning_modules.training.test_training import batch, module, pairs


class Texts(pl.LightningDataModule):
    """Training batches; the first batch is also the validation batch."""

    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def train_dataloader(self):
        return DataLoader(self.batches, batch_size=None, collate_fn=as_built)

    def val_dataloader(self):
        return DataLoader(self.batches[:1], batch_size=None, collate_fn=as_built)

    def text(self, split):
        lines = ["a b c"] * 3
        return ParallelText(lines, lines, None)


def fit(trained, batches, callback, **more):
    budget = TrainingBudget(Budget(kind="target_tokens", amount=10_000))
    budget.pairs, budget.flops = pairs([3, 7, 5]), Flops(np.zeros(6))
    trainer = pl.Trainer(
        max_steps=len(batches),
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        check_val_every_n_epoch=None,
        val_check_interval=2,
        callbacks=[RankFlags(), budget, callback],
        **more,
    )
    trainer.fit(trained, datamodule=Texts(batches))
    return trainer


def test_a_point_is_kept_for_each_validation(tmp_path):
    trained = module("bahdanau", partial(torch.optim.SGD, lr=0.0))  # the loss stays as it is
    trained.model.eval()
    batches = [batch([3, 7, 5]), batch([2]), batch([4, 4]), batch([9])]
    with torch.no_grad():
        losses = [trained.loss(one, trained.label_smoothing).item() for one in batches]
        validated = trained.loss(batches[0]).item()
    trained.train()
    fit(trained, batches, History(str(tmp_path)))
    points = read_history(tmp_path)
    tokens = [int(one.tgt_mask.sum()) for one in batches]
    assert [point.target_tokens for point in points] == [sum(tokens[:2]), sum(tokens)]
    for point, pair in zip(points, (slice(0, 2), slice(2, 4)), strict=True):
        mean = np.average(losses[pair], weights=tokens[pair])
        assert point.train_loss == pytest.approx(mean, rel=0.05)  # dropout moves it
        assert point.val_loss == pytest.approx(validated, rel=1e-5)
        assert 0 <= point.val_bleu <= 100
    assert 0 < points[0].seconds < points[1].seconds


def test_a_training_that_goes_on_keeps_its_points(tmp_path):
    first, second = History(str(tmp_path)), History(str(tmp_path))
    trained = module()
    alone = fit(trained, [batch([3, 7, 5])] * 2, first)
    checkpoint: dict[str, Any] = {}
    first.on_save_checkpoint(alone, trained, checkpoint)
    second.on_load_checkpoint(alone, trained, checkpoint)
    fit(trained, [batch([3, 7, 5])] * 2, second)
    assert read_history(tmp_path)[0] == first.points[0]
    assert len(read_history(tmp_path)) == 2


def test_points_come_back_from_the_folder(tmp_path):
    points = history()
    write_history(tmp_path, points)
    header = "target_tokens,seconds,train_loss,val_loss,val_bleu\n"
    assert (tmp_path / "history.csv").read_text().startswith(header)
    assert read_history(tmp_path) == points
    points[0].train_loss = math.inf
    write_history(tmp_path, points)
    assert read_history(tmp_path)[0].train_loss == math.inf
    clear_results(tmp_path)
    assert read_history(tmp_path) == []


@pytest.mark.parametrize(
    "content", [b"\xff", b"target_tokens\n5\n", b"a,b\n1,2\n", b"<html>\n</html>\n"]
)
def test_another_file_of_this_name_is_refused(tmp_path, content):
    (tmp_path / "history.csv").write_bytes(content)
    with pytest.raises(BrokenFileError, match=r"history\.csv cannot be read: wanted rows of"):
        read_history(tmp_path)


def test_runs_without_a_history_are_left_out(tmp_path, caplog):
    runs = [
        make_run(tmp_path / "0", "none"),
        make_run(tmp_path / "1", "luong", 1, history=history(1, 3)),
        make_run(tmp_path / "2", "luong", 2, history=history(2, 2)),
        unsealed(make_run(tmp_path / "3", "transformer", history=history())),
    ]
    (tmp_path / "3" / "history.csv").write_text("broken\n1\n")
    curves = learning_curves(collect(runs))
    assert [(curve.system.name, curve.seed) for curve in curves] == [("luong", 1), ("luong", 2)]
    tokens = [[point.target_tokens for point in curve.points] for curve in curves]
    assert tokens == [[1001, 2001, 3001], [1002, 2002]]
    table = learning_table(curves, len(runs))
    assert [(row[0], row[1]) for row in table.rows] == [("luong", 1)] * 3 + [("luong", 2)] * 2
    assert [row[2] for row in table.rows] == [*tokens[0], *tokens[1]]
    assert table.origin == {"runs": "2 of 4"}
    assert "3 is left out of the learning curves: history.csv cannot be read" in caplog.text
    assert learning_curves(collect(runs[:1])) == []


def test_every_validation_is_a_point_of_each_figure(tmp_path):
    curves = learning_curves(collect([make_run(tmp_path / "0", history=history())]))
    figures = {name: as_spec(chart) for name, chart in learning_figures(curves).items()}
    assert len(figures) == 4
    for name, figure in figures.items():
        [drawn] = [layer["data"]["values"] for layer in [figure] if "data" in layer] or [
            figure["layer"][0]["data"]["values"]
        ]
        columns = ["val_bleu"] if "bleu" in name else ["train_loss", "val_loss"]
        expected = [getattr(point, column) for point in history() for column in columns]
        assert [datum["value"] for datum in drawn] == pytest.approx(expected, rel=1e-5)
