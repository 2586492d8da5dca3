"""Scores and windows of a user: the examples of their pages, and what is refused."""

import json
import sys

import pytest
import torch
from torch import nn
from torch.nn.functional import dropout

from datamodules.errors import UserError
from lightning_modules.attention import SCORES, WINDOWS, Score, Window, WindowMask, build_attention
from lightning_modules.variants.base import Limit
from tests.helpers.commands import TINY, example, inside, mistake, places, succeed
from tests.helpers.recurrent_models import PLAIN, recurrent

QUERY, MEMORY = 4, 6


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("part", ["score", "window"])
def test_the_example_of_a_page_trains_and_translates(part, number, tmp_path, monkeypatch):
    """On the default model, and on another with an option."""
    commands = example(part, tmp_path)
    assert [command[0].startswith("model=") for command in commands] == [False, True]
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, f"my_{part}", raising=False)
    folder = tmp_path / "run"
    where = [*places(tmp_path), "logger=none", f"hydra.run.dir={folder}"]
    inside(*commands[number], *TINY, *where)
    result = json.loads((folder / "result.json").read_text())
    assert result["config"]["model"]["attention"][part].startswith(f"my_{part}.")
    assert result["scores"]["aer"] > 0
    # The class is found again when the model is loaded.
    arguments = ["task=translate", f"checkpoint={folder}"]
    translated = succeed(*arguments, stdin="The cat sleeps.\n", PYTHONPATH=str(tmp_path))
    assert translated.count("\n") == 1


class Projected(Score):
    """A dot product with options."""

    def __init__(self, query_size, memory_size, sharpness=1.0, shared=0):
        super().__init__(query_size, memory_size)
        self.projection = nn.Linear(query_size, memory_size)
        self.sharpness, self.shared = sharpness, shared

    def forward(self, query, keys):
        energies = self.sharpness * self.projection(query) @ keys.transpose(-1, -2)
        return dropout(energies, 0.1, self.training)


class First(Window):
    """The first source positions."""

    def __init__(self, query_size, half_width, most=2, shared=0):
        super().__init__(query_size, half_width)
        self.most, self.shared = most, shared

    def forward(self, query, steps, src_lengths, src_size):
        outside = torch.arange(src_size) >= self.most
        return WindowMask(outside.expand(*query.shape[:2], -1), None)


class Numbered(Score):
    """A score by position, with energies for ``max_length`` positions only."""

    is_content_based = False

    def __init__(self, query_size, memory_size, max_length=2):
        super().__init__(query_size, memory_size)
        self.max_length = max_length
        self.positions = nn.Linear(query_size, max_length)

    def forward(self, query, keys):
        return self.positions(query)[..., : keys.shape[-2]]


class Nothing(Score):
    pass


class Nowhere(Window):
    pass


class SameWidth(Score):
    def forward(self, query, keys):
        return query @ keys.transpose(-1, -2)


class Refusing(Projected):
    def __init__(self, query_size, memory_size):
        raise ValueError("widths must be\nodd")


class Unfinished(Score):
    def __init__(self, query_size, memory_size):
        self.projection = nn.Linear(query_size, memory_size)

    def forward(self, query, keys):
        return self.projection(query) @ keys.transpose(-1, -2)


class Needy(Projected):
    def __init__(self, query_size, memory_size, sharpness):
        super().__init__(query_size, memory_size, sharpness)


class Turned(Projected):
    def forward(self, query, keys):
        return super().forward(query, keys).transpose(-1, -2)


class TurnedKeys(Projected):
    def project_keys(self, memory):
        return memory.transpose(-1, -2)


class Bare(First):
    def forward(self, query, steps, src_lengths, src_size):
        return super().forward(query, steps, src_lengths, src_size).outside


class OneRow(First):
    def forward(self, query, steps, src_lengths, src_size):
        return WindowMask(None, torch.ones(1, query.shape[1], src_size))


class Fractional(First):
    def forward(self, query, steps, src_lengths, src_size):
        return WindowMask(torch.zeros(*query.shape[:2], src_size), None)


class Diagonal(Window):
    def forward(self, query, steps, src_lengths, src_size):
        outside = self.around(steps.expand(len(query), -1), src_size)[1]
        return WindowMask(outside, None)


def path(kind):
    return f"{__name__}.{kind.__name__}"


def build(key="model.attention", **options):
    return build_attention(key, QUERY, MEMORY, options)


