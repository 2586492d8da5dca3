"""A model with parts on several devices trains and translates as on one device."""

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from datamodules.batching import EncodedPairs, Sequences, as_built, collate
from datamodules.tokenization import Words
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.schedules import constant
from tests.helpers.searches import beam_search
from tests.helpers.variants import small_model

VARIANTS = ("seq2seq", "bahdanau", "luong_predictive", "transformer")
GPUS = torch.cuda.device_count()
TWO = pytest.param(
    ("cuda:1", "cuda:0", "cuda:0"),
    marks=[
        pytest.mark.gpu,
        pytest.mark.skipif(GPUS < 2, reason=f"needs two GPUs; this machine has {GPUS}"),
    ],
)


def trained(name: str, *overrides: str) -> tuple[list[float], list[list[int]]]:
    tokenizer = Words.train(["a b c d e f g h i j k l m n o p q r s"], 100, 1)
    model = small_model(name, *overrides, vocabulary=len(tokenizer))
    generator = np.random.default_rng(0)
    lengths = [3, 9, 5, 1]
    sides = [[generator.integers(4, 20, length).tolist() for length in lengths] for _ in range(2)]
    pairs = EncodedPairs(np.arange(len(lengths)), *map(Sequences.of, sides))
    search = beam_search(beam_size=3)
    module = TranslationModule(model, tokenizer, torch.optim.Adam, constant, search, 0.0, {})
    losses = []

    class Losses(pl.Callback):
        def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
            losses.append(outputs["loss"].item())

    trainer = pl.Trainer(
        max_steps=3,
        limit_val_batches=0,
        callbacks=[Losses()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        gradient_clip_val=1.0,
    )
    batches: DataLoader = DataLoader([collate(pairs)] * 3, batch_size=None, collate_fn=as_built)  # type: ignore[arg-type]
    trainer.fit(module, batches)
    module.eval()
    translations = search(module.model, *collate(pairs)[1:3])
    return losses, [hypotheses[0].tokens for hypotheses in translations]


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("devices", [("cpu", "cpu", "cpu"), ("cpu", None, None), TWO], ids=str)
def test_training_in_parts_equals_training_in_one_place(name, devices):
    parts = zip(("encoder", "attention", "decoder"), devices, strict=True)
    placed = [f"model.placement.{part}={device}" for part, device in parts if device]
    losses, tokens = trained(name, *placed)
    expected, alone = trained(name)
    assert losses == pytest.approx(expected, rel=1e-4)
    assert losses[2] < losses[0]
    assert tokens == alone
