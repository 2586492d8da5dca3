"""``task=train``: train one variant, and score the test set with its best weights."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path

import pytorch_lightning as pl
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import validated
from datamodules.files import locked
from datamodules.translation_data import TranslationData
from lightning_modules.metrics.chosen_metrics import try_metrics
from lightning_modules.ranks.devices import is_rank_zero, world_size
from lightning_modules.ranks.launch import on_ranks
from lightning_modules.runs import files
from lightning_modules.runs.identity import Identity, finished_result
from lightning_modules.runs.job import Job, next_steps
from lightning_modules.runs.paths import FAILURE, LOCK, TEST_FILES
from lightning_modules.runs.setting_checks import check_arguments
from lightning_modules.testing.alarms import alarms_of, in_a_line
from lightning_modules.testing.run_scores import check_test_set, score_model
from lightning_modules.testing.scoring import Scoring
from lightning_modules.testing.summary import summary
from lightning_modules.testing.unknown_words import read_replacement
from lightning_modules.testing.validation_attention import ValidationAttention
from lightning_modules.tracking.results import AttentionMaps, EarlierValidations, log_test
from lightning_modules.tracking.run_page import check_run_page, publish_run_page
from lightning_modules.tracking.trackers import Tracker, track_training, tracker_config
from lightning_modules.training import factories
from lightning_modules.training.budgets import fill_budget
from lightning_modules.training.continuing import run_to_continue
from lightning_modules.training.first_weights import read_source
from lightning_modules.training.process import ended_by_signals
from lightning_modules.training.progress import enter_phase
from lightning_modules.training.setup import TrainingSetup, build_trainer, fit, set_up_training
from lightning_modules.training.size_search import match_size
from lightning_modules.training.word_vectors import fingerprint, vector_files

log = logging.getLogger(__name__)


def train(config: DictConfig) -> float | None:
    """Task: return the test BLEU of a run, trained now or before; None on further ranks.

    Raises ``UserError`` for settings or text that cannot be used.
    """
    job = Job.of(HydraConfig.get())
    bleu = train_in(job, config)
    if bleu is not None and not job.in_multirun:
        log.info(next_steps(job.folder))
    return bleu


def train_in(job: Job, config: DictConfig) -> float | None:
    """Train in the folder of ``job``; see ``train``."""
    data = sized_for_data(config)
    scoring = checked_scoring(config)
    check_run_page(config, job.overrides)
    with _alone_in(job.folder):
        wanted = identity_of(config, data)
        finished = None if config.force else finished_result(job.folder, wanted)
        if finished is None:
            config["continue"] = run_to_continue(config, job.folder, wanted)
            bleu = train_and_test(config, scoring, data, job)
        else:
            bleu = finished.scores["bleu"]
            files.remove_earlier(job.folder, [FAILURE])  # of a job that wanted another run
            known = "%s: finished before, test BLEU %.2f; force=true runs it again"
            log.info(known, job.folder, bleu)
            for alarm in finished.alarms:
                log.info("ALARM: %s", in_a_line(alarm))
            for each in finished.training.suspicions:
                log.info("warning: %s", each)
    return bleu


def checked_scoring(config: DictConfig) -> Scoring:
    """Return how test sets are scored. Raises ``UserError`` for settings that cannot be used."""
    scoring = validated(Scoring, config.scoring, "scoring")
    try_metrics(scoring.metrics)
    read_replacement(config.decoding)
    return scoring


def sized_for_data(config: DictConfig) -> TranslationData:
    """Check classes and arguments, fill what the data decides in ``config``; return the data."""
    factories.check_classes(config)
    check_arguments(config)
    data = factories.build_data(config)
    factories.check_kernels(config, data)
    fill_budget(config, data)
    match_size(config, data)
    OmegaConf.resolve(config)
    return data


def identity_of(config: DictConfig, data: TranslationData) -> Identity:
    """Return the identity of a run; reads the data for a fingerprint."""
    vectors = vector_files(config).items()
    files = {f"vectors.{side}": fingerprint(path) for side, path in vectors}
    if config.init_from is not None:
        files["init_from"] = read_source(config.init_from).fingerprint
    return Identity.of_config(config, data.fingerprint, files)


def _alone_in(folder: Path) -> AbstractContextManager[None]:
    """Wait while another process works in the same folder; its result is then there."""
    if world_size() > 1:  # torchrun or SLURM started ranks that share the folder
        return nullcontext()
    waits = partial(log.info, "%s: waiting for another process that works there", folder)
    return locked(folder / LOCK, waits)


@on_ranks
def train_and_test(
    config: DictConfig, scoring: Scoring, data: TranslationData, job: Job
) -> float | None:
    """Train and test on all ranks; rank zero returns test BLEU, the others None."""
    if is_rank_zero():
        check_test_set(data, scoring)
        files.remove_earlier(job.folder, TEST_FILES)
    with tracked_training(config, data, job) as (trainer, setup, tracker):
        training = fit(trainer, setup)
        with ended_by_signals():
            run = score_model(trainer, setup.module, data, scoring, config)
        if run is None:
            return None
        enter_phase(trainer, "writing")
        result = run.result
        result.overrides, result.training = job.overrides, training
        result.vectors, result.first_weights = setup.vectors, setup.first_weights
        result.alarms = alarms_of(run, scoring)
        files.write_run(job.folder, run)
        log_test(tracker, run, scoring, job.folder, trainer.global_step)
        log.info(summary(run, scoring, job.folder))
        publish_run_page(config, job.folder, tracker)
    return result.scores["bleu"]


@contextmanager
def tracked_training(
    config: DictConfig, data: TranslationData, job: Job, *callbacks: pl.Callback
) -> Iterator[tuple[pl.Trainer, TrainingSetup, Tracker | None]]:
    """Set a training up in the folder of ``job``; its tracker is closed with the context.

    Raises ``UserError`` for settings or text that cannot be used, before the run is tracked.
    """
    setup = set_up_training(config, data, job.folder)
    about = partial(tracker_config, setup.module, job, config)
    with track_training(config, job, about) as (logger, tracker):
        tracked = [ValidationAttention(job.folder), *callbacks]
        if tracker is not None and tracker.takes_pictures:
            tracked.append(AttentionMaps(tracker))
        start = setup.checkpoint
        if start is not None and job.folder.resolve() not in start.resolve().parents:
            tracked.append(EarlierValidations())
        yield build_trainer(setup, job, logger, *tracked), setup, tracker
