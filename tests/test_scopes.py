"""Scores on sets of sentences: those of sacreBLEU over them, resampled alike for every system."""

import time

import numpy as np
import pytest

from lightning_modules.metrics.lengths import Bounds, Bucket, length_buckets, sentence_lengths
from lightning_modules.metrics.resampling import Resamples, interval, resampled_sums
from lightning_modules.metrics.scopes import scopes
from lightning_modules.metrics.statistics import METRICS, TRANSLATION
from lightning_modules.metrics.systems import Output, System, TestSet
from tests.made_text import SACREBLEU, corrupted, made_references, translated

DRAWS = Resamples(60, 5)
SCORES = [METRICS[name] for name in TRANSLATION]
PERPLEXITY = METRICS["perplexity"]


@pytest.fixture(scope="module")
def test_set():
    return TestSet(made_references(90, np.random.default_rng(0)))


@pytest.fixture(scope="module")
def buckets(test_set):
    """Of 1–10, 11–20 and 21–30 words, and none of 31–40."""
    lengths = sentence_lengths(None, test_set.references, "reference_words")
    return length_buckets(lengths, [10, 20, 30, 40])


@pytest.fixture(scope="module")
def systems(test_set):
    rng = np.random.default_rng(1)
    made = [corrupted(test_set.references, rate, rng) for rate in (0.2, 0.25, 0.3, 0.3)]
    return [translated("three", test_set, *made[:3]), translated("one", test_set, made[3])]


@pytest.fixture(scope="module")
def scored(systems, buckets):
    return scopes(systems, SCORES, buckets, DRAWS)


def with_likelihood(system, nats, tokens):
    """The system, every seed of which has these for each sentence."""
    counts = np.stack([nats, tokens], axis=1)
    outputs = [
        Output(output.seed, output.hypotheses, {**output.statistics, "likelihood": counts})
        for output in system.outputs
    ]
    return System(system.name, system.test, outputs)


def estimate(scope, system, metric):
    found = scope.estimate(system, metric)
    assert found is not None
    return found


def only(*numbers):
    return [Bucket(Bounds(1, None), np.array(numbers), 5.0)]


def test_the_whole_comes_first_then_each_bucket(scored, buckets):
    assert [scope.label for scope in scored] == ["all", "1–10", "11–20", "21–30", "31–40"]
    np.testing.assert_array_equal(scored[0].index, np.arange(90))
    for scope, bucket in zip(scored[1:], buckets, strict=True):
        assert scope.bounds == bucket.bounds
        np.testing.assert_array_equal(scope.index, bucket.index)
        assert scope.thin == bucket.thin == (len(bucket.index) < 30)
    assert not scored[0].thin


def test_scores_are_sacrebleus_over_the_sentences_of_a_scope(scored, systems, test_set):
    for scope in scored[:4]:
        references = [test_set.references[number] for number in scope.index]
        for system in systems:
            for metric, counter in SACREBLEU.items():
                expected = [
                    counter.corpus_score(
                        [output.hypotheses[number] for number in scope.index], [references]
                    ).score
                    for output in system.outputs
                ]
                assert scope.scores[system.name, metric] == pytest.approx(expected, rel=1e-12)


def test_every_output_sees_the_same_resamples(scored, systems):
    """The whole those of the seed itself, bucket k those of seed + k."""
    for k, scope in enumerate(scored[:4]):
        for system in systems:
            for metric in SCORES:
                expected = [
                    metric.score(
                        resampled_sums(
                            output.statistics[metric.counts][scope.index],
                            Resamples(DRAWS.count, DRAWS.seed + k),
                        )
                    )
                    for output in system.outputs
                ]
                np.testing.assert_allclose(scope.resampled[system.name, metric.name], expected)


def test_buckets_of_one_size_do_not_share_draws(systems):
    twice = scopes(systems[1:], SCORES, only(*range(90)) * 2, DRAWS)
    all_of_them = [scope.resampled["one", "bleu"].tolist() for scope in twice]
    assert all_of_them[0] != all_of_them[1] != all_of_them[2] != all_of_them[0]


