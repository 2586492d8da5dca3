"""Translate and score a test set, and write the results into the run's folder."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytorch_lightning as pl
from omegaconf import DictConfig, OmegaConf

from datamodules.translation_data import TranslationData
from lightning_modules.kernels.device import peak_device_memory_mib
from lightning_modules.metrics.contrast import Choices
from lightning_modules.metrics.systems import TestSet
from lightning_modules.metrics.uncertainty.contrast_scores import score_groups
from lightning_modules.metrics.words.word_accuracy import tokens
from lightning_modules.ranks.updates_across_ranks import merged
from lightning_modules.runs.environment import environment, peak_memory_mib
from lightning_modules.runs.provenance import code_versions, git_commit
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import (
    Accuracies,
    Coverage,
    Data,
    Environment,
    HeadWeights,
    Result,
    Training,
    WordCounts,
)
from lightning_modules.runs.writer import RunFiles, write_run
from lightning_modules.testing.contrast import (
    CONTRASTIVE,
    SentenceLosses,
    accuracies,
    both_translations,
    choices_of,
    corpus_pairs,
)
from lightning_modules.testing.forced_decoding import (
    Forced,
    ForcedDecoding,
    forced_statistics,
    step_by_rule,
    word_nats,
)
from lightning_modules.testing.head_attention import head_attention, shown_sentences
from lightning_modules.testing.scores import TestScores, intervals_of, score_translations, values_of
from lightning_modules.testing.scoring_settings import Scoring
from lightning_modules.testing.unknown_words import read_replacement
from lightning_modules.training.callbacks import enter_phase
from lightning_modules.training.module import Translation, TranslationModule
from lightning_modules.variants import EncoderDecoder, count_parameters


class Tested(NamedTuple):
    """A test set translated and scored."""

    parameters: int
    """Number of trained parameters of the model, without frozen word vectors."""
    scores: TestScores
    seconds: float
    """Time spent searching."""
    heads: HeadWeights
    """Attention weights of single heads on a few translations."""
    choices: Choices | None
    """Choices between contrastive pairs; None unless ``scoring.contrastive`` asks for them."""
    contrast: Accuracies
    """Shares of right choices; none without choices."""
    peak_device_memory_mib: float | None = None
    """Peak memory of tensors on the GPU so far; None on a CPU."""


def test_model(
    trainer: pl.Trainer,
    module: TranslationModule,
    data: TranslationData,
    scoring: Scoring,
    config: DictConfig,
) -> Tested | None:
    """Translate the test split with the module's search, force its references, and score both.

    Ranks share the translating and the forcing. Rank zero scores; the other ranks return None.
    """
    enter_phase(trainer, "translating the test set")
    started = time.perf_counter()
    translations: list[Translation] = _predicted(trainer, module, datamodule=data)
    seconds = time.perf_counter() - started
    enter_phase(trainer, "alignments of references")
    forced: list[Forced] = _predicted(trainer, ForcedDecoding(module.model), datamodule=data)
    if scoring.contrastive:
        enter_phase(trainer, "contrastive pairs")
    choices = _choices(trainer, module, data) if scoring.contrastive else None
    if not trainer.is_global_zero:
        return None
    enter_phase(trainer, "scoring")
    text = data.text("test")
    step = step_by_rule(scoring.attention_step, module.model)
    statistics = forced_statistics(forced, text, data.tokenizers, step)
    nats = [word_nats(one, text.target[one.id], data.tokenizers) for one in forced]
    scores = score_translations(
        translations,
        statistics,
        text,
        data.tokenizers,
        scoring,
        config.variant,
        config.seed,
        data.encoded_corpus.phrase_table,
        read_replacement(config.decoding),
    )
    for prediction, reference_nats in zip(scores.predictions, nats, strict=True):
        prediction.reference_nats = reference_nats
    enter_phase(trainer, "weights of heads")
    heads = _heads(module.model, translations, data, scoring, config)
    return Tested(
        parameters=count_parameters(module.model),
        scores=scores,
        seconds=seconds,
        heads=heads,
        choices=choices,
        contrast={} if choices is None else _accuracies(choices, scoring, config.variant),
        peak_device_memory_mib=peak_device_memory_mib(trainer.strategy.root_device),
    )


def _choices(trainer: pl.Trainer, module: TranslationModule, data: TranslationData) -> Choices:
    """Choose between the contrastive pairs of the corpus, on all ranks together."""
    pairs = corpus_pairs(data.corpus, data.cache_dir, CONTRASTIVE)
    languages = data.corpus.source, data.corpus.target
    encoded = both_translations(pairs, data.cleaning, languages, data.tokenizers)
    loader = data.decoding_loader(encoded)
    losses = _predicted(trainer, SentenceLosses(module.model), dataloaders=loader)
    return choices_of(pairs, losses)


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
    shown = {number: best[number] for number in shown_sentences(text.source, buckets)}
    pairs = data.encoded_corpus.encoded["test"]
    max_tokens = config.batching.decode_max_tokens
    return head_attention(model, shown, pairs, text, data.tokenizers, max_tokens)


def _accuracies(choices: Choices, scoring: Scoring, variant: str) -> Accuracies:
    return accuracies(score_groups({variant: {0: choices}}, scoring.draws), variant)


def _predicted(trainer: pl.Trainer, module: pl.LightningModule, **given: Any) -> list[Any]:
    """Return what ``module`` predicts for each sentence of the given data, in the data's order."""
    batches = trainer.predict(module, **given)
    assert batches is not None
    by_id = {sentence.id: sentence for batch in batches for sentence in batch}
    return list(merged(trainer, by_id).values())


