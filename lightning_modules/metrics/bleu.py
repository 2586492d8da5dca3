"""BLEU and chrF through sacreBLEU, on detokenised text."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU, CHRF


@dataclass(frozen=True)
class CorpusScores:
    """Scores of one test set, each from 0 to 100; ``signature`` is sacreBLEU's, of the BLEU."""

    bleu: float
    chrf: float
    signature: str


def corpus_scores(hypotheses: Sequence[str], references: Sequence[str]) -> CorpusScores:
    """Score a whole test set with sacreBLEU's defaults (mixed case, tokeniser 13a).

    Raises ``ValueError`` when the lists are empty or of unequal length.
    """
    _check_aligned(hypotheses, references)
    bleu = BLEU()
    return CorpusScores(
        bleu=bleu.corpus_score(hypotheses, [references]).score,
        chrf=CHRF().corpus_score(hypotheses, [references]).score,
        signature=str(bleu.get_signature()),
    )


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Corpus BLEU, 0 to 100. Raises ``ValueError`` as ``corpus_scores`` does."""
    _check_aligned(hypotheses, references)
    return BLEU().corpus_score(hypotheses, [references]).score


def sentence_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """BLEU of each sentence, 0 to 100, with effective order (short sentences have no 4-grams)."""
    metric = BLEU(effective_order=True)
    return [
        metric.sentence_score(hypothesis, [reference]).score
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]


def _check_aligned(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses for {len(references)} references")
    if not hypotheses:
        raise ValueError("nothing to score: there are no sentences")
