"""Draws, intervals and p-values equal sacreBLEU's, or a count of every possible exchange."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.significance import estimate_ci
from scipy import stats

from lightning_modules.metrics import resampling
from lightning_modules.metrics.chosen_metrics import METRICS
from lightning_modules.metrics.resampling import (
    Interval,
    Resamples,
    SequentialTests,
    degrees_of_freedom,
    expansion,
    for_sums,
    holm,
    interval,
    mean_over_seeds,
    moses_p,
    randomisation_p_values,
    resampled_counts,
    resampled_sums,
    student_p,
)
from tests.helpers.made_text import (
    SACREBLEU,
    corrupted,
    made_references,
    sacrebleus_p,
    statistics_of,
)

examples = settings(deadline=None, derandomize=True, max_examples=60, database=None)

SEED = 12345
"""sacreBLEU's default seed."""


@pytest.fixture(scope="module")
def references():
    return made_references(80, np.random.default_rng(0), longest=15)


@pytest.fixture(scope="module")
def translations(references):
    """Systems that are nearly as good as each other."""
    rng = np.random.default_rng(1)
    return [corrupted(references, rate, rng) for rate in (0.3, 0.31, 0.33, 0.36)]


@pytest.fixture(scope="module")
def counted(translations, references):
    return [statistics_of(lines, references) for lines in translations]


@pytest.fixture(autouse=True)
def sacrebleus_seed(monkeypatch):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).integers(10, size=shape).astype(np.float64)


def mean(sums):
    """A score for counts ``value, 1``."""
    return sums[..., 0] / sums[..., 1]


def with_ones(values):
    return np.stack([np.asarray(values, np.float64), np.ones(len(values))], axis=1)


def p_of(draws, observed):
    """The p-value of one difference, from draws about 0."""
    tests = SequentialTests(np.array([observed]), len(draws), len(draws))
    tests.add(np.array([0]), np.asarray(draws, np.float64)[None])
    return tests.p_values[0]


def p_of_exchanges(pairs, systems, score, draws, most=0):
    """The p-values of pairs of systems by randomisation."""
    most = max(most, draws.count)
    return randomisation_p_values(np.array(pairs), systems, score, draws, most)


def exchanged(first, second, score, stays):
    """The difference of scores after exchanging the sentences that do not stay."""
    stays = np.asarray(stays)[:, None]
    one, other = np.where(stays, first, second), np.where(stays, second, first)
    return float(score(one.sum(0)) - score(other.sum(0)))


# Draws


def test_sums_are_those_of_the_sentences_drawn():
    counts = numbers(23, 5)
    drawn = np.random.default_rng(7).choice(23, size=(50, 23), replace=True)
    np.testing.assert_array_equal(
        resampled_sums(counts, Resamples(50, 7)), counts[drawn].sum(axis=1)
    )


