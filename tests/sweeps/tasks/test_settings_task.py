"""``task=settings``, the page that it writes, and the settings in ``--help``."""

import re
from typing import Any

import pytest

from lightning_modules.runs.settings import Setting, ValueType, settings
from sweeps.tasks.settings import Default, page
from tests.helpers.commands import ROOT, in_process, inside, mistake


def test_the_page_of_settings_is_that_of_the_table(tmp_path):
    """After ``conf/`` changes: python run.py task=settings output=docs/reference/settings.md."""
    inside("task=settings", f"output={tmp_path}/settings.md")
    text = (tmp_path / "settings.md").read_text(encoding="utf-8")
    assert text == (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^(?:- `|## )([\w.]+)", text, re.M))
    left_out = settings().keys() - shown
    assert {key.rpartition(".")[2] for key in left_out} == {
        "_target_", "_partial_", "folder", "dirpath",
    }  # fmt: skip


def setting(key: str, meaning: str, affects: Any, *tasks: str, **entry: Any) -> Setting:
    return Setting(key, meaning, affects, tasks, ValueType.of(entry, is_group=False))


def group(key: str, meaning: str, affects: Any) -> Setting:
    return Setting(key, meaning, affects, ("train",), ValueType("mapping"), is_group=True)


def test_a_list_says_once_what_most_settings_affect_and_which_tasks_read_them():
    whole = group("group", "A group.", "weights")
    one = setting("group.one", "Width.", "weights", "train", type="int", least=1)
    two = setting("group.two", "Size.", "weights", "train", type="float", above=0)
    three = setting("group.three", "Way.", "test", "train", "test", type="text", choices=["a", "b"])
    values = {"group.one": "2", "group.two": "3", "group.three": "a"}
    text = page([whole, one, two, three], {key: Default(value) for key, value in values.items()})
    assert text.partition("## ")[2].splitlines() == [
        "group",
        "",
        "A group. Affects weights; read by train.",
        "",
        "- `group.one=2`: Width.",
        "- `group.two=3`: float > 0. Size.",
        "- `group.three=a`: `a`, `b`. Way. *Affects test.* *Read by train, test.*",
    ]


def test_a_key_counts_as_the_group_above_it_and_one_file_stands_above_its_values():
    whole, inner = group("group", "All.", "weights"), group("group.inner", "Some.", "nothing")
    one = setting("group.one", "Width.", "weights", "train", type="int")
    two = setting("group.two", "Size.", "weights", "train", type="int")
    below = setting("group.inner.key", "Pace.", "nothing", "train", type="int")
    values = {each.key: Default("1", "group=file") for each in (one, two, below)}
    text = page([whole, one, two, inner, below], values)
    assert text.partition("## ")[2].splitlines()[2:] == [
        "All. Affects weights; read by train; values of `group=file`.",
        "",
        "- `group.one=1`: int. Width.",
        "- `group.two=1`: int. Size.",
        "- `group.inner`: Some. *Affects nothing.*",
        "- `group.inner.key=1`: int. Pace.",
    ]


def test_counts_and_shares_need_no_range_and_other_numbers_have_theirs():
    count = setting("count", "Number.", "test", "test", type="int or null", least=1)
    share = setting("share", "Share of words.", "test", "test", type="float", least=0, most=1)
    first = setting("first", "First seed.", "test", "test", type="int", least=0)
    values = {"count": Default("3"), "share": Default("0.5"), "first": Default("1")}
    assert page([count, share, first], values).splitlines()[-3:] == [
        "- `count=3`: may be null. Number.",
        "- `share=0.5`: Share of words.",
        "- `first=1`: int ≥ 0. First seed.",
    ]


def test_keys_at_the_top_stand_with_their_task():
    alone = setting("port", "Port.", "nothing", "explore", type="int")
    shared = setting("input", "Text.", "test", "translate", "explore", type="path")
    text = page([alone, shared], {"port": Default("1", "task=explore")})
    assert text.partition("## ")[2].splitlines() == [
        "task=explore",
        "",
        "Affects nothing.",
        "",
        "- `port=1`: int. Port.",
        "",
        "## Several other tasks",
        "",
        "Affects test; read by translate, explore.",
        "",
        "- `input`: Text.",
    ]


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        ({"type": "int or null", "least": 1}, "int ≥ 1"),
        ({"type": "float", "above": 0, "below": 1}, "float in (0, 1)"),
        ({"type": "int", "least": 0, "most": 4294967295}, "int in [0, 4,294,967,295]"),
        ({"type": "text", "choices": ["lstm", "gru"], "open": True}, "`lstm`, `gru`, dotted path"),
        ({"type": "list", "of": "float"}, "list of numbers"),
        ({"type": "path or null"}, ""),
    ],
)
def test_types_in_a_table_are_brief(entry, shown):
    assert ValueType.of(entry, is_group=False).brief() == shown


def test_settings_are_explained_with_the_values_of_the_command(capsys):
    inside("task=settings", "find=model.attention.half", "model=luong_local")
    first, second = capsys.readouterr().out.splitlines()
    assert first == "model.attention.half_width=10"
    assert "Affects: weights. Read by: train." in second


def test_another_beginning_is_a_mistake():
    assert "find=optimiser: no setting has this" in mistake("task=settings", "find=optimiser")


def test_help_lists_the_settings_of_every_run(capsys):
    assert in_process("--help") == 0
    output = capsys.readouterr().out
    assert settings()["seed"].meaning in output
    assert "task=settings" in output
