"""``task=train``: train one variant, then score the test set with its best weights."""

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytorch_lightning as pl
import torch
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from pytorch_lightning.callbacks import ModelCheckpoint, TQDMProgressBar
from pytorch_lightning.loggers import Logger

from datamodules.errors import UserError
from datamodules.files import locked
from datamodules.translation_data import TranslationData
from lightning_modules.allocator import keep_freed_memory
from lightning_modules.building import (
    Settings,
    build,
    build_data,
    build_model,
    build_settings,
    checkpoint_layers,
    compile_blocks,
    embedding_width,
    try_out,
)
from lightning_modules.callbacks import ProgressFile, ProgressLines, budget_of
from lightning_modules.checkpoints import (
    TOKENIZERS,
    WholeCheckpoints,
    load_weights,
    read_own_checkpoint,
)
from lightning_modules.environment import environment
from lightning_modules.flops import Flops, count_flops
from lightning_modules.interruption import EndedBySigterm, ended_by_signals
from lightning_modules.matching import match_size
from lightning_modules.provenance import code_of, git_commit
from lightning_modules.ranks.launcher import on_ranks
from lightning_modules.ranks.sharing import share_out
from lightning_modules.ranks.world import is_rank_zero, world_size
from lightning_modules.redaction import job_overrides, redacted
from lightning_modules.resuming import finished_before, last_checkpoint
from lightning_modules.run_folder import (
    OF_THE_TEST,
    OF_THE_TRAINING,
    Coverage,
    Training,
    clear_results,
)
from lightning_modules.schedule_lengths import schedule_length
from lightning_modules.settings import build_scoring
from lightning_modules.suitability import check_text
from lightning_modules.summary import summary
from lightning_modules.testing import count_parameters, test_model, write_run
from lightning_modules.tracking.attention_maps import AttentionMaps
from lightning_modules.tracking.results import log_test
from lightning_modules.tracking.tracker import Tracker
from lightning_modules.translation import TranslationModule
from lightning_modules.variants import EncoderDecoder
from lightning_modules.vectors import freeze, load_vectors

log = logging.getLogger(__name__)

NOT_OF_A_SYSTEM = (
    *("model=", "variant=", "seed=", "seeds.", "comparison=", "comparison_name="),
    *("logger", "outputs=", "cache_dir="),
)
"""Overrides that its label shows anyway, or that leave its results alone."""


def train(config: DictConfig) -> float | None:
    """Return the test BLEU of a run, which its folder may have already; None on further ranks.

    Raises ``UserError`` for settings or text that cannot be used.
    """
    match_size(config)
    folder = Path(HydraConfig.get().runtime.output_dir)
    with _alone_in(folder):
        known = None if config.force else finished_before(folder, config)
        if known is None:
            return train_anew(config)
    bleu = known.scores["bleu"]
    log.info("%s: finished before, test BLEU %.2f; force=true runs it again", folder, bleu)
    return bleu


def _alone_in(folder: Path) -> AbstractContextManager[None]:
    """Wait for another process that is at work on the same, whose result is then there."""
    if world_size() > 1:  # ranks that were started elsewhere work there together
        return nullcontext()
    told = partial(log.info, "%s: waiting for another process that is at work there", folder)
    return locked(folder / ".lock", told)


@on_ranks
def train_anew(config: DictConfig) -> float | None:
    """Train and test; ranks other than the first take part, for None."""
    folder = Path(HydraConfig.get().runtime.output_dir)
    if is_rank_zero():
        clear_results(folder, OF_THE_TEST)
    scoring = build_scoring(config)
    with prepared(config, folder) as (trainer, module, data, vectors, checkpoint):
        training = fit(trainer, module, data, checkpoint)
        with ended_by_signals():
            tested = test_model(trainer, module, data, scoring, config)
        if tested is None:
            return None
        result = write_run(folder, config, data, training, tested, job_overrides(), vectors)
        log_test(trainer.logger, tested, folder)
        log.info(summary(result, tested.scores.curve, scoring, folder))
    return result.scores["bleu"]


class Prepared(NamedTuple):
    """All that a training takes."""

    trainer: pl.Trainer
    module: TranslationModule
    data: TranslationData
    vectors: dict[str, Coverage]
    checkpoint: Path | None
    """From which an interrupted training goes on."""


@contextmanager
def prepared(config: DictConfig, folder: Path, *callbacks: pl.Callback) -> Iterator[Prepared]:
    """Prepare a training in ``folder``; its tracked run ends with the context.

    Raises ``UserError`` for settings or text that cannot be used.
    """
    settings = prepare_process(config)
    data = build_data(config)
    flops = count_flops(config, data.vocabulary_sizes)
    pl.seed_everything(settings.seeds.initial_weights, workers=True, verbose=False)
    model = build_model(config, *data.vocabulary_sizes)
    check_text(config, model, data.tokenizers.source, data.prepared.encoded)
    module = build_module(config, data, model, flops)
    vectors = load_vectors(model, data.tokenizers, settings.vectors, embedding_width(config))
    module.hparams["vector_files"] = {side: file.fingerprint for side, file in vectors.items()}
    checkpoint = None if config.force else last_checkpoint(folder, module)
    logger: Tracker | None = None
    if is_rank_zero():
        if checkpoint is None:
            clear_results(folder, OF_THE_TRAINING)
        data.tokenizers.save(folder / TOKENIZERS)
        logger = build(config.logger) if config.logger else None
    try:
        if logger is not None:
            logger.log_hyperparams(told_apart_by(model, folder, config.variant))
        trainer = build_trainer(config, logger, *callbacks)
        budget_of(trainer).flops_by_id = flops.by_id(data.prepared.encoded["train"])
        if settings.activation_checkpointing:
            checkpoint_layers(model)
        compile_blocks(model, settings.compile)
        yield Prepared(trainer, module, data, vectors, checkpoint)
    except BaseException:
        if logger is not None:
            logger.close(exit_code=1)
        raise
    if logger is not None:
        logger.close()


