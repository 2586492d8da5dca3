"""Intervals: scores on resampled and on own test sets, and the parts of a spread."""

import numpy as np
import pytest

from lightning_modules.metrics.bootstrap import score_subset
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.contrast_choices import RIGHT_CHOICES
from lightning_modules.metrics.lengths import length_buckets, sentence_lengths, slope_per_ten
from lightning_modules.metrics.metric import ReferenceText
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.metrics.systems import EvalSet
from sweeps.claims.intervals import (
    Draws,
    Spread,
    SystemValues,
    agreement_spread,
    difference,
    effect_interval,
    pair_differences,
    rank_agreement,
    score_on,
    share_left,
    slope_over,
    standard_error,
    values_of_samples,
)
from tests.helpers.made_text import corrupted, made_references, translated


def test_a_spread_has_the_parts_of_its_making():
    """Two systems share what sentences add to both; seeds and single sentences are apart."""
    rng = np.random.default_rng(0)
    count, resamples = 400, 4000
    shared = rng.normal(size=count)
    values = []
    for own in (rng.normal(size=count), rng.normal(size=count)):
        of_seeds = shared + own + 2 * rng.normal(size=(5, count))
        times = np.random.default_rng(1).multinomial(count, np.full(count, 1 / count), resamples)
        values.append(SystemValues(of_seeds.mean(1), of_seeds @ times.T / count))
    found = Spread.of(values)
    assert found.both == pytest.approx(np.full(2, 4 / count), rel=0.15)
    assert np.diag(found.sentences) == pytest.approx(np.full(2, 2 / count), rel=0.25)
    assert found.sentences[0, 1] == pytest.approx(1 / count, rel=0.5)
    assert found.sentences[0, 1] == pytest.approx(found.sentences[1, 0])
    assert found.seeds.tolist() == [5, 5]


def test_seeds_with_own_test_sets_vary_by_all_there_is():
    rng = np.random.default_rng(0)
    values = [SystemValues(rng.normal(10, 2, 5)), SystemValues(rng.normal(8, 1, 4))]
    found = Spread.of(values)
    variances = [each.observed.var(ddof=1) for each in values]
    assert found.between_seeds == pytest.approx(variances)
    assert not found.both.any()
    assert not found.sentences.any()
    error = (variances[0] / 5 + variances[1] / 4) ** 0.5
    assert standard_error(found, difference()) == pytest.approx(error)
    low, high = effect_interval(found, difference(), 0.95)
    assert low < values[0].observed.mean() - values[1].observed.mean() < high


def test_pairs_are_compared_seed_by_seed():
    rng = np.random.default_rng(0)
    shared = 10 * rng.normal(size=5)
    values = [SystemValues(shared + 1 + 0.1 * rng.normal(size=5)), SystemValues(shared)]
    paired, differences = pair_differences(values, difference())
    assert paired[0].observed == pytest.approx(values[0].observed - values[1].observed)
    assert paired[0].resampled is None
    assert standard_error(Spread.of(paired), differences) < 0.1
    assert standard_error(Spread.of(values), difference()) > 1


def test_an_order_is_a_share_of_pairs_in_each_seed():
    scores = [[3.0, 3.0, 1.0], [2.0, 1.0, 2.0], [1.0, 2.0, 2.0]]
    found = rank_agreement([SystemValues(np.array(each)) for each in scores])
    # Pairs of the seeds: all as claimed; two of three; none, and one tie.
    assert found.observed == pytest.approx([1, 1 / 3, -2 / 3])
    assert found.resampled is None
    resampled = [SystemValues(np.array(each), np.array(each)[:, None]) for each in scores]
    again = rank_agreement(resampled).resampled
    assert again is not None
    assert again[:, 0] == pytest.approx([1, 1 / 3, -2 / 3])


def test_equal_agreements_do_not_make_their_mean_certain():
    found = agreement_spread(SystemValues(np.ones(5)))
    assert found.between_seeds[0] == pytest.approx(np.var([1] * 5 + [0], ddof=1))
    apart = SystemValues(np.array([1, 1, -1, 1, -1.0]))
    assert agreement_spread(apart).between_seeds == Spread.of([apart]).between_seeds


RESAMPLES = Resamples(50, 3)
BLEU, RATIO = METRICS["bleu"], METRICS["length_ratio"]


@pytest.fixture(scope="module")
def made():
    """A system of two seeds on 60 sentences, with their lengths."""
    references = made_references(60, np.random.default_rng(0), longest=15)
    lines = [corrupted(references, 0.2, np.random.default_rng(seed)) for seed in (1, 2)]
    lengths = sentence_lengths(ReferenceText(references), "reference_words")
    return translated("made", EvalSet(references), *lines), lengths


