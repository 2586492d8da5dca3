"""Scores, statistics and attention of the translations of a test set."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datamodules.corpus import ParallelText
from datamodules.suspicions import Suspicion
from datamodules.tokenization import UNK, Tokenizers
from lightning_modules.decoding import Hypothesis
from lightning_modules.metrics.alignment.attention_statistics import attention_statistics
from lightning_modules.metrics.alignment.word_alignment import (
    format_pharaoh,
    hard_alignment,
    word_weights,
)
from lightning_modules.metrics.chosen_metrics import find_metrics, in_order, translation_statistics
from lightning_modules.metrics.curves import CurvePoint, curve_points
from lightning_modules.metrics.metric import Metric, Statistics
from lightning_modules.metrics.systems import Output, System, TestSet
from lightning_modules.metrics.text_metrics import Bleu, sentence_bleu
from lightning_modules.metrics.uncertainty.bootstrap_scores import (
    Estimate,
    ScoredSubset,
    score_subset,
    score_subsets,
)
from lightning_modules.metrics.uncertainty.resampling import Resamples
from lightning_modules.runs.schema import Baseline, Prediction, ReplacedUnknown, SubsetScores
from lightning_modules.testing.baselines import baseline_scores, baselines_of_run
from lightning_modules.testing.scoring_settings import Scoring
from lightning_modules.testing.suspicions import suspicions_of_output
from lightning_modules.testing.unknown_words import Dictionary, write_out
from lightning_modules.training.module import Translation

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


def _test_set(text: ParallelText, tokenizers: Tokenizers) -> TestSet:
    """Return the test set with the names of its parts and its sentences with unknown words."""
    sides = (tokenizers.source.encode(text.source), tokenizers.target.encode(text.target))
    pairs = enumerate(zip(*sides, strict=True))
    return TestSet(
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
    test: TestSet,
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
