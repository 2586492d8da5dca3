"""Translate and score a test set with a trained model."""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytorch_lightning as pl
from numpy.typing import NDArray
from omegaconf import DictConfig, OmegaConf

from datamodules.batching import EncodedPairs, Sequences
from datamodules.corpus import ParallelText, check_sets
from datamodules.corpus_statistics import Suspicion
from datamodules.errors import UserError
from datamodules.tokenization import UNK, Tokenizers
from datamodules.translation_data import TranslationData
from lightning_modules.decoding import Hypothesis
from lightning_modules.kernels.device import peak_device_memory_mib
from lightning_modules.metrics.bootstrap import (
    Estimate,
    ScoredSubset,
    score_groups,
    score_subset,
    score_subsets,
)
from lightning_modules.metrics.chosen_metrics import find_metrics, in_order, translation_statistics
from lightning_modules.metrics.contrast_choices import Choices
from lightning_modules.metrics.curves import CurvePoint, curve_points
from lightning_modules.metrics.lengths import Bucket
from lightning_modules.metrics.metric import Metric, Statistics
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.metrics.sentences import readable
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.text_metrics import Bleu, sentence_bleu
from lightning_modules.metrics.word_accuracy import tokens
from lightning_modules.metrics.word_alignment import (
    attention_statistics,
    format_pharaoh,
    hard_alignment,
    read_pharaoh,
    word_weights,
)
from lightning_modules.ranks.updates import merged
from lightning_modules.runs.environment import environment, peak_memory_mib
from lightning_modules.runs.files import RunFiles, write_run
from lightning_modules.runs.provenance import code_versions, git_commit
from lightning_modules.runs.redaction import redacted
from lightning_modules.runs.schema import (
    Accuracies,
    Baseline,
    Coverage,
    Data,
    Environment,
    HeadWeights,
    Prediction,
    ReplacedUnknown,
    Result,
    SubsetScores,
    Training,
    WordCounts,
)
from lightning_modules.testing.contrastive_pairs import (
    CONTRASTIVE,
    SentenceLosses,
    accuracies,
    both_translations,
    choices_of,
    corpus_pairs,
)
from lightning_modules.testing.forced_decoding import (
    ForcedDecoding,
    ForcedSentence,
    forced_head_weights,
    forced_statistics,
    step_by_rule,
    word_nats,
)
from lightning_modules.testing.output_suspicions import suspicions_of_output
from lightning_modules.testing.scoring import Scoring, baseline_scores, baselines_of_run
from lightning_modules.testing.unknown_words import Dictionary, read_replacement, write_out
from lightning_modules.training.callbacks import enter_phase
from lightning_modules.training.module import Translation, TranslationModule
from lightning_modules.variants import EncoderDecoder, count_parameters

log = logging.getLogger(__name__)


Weights = NDArray[np.float64]
"""Attention weights between words, ``(tgt words, src words)``."""


class TestScores(NamedTuple):
    """Scores, statistics and attention of a test set's translations."""

    metrics: list[Metric]
    scores: dict[str, Estimate]
    """Scores of the whole test set, by the names of metrics."""
    signature: str
    """sacreBLEU's signature of the BLEU score."""
    curve: list[CurvePoint]
    baselines: dict[str, Baseline]
    """Scores of the baselines by name; none without a phrase table."""
    statistics: Statistics
    predictions: list[Prediction]
    attention: list[Weights | None]
    """Weights of the search for every sentence; None without attention."""
    suspicions: list[Suspicion]
    """What looks wrong in the translations."""
    subsets: dict[str, SubsetScores]
    """Scores of the subsets of the test set, by name; see ``TestSet.subsets``."""
    replaced: ReplacedUnknown | None = None
    """Unknown words of the translations that other words replaced; None if that was not asked."""


