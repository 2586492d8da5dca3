"""What one run has found, in a sentence or two: it compares with baselines alone."""

from dataclasses import replace
from itertools import pairwise

from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.lengths import THIN, Bounds
from sweeps.comparison.evaluation import Evaluation
from sweeps.comparison.numbers import format_estimate, format_number, in_words
from sweeps.report.group_tests import BLEU, below
from sweeps.report.headline import BY_LENGTH, Finding

TEST = "a single run; another may give another result"


def run_headline(evaluation: Evaluation) -> list[Finding]:
    """Return BLEU on the whole test set with that of the baselines, and BLEU against length.

    Nothing where the run has no BLEU.
    """
    [system] = evaluation.systems
    whole = evaluation.estimate(system, None, BLEU)
    if whole is None:
        return []
    others = {
        baseline.label: score.value
        for baseline in evaluation.baselines
        if (score := evaluation.estimate(baseline, None, BLEU)) is not None
    }
    shown = {label: format_number(bleu, 1) for label, bleu in others.items()}
    short, better = f"BLEU is {format_number(whole.value, 1)}", ""
    claim = f"BLEU is {_shown(whole)} on the whole test set"
    if others:
        best = max(others, key=lambda label: others[label])
        if others[best] > whole.value:
            better = f" ({shown[best]} for the {best}, without a model)"
        with_each = [f"{bleu} with the {label}" for label, bleu in shown.items()]
        claim += f"; without a model, {in_words(with_each)}"
    found = [Finding("BLEU", claim, TEST, short + better)]
    known = {
        bounds: score
        for bounds in evaluation.bounds
        if min(evaluation.sentences(bounds)) >= THIN
        and (score := evaluation.estimate(system, bounds, BLEU)) is not None
    }
    if len(known) > 1:
        found.append(_by_length(evaluation, known, short, better))
    return found


def _by_length(
    evaluation: Evaluation, known: dict[Bounds, Estimate], short: str, better: str
) -> Finding:
    """Name BLEU of the shortest and the longest group, and of the best between them."""
    named = evaluation.scoring.bucket_name
    first, *_, last = known
    best = max(known, key=lambda bounds: known[bounds].value)
    claim = f"BLEU is {_shown(known[first])} at {named(first)}"
    if best not in (first, last):
        claim += f", {_shown(known[best])} at {named(best)}"
    claim += f" and {_shown(known[last])} at {named(last)}"
    falls = [
        (known[one].value - known[other].value, one, other)
        for one, other in pairwise(known)
        if below(known[other], known[one])
    ]
    if falls and len(known) > 2:
        most, one, other = max(falls, key=lambda each: each[0])
        where = f"from {one.label} to {named(other)}"
        claim += "; the largest clear fall from one group to the next is "
        claim += f"{where}, by {format_number(most, 1)}"
    start, end = known[first], known[last]
    over = f"from {first.label} to {named(last)}"
    ends = f"{format_number(start.value, 1)} to {format_number(end.value, 1)}"
    short += f"{better}, and {_changes(start, end)} {over} ({ends})"
    return Finding(BY_LENGTH, claim, TEST, short)


def _changes(start: Estimate, end: Estimate) -> str:
    """Say what BLEU does: it changes if the intervals are disjoint."""
    if below(end, start):
        return f"falls by {_percent(1 - end.value / start.value)}"
    if below(start, end):
        return f"rises by {_percent(end.value / start.value - 1)}" if start.value else "rises"
    return "neither falls nor rises clearly"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else f"{share:.1%}"


def _shown(score: Estimate) -> str:
    return format_estimate(replace(score, deviation=None), 1)
