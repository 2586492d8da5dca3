"""Example sentences: the translation and the attention of each system."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from lightning_modules.figures.heat_map import Panel
from lightning_modules.metrics.failures import loops, repeated_words
from lightning_modules.metrics.lengths import sentence_lengths
from lightning_modules.metrics.metric import Array
from lightning_modules.metrics.sentences import (
    READABLE_WORDS,
    most_different,
    most_readable,
    typical_by_length,
)
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.text_metrics import sentence_bleu
from lightning_modules.metrics.word_alignment import shared_words
from lightning_modules.metrics.words import WordRule
from lightning_modules.runs.files import (
    BrokenFileError,
    read_attention,
    read_head_attention,
    read_predictions,
)
from lightning_modules.runs.schema import HeadWeights, SentenceAttention
from sweeps.comparison.evaluation import EvalGroup
from sweeps.report.page_maps import HeatMap, heat_map, limit_heads

log = logging.getLogger(__name__)

MOST_WEIGHTS = 800_000  # most weights of single heads on a page, about 2 MB
MOST_OF_ONE = 80_000  # on the page of one run
DIFFERING = 6  # most sentences on which systems differ
Contest = tuple[System, System]
"""The two systems that the findings compare."""
NO_ATTENTION = "This model has no attention: there are no weights to draw."
NOT_RECORDED = "No attention was recorded."


Mark = Literal["", "wrong", "loop", "missed"]
"""Words of a translation that stand in the reference at their place, that do not, or that repeat
what the translation has said before; words of a reference that no translation has at that place."""
Parts = list[tuple[str, Mark]]
"""A line cut up where its marks change."""


@dataclass(frozen=True)
class TranslationCard:
    """One system's translation of a sentence, with its attention or a note on why it has none."""

    label: str
    hypothesis: str
    bleu: float
    panel: Panel | None  # the attention on this sentence, with its title
    heat_map: HeatMap | None  # the same for the page
    note: str
    parts: Parts  # the hypothesis


@dataclass(frozen=True)
class SentenceCard:
    """A sentence with all translations, and the reason ``why`` it is shown."""

    number: int
    why: str
    source: str | None
    reference: Parts
    translations: list[TranslationCard]


@dataclass(frozen=True, eq=False)
class Examples:
    """The sentences of a page."""

    cards: list[SentenceCard]
    without_heads: int
    """Number of heat maps whose single heads are left out, so that the page can be mailed."""

    @property
    def drawn(self) -> bool:
        """Whether there is any heat map."""
        return any(each.heat_map for card in self.cards for each in card.translations)

    @property
    def gold_links(self) -> bool:
        """Whether a heat map has outlines."""
        maps = (each.heat_map for card in self.cards for each in card.translations)
        return any(each["gold"] for each in maps if each)

    @cached_property
    def plain(self) -> list[dict[str, Any]]:
        """The cards for the script of the page; words are lists of parts."""
        return [
            {
                "number": card.number,
                "why": card.why,
                "source": None if card.source is None else card.source.split(),
                "reference": card.reference,
                "translations": [
                    {
                        "label": each.label,
                        "bleu": round(each.bleu, 1),
                        "words": words_of(each.parts),
                        "map": each.heat_map,
                        "note": each.note,
                    }
                    for each in card.translations
                ],
            }
            for card in self.cards
        ]

    @property
    def panels(self) -> list[Panel]:
        """The attention of all systems on the first sentence, then on the others."""
        every = (each.panel for card in self.cards for each in card.translations)
        return [panel for panel in every if panel]


def example_sentences(
    groups: Sequence[EvalGroup], contests: Mapping[EvalGroup, Contest] = MappingProxyType({})
) -> Examples:
    """Return the cards of all test sets; ``contests`` have the systems to compare on them."""
    alone = sum(len(group.systems) for group in groups) == 1
    most = MOST_OF_ONE if alone else MOST_WEIGHTS
    cards = [card for group in groups for card in sentence_cards(group, contests.get(group), alone)]
    maps = [each.heat_map for card in cards for each in card.translations if each.heat_map]
    return Examples(cards, limit_heads(maps, most))


