"""The one training loop that all variants share."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.precision import MixedPrecision
from pytorch_lightning.utilities import GradClipAlgorithmType
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from datamodules.batching import Batch, PackedBatch, RoundedBatch
from datamodules.errors import UserError
from datamodules.tokenization import Tokenizer
from lightning_modules.attention import Score, Window
from lightning_modules.decoding import GreedySearch, Hypothesis, Search
from lightning_modules.kernels.choice import kernels_in_use
from lightning_modules.metrics.bleu import corpus_bleu
from lightning_modules.metrics.words import BOTH_PLAIN, WordRules
from lightning_modules.ranks.updates import ends_update, gather_by_key
from lightning_modules.training.attention_spread import Spreads, mean_spread, spreads_of
from lightning_modules.training.captured import CapturedUpdates
from lightning_modules.training.losses import TrainingLosses
from lightning_modules.training.process import ALL_ONE, Seeds, seed_draws
from lightning_modules.training.teacher_forcing import ALWAYS, TeacherForcing, mixed_inputs
from lightning_modules.training.validations import (
    IMPROVEMENTS,
    VAL_BLEU,
    VAL_LOSS,
    VAL_SPREAD,
    Validation,
    count_improvements,
)
from lightning_modules.variants import EncoderDecoder
from lightning_modules.variants.base import DecoderOutput

VALIDATION_SEARCH: dict[str, Any] = {
    "max_ratio": 1.5,
    "max_extra": 10,
    "min_length": None,
    "no_repeat_ngram": None,
    "length": None,
    "bf16": False,
    "int8": False,
}
"""Settings of the greedy search of validations, the same for every run."""
VALIDATIONS = "validations"  # key in a checkpoint: loss and BLEU of each validation so far


def make_optimizer(model: nn.Module, make: Callable[[Iterable[Any]], Optimizer]) -> Optimizer:
    """Make the optimizer of all trained parameters of ``model``.

    Parameters of scores and windows with another ``lr_factor`` than 1 are a group of their own,
    behind the others, with this share of the learning rate.
    """
    factors = {
        parameter: part.lr_factor
        for part in model.modules()
        if isinstance(part, Score | Window)
        for parameter in part.parameters()
    }
    groups: dict[float, list[nn.Parameter]] = {}
    for parameter in model.parameters():
        if parameter.requires_grad:
            groups.setdefault(factors.get(parameter, 1.0), []).append(parameter)
    if [*groups] == [1.0]:  # a function of the user may want plain parameters
        return make(groups[1.0])
    optimizer = make([{"params": parameters} for parameters in groups.values()])
    for group, factor in zip(optimizer.param_groups, groups, strict=True):
        group["lr"] = group["lr"] * factor
    return optimizer


class Translation(NamedTuple):
    """The hypotheses of one sentence."""

    id: int  # index of the sentence in its split
    hypotheses: list[Hypothesis]  # hypotheses, best first


class Translator(pl.LightningModule):
    """Translate with a variant; ``seed`` is that of the search's draws."""

    def __init__(self, model: EncoderDecoder, search: Search, seed: int) -> None:
        super().__init__()
        self.model = model
        self.search = search
        self.decoding_seed = seed

    def on_predict_start(self) -> None:
        """Seed the draws, so that earlier steps do not change the translations."""
        seed_draws(self.decoding_seed)

    def predict_step(self, batch: Batch, batch_idx: int = 0) -> list[Translation]:
        """Translate a batch with the configured search."""
        lengths = torch.from_numpy(batch.lengths[1])
        hypotheses = self.search(self.model, *batch.source, lengths=lengths)
        return [Translation(*pair) for pair in zip(batch.ids.tolist(), hypotheses, strict=True)]