@pytest.mark.parametrize("cells", [1, 24, 23 * 7])
def test_draws_do_not_depend_on_the_memory(monkeypatch, cells):
    counts, others = numbers(23, 5), numbers(23, 5, seed=1)
    draws = Resamples(50, 7)

    def all_draws():
        of_pairs = p_of_exchanges([(0, 1), (1, 0)], [counts, others], mean, draws, 2000)
        last = [times for _, times in resampled_counts(23, Resamples(90, 7), 50)]
        return resampled_sums(counts, draws), of_pairs, np.concatenate(last)

    whole = all_draws()
    monkeypatch.setattr(resampling, "CELLS", cells)
    np.testing.assert_array_equal(whole[2] @ counts, resampled_sums(counts, Resamples(90, 7))[50:])
    for part, expected in zip(all_draws(), whole, strict=True):
        np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("most", [9, 2**24 // 50 + 1])
def test_sums_of_whole_numbers_are_exact_in_single_precision(most):
    counts = np.random.default_rng(0).integers(most - 3, most + 1, size=(50, 4)).astype(np.float64)
    assert for_sums(counts).dtype == (np.float32 if most == 9 else np.float64)
    assert for_sums(counts / 3).dtype == np.float64
    drawn = np.random.default_rng(7).choice(50, size=(500, 50), replace=True)
    expected = counts.astype(np.int64)[drawn].sum(axis=1)
    np.testing.assert_array_equal(resampled_sums(counts, Resamples(500, 7)), expected)


# Intervals


@pytest.mark.parametrize("count", [1, 39, 40, 79, 1000])
def test_interval_is_as_wide_as_sacrebleus(count):
    made = np.random.default_rng(count).normal(30, 2, count)
    low, high = interval(made)
    assert (high - low) / 2 == estimate_ci(made)[1]
    assert low <= np.median(made) <= high
    assert {low, high} <= set(made)


def test_no_interval_where_a_resample_has_no_score():
    ends = interval(np.array([1.0, np.nan, 3.0]))
    assert isinstance(ends, Interval)
    assert np.isnan(ends).all()


# Paired tests


def test_p_of_moses_is_sacrebleus(translations, references, counted):
    p_values = []
    for name in SACREBLEU:
        metric = METRICS[name]
        for a, b in combinations(range(4), 2):
            pair = [counted[number][metric.statistics] for number in (a, b)]
            sampled = [metric.score(resampled_sums(each, Resamples(200, SEED))) for each in pair]
            observed = float(metric.score(pair[0].sum(0)) - metric.score(pair[1].sum(0)))
            p_values.append(moses_p(sampled[0] - sampled[1], observed))
            expected = sacrebleus_p(name, [translations[a], translations[b]], references, "bs", 200)
            assert p_values[-1] == expected
    assert sum(0.01 < p < 0.8 for p in p_values) >= 12


def test_p_of_randomisation_is_sacrebleus(translations, references, counted):
    """Trials that tie with the observed difference count here; in sacreBLEU rounding decides."""
    p_values = []
    pairs = list(combinations(range(4), 2))
    for name in SACREBLEU:
        metric = METRICS[name]
        systems = [each[metric.statistics] for each in counted]
        found = p_of_exchanges(pairs, systems, metric.score, Resamples(200, SEED))
        stays = np.random.default_rng(SEED).integers(2, size=(200, 80), dtype=bool)
        for (a, b), p in zip(pairs, found, strict=True):
            trials = [exchanged(systems[a], systems[b], metric.score, row) for row in stays]
            observed = float(metric.score(systems[a].sum(0)) - metric.score(systems[b].sum(0)))
            p_values.append(p)
            ties = int(np.isclose(np.abs(trials), abs(observed), rtol=1e-9).sum())
            assert name == "ter" or not ties  # TER alone is a number of words
            expected = sacrebleus_p(name, [translations[a], translations[b]], references, "ar", 200)
            assert p_values[-1] - ties / 201 - 1e-12 <= expected <= p_values[-1]
    assert sum(0.01 < p < 0.8 for p in p_values) >= 12


@examples
@given(st.data(), st.integers(1, 8))
def test_randomisation_against_every_exchange(data, count):
    """With whole numbers many exchanges tie, among them the exchange of nothing."""
    values = st.lists(st.integers(0, 3), min_size=count, max_size=count).map(with_ones)
    first, second = data.draw(values), data.draw(values)
    observed = exchanged(first, second, mean, [True] * count)
    every = [
        abs(exchanged(first, second, mean, stays)) for stays in product([True, False], repeat=count)
    ]
    exact = float(np.mean(np.array(every) >= abs(observed) - 1e-6))
    [p] = p_of_exchanges([(0, 1)], [first, second], mean, Resamples(4000, 1))
    assert p == pytest.approx(exact, abs=0.035)  # 4 deviations
    assert exact >= 2 / 2**count


@pytest.mark.filterwarnings("error")
def test_what_nobody_matched_is_nothing_after_an_exchange():
    """A few 4-grams with counts in sevenths (means over seeds): rounding once left -4e-17."""
    counts = np.tile([10.0, 10, 5, 2, 1, 0, 10, 9, 8, 7], (1500, 1))
    systems = [counts, counts.copy()]
    rng = np.random.default_rng(0)
    for _ in range(20):
        systems[0][:, 5] = 0
        systems[0][rng.choice(1500, 3, replace=False), 5] = rng.integers(1, 7, 3) / 7
        score = METRICS["bleu"].score
        [p] = p_of_exchanges([(0, 1)], systems, score, Resamples(100, 3))
        stays = np.random.default_rng(3).integers(2, size=(100, 1500), dtype=bool)
        expected = [exchanged(systems[0], systems[1], score, row) for row in stays]
        assert p == p_of(expected, score(systems[0].sum(0)) - score(systems[1].sum(0)))


def test_rounding_makes_no_trial_smaller_than_what_was_observed():
    """Sums of thirds (means over three seeds) in another order differ in the last digit."""
    rng = np.random.default_rng(0)
    values = rng.integers(10, size=(2, 50)) / 3
    first, second = map(with_ones, values)
    observed = float(mean(first.sum(0)) - mean(second.sum(0)))
    reordered = [
        (first[order].sum(0) - second[order].sum(0))[0] / 50
        for order in (rng.permutation(50) for _ in range(100))
    ]
    assert len(set(reordered)) > 1
    assert p_of(reordered, observed) == 1


def test_p_by_hand():
    deviations = [-1.0, 2.0, 5.0, 0.0, -3.0, 1.0]
    assert p_of(deviations, 2.0) == p_of(deviations, -2.0) == pytest.approx((3 + 1) / 7)


def test_a_test_is_drawn_until_its_p_is_known():
    """Up to 100,000 draws: the differences 1 and 3 need few, and no draw is as far as 9."""
    observed = np.array([1.0, 3.0, 4.0, 9.0, 0.0])
    tests, drawn = SequentialTests(observed, 1000, 100_000), np.zeros(5)
    rng = np.random.default_rng(0)
    while len(numbers := tests.unsettled):
        tests.add(numbers, rng.normal(size=(len(numbers), 1000)))
        drawn[numbers] += 1000
    assert drawn.tolist() == [1000, pytest.approx(37_000, abs=12_000), 100_000, 1000, 1000]
    exact = 2 * stats.norm.sf(observed)
    assert tests.p_values[:3] == pytest.approx(exact[:3], rel=0.5)
    assert tests.p_values[3] == 1 / 100_001  # as of all draws
    assert tests.p_values[4] == 1


def test_p_values_of_early_ends_reject_no_more_than_their_level():
    """Where there is no difference, at most a share p of the tests has a p-value up to p."""
    rng = np.random.default_rng(1)
    tests = SequentialTests(rng.normal(size=4000), 200, 4000)
    while len(numbers := tests.unsettled):
        tests.add(numbers, rng.normal(size=(len(numbers), 200)))
    for level in (0.001, 0.01, 0.05, 0.3, 0.5):
        deviation = np.sqrt(level * (1 - level) / 4000)
        assert (tests.p_values <= level).mean() <= level + 3 * deviation


def test_p_is_never_zero():
    assert moses_p(np.full(99, 50.0), 50.0) == 0.01
    assert p_of(np.zeros(99), 50.0) == 0.01
    assert student_p(np.array([-1.0, 1.0] * 50), 1e9, 30.0, 100) == 1 / 101
    assert student_p(np.zeros(99), 2.0, 3.0, 99) == 0.01
    assert student_p(np.zeros(99), 0.0, 3.0, 99) == 1


# Families


def test_holm_by_hand():
    """0.005 × 4, 0.01 × 3, 0.03 × 2, and 0.04 × 1, which may not be below the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1, 1]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


P_VALUES = st.lists(st.one_of(st.floats(0.0001, 1), st.sampled_from([0.01, 0.02, 0.025])))


@examples
@given(P_VALUES)
def test_holm_steps_down(p_values):
    """The smallest p-value is compared with level / m, the next with level / (m - 1), …."""
    adjusted = holm(p_values)
    for level in (0.01, 0.05, 0.3):
        order = sorted(range(len(p_values)), key=p_values.__getitem__)
        rejected = set()
        for step, number in enumerate(order):
            if p_values[number] * (len(order) - step) > level:
                break
            rejected.add(number)
        assert {number for number, p in enumerate(adjusted) if p <= level} == rejected
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))


# Seeds above sentences


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_variance_of_the_mean_over_seeds(seeds):
    rng = np.random.default_rng(seeds)
    of_seed, of_resample = rng.normal(30, 2, seeds), rng.normal(0, 3, 400_000)
    for sentences, variance in ((0 * of_resample, 0), (of_resample, 9)):
        drawn = mean_over_seeds(of_seed[:, None] + sentences, [7])
        assert drawn.mean() == pytest.approx(of_seed.mean(), abs=0.02)
        assert drawn.var() == pytest.approx(of_seed.var(ddof=1) / seeds + variance, rel=0.01)


def test_degrees_of_freedom_are_welchs():
    two, three, one = np.array([1.0, 3.0]), np.array([0.0, 3.0, 6.0]), np.array([5.0])
    assert degrees_of_freedom([two], 0) == pytest.approx(1)
    assert degrees_of_freedom([three, three], 0) == pytest.approx(4)
    # s²/n = 2/2 and 9/3; with 2 more of the sentences (1 + 3 + 2)² / (1²/1 + 3²/2).
    assert degrees_of_freedom([two, three], 2) == pytest.approx(36 / 5.5)
    assert degrees_of_freedom([one, three], 2) == pytest.approx((3 + 2) ** 2 / (3**2 / 2))
    unequal = [np.array([0.0, 1.0, 5.0]), np.array([2.0, 2.5])]
    welch = stats.ttest_ind(*unequal, equal_var=False)
    assert degrees_of_freedom(unequal, 0) == pytest.approx(welch.df)


def test_without_a_spread_of_seeds_the_sentences_decide():
    one, equal = np.array([5.0]), np.array([5.0, 5.0, 5.0])
    for seeds in ([one, one], [equal, one], [equal, equal]):
        assert degrees_of_freedom(seeds, 2) == np.inf
    assert expansion(np.inf) == 1


def test_expansion_is_the_ratio_of_t_to_z():
    for degrees in (1, 4, 36 / 5.5):
        expected = stats.t.ppf(0.975, degrees) / stats.norm.ppf(0.975)
        assert expansion(degrees) == pytest.approx(expected)
    assert expansion(1e9) == pytest.approx(1)


def test_students_p_is_that_of_welchs_test():
    """The spread is the standard deviation of the difference of means; both signs are tested."""
    first, second = np.array([20.1, 21.3, 19.8]), np.array([22.0, 22.9, 21.7])
    welch = stats.ttest_ind(first, second, equal_var=False)
    spread = np.sqrt(first.var(ddof=1) / 3 + second.var(ddof=1) / 3)
    deviations = np.tile([-spread, spread], 5000)
    observed = first.mean() - second.mean()
    for sign in (1, -1):
        p = student_p(deviations, sign * observed, float(welch.df), 10_000)
        assert p == pytest.approx(welch.pvalue)
