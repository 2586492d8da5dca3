"""Quantities on resampled sentences, against plain computation and the harness's bootstrap."""

import numpy as np
import pytest

from lightning_modules.metrics.bootstrap import score_subset
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.contrast_choices import RightChoices
from lightning_modules.metrics.lengths import length_buckets, sentence_lengths, slope_per_ten
from lightning_modules.metrics.resampling import Resamples
from lightning_modules.metrics.systems import EvalSet
from sweeps.claims.quantities import Draws, RatioQuantity, ScoreQuantity, SlopeQuantity
from tests.helpers.made_text import corrupted, made_references, translated

RESAMPLES = Resamples(50, 3)
BLEU, RATIO = METRICS["bleu"], METRICS["length_ratio"]


@pytest.fixture(scope="module")
def made():
    """A system of two seeds on 60 sentences, with their lengths."""
    references = made_references(60, np.random.default_rng(0), longest=15)
    lines = [corrupted(references, 0.2, np.random.default_rng(seed)) for seed in (1, 2)]
    lengths = sentence_lengths(None, references, "reference_words")
    return translated("made", EvalSet(references), *lines), lengths


def counts_of(system):
    return [output.statistics["bleu"] for output in system.outputs]


def draws(rows=60):
    return Draws(np.arange(rows), RESAMPLES)


@pytest.mark.parametrize("metric", [BLEU, RATIO])
def test_a_score_has_the_values_of_the_bootstrap(made, metric):
    system, _ = made
    subset = score_subset([system], [metric], None, np.arange(60), RESAMPLES)
    found = draws().values(ScoreQuantity(metric), counts_of(system))
    assert found.observed == pytest.approx(subset.scores["made", metric.name])
    assert found.resampled == pytest.approx(subset.resampled["made", metric.name])


def test_a_part_is_scored_on_its_drawn_sentences(made):
    system, lengths = made
    long = np.flatnonzero(lengths > 8)
    found = draws().values(ScoreQuantity(RATIO, long), counts_of(system))
    masked = [np.where(lengths[:, None] > 8, each, 0) for each in counts_of(system)]
    expected = draws().values(ScoreQuantity(RATIO), masked)
    assert found.observed == pytest.approx(expected.observed)
    assert found.resampled == pytest.approx(expected.resampled)


def test_slopes_and_relative_scores_come_from_scores_of_parts(made):
    system, lengths = made
    buckets = length_buckets(lengths, [5, 10, 15])
    parts = [draws().values(ScoreQuantity(BLEU, each.index), counts_of(system)) for each in buckets]
    slope = draws().values(SlopeQuantity(BLEU, buckets), counts_of(system))
    for field in ("observed", "resampled"):
        scores = np.stack([getattr(part, field) for part in parts])
        assert getattr(slope, field) == pytest.approx(slope_per_ten(buckets, scores))
    relative = draws().values(
        RatioQuantity(BLEU, buckets[2].index, buckets[0].index), counts_of(system)
    )
    assert relative.resampled == pytest.approx(parts[2].resampled / parts[0].resampled)


def test_pairs_of_one_sentence_are_drawn_together():
    rng = np.random.default_rng(0)
    sentence = np.repeat(np.arange(40), 3)
    right = np.stack([rng.integers(2, size=120), np.ones(120)], axis=1).astype(float)
    summed = np.add.reduceat(right, np.arange(0, 120, 3))
    found = Draws(sentence, RESAMPLES).values(ScoreQuantity(RightChoices()), [right])
    expected = draws(40).values(ScoreQuantity(RightChoices()), [summed])
    assert found.resampled == pytest.approx(expected.resampled)
    assert found.observed == pytest.approx(100 * right[:, 0].mean())


def test_values_do_not_depend_on_what_else_is_asked_for(made):
    system, lengths = made
    shared = draws()
    shared.values(SlopeQuantity(BLEU, length_buckets(lengths, [5, 10, 15])), counts_of(system))
    again, alone = (
        each.values(ScoreQuantity(BLEU), counts_of(system)) for each in (shared, draws())
    )
    assert np.array_equal(again.resampled, alone.resampled)


def test_a_missing_value_is_told():
    counts = np.zeros((20, 2))
    with pytest.raises(ValueError, match=r"right choices \(%\) has no value for seed number 2"):
        draws(20).values(ScoreQuantity(RightChoices()), [counts + 1, counts])
    counts[0] = 1
    with pytest.raises(ValueError, match="on some resampled test sets"):
        draws(20).values(ScoreQuantity(RightChoices()), [counts])