class TranslationModule(Translator):
    """Train a variant, validate by loss and by BLEU of greedy translations, and translate.

    ``config`` is the whole resolved configuration, kept in checkpoints and sent to the tracker.
    Each update is seeded anew.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        target: Tokenizer,
        optimizer: Callable[[Iterable[nn.Parameter]], Optimizer],
        scheduler: Callable[[Optimizer], LRScheduler],
        search: Search,
        label_smoothing: float,
        config: dict[str, Any],
        teacher_forcing: TeacherForcing = ALWAYS,
        seeds: Seeds = ALL_ONE,
        rules: WordRules = BOTH_PLAIN,
    ) -> None:
        super().__init__(model, search, seeds.decoding)
        self.save_hyperparameters(config)
        self.target, self.seeds, self.rules = target, seeds, rules
        self.label_smoothing, self.teacher_forcing = label_smoothing, teacher_forcing
        self.validated: dict[int, str] = {}
        self._make_optimizer, self._make_scheduler = optimizer, scheduler
        self._validation_search = GreedySearch(**VALIDATION_SEARCH)
        self.losses = TrainingLosses()
        self._captured: CapturedUpdates | None = None  # made in the first update
        self._update_loss: Tensor | float = 0.0
        self._validated_nats: dict[int, tuple[float, int]] = {}
        self._validated_spreads: dict[int, Spreads] = {}
        self.validations: list[Validation] = []
        self._scheduled = 0  # number of validations that a plateau schedule has seen

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Save the validations so far."""
        checkpoint[VALIDATIONS] = [tuple(each) for each in self.validations]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore the validations.

        The module is converted to its precision before loading; Lightning converts it too late.
        """
        self.validations = [Validation(*each) for each in checkpoint[VALIDATIONS]]
        self._scheduled = len(self.validations)
        self.trainer.precision_plugin.convert_module(self)

    def decode(self, batch: Batch, share: float = 1.0) -> DecoderOutput:
        """Decode the references; the decoder reads a ``share`` of them, see ``mixed_inputs``."""
        memory = self.model.encode(*batch.source)
        tgt_in = mixed_inputs(self.model, memory, batch.tgt_in, batch.tgt_mask, share)
        return self.model.decode(memory, tgt_in)

    def loss(self, batch: Batch, label_smoothing: float = 0.0, share: float = 1.0) -> Tensor:
        """Return the mean cross-entropy in nats over real target tokens; no padding is projected.

        The decoder reads a ``share`` of the reference tokens; in a packed batch, all.
        """
        if batch.form is not None:
            return self.loss_of_form(type(batch.form), label_smoothing, *batch.form)
        features = self.decode(batch, share).features
        return self.model.loss(*batch.real_targets(features), label_smoothing)

    def loss_of_form(
        self, kind: type[PackedBatch | RoundedBatch], label_smoothing: float, *tensors: Tensor
    ) -> Tensor:
        """Return ``loss`` of the tensors of a form of a batch, whose shapes decide all others."""
        form = kind(*tensors)
        if isinstance(form, PackedBatch):
            features = self.model.decode_packed(form)
        else:
            memory = self.model.encode(form.src, form.src_mask)
            features = self.model.decode(memory, form.tgt_in).features.flatten(0, 1)
        return self.model.loss(features, form.tgt_out.flatten(), label_smoothing, form.tgt_tokens)

    def _prepared(self, batch: Batch, share: float) -> Callable[[], Tensor]:
        """Return what computes the loss of an update; a recording of it draws numbers here."""
        form = batch.form
        if form is None or not kernels_in_use().capture:
            return partial(self.loss, batch, self.label_smoothing, share)
        if self._captured is None:
            loss = partial(self.loss_of_form, type(form), self.label_smoothing)
            self._captured = CapturedUpdates(loss, self.model, self.device)
            if isinstance(form, RoundedBatch):  # packed batches have one shape
                data: Any = self.trainer.datamodule  # type: ignore[attr-defined]
                self._captured.reserve([part.to(self.device) for part in data.largest_update()])
        return self._captured.prepare(form)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the label-smoothed loss, weighted by the tokens of the piece."""
        share = self.teacher_forcing.share(self.global_step)
        compute = self._prepared(batch, share)
        seed_draws(self.seeds.dropout, self.global_step, batch.piece)
        loss = compute()
        turns = self.trainer.accumulate_grad_batches
        if (pieces := turns * self.trainer.world_size) > 1:
            loss = loss * (batch.weight * pieces)  # Lightning takes the mean of turns, DDP of ranks
        share_of_update = loss.detach() / turns
        self.losses.add(share_of_update, batch, self.global_step + 1)
        self._update_loss = self._update_loss + share_of_update
        if ends_update(self.trainer, batch_idx):
            self._log_update(share)
            self._update_loss = 0.0
        return loss

    def backward(self, loss: Tensor, *arguments: Any, **options: Any) -> None:
        """Compute the gradients, or take those that a captured update has left."""
        if self._captured is None or loss.requires_grad:
            super().backward(loss, *arguments, **options)
        else:
            self._captured.attach()

    def on_train_end(self) -> None:
        """Free the memory of captured updates for the test."""
        if self._captured is not None:
            self._captured = None
            self.zero_grad()

    @property
    def logs_now(self) -> bool:
        """Whether Lightning hands the values of this update on to the tracker."""
        return (self.global_step + 1) % self.trainer.log_every_n_steps == 0  # type: ignore[attr-defined]

    def _log_update(self, share: float) -> None:
        """Give Lightning the values of this update; Lightning may also log the last update."""
        loss: Any = self._update_loss
        if self.logs_now:
            loss = self.trainer.strategy.reduce(loss, reduce_op="mean")
        self.log("train/loss", loss)
        numbers = {"learning_rate": self.trainer.optimizers[0].param_groups[0]["lr"]}
        if not self.teacher_forcing.always:
            numbers["teacher_forcing"] = share
        for name, number in numbers.items():  # Lightning would copy a number, and wait for a GPU
            self.log(f"train/{name}", torch.full((), number, device=self.device))

    def on_validation_epoch_start(self) -> None:
        """Seed the draws, and forget the translations of the last validation."""
        seed_draws(self.seeds.decoding, self.global_step)
        self.validated, self._validated_nats, self._validated_spreads = {}, {}, {}

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Compute the loss of the references, and translate the sources."""
        tokens, ids = batch.update_tokens, batch.ids.tolist()
        decoded = self.decode(batch)
        nats = float(self.model.loss(*batch.real_targets(decoded.features))) * tokens
        self._validated_nats[ids[0]] = nats, tokens
        self._validated_spreads[ids[0]] = spreads_of(decoded.weights, batch)
        hypotheses = self._validation_search(self.model, *batch.source, need_weights=False)
        texts = self.target.decode([ranked[0].tokens for ranked in hypotheses])
        self.validated.update(zip(ids, texts, strict=True))

    def on_validation_epoch_end(self) -> None:
        """Log the mean loss over all tokens, corpus BLEU and the spread of attention."""
        self.validations.append(self.validation())
        self.log(VAL_LOSS, self.validations[-1].loss)
        self.log(VAL_BLEU, self.validations[-1].bleu)
        spreads = gather_by_key(self.trainer, self._validated_spreads)
        if (spread := mean_spread(list(spreads.values()))) is not None:
            self.log(VAL_SPREAD, spread)
        self.log(IMPROVEMENTS, float(count_improvements(self.validations)), logger=False)

    def validation(self) -> Validation:
        """Return loss and BLEU of the batches of a validation, the same on every rank."""
        nats, tokens = zip(*gather_by_key(self.trainer, self._validated_nats).values(), strict=True)
        self.validated = gather_by_key(self.trainer, self.validated)
        text = self.trainer.datamodule.text("val")  # type: ignore[attr-defined]
        references = [text.target[number] for number in self.validated]
        bleu = corpus_bleu(list(self.validated.values()), references, self.rules.target)
        return Validation(sum(nats) / sum(tokens), bleu)

    def configure_optimizers(self) -> Any:
        """Return optimizer and schedule, which steps every update; see ``lr_scheduler_step``."""
        optimizer = make_optimizer(self.model, self._make_optimizer)
        schedule = {
            "scheduler": self._make_scheduler(optimizer),
            "interval": "step",
            "monitor": IMPROVEMENTS,
            "strict": False,  # there is no such number before the first validation
        }
        return {"optimizer": optimizer, "lr_scheduler": schedule}

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: Any = None,
    ) -> None:
        """Clip gradients with the settings of the trainer; log the norm when clipping by norm.

        Raises ``UserError`` for a fused optimizer in float16: such an optimizer unscales gradients
        only in its step, after the clipping.
        """
        if gradient_clip_val is None or gradient_clip_val <= 0:
            return
        precision = self.trainer.precision_plugin
        scaled = isinstance(precision, MixedPrecision) and precision.scaler is not None
        if scaled and optimizer.defaults.get("fused"):
            raise UserError(
                "optimizer.fused=true: cannot clip float16 gradients; set optimizer.fused=false, "
                "trainer.precision=bf16-mixed or trainer.gradient_clip_val=null"
            )
        parameters = precision.main_params(optimizer)
        if gradient_clip_algorithm == GradClipAlgorithmType.VALUE:
            clip_grad_value_(parameters, gradient_clip_val)
            return
        norm = clip_grad_norm_(parameters, gradient_clip_val)
        self.losses.add_norm(norm)
        if self.logs_now:
            self.log("train/gradient_norm", norm)

    def lr_scheduler_step(self, scheduler: Any, metric: Any) -> None:
        """Let a plateau schedule see each validation once, not at every update."""
        if not isinstance(scheduler, ReduceLROnPlateau):
            scheduler.step()
        elif self._scheduled < len(self.validations):
            scheduler.step(float(count_improvements(self.validations)))
            self._scheduled = len(self.validations)
