"""Budgets of the user: the example of ``docs/how_to/extend/budget.md``, and mistakes in one."""

import json

import pytest

from lightning_modules.training.budgets import total
from sweeps.comparison.conditions import equally_tuned
from sweeps.studies.outcome import study_section
from tests.helpers.commands import TINY, example, inside, mistake, places, succeed
from tests.sweeps.studies.test_outcome import made

NO_BUDGET = [given for given in TINY if not given.startswith("budget.")]
KIND_PATH = "my_budget.Sentences"
KIND = """
from lightning_modules.training.budgets import BudgetKind

class Mine(BudgetKind):
    unit = "halves"

    def cost(self, update):
        return 0.5

    def updates(self, amount, data, flops):
        return 7
"""


@pytest.fixture
def space(tmp_path, monkeypatch):
    """A folder of the user's, from which Python imports."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def commands(space):
    """The two commands of the page: one run, and a comparison."""
    return example("budget", space)


def result(folder):
    return json.loads((folder / "result.json").read_text())


@pytest.mark.long
def test_training_ends_with_the_update_that_spends_the_budget(commands, space, capsys):
    folder = space / "run"
    given = ["budget.amount=150", *places(space), "logger=none", f"hydra.run.dir={folder}"]
    inside(*commands[0], *NO_BUDGET, *given)
    training = result(folder)["training"]
    spent, updates = training["other_costs"][KIND_PATH], training["updates"]
    assert 150 <= spent < 150 + 2 * spent / updates
    assert f"{spent:.0f} sentences, " in capsys.readouterr().out
    # The run before the last update has spent less: one sentence more makes no update more.
    given[0], given[-1] = f"budget.amount={spent}", f"hydra.run.dir={space / 'same'}"
    inside(*commands[0], *NO_BUDGET, *given)
    assert result(space / "same")["training"]["updates"] == updates
    given[0], given[-1] = f"budget.amount={spent + 1}", f"hydra.run.dir={space / 'more'}"
    inside(*commands[0], *NO_BUDGET, *given)
    assert result(space / "more")["training"]["updates"] == updates + 1


@pytest.mark.exhaustive
@pytest.mark.long
def test_a_comparison_states_its_budget_in_the_users_unit(commands, space):
    out = space / "sweep"
    given = ["budget.amount=100", *places(space), "logger=none", f"hydra.sweep.dir={out}"]
    succeed(*commands[1], *NO_BUDGET, *given, PYTHONPATH=str(space))
    conditions = json.loads((out / "comparison.json").read_text())["conditions"]
    [budget] = [condition for condition in conditions if condition["name"] == "budget"]
    spent = result(out / "0")["training"]["other_costs"][KIND_PATH]
    assert budget["holds"]
    assert budget["text"] == f"{spent} sentences"


@pytest.mark.parametrize(("other", "holds"), [(100, True), (102, False)])
def test_studies_are_equal_in_the_users_unit(space, other, holds):
    example("budget", space)
    outcomes = [
        made(space, name=name, cost=(KIND_PATH, cost))
        for name, cost in (("one", 100), ("two", other))
    ]
    section = study_section(outcomes)
    condition = equally_tuned(section.costs, section.kind)
    assert condition.holds is holds
    assert "6 trials, 600 sentences" in condition.text
    assert total([{KIND_PATH: 2}, {KIND_PATH: 3, "updates": 1}])[KIND_PATH] == 5


@pytest.mark.parametrize(
    ("settings", "old", "new", "expected"),
    [
        ("kind: hours\namount: 1", "", "", "budget.kind=hours: give one of target_tokens, updates"),
        ("kind: mine.Mine\namount: 1", "def cost", "def costs", "Mine: Mine lacks cost; write"),
        ("kind: mine.Mine\namount: 1", "0.5", "None", "Mine: Mine.cost returns None, but a number"),
        (
            "kind: mine.Mine\namount: 1",
            "7",
            "None",
            "budget.kind=mine.Mine: does not fix the number of updates, and scheduler ends with "
            "the last; give scheduler.total_updates=N",
        ),
    ],
)
def test_a_wrong_kind_is_refused_in_a_line(space, settings, old, new, expected):
    module = f"mine{abs(hash(expected))}"  # a new module in each case
    (space / f"{module}.py").write_text(KIND.replace(old, new))
    file = space / "my_conf" / "budget" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(settings.replace("mine.", f"{module}."))
    given = ["--config-dir", str(space / "my_conf"), "budget=mine", "logger=none"]
    line = mistake(*given, *NO_BUDGET, *places(space), f"hydra.run.dir={space / 'run'}")
    assert expected in line.replace(module, "mine")