def write_test(
    folder: Path,
    config: DictConfig,
    scoring: Scoring,
    data: TranslationData,
    training: Training,
    tested: Tested,
    overrides: list[str],
    vectors: dict[str, Coverage],
) -> Result:
    """Write the files of a run that was trained and tested; return its ``result.json``."""
    scores = tested.scores
    code = code_versions(config)
    resolved: Any = redacted(OmegaConf.to_container(config, resolve=True))
    result = Result(
        variant=config.variant,
        seed=config.seed,
        overrides=overrides,
        scores=values_of(scores.scores),
        intervals=intervals_of(scores.scores),
        subsets=scores.subsets,
        replaced=scores.replaced,
        baselines=scores.baselines,
        contrast=tested.contrast,
        signature=scores.signature,
        train_max_words=data.corpus.train_max_words,
        parameters=tested.parameters,
        vectors=vectors,
        training=training,
        decoding=_decoding(config, tested),
        data=Data.model_validate(data.statistics),
        environment=Environment.model_validate(environment()),
        peak_memory_mib=peak_memory_mib(),
        peak_device_memory_mib=tested.peak_device_memory_mib,
        git_commit=git_commit(),
        code=code.training,
        testing_code=code.testing,
        config=resolved,
    )
    files = RunFiles(
        predictions=scores.predictions,
        statistics=scores.statistics,
        attention=scores.attention,
        heads=tested.heads,
        word_counts=_word_counts(data, scores),
        curve=scores.curve,
        resamples=scoring.draws,
        choices=tested.choices,
    )
    write_run(folder, result, files)
    return result


def _word_counts(data: TranslationData, scores: TestScores) -> WordCounts:
    """Count in the training data the words of the test set and of its translations."""
    text, counts = data.text("test"), data.encoded_corpus.word_counts
    hypotheses = [prediction.hypothesis for prediction in scores.predictions]
    needed = {
        "source": {word for line in text.source for word in line.split()},
        "target": {word for line in tokens([*text.target, *hypotheses]) for word in line},
        "reference": {word for line in text.target for word in line.split()},
    }
    counted = {
        side: {word: counts[side].get(word, 0) for word in sorted(words)}
        for side, words in needed.items()
    }
    return WordCounts(**counted)


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