def sentence_cards(
    group: EvalGroup, contest: Contest | None = None, alone: bool = False
) -> list[SentenceCard]:
    """Return a readable sentence, then some on which the first seeds of two systems differ most.

    They are of every length group, the longest first. Without a ``contest``, all systems are
    compared. Of a system that is ``alone``: typical sentences from short to long.
    """
    test = group.systems[0].test
    first = [system.outputs[0] for system in group.systems]
    scores = np.stack([sentence_bleu(output.statistics) for output in first])
    heads = [_heads(output) for output in first]
    recorded = sorted({n for by_number in heads for n in by_number if n < len(test.references)})
    reasons = _reasons(group, contest, first, scores)
    for number in typical_sentences(test, first[0]) if alone else []:
        reasons.setdefault(number, "typical of its length")
    for number in recorded:
        reasons.setdefault(number, "easily read for its length")
    lengths = sentence_lengths(test, "reference_words" if test.sources is None else "source_words")
    attentions = [_attention(output, list(reasons)) for output in first]
    cards = []
    for number, reason in reasons.items():
        why = f"{lengths[number]} words, {reason}"
        reference = test.references[number]
        translations = []
        for place, (system, output) in enumerate(zip(group.systems, first, strict=True)):
            score, (by_number, note) = float(scores[place, number]), attentions[place]
            drawn = by_number.get(number)
            weights = heads[place].get(number)
            panel = None
            if drawn and drawn.target_words:
                subtitle = f"sentence {number}, BLEU {score:.1f}"
                panel = Panel(drawn, system.label, subtitle, f"Sentence {number}: {why}")
                if weights is not None and weights.shape[2:] != np.shape(drawn.weights):
                    weights = None  # these weights belong to another translation
            hypothesis = output.hypotheses[number]
            translations.append(
                TranslationCard(
                    label=system.label,
                    hypothesis=hypothesis,
                    bleu=score,
                    panel=panel,
                    heat_map=heat_map(panel, weights) if panel else None,
                    note=note,
                    parts=hypothesis_parts(hypothesis, reference, test.rules.target),
                )
            )
        source = None if test.sources is None else test.sources[number]
        said = [output.hypotheses[number] for output in first]
        missed = reference_parts(reference, said, test.rules.target)
        cards.append(SentenceCard(number, why, source, missed, translations))
    return cards


