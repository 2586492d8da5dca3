"""The private parts of libraries are where the harness expects them."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.loops.training_epoch_loop import _TrainingEpochLoop
from sacrebleu.metrics import BLEU, CHRF, TER
from torch.utils.data import DataLoader

from lightning_modules.library_internals import (
    correct_step_count,
    end_only_by_flags,
    onednn_linear,
    onednn_weight,
    sentence_counts,
)


class OneWeight(pl.LightningModule):
    """The smallest module that Lightning trains."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
        return self.layer(batch).sum()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.1)


def trained(folder: Path) -> pl.Trainer:
    trainer = pl.Trainer(
        accelerator="cpu",
        max_epochs=2,
        default_root_dir=folder,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    batches: DataLoader[Any] = DataLoader(list(torch.ones(3, 1)))  # type: ignore[arg-type]
    trainer.fit(OneWeight(), batches)
    return trainer


def test_lightning_asks_for_sigterm_where_it_is_told_not_to(tmp_path):
    trainer = trained(tmp_path)
    asked = trainer.fit_loop.epoch_loop._broadcast_sigterm_tensor
    assert inspect.signature(asked).parameters == {}
    assert "_broadcast_sigterm_tensor()" in inspect.getsource(_TrainingEpochLoop.advance)
    end_only_by_flags(trainer)
    assert trainer.fit_loop.epoch_loop._broadcast_sigterm_tensor != asked


def test_lightning_counts_steps_where_they_are_corrected(tmp_path):
    trainer = trained(tmp_path)
    loop = trainer.fit_loop.epoch_loop
    assert loop._batches_that_stepped == trainer.global_step == 6
    loop._batches_that_stepped += 1
    correct_step_count(trainer)
    assert loop._batches_that_stepped == 6


@pytest.mark.parametrize("counter", [BLEU(), CHRF(word_order=2), TER()])
def test_sums_of_sacrebleus_counts_give_its_score(counter):
    hypotheses, references = ["a b c d e", "x y z"], ["a b c d f", "x z y"]
    sums = np.sum(sentence_counts(counter, hypotheses, [references]), axis=0).tolist()
    score = counter._compute_score_from_stats(sums).score
    assert score == counter.corpus_score(hypotheses, [references]).score


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN")
def test_onednn_multiplies_as_torch_does():
    inputs, weight, bias, onto = (torch.randn(*shape) for shape in ((7, 5), (9, 5), (9,), (7, 9)))
    expected = torch.nn.functional.linear(inputs, weight, bias)
    torch.testing.assert_close(onednn_linear(inputs, weight, bias), expected)
    torch.testing.assert_close(onednn_linear(inputs, onednn_weight(weight), bias), expected)
    added = onednn_linear(inputs, weight, onto=onto)
    torch.testing.assert_close(added, onto + inputs @ weight.T)
