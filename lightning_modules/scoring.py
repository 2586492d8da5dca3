"""From the translations of a test set to everything that is told about them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, field_validator

from datamodules.corpus import ParallelText
from datamodules.tokenization import Tokenizers
from lightning_modules.decoding import Hypothesis
from lightning_modules.metrics.alignments import format_pharaoh, hard_alignment, word_weights
from lightning_modules.metrics.bleu import CorpusScores, corpus_scores, sentence_bleu
from lightning_modules.metrics.lengths import (
    BucketScore,
    LengthUnit,
    bleu_by_length,
    check_edges,
)
from lightning_modules.translation import Translation


class Scoring(BaseModel):
    """How sentences are sorted by length."""

    edges: list[int]
    """Inclusive upper bounds of the buckets, in words, rising."""
    unit: LengthUnit
    """Whose words are counted."""

    @field_validator("edges")
    @classmethod
    def _usable(cls, edges: list[int]) -> list[int]:
        check_edges(edges)
        return edges


class TestScores(NamedTuple):
    """All that is known of a test set's translations."""

    corpus: CorpusScores
    buckets: list[BucketScore]
    predictions: list[dict[str, Any]]
    """Lines of ``predictions.jsonl``."""
    attention: list[dict[str, Any]]
    """Word-level attention of one sentence in each length bucket; empty without attention."""


def score_translations(
    translations: Sequence[Translation],
    text: ParallelText,
    tokenizers: Tokenizers,
    scoring: Scoring,
) -> TestScores:
    """Score the best hypothesis of each sentence of ``text``."""
    best = {translation.id: translation.hypotheses[0] for translation in translations}
    found = [best[number] for number in range(len(text))]
    hypotheses = tokenizers.target.decode([hypothesis.tokens for hypothesis in found])
    scores = sentence_bleu(hypotheses, text.target)
    predictions: list[dict[str, Any]] = []
    attention = []
    shown = set(one_of_each_length(text, scoring))
    for number, hypothesis in enumerate(found):
        weights = words_attention(hypothesis, text.source[number], tokenizers)
        aligned = None if weights is None else format_pharaoh(hard_alignment(weights))
        predictions.append(
            {
                "id": number,
                "source": text.source[number],
                "reference": text.target[number],
                "hypothesis": hypotheses[number],
                "score": round(scores[number], 2),
                "alignment": aligned,
            }
        )
        if number in shown and weights is not None:
            attention.append(
                {
                    "id": number,
                    "source_words": text.source[number].split(),
                    "target_words": hypotheses[number].split(),
                    "weights": weights.round(4).tolist(),
                }
            )
    return TestScores(
        corpus=corpus_scores(hypotheses, text.target),
        buckets=bleu_by_length(text.source, text.target, hypotheses, scoring.edges, scoring.unit),
        predictions=predictions,
        attention=attention,
    )


def words_attention(
    hypothesis: Hypothesis, source: str, tokenizers: Tokenizers
) -> np.ndarray | None:
    """Merge a hypothesis's weights to words, ``(target words, source words)``; None without."""
    if hypothesis.weights is None:
        return None
    src_words = [*tokenizers.source.words_of_line(source), -1]  # EOS belongs to no word
    tgt_words = tokenizers.target.words_of_tokens(hypothesis.tokens)
    weights = hypothesis.weights[:, : len(src_words)].numpy()  # without the batch's padding
    return word_weights(weights, src_words, tgt_words)


def one_of_each_length(text: ParallelText, scoring: Scoring) -> list[int]:
    """Return the first sentence of each length bucket: the same for every run on this test set."""
    sides = text.source if scoring.unit == "source" else text.target
    first: dict[int, int] = {}
    for number, line in enumerate(sides):
        first.setdefault(int(np.searchsorted(scoring.edges, len(line.split()))), number)
    return sorted(first.values())
