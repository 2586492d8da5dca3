"""Scores on subsets of sentences equal sacreBLEU's, and every system sees the same resamples."""

import numpy as np
import pytest

from lightning_modules.metrics.bootstrap import score_subsets
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.lengths import Bounds, Bucket, length_buckets, sentence_lengths
from lightning_modules.metrics.resampling import Resamples, interval, resampled_sums
from lightning_modules.metrics.systems import EvalSet, Output, System
from lightning_modules.metrics.text_metrics import TEXT_METRICS
from tests.helpers.made_text import corrupted, made_references, translated

DRAWS = Resamples(60, 5)
SCORES = [METRICS[name] for name in TEXT_METRICS]
PERPLEXITY = METRICS["perplexity"]


@pytest.fixture(scope="module")
def test_set():
    return EvalSet(made_references(90, np.random.default_rng(0)))


@pytest.fixture(scope="module")
def buckets(test_set):
    """Buckets of 1–10, 11–20 and 21–30 words, and an empty bucket of 31–40 words."""
    lengths = sentence_lengths(test_set, "reference_words")
    return length_buckets(lengths, [10, 20, 30, 40])


@pytest.fixture(scope="module")
def systems(test_set):
    rng = np.random.default_rng(1)
    made = [corrupted(test_set.references, rate, rng) for rate in (0.2, 0.25, 0.3, 0.3)]
    return [translated("three", test_set, *made[:3]), translated("one", test_set, made[3])]


@pytest.fixture(scope="module")
def scored(systems, buckets):
    return score_subsets(systems, SCORES, buckets, DRAWS)


def with_likelihood(system, nats, tokens):
    counts = np.stack([nats, tokens], axis=1)
    outputs = [
        Output(output.seed, output.hypotheses, {**output.statistics, "likelihood": counts})
        for output in system.outputs
    ]
    return System(system.name, system.test, outputs)


def estimate(subset, system, metric):
    result = subset.estimate(system, metric)
    assert result is not None
    return result


def only(*numbers):
    return [Bucket(Bounds(1, None), np.array(numbers), 5.0)]


def test_the_whole_comes_first_then_each_bucket(scored, buckets):
    assert [subset.label for subset in scored] == ["all", "1–10", "11–20", "21–30", "31–40"]
    np.testing.assert_array_equal(scored[0].index, np.arange(90))
    for subset, bucket in zip(scored[1:], buckets, strict=True):
        assert subset.bounds == bucket.bounds
        np.testing.assert_array_equal(subset.index, bucket.index)
        assert subset.thin == bucket.thin == (len(bucket.index) < 30)
    assert not scored[0].thin


def test_every_output_has_the_same_sentences_and_resamples(scored, systems):
    # The whole test set is drawn with the seed itself, bucket k with seed + k.
    for k, subset in enumerate(scored[:4]):
        for system in systems:
            for metric in SCORES:
                key = system.name, metric.name
                counts = [o.statistics[metric.statistics][subset.index] for o in system.outputs]
                draws = Resamples(DRAWS.count, DRAWS.seed + k)
                expected = [metric.score(resampled_sums(each, draws)) for each in counts]
                np.testing.assert_allclose(subset.resampled[key], expected)
                whole = [metric.score(each.sum(0)) for each in counts]
                np.testing.assert_allclose(subset.scores[key], whole)


def test_buckets_of_one_size_do_not_share_draws(systems):
    twice = score_subsets(systems[1:], SCORES, only(*range(60)) * 2, DRAWS)
    resampled = [subset.resampled["one", "bleu"].tolist() for subset in twice]
    assert resampled[0] != resampled[1] != resampled[2] != resampled[0]


def test_a_bucket_of_all_sentences_is_the_whole_test_set(systems):
    whole, bucket = score_subsets(systems, SCORES, only(*range(90)), DRAWS)
    assert (whole.label, bucket.label) == ("all", "1+")
    for name in ("one", "three"):
        assert bucket.estimate(name, "bleu") == whole.estimate(name, "bleu")


def test_estimate_keeps_sentences_and_seeds_apart(scored):
    of_seed = scored[0].scores["three", "bleu"]
    estimated = estimate(scored[0], "three", "bleu")
    assert estimated.seeds == tuple(of_seed)
    assert estimated.value == pytest.approx(sum(of_seed) / 3)
    assert estimated.deviation == pytest.approx(
        (sum((score - estimated.value) ** 2 for score in of_seed) / 2) ** 0.5
    )
    expected = interval(scored[0].resampled["three", "bleu"].mean(0))
    assert (estimated.low, estimated.high) == expected
    assert estimated.low < estimated.value < estimated.high
    alone = estimate(scored[1], "one", "ter")
    assert (alone.deviation, alone.seeds) == (None, (alone.value,))


def test_one_sentence_has_no_interval(systems):
    _, subset = score_subsets(systems, SCORES, only(7), DRAWS)
    estimated = estimate(subset, "three", "chrf")
    assert (estimated.low, estimated.high) == (None, None)
    assert estimated.value > 0
    assert estimated.deviation is not None


def test_an_empty_bucket_has_no_score(scored):
    empty = scored[-1]
    assert (len(empty.index), empty.scores, empty.resampled) == (0, {}, {})
    assert empty.thin
    assert empty.estimate("one", "bleu") is None


def test_what_a_system_has_no_counts_for_is_left_out(systems):
    known = with_likelihood(systems[0], np.full(90, np.log(4)), np.ones(90))
    whole = score_subsets([known, systems[1]], [*SCORES, PERPLEXITY], [], DRAWS)[0]
    assert estimate(whole, "three", "perplexity").value == pytest.approx(4)
    assert whole.estimate("one", "perplexity") is None
    assert whole.estimate("one", "bleu") is not None
    assert whole.estimate("nobody", "bleu") is None
    plain = score_subsets(systems, SCORES, [], DRAWS)[0]
    np.testing.assert_array_equal(plain.resampled["one", "bleu"], whole.resampled["one", "bleu"])


def test_counts_of_some_seeds_do_not_do(systems):
    known = with_likelihood(systems[0], np.ones(90), np.ones(90))
    mixed = System("mixed", known.test, [known.outputs[0], systems[0].outputs[1]])
    whole = score_subsets([mixed], [*SCORES, PERPLEXITY], [], DRAWS)[0]
    assert whole.estimate("mixed", "perplexity") is None
    assert score_subsets([mixed], [PERPLEXITY], [], DRAWS)[0].scores == {}
    assert len(estimate(whole, "mixed", "bleu").seeds) == 2


def test_nothing_to_divide_by_is_no_score(systems):
    tokens = np.zeros(90)
    tokens[:2] = 1
    known = with_likelihood(systems[1], np.ones(90) * tokens, tokens)
    whole, without = score_subsets([known], [PERPLEXITY], only(*range(50, 60)), DRAWS)
    assert without.estimate("one", "perplexity") is None
    estimated = estimate(whole, "one", "perplexity")
    assert estimated.value == pytest.approx(np.e)
    assert (estimated.low, estimated.high) == (None, None)  # some resamples have neither sentence
