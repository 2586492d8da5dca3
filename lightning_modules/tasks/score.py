"""``task=test``: score a test set with the weights of a trained run."""

import logging
from collections.abc import Iterator

import pytorch_lightning as pl
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from datamodules.other_test_set import OtherTestData
from datamodules.translation_data import TranslationData
from lightning_modules.kernels.choice import use_kernels
from lightning_modules.ranks.devices import is_rank_zero
from lightning_modules.ranks.launch import on_ranks
from lightning_modules.runs import files
from lightning_modules.runs.checksums import verify_files
from lightning_modules.runs.job import Job
from lightning_modules.runs.paths import unfinished
from lightning_modules.runs.schema import Result
from lightning_modules.runs.setting_checks import check_arguments
from lightning_modules.runs.settings import RESULTS, key_of, overrides_that_affect
from lightning_modules.tasks.train import checked_scoring
from lightning_modules.testing.alarms import alarms_of
from lightning_modules.testing.run_scores import check_test_set, score_model
from lightning_modules.testing.scoring import Scoring
from lightning_modules.testing.summary import summary
from lightning_modules.tracking.run_page import publish_run_page
from lightning_modules.training import factories
from lightning_modules.training.checkpoints import TrainedModel, load_trained
from lightning_modules.training.module import Translator
from lightning_modules.training.process import EndOnSignals, ended_by_signals, prepare_process
from lightning_modules.training.progress import ProgressFile, enter_phase

log = logging.getLogger(__name__)

OF_THE_TEST = (
    *("variant", "label", "seeds", "batching", "decoding", "scoring"),
    *("products", "matmul_precision", "kernels", "test_sets"),
)
"""Keys of the configuration that a test may change; the others stay as the run has recorded."""
OF_THE_TEXT = ("data", "cleaning", "tokenizer")
"""Groups that lead to the text; its fingerprint says whether it is the text of the run."""


def score(config: DictConfig) -> float | None:
    """Task: return test BLEU; the new run folder keeps the cost of the old training.

    Ranks other than the first return None. Raises ``UserError`` if the checkpoint was trained on
    other text than ``config.data``, or if its training has not ended.
    """
    job = Job.of(HydraConfig.get())
    OmegaConf.resolve(config)
    check_arguments(config)
    return score_on_ranks(config, checked_scoring(config), job)


@on_ranks
def score_on_ranks(config: DictConfig, scoring: Scoring, job: Job) -> float | None:
    """Test on all ranks; see ``score``."""
    prepare_process(config)
    use_kernels(factories.search_kernels(config))
    with verify_files(config.verify):  # each rank has a process of its own
        trained = load_trained(config.checkpoint)
        before = files.read_result(trained.folder)
        if before is None:
            raise unfinished(config.checkpoint)
        history = files.read_history(trained.folder)
        curve = files.read_learning_curve(trained.folder)
    data = data_of_test(trained, config, before)
    if is_rank_zero():
        check_test_set(data, scoring)
    encoded = {"test": data.encoded_corpus.encoded["test"]}
    factories.check_text(trained.config, trained.model, data.tokenizers.source, encoded)
    data.check_decoding("test")
    run_config = trained.config.copy()
    for key in OF_THE_TEST:
        run_config[key] = config[key]
    search = factories.build_search(run_config, trained.model, trained.tokenizers.target)
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
    files.remove_earlier(job.folder)
    if history:
        files.write_history(job.folder, history)
    if curve:
        files.write_learning_curve(job.folder, curve)
    run.result.overrides = list(_overrides(before, job))
    run.result.training, run.result.vectors = before.training, before.vectors
    run.result.first_weights = before.first_weights
    run.result.alarms = alarms_of(run, scoring)
    files.write_run(job.folder, run)
    log.info(summary(run, scoring, job.folder))
    publish_run_page(config, job.folder)
    return run.result.scores["bleu"]


def data_of_test(trained: TrainedModel, config: DictConfig, before: Result) -> TranslationData:
    """Return the data with the test set: that of the run, or with ``test_sets`` another.

    ``before`` is the result of the run. Raises ``UserError`` for text of another training.
    """
    data = factories.build_data(config)
    if config.test_sets is None:
        _check_corpus(trained, config, data)
        return data
    return OtherTestData(
        data,
        config.test_sets,
        trained.tokenizers,
        trained.config.data_fingerprint,
        before.data.model_dump(),
    )


def _check_corpus(trained: TrainedModel, config: DictConfig, data: TranslationData) -> None:
    """Raise ``UserError`` unless ``data`` is the corpus that a model was trained on."""
    then = trained.config
    if data.fingerprint == then.data_fingerprint:
        return
    raise UserError(
        f"checkpoint={config.checkpoint} was trained on {then.corpus} ({then.data_fingerprint}), "
        f"which {data.corpus.name} ({data.fingerprint}) is not: leave out data=, cleaning= and "
        "tokenizer=, whose text may have changed since; another test set is test_sets=[NAME]"
    )


def _overrides(before: Result, job: Job) -> Iterator[str]:
    """Yield the overrides of the tested run that still hold, then those of this test."""
    given = [
        override
        for override in overrides_that_affect(job.overrides, RESULTS)
        if key_of(override).partition(".")[0] not in (*OF_THE_TEXT, "checkpoint")
    ]
    replaced = tuple(f"{key_of(override)}." for override in given)
    for override in before.overrides:
        if not f"{key_of(override)}.".startswith(replaced):
            yield override
    yield from given
