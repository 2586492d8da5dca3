"""A search of a user, from the command line."""

import json
from typing import Any

import pytest
import torch

from datamodules.tokenization import BOS, EOS
from lightning_modules.decoding import GreedySearch, HypothesisEnd, Request, Search
from lightning_modules.decoding.search import try_model
from lightning_modules.runs.files import read_predictions
from tests.helpers.commands import TESTED, TINY, example, mistake, places, succeed
from tests.helpers.searches import LIMITS
from tests.helpers.variants import small_model

MODEL = ["model=seq2seq", "logger=none"]
HERE = __name__


class Unfinished(Search):
    pass


class Strict(Search):
    def __init__(self, width: int, **limits: Any) -> None:
        super().__init__(**limits)

    def search(self, model: Any, memory: Any, request: Request, backpointers: Any) -> Any: ...


class Shapeless(Search):
    """Takes one token for a batch of sources."""

    def search(self, model: Any, memory: Any, request: Request, backpointers: Any) -> Any:
        return model.step(memory, model.initial_state(memory), torch.tensor([BOS]))


class Partial(Search):
    """Finds no translation of the second source."""

    def search(self, model: Any, memory: Any, request: Request, backpointers: Any) -> Any:
        limits = request.limits
        tokens = torch.full_like(limits, BOS)
        _, _, weights = model.step(memory, model.initial_state(memory), tokens)
        backpointers.add(tokens, torch.arange(len(limits)), weights)
        return [[HypothesisEnd(0, 0, EOS, 0.0)], *[[] for _ in limits[1:]]]


@pytest.mark.long
def test_the_example_of_the_page_translates(tmp_path):
    [arguments] = example("search", tmp_path)
    settings = [argument for argument in arguments if "decoding" in argument]
    place = {"PYTHONPATH": str(tmp_path)}
    trained = tmp_path / "run"
    given = [*MODEL, *TINY, *places(tmp_path)]
    succeed(*arguments, *given, f"hydra.run.dir={trained}", **place)
    decoding = json.loads((trained / "result.json").read_text())["decoding"]
    assert (decoding["search"], decoding["top"], decoding["seed"]) == ("Sampling", 5, 3)
    assert decoding["max_extra"] == 5
    texts = {}
    for name, seed in (("again", 3), ("other", 4)):
        folder = tmp_path / name
        task = ["task=test", f"checkpoint={trained}", f"decoding.seed={seed}"]
        tested = [*settings[:-1], f"+decoding.seed={seed}"]
        succeed(*task[:2], *tested, *TESTED, *places(tmp_path), f"hydra.run.dir={folder}", **place)
        texts[name] = [prediction.hypothesis for prediction in read_predictions(folder)]
    first = [prediction.hypothesis for prediction in read_predictions(trained)]
    assert texts["again"] == first
    assert texts["other"] != first


class Drawing(GreedySearch):
    def search(self, *given: Any) -> Any:
        torch.rand(1)
        return super().search(*given)


def test_the_trial_of_a_search_leaves_random_numbers_and_the_mode_of_the_model():
    model = small_model("seq2seq").train()
    before = torch.get_rng_state()
    try_model("decoding._target_=Drawing", model, Drawing(**LIMITS))
    assert torch.equal(torch.get_rng_state(), before)
    assert model.training


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["my_search.Search"], "decoding._target_=my_search.Search: cannot be imported"),
        (["torch.nn.Linear"], "is not derived from lightning_modules.decoding.search.Search"),
        ([f"{HERE}.Unfinished"], "Unfinished lacks search"),
        ([f"{HERE}.Strict"], "missing 1 required positional argument: 'width'"),
        ([f"{HERE}.Shapeless"], "short sentences: "),
        ([f"{HERE}.Partial"], "ValueError: [1, 0, 0] hypotheses for 3 sources; find some for each"),
        (
            ["lightning_modules.decoding.GreedySearch", "+decoding.width=2"],
            "decoding.width: no such setting",
        ),
    ],
)
def test_a_wrong_search_ends_with_one_line(given, words, tmp_path):
    target, *others = given
    line = mistake(
        *MODEL, *TINY, *places(tmp_path), f"hydra.run.dir={tmp_path}/run", "decoding=greedy",
        f"decoding._target_={target}", *others,
    )  # fmt: skip
    assert words in line
    assert "decoding" in line
    assert not (tmp_path / "run" / "result.json").exists()


def test_a_search_for_candidates_is_a_search(tmp_path):
    tiny = [given for given in TINY if not given.startswith("decoding.")]
    wrong = "decoding.candidates._target_=torch.nn.Linear"
    line = mistake(
        *MODEL, *tiny, *places(tmp_path), f"hydra.run.dir={tmp_path}/run", "decoding=mbr", wrong
    )
    assert f"{wrong}: is not derived from lightning_modules.decoding.search.Search" in line
