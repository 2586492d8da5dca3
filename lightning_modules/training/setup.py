"""Setting a training up: its module, its trainer, its callbacks; then training with them."""

from itertools import chain
from logging import getLogger
from pathlib import Path
from typing import Any, NamedTuple

import pytorch_lightning as pl
from omegaconf import DictConfig
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import Logger

from datamodules.batching import Longest
from datamodules.corpus import Corpus, ParallelText
from datamodules.errors import validated
from datamodules.files import remove_half_written
from datamodules.translation_data import TranslationData
from lightning_modules.kernels.choice import PLAIN, kernels_in_use, use_kernels
from lightning_modules.kernels.threads import use_one_thread_if_small
from lightning_modules.library_internals import end_only_by_flags
from lightning_modules.metrics.words import WordRules, WordSettings
from lightning_modules.ranks.devices import is_rank_zero
from lightning_modules.ranks.updates import RankFlags, callback_of, shared_update
from lightning_modules.runs.files import remove_earlier
from lightning_modules.runs.identity import checkpoint_record, fingerprints
from lightning_modules.runs.job import Job
from lightning_modules.runs.paths import BEST, CHECKPOINTS, EARLIER, TOKENIZERS, TRAINING_FILES
from lightning_modules.runs.schema import Coverage, FirstWeights, Training
from lightning_modules.training import (
    checkpoints,
    continuing,
    endings,
    factories,
    first_weights,
    process,
    word_vectors,
)
from lightning_modules.training.attention_spread import StartSpread
from lightning_modules.training.averages import CheckpointAverage
from lightning_modules.training.budgets import KINDS
from lightning_modules.training.callbacks import budget_of
from lightning_modules.training.flops import Flops, count_flops
from lightning_modules.training.learning_curve import convergence_of, unbegun
from lightning_modules.training.module import VALIDATIONS, TranslationModule
from lightning_modules.training.progress import ProgressFile, ProgressLines
from lightning_modules.training.schedules import schedule_length
from lightning_modules.training.validations import Validation, doubts
from lightning_modules.variants import EncoderDecoder, Recurrent, count_parameters

log = getLogger(__name__)


class TrainingSetup(NamedTuple):
    """All parts of a training besides its trainer."""

    config: DictConfig  # the configuration of the run, resolved
    data: TranslationData
    module: TranslationModule
    flops: Flops
    vectors: dict[str, Coverage]  # word vectors by side
    first_weights: FirstWeights | None  # weights from another run
    checkpoint: Path | None
    """Checkpoint from which the training continues; None to start from the beginning."""


def set_up_training(config: DictConfig, data: TranslationData, folder: Path) -> TrainingSetup:
    """Build the model and its module, and find the checkpoint of an earlier training.

    ``folder`` is that of the run; rank zero keeps the vocabularies there and removes half-written
    files of a killed process. Raises ``UserError`` for settings or text that cannot be used.
    """
    process.prepare_process(config)
    pl.seed_everything(config.seeds.initial_weights, workers=True, verbose=False)
    model = factories.build_model(config, *data.vocabulary_sizes)
    if isinstance(model, Recurrent):
        use_one_thread_if_small(config.threads, count_parameters(model))
    word_vectors.freeze(model, config)
    first_weights.freeze(model, config.freeze)
    flops = count_flops(model, config.teacher_forcing)
    factories.check_text(config, model, data.tokenizers.source, data.encoded_corpus.encoded)
    if data.dropout and model.limit():
        longest = {"train (tokenizer.dropout, in characters)": data.dropout.longest()}
        factories.check_lengths(model, longest)
    data.check_batches()
    choice = factories.choose_kernels(config, model, data)
    use_kernels(choice.kernels)
    data.packed = choice.kernels.packed
    if choice.kernels.capture and not data.packed:
        limit = model.limit()
        data.rounding = Longest() if limit is None else Longest(limit.src_tokens, limit.tgt_tokens)
    if choice.kernels != PLAIN:
        log.info("kernels: %s", choice)
    module = build_module(config, data, model, flops)
    first = first_weights.take_weights(model, data.tokenizers, config)
    vectors = word_vectors.load_vectors(model, data.tokenizers, config)
    module.hparams["files"] = fingerprints(vectors, first)
    own = checkpoint = None if config.force else checkpoints.last_checkpoint(folder, module)
    if own is None and (run := config["continue"]) is not None:
        checkpoint = continuing.take_over(Path(run), module, folder)
    if is_rank_zero():
        for place in (folder, folder / CHECKPOINTS, folder / TOKENIZERS):
            remove_half_written(place)
        if own is None:
            ended = (file.name for file in (folder / CHECKPOINTS).glob(f"{EARLIER}*"))
            remove_earlier(folder, [*TRAINING_FILES, *(f"{CHECKPOINTS}/{name}" for name in ended)])
        data.tokenizers.save(folder / TOKENIZERS)
    return TrainingSetup(config, data, module, flops, vectors, first, checkpoint)


