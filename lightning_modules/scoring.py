"""From the translations of a test set to everything that is told about them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from datamodules.corpus import ParallelText
from datamodules.tokenization import Tokenizers
from lightning_modules.decoding import Hypothesis
from lightning_modules.metrics.alignments import format_pharaoh, hard_alignment, word_weights
from lightning_modules.metrics.bleu import CorpusScores, corpus_scores, sentence_bleu
from lightning_modules.metrics.lengths import BucketScore, LengthUnit, bleu_by_length
from lightning_modules.translation import Translation


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
    edges: Sequence[int],
    unit: LengthUnit,
) -> TestScores:
    """Score the best hypothesis of each sentence of ``text``.

    Raises ``ValueError`` if a sentence has no translation or ``edges`` are unusable.
    """
    best = {translation.id: translation.hypotheses[0] for translation in translations}
    found = [best[number] for number in range(len(text))]
    hypotheses = tokenizers.target.decode([hypothesis.tokens for hypothesis in found])
    scores = sentence_bleu(hypotheses, text.target)
    predictions: list[dict[str, Any]] = []
    attention = []
    shown = set(one_of_each_length(text, edges, unit))
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
        buckets=bleu_by_length(text.source, text.target, hypotheses, edges, unit),
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


def one_of_each_length(text: ParallelText, edges: Sequence[int], unit: LengthUnit) -> list[int]:
    """Return the first sentence of each length bucket: the same for every run on this test set."""
    sides = text.source if unit == "source" else text.target
    first: dict[int, int] = {}
    for number, line in enumerate(sides):
        first.setdefault(int(np.searchsorted(edges, len(line.split()))), number)
    return sorted(first.values())
