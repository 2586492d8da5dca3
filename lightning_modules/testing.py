"""Translating a test set, and what a run leaves in its folder about it."""

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytorch_lightning as pl
from omegaconf import DictConfig, OmegaConf

from datamodules.files import write_json, write_text
from datamodules.translation_data import TranslationData
from lightning_modules.environment import environment, git_commit, peak_memory_mib
from lightning_modules.forced import ForcedDecoding, forced_alignment_error
from lightning_modules.metrics.lengths import format_csv
from lightning_modules.run_folder import (
    ATTENTION,
    PREDICTIONS,
    RESULT,
    SCORES,
    Coverage,
    Data,
    Environment,
    Result,
    Scores,
    Training,
)
from lightning_modules.scoring import Scoring, TestScores, score_translations
from lightning_modules.translation import TranslationModule


class Tested(NamedTuple):
    """A test set translated and scored."""

    parameters: int
    """Of the model, every one that training moves; frozen word vectors are none."""
    scores: TestScores
    aer: float | None
    """Alignment error rate; None without attention or gold alignments."""
    seconds: float
    """Time spent searching."""


def test_model(
    trainer: pl.Trainer, module: TranslationModule, data: TranslationData, scoring: Scoring
) -> Tested:
    """Translate the test split with the module's search, score it, and align its references."""
    started = time.perf_counter()
    batches = trainer.predict(module, data.test_dataloader())
    seconds = time.perf_counter() - started
    assert batches is not None
    translations = [translation for batch in batches for translation in batch]
    scores = score_translations(translations, data.text("test"), data.tokenizers, scoring)
    moved = (parameter for parameter in module.model.parameters() if parameter.requires_grad)
    parameters = sum(parameter.numel() for parameter in moved)
    return Tested(parameters, scores, _alignment_error(trainer, module, data), seconds)


def _alignment_error(
    trainer: pl.Trainer, module: TranslationModule, data: TranslationData
) -> float | None:
    text = data.text("test")
    if text.alignments is None:
        return None
    batches = trainer.predict(ForcedDecoding(module.model), data.test_dataloader())
    assert batches is not None
    forced = [reference for batch in batches for reference in batch]
    return forced_alignment_error(forced, text, data.tokenizers)


def write_run(
    folder: Path,
    config: DictConfig,
    data: TranslationData,
    training: Training,
    tested: Tested,
    overrides: list[str],
    vectors: dict[str, Coverage],
) -> Result:
    """Write the run's files; ``result.json`` comes last, so that its presence means "finished"."""
    scores = tested.scores
    resolved: Any = OmegaConf.to_container(config, resolve=True)
    result = Result(
        variant=config.variant,
        seed=config.seed,
        overrides=overrides,
        scores=Scores(bleu=scores.corpus.bleu, chrf=scores.corpus.chrf, aer=tested.aer),
        signature=scores.corpus.signature,
        length_unit=f"{config.scoring.unit} words",
        train_max_words=data.corpus.train_max_words,
        parameters=tested.parameters,
        vectors=vectors,
        training=training,
        decoding=_decoding(config, tested),
        data=Data.model_validate(data.statistics),
        environment=Environment.model_validate(environment()),
        peak_memory_mib=peak_memory_mib(),
        git_commit=git_commit(),
        config=resolved,
    )
    lines = (json.dumps(prediction, ensure_ascii=False) for prediction in scores.predictions)
    write_text(folder / PREDICTIONS, "".join(line + "\n" for line in lines))
    write_json(folder / ATTENTION, scores.attention)
    rows = [(result.variant, result.seed, bucket) for bucket in scores.buckets]
    write_text(folder / SCORES, format_csv(rows))
    write_json(folder / RESULT, result.model_dump(mode="json"))
    return result


def _decoding(config: DictConfig, tested: Tested) -> dict[str, Any]:
    settings: Any = OmegaConf.to_container(config.decoding, resolve=True)
    search = settings.pop("_target_").rpartition(".")[2]
    sentences = len(tested.scores.predictions)
    return {
        "search": search,
        **settings,
        "seconds": tested.seconds,
        "sentences_per_second": sentences / tested.seconds,
    }
