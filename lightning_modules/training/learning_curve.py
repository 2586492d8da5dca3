"""The learning curve: validation loss at a ladder of updates, and what it says about a training.

All points have the same sentences, so the loss of each sentence is compared with its own loss at
another point: a change has a far smaller standard error than a level.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray

from datamodules.batching import Batch
from lightning_modules.ranks.updates import UpdateCallback, gather_by_key
from lightning_modules.runs.files import write_learning_curve
from lightning_modules.runs.schema import Convergence, HistoryPoint, LossPoint
from lightning_modules.training.callbacks import History, budget_of
from lightning_modules.variants import EncoderDecoder

Array = NDArray[np.float64]
PER_DOUBLING = 4  # points while the number of updates doubles
FIRST = 8
"""Target tokens trained on before the first point, for each target token that a point reads. The
points, forward passes alone, then cost an eighth of the operations of the shortest trainings, and
less than a twentieth of a training on 120 times the tokens of a point."""
LAST_FIFTH = 0.8  # share of the target tokens at which the last fifth begins
LOSS = "learning/val_loss"  # name of the curve for the tracker


class Measurement(NamedTuple):
    """The loss of each validation sentence after an update."""

    updates: int
    target_tokens: int  # number of real target tokens trained on, EOS counted
    seconds: float  # of training, validation left out
    learning_rate: float  # of the next update
    nats: Array  # loss summed over the tokens of each sentence, `(sentences,)`


class Change(NamedTuple):
    """A fall as a share of the loss before, and its standard error over the sentences."""

    share: float
    error: float | None  # None for fewer than two sentences


def is_rung(update: int) -> bool:
    """Whether an update is on the ladder: 2 to the power of n / ``PER_DOUBLING``, rounded.

    The ladder does not depend on the budget, so that a training with a larger budget has the same
    points.
    """
    return update == round(2 ** (round(PER_DOUBLING * math.log2(update)) / PER_DOUBLING))


def fall(before: Array, after: Array) -> Change:
    """Return by which share the summed loss of the sentences, ``(sentences,)`` each, is lower.

    The error is that of a ratio of sums (Cochran 1977, Sampling Techniques, section 2.11).
    """
    ratio, count = float(after.sum() / before.sum()), len(before)
    if count < 2:
        return Change(1 - ratio, None)
    scatter = math.sqrt(np.square(after - ratio * before).sum() * count / (count - 1))
    return Change(1 - ratio, scatter / float(before.sum()))


def nats_at(target_tokens: float, curve: Sequence[Measurement]) -> Array | None:
    """Return the losses of the sentences at so many target tokens; None before the first point.

    Between two points, losses are linear in the logarithm of the tokens.
    """
    tokens = [point.target_tokens for point in curve]
    after = int(np.searchsorted(tokens, target_tokens))
    if after == len(curve) or (after == 0 and tokens[0] != target_tokens):
        return None
    if tokens[after] == target_tokens:
        return curve[after].nats
    low, high = curve[after - 1], curve[after]
    way = math.log(target_tokens / low.target_tokens)
    share = way / math.log(high.target_tokens / low.target_tokens)
    return low.nats + share * (high.nats - low.nats)


def last_fall(curve: Sequence[Measurement], since: float) -> Change | None:
    """Return by which share the loss fell since a share of the tokens; None if not measured."""
    before = nats_at(since * curve[-1].target_tokens, curve) if curve else None
    if before is None or not (np.isfinite(before).all() and np.isfinite(curve[-1].nats).all()):
        return None
    return fall(before, curve[-1].nats)


def loss_points(curve: Sequence[Measurement], tokens: Array) -> list[LossPoint]:
    """Return the rows of ``learning_curve.csv``; ``tokens`` are those of each sentence."""
    points = []
    for number, each in enumerate(curve, 1):
        loss, count = each.nats.sum() / tokens.sum(), len(tokens)
        scatter = np.square(each.nats - loss * tokens).sum() * count / max(1, count - 1)
        change = last_fall(curve[:number], 0.5)
        points.append(
            LossPoint(
                updates=each.updates,
                target_tokens=each.target_tokens,
                seconds=each.seconds,
                val_loss=loss,
                error=math.sqrt(scatter) / tokens.sum() if count > 1 else None,
                fall=change and change.share,
                fall_error=change and change.error,
                learning_rate=each.learning_rate,
            )
        )
    return points


def bleu_gained(history: Sequence[HistoryPoint]) -> float | None:
    """Return the share of the last validation BLEU that the last fifth of the tokens gained.

    None if no validation came before that fifth, or for a BLEU of 0.
    """
    if not history or history[-1].val_bleu == 0:
        return None
    last, start = history[-1], LAST_FIFTH * history[-1].target_tokens
    if history[0].target_tokens > start:
        return None
    tokens = [math.log(point.target_tokens) for point in history]
    before = np.interp(math.log(start), tokens, [point.val_bleu for point in history])
    return 1 - float(before) / last.val_bleu


def is_flat(curve: Sequence[Measurement], share: float) -> bool:
    """Whether the last doubling took less than a ``share`` off the loss, beyond its error."""
    change = last_fall(curve, 0.5)
    return change is not None and change.share + (change.error or 0) < share


class LossCurve(UpdateCallback):
    """Measure the loss of the validation sentences at each rung of the ladder and at the end.

    With ``budget.plateau``, stop the trainer at the first rung where the curve is flat.

    Writes ``learning_curve.csv`` into ``folder`` and judges the training. The weights are those
    that are trained. The point of the end is not kept in checkpoints, so that a training that
    continues has the points of one that never stopped. List this callback after
    ``TrainingBudget``, whose clock then leaves the measuring out.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.rungs: list[Measurement] = []
        self.convergence: Convergence | None = None  # the judgement at the end of the training

    def on_update_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Batch
    ) -> None:
        """Measure if the update is a rung."""
        pairs: Any = trainer.datamodule.validation_pairs  # type: ignore[attr-defined]
        late = budget_of(trainer).cost["target_tokens"] >= FIRST * pairs.tokens
        if late and is_rung(trainer.global_step) and trainer.limit_val_batches != 0:
            self.rungs.append(self._measure(trainer, pl_module))
            self._write(trainer, self.rungs)
            trainer.should_stop |= self.is_at_plateau(trainer)

    def is_at_plateau(self, trainer: pl.Trainer) -> bool:
        """Whether the training has reached the plateau that ends it, the same on every rank."""
        share = budget_of(trainer).budget.plateau
        return share is not None and is_flat(self.rungs, share)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Measure the last weights, and judge."""
        if trainer.limit_val_batches == 0 or not trainer.global_step:
            return
        curve = list(self.rungs)
        if not curve or curve[-1].updates < trainer.global_step:
            curve.append(self._measure(trainer, pl_module))
        self._write(trainer, curve)
        doubling, fifth = last_fall(curve, 0.5), last_fall(curve, LAST_FIFTH)
        source = gain_of_source(trainer, pl_module, curve[-1].nats)
        histories = [each for each in trainer.callbacks if isinstance(each, History)]  # type: ignore[attr-defined]
        self.convergence = Convergence(
            fall=doubling and doubling.share,
            fall_error=doubling and doubling.error,
            last_fifth_fall=fifth and fifth.share,
            last_fifth_fall_error=fifth and fifth.error,
            last_fifth_bleu=bleu_gained(histories[0].points) if histories else None,
            source_gain=source and source.share,
            source_gain_error=source and source.error,
        )

    def _measure(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> Measurement:
        budget_of(trainer).finish_updates(pl_module)
        cost, losses = budget_of(trainer).cost, sentence_losses(trainer, pl_module)
        measured = Measurement(
            updates=trainer.global_step,
            target_tokens=int(cost["target_tokens"]),
            seconds=round(cost["seconds"], 3),
            learning_rate=float(trainer.optimizers[0].param_groups[0]["lr"]),
            nats=np.array([*losses.values()]),
        )
        loss = measured.nats.sum() / trainer.datamodule.validation_pairs.tokens  # type: ignore[attr-defined]
        for logger in trainer.loggers:
            logger.log_metrics({LOSS: float(loss)}, step=trainer.global_step)
        return measured

    def _write(self, trainer: pl.Trainer, curve: Sequence[Measurement]) -> None:
        if trainer.is_global_zero:
            lengths = trainer.datamodule.validation_pairs.tgt.lengths + 1.0  # type: ignore[attr-defined]
            write_learning_curve(self.folder, loss_points(curve, lengths))

    def state_dict(self) -> dict[str, Any]:
        """Return the points so far, without that of the end."""
        return {"rungs": [(*point[:-1], torch.from_numpy(point.nats)) for point in self.rungs]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the points of an interrupted training."""
        self.rungs = [
            Measurement(*rung)._replace(nats=rung[-1].numpy())  # checkpoints hold tensors
            for rung in state_dict["rungs"]
        ]


