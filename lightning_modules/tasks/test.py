"""``task=test``: translate and score the test set again with a trained run."""

import logging
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from datamodules.errors import UserError
from lightning_modules.building import build, build_data
from lightning_modules.checkpoints import load_trained
from lightning_modules.interruption import EndedBySigterm, ended_by_signals
from lightning_modules.ranks.launcher import on_ranks
from lightning_modules.ranks.sharing import share_out
from lightning_modules.redaction import job_overrides
from lightning_modules.run_folder import Result, Training, clear_results, read_result
from lightning_modules.run_records import read_history, write_history
from lightning_modules.settings import build_scoring
from lightning_modules.suitability import check_text
from lightning_modules.summary import summary
from lightning_modules.tasks.train import build_module, prepare_process
from lightning_modules.testing import test_model, write_run

log = logging.getLogger(__name__)

OWN = ("task=", "checkpoint=")


@on_ranks
def test(config: DictConfig) -> float | None:
    """Return test BLEU; the new run folder keeps the old one's account of its training.

    Ranks other than the first take part and return None.

    Raises ``UserError`` if the checkpoint was trained on other text than ``config.data``.
    """
    prepare_process(config)
    trained = load_trained(config.checkpoint)
    scoring = build_scoring(config)
    data = build_data(config)
    if data.fingerprint != trained.config.data_fingerprint:
        raise UserError(
            f"checkpoint={config.checkpoint} was trained on {trained.config.corpus} "
            f"({trained.config.data_fingerprint}), not on {data.corpus.name} "
            f"({data.fingerprint}); give the data= and tokenizer= settings of that run"
        )
    encoded = {"test": data.prepared.encoded["test"]}
    check_text(trained.config, trained.model, data.tokenizers.source, encoded)
    settings = trained.config.copy()
    settings.decoding, settings.scoring = config.decoding, config.scoring
    module = build_module(settings, data, trained.model)
    callbacks = [EndedBySigterm()]
    trainer = build(config.trainer, callbacks=callbacks, logger=False, enable_progress_bar=False)
    share_out(trainer, pieces=None)
    with ended_by_signals():
        tested = test_model(trainer, module, data, scoring, settings)
    if tested is None:
        return None
    before, history = read_result(trained.folder), read_history(trained.folder)
    folder = Path(HydraConfig.get().runtime.output_dir)
    clear_results(folder)
    if history:
        write_history(folder, history)
    training = before.training if before else Training()
    vectors = before.vectors if before else {}
    result = write_run(folder, settings, data, training, tested, _overrides(before), vectors)
    log.info(summary(result, tested.scores.curve, scoring, folder))
    return result.scores["bleu"]


def _overrides(before: Result | None) -> list[str]:
    """Return what made the run, then what makes this test of it another one."""
    given = [o for o in job_overrides() if not o.startswith(OWN)]
    return list(dict.fromkeys([*(before.overrides if before else []), *given]))
