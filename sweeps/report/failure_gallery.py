"""Typical failures by sentence length: one sentence of each length, as every system fails on it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lightning_modules.metrics.failures import TranslationKind
from lightning_modules.metrics.lengths import Bucket
from lightning_modules.metrics.metric import Array
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.text_metrics import sentence_bleu
from sweeps.comparison.evaluation import EvalGroup
from sweeps.report.explanations import EXPLAINING
from sweeps.report.findings import Findings
from sweeps.report.sentence_cards import Parts, hypothesis_parts, reference_parts

OFTEN = 0.1
"""Share of the translations from which a kind counts before wrong words, which all systems have."""


@dataclass(frozen=True)
class FailureExample:
    """The translation of a sentence by one system."""

    label: str  # of the system
    kind: TranslationKind
    share: str  # of the system's translations of this length that are of the kind, in percent
    bleu: float
    parts: Parts  # the translation


@dataclass(frozen=True)
class GallerySentence:
    """A sentence on which systems fail as they often do at its length."""

    number: int
    test_set: int | None  # counted from 1; None where there is one
    source: str | None
    reference: Parts
    examples: Sequence[FailureExample]


@dataclass(frozen=True)
class GalleryGroup:
    """The sentences of one length group, one of each test set."""

    lengths: str  # the length group with its unit
    sentences: Sequence[GallerySentence]


@dataclass(frozen=True)
class Gallery:
    """Sentences by length; ``first`` is the position of the group that the findings are about."""

    groups: Sequence[GalleryGroup]
    first: int


def failure_gallery(findings: Findings) -> Gallery:
    """Return a sentence of each length group, as the first seed of each system translates it."""
    evaluation = findings.evaluation
    thin = {each.bounds for group in evaluation.groups for each in group.buckets if each.thin}
    groups: list[GalleryGroup] = []
    first = 0
    for bounds in evaluation.bounds:
        found = [
            sentence
            for number, group in enumerate(evaluation.groups, start=1)
            for bucket in group.buckets
            if bucket.bounds == bounds and (sentence := _sentence(findings, number, group, bucket))
        ]
        if not found:
            continue
        if bounds not in thin:
            first = len(groups)
        groups.append(GalleryGroup(evaluation.scoring.bucket_name(bounds), found))
    return Gallery(groups, first)


def _sentence(
    findings: Findings, test_set: int, group: EvalGroup, bucket: Bucket
) -> GallerySentence | None:
    """Return the sentence on which most systems fail as they often do; None where none fails.

    Of several such sentences, it is the one whose BLEU are nearest to the medians of those
    translations with which each system fails so.
    """
    if not len(bucket.index):
        return None
    kinds = [findings.failures.kinds[system.name][0][bucket.index] for system in group.systems]
    scores = [sentence_bleu(each.outputs[0].statistics)[bucket.index] for each in group.systems]
    as_often = np.stack([of == _often(of) for of in kinds])  # (systems, sentences)
    if not as_often.any():
        return None
    unusual = np.zeros(len(bucket.index))
    for so, bleu in zip(as_often, scores, strict=True):
        if so.any():
            unusual[so] += np.abs(bleu[so] - np.median(bleu[so]))
    place = int(np.lexsort((unusual, -as_often.sum(0)))[0])
    number = int(bucket.index[place])
    test = group.systems[0].test
    said = [each.outputs[0].hypotheses[number] for each in group.systems]
    return GallerySentence(
        number=number,
        test_set=test_set if len(findings.evaluation.groups) > 1 else None,
        source=None if test.sources is None else test.sources[number],
        reference=reference_parts(test.references[number], said, test.rules.target),
        examples=[
            _example(system, of_system, place, number, float(bleu[place]))
            for system, of_system, bleu in zip(group.systems, kinds, scores, strict=True)
        ],
    )


def _often(kinds: Array) -> TranslationKind | None:
    """Return how a system fails often; None where all of its translations are right."""
    counts = np.bincount(kinds, minlength=len(TranslationKind))
    kind = max(EXPLAINING, key=lambda each: counts[each])
    if counts[kind] < OFTEN * len(kinds) and counts[TranslationKind.WRONG]:
        kind = TranslationKind.WRONG
    return kind if counts[kind] else None


def _example(system: System, kinds: Array, place: int, number: int, bleu: float) -> FailureExample:
    kind = TranslationKind(int(kinds[place]))
    hypothesis, test = system.outputs[0].hypotheses[number], system.test
    percent = 100 * float(np.mean(kinds == kind))
    return FailureExample(
        label=system.label,
        kind=kind,
        share=f"{percent:.0f}%" if percent >= 1 else "under 1%",
        bleu=bleu,
        parts=hypothesis_parts(hypothesis, test.references[number], test.rules.target),
    )
