"""``task=settings``, the page that it writes, and the settings in ``--help``."""

from lightning_modules.runs.settings import settings
from tests.helpers.commands import ROOT, inside, mistake, succeed


def test_the_page_of_settings_is_that_of_the_table(tmp_path):
    """After a change of ``conf/``: python run.py task=settings output=docs/settings.md."""
    inside("task=settings", f"output={tmp_path}/settings.md")
    text = (tmp_path / "settings.md").read_text(encoding="utf-8")
    assert text == (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert all(f"`{key}`" in text or f"## {key}" in text for key in settings())


def test_settings_are_explained_with_the_values_of_the_command(capsys):
    inside("task=settings", "find=model.attention.half", "model=luong_local")
    first, second = capsys.readouterr().out.splitlines()
    assert first == "model.attention.half_width=10"
    assert "Affects: weights. Read by: train." in second


def test_another_beginning_is_a_mistake():
    assert "find=optimiser: no setting has this" in mistake("task=settings", "find=optimiser")


def test_help_lists_the_settings_of_every_run():
    output = succeed("--help")
    assert settings()["seed"].meaning in output
    assert "task=settings" in output