@pytest.mark.parametrize("heads", [None, 2])
def test_each_option_finds_its_class(heads):
    options = {"sharpness": 3.0, "most": 1, "shared": 5, "heads": heads}
    attention = build(score=path(Projected), window=path(First), **options)
    score, window = attention.score, attention.window
    assert isinstance(score, Projected)
    assert isinstance(window, First)
    assert (score.sharpness, score.shared, window.most, window.shared) == (3.0, 5, 1, 5)
    assert score.training
    memory = attention.prepare(torch.randn(2, 5, MEMORY), torch.ones(2, 5, dtype=torch.bool))
    weights = attention(torch.randn(2, 7, QUERY), memory, torch.arange(7).unsqueeze(0))[1]
    assert weights[..., 0].eq(1).all()


@pytest.mark.parametrize("score", SCORES)
def test_a_window_of_ones_own_works_with_every_score_that_looks_at_states(score):
    if SCORES[score].is_content_based:
        attention = build_attention(
            "model.attention", MEMORY, MEMORY, {"score": score, "window": path(First)}
        )
        assert isinstance(attention.window, First)
    else:
        with pytest.raises(UserError, match=f"score={score}: .* no local form"):
            build(score=score, window=path(First))


@pytest.mark.parametrize("window", WINDOWS)
def test_a_check_draws_no_random_numbers(window):
    torch.manual_seed(3)
    build(score=path(Projected), window=window)
    state = torch.get_rng_state()
    torch.manual_seed(3)
    WINDOWS[window](QUERY, 10)
    Projected(QUERY, MEMORY)
    assert torch.equal(state, torch.get_rng_state())


def test_a_model_whose_sizes_alone_matter_is_not_checked():
    with torch.device("meta"):
        build(score=path(SameWidth))


def test_a_score_by_position_of_ones_own_limits_the_source():
    settings = PLAIN | {"attention": {"score": path(Numbered), "max_length": 9}}
    model = recurrent(settings)
    assert model.limit() == Limit("model.attention.max_length", 9, None)
    assert not model.is_content_based
    with pytest.raises(UserError, match=r"^model\.intra_attention: .* looks at states"):
        recurrent(PLAIN | {"intra_attention": {"score": path(Numbered)}})


SCORE_MISTAKES = [
    ({"score": path(First)}, "is not derived from lightning_modules.attention.scores.Score"),
    ({"score": path(Nothing)}, "Nothing lacks forward"),
    (
        {"score": path(SameWidth)},
        r"\(queries of width 4, encoder states of width 6\): SameWidth cannot compute",
    ),
    ({"score": path(Refusing)}, "widths must be odd"),
    ({"score": path(Unfinished)}, "cannot assign module before"),
    ({"score": path(Needy)}, "missing a required argument: 'sharpness'"),
    ({"score": path(Turned)}, r"Turned returns the shape \(2, 3, 4\), but \(2, 4, 3\) is needed"),
    ({"score": path(Turned), "heads": 2}, r"the shape \(2, 2, 3, 4\), but \(2, 2, 4, 3\)"),
    ({"score": path(TurnedKeys)}, r"project_keys returns \(2, 6, 3\) instead of \(2, 3, key\)"),
    ({"score": path(Projected), "sharpness": "much"}, "Projected cannot compute"),
]
WINDOW_MISTAKES = [
    ({"window": path(Projected)}, "is not derived from .*windows.Window"),
    ({"window": path(Nowhere)}, "Nowhere lacks forward"),
    ({"window": path(Bare)}, "returns Tensor instead of a WindowMask"),
    ({"window": path(OneRow)}, r"factor: OneRow returns the shape \(1, 4, 3\), but \(2, 4, 3\)"),
    ({"window": path(Fractional)}, r"Fractional returns outside as torch.float32"),
    ({"window": path(Diagonal)}, "Diagonal leaves some queries no source position"),
    ({"window": path(First), "most": "many"}, "First cannot compute"),
]


@pytest.mark.parametrize("key", ["model.attention", "model.intra_attention"])
@pytest.mark.parametrize(("options", "message"), SCORE_MISTAKES + WINDOW_MISTAKES)
def test_a_class_that_does_not_fit_is_named_with_its_override(key, options, message):
    with pytest.raises(UserError, match=message) as refused:
        build(key, **options)
    line = str(refused.value)
    part = next(iter(options))
    assert line.startswith(f"{key}.{part}={options[part]}")
    assert "\n" not in line


def test_an_option_that_neither_takes_is_named():
    with pytest.raises(UserError) as refused:
        build("model.intra_attention", score=path(Projected), sharp=2.0)
    assert str(refused.value) == (
        f"model.intra_attention.sharp: neither the score {path(Projected)} nor the window global "
        "has such a setting; leave it out with ~model.intra_attention.sharp"
    )


@pytest.mark.long
def test_a_command_with_a_class_that_does_not_fit_ends_with_one_line(tmp_path):
    line = mistake(f"model.attention.score={path(SameWidth)}", *TINY, *places(tmp_path))
    assert "queries of width 34, encoder states of width 68" in line
