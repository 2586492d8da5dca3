"""BLEU as papers computed it, beside sacreBLEU's; different flavours never share a column."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacremoses import MosesTokenizer
from scipy.special import gammaln
from scipy.stats import kendalltau, pearsonr, spearmanr

Lines = Sequence[str]


class Flavour(NamedTuple):
    """A way to compute BLEU; two scores of one flavour may stand in one column."""

    name: str
    tokenized_by: str  # tokeniser of sacreBLEU, or `moses`, as for `multi-bleu.perl`
    lowercase: bool = False
    no_unknown: bool = False
    """Whether only sentences count of which neither source nor reference has an unknown word."""

    def score(self, hypotheses: Lines, references: Lines, language: str) -> float:
        """Return BLEU of the sentences that count, 0 to 100.

        Args:
            hypotheses: translations, one a sentence.
            references: a reference for each.
            language: code of the target language, for Moses' rules on abbreviations.
        """
        against = _against(self, tuple(references), language)
        return float(against.corpus_score(self.split(hypotheses, language), None).score)

    def split(self, lines: Lines, language: str) -> Lines:
        """Return lines as sacreBLEU gets them."""
        if self.tokenized_by != "moses":
            return lines
        tokenizer = MosesTokenizer(lang=language)
        return [tokenizer.tokenize(line, return_str=True, escape=False) for line in lines]


@lru_cache(maxsize=8)
def _against(flavour: Flavour, references: Lines, language: str) -> BLEU:
    """Return BLEU with references that are counted once for all systems."""
    moses = flavour.tokenized_by == "moses"
    return BLEU(
        lowercase=flavour.lowercase,
        tokenize="none" if moses else flavour.tokenized_by,
        force=True,  # no warning that the text is tokenised
        smooth_method="none" if moses else "exp",
        references=[flavour.split(references, language)],
    )


FLAVOURS = {
    flavour.name: flavour
    for flavour in (
        Flavour("sacrebleu", "13a"),
        Flavour("sacrebleu, intl", "intl"),
        Flavour("multi-bleu, tokenised", "moses"),
        Flavour("multi-bleu, tokenised, lower-cased", "moses", lowercase=True),
        Flavour("multi-bleu, tokenised, no UNK", "moses", no_unknown=True),
    )
}
"""By name. ``multi-bleu.perl`` counts the tokens that it is given, and does not smooth."""


@dataclass(frozen=True)
class TableAgreement:
    """How a table of published values agrees with ours."""

    cv: tuple[float | None, ...]
    """CV* of each published value and ours, in percent; 0 for equal values, None for two zeros."""
    pearson: float | None
    spearman: float | None
    kendall: float | None
    """Correlations, -1 to 1; None where all values of a side are equal, or for fewer than three."""
    same_sign: float | None
    """Share of pairs of systems that differ in the published direction; None without such pairs."""


def agreement(published: Sequence[float], ours: Sequence[float]) -> TableAgreement:
    """Compare a published table with ours, value by value.

    Both must be in one unit and one flavour of a score, and on a scale whose 0 means nothing at
    all. Pairs of systems whose published values are equal have no published direction, and are left
    out of ``same_sign``; of the others, equal values of ours do not agree.

    Raises ``ValueError`` for lists of unequal length.
    """
    if len(published) != len(ours):
        raise ValueError(f"{len(published)} published values for {len(ours)} of ours")
    varied = len(ours) > 2 and len({*published}) > 1 and len({*ours}) > 1
    pearson, spearman, kendall = (
        float(correlation(published, ours).statistic) if varied else None
        for correlation in (pearsonr, spearmanr, kendalltau)
    )
    pairs = [
        np.sign(ours[a] - ours[b]) == np.sign(published[a] - published[b])
        for a, b in combinations(range(len(ours)), 2)
        if published[a] != published[b]
    ]
    return TableAgreement(
        cv=tuple(
            cv_star(pair) if any(pair) else None for pair in zip(published, ours, strict=True)
        ),
        pearson=pearson,
        spearman=spearman,
        kendall=kendall,
        same_sign=float(np.mean(pairs)) if pairs else None,
    )


def cv_star(values: Sequence[float]) -> float:
    """Return the coefficient of variation of n values in percent, corrected for small n.

    CV* = (1 + 1/(4n)) · s* / |mean| · 100 (Belz, Popović and Mille 2022, arXiv 2204.05961, and
    QRA++). s* is the standard deviation without bias for values of a normal distribution: the
    square root of the unbiased variance, divided by c₄(n) = √(2/(n-1)) Γ(n/2) / Γ((n-1)/2).

    Raises ``ValueError`` for fewer than two values, and for a mean of 0.
    """
    count, mean = len(values), float(np.mean(values))
    if count < 2 or not mean:
        raise ValueError("CV* needs two values or more, with a mean that is not 0")
    c4 = math.sqrt(2 / (count - 1)) * math.exp(gammaln(count / 2) - gammaln((count - 1) / 2))
    return float((1 + 1 / (4 * count)) * np.std(values, ddof=1) / c4 / abs(mean) * 100)