def build_module(
    config: DictConfig, data: TranslationData, model: EncoderDecoder, flops: Flops
) -> TranslationModule:
    """Build the module that trains a variant; its checkpoints keep the configuration."""
    vocabularies = [tokenizer.fingerprint for tokenizer in data.tokenizers]
    record = checkpoint_record(config, data.corpus, data.fingerprint, vocabularies)
    optimizer = factories.build_optimizer(config)
    scheduler, teacher_forcing = (
        factories.build(config, name, **schedule_length(config, name, data, flops))
        for name in ("scheduler", "teacher_forcing")
    )
    factories.check_optimizer(optimizer, scheduler)
    return TranslationModule(
        model=model,
        target=data.tokenizers.target,
        optimizer=optimizer,
        scheduler=scheduler,
        search=factories.build_search(config, model, data.tokenizers.target),
        label_smoothing=config.label_smoothing,
        config=record,
        teacher_forcing=teacher_forcing,
        seeds=process.Seeds(**config.seeds),
        rules=word_rules(config, data.corpus, data.text("val")),
    )


def word_rules(config: DictConfig, corpus: Corpus, validation: ParallelText) -> WordRules:
    """Return how words are cut. Raises ``UserError`` where validation would not be scored."""
    rules = validated(WordSettings, config.scoring, "scoring").rules(corpus.source, corpus.target)
    place = f"data={corpus.name}, val, {corpus.target}"
    rules.target.check(validation.target, "target", place)
    return rules


def build_trainer(
    setup: TrainingSetup, job: Job, logger: Logger | None, *further: pl.Callback
) -> pl.Trainer:
    """Build the trainer with its callbacks.

    Raises ``UserError`` where the ranks cannot share the work of an update evenly.
    """
    config = setup.config
    configured = (factories.build(config, f"callbacks.{name}") for name in config.callbacks)
    callbacks = [RankFlags(), *configured, process.EndOnSignals(), StartSpread(), *further]
    if is_rank_zero():
        callbacks.append(ProgressLines(f"{config.variant} seed {config.seed}"))
        callbacks.append(ProgressFile(job.folder))
    trainer: pl.Trainer = factories.build(
        config,
        "trainer",
        callbacks=callbacks,
        logger=logger or False,
        enable_progress_bar=False,
        plugins=[checkpoints.WholeCheckpoints()],
        **shared_update(config.trainer, config.batching.pieces),
    )
    end_only_by_flags(trainer)
    budget, pairs = budget_of(trainer), setup.data.encoded_corpus.encoded["train"]
    budget.pairs, budget.flops = pairs, setup.flops
    if config.activation_checkpointing:
        factories.recompute_layers(setup.module.model)
    factories.compile_blocks(setup.module.model, kernels_in_use().compiled)
    return trainer


def fit(trainer: pl.Trainer, setup: TrainingSetup) -> Training:
    """Train until the budget is spent, load the weights to test, report costs.

    They are those of the best validation, or with ``callbacks=average`` a mean of checkpoints. A
    training that continues from a checkpoint counts the cost until then.
    """
    module = setup.module
    with process.ended_by_signals():
        trainer.fit(module, datamodule=setup.data, ckpt_path=setup.checkpoint, weights_only=True)
        averages = [
            each for each in trainer.checkpoint_callbacks if isinstance(each, CheckpointAverage)
        ]
        for average in averages:
            average.finish(trainer, module)
    budget = budget_of(trainer)
    best = trainer.checkpoint_callback
    assert isinstance(best, ModelCheckpoint)
    if not best.best_model_path:  # the budget ended before the first validation
        best.best_model_path = f"{best.dirpath}/{BEST}"
        trainer.save_checkpoint(best.best_model_path)
    content = checkpoints.read_own_checkpoint(Path(best.best_model_path))
    checkpoints.load_weights(module.model, content)
    tested = Validation(*content[VALIDATIONS][-1]) if content[VALIDATIONS] else None
    cause = endings.ended_by(trainer, setup.config)
    convergence = convergence_of(trainer)
    costs: Any = dict(budget.cost)
    return Training(
        **{kind: costs.pop(kind) for kind in KINDS} | {"updates": trainer.global_step},
        other_costs=costs,
        epochs=trainer.global_step * trainer.accumulate_grad_batches / trainer.num_training_batches,
        target_tokens_per_second=budget.tokens_per_second,
        waited=budget.waited_share,
        data_order=budget.data_order,
        data_order_at=budget.data_order_at,
        val_loss=tested and tested.loss,
        val_bleu=tested and tested.bleu,
        start_spread=callback_of(trainer, StartSpread).spread,
        convergence=convergence,
        ended_by=cause,
        suspicions=[
            *endings.unspent(trainer, cause),
            *chain.from_iterable(average.doubts() for average in averages),
            *doubts(tested, module.validations),
            *unbegun(convergence),
        ],
    )
