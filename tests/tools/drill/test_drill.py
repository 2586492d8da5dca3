"""A tenth of the reliability drill, with the seed of the day of the test's writing."""

import random

import pytest

from tests.tools.drill import refusals
from tests.tools.drill.__main__ import PARTS

SHARE, SEED = 0.1, 19


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in PARTS if name != "planted tokens"])
def test_a_tenth_of_the_drill(name, tmp_path, monkeypatch):
    monkeypatch.setattr(refusals, "SLOWEST", 15.0)  # other tests share the processors
    part = PARTS[name]
    count = max(1, round(SHARE * part.trials))
    found = part.drill(tmp_path, count, random.Random(f"{name} {SEED}"))
    assert found.wrong == []
    if not found.done:
        pytest.skip(found.notes)
