"""Trajectories: laws of known limits, what has settled, and the way in words."""

from typing import Any

import numpy as np
import pytest

from sweeps.claims import trajectory
from sweeps.claims.intervals import SystemValues, above, difference, optimum
from sweeps.claims.trajectory import Ladder, Trajectory, fit_law
from sweeps.claims.verdict import Margin

AMOUNTS = [1e5, 2e5, 4e5, 8e5]
SEEDS = 5
MARGIN = Margin(2.0)
FALLING = np.array([[3.0], [2.5], [2.3], [2.2]]) * np.ones(SEEDS)


def follow(given: Ladder, margin: Margin) -> Any:
    return trajectory.follow(given, margin)


def ladder(effects, noise=0.1, losses=None, amounts=AMOUNTS, seeds=SEEDS, curves=None):
    """Two systems whose difference has these means; each seed keeps its deviation."""
    rng = np.random.default_rng(0)
    own = rng.normal(size=(2, seeds))
    values = [
        [
            SystemValues(effect + own[0] + noise * rng.normal(size=seeds)),
            SystemValues(own[1] + noise * rng.normal(size=seeds)),
        ]
        for effect in effects
    ]
    flat = np.full((len(effects), seeds), 2.0)
    return Ladder(
        amounts=amounts[: len(effects)],
        values=values,
        differences=difference(),
        losses={"first": flat if losses is None else losses, "second": flat},
        curves=curves or {},
    )


def test_a_law_is_found_again():
    amounts = np.geomspace(1e4, 1e6, 12)
    exponents = np.array([0.3, 0.5, 1.0])
    values = 1.5 + 300 * amounts ** -exponents[:, None]
    law = fit_law(amounts, values)
    assert law.limit == pytest.approx([1.5] * 3, abs=0.3)
    assert law.exponent == pytest.approx(exponents, rel=0.05)
    assert law.at(1e6) == pytest.approx(values[:, -1], rel=1e-2)


def test_a_limit_is_not_below_the_least():
    amounts = np.geomspace(1e4, 1e6, 12)
    straight = 10 - np.log(amounts) / 2  # no limit at all
    assert fit_law(amounts, straight).limit < 0
    assert fit_law(amounts, straight, least=0.0).limit >= 0


def test_a_settled_effect_has_converged():
    found = follow(ladder([4.0, 5.0, 5.1, 5.0]), MARGIN)
    assert found.converged
    assert found.falls == {"first": 0.0, "second": 0.0}
    assert found.change == pytest.approx(0.0, abs=0.3)
    assert found.change_interval.low < found.change < found.change_interval.high


def test_the_change_is_that_of_the_same_trainings():
    """Seeds differ by far more than the effect moves."""
    far = ladder([5.0, 5.0, 5.0])
    for rung in far.values:
        rung[0].observed[:] += 100 * np.arange(SEEDS)
    assert follow(far, MARGIN).converged


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            {"effects": [4.0, 5.0, 5.0, 7.5]},
            "the effect may not have settled when training ended; it moved by +2.4 [+2.2, +2.5]",
        ),
        (
            {"effects": [5.0] * 4, "losses": FALLING},
            "“first” was still learning when training ended, so the effect may still change; its",
        ),
        (
            {"effects": [5.0] * 4, "losses": np.full((4, SEEDS), np.nan)},
            "no validation loss of “first” was measured",
        ),
        (
            {"effects": [5.0] * 2},
            "two doublings of the budget are needed to see whether the effect has settled",
        ),
        (
            {"effects": [5.0] * 4, "seeds": 2},
            "fewer than 3 seeds do not show whether the effect has settled",
        ),
        (
            {"effects": [5.0] * 4, "noise": 3.0},
            "the effect may not have settled when training ended; it moved by",
        ),
    ],
)  # fmt: skip
def test_what_has_not_settled_is_told(given, why):
    found = follow(ladder(**given), MARGIN)
    assert not found.converged
    assert found.why_not_converged.startswith(why)


