"""How long to train first on a corpus, and budgets that the corpus fills in."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightning_modules.runs.files import read_result
from lightning_modules.training import budgets
from lightning_modules.training.budgets import FIRST_BUDGETS, first_budget, is_open
from tests.helpers.commands import TINY, inside, places
from tests.helpers.variants import configuration

TEXT = ["comparison=quickstart", "data=text", "data.root=nowhere", "data.source=de"]
TEXT += ["data.target=en", "seed=1", "model=bahdanau"]


def test_first_budgets_rise_with_the_corpus_and_meet_the_measured_points():
    for pairs, tokens in FIRST_BUDGETS:
        assert first_budget(pairs) == tokens
    sizes = np.geomspace(100, 10**8, 60).astype(int).tolist()
    assert all(low <= high for low, high in pairwise(map(first_budget, sizes)))
    (low, first), (high, second), *_ = FIRST_BUDGETS
    middle = first_budget(round((low * high) ** 0.5))
    assert middle == pytest.approx((first * second) ** 0.5, rel=0.05)


@given(st.integers(1, 10**9))
def test_a_first_budget_is_a_whole_number_of_two_digits(pairs):
    budget = first_budget(pairs)
    assert budget >= 1
    assert budget == float(f"{budget:.2g}")


@pytest.mark.parametrize(
    ("overrides", "tokens"),
    [
        (["comparison=quickstart"], 400_000),
        (["comparison=quickstart", "data=grammar_de"], 400_000),
        (TEXT, None),
        ([*TEXT, "budget.target_tokens=5000"], 5000),
        ([*TEXT, "budget=updates"], "updates"),
    ],
)
def test_the_quickstart_leaves_the_budget_of_another_corpus_open(overrides, tokens):
    config = configuration(*overrides)
    if tokens == "updates":
        assert not is_open(config)
    else:
        assert config.budget.target_tokens == tokens
        assert is_open(config) == (tokens is None)


def test_an_open_budget_is_filled_in_for_the_corpus(space, monkeypatch):
    monkeypatch.setattr(budgets, "FIRST_BUDGETS", ((100, 1000), (400, 2000)))
    folder = space / "run"
    given = [*TINY, *places(space), "logger=none", "budget.target_tokens=null"]
    inside(*given, f"hydra.run.dir={folder}")
    result = read_result(folder)
    assert result is not None
    pairs = result.data.pairs["train"]
    wanted = first_budget(pairs)
    assert result.config["budget"]["target_tokens"] == wanted
    assert wanted <= (result.training.target_tokens or 0) < wanted + 600
    assert "the first budget for" in (folder / "run.log").read_text(encoding="utf-8")
    inside(*given, f"hydra.run.dir={folder}")  # finished: the budget is the same again
    again = read_result(folder)
    assert again == result