def counts_of(system):
    return [output.statistics["bleu"] for output in system.outputs]


def draws(rows=60):
    return Draws(np.arange(rows), RESAMPLES)


@pytest.mark.parametrize("metric", [BLEU, RATIO])
def test_a_score_has_the_values_of_the_bootstrap(made, metric):
    system, _ = made
    subset = score_subset([system], [metric], None, np.arange(60), RESAMPLES)
    found = draws().values(score_on(metric), counts_of(system))
    assert found.observed == pytest.approx(subset.scores["made", metric.name])
    assert found.resampled == pytest.approx(subset.resampled["made", metric.name])


def test_a_part_is_scored_on_its_drawn_sentences(made):
    system, lengths = made
    long = np.flatnonzero(lengths > 8)
    found = draws().values(score_on(RATIO, long), counts_of(system))
    masked = [np.where(lengths[:, None] > 8, each, 0) for each in counts_of(system)]
    expected = draws().values(score_on(RATIO), masked)
    assert found.observed == pytest.approx(expected.observed)
    assert found.resampled == pytest.approx(expected.resampled)


def test_slopes_and_relative_scores_come_from_scores_of_parts(made):
    system, lengths = made
    buckets = length_buckets(lengths, [5, 10, 15])
    parts = [draws().values(score_on(BLEU, each.index), counts_of(system)) for each in buckets]
    slope = draws().values(slope_over(BLEU, buckets), counts_of(system))
    for field in ("observed", "resampled"):
        scores = np.stack([getattr(part, field) for part in parts])
        assert getattr(slope, field) == pytest.approx(slope_per_ten(buckets, scores))
    left = share_left(BLEU, buckets[2].index, buckets[0].index)
    relative = draws().values(left, counts_of(system))
    assert relative.resampled == pytest.approx(parts[2].resampled / parts[0].resampled)


def test_pairs_of_one_sentence_are_drawn_together():
    rng = np.random.default_rng(0)
    sentence = np.repeat(np.arange(40), 3)
    right = np.stack([rng.integers(2, size=120), np.ones(120)], axis=1).astype(float)
    summed = np.add.reduceat(right, np.arange(0, 120, 3))
    found = Draws(sentence, RESAMPLES).values(score_on(RIGHT_CHOICES), [right])
    expected = draws(40).values(score_on(RIGHT_CHOICES), [summed])
    assert found.resampled == pytest.approx(expected.resampled)
    assert found.observed == pytest.approx(100 * right[:, 0].mean())


def test_values_do_not_depend_on_what_else_is_asked_for(made):
    system, lengths = made
    shared = draws()
    shared.values(slope_over(BLEU, length_buckets(lengths, [5, 10, 15])), counts_of(system))
    again, alone = (each.values(score_on(BLEU), counts_of(system)) for each in (shared, draws()))
    assert np.array_equal(again.resampled, alone.resampled)


def test_a_missing_value_is_told():
    counts = np.zeros((20, 2))
    with pytest.raises(ValueError, match=r"right choices \(%\) has no value for seed number 2"):
        draws(20).values(score_on(RIGHT_CHOICES), [counts + 1, counts])
    counts[0] = 1
    with pytest.raises(ValueError, match="on some resampled test sets"):
        draws(20).values(score_on(RIGHT_CHOICES), [counts])


def test_own_test_sets_are_scored_one_by_one(made):
    system, lengths = made
    quantities = [score_on(BLEU, np.flatnonzero(lengths > least)) for least in (5, 8)]
    found = values_of_samples(quantities, counts_of(system))
    for quantity, counts, value in zip(quantities, counts_of(system), found.observed, strict=True):
        assert value == pytest.approx(BLEU.score(counts[quantity.parts[0]].sum(0)))
    with pytest.raises(ValueError, match=r"right choices \(%\) has no value for seed number 1"):
        values_of_samples([score_on(RIGHT_CHOICES)], [np.zeros((4, 2))])


def test_the_slope_of_the_logarithm_is_a_share(made):
    system, lengths = made
    buckets = length_buckets(lengths, [5, 10, 15])
    parts = [score_on(BLEU, bucket.index) for bucket in buckets]
    counts = counts_of(system)
    scores = np.stack([values_of_samples([part] * 2, counts).observed for part in parts])
    found = values_of_samples([slope_over(BLEU, buckets, log=True)] * 2, counts).observed
    assert found == pytest.approx(slope_per_ten(buckets, np.log(scores)))
