"""Numbers for readers: real minus signs, equal decimals, sizes rounded, no p-value of nothing."""

import pytest

from lightning_modules.metrics.bootstrap import Estimate
from sweeps.comparison.numbers import (
    MINUS,
    format_estimate,
    format_number,
    format_p,
    format_size,
    p_floor,
    p_statement,
)


@pytest.mark.parametrize(
    ("value", "decimals", "shown"),
    [(-1.25, 1, "−1.2"), (-0.001, 1, "0.0"), (1234567.0, 0, "1,234,567"), (-9876, 0, "−9,876")],
)
def test_a_number_has_a_real_minus_sign_and_zero_has_none(value, decimals, shown):
    assert format_number(value, decimals) == shown


def test_a_difference_shows_its_sign():
    assert [format_number(each, 2, signed=True) for each in (0.5, -0.5)] == ["+0.50", "−0.50"]


@pytest.mark.parametrize("decimals", [0, 1, 2, 3])
def test_a_value_its_interval_and_its_deviation_have_the_same_decimals(decimals):
    shown = format_estimate(Estimate(64, -1.23456, 70.5, 0.1), decimals)
    numbers = shown.replace("[", "").replace("]", "").replace(",", "").replace("± ", "").split()
    assert len(numbers) == 4
    assert {len(number.partition(".")[2]) for number in numbers} == {decimals}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"), (9_999, "9,999"), (10_000, "10.0 k"), (99_960, "100 k"), (1_234_567, "1.23 M"),
        (999_999, "1.00 M"), (12_345_678_901, "12.3 G"),
    ],
)  # fmt: skip
def test_a_size_has_three_digits_and_a_unit(value, shown):
    assert format_size(value) == shown


def readable(p):
    return float(p.removeprefix("< ").replace(MINUS, "-"))


@pytest.mark.parametrize("p", [1.0, 0.05, 0.0001, 0.00009999, 1 / 10_001, 1 / 1_000_001, 1e-300])
def test_no_p_value_is_shown_as_nothing(p):
    assert readable(format_p(p)) > 0
    assert readable(format_p(p)) == pytest.approx(p, rel=0.06)


@pytest.mark.parametrize("tests", [1, 2, 15, 71, 500])
@pytest.mark.parametrize("resamples", [100, 10_000, 1_000_000])
def test_a_p_value_at_the_floor_of_the_resamples_is_shown_as_less(resamples, tests):
    floor = p_floor(resamples, tests)
    if floor < 1:
        assert format_p(floor, floor).startswith("< ")
        assert readable(format_p(floor, floor)) >= floor * (1 - 1e-9)
        assert readable(format_p(floor, floor)) <= max(1.1 * floor, floor + 1e-4)
    assert not format_p(min(1, 1.5 * floor), floor).startswith("<") or floor == 1


def test_a_p_value_as_a_statement():
    assert p_statement(0.03125, p_floor(10_000, 71)) == "p = 0.0312"
    assert p_statement(71 / 10_001, p_floor(10_000, 71)) == "p < 0.0071"