def sentence_losses(
    trainer: pl.Trainer, pl_module: pl.LightningModule, other_sources: bool = False
) -> dict[int, float]:
    """Return the loss in nats of each validation reference by its number, the same on every rank.

    With ``other_sources``, each is read with the source of the sentence before it in its batch; a
    sentence alone in a batch is left out.
    """
    data: Any = trainer.datamodule  # type: ignore[attr-defined]
    model: EncoderDecoder = pl_module.model  # type: ignore[assignment]
    losses: dict[int, float] = {}
    training = model.training
    model.eval()
    with torch.no_grad(), trainer.precision_plugin.val_step_context():
        for batch in data.decoding_loader(data.validation_pairs):
            if not other_sources:
                losses |= _of_batch(model, _moved(pl_module, batch))
            elif len(batch.ids) > 1:
                losses |= _of_batch(model, _moved(pl_module, with_other_sources(batch)))
    model.train(training)
    return gather_by_key(trainer, losses)


def gain_of_source(
    trainer: pl.Trainer, pl_module: pl.LightningModule, nats: Array
) -> Change | None:
    """Return by which share the losses ``nats`` are lower than with the sources of others.

    None where every sentence is alone in its batch.
    """
    other = sentence_losses(trainer, pl_module, other_sources=True)
    ids = trainer.datamodule.validation_pairs.ids.tolist()  # type: ignore[attr-defined]
    own = dict(zip(ids, nats, strict=True))
    pairs = np.array([(others, own[number]) for number, others in other.items()])
    return fall(*pairs.T) if len(pairs) and np.isfinite(pairs).all() else None


