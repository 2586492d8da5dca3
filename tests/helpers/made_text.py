"""Made-up references, systems that mistranslate them, sacreBLEU to score them; a corpus."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import PairedTest, Result

from datamodules.corpus_statistics import SideCounts, bins_of, side_statistics
from lightning_modules.metrics.chosen_metrics import translation_statistics
from lightning_modules.metrics.metric import Array, ReferenceText, Statistics
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.text_metrics import TEXT_METRICS

SACREBLEU: dict[str, Metric] = {
    "bleu": BLEU(force=True),
    "chrf": CHRF(),
    "chrf++": CHRF(word_order=2),
    "ter": TER(),
}
"""sacreBLEU's metrics by our names of metrics."""
WORDS = np.array(
    [*(f"word{number}" for number in range(40)), "the", "of", ",", "Don't,", "l'eau.", "(5%)", "語"]
)


def statistics_of(hypotheses: Sequence[str], references: Sequence[str]) -> Statistics:
    """The statistics of all metrics of translations; the same translations are counted once."""
    return dict(_statistics(tuple(hypotheses), tuple(references)))


@cache
def _statistics(hypotheses: Sequence[str], references: Sequence[str]) -> Statistics:
    metrics = [kind() for kind in TEXT_METRICS.values()]
    return translation_statistics(metrics, ReferenceText(references), hypotheses)


def made_references(count: int, rng: np.random.Generator, longest: int = 30) -> list[str]:
    """Sentences of 1 to ``longest`` words."""
    return [" ".join(rng.choice(WORDS, rng.integers(1, longest + 1))) for _ in range(count)]


def corrupted(references: Sequence[str], rate: float, rng: np.random.Generator) -> list[str]:
    """Drop or replace a share ``rate`` of the words, half each, and sometimes swap two words."""
    return [" ".join(_corrupted(line.split(), rate, rng)) for line in references]


def _corrupted(words: list[str], rate: float, rng: np.random.Generator) -> list[str]:
    fate = rng.random(len(words))
    others = rng.choice(WORDS, len(words))
    kept = [
        other if chance < rate / 2 else word
        for word, other, chance in zip(words, others, fate, strict=True)
        if chance < rate / 2 or chance >= rate
    ]
    if len(kept) > 1 and rng.random() < rate:
        place = rng.integers(len(kept) - 1)
        kept[place : place + 2] = kept[place : place + 2][::-1]
    return kept


def sacrebleus_p(
    metric: str, lines: Sequence[Sequence[str]], references: Sequence[str], kind: str, count: int
) -> float:
    """The p-value of two translations by sacreBLEU's test ``ar`` or ``bs``, with its own seed."""
    systems = [("first", lines[0]), ("second", lines[1])]
    _, table = PairedTest(
        systems, {metric: SACREBLEU[metric]}, [references], test_type=kind, n_samples=count
    )()
    result = list(table.values())[1][1]
    assert isinstance(result, Result)
    assert result.p_value is not None
    return result.p_value


def translated(name: str, test: EvalSet, *translations: Sequence[str]) -> System:
    """A system with a seed for each of its translations, counted from 1."""
    outputs = [
        Output(seed, hypotheses, statistics_of(hypotheses, test.references))
        for seed, hypotheses in enumerate(translations, start=1)
    ]
    return System(name, test, outputs)


def measured(name: str, test: EvalSet, values: Array) -> System:
    """A system whose "entropy" is the mean of ``values (seeds, sentences)``.

    No text is counted, so this takes no time.
    """
    ones = np.ones(values.shape[1])
    outputs = [
        Output(seed, test.references, {"entropy": np.stack([row, ones], axis=1)})
        for seed, row in enumerate(values, start=1)
    ]
    return System(name, test, outputs)


def statistics(cleaned=True):
    """Statistics of a corpus whose sides all have lines of 2, 5 and 30 words."""
    lengths = np.array([2, 5, 30])
    counts = SideCounts(np.bincount(lengths), np.bincount(lengths + 1), 2, 9)
    side = side_statistics(counts, bins_of([counts])).model_dump()
    limit = {
        "step": "longer than 50 words", "leaves_out": True, "seen": 20, "count": 15,
        "examples": [], "seconds": 0.0,
    }  # fmt: skip
    duplicates = {
        "step": "came before", "leaves_out": True, "seen": 5, "count": 2,
        "examples": ["<b>a</b>", "b"], "seconds": 0.5,
    }  # fmt: skip
    return {
        "pairs_read": 5,
        "left_out": {"val": {}, "test": {}},
        "cleaning": [limit, duplicates] if cleaned else [],
        "seconds": {"text": 1.5, "vocabularies": 0.5, "tokens": 0.5},
        "leaked": 1,
        "bins": bins_of([counts]),
        "splits": {split: {"source": side, "target": side} for split in ("train", "val", "test")},
    }


def corpus(fingerprint, padding=0.25, **more):
    """The entry ``data`` of a result with statistics."""
    return {
        "name": "grammar",
        "source": "en",
        "target": "fr",
        "fingerprint": fingerprint,
        "pairs": {"train": 60_000, "val": 600, "test": 1200},
        "padding": {"source": padding, "target": 0.5},
        "statistics": statistics(**more),
    }
