"""``task=train`` and ``task=test``: train one variant, and score the test set with its weights."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path

import pytorch_lightning as pl
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError, validated
from datamodules.files import locked
from datamodules.translation_data import TranslationData
from lightning_modules.metrics.chosen_metrics import try_metrics
from lightning_modules.ranks.devices import is_rank_zero, world_size
from lightning_modules.ranks.launch import on_ranks
from lightning_modules.runs import files
from lightning_modules.runs.checksums import verify_files
from lightning_modules.runs.identity import Identity, finished_result
from lightning_modules.runs.job import Job, next_steps
from lightning_modules.runs.paths import TEST_FILES
from lightning_modules.runs.schema import Result
from lightning_modules.runs.setting_checks import check_arguments
from lightning_modules.runs.settings import RESULTS, key_of, overrides_that_affect
from lightning_modules.testing.run_scores import check_test_set, score_model
from lightning_modules.testing.scoring import Scoring
from lightning_modules.testing.summary import summary
from lightning_modules.testing.unknown_words import read_replacement
from lightning_modules.tracking.results import AttentionMaps, log_test
from lightning_modules.tracking.trackers import Tracker, track_training, tracker_config
from lightning_modules.training import factories
from lightning_modules.training.callbacks import ProgressFile, enter_phase
from lightning_modules.training.checkpoints import TrainedModel, load_trained
from lightning_modules.training.module import Translator
from lightning_modules.training.process import EndOnSignals, ended_by_signals, prepare_process
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
    scoring = _checked_scoring(config)
    with _alone_in(job.folder):
        wanted = identity_of(config, data)
        finished = None if config.force else finished_result(job.folder, wanted)
        if finished is None:
            bleu = train_and_test(config, scoring, data, job)
        else:
            files.renew_hydra_digests(job.folder, finished)
            bleu = finished.scores["bleu"]
            known = "%s: finished before, test BLEU %.2f; force=true runs it again"
            log.info(known, job.folder, bleu)
    return bleu


def _checked_scoring(config: DictConfig) -> Scoring:
    scoring = validated(Scoring, config.scoring, "scoring")
    try_metrics(scoring.metrics)
    read_replacement(config.decoding)
    return scoring


def sized_for_data(config: DictConfig) -> TranslationData:
    """Check classes and arguments, size the variant, resolve ``config``; return its data."""
    factories.check_classes(config)
    check_arguments(config)
    data = factories.build_data(config)
    match_size(config, data)
    OmegaConf.resolve(config)
    return data


def identity_of(config: DictConfig, data: TranslationData) -> Identity:
    """Return the identity of a run; reads the data for a fingerprint."""
    vectors = {side: fingerprint(path) for side, path in vector_files(config).items()}
    return Identity.of_config(config, data.fingerprint, vectors)


def _alone_in(folder: Path) -> AbstractContextManager[None]:
    """Wait while another process works in the same folder; its result is then there."""
    if world_size() > 1:  # torchrun or SLURM started ranks that share the folder
        return nullcontext()
    waits = partial(log.info, "%s: waiting for another process that works there", folder)
    return locked(folder / ".lock", waits)


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
        result.overrides, result.training, result.vectors = job.overrides, training, setup.vectors
        files.write_run(job.folder, run)
        log_test(tracker, run, scoring, job.folder, trainer.global_step)
        log.info(summary(run, scoring, job.folder))
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
        maps = [AttentionMaps(tracker)] if tracker is not None and tracker.takes_pictures else []
        yield build_trainer(setup, job, logger, *callbacks, *maps), setup, tracker


def score(config: DictConfig) -> float | None:
    """Task: return test BLEU; the new run folder keeps the cost of the old training.

    Ranks other than the first return None. Raises ``UserError`` if the checkpoint was trained on
    other text than ``config.data``.
    """
    job = Job.of(HydraConfig.get())
    OmegaConf.resolve(config)
    scoring = _checked_scoring(config)
    data = factories.build_data(config)
    check_test_set(data, scoring)
    return score_on_ranks(config, scoring, data, job)


@on_ranks
def score_on_ranks(
    config: DictConfig, scoring: Scoring, data: TranslationData, job: Job
) -> float | None:
    """Test on all ranks; see ``score``."""
    prepare_process(config)
    with verify_files(config.verify):  # each rank has a process of its own
        trained = load_trained(config.checkpoint)
    check_corpus(trained, config, data)
    encoded = {"test": data.encoded_corpus.encoded["test"]}
    factories.check_text(trained.config, trained.model, data.tokenizers.source, encoded)
    data.check_batches()
    run_config = trained.config.copy()
    run_config.decoding, run_config.scoring = config.decoding, config.scoring
    search = factories.build_search(run_config, trained.model)
    module = Translator(trained.model, search, run_config.seeds.decoding)
    callbacks: list[pl.Callback] = [EndOnSignals()]
    if is_rank_zero():
        callbacks.append(ProgressFile(job.folder))
    trainer = factories.build(
        config, "trainer", callbacks=callbacks, logger=False, enable_progress_bar=False
    )
    with ended_by_signals():
        run = score_model(trainer, module, data, scoring, run_config)
    if run is None:
        return None
    enter_phase(trainer, "writing")
    before, history = files.read_result(trained.folder), files.read_history(trained.folder)
    files.remove_earlier(job.folder)
    if history:
        files.write_history(job.folder, history)
    run.result.overrides = _overrides(before, job)
    if before is not None:
        run.result.training, run.result.vectors = before.training, before.vectors
    files.write_run(job.folder, run)
    log.info(summary(run, scoring, job.folder))
    return run.result.scores["bleu"]


def check_corpus(trained: TrainedModel, config: DictConfig, data: TranslationData) -> None:
    """Raise ``UserError`` unless ``data`` is the corpus that a model was trained on."""
    then = trained.config
    if data.fingerprint == then.data_fingerprint:
        return
    raise UserError(
        f"checkpoint={config.checkpoint} was trained on {then.corpus} ({then.data_fingerprint}), "
        f"not on {data.corpus.name} ({data.fingerprint}); give the data= and tokenizer= settings "
        "of that run"
    )


def _overrides(before: Result | None, job: Job) -> list[str]:
    """Return the overrides of the tested run, then the new overrides of this test."""
    changed = overrides_that_affect(job.overrides, RESULTS)
    given = [override for override in changed if key_of(override) != "checkpoint"]
    return list(dict.fromkeys([*(before.overrides if before else []), *given]))
