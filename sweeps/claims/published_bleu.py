"""BLEU as papers computed it, beside sacreBLEU's; different flavours never share a column."""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacremoses import MosesTokenizer
from scipy.stats import spearmanr

Lines = Sequence[str]


class Flavour(NamedTuple):
    """A way to compute BLEU; two scores of one flavour may stand in one column."""

    name: str
    tokenized_by: str  # tokeniser of sacreBLEU, or `moses`, as for `multi-bleu.perl`
    lowercase: bool = False
    no_unknown: bool = False
    """Whether only sentences count of which neither source nor reference has an unknown word."""

    def score(self, hypotheses: Lines, references: Lines, language: str) -> float:
        """Return BLEU of translations, 0 to 100; ``language`` is the target's, for Moses."""
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
    # The references are counted once for all systems.
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


class TableAgreement(NamedTuple):
    """How a table of published values agrees with ours."""

    cv: list[float | None]
    """CV* of each published value and ours, in percent; 0 for equal values, None for two zeros."""
    spearman: float | None
    """Rank correlation; None where all values of a side are equal, or for fewer than three."""
    same_sign: float | None
    """Share of pairs of systems that differ in the published direction; None without such pairs."""


def agreement(published: Sequence[float], ours: Sequence[float]) -> TableAgreement:
    """Compare a published table with ours, value by value.

    Both must be in one unit and one flavour of a score, and on a scale whose 0 means nothing at
    all. Pairs of systems whose published values are equal have no published direction, and are left
    out of ``same_sign``; of the others, equal values of ours do not agree.
    """
    varied = len(ours) > 2 and len({*published}) > 1 and len({*ours}) > 1
    pairs = [
        np.sign(ours[a] - ours[b]) == np.sign(published[a] - published[b])
        for a, b in combinations(range(len(ours)), 2)
        if published[a] != published[b]
    ]
    return TableAgreement(
        cv=[cv_star(*pair) if any(pair) else None for pair in zip(published, ours, strict=True)],
        spearman=float(spearmanr(published, ours).statistic) if varied else None,
        same_sign=float(np.mean(pairs)) if pairs else None,
    )


def cv_star(one: float, other: float) -> float:
    """Return the coefficient of variation of two values in percent, corrected for small n.

    CV* = (1 + 1/(4n)) · s* / |mean| · 100 (Belz, Popović and Mille 2022, arXiv 2204.05961, and
    QRA++). s* is the standard deviation without bias for values of a normal distribution: the
    square root of the unbiased variance, divided by c₄(n), which is √(2/π) for n = 2.
    """
    deviation = abs(one - other) / math.sqrt(2) / math.sqrt(2 / math.pi)
    return (1 + 1 / 8) * deviation / abs((one + other) / 2) * 100