def score_translations(
    translations: Sequence[Translation],
    forced: Statistics,
    text: ParallelText,
    tokenizers: Tokenizers,
    scoring: Scoring,
    variant: str,
    seed: int,
    phrase_table: Sequence[str] | None = None,
    dictionary: Dictionary | None = None,
) -> TestScores:
    """Score the best hypothesis of each sentence of ``text``, and the baselines.

    ``forced``, the statistics of the references from forced decoding, join the statistics.
    ``phrase_table`` has a translation of each sentence by the phrase table, if there is one;
    ``dictionary`` replaces unknown words, if they are to be replaced.
    """
    by_id = {translation.id: translation.hypotheses[0] for translation in translations}
    best = [by_id[number] for number in range(len(text))]
    hypotheses, replaced = write_out(best, text.source, tokenizers, dictionary)
    attention = [
        words_attention(hypothesis, source, tokenizers)
        for hypothesis, source in zip(best, text.source, strict=True)
    ]
    chosen = find_metrics(scoring.metrics)
    statistics = {
        **translation_statistics(chosen, text.source, hypotheses, text.target),
        **forced,
        **_attention_statistics(attention),
    }
    test = _test_set(text, tokenizers)
    system = System(variant, test, [Output(seed, hypotheses, statistics)])
    metrics = in_order(chosen)
    baselines = baselines_of_run(test, phrase_table, metrics)
    [buckets] = scoring.buckets([test])
    scored = score_subsets([system, *baselines], metrics, buckets, scoring.draws)
    return TestScores(
        metrics=metrics,
        scores=_estimates(scored[0], variant, metrics),
        signature=Bleu().signature,
        curve=curve_points([system], scored),
        baselines={each.name: baseline_scores(each, scored) for each in baselines},
        statistics=statistics,
        predictions=list(
            _predictions(text, test, hypotheses, sentence_bleu(statistics), attention, phrase_table)
        ),
        attention=attention,
        suspicions=suspicions_of_output(text.target, hypotheses, text.source),
        subsets={
            name: _subset_scores(system, metrics, index, scoring.draws)
            for name, index in test.subsets.items()
        },
        replaced=replaced,
    )


def _test_set(text: ParallelText, tokenizers: Tokenizers) -> EvalSet:
    """Return the test set with the names of its parts and its sentences with unknown words."""
    sides = (tokenizers.source.encode(text.source), tokenizers.target.encode(text.target))
    pairs = enumerate(zip(*sides, strict=True))
    return EvalSet(
        text.target,
        text.source,
        sets=list(chain.from_iterable(repeat(*each) for each in text.sets.items())) or None,
        unknown={number for number, (src, tgt) in pairs if UNK in src or UNK in tgt},
    )


def _estimates(subset: ScoredSubset, system: str, metrics: Sequence[Metric]) -> dict[str, Estimate]:
    """Return the known scores of a system by the names of metrics."""
    estimates = {each.name: subset.estimate(system, each.name) for each in metrics}
    return {name: known for name, known in estimates.items() if known is not None}


def _subset_scores(
    system: System, metrics: Sequence[Metric], index: NDArray[np.int64], draws: Resamples
) -> SubsetScores:
    scored = score_subset([system], metrics, None, index, draws)
    estimates = _estimates(scored, system.name, metrics)
    return SubsetScores(
        sentences=len(index), scores=values_of(estimates), intervals=intervals_of(estimates)
    )


def values_of(estimates: Mapping[str, Estimate]) -> dict[str, float]:
    """Return the values of scores by the names of metrics."""
    return {name: estimate.value for name, estimate in estimates.items()}


def intervals_of(estimates: Mapping[str, Estimate]) -> dict[str, tuple[float, float]]:
    """Return the intervals of scores by the names of metrics, where there are intervals."""
    return {
        name: (estimate.low, estimate.high)
        for name, estimate in estimates.items()
        if estimate.low is not None and estimate.high is not None
    }


def _predictions(
    text: ParallelText,
    test: EvalSet,
    hypotheses: Sequence[str],
    scores: Iterable[float],
    attention: Iterable[Weights | None],
    phrase_table: Sequence[str] | None,
) -> Iterable[Prediction]:
    rows = zip(text.source, text.target, hypotheses, scores, attention, strict=True)
    for number, (source, reference, hypothesis, score, weights) in enumerate(rows):
        aligned = None if weights is None else format_pharaoh(hard_alignment(weights))
        yield Prediction(
            id=number,
            source=source,
            reference=reference,
            hypothesis=hypothesis,
            score=round(float(score), 2),
            alignment=aligned,
            gold=None if text.alignments is None else text.alignments[number],
            set=None if test.sets is None else test.sets[number],
            unknown=number in (test.unknown or ()),
            phrase_table=None if phrase_table is None else phrase_table[number],
        )


