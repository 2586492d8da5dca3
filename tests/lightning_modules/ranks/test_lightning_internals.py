"""The private parts of Lightning are where ``lightning_internals`` expects them.

A test that fails here names what another version of Lightning has changed.
"""

import inspect
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.loops.training_epoch_loop import _TrainingEpochLoop
from torch.utils.data import DataLoader

from lightning_modules import library_internals
from lightning_modules.ranks.updates import RankFlags


class OneWeight(pl.LightningModule):
    """The smallest module that Lightning trains."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, batch_idx):
        return self.layer(batch).sum()

    def validation_step(self, batch, batch_idx):
        self.log("val", self.layer(batch).sum())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


def trained(folder, **settings):
    batches: DataLoader[Any] = DataLoader(list(torch.ones(6, 1)))  # type: ignore[arg-type]
    trainer = pl.Trainer(
        accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=folder, max_epochs=1, **settings,
    )  # fmt: skip
    trainer.fit(OneWeight(), batches, batches)
    return trainer


def test_the_handlers_of_sigterm_are_there(tmp_path):
    trainer = trained(tmp_path)
    connector, fitting = trainer._signal_connector, trainer.fit_loop
    assert isinstance(connector.received_sigterm, bool)
    assert list(inspect.signature(connector._sigterm_notifier_fn).parameters) == ["signum", "_"]
    assert inspect.signature(fitting.epoch_loop._broadcast_sigterm_tensor).parameters == {}
    calls = inspect.getsource(_TrainingEpochLoop.advance) + inspect.getsource(
        _TrainingEpochLoop.on_advance_end
    )
    assert "_broadcast_sigterm_tensor()" in calls
    flags = RankFlags()
    library_internals.end_ranks_together(trainer, flags)
    assert connector._sigterm_notifier_fn.__name__ == "note"
    assert not flags["sigterm"]
    connector._sigterm_notifier_fn(15, None)
    flags.exchange(trainer)
    assert flags["sigterm"]


def test_steps_are_counted_where_they_are_corrected(tmp_path):
    trainer = trained(tmp_path)
    loop = trainer.fit_loop.epoch_loop
    assert loop._batches_that_stepped == trainer.global_step == 6
    loop._batches_that_stepped += 1
    library_internals.correct_step_count(trainer)
    assert loop._batches_that_stepped == 6
    assert isinstance(loop.val_loop.restarting, bool)
    parameters = list(inspect.signature(loop.update_lr_schedulers).parameters)
    assert parameters == ["interval", "update_plateau_schedulers"]


def test_a_checkpoint_has_the_counts_that_are_set(tmp_path):
    trainer = trained(tmp_path)
    trainer.save_checkpoint(tmp_path / "one.ckpt")
    content = torch.load(tmp_path / "one.ckpt", weights_only=True)
    before = content["loops"]["fit_loop"]
    shapes = {name: _shape(before[name]) for name in before}
    library_internals.skip_batches(content, 4, 2)
    library_internals.rewind_progress(content, 1)
    after = content["loops"]["fit_loop"]
    assert {name: _shape(after[name]) for name in after} == shapes
    assert after["epoch_loop.batch_progress"]["total"]["completed"] == 4
    assert after["epoch_loop.batch_progress"]["current"]["completed"] == 2


def _shape(value):
    """Return the keys of nested dictionaries, and types instead of values."""
    if isinstance(value, dict):
        return {key: _shape(part) for key, part in value.items()}
    return type(value)
