"""Which pairs are tested on which sentences, their p-values, and how families are corrected."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from lightning_modules.metrics import resampling
from lightning_modules.metrics.bootstrap import ScoredSubset, score_subsets
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.lengths import length_buckets, slope_per_ten
from lightning_modules.metrics.pair_tests import compare_pairs, compare_trends, correct_by_holm
from lightning_modules.metrics.resampling import Resamples, holm, randomisation_p_values
from lightning_modules.metrics.systems import EvalSet
from tests.helpers.made_text import corrupted, made_references, measured, sacrebleus_p, translated

DRAWS = Resamples(200, 12345)
"""Draws with sacreBLEU's default seed."""


@pytest.fixture(scope="module")
def test_set():
    return EvalSet(made_references(100, np.random.default_rng(0), longest=12))


@pytest.fixture(scope="module")
def systems(test_set):
    """Systems of one, one and three seeds."""
    rng = np.random.default_rng(1)
    made = [corrupted(test_set.references, rate, rng) for rate in (0.3, 0.35, 0.3, 0.32, 0.34)]
    return [
        translated("a", test_set, made[0]),
        translated("b", test_set, made[1]),
        translated("c", test_set, *made[2:]),
    ]


@pytest.fixture(scope="module")
def scored(systems):
    """The whole test set, then buckets of 40, 29, 31 and 0 sentences."""
    lengths = np.repeat([1, 2, 3], [40, 29, 31])
    return score_subsets(
        systems, [METRICS["bleu"], METRICS["ter"]], length_buckets(lengths, [1, 2, 3, 4]), DRAWS
    )


@pytest.fixture(scope="module")
def tests(systems, scored):
    return compare_pairs(systems, scored, METRICS["bleu"], DRAWS)


def test_every_pair_on_every_subset_that_is_not_thin(tests):
    assert [(test.subset, test.sentences, test.first, test.second) for test in tests] == [
        (subset, sentences, *pair)
        for subset, sentences in (("all", 100), ("1", 40), ("3", 31))
        for pair in combinations("abc", 2)
    ]


def test_a_bucket_of_all_sentences_has_the_tests_of_the_whole_test_set(systems, tests):
    buckets = length_buckets(np.ones(100, np.int64), [1])
    scored = score_subsets(systems, [METRICS["bleu"]], buckets, DRAWS)
    found = compare_pairs(systems, scored, METRICS["bleu"], DRAWS)
    assert [test.subset for test in found] == ["all"] * 3 + ["1"] * 3
    assert found[:3] == tests[:3] == [replace(test, subset="all") for test in found[3:]]


def test_differences_are_of_the_means_over_seeds(tests, scored):
    for test in tests:
        subset = next(subset for subset in scored if subset.label == test.subset)
        first, second = (subset.scores[name, "bleu"].mean() for name in (test.first, test.second))
        assert test.difference.value == pytest.approx(first - second)
        low, high = test.difference.low, test.difference.high
        assert low is not None
        assert high is not None
        assert low < test.difference.value < high
        assert 0 < test.p_bootstrap <= 1
        assert 0 < test.p_randomisation <= 1


def test_the_whole_test_set_of_single_seeds_as_sacrebleu(tests, systems, test_set, monkeypatch):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    lines = [system.outputs[0].hypotheses for system in systems[:2]]
    bootstrap, randomisation = (
        sacrebleus_p("bleu", lines, test_set.references, kind, 200) for kind in ("bs", "ar")
    )
    assert (tests[0].p_moses, tests[0].p_randomisation) == (bootstrap, randomisation)
    assert 1 / 201 < bootstrap < 1
    assert [test.p_moses is None for test in tests[:3]] == [False, True, True]


def test_outputs_of_several_seeds_are_exchanged_together(tests, systems):
    """Each sentence is exchanged with the mean counts of a system's seeds."""
    sentences = [(0, range(100)), (1, range(40)), (3, range(69, 100))]
    for (number, index), test in zip(sentences, tests[1::3], strict=True):  # a and c
        first, second = (
            np.mean([output.statistics["bleu"][list(index)] for output in system.outputs], axis=0)
            for system in (systems[0], systems[2])
        )
        draws = Resamples(DRAWS.count, DRAWS.seed + number)
        [p] = randomisation_p_values(
            np.array([(0, 1)]), [first, second], METRICS["bleu"].score, draws, draws.count
        )
        assert test.p_randomisation == p


def test_more_draws_sharpen_small_p_values_alone(systems, scored, tests):
    """The draws of the scores come first; one system of several seeds brings Student's t."""
    more = compare_pairs(systems, scored, METRICS["bleu"], Resamples(5000, DRAWS.seed))
    again = score_subsets(systems[:2], [METRICS["bleu"]], [], Resamples(5000, DRAWS.seed))
    [of_all] = compare_pairs(systems[:2], again, METRICS["bleu"], Resamples(5000, DRAWS.seed))
    assert more[0].difference == tests[0].difference
    assert more[0].p_moses == tests[0].p_moses
    for name in ("p_bootstrap", "p_randomisation"):
        early, late, exact = (getattr(each, name) for each in (tests[0], more[0], of_all))
        assert late == pytest.approx(exact, rel=0.3)
        assert early == pytest.approx(exact, rel=0.5)
    assert [each.p_bootstrap for each in more[1:3]] == [each.p_bootstrap for each in tests[1:3]]