def words_attention(hypothesis: Hypothesis, source: str, tokenizers: Tokenizers) -> Weights | None:
    """Merge a hypothesis's weights to ``(…, tgt words, src words)``; None without attention."""
    if hypothesis.weights is None:
        return None
    src_words = [*tokenizers.source.words_of_line(source), -1]  # EOS belongs to no word
    tgt_words = tokenizers.target.words_of_tokens(hypothesis.tokens)
    weights = hypothesis.weights[..., : len(src_words)].numpy()  # without the batch's padding
    return word_weights(weights, src_words, tgt_words)


def _attention_statistics(attention: Sequence[Weights | None]) -> Mapping[str, NDArray[np.float64]]:
    known = [attention_statistics(weights) for weights in attention if weights is not None]
    if len(known) < len(attention):
        return {}
    return dict(zip(("entropy", "distance", "coverage"), np.stack(known, axis=1), strict=True))


def shown_sentences(lines: Sequence[str], buckets: Iterable[Bucket]) -> list[int]:
    """Return the numbers of the most readable sentence of all and of each bucket, each once."""
    members = [bucket.index.tolist() for bucket in buckets if len(bucket.index)]
    best = [numbers[readable([lines[number] for number in numbers])] for numbers in members]
    return list(dict.fromkeys([readable(lines), *best]))


def head_attention(
    model: EncoderDecoder,
    hypotheses: Mapping[int, Hypothesis],
    pairs: EncodedPairs,
    text: ParallelText,
    tokenizers: Tokenizers,
    decode_max_tokens: int,
) -> HeadWeights:
    """Force a model through its ``hypotheses`` for some sentences of ``pairs``, a whole split.

    Returns nothing for a model with one head or no head: the search gave these weights already.
    """
    rows = np.array(list(hypotheses), dtype=np.int64)
    # The last token (EOS, or the token at the length limit) is predicted but not read.
    targets = Sequences.of([each.tokens[:-1] for each in hypotheses.values()])
    chosen = EncodedPairs(pairs.ids[rows], pairs.src.select(rows), targets)
    model.eval()
    weights: HeadWeights = {}
    limit = max(decode_max_tokens, int(chosen.longest.max()))  # a translation may be longer
    for number, by_token in forced_head_weights(model, chosen, limit):
        if by_token.shape[:2].numel() == 1:
            return {}
        steps = len(hypotheses[number].tokens)
        hypothesis = hypotheses[number]._replace(weights=by_token[..., :steps, :].float().cpu())
        by_word = words_attention(hypothesis, text.source[number], tokenizers)
        assert by_word is not None
        weights[number] = by_word
    return weights


TRIED = 8
"""Number of test sentences that every metric scores."""
LONG = 500
"""Number of tokens of a sentence whose translation takes long."""


def check_test_set(data: TranslationData, scoring: Scoring) -> None:
    """Raise ``UserError`` for a test set that can be translated but not scored.

    Writes contrastive pairs where ``scoring.contrastive`` asks for them. Logs a warning for a very
    long sentence, whose translation takes long.
    """
    text, place = data.text("test"), f"data={data.corpus.name}, test"
    if text.alignments is not None:
        pairs = zip(text.source, text.target, strict=True)
        lengths = [(len(source.split()), len(target.split())) for source, target in pairs]
        try:
            read_pharaoh(text.alignments, lengths)
        except ValueError as error:
            raise UserError(f"{place}: gold alignments, {error}") from None
    if scoring.contrastive:
        corpus_pairs(data.corpus, data.cache_dir, CONTRASTIVE)
    check_sets(text, place)
    step = -(-len(text) // TRIED)
    references = text.target[::step]
    translation_statistics(
        find_metrics(scoring.metrics), text.source[::step], references, references
    )
    longest = int(data.encoded_corpus.encoded["test"].longest.max())
    if longest > LONG:
        log.warning(
            "%s: the longest sentence has %s tokens, so that its translation takes long; "
            "data.test_max_words leaves such sentences out", place, f"{longest:,}",
        )  # fmt: skip


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


def score_model(
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
    forced: list[ForcedSentence] = _predicted(
        trainer, ForcedDecoding(module.model), datamodule=data
    )
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
    [buckets] = scoring.buckets([EvalSet(text.target, text.source)])
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
