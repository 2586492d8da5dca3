"""How attention forms: maps of two validation sentences, with a slider over the validations."""

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from typing_extensions import override

from lightning_modules.figures.heat_map import Panel
from lightning_modules.runs.files import BrokenFileError, read_attention_history, read_history
from lightning_modules.runs.schema import HistoryPoint, SentenceHistory
from sweeps.report.page_maps import heat_map, thousandths
from sweeps.report.sections import Section

log = logging.getLogger(__name__)

MOST_WEIGHTS = 100_000
"""Most weights of all validations on a page, about 100 kB; of more, validations are left out."""


class AttentionOverTraining(Section):
    """Maps of each run with attention; nothing where none was kept."""

    heading = "How attention forms"
    template = '{% include "sections/attention_over_training.html.j2" %}'

    @cached_property
    def sentences(self) -> Sequence[dict[str, Any]]:
        """Each sentence with its map, and the weights at each validation, for the page's script."""
        found: list[dict[str, Any]] = []
        for run in self.findings.comparison.runs:
            try:
                history, points = read_attention_history(run.folder), read_history(run.folder)
            except BrokenFileError as error:
                log.warning("%s; left out of the attention over training", error)
                continue
            of = "" if self.findings.alone else f"{run.training}, "
            if history is not None:
                moments = [moment(validation, points) for validation in history.validations]
                found += [
                    {"name": f"{of}sentence of {len(each.source.split())} words"}
                    | _scripted(run.label, each, moments)
                    for each in history.sentences
                ]
        return thinned(found)

    @property
    def gold_links(self) -> bool:
        """Whether a map has outlines."""
        return any(each["map"]["gold"] for each in self.sentences)

    @override
    def page_data(self) -> Mapping[str, Any]:
        return {"formed-data": self.sentences}


def _scripted(label: str, sentence: SentenceHistory, moments: Sequence[str]) -> dict[str, Any]:
    weights = (thousandths(each) for each in sentence.weights)
    return {
        "map": heat_map(Panel(sentence.at(-1), label, f"validation sentence {sentence.id}")),
        "steps": [{"at": at, "weights": each} for at, each in zip(moments, weights, strict=True)],
    }


def moment(validation: int, points: Sequence[HistoryPoint]) -> str:
    """Say when a validation, counted from 1, took place, and its BLEU, where this was recorded."""
    if validation > len(points):
        return f"validation {validation}"
    point = points[validation - 1]
    return f"after {point.target_tokens:,} target tokens, validation BLEU {point.val_bleu:.1f}"


def thinned(sentences: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Leave out validations, but no last one, until a page can have the weights."""
    total = sum(np.size(step["weights"]) for each in sentences for step in each["steps"])
    every = -(-total // MOST_WEIGHTS)
    return [each | {"steps": each["steps"][:: -max(1, every)][::-1]} for each in sentences]
