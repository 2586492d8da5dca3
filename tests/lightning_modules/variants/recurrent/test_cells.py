"""Recurrent cells of a user."""

import json
import re
from typing import Any

import pytest
import torch
from torch import nn

from datamodules.errors import UserError
from lightning_modules.variants import RecurrentCell
from lightning_modules.variants.recurrent.cells import find_cell
from lightning_modules.variants.recurrent.model import Recurrent
from tests.helpers.commands import TINY, example, places, succeed
from tests.helpers.recurrent_models import GENERAL, PLAIN, PREVIOUS, build, sources
from tests.helpers.variants import configuration, flops_of, small_model


class Elman(RecurrentCell):
    """Elman 1990: a plain tanh cell."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.inputs = nn.Linear(input_size, hidden_size)
        self.hidden = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, inputs, state):
        return (self.inputs(inputs) + self.hidden(state)).tanh()


class Lstm(RecurrentCell):
    has_cell_state = True

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.cell = nn.LSTMCell(input_size, hidden_size)

    def forward(self, inputs, state):
        return self.cell(inputs, state)


class Stateless(RecurrentCell):
    pass


class Doubled(Elman):
    def forward(self, inputs, state):
        return torch.cat([super().forward(inputs, state)] * 2, -1)


class NoPair(Elman):
    has_cell_state = True

    def forward(self, inputs, state):
        return super().forward(inputs, state[0])


class Unsized(Elman):
    def __init__(self):
        super().__init__(4, 4)


STEPWISE: dict[str, Any] = {"attention": GENERAL, "query": PREVIOUS, "input_feeding": True}
SKELETONS: dict[str, dict[str, Any]] = {
    "at_once": {"bridge": "copy", "encoder": {"hidden_size": 3, "bidirectional": True}},
    "stacked": {"layers": 2, "encoder": {"hidden_size": 4, "bidirectional": True}},
    "stepwise": {"layers": 2, **STEPWISE},
    "summary": {"summary": True, "bridge": "summary", "attention": GENERAL},
}


def path(kind: type) -> str:
    return f"{__name__}.{kind.__name__}"


def model_of(kind: type, **settings) -> Recurrent:
    return build(PLAIN | {"cell": path(kind)} | settings)


@torch.no_grad()
@pytest.mark.parametrize("kind", [Elman, Lstm])
@pytest.mark.parametrize("skeleton", SKELETONS)
def test_teacher_forcing_equals_steps(skeleton, kind):
    model = model_of(kind, **SKELETONS[skeleton])
    src, mask = sources([5, 2, 7])
    tgt = torch.randint(4, 9, (3, 6), generator=torch.Generator().manual_seed(0))
    memory = model.encode(src, mask)
    whole = model.decode(memory, tgt).features
    state, steps = model.initial_state(memory), []
    for tokens in tgt.unbind(1):
        features, state, _ = model.step(memory, state, tokens)
        steps.append(features)
    torch.testing.assert_close(torch.stack(steps, 1), whole)


@torch.no_grad()
def test_a_cell_with_a_cell_state_equals_the_fused_kernel():
    settings = PLAIN | {"encoder": {"hidden_size": 4, "bidirectional": True}}
    fused, plain = build(settings | {"cell": "lstm"}), build(settings | {"cell": path(Lstm)})
    assert [*map(torch.numel, fused.parameters())] == [*map(torch.numel, plain.parameters())]
    for ours, theirs in zip(plain.parameters(), fused.parameters(), strict=True):
        ours.copy_(theirs)
    src, mask = sources([5, 2, 7])
    tgt = torch.ones(3, 4, dtype=torch.long)
    both = (model.decode(model.encode(src, mask), tgt).features for model in (plain, fused))
    torch.testing.assert_close(*both)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Stateless, "Stateless lacks forward"),
        (Doubled, r"short sentences: test_cells\.py, line \d+: RuntimeError: mat1 and mat2 shapes"),
        (NoPair, "short sentences: ValueError: too many values to unpack"),
        (Unsized, "takes 1 positional argument but 3 were given"),
        (nn.GRUCell, "is not derived from lightning_modules.variants.recurrent.cells.Recurrent"),
    ],
)
def test_a_wrong_cell_ends_with_one_line(kind, words):
    name = f"{kind.__module__}.{kind.__qualname__}"
    with pytest.raises(UserError) as caught:
        small_model("seq2seq", f"model.cell={name}")
    message = str(caught.value)
    assert message.startswith(f"model.cell={name}: ")
    assert re.search(words, message)
    assert "\n" not in message


def test_another_name_lists_the_choices():
    with pytest.raises(UserError, match=r"^model\.cell=rnn: choose one of lstm, gru, gru_2014, or"):
        find_cell("rnn")


@pytest.mark.long
def test_products_of_a_cell_are_counted():
    given = ["model=seq2seq", "scale=0.25", "model.layers=2"]
    lstm, plain, elman = (
        flops_of(configuration(*given, f"model.cell={cell}"), 30, 40)
        for cell in ("lstm", path(Lstm), path(Elman))
    )
    assert plain.coefficients == pytest.approx(lstm.coefficients, rel=1e-6, abs=1)
    assert (elman.coefficients[1:3] < 0.5 * lstm.coefficients[1:3]).all()


@pytest.mark.long
def test_the_example_of_the_page_trains_and_translates(tmp_path):
    [arguments] = example("cell", tmp_path)
    folder = tmp_path / "run"
    given = [*arguments, *TINY, *places(tmp_path), "logger=none", f"hydra.run.dir={folder}"]
    succeed(*given, PYTHONPATH=str(tmp_path))
    result = json.loads((folder / "result.json").read_text())
    assert result["config"]["model"]["cell"] == "my_cell.MinimalGatedUnit"
    translate = ["task=translate", f"checkpoint={folder}"]
    assert succeed(*translate, stdin="The cat sleeps.\n", PYTHONPATH=str(tmp_path)).count("\n") == 1
