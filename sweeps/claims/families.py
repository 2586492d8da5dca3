"""Corrections for many claims: within the paper of each, and over papers.

Within a paper, Holm's method (1979) keeps the chance of any wrong verdict at 5%. Over papers,
Benjamini and Hochberg's (1995) keeps the share of papers with a wrong finding at 5%: a paper counts
by the smallest p-value that Holm's method leaves. Extensions are families of their own.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from lightning_modules.metrics.resampling import holm
from sweeps.claims.verdict import LEVEL, Outcome, Verdict

Paper = tuple[str, bool]  # a paper by its folder, and whether these are its extensions


def correct(verdicts: Mapping[str, Verdict], extensions: Collection[str]) -> dict[str, Verdict]:
    """Return verdicts after both corrections, by the names of their claims, ``PAPER.NAME``.

    A verdict that they take back is undecided.
    """
    ps = corrected_ps({name: verdict.p for name, verdict in verdicts.items()}, extensions)
    return {name: _corrected(verdict, ps[name]) for name, verdict in verdicts.items()}


def corrected_ps(ps: Mapping[str, float], extensions: Collection[str]) -> dict[str, float]:
    """Return p-values of claims after both corrections, by the names of the claims.

    It is the larger of Holm's within the paper, and Benjamini and Hochberg's of the paper.
    """
    families: dict[Paper, list[str]] = {}
    for name in ps:
        families.setdefault((name.partition(".")[0], name in extensions), []).append(name)
    within = {
        paper: dict(zip(names, holm([ps[name] for name in names]), strict=True))
        for paper, names in families.items()
    }
    over: dict[Paper, float] = {}
    for apart in (False, True):
        papers = [paper for paper in families if paper[1] is apart]
        smallest = [min(within[paper].values()) for paper in papers]
        over |= zip(papers, over_papers(smallest), strict=True)
    return {
        name: max(p, over[paper])
        for paper, of_paper in within.items()
        for name, p in of_paper.items()
    }


def over_papers(smallest: Sequence[float]) -> list[float]:
    """Return Benjamini and Hochberg's p-values of papers, from the smallest of each."""
    from statsmodels.stats.multitest import multipletests  # loads pandas

    if not smallest:
        return []
    return [float(p) for p in multipletests(smallest, method="fdr_bh")[1]]


def _corrected(verdict: Verdict, p: float) -> Verdict:
    if p <= LEVEL or not verdict.outcome.decided:
        return replace(verdict, p=p)
    reason = f"p = {p:.2f} after the correction over the claims of the paper and over papers"
    return replace(verdict, p=p, outcome=Outcome.UNDECIDED, reason=reason)
