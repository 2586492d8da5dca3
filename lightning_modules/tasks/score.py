"""``task=test``: translate and score the test set again with a trained run."""

import logging

import pytorch_lightning as pl
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError, validated
from datamodules.translation_data import TranslationData
from lightning_modules.metrics.chosen_metrics import try_metrics
from lightning_modules.ranks.devices import is_rank_zero
from lightning_modules.ranks.launch import on_ranks
from lightning_modules.runs.checksums import verify_files
from lightning_modules.runs.files import (
    read_history,
    read_result,
    remove_earlier,
    write_history,
    write_run,
)
from lightning_modules.runs.job import Job
from lightning_modules.runs.schema import Result
from lightning_modules.runs.settings import RESULTS, key_of, overrides_that_affect
from lightning_modules.testing.run_scores import check_test_set, score_model
from lightning_modules.testing.scoring import Scoring
from lightning_modules.testing.summary import summary
from lightning_modules.testing.unknown_words import read_replacement
from lightning_modules.training.callbacks import ProgressFile, enter_phase
from lightning_modules.training.checkpoints import TrainedModel, load_trained
from lightning_modules.training.factories import build, build_data, build_search, check_text
from lightning_modules.training.module import Translator
from lightning_modules.training.process import EndOnSignals, ended_by_signals, prepare_process

log = logging.getLogger(__name__)


def score(config: DictConfig) -> float | None:
    """Task: return test BLEU; the new run folder keeps the cost of the old training.

    Ranks other than the first return None. Raises ``UserError`` if the checkpoint was trained on
    other text than ``config.data``.
    """
    job = Job.of(HydraConfig.get())
    OmegaConf.resolve(config)
    scoring = validated(Scoring, config.scoring, "scoring")
    try_metrics(scoring.metrics)
    read_replacement(config.decoding)
    data = build_data(config)
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
    check_text(trained.config, trained.model, data.tokenizers.source, encoded)
    data.check_batches()
    run_config = trained.config.copy()
    run_config.decoding, run_config.scoring = config.decoding, config.scoring
    search = build_search(run_config, trained.model)
    module = Translator(trained.model, search, run_config.seeds.decoding)
    callbacks: list[pl.Callback] = [EndOnSignals()]
    if is_rank_zero():
        callbacks.append(ProgressFile(job.folder))
    trainer = build(config, "trainer", callbacks=callbacks, logger=False, enable_progress_bar=False)
    with ended_by_signals():
        run = score_model(trainer, module, data, scoring, run_config)
    if run is None:
        return None
    enter_phase(trainer, "writing")
    before, history = read_result(trained.folder), read_history(trained.folder)
    remove_earlier(job.folder)
    if history:
        write_history(job.folder, history)
    run.result.overrides = _overrides(before, job)
    if before is not None:
        run.result.training, run.result.vectors = before.training, before.vectors
    write_run(job.folder, run)
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
