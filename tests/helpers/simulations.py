"""Simulations in which the truth is known: how often are intervals and tests right?

Test sets are drawn, with replacement, from a population of sentences whose scores are the truth.
``test_coverage`` runs few of them with fixed seeds, ``benchmarks.calibration`` many.
"""

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lightning_modules.metrics.bleu import bleu
from lightning_modules.metrics.bootstrap import score_subsets
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.lengths import length_buckets, sentence_lengths, slope_per_ten
from lightning_modules.metrics.metric import ReferenceText
from lightning_modules.metrics.pair_tests import PairTest, compare_pairs, correct_by_holm
from lightning_modules.metrics.resampling import Resamples, interval, resampled_sums
from lightning_modules.metrics.systems import EvalSet, Output, System
from tests.helpers.made_text import corrupted, made_references, measured, statistics_of

POPULATION, SENTENCES = 1000, 250
LEVEL = 0.05
BLEU, TER, ENTROPY = METRICS["bleu"], METRICS["ter"], METRICS["entropy"]
Counts = NDArray[np.float64]


@cache
def population() -> tuple[list[str], NDArray[np.int64], Counts]:
    """References, their lengths, and counts of BLEU and TER of one system, ``(sentences, 12)``."""
    references = made_references(POPULATION, np.random.default_rng(0), longest=15)
    lines = corrupted(references, 0.3, np.random.default_rng(1))
    counted = statistics_of(lines, references)
    counts = np.concatenate([counted["bleu"], counted["ter"]], axis=1)
    return references, sentence_lengths(ReferenceText(references), "reference_words"), counts


@cache
def made_systems(*rates: float) -> Counts:
    """BLEU's counts of systems with ``rates`` of wrong words: ``(systems, sentences, 10)``."""
    references = population()[0]
    lines = [
        corrupted(references, rate, np.random.default_rng([2, seed]))
        for seed, rate in enumerate(rates)
    ]
    return np.stack([statistics_of(each, references)["bleu"] for each in lines])


def systems_of_counts(counts: Counts) -> list[System]:
    """A system of one seed for each of ``(systems, sentences, columns)``."""
    test = EvalSet([""] * counts.shape[1])
    return [
        System(str(number), test, [Output(1, test.references, {"bleu": each})])
        for number, each in enumerate(counts)
    ]


def shuffled(systems: Counts, rng: np.random.Generator) -> tuple[Counts, NDArray[np.int64]]:
    """A test set on which the systems swap their translations of every sentence at random."""
    sentences = rng.integers(POPULATION, size=SENTENCES)
    order = rng.permuted(np.tile(np.arange(len(systems)), (SENTENCES, 1)), axis=1).T
    return systems[order, sentences], sentences


def rejected(p_values: Iterable[Sequence[float]]) -> list[float]:
    """Share of simulations in which each kind of test is significant."""
    return (np.array(list(p_values)) <= LEVEL).mean(axis=0).tolist()


def smallest(corrected: Iterable[PairTest]) -> tuple[float, float]:
    """The smallest p-value of a family, by bootstrap and by randomisation."""
    tests = list(corrected)
    by_bootstrap = min(each.p_bootstrap_holm for each in tests)
    return by_bootstrap, min(each.p_randomisation_holm for each in tests)


def score_coverage(count: int) -> tuple[float, float]:
    """How often intervals hold the population's BLEU and TER."""
    counts = population()[2]
    truth = (bleu(counts[:, :10].sum(0)), TER.score(counts[:, 10:].sum(0)))
    rng = np.random.default_rng(3)
    held = []
    for seed in range(count):
        drawn = counts[rng.integers(POPULATION, size=SENTENCES)]
        sums = resampled_sums(drawn, Resamples(400, seed))
        intervals = (interval(bleu(sums[:, :10])), interval(TER.score(sums[:, 10:])))
        held.append([low <= t <= high for (low, high), t in zip(intervals, truth, strict=True)])
    bleu_share, ter_share = np.mean(held, axis=0)
    return float(bleu_share), float(ter_share)


def slope_coverage(count: int) -> float:
    """How often intervals hold the population's BLEU for every ten words."""
    _, lengths, counts = population()
    truth, _ = _slopes(systems_of_counts(counts[None, :, :10])[0], lengths, Resamples(1, 0))
    rng = np.random.default_rng(4)
    held = []
    for seed in range(count):
        drawn = rng.integers(POPULATION, size=SENTENCES)
        [system] = systems_of_counts(counts[None, drawn, :10])
        low, high = interval(_slopes(system, lengths[drawn], Resamples(400, 10 * seed))[1])
        held.append(low <= truth <= high)
    return float(np.mean(held))


