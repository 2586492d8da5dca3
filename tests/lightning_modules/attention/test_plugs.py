"""Scores and windows of a user: the examples of their pages, and what is refused."""

import json
import sys
from unittest.mock import patch

import pytest
import torch
from torch import nn
from torch.nn.functional import dropout

from datamodules.errors import UserError
from lightning_modules.attention import Score, Window, WindowMask, build_attention
from lightning_modules.variants.base import Limit
from tests.helpers.commands import TINY, example, inside, places, succeed
from tests.helpers.recurrent_models import PLAIN, recurrent
from tests.helpers.variants import small_model

QUERY, MEMORY = 4, 6


@pytest.mark.exhaustive
@pytest.mark.long
@pytest.mark.parametrize(
    ("part", "number"), [("score", 0), ("score", 1), ("score", 2), ("window", 0), ("window", 1)]
)
def test_the_example_of_a_page_trains_and_translates(part, number, tmp_path, monkeypatch):
    """On the default model, on another with an option, and a score on earlier decoder states."""
    commands = example(part, tmp_path)
    starts = ["model.attention.", "model=", "model.intra_attention="]
    assert len(commands) == (3 if part == "score" else 2)
    for command, start in zip(commands, starts, strict=False):
        assert command[0].startswith(start)
    monkeypatch.syspath_prepend(tmp_path)
    [module] = [file.stem for file in tmp_path.glob("my_*.py")]
    monkeypatch.delitem(sys.modules, module, raising=False)
    folder = tmp_path / "run"
    where = [*places(tmp_path), "logger=none", f"hydra.run.dir={folder}"]
    inside(*commands[number], *TINY, *where)
    result = json.loads((folder / "result.json").read_text())
    attends = "intra_attention" if number == 2 else "attention"
    assert result["config"]["model"][attends][part].startswith(f"{module}.")
    assert result["scores"]["aer"] > 0
    # The class is found again when the model is loaded.
    arguments = ["task=translate", f"checkpoint={folder}"]
    translated = succeed(*arguments, stdin="The cat sleeps.\n", PYTHONPATH=str(tmp_path))
    assert translated.count("\n") == 1


class Projected(Score):
    def __init__(self, query_size, memory_size, sharpness=1.0, shared=0):
        super().__init__(query_size, memory_size)
        self.projection = nn.Linear(query_size, memory_size)
        self.sharpness, self.shared = sharpness, shared

    def forward(self, query, keys):
        energies = self.sharpness * self.projection(query) @ keys.transpose(-1, -2)
        return dropout(energies, 0.1, self.training)


class First(Window):
    def __init__(self, query_size, half_width, most=2, shared=0):
        super().__init__(query_size, half_width)
        self.most, self.shared = most, shared

    def forward(self, query, steps, src_lengths, src_size):
        outside = torch.arange(src_size) >= self.most
        return WindowMask(outside.expand(*query.shape[:2], -1), None)


class Numbered(Score):
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


class Fractional(First):
    def forward(self, query, steps, src_lengths, src_size):
        return WindowMask(torch.zeros(*query.shape[:2], src_size), None)


class TurnedWindow(First):
    def forward(self, query, steps, src_lengths, src_size):
        outside = super().forward(query, steps, src_lengths, src_size).outside
        return WindowMask(outside.transpose(0, 2), None)


class OfFirstSentence(Window):
    def forward(self, query, steps, src_lengths, src_size):
        return WindowMask((torch.arange(src_size) >= src_lengths[0]).view(1, 1, -1), None)


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


def test_a_trial_draws_no_random_numbers():
    torch.manual_seed(3)
    small_model("luong_general", f"model.attention.score={path(Projected)}")
    state = torch.get_rng_state()
    with patch("lightning_modules.training.factories.try_model"):
        small_model("luong_general", f"model.attention.score={path(Projected)}")
    assert torch.equal(state, torch.get_rng_state())


def test_a_model_whose_sizes_alone_matter_is_not_tried():
    with torch.device("meta"):
        small_model("luong_general", f"model.attention.score={path(SameWidth)}")


def test_a_score_by_position_of_ones_own_limits_the_source():
    settings = PLAIN | {"attention": {"score": path(Numbered), "max_length": 9}}
    model = recurrent(settings)
    assert model.limit() == Limit("model.attention.max_length", 9, None)
    assert not model.is_content_based
    with pytest.raises(UserError, match=r"^model\.intra_attention: .* looks at states"):
        recurrent(PLAIN | {"intra_attention": {"score": path(Numbered)}})


MISTAKES = [
    ("score", First, [], "is not derived from lightning_modules.attention.scores.Score"),
    ("score", Nothing, [], "Nothing lacks forward"),
    ("score", SameWidth, [], r"short sentences: test_plugs\.py, line \d+: RuntimeError: .*size"),
    ("score", Refusing, [], "widths must be odd"),
    ("score", Unfinished, [], "cannot assign module before"),
    ("score", Needy, [], "missing 1 required positional argument: 'sharpness'"),
    ("score", Turned, [], r"short sentences: ValueError: Turned returns \("),
    ("score", Turned, ["+model.attention.heads=2"], r"Turned returns \("),
    ("score", TurnedKeys, [], r"short sentences: test_plugs\.py, line \d+: RuntimeError: .*size"),
    (
        "score",
        Projected,
        ["+model.attention.sharpness=much"],
        r"short sentences: test_plugs\.py, line \d+: TypeError",
    ),
    ("window", Projected, [], "is not derived from .*windows.Window"),
    ("window", Nowhere, [], "Nowhere lacks forward"),
    ("window", Bare, [], "Bare returns Tensor, not a WindowMask"),
    ("window", Fractional, [], "short sentences: .*Float"),
    ("window", Diagonal, [], "the numbers are not finite"),
    ("window", Diagonal, ["+model.attention.half_width=90"], "the numbers are not finite"),
    ("window", OfFirstSentence, [], r"OfFirstSentence returns \(1, 1, 4\), not \(3, "),
    ("window", TurnedWindow, [], r"TurnedWindow returns \("),
    ("window", First, ["+model.attention.most=many"], r"test_plugs\.py, line \d+: TypeError"),
]


@pytest.mark.parametrize(("part", "kind", "options", "message"), MISTAKES)
def test_a_class_that_does_not_fit_is_named_with_its_override(part, kind, options, message):
    setting = f"model.attention.{part}={path(kind)}"
    with pytest.raises(UserError, match=message) as refused:
        small_model("luong_general", f"++{setting}", "model.hidden_size=10", *options)
    line = str(refused.value)
    assert line.startswith(f"{setting}: ")
    assert "\n" not in line


def test_a_class_of_intra_attention_is_named_by_its_own_key():
    setting = f"model.intra_attention={{score:{path(Turned)}}}"
    with pytest.raises(UserError, match=r"^model\.intra_attention\.score=.*Turned: fails on three"):
        small_model("luong_general", setting)
