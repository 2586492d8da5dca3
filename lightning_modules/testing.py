"""Translating a test set, and what a run leaves in its folder about it."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytorch_lightning as pl
from omegaconf import DictConfig, OmegaConf

from datamodules.files import write_json, write_text
from datamodules.translation_data import TranslationData
from lightning_modules.environment import environment, peak_memory_mib
from lightning_modules.forced import (
    Forced,
    ForcedDecoding,
    forced_statistics,
    step_by_rule,
    word_nats,
)
from lightning_modules.head_attention import head_attention, shown_sentences
from lightning_modules.metrics.curves import format_csv
from lightning_modules.metrics.systems import TestSet
from lightning_modules.metrics.words import tokens
from lightning_modules.provenance import code_of, git_commit
from lightning_modules.ranks.sharing import merged
from lightning_modules.redaction import redacted
from lightning_modules.run_folder import (
    CURVE,
    PREDICTIONS,
    RESULT,
    WORD_COUNTS,
    Coverage,
    Data,
    Environment,
    Result,
    Training,
    write_attention,
    write_statistics,
)
from lightning_modules.run_records import HeadWeights, write_head_attention
from lightning_modules.scoring import TestScores, score_translations
from lightning_modules.settings import Scoring, build_scoring
from lightning_modules.translation import Translation, TranslationModule
from lightning_modules.variants import EncoderDecoder


class Tested(NamedTuple):
    """A test set translated and scored."""

    parameters: int
    """Of the model, every one that training moves; frozen word vectors are none."""
    scores: TestScores
    seconds: float
    """Time spent searching."""
    heads: HeadWeights
    """Of a few translations."""


def test_model(
    trainer: pl.Trainer,
    module: TranslationModule,
    data: TranslationData,
    scoring: Scoring,
    config: DictConfig,
) -> Tested | None:
    """Translate the test split with the module's search, force its references, and score both.

    Ranks share the translating and the forcing; the first alone scores, the others return None.
    """
    started = time.perf_counter()
    translations: list[Translation] = _predicted(trainer, module, data)
    seconds = time.perf_counter() - started
    forced: list[Forced] = _predicted(trainer, ForcedDecoding(module.model), data)
    if not trainer.is_global_zero:
        return None
    text = data.text("test")
    step = step_by_rule(scoring.attention_step, module.model)
    statistics = forced_statistics(forced, text, data.tokenizers, step)
    nats = [word_nats(one, text.target[one.id], data.tokenizers) for one in forced]
    scores = score_translations(
        translations, statistics, text, data.tokenizers, scoring, config.variant, config.seed
    )
    for prediction, of_words in zip(scores.predictions, nats, strict=True):
        prediction["reference_nats"] = of_words
    heads = _heads(module.model, translations, data, scoring, config)
    return Tested(count_parameters(module.model), scores, seconds, heads)


def count_parameters(model: EncoderDecoder) -> int:
    """Return how many numbers training moves; frozen word vectors are none."""
    return sum(part.numel() for part in model.parameters() if part.requires_grad)


def _heads(
    model: EncoderDecoder,
    translations: Sequence[Translation],
    data: TranslationData,
    scoring: Scoring,
    config: DictConfig,
) -> HeadWeights:
    text = data.text("test")
    [buckets] = scoring.buckets([TestSet(text.target, text.source)])
    best = {translation.id: translation.hypotheses[0] for translation in translations}
    found = {number: best[number] for number in shown_sentences(text.source, buckets)}
    pairs = data.prepared.encoded["test"]
    most = config.batching.decode_max_tokens
    return head_attention(model, found, pairs, text, data.tokenizers, most)


def _predicted(trainer: pl.Trainer, module: pl.LightningModule, data: TranslationData) -> list[Any]:
    """What ``module`` predicts for each sentence of the test split, in its order."""
    batches = trainer.predict(module, datamodule=data)
    assert batches is not None
    own = {sentence.id: sentence for batch in batches for sentence in batch}
    return list(merged(trainer, own).values())


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
    resolved: Any = redacted(OmegaConf.to_container(config, resolve=True))
    result = Result(
        variant=config.variant,
        seed=config.seed,
        overrides=overrides,
        scores={name: estimate.value for name, estimate in scores.scores.items()},
        intervals={
            name: (estimate.low, estimate.high)
            for name, estimate in scores.scores.items()
            if estimate.low is not None and estimate.high is not None
        },
        signature=scores.signature,
        train_max_words=data.corpus.train_max_words,
        parameters=tested.parameters,
        vectors=vectors,
        training=training,
        decoding=_decoding(config, tested),
        data=Data.model_validate(data.statistics),
        environment=Environment.model_validate(environment()),
        peak_memory_mib=peak_memory_mib(),
        git_commit=git_commit(),
        code=code_of(config),
        config=resolved,
    )
    lines = (json.dumps(prediction, ensure_ascii=False) for prediction in scores.predictions)
    write_text(folder / PREDICTIONS, "".join(line + "\n" for line in lines))
    write_statistics(folder, scores.statistics)
    write_attention(folder, scores.attention)
    write_head_attention(folder, tested.heads)
    write_json(folder / WORD_COUNTS, _word_counts(data, scores))
    write_text(folder / CURVE, format_csv(scores.curve, build_scoring(config).draws))
    write_json(folder / RESULT, result.model_dump(mode="json"))
    return result


def _word_counts(data: TranslationData, scores: TestScores) -> dict[str, dict[str, int]]:
    """How often training had the words that the test set and its translations need."""
    text, counts = data.text("test"), data.prepared.word_counts
    hypotheses = [prediction["hypothesis"] for prediction in scores.predictions]
    needed = {
        "source": {word for line in text.source for word in line.split()},
        "target": {word for line in tokens([*text.target, *hypotheses]) for word in line},
        "reference": {word for line in text.target for word in line.split()},
    }
    return {
        side: {word: counts[side].get(word, 0) for word in sorted(words)}
        for side, words in needed.items()
    }


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