def _slopes(
    system: System, lengths: NDArray[np.int64], resamples: Resamples
) -> tuple[float, Counts]:
    """Return the slope of the sentences, and the slopes of the resamples."""
    buckets = length_buckets(lengths, [5, 10, 15])
    scored = score_subsets([system], [BLEU], buckets, resamples)[1:]
    key = (system.name, "bleu")
    return (
        float(slope_per_ten(buckets, np.stack([subset.scores[key] for subset in scored]))[0]),
        slope_per_ten(buckets, np.stack([subset.resampled[key][0] for subset in scored])),
    )


def equal_pairs(count: int) -> list[PairTest]:
    """Two equal systems of one seed each, tested on many test sets."""
    rng = np.random.default_rng(5)
    return [
        _only_test(systems_of_counts(shuffled(made_systems(0.3, 0.3), rng)[0]), seed)
        for seed in range(count)
    ]


def unequal_pairs(count: int) -> list[PairTest]:
    """Two systems of one seed each, the second with a fifth more wrong words."""
    rng = np.random.default_rng(7)
    systems = made_systems(0.3, 0.36)
    return [
        _only_test(systems_of_counts(systems[:, rng.integers(POPULATION, size=SENTENCES)]), seed)
        for seed in range(count)
    ]


def _only_test(systems: list[System], seed: int) -> PairTest:
    draws = Resamples(399, seed)
    [test] = compare_pairs(systems, score_subsets(systems, [BLEU], [], draws), BLEU, draws)
    return test


def families(count: int) -> list[tuple[float, float]]:
    """Smallest p-values of 6 pairs of equal systems on 4 sets of sentences, after correction."""
    lengths = population()[1]
    rng = np.random.default_rng(6)
    p_values = []
    for seed in range(count):
        drawn, sentences = shuffled(made_systems(0.3, 0.3, 0.3, 0.3), rng)
        systems, draws = systems_of_counts(drawn), Resamples(599, 10 * seed)
        scored = score_subsets(
            systems, [BLEU], length_buckets(lengths[sentences], [5, 10, 15]), draws
        )
        tests = compare_pairs(systems, scored, BLEU, draws)
        assert len(tests) == 24
        p_values.append(smallest(correct_by_holm(tests)))
    return p_values


def trained(
    rng: np.random.Generator, deviation: float, effects: Sequence[float], seeds: int
) -> list[System]:
    """Systems whose seeds' scores have this ``deviation``, on 200 sentences of common difficulty.

    The noise of a seed on single sentences makes its score deviate by 1/√200 = 0.07.
    """
    test = EvalSet([""] * 200)
    difficulty = rng.normal(size=200)
    return [
        measured(
            str(number),
            test,
            effect
            + difficulty
            + rng.normal(size=(seeds, 200))
            + rng.normal(0, deviation, (seeds, 1)),
        )
        for number, effect in enumerate(effects)
    ]


def trained_pairs(
    count: int, deviation: float, seeds: int, effects: Sequence[float] = (0.0, 0.0)
) -> list[PairTest]:
    """Two systems of several seeds each, tested."""
    rng = np.random.default_rng(8)
    tests = []
    for seed in range(count):
        systems, draws = trained(rng, deviation, effects, seeds), Resamples(399, seed)
        tests += compare_pairs(
            systems, score_subsets(systems, [ENTROPY], [], draws), ENTROPY, draws
        )
    return tests


def trained_families(count: int, deviation: float, seeds: int) -> list[float]:
    """Smallest p-values of families of four equal systems on four sets of sentences."""
    rng = np.random.default_rng(9)
    p_values = []
    for seed in range(count):
        systems, draws = trained(rng, deviation, (0.0,) * 4, seeds), Resamples(599, 10 * seed)
        buckets = length_buckets(np.arange(200) % 3 + 1, [1, 2, 3])
        scored = score_subsets(systems, [ENTROPY], buckets, draws)
        p_values.append(
            smallest(correct_by_holm(compare_pairs(systems, scored, ENTROPY, draws)))[0]
        )
    return p_values
