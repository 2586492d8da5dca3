"""Averages of weights over a training, which are tested in place of single weights.

``MovingAverage`` (``callbacks=ema``) follows the weights at every update; validations see it, so
that it needs no learning rate that falls. ``CheckpointAverage`` (``callbacks=average``) takes the
mean of a few checkpoints once the training has ended.
"""

import logging
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint, WeightAveraging
from torch import Tensor
from torch.optim.swa_utils import get_ema_multi_avg_fn
from typing_extensions import override

from datamodules.errors import UserError
from lightning_modules.runs.paths import AVERAGED, BEST
from lightning_modules.training.checkpoints import load_weights, read_own_checkpoint
from lightning_modules.training.module import VALIDATIONS, TranslationModule
from lightning_modules.training.validations import VAL_LOSS, Validation

log = logging.getLogger(__name__)


class MovingAverage(WeightAveraging):
    """Validate, keep and test an exponential moving average of the weights.

    After update ``n + 1`` the average becomes ``d · average + (1 − d) · weights`` with
    ``d = min(decay, (1 + n) / (10 + n))``, as TensorFlow's ``ExponentialMovingAverage`` does: until
    ``decay`` is reached, the average forgets the first weights and spans about the last tenth of
    the updates (polynomial decay, Shamir and Zhang 2013). With ``decay`` alone, as in Lightning's
    ``EMAWeightAveraging``, short trainings would test a mixture with their first, random weights.

    Checkpoints are those of Lightning's class: ``state_dict`` has the average.
    """

    def __init__(self, decay: float) -> None:
        super().__init__(multi_avg_fn=partial(_move, decay))
        self._in_validation = False  # whether the module has the average instead of its own weights

    @override
    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Copy the weights in the precision and on the device of the training.

        Lightning converts and moves the module only after this hook.
        """
        if stage == "fit":
            pl_module.to(trainer.strategy.root_device)
            trainer.precision_plugin.convert_module(pl_module)
        super().setup(trainer, pl_module, stage)

    @override
    def on_validation_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Validate the average."""
        super().on_validation_epoch_start(trainer, pl_module)
        self._in_validation = True

    @override
    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Go on with the trained weights."""
        if self._in_validation:
            super().on_validation_epoch_end(trainer, pl_module)
            self._in_validation = False

    @override
    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Save trained weights and average, each as such where a signal ends a validation.

        The checkpoint shares its tensors with the module, so that they are swapped with it.
        """
        self.on_validation_epoch_end(trainer, pl_module)
        super().on_save_checkpoint(trainer, pl_module, checkpoint)

    @override
    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Leave the trained weights, with which a longer training continues."""


def _move(decay: float, average: Any, weights: Any, count: Tensor) -> None:
    """Move an average of ``count`` weights towards the next; lists of tensors, changed in place."""
    number = int(count)
    get_ema_multi_avg_fn(min(decay, (1 + number) / (10 + number)))(average, weights, count)


class CheckpointAverage(ModelCheckpoint):
    """Test the mean of the weights at the last or best ``k`` validations.

    Vaswani et al. 2017, section 6.1, average the last 5 checkpoints of the base model and the last
    20 of the big one, written every ten minutes. Here validations write them, into ``folder``,
    without the state of the optimizer; the best are those with the lowest validation loss.
    List this callback after the one of the best checkpoint.
    """

    def __init__(self, folder: str, k: int, of: Literal["last", "best"]) -> None:
        monitor, mode = ("step", "max") if of == "last" else (VAL_LOSS, "min")
        super().__init__(
            dirpath=folder,
            filename=AVERAGED,
            monitor=monitor,
            mode=mode,
            save_top_k=k,
            save_weights_only=True,
            auto_insert_metric_name=False,
            enable_version_counter=False,
        )

    @property
    def files(self) -> list[Path]:
        """The checkpoints whose weights are averaged."""
        return sorted(map(Path, self.best_k_models))

    def finish(self, trainer: pl.Trainer, module: TranslationModule) -> None:
        """Write the mean with its validation as the best checkpoint of a training that has ended.

        ``module`` keeps the mean. Raises ``UserError`` for a checkpoint that is gone or damaged.
        """
        if not self.files:  # no validation took place
            return
        for file in self.files:
            if not file.is_file():
                raise UserError(
                    f"{file}: is gone, and the mean of this checkpoint and {len(self.files) - 1} "
                    "others is to be tested; put it back, or give force=true to train anew"
                )
        content = read_own_checkpoint(self.files[-1])
        content["state_dict"] = mean_weights(self.files)
        load_weights(module.model, content)
        validation = validate(trainer, module)
        content[VALIDATIONS].append(tuple(validation))
        trainer.strategy.save_checkpoint(content, self.files[0].with_name(BEST))
        trainer.strategy.barrier()
        line = "mean of %d checkpoints: val loss %.3f  BLEU %5.2f"
        log.info(line, len(self.files), *validation)

    def doubts(self) -> Iterator[str]:
        """Yield a line for a training with fewer validations than ``k``."""
        if 0 < len(self.files) < self.save_top_k:
            yield (
                f"the mean of {len(self.files)} checkpoints is tested, not of "
                f"{self.save_top_k}: there were no more validations; validate more often, with "
                "a smaller trainer.val_check_interval"
            )


def mean_weights(files: Sequence[Path]) -> dict[str, Tensor]:
    """Return the mean of the weights of checkpoints by name, each in its own type.

    Sums are in float64, so that tensors which are equal in all files stay as they are. Raises
    ``UserError`` for a damaged file.
    """
    first, *others = files
    weights = read_own_checkpoint(first)["state_dict"]
    sums = {name: tensor.double() for name, tensor in weights.items()}
    for file in others:
        for name, tensor in read_own_checkpoint(file)["state_dict"].items():
            sums[name] += tensor
    return {name: (sums[name] / len(files)).to(weights[name].dtype) for name in sums}


def validate(trainer: pl.Trainer, module: TranslationModule) -> Validation:
    """Validate the weights of a module when its training has ended, the same on every rank.

    Neither the callbacks nor the tracker see this validation.
    """
    data: Any = trainer.datamodule  # type: ignore[attr-defined]
    module.to(trainer.strategy.root_device).eval()
    with torch.inference_mode(), trainer.precision_plugin.val_step_context():
        module.on_validation_epoch_start()
        for number, batch in enumerate(data.val_dataloader()):
            module.validation_step(trainer.strategy.batch_to_device(batch), number)
        return module.validation()
