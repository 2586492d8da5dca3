"""Scores, statistics and attention of the translations of a test set."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from datamodules.corpus import ParallelText
from datamodules.suspicions import Suspicion
from datamodules.tokenization import Tokenizers
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
from lightning_modules.metrics.uncertainty.bootstrap_scores import Estimate, score_subsets
from lightning_modules.runs.schema import Baseline, Prediction
from lightning_modules.testing.baselines import baseline_scores, baselines_of_run
from lightning_modules.testing.scoring_settings import Scoring
from lightning_modules.testing.suspicions import suspicions_of_output
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


def score_translations(
    translations: Sequence[Translation],
    forced: Statistics,
    text: ParallelText,
    tokenizers: Tokenizers,
    scoring: Scoring,
    variant: str,
    seed: int,
    phrase_table: Sequence[str] | None = None,
) -> TestScores:
    """Score the best hypothesis of each sentence of ``text``, and the baselines.

    ``forced``, the statistics of the references from forced decoding, join the statistics.
    ``phrase_table`` has a translation of each sentence by the phrase table, if there is one.
    """
    by_id = {translation.id: translation.hypotheses[0] for translation in translations}
    best = [by_id[number] for number in range(len(text))]
    hypotheses = tokenizers.target.decode([hypothesis.tokens for hypothesis in best])
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
    system = System(
        variant, TestSet(text.target, text.source), [Output(seed, hypotheses, statistics)]
    )
    metrics = in_order(chosen)
    baselines = baselines_of_run(system.test, phrase_table, metrics)
    [buckets] = scoring.buckets([system.test])
    scored = score_subsets([system, *baselines], metrics, buckets, scoring.draws)
    estimates = {each.name: scored[0].estimate(variant, each.name) for each in metrics}
    return TestScores(
        metrics=metrics,
        scores={name: known for name, known in estimates.items() if known is not None},
        signature=Bleu().signature,
        curve=curve_points([system], scored),
        baselines={each.name: baseline_scores(each, scored) for each in baselines},
        statistics=statistics,
        predictions=list(
            _predictions(text, hypotheses, sentence_bleu(statistics), attention, phrase_table)
        ),
        attention=attention,
        suspicions=suspicions_of_output(text.target, hypotheses, text.source),
    )


def _predictions(
    text: ParallelText,
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
