"""Typical failures of each system by sentence length."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lightning_modules.metrics.failures import TranslationKind
from lightning_modules.metrics.lengths import Bounds
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.text_metrics import sentence_bleu
from sweeps.report.explanations import EXPLAINING
from sweeps.report.findings import Findings
from sweeps.report.sentence_cards import Parts, hypothesis_parts, reference_parts

OFTEN = 0.1
"""Share of the translations from which a kind is shown before wrong words, which all systems have.
"""


@dataclass(frozen=True)
class FailureExample:
    """A failure of one system, typical of its kind and length."""

    label: str  # of the system
    kind: TranslationKind
    share: int  # percent of the system's translations of this length that are of the kind
    number: int
    bleu: float
    source: str | None
    reference: Parts
    parts: Parts  # the translation


@dataclass(frozen=True)
class GalleryGroup:
    """The examples of one length group."""

    lengths: str  # the length group with its unit
    examples: Sequence[FailureExample]


@dataclass(frozen=True)
class Gallery:
    """Examples by length; ``first`` is the position of the group that the findings are about."""

    groups: Sequence[GalleryGroup]
    first: int


def failure_gallery(findings: Findings) -> Gallery:
    """Return a typical failure of the first seed of each system, in each length group."""
    evaluation = findings.evaluation
    thin = {each.bounds for group in evaluation.groups for each in group.buckets if each.thin}
    groups: list[GalleryGroup] = []
    first = 0
    for bounds in evaluation.bounds:
        found = [
            example for each in evaluation.systems for example in _examples(findings, each, bounds)
        ]
        if not found:
            continue
        if bounds not in thin:
            first = len(groups)
        groups.append(GalleryGroup(evaluation.scoring.bucket_name(bounds), found))
    return Gallery(groups, first)


def _examples(findings: Findings, system: System, bounds: Bounds) -> Iterator[FailureExample]:
    """Yield the typical failure of one system at one length; nothing where all is right."""
    buckets = findings.evaluation.group(system).buckets
    [index] = [each.index for each in buckets if each.bounds == bounds] or [np.array([], int)]
    kinds = findings.failures.kinds[system.name][0][index]
    counts = np.bincount(kinds, minlength=len(TranslationKind))
    kind = max(EXPLAINING, key=lambda each: counts[each])
    if counts[kind] < max(1, OFTEN * len(index)):
        kind = TranslationKind.WRONG
    rows = index[kinds == kind]
    if not len(rows):
        return
    test, output, rule = system.test, system.outputs[0], system.test.rules.target
    scores = sentence_bleu(output.statistics)[rows]
    middle = np.argsort(scores, kind="stable")[len(rows) // 2]
    number = int(rows[middle])
    hypothesis, reference = output.hypotheses[number], test.references[number]
    yield FailureExample(
        label=system.label,
        kind=kind,
        share=round(100 * len(rows) / len(index)),
        number=number,
        bleu=float(scores[middle]),
        source=None if test.sources is None else test.sources[number],
        reference=reference_parts(reference, [hypothesis], rule),
        parts=hypothesis_parts(hypothesis, reference, rule),
    )