def test_clear_differences_of_many_systems_are_at_the_floor_of_the_most_draws(test_set):
    rng = np.random.default_rng(3)
    pair = [translated("good", test_set, test_set.references)]
    pair.append(translated("bad", test_set, corrupted(test_set.references, 0.6, rng)))
    scored = score_subsets(pair, [METRICS["chrf"]], [], DRAWS)
    [test] = compare_pairs(pair, scored, METRICS["chrf"], Resamples(8000, DRAWS.seed))
    assert test.p_bootstrap == test.p_randomisation == 1 / 8001


def test_the_order_of_two_systems_does_not_matter(tests, systems, scored):
    turned = compare_pairs(systems[1::-1], scored, METRICS["bleu"], DRAWS)[0]
    assert turned.difference.value == -tests[0].difference.value
    assert turned.difference.low == pytest.approx(-(tests[0].difference.high or 0))
    assert turned.p_bootstrap == tests[0].p_bootstrap
    assert turned.p_moses == tests[0].p_moses


def test_other_systems_do_not_change_the_test_of_a_pair(tests, systems, scored):
    assert compare_pairs(systems[:2], scored, METRICS["bleu"], DRAWS)[0] == tests[0]


def test_identical_systems_do_not_differ(test_set):
    lines = corrupted(test_set.references, 0.3, np.random.default_rng(2))
    twins = [translated(name, test_set, lines) for name in "ab"]
    [test] = compare_pairs(
        twins, score_subsets(twins, [METRICS["ter"]], [], DRAWS), METRICS["ter"], DRAWS
    )
    assert (test.p_bootstrap, test.p_randomisation) == (1, 1)
    assert (test.difference.low, test.difference.value, test.difference.high) == (0, 0, 0)
    assert test.p_moses is None  # sacreBLEU would count only what is larger than nothing: 1 / 201


def test_one_system_alone_is_not_tested(systems, scored):
    assert compare_pairs(systems[:1], scored, METRICS["bleu"], DRAWS) == []
    assert correct_by_holm([]) == []


def test_a_family_is_corrected_for_each_method_apart(tests):
    corrected = correct_by_holm(tests)
    for name in ("p_bootstrap", "p_randomisation"):
        alone = [getattr(test, name) for test in tests]
        assert [getattr(each, name) for each in corrected] == alone
        assert [getattr(each, f"{name}_holm") for each in corrected] == holm(alone)


def test_seeds_are_drawn_apart_from_sentences_and_from_each_other(monkeypatch):
    test = EvalSet(["x"] * 50)
    rng = np.random.default_rng(0)
    systems = [measured(name, test, rng.normal(size=(3, 50))) for name in "abc"]
    scored = score_subsets(systems, [METRICS["entropy"]], [], DRAWS)
    seeds = []

    def drawn(scores, seed):
        seeds.append(seed)
        return scores.mean(0)

    monkeypatch.setattr(resampling, "mean_over_seeds", drawn)
    compare_pairs(systems, scored, METRICS["entropy"], DRAWS)
    streams = [DRAWS.seed, *seeds]
    starts = {np.random.default_rng(seed).integers(2**60) for seed in streams}
    assert len(starts) == len(streams) == 4


def test_a_trend_is_about_shares_of_a_score():
    """Twice the BLEU everywhere is no trend; a score of 0 counts as 0.1: a logarithm is needed."""
    buckets = length_buckets(np.repeat([10, 20, 30], 40), [10, 20, 30])
    rng = np.random.default_rng(2)
    falling = np.array([60.0, 30.0, 15.0])[:, None] * rng.uniform(0.9, 1.1, (3, 200))
    scores = {"a": falling, "b": falling / 2, "c": np.zeros((3, 200))}
    subsets = [
        ScoredSubset(
            bucket.bounds,
            bucket.index,
            DRAWS,
            {(name, "bleu"): each[row, :1] for name, each in scores.items()},
            {(name, "bleu"): each[None, row] for name, each in scores.items()},
        )
        for row, bucket in enumerate(buckets)
    ]
    test_set = EvalSet(made_references(120, rng, longest=12))
    single = [translated(name, test_set, test_set.references) for name in scores]
    trends = {
        (each.first, each.second): each
        for each in compare_trends(single, buckets, subsets, METRICS["bleu"], DRAWS)
    }
    assert trends["a", "b"].slope.value == pytest.approx(0, abs=1e-12)
    expected = slope_per_ten(buckets, np.log(falling[:, :1]))
    assert trends["a", "c"].slope.value == pytest.approx(float(expected[0]))
