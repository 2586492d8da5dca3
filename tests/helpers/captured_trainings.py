"""Small trainings with captured updates, on a CPU with emulated graphs, or on a GPU."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytorch_lightning as pl
from torch import Tensor, nn
from torch.utils.data import DataLoader

from datamodules.batching import (
    Batch,
    EncodedPairs,
    Longest,
    RoundedBatch,
    Sequences,
    as_built,
    collate,
    largest,
)
from datamodules.batching.packed import STEP
from lightning_modules.kernels.choice import PLAIN, use_kernels
from lightning_modules.kernels.replay import Recorder
from lightning_modules.training import module
from lightning_modules.training.captured import CapturedUpdates
from lightning_modules.training.module import TranslationModule

LENGTHS = ([4, 2, 3], [5, 1, 4]), ([2, 5, 4], [1, 5, 3])
"""Source and target lengths of two batches of one shape."""


def batches(model: Any, lengths: Sequence[Any] = LENGTHS) -> Iterator[Batch]:
    """Yield a batch with its rounded form for each pair of source and target lengths."""
    generator, limit = np.random.default_rng(0), model.limit()
    longest = Longest() if limit is None else Longest(limit.src_tokens, limit.tgt_tokens)
    for sides in lengths:
        tokens = [[generator.integers(4, 20, n).tolist() for n in side] for side in sides]
        yield collate(EncodedPairs(None, *map(Sequences.of, tokens))).round_up(longest)


class Data(pl.LightningDataModule):
    """Batches of three shapes, in the same order in every epoch; if packed, of one."""

    def __init__(self, model: nn.Module, packed: bool) -> None:
        super().__init__()
        self._batches: Any = [
            batch._replace(rounded=None).pack(STEP) if packed else batch
            for batch in batches(model, [*LENGTHS, ([7], [7]), ([3, 3], [3, 2])])
        ]

    def train_dataloader(self) -> DataLoader[Batch]:
        """Return the batches."""
        return DataLoader(self._batches, batch_size=None, collate_fn=as_built)

    def largest_update(self) -> RoundedBatch:
        """Return a shape at least as large as any other."""
        return largest(3, 8, Longest())


@contextmanager
def _captured_by(recorder: Recorder | None) -> Iterator[None]:
    """Capture updates within the block by a recorder; None to run them."""
    use_kernels(PLAIN._replace(capture=recorder is not None))
    options: dict[str, Any] = {"make_recorder": lambda _: recorder}
    made = partial(CapturedUpdates, **options)
    try:
        with patch.object(module, "CapturedUpdates", made):
            yield
    finally:
        use_kernels(PLAIN)


def losses_of(
    trained: TranslationModule,
    recorder: Recorder | None,
    packed: bool = False,
    updates: int = 12,
    **options: Any,
) -> tuple[list[float], list[Tensor]]:
    """Train through Lightning; return the losses of the updates and the last weights.

    The batches are rounded, or packed, whether a recorder captures the updates or, without one,
    they run.
    """
    losses: list[float] = []
    given: Any = {"accelerator": "cpu", "max_steps": updates, "gradient_clip_val": 0.5} | options
    quiet = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
    given |= dict.fromkeys(quiet, False)
    trainer = pl.Trainer(limit_val_batches=0, **given)
    trained.losses.add = lambda loss, *_: losses.append(loss.item())  # type: ignore[method-assign]
    trained.train()
    with _captured_by(recorder):
        trainer.fit(trained, Data(trained.model, packed))
    assert len(losses) == updates
    return losses, [parameter.detach().cpu() for parameter in trained.model.parameters()]