def test_doublings_are_counted_in_amounts():
    """Of rungs at 1, 1.5, 2, 3 and 4, two doublings go back to the first."""
    amounts = [1.0, 1.5, 2.0, 3.0, 4.0]
    effects = [1.0, 9.0, 9.0, 9.0, 5.0]
    losses = np.array([4.0, 9.0, 3.0, 9.0, 2.97])[:, None] * np.ones(SEEDS)
    found = follow(ladder(effects, losses=losses, amounts=amounts), MARGIN)
    assert found.change == pytest.approx(4.0, abs=0.3)
    assert found.falls["first"] == pytest.approx(0.01)


def test_every_difference_of_a_table_must_have_settled():
    """The effect of an optimum stays where another rung takes the place of the second best."""
    still, moved = np.array([9.0, 5.0, 1.0]), np.array([9.0, 1.0, 5.0])
    values = [
        [SystemValues(np.full(SEEDS, each)) for each in rung] for rung in (still, still, moved)
    ]
    flat = {"one": np.full((3, SEEDS), 2.0)}
    found = follow(Ladder(AMOUNTS[:3], values, optimum(3, 0), flat, {}), MARGIN)
    assert found.effects == [4.0, 4.0, 4.0]
    assert not found.converged


def test_a_number_to_be_above_does_not_change():
    values = [[SystemValues(np.full(SEEDS, 5.0))] for _ in range(3)]
    found = follow(
        Ladder(AMOUNTS[:3], values, above(3.0), {"one": np.ones((3, SEEDS))}, {}), MARGIN
    )
    assert found.effects == [2.0] * 3
    assert found.change == 0
    assert found.converged


def way(*effects):
    return Trajectory(AMOUNTS[: len(effects)], effects, {}, None, None, None, {}, None)


def test_the_way_in_words():
    assert way(-8.15, -2.59, 1.0, 4.05).sentence == "rises from −8.2 to +4.0, crosses 0 near 330 k"
    assert way(9.0, 8.0, 3.0).sentence == "falls from +9.0 to +3.0"
    assert way(0.31, 0.25, 0.25).sentence == "falls from +0.31 to +0.25"
    assert way(3.01, 4.0, 3.02).sentence == "ends as it began, at +3.0"
    assert way(3.0).sentence == "is +3.0"
    assert way(1.0, -1.0, 1.0).crosses == pytest.approx(2e5 * 2**0.5)


def test_the_limit_of_the_effect_is_found_and_tested_on_the_last_rung():
    amounts = 1e5 * 2.0 ** np.arange(5)
    effects = 6 - 14 * (amounts / 1e5) ** -1.0
    found = follow(ladder(effects, noise=0.01, amounts=amounts), MARGIN).effect
    assert found.limit == pytest.approx(6, abs=0.5)
    assert found.interval.low < found.limit < found.interval.high
    assert found.held_out.foretold == pytest.approx(effects[-1], abs=0.4)
    assert found.held_out.seen == pytest.approx(effects[-1], abs=0.3)
    assert follow(ladder([1.0, 2.0]), MARGIN).effect is None
    assert follow(ladder([1.0, 2.0, 3.0]), MARGIN).effect.held_out is None


def test_the_limit_of_a_loss_is_that_of_its_curves():
    rng = np.random.default_rng(1)
    amounts = np.geomspace(1e4, 8e5, 24)
    curves = [
        np.stack([amounts, (1.2 + 0.05 * seed) + 40 * amounts**-0.4 + 1e-3 * rng.normal(size=24)])
        for seed in range(SEEDS)
    ]
    for curve in curves:
        curve[1, :4] += 3  # the first updates follow no law
    given = ladder([5.0] * 4, curves={"first": curves, "second": [np.zeros((2, 0))] * SEEDS})
    found = follow(given, MARGIN).losses
    assert found.keys() == {"first"}
    limit = found["first"]
    assert limit.limit == pytest.approx(1.3, abs=0.05)
    assert limit.interval.low < limit.limit < limit.interval.high
    assert limit.held_out.foretold == pytest.approx(limit.held_out.seen, rel=0.01)


def test_few_seeds_have_no_interval():
    found = follow(ladder([1.0, 2.0, 3.0], seeds=2), MARGIN)
    assert found.effect.interval is None