def test_estimate_keeps_sentences_and_seeds_apart(scored):
    of_seed = scored[0].scores["three", "bleu"]
    found = estimate(scored[0], "three", "bleu")
    assert found.seeds == tuple(of_seed)
    assert found.value == pytest.approx(sum(of_seed) / 3)
    assert found.deviation == pytest.approx(
        (sum((score - found.value) ** 2 for score in of_seed) / 2) ** 0.5
    )
    expected = interval(scored[0].resampled["three", "bleu"].mean(0))
    assert (found.low, found.high) == expected
    assert found.low < found.value < found.high


def test_one_seed_has_no_deviation(scored):
    found = estimate(scored[1], "one", "ter")
    assert found.deviation is None
    assert found.seeds == (found.value,)


def test_one_sentence_has_no_interval(systems):
    _, scope = scopes(systems, SCORES, only(7), DRAWS)
    found = estimate(scope, "three", "chrf")
    assert (found.low, found.high) == (None, None)
    assert found.value > 0
    assert found.deviation is not None


def test_an_empty_bucket_has_no_score(scored):
    empty = scored[-1]
    assert (len(empty.index), empty.scores, empty.resampled) == (0, {}, {})
    assert empty.thin
    assert empty.estimate("one", "bleu") is None


def test_what_a_system_has_no_counts_for_is_left_out(systems):
    known = with_likelihood(systems[0], np.full(90, np.log(4)), np.ones(90))
    whole = scopes([known, systems[1]], [*SCORES, PERPLEXITY], [], DRAWS)[0]
    assert estimate(whole, "three", "perplexity").value == pytest.approx(4)
    assert whole.estimate("one", "perplexity") is None
    assert whole.estimate("one", "bleu") is not None
    assert whole.estimate("nobody", "bleu") is None
    plain = scopes(systems, SCORES, [], DRAWS)[0]
    np.testing.assert_array_equal(plain.resampled["one", "bleu"], whole.resampled["one", "bleu"])


def test_counts_of_some_seeds_do_not_do(systems):
    known = with_likelihood(systems[0], np.ones(90), np.ones(90))
    mixed = System("mixed", known.test, [known.outputs[0], systems[0].outputs[1]])
    whole = scopes([mixed], [*SCORES, PERPLEXITY], [], DRAWS)[0]
    assert whole.estimate("mixed", "perplexity") is None
    assert len(estimate(whole, "mixed", "bleu").seeds) == 2


def test_where_nobody_has_counts_there_is_no_score(systems, buckets):
    for scope in scopes(systems, [PERPLEXITY], buckets, DRAWS):
        assert scope.scores == {}
        assert scope.estimate("one", "perplexity") is None


def test_nothing_to_divide_by_is_no_score(systems):
    tokens = np.zeros(90)
    tokens[:2] = 1
    known = with_likelihood(systems[1], np.ones(90) * tokens, tokens)
    whole, without = scopes([known], [PERPLEXITY], only(*range(50, 60)), DRAWS)
    assert without.estimate("one", "perplexity") is None
    found = estimate(whole, "one", "perplexity")
    assert found.value == pytest.approx(np.e)
    assert (found.low, found.high) == (None, None)  # some resamples have neither sentence


def test_thousands_of_sentences_take_seconds():
    rng = np.random.default_rng(0)
    test = TestSet(["x"] * 3000)
    counts = {
        name: rng.integers(1, 9, (6, 3000, columns)).astype(np.float64)
        for name, columns in (("bleu", 10), ("chrf", 24), ("ter", 2))
    }
    systems = [
        System(f"{row}", test, [Output(1, [], {name: each[row] for name, each in counts.items()})])
        for row in range(6)
    ]
    buckets = length_buckets(rng.integers(1, 11, 3000), range(1, 11))
    start = time.perf_counter()
    scored = scopes(systems, SCORES, buckets, Resamples(1000, 0))
    assert time.perf_counter() - start < 5
    assert len(scored) == 11
