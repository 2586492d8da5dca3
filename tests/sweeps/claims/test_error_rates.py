"""Verdicts on claims of known truth: a smaller form of ``python -m tests.tools.simulate_claims``.

The draws are fixed; the bounds leave room for about three standard errors of a simulated share.
"""

import pytest

from tests.tools.simulate_claims import (
    EFFECTS,
    MARGIN,
    NOISES,
    SAME,
    of_equals,
    of_several,
    of_text,
    of_two,
    promises,
)

pytestmark = pytest.mark.long  # simulations
COUNT = 4000
MOST = 0.06


@pytest.mark.parametrize("seeds", [3, 5])
def test_wrong_verdicts_are_rare(seeds):
    for noise in NOISES:
        for effect in EFFECTS.values():
            ours, same = (of_two(effect, noise, seeds, COUNT, margin) for margin in (MARGIN, SAME))
            assert effect > MARGIN.size or ours.held <= MOST, noise
            assert effect < MARGIN.size or ours.failed <= MOST, noise
            assert abs(effect) < SAME.size or same.held <= MOST, noise
            assert abs(effect) > SAME.size or same.failed <= MOST, noise
        for optimal in (False, True):
            for rates in (
                of_several(1.0, noise, seeds, COUNT, optimal),
                of_equals(noise, seeds, COUNT, optimal),
            ):
                assert max(rates) <= MOST, noise


def test_the_rule_decides_what_it_can():
    """Without seed noise and with little of it, few seeds are enough for an effect of 3."""
    assert of_two(3.0, NOISES[0], 3, COUNT).held > 0.95
    assert of_two(3.0, NOISES[1], 5, COUNT).held > 0.95


@pytest.mark.exhaustive
@pytest.mark.parametrize("deviation", [0.0, 0.01])
def test_verdicts_on_resampled_translations(deviation):
    rates, covered = of_text(deviation, 3, 200)
    assert max(rates) <= 0.1
    assert covered > 0.9


@pytest.mark.parametrize("known", [False, True])
def test_promised_seeds_decide(known):
    promise = promises(3.0, NOISES[1], 40, known)
    assert promise.decided >= 0.78
    assert promise.wrong <= 0.02
    assert promise.none < 0.2