def told_apart_by(model: EncoderDecoder, folder: Path, variant: str) -> dict[str, Any]:
    """What the tracker's tables show of a run beside its configuration.

    ``system`` is what all seeds share: the variant, and what else the command line says of it.
    """
    own = [given for given in job_overrides() if not given.startswith(NOT_OF_A_SYSTEM)]
    return {
        "model_name": HydraConfig.get().runtime.choices["model"],
        "system": ", ".join([variant, *own]),
        "parameters": count_parameters(model),
        "folder": str(folder),
        "git_commit": git_commit(),
        "environment": environment(),
    }


def prepare_process(config: DictConfig) -> Settings:
    """Check the plain settings, set threads and memory, keep Lightning's advice out of the log."""
    settings = build_settings(config)
    if settings.keep_memory:
        keep_freed_memory()
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    for module in ("pytorch_lightning", "lightning_fabric"):
        logging.getLogger(module).setLevel(logging.WARNING)
        warnings.filterwarnings("ignore", module=module)
    return settings


def build_module(
    config: DictConfig, data: TranslationData, model: EncoderDecoder, flops: Flops | None = None
) -> TranslationModule:
    """Put a variant together with what trains it; its checkpoints keep the configuration.

    ``flops``: what its updates cost; None for a module that is not trained.
    """
    settings = build_settings(config)
    freeze(model, settings.vectors)
    resolved: Any = redacted(OmegaConf.to_container(config, resolve=True))
    identity = {
        "tokenizers": [tokenizer.fingerprint for tokenizer in data.tokenizers],
        "corpus": data.corpus.name,
        "data_fingerprint": data.fingerprint,
        "code": code_of(config),
    }
    optimizer = build(config.optimizer)
    scheduler, teacher_forcing = (
        build(node, **schedule_length(node, settings.budget, data, flops))
        for node in (config.scheduler, config.teacher_forcing)
    )
    try_out(optimizer, scheduler)
    return TranslationModule(
        model=model,
        target=data.tokenizers.target,
        optimizer=optimizer,
        scheduler=scheduler,
        search=build(config.decoding),
        label_smoothing=config.label_smoothing,
        config=resolved | identity,
        teacher_forcing=teacher_forcing,
        seeds=settings.seeds,
    )


def build_trainer(config: DictConfig, logger: Logger | None, *further: pl.Callback) -> pl.Trainer:
    """Build the trainer with its callbacks; a progress bar where someone watches.

    Raises ``UserError`` where the ranks cannot share an update's work evenly.
    """
    if "accumulate_grad_batches" in config.trainer:
        wanted = config.trainer.accumulate_grad_batches
        raise UserError(
            f"trainer.accumulate_grad_batches={wanted}: set batching.pieces={wanted} instead, "
            "which computes an update's batch piece by piece"
        )
    configured = (build(callback) for callback in config.callbacks.values())
    callbacks = [*configured, EndedBySigterm(), *further]
    alone = HydraConfig.get().mode == RunMode.RUN
    if is_rank_zero():
        callbacks.append(ProgressLines(f"{config.variant} seed {config.seed}"))
        if isinstance(logger, Tracker):
            callbacks.append(AttentionMaps(logger))
        if not alone:
            callbacks.append(ProgressFile(Path(HydraConfig.get().runtime.output_dir)))
    bar = alone and sys.stderr.isatty()
    if bar:
        callbacks.append(TQDMProgressBar(leave=False))
    trainer: pl.Trainer = build(
        config.trainer,
        callbacks=callbacks,
        logger=logger or False,
        enable_progress_bar=bar,
        plugins=[WholeCheckpoints()],
    )
    share_out(trainer, config.batching.pieces)
    return trainer


def fit(
    trainer: pl.Trainer,
    module: TranslationModule,
    data: TranslationData,
    checkpoint: Path | None = None,
) -> Training:
    """Spend the budget, go back to the best validation BLEU, and account for it.

    With a checkpoint, an interrupted training goes on: what it had spent counts.
    """
    with ended_by_signals():
        trainer.fit(module, datamodule=data, ckpt_path=checkpoint, weights_only=True)
    budget = budget_of(trainer)
    best = trainer.checkpoint_callback
    assert isinstance(best, ModelCheckpoint)
    if not best.best_model_path:  # the budget ended before the first validation
        best.best_model_path = f"{best.dirpath}/best.ckpt"
        trainer.save_checkpoint(best.best_model_path)
    load_weights(module.model, read_own_checkpoint(Path(best.best_model_path)))
    by_bleu = best.monitor == "val/bleu" and best.best_model_score is not None
    return Training(
        target_tokens=budget.seen_tokens,
        updates=trainer.global_step,
        epochs=trainer.global_step * trainer.accumulate_grad_batches / trainer.num_training_batches,
        flops=budget.flops,
        seconds=budget.seconds,
        target_tokens_per_second=budget.tokens_per_second,
        data_order=budget.data_order,
        data_order_at=budget.data_order_at,
        val_bleu=float(best.best_model_score) if by_bleu else None,  # type: ignore[arg-type]
    )
