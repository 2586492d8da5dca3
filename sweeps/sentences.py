"""Sentences to look at: what each system made of them, and where it looked."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lightning_modules.heat_map import attention_map
from lightning_modules.metrics.sentences import readable
from lightning_modules.metrics.statistics import sentence_bleu
from lightning_modules.metrics.systems import Output
from lightning_modules.run_folder import (
    BrokenFileError,
    SentenceAttention,
    read_attention,
    read_predictions,
)
from sweeps.evaluation.evaluation import Group
from sweeps.evaluation.sentence_tables import ranked

DIFFERING = 5
NO_ATTENTION = "This model has no attention: there are no weights to draw."
NOT_RECORDED = "No attention was recorded."


@dataclass(frozen=True)
class TranslationCard:
    """One system's translation of a sentence, with its attention or a note that says why none."""

    label: str
    hypothesis: str
    bleu: float
    chart: dict[str, Any] | None
    note: str


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
    """The attention of a system's first output over the sentences that are shown."""

    output: Output
    numbers: list[int]

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
    looked = [_Looked(output, list(reasons)) for output in first]
    return [
        SentenceCard(
            number=number,
            why=why,
            source=None if test.sources is None else test.sources[number],
            reference=test.references[number],
            translations=[
                _card(system.name, each, number, float(score))
                for system, each, score in zip(
                    group.systems, looked, scores[:, number], strict=True
                )
            ],
        )
        for number, why in reasons.items()
    ]


def _card(label: str, looked: _Looked, number: int, score: float) -> TranslationCard:
    attention, note = looked.found
    sentence = attention.get(number)
    return TranslationCard(
        label=label,
        hypothesis=looked.output.hypotheses[number],
        bleu=score,
        chart=attention_map(sentence).to_dict() if sentence and sentence.target_words else None,
        note=note,
    )