def with_other_sources(batch: Batch) -> Batch:
    """Return a batch in which each reference has the source of the sentence before, in a ring."""
    sources, targets = batch.lengths
    return batch._replace(
        src=batch.src.roll(1, 0),
        src_mask=batch.src_mask.roll(1, 0),
        lengths=np.stack([np.roll(sources, 1), targets]),
    )


def _moved(pl_module: pl.LightningModule, batch: Batch) -> Batch:
    moved: Batch = pl_module.transfer_batch_to_device(batch, pl_module.device, 0)
    return moved


def _of_batch(model: EncoderDecoder, batch: Batch) -> dict[int, float]:
    features = model.decode(model.encode(*batch.source), batch.tgt_in).features
    losses = model.token_losses(*batch.real_targets(features)).double().cpu().numpy()
    ends = np.cumsum(batch.lengths[1])
    sums = np.add.reduceat(losses, ends - batch.lengths[1])
    return dict(zip(batch.ids.tolist(), sums.tolist(), strict=True))


def convergence_of(trainer: pl.Trainer) -> Convergence:
    """Return how far the training of a trainer has learned; empty without ``LossCurve``."""
    curve = curve_of(trainer)
    return (curve and curve.convergence) or Convergence()


def curve_of(trainer: pl.Trainer) -> LossCurve | None:
    """Return the learning curve of a trainer; None where it was left out."""
    callbacks: list[pl.Callback] = trainer.callbacks  # type: ignore[attr-defined]
    return next((each for each in callbacks if isinstance(each, LossCurve)), None)


def unbegun(convergence: Convergence) -> Iterator[str]:
    """Yield a line for a training that has not passed the floor."""
    if not convergence.began:
        yield (
            "validation loss is as high with the sources of other sentences: the model does not "
            "translate yet; train longer with budget.KIND=N, or with another optimizer.lr"
        )
