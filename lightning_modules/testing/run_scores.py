"""Translate a test set with a trained model, and score the translations."""

import logging
import time
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytorch_lightning as pl
from omegaconf import DictConfig, OmegaConf

from datamodules.batching import EncodedPairs
from datamodules.corpus import ParallelText, check_sets, examples_of
from datamodules.errors import UserError
from datamodules.nearest_copy import NEAREST_COPY
from datamodules.phrase_table import read_links
from datamodules.sequences import Sequences, sums
from datamodules.tokenization import EOS, UNK, Tokenizers
from datamodules.translation_data import TranslationData
from lightning_modules.decoding import Hypothesis
from lightning_modules.kernels.device import peak_device_memory_mib
from lightning_modules.metrics import bootstrap, search_errors, word_alignment
from lightning_modules.metrics.chosen_metrics import find_metrics, in_order, translation_statistics
from lightning_modules.metrics.contrast_choices import PairChoices
from lightning_modules.metrics.curves import CurvePoint, curve_points
from lightning_modules.metrics.metric import Array, Metric, Statistics
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.text_metrics import Bleu, sentence_bleu
from lightning_modules.metrics.words import tokens
from lightning_modules.ranks.updates import gather_by_key
from lightning_modules.runs import provenance, schema
from lightning_modules.runs.files import RunScores
from lightning_modules.runs.redaction import redacted
from lightning_modules.testing import contrastive_pairs, forced_decoding
from lightning_modules.testing.forced_decoding import ForcedDecoding, ForcedSentence
from lightning_modules.testing.output_suspicions import suspicions_of_output
from lightning_modules.testing.scoring import PHRASE_TABLE, Scoring, baselines_of_run
from lightning_modules.testing.unknown_words import all_unknown, read_replacement, write_out
from lightning_modules.training.module import Translator
from lightning_modules.training.progress import enter_phase
from lightning_modules.variants import EncoderDecoder, count_parameters

log = logging.getLogger(__name__)
Value = TypeVar("Value")

TRIED = 8  # number of test sentences that every metric scores
LONG = 500  # number of tokens of a sentence whose translation takes long


