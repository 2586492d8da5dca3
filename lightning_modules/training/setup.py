"""Setting a training up: its module, its trainer, its callbacks; then training with them."""

from pathlib import Path
from typing import Any, NamedTuple

import pytorch_lightning as pl
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import Logger

from datamodules.errors import UserError
from datamodules.files import remove_half_written
from datamodules.translation_data import TranslationData
from lightning_modules.library_internals import end_only_by_flags
from lightning_modules.ranks.environment import is_rank_zero
from lightning_modules.ranks.updates import RankFlags, shared_update
from lightning_modules.runs.files import clear_results
from lightning_modules.runs.job import Job
from lightning_modules.runs.paths import BEST, CHECKPOINTS, TOKENIZERS, TRAINING_FILES
from lightning_modules.runs.provenance import code_versions
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import Coverage, Training
from lightning_modules.training.callbacks import ProgressFile, ProgressLines, budget_of
from lightning_modules.training.checkpoints import (
    WholeCheckpoints,
    last_checkpoint,
    load_weights,
    read_own_checkpoint,
)
from lightning_modules.training.factories import (
    build,
    build_model,
    build_optimizer,
    build_search,
    check_optimizer,
    compile_blocks,
    embedding_width,
    recompute_layers,
)
from lightning_modules.training.flops import Flops, count_flops
from lightning_modules.training.input_checks import check_lengths, check_text
from lightning_modules.training.module import TranslationModule
from lightning_modules.training.process import EndOnSignals, ended_by_signals, prepare_process
from lightning_modules.training.schedules import schedule_length
from lightning_modules.training.settings import TrainingSettings
from lightning_modules.training.word_vectors import freeze, load_vectors
from lightning_modules.variants import EncoderDecoder


class TrainingSetup(NamedTuple):
    """All parts of a training besides its trainer."""

    config: DictConfig
    """The configuration of the run, resolved."""
    settings: TrainingSettings
    data: TranslationData
    module: TranslationModule
    flops: Flops
    vectors: dict[str, Coverage]
    """Word vectors by side."""
    checkpoint: Path | None
    """Checkpoint of an interrupted training; None for a new training."""


def set_up_training(
    config: DictConfig, settings: TrainingSettings, data: TranslationData, folder: Path
) -> TrainingSetup:
    """Build the model and its module, and find the checkpoint of an interrupted training.

    ``folder`` is that of the run; rank zero keeps the vocabularies there and removes half-written
    files of a killed process. Raises ``UserError`` for settings or text that cannot be used.
    """
    prepare_process(settings)
    pl.seed_everything(settings.seeds.initial_weights, workers=True, verbose=False)
    model = build_model(config, *data.vocabulary_sizes)
    freeze(model, settings.vectors)
    flops = count_flops(model, config.teacher_forcing)
    check_text(config, model, data.tokenizers.source, data.encoded_corpus.encoded)
    if data.dropout and model.limit():
        check_lengths(model, {"train (tokenizer.dropout, in characters)": data.dropout.longest()})
    data.check_batches()
    module = build_module(config, settings, data, model, flops)
    vectors = load_vectors(model, data.tokenizers, settings.vectors, embedding_width(config))
    module.hparams["vector_files"] = {side: file.fingerprint for side, file in vectors.items()}
    checkpoint = None if config.force else last_checkpoint(folder, module)
    if is_rank_zero():
        for place in (folder, folder / CHECKPOINTS, folder / TOKENIZERS):
            remove_half_written(place)
        if checkpoint is None:
            clear_results(folder, TRAINING_FILES)
        data.tokenizers.save(folder / TOKENIZERS)
    return TrainingSetup(config, settings, data, module, flops, vectors, checkpoint)


