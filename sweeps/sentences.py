"""Sentences to look at: what each system made of them, and where it looked."""

import logging
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import groupby

import numpy as np

from lightning_modules.metrics.sentences import readable
from lightning_modules.metrics.statistics import sentence_bleu
from lightning_modules.metrics.systems import Output
from lightning_modules.run_folder import (
    BrokenFileError,
    SentenceAttention,
    read_attention,
    read_predictions,
)
from lightning_modules.run_records import HeadWeights, read_head_attention
from sweeps.evaluation.evaluation import Group
from sweeps.evaluation.sentence_tables import ranked
from sweeps.heat_maps import HeatMap, heat_map

log = logging.getLogger(__name__)

DIFFERING = 5
NO_ATTENTION = "This model has no attention: there are no weights to draw."
NOT_RECORDED = "No attention was recorded."


@dataclass(frozen=True)
class TranslationCard:
    """One system's translation of a sentence, with its attention or a note that says why none."""

    label: str
    hypothesis: str
    bleu: float
    heat_map: HeatMap | None
    note: str
    parts: list[tuple[str, bool]]
    """The hypothesis cut up: words, and whether the reference lacks them at their place."""


@dataclass(frozen=True)
class SentenceCard:
    """A sentence with all translations; ``why`` it is shown."""

    number: int
    why: str
    source: str | None
    reference: str
    translations: list[TranslationCard]


@dataclass(frozen=True, eq=False)
class _Looked:
    """The attention of a system's first output."""

    output: Output
    heads: HeadWeights
    numbers: list[int]
    """Of the sentences that are shown."""

    @cached_property
    def found(self) -> tuple[dict[int, SentenceAttention], str]:
        """Attention by sentence, and a note where there is none."""
        if self.output.folder is None:
            return {}, NOT_RECORDED
        try:
            predictions = read_predictions(self.output.folder)
            chosen = [predictions[number] for number in self.numbers]
            attention = read_attention(self.output.folder, chosen)
        except BrokenFileError as error:
            return {}, str(error)
        if attention is None:
            return {}, NOT_RECORDED
        return attention, "" if attention else NO_ATTENTION


def sentence_cards(group: Group) -> list[SentenceCard]:
    """A readable sentence, then those on which the systems differ most, by their first seeds."""
    test = group.systems[0].test
    reasons = {readable(test.sources or test.references): "easily read"}
    if len(group.systems) > 1:
        for place, number in enumerate(ranked(group)[:DIFFERING], start=1):
            reasons.setdefault(number, f"differs most, number {place}")
    first = [system.outputs[0] for system in group.systems]
    scores = np.stack([sentence_bleu(output.statistics) for output in first])
    heads = [_heads(output) for output in first]
    for number in sorted({number for of_output in heads for number in of_output}):
        if number < len(test.references):
            reasons.setdefault(number, "easily read for its length")
    looked = [_Looked(*parts, list(reasons)) for parts in zip(first, heads, strict=True)]
    return [
        SentenceCard(
            number=number,
            why=why,
            source=None if test.sources is None else test.sources[number],
            reference=test.references[number],
            translations=[
                _card(system.name, each, number, test.references[number], float(score))
                for system, each, score in zip(
                    group.systems, looked, scores[:, number], strict=True
                )
            ],
        )
        for number, why in reasons.items()
    ]


def _heads(output: Output) -> HeadWeights:
    """Weights of single heads by sentence; none where they were not recorded."""
    try:
        return {} if output.folder is None else read_head_attention(output.folder)
    except BrokenFileError as error:
        log.warning("%s: %s", output.folder, error)
        return {}


def _card(
    label: str, looked: _Looked, number: int, reference: str, score: float
) -> TranslationCard:
    attention, note = looked.found
    sentence = attention.get(number)
    drawn = sentence if sentence and sentence.target_words else None
    heads = looked.heads.get(number)
    if drawn and heads is not None and heads.shape[2:] != np.shape(drawn.weights):
        heads = None  # of another translation
    hypothesis = looked.output.hypotheses[number]
    return TranslationCard(
        label=label,
        hypothesis=hypothesis,
        bleu=score,
        heat_map=heat_map(drawn, heads) if drawn else None,
        note=note,
        parts=marked(hypothesis, reference),
    )


def marked(hypothesis: str, reference: str) -> list[tuple[str, bool]]:
    """Cut a hypothesis where it leaves its reference or comes back to it; whole words."""
    words = hypothesis.split()
    blocks = SequenceMatcher(None, reference.split(), words, autojunk=False).get_matching_blocks()
    shared = {block.b + place for block in blocks for place in range(block.size)}
    parts = groupby(enumerate(words), key=lambda numbered: numbered[0] not in shared)
    return [(" ".join(word for _, word in part), differs) for differs, part in parts]