def _reasons(
    group: EvalGroup, contest: Contest | None, first: Sequence[Output], scores: Array
) -> dict[int, str]:
    """Return the numbers of the sentences that are shown, each with the reason why.

    The first is easily read, and of such sentences the most typical: no system's score is far from
    the median of that system.
    """
    test = group.systems[0].test
    sources, rule = test.sources, test.rules.source
    if sources is None:
        sources, rule = test.references, test.rules.target
    words = np.array([len(rule.words(line)) for line in sources])
    readable = np.flatnonzero((words >= READABLE_WORDS // 2) & (words <= READABLE_WORDS))
    unlike = np.abs(scores - np.median(scores, axis=1, keepdims=True)).max(0)
    if len(readable):
        reasons = {int(readable[unlike[readable].argmin()]): "easily read and typical"}
    else:
        reasons = {most_readable(sources, rule): "easily read"}
    if len(first) == 1:
        return reasons
    compared, why = scores, "differ most"
    if contest is not None:
        compared = scores[[group.systems.index(system) for system in contest]]
        why += f" ({' and '.join(f'“{system.label}”' for system in contest)})"
    lines = (output.hypotheses for output in first)
    identities = list(zip(sources, test.references, *lines, strict=True))
    full = [bucket for bucket in reversed(group.buckets) if not bucket.thin]
    parts = [bucket.index for bucket in full] or [np.arange(len(identities))]
    for index in parts:
        order = most_different(compared[:, index], [identities[number] for number in index])
        for number in index[order][: max(1, DIFFERING // len(parts))]:
            if np.ptp(compared[:, number]):
                reasons.setdefault(int(number), why)
    return reasons


def typical_sentences(test: EvalSet, output: Output) -> list[int]:
    """Return sentences that show how one system translates, from short to long."""
    sources, rule = test.sources, test.rules.source
    if sources is None:
        sources, rule = test.references, test.rules.target
    lengths = [len(rule.words(line)) for line in sources]
    return typical_by_length(lengths, sentence_bleu(output.statistics))


def _attention(
    output: Output, numbers: Sequence[int]
) -> tuple[Mapping[int, SentenceAttention], str]:
    """Return attention by sentence number, and a note if there is no attention."""
    if output.folder is None:
        return {}, NOT_RECORDED
    try:
        predictions = read_predictions(output.folder)
        attention = read_attention(output.folder, [predictions[number] for number in numbers])
    except BrokenFileError as error:
        return {}, str(error)
    if attention is None:
        return {}, NOT_RECORDED
    return attention, "" if attention else NO_ATTENTION


def _heads(output: Output) -> HeadWeights:
    """Return single-head weights by sentence number; empty if no weights were recorded."""
    try:
        return {} if output.folder is None else read_head_attention(output.folder)
    except BrokenFileError as error:
        log.warning("%s", error)
        return {}


def hypothesis_parts(hypothesis: str, reference: str, rule: WordRule) -> Parts:
    """Cut a hypothesis where its words begin or cease to be wrong, or to repeat themselves.

    Words repeat only in a translation that loops: see ``metrics/failures.py``.
    """
    words, of_reference = (_words(line, rule) for line in (hypothesis, reference))
    repeated, shared = _compared(words, of_reference)
    said = set(shared.values())
    kinds: list[Mark] = [
        "loop" if repeated[number] else "" if number in said else "wrong"
        for number in range(len(words))
    ]
    return _cut(hypothesis, kinds, rule)


def reference_parts(reference: str, hypotheses: Sequence[str], rule: WordRule) -> Parts:
    """Cut a reference where its words begin or cease to be missed by all of the hypotheses.

    A hypothesis that has a word at another place misses it, too.
    """
    words = _words(reference, rule)
    said = {place for each in hypotheses for place in _compared(_words(each, rule), words)[1]}
    return _cut(reference, ["" if place in said else "missed" for place in range(len(words))], rule)


def _words(line: str, rule: WordRule) -> list[str]:
    return [word for word, _ in rule.places(line)]


def _compared(words: list[str], of_reference: list[str]) -> tuple[Sequence[bool], dict[int, int]]:
    """Return which words of a hypothesis repeat others, and the places of the shared words.

    These are places in the hypothesis by those in the reference. What is said first may be shared.
    """
    loop = loops(words, of_reference)
    repeated = repeated_words(words).tolist() if loop else [False] * len(words)
    kept = [place for place, repeats in enumerate(repeated) if not repeats]
    shared = shared_words(of_reference, [words[place] for place in kept])
    return repeated, {place: kept[other] for place, other in shared.items()}


def _cut(line: str, kinds: Sequence[Mark], rule: WordRule) -> Parts:
    """Cut a line whose words have marks; what stands between two equal marks has them too."""
    marks: list[Mark] = [""] * len(line)
    places = [place for _, place in rule.places(line)]
    for number, place in enumerate(places):
        follows = number > 0 and kinds[number - 1] == kinds[number]
        start = places[number - 1].stop if follows else place.start
        marks[start : place.stop] = [kinds[number]] * (place.stop - start)
    parts = groupby(zip(line, marks, strict=True), key=lambda pair: pair[1])
    return [("".join(letter for letter, _ in part), mark) for mark, part in parts]


def words_of(parts: Parts) -> list[Parts]:
    """Return the words of a line in parts, each cut where its mark changes."""
    words: list[Parts] = [[]]
    for text, mark in parts:
        for place, piece in enumerate(re.split(r"\s+", text)):
            if place:
                words.append([])
            if piece:
                words[-1].append((piece, mark))
    return [word for word in words if word]
