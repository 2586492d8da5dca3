"""Gates: collapsed trainings, and floors."""

import pytest

from sweeps.claims.gates import find_collapsed, why_not_fair, why_too_few

FIVE = {1: 50.0, 2: 52.0, 3: 49.0, 4: 51.0, 5: 20.0}


def test_a_training_far_below_the_best_of_its_own_system_has_collapsed():
    assert find_collapsed({"one": FIVE, "other": {1: 20.0, 2: 15.0}}) == {"one": [5]}
    assert find_collapsed({"one": {1: 0.0, 2: 0.0}}) == {}


@pytest.mark.parametrize(
    ("count", "lost", "why"),
    [
        (5, [], None),
        (5, [2], None),
        (5, [2, 4], None),
        (5, [2, 3, 4], "one: seeds 2, 3 and 4 of 5 collapsed, which leaves fewer than 3"),
        (4, [2], "one: seed 2 collapsed, and 4 seeds are too few to leave any out"),
        (3, [1], "one: seed 1 collapsed, and 3 seeds are too few to leave any out"),
    ],
)
def test_what_is_left_must_be_enough(count, lost, why):
    seeds = [*range(1, count + 1)]
    assert why_too_few({"one": seeds, "other": seeds}, {"one": lost} if lost else {}) == why


def test_every_system_reaches_its_floor_or_the_test_is_not_fair():
    reached = {"one": 40.0, "other": 5.94, "free": 1.0}
    assert why_not_fair(reached, {"one": 39.0, "other": 5.0}, "1–10 words") is None
    assert why_not_fair(reached, {"one": 39.0, "other": 35.0}, "1–10 words") == (
        "“other” has not learned to translate: it reaches 5.9 BLEU on sentences of 1–10 words, and "
        "its floor is 35.0"
    )