def build_module(
    config: DictConfig,
    settings: TrainingSettings,
    data: TranslationData,
    model: EncoderDecoder,
    flops: Flops,
) -> TranslationModule:
    """Build the module that trains a variant; its checkpoints keep the configuration."""
    resolved: Any = redacted(OmegaConf.to_container(config, resolve=True))
    identity = {
        "tokenizers": [tokenizer.fingerprint for tokenizer in data.tokenizers],
        "corpus": data.corpus.name,
        "languages": [data.corpus.source, data.corpus.target],
        "data_fingerprint": data.fingerprint,
        "code": code_versions(config).training,
    }
    optimizer = build_optimizer(config)
    scheduler, teacher_forcing = (
        build(config, name, **schedule_length(config, name, settings.budget, data, flops))
        for name in ("scheduler", "teacher_forcing")
    )
    check_optimizer(optimizer, scheduler)
    return TranslationModule(
        model=model,
        target=data.tokenizers.target,
        optimizer=optimizer,
        scheduler=scheduler,
        search=build_search(config, model),
        label_smoothing=config.label_smoothing,
        config=resolved | identity,
        teacher_forcing=teacher_forcing,
        seeds=settings.seeds,
    )


def build_trainer(
    setup: TrainingSetup, job: Job, logger: Logger | None, *further: pl.Callback
) -> pl.Trainer:
    """Build the trainer with its callbacks.

    Raises ``UserError`` where the ranks cannot share the work of an update evenly.
    """
    config, settings = setup.config, setup.settings
    if "accumulate_grad_batches" in config.trainer:
        wanted = config.trainer.accumulate_grad_batches
        raise UserError(
            f"trainer.accumulate_grad_batches={wanted}: set batching.pieces={wanted} instead, "
            "which computes an update's batch piece by piece"
        )
    configured = (build(config, f"callbacks.{name}") for name in config.callbacks)
    callbacks = [RankFlags(), *configured, EndOnSignals(), *further]
    if is_rank_zero():
        callbacks.append(ProgressLines(f"{config.variant} seed {config.seed}"))
        callbacks.append(ProgressFile(job.folder))
    trainer: pl.Trainer = build(
        config,
        "trainer",
        callbacks=callbacks,
        logger=logger or False,
        enable_progress_bar=False,
        plugins=[WholeCheckpoints()],
        **shared_update(config.trainer, config.batching.pieces),
    )
    end_only_by_flags(trainer)
    budget, pairs = budget_of(trainer), setup.data.encoded_corpus.encoded["train"]
    budget.pairs, budget.flops = pairs, setup.flops
    if settings.activation_checkpointing:
        recompute_layers(setup.module.model)
    compile_blocks(setup.module.model, settings.compile)
    return trainer


def fit(trainer: pl.Trainer, setup: TrainingSetup) -> Training:
    """Train until the budget is spent, load the weights of the best validation BLEU, report costs.

    An interrupted training continues from its checkpoint; its earlier cost counts.
    """
    module = setup.module
    with ended_by_signals():
        trainer.fit(module, datamodule=setup.data, ckpt_path=setup.checkpoint, weights_only=True)
    budget = budget_of(trainer)
    best = trainer.checkpoint_callback
    assert isinstance(best, ModelCheckpoint)
    if not best.best_model_path:  # the budget ended before the first validation
        best.best_model_path = f"{best.dirpath}/{BEST}"
        trainer.save_checkpoint(best.best_model_path)
    load_weights(module.model, read_own_checkpoint(Path(best.best_model_path)))
    by_bleu = best.monitor == "val/bleu" and best.best_model_score is not None
    fields = Training.model_fields
    costs: dict[str, Any] = {kind: cost for kind, cost in budget.cost.items() if kind in fields}
    return Training(
        **costs | {"updates": trainer.global_step},
        other_costs={kind: cost for kind, cost in budget.cost.items() if kind not in fields},
        epochs=trainer.global_step * trainer.accumulate_grad_batches / trainer.num_training_batches,
        target_tokens_per_second=budget.tokens_per_second,
        waited=budget.waited_share,
        data_order=budget.data_order,
        data_order_at=budget.data_order_at,
        val_bleu=float(best.best_model_score) if by_bleu else None,  # type: ignore[arg-type]
    )