def check_test_set(data: TranslationData, scoring: Scoring) -> None:
    """Raise ``UserError`` for a test set that can be translated but not scored.

    Writes contrastive pairs where ``scoring.contrastive`` asks for them. Logs a warning for a very
    long sentence, whose translation takes long.
    """
    rules = scoring.rules(data.corpus.source, data.corpus.target)  # before any text is prepared
    text, place = data.text("test"), f"data={data.corpus.name}, test"
    if text.alignments is not None:
        try:
            read_links(text)
        except ValueError as error:
            raise UserError(f"{place}: gold alignments, {error}") from None
    if scoring.contrastive:
        contrastive_pairs.corpus_pairs(data.corpus, data.cache_dir)
    check_sets(text, place)
    rules.source.check(text.source, "source", f"{place}, {data.corpus.source}")
    rules.target.check(text.target, "target", f"{place}, {data.corpus.target}")
    test = _eval_set(data, scoring)
    some = test.part(np.arange(0, len(text), -(-len(text) // TRIED)))
    translation_statistics(find_metrics(scoring.metrics), some, some.references)
    encoded = data.encoded_corpus.encoded["test"]
    if warning := _unknown_in_all(text.source, encoded, data.tokenizers):
        log.warning("%s: %s", place, warning)
    number = int(encoded.longest.argmax())
    if (longest := int(encoded.longest[number])) > LONG:
        line = (
            "%s: the longest sentence, %s of those kept (%s), has %s tokens, so that its "
            "translation takes long; data.test_max_words leaves such sentences out"
        )
        [example] = examples_of([text.source[number]])
        log.warning(line, place, f"{number + 1:,}", example, f"{longest:,}")


def _unknown_in_all(
    sources: Sequence[str], pairs: EncodedPairs, tokenizers: Tokenizers
) -> str | None:
    """Return a warning if each source has a word that the vocabulary lacks."""
    tokens = pairs.src.flat()
    if not sums(tokens == UNK, pairs.src.lengths).all():
        return None
    first = tokens[: pairs.src.lengths[0]].tolist()
    pieces = zip(first, tokenizers.source.pieces_of_line(sources[0]), strict=True)
    example = next(piece for token, piece in pieces if token == UNK)
    return all_unknown(len(pairs), "test sources", example)


class _Found(NamedTuple):
    """What all ranks found together, in the order of the sentences."""

    best: list[Hypothesis]
    seconds: float  # time spent searching
    forced: list[ForcedSentence]
    outputs: list[ForcedSentence]  # the forced translations; none where nobody asks for them
    choices: PairChoices | None


def score_model(
    trainer: pl.Trainer,
    module: Translator,
    data: TranslationData,
    scoring: Scoring,
    config: DictConfig,
) -> RunScores | None:
    """Translate the test split with the module's search, force its references, and score both.

    Ranks share the translating and the forcing. Rank zero scores and returns the results of the
    run, to which the caller adds the overrides, the training and the word vectors; the other ranks
    return None.
    """
    enter_phase(trainer, "translating the test set")
    started = time.perf_counter()
    best = [each.hypotheses[0] for each in _predict(trainer, module, datamodule=data)]
    seconds = time.perf_counter() - started
    enter_phase(trainer, "alignments of references")
    forcing = ForcedDecoding(module.model, ends=scoring.probabilities)
    forced = _predict(trainer, forcing, datamodule=data)
    outputs: list[ForcedSentence] = []
    if scoring.probabilities:
        enter_phase(trainer, "probabilities of translations")
        outputs = _force_outputs(trainer, module, data, best)
    choices = None
    if scoring.contrastive:
        enter_phase(trainer, "contrastive pairs")
        choices = _choices(trainer, module, data)
    if not trainer.is_global_zero:
        return None
    enter_phase(trainer, "scoring")
    found = _Found(best, seconds, forced, outputs, choices)
    run = _run_scores(module.model, data, scoring, config, found)
    run.result.peak_device_memory_mib = peak_device_memory_mib(trainer.strategy.root_device)
    return run


def _run_scores(
    model: EncoderDecoder,
    data: TranslationData,
    scoring: Scoring,
    config: DictConfig,
    found: _Found,
) -> RunScores:
    text, tokenizers = data.text("test"), data.tokenizers
    dictionary = read_replacement(config.decoding)
    hypotheses, replaced = write_out(found.best, text.source, tokenizers, dictionary)
    attention = [
        forced_decoding.words_attention(hypothesis, source, tokenizers)
        for hypothesis, source in zip(found.best, text.source, strict=True)
    ]
    metrics = find_metrics(scoring.metrics)
    step = forced_decoding.step_by_rule(scoring.attention_step, model)
    test = _eval_set(data, scoring)
    test.unknown = _unknown(text, tokenizers)
    statistics = {
        **translation_statistics(metrics, test, hypotheses),
        **forced_decoding.forced_statistics(found.forced, text, tokenizers, step),
        **_attention_statistics(attention),
    }
    if found.outputs:
        statistics[search_errors.OUTPUT] = forced_decoding.likelihood(found.outputs)
    corpus = data.encoded_corpus
    made = {PHRASE_TABLE: corpus.phrase_table, NEAREST_COPY: corpus.nearest_copies}
    baselines = {name: lines for name, lines in made.items() if lines is not None}
    output = Output(
        config.seed, hypotheses, statistics, metrics, contrast=found.choices, baselines=baselines
    )
    system = System(config.variant, test, [output])
    scores, curve = score_output(system, scoring)
    return RunScores(
        result=_result(model, data, config, found.seconds, replaced=replaced, **scores),
        predictions=list(_predictions(text, system, attention)),
        statistics=statistics,
        word_counts=_word_counts(data, test, hypotheses),
        curve=curve,
        attention=attention,
        heads=_heads(model, data, system, scoring, config, found.best),
        choices=found.choices,
    )


def _predict(trainer: pl.Trainer, module: pl.LightningModule, **given: Any) -> list[Any]:
    """Return what ``module`` predicts for each sentence of the given data, in the data's order."""
    batches = trainer.predict(module, **given)
    assert batches is not None
    by_id = {sentence.id: sentence for batch in batches for sentence in batch}
    return list(gather_by_key(trainer, by_id).values())


def _force_outputs(
    trainer: pl.Trainer, module: Translator, data: TranslationData, best: Sequence[Hypothesis]
) -> list[ForcedSentence]:
    """Force a model through its translations, on all ranks together.

    A translation that the length limit has cut is forced with EOS after it.
    """
    test = data.encoded_corpus.encoded["test"]
    tokens = [one.tokens[:-1] if one.tokens[-1] == EOS else one.tokens for one in best]
    pairs = EncodedPairs(test.ids, test.src, Sequences.of(tokens))
    forcing = ForcedDecoding(module.model, weights=False)
    return _predict(trainer, forcing, dataloaders=data.decoding_loader(pairs, of_any_length=True))


def _choices(trainer: pl.Trainer, module: Translator, data: TranslationData) -> PairChoices:
    """Choose between the contrastive pairs of the corpus, on all ranks together."""
    pairs = contrastive_pairs.corpus_pairs(data.corpus, data.cache_dir)
    languages = data.corpus.source, data.corpus.target
    encoded = contrastive_pairs.both_translations(pairs, data.cleaning, languages, data.tokenizers)
    forcing = ForcedDecoding(module.model, weights=False)
    forced = _predict(trainer, forcing, dataloaders=data.decoding_loader(encoded))
    return contrastive_pairs.choices_of(pairs, forced)


def _eval_set(data: TranslationData, scoring: Scoring) -> EvalSet:
    """Return the test set with the names of its parts."""
    text = data.text("test")
    return EvalSet(
        text.target,
        text.source,
        text.further_references or (),
        scoring.rules(data.corpus.source, data.corpus.target),
        sets=list(chain.from_iterable(repeat(*each) for each in text.sets.items())) or None,
    )


def _unknown(text: ParallelText, tokenizers: Tokenizers) -> set[int]:
    """Return the numbers of the sentences with unknown words."""
    sides = (tokenizers.source.encode(text.source), tokenizers.target.encode(text.target))
    pairs = enumerate(zip(*sides, strict=True))
    return {number for number, (src, tgt) in pairs if UNK in src or UNK in tgt}


def _attention_statistics(attention: Sequence[Array | None]) -> Statistics:
    known = [word_alignment.attention_statistics(each) for each in attention if each is not None]
    if len(known) < len(attention):
        return {}
    return dict(zip(word_alignment.ATTENTION_VALUES, np.stack(known, axis=1), strict=True))


def score_output(system: System, scoring: Scoring) -> tuple[dict[str, Any], list[CurvePoint]]:
    """Return the scores of a run's one output, by the fields of ``Result``, and its curve.

    Intervals are those that a comparison shows for the run: the same draws of the same sentences.
    """
    [output], test = system.outputs, system.test
    metrics = in_order(output.metrics)
    [buckets] = scoring.buckets([test])
    subsets = bootstrap.score_subsets([system], metrics, buckets, scoring.draws)
    parts = {
        name: bootstrap.score_subset([system], metrics, None, index, scoring.draws)
        for name, index in test.subsets.items()
    }
    choices = {} if output.contrast is None else {system.name: {0: output.contrast}}
    groups = bootstrap.score_groups(choices, scoring.draws)
    warnings = suspicions_of_output(test, output.hypotheses)
    fields = {
        **_estimates(subsets[0], system.name, metrics),
        "subsets": {
            name: schema.SubsetScores(
                sentences=len(part.index), **_estimates(part, system.name, metrics)
            )
            for name, part in parts.items()
        },
        "signature": Bleu().signature_on(test),
        "baselines": baselines_of_run(test, output.baselines, metrics, buckets),
        "contrast": contrastive_pairs.accuracies(groups, system.name),
        "suspicions": [str(each) for each in warnings],
    }
    return fields, curve_points([system], subsets)


def _estimates(
    subset: bootstrap.ScoredSubset, system: str, metrics: Sequence[Metric]
) -> dict[str, Any]:
    """Return the known scores of a system and their intervals, each by the names of metrics."""
    found = {each.name: subset.estimate(system, each.name) for each in metrics}
    known = {name: estimate for name, estimate in found.items() if estimate is not None}
    return {
        "scores": {name: estimate.value for name, estimate in known.items()},
        "intervals": {
            name: (estimate.low, estimate.high)
            for name, estimate in known.items()
            if estimate.low is not None
        },
    }


def _result(
    model: EncoderDecoder, data: TranslationData, config: DictConfig, seconds: float, **scores: Any
) -> schema.Result:
    """Join scores with settings, corpus, machine and code of a run."""
    code = provenance.code_versions(config)
    settings: Any = OmegaConf.to_container(config, resolve=True)
    decoding = dict(settings["decoding"])
    search = decoding.pop("_target_").rpartition(".")[2]
    speed = {"seconds": seconds, "sentences_per_second": len(data.text("test")) / seconds}
    return schema.Result(
        variant=config.variant,
        seed=config.seed,
        parameters=count_parameters(model),
        decoding={"search": search, **decoding, **speed},
        train_max_words=data.corpus.train_max_words,
        data=schema.Data.model_validate(data.statistics),
        environment=schema.Environment.model_validate(provenance.environment()),
        peak_memory_mib=provenance.peak_memory_mib(),
        git_commit=provenance.git_commit(),
        code=code.training,
        testing_code=code.testing,
        config=redacted(settings),
        **scores,
    )


def _heads(
    model: EncoderDecoder,
    data: TranslationData,
    system: System,
    scoring: Scoring,
    config: DictConfig,
    best: Sequence[Hypothesis],
) -> schema.HeadWeights:
    """Return the weights of single heads for an easily read sentence of each length bucket."""
    text, limit = data.text("test"), config.batching.decode_max_tokens
    [buckets], rule = scoring.buckets([system.test]), system.test.rules.source
    numbers = forced_decoding.shown_sentences(text.source, rule, buckets)
    shown = {number: best[number] for number in numbers}
    pairs = data.encoded_corpus.encoded["test"]
    return forced_decoding.head_attention(model, shown, pairs, text, data.tokenizers, limit)


def _predictions(
    text: ParallelText, system: System, attention: Sequence[Array | None]
) -> Iterator[schema.Prediction]:
    [output], test = system.outputs, system.test
    for number, bleu in enumerate(sentence_bleu(output.statistics)):
        weights = attention[number]
        yield schema.Prediction(
            id=number,
            source=text.source[number],
            reference=text.target[number],
            further_references=list(_at(text.further_references, number) or ()),
            hypothesis=output.hypotheses[number],
            score=round(float(bleu), 2),
            alignment=None
            if weights is None
            else word_alignment.format_pharaoh(word_alignment.hard_alignment(weights)),
            gold=_at(text.alignments, number),
            set=_at(test.sets, number),
            unknown=number in (test.unknown or ()),
            phrase_table=_at(output.baselines.get(PHRASE_TABLE), number),
            nearest_copy=_at(output.baselines.get(NEAREST_COPY), number),
        )


def _at(values: Sequence[Value] | None, number: int) -> Value | None:
    return None if values is None else values[number]


def _word_counts(
    data: TranslationData, test: EvalSet, hypotheses: Sequence[str]
) -> schema.WordCounts | None:
    """Count in the training text the tokens of references and translations, if it is read."""
    if data.word_counts is None:
        return None
    rule = test.rules.target
    counts = rule.count_tokens(data.word_counts)
    lines = tokens([*test.references, *hypotheses], rule)
    return schema.WordCounts(
        target={word: counts.get(word, 0) for word in sorted(set(chain(*lines)))}
    )
