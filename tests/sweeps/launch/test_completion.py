"""Tab completion, as the function of a shell asks for it."""

import re

import pytest

from tests.helpers.commands import ROOT, in_process


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize(
    ("line", "choices"),
    [
        ("python run.py model=bah", ["model=bahdanau"]),
        ("python run.py -m seed=1,2 optimizer.l", ["optimizer.lr="]),
        ("python run.py decod", ["decoding.", "decoding="]),
    ],
)
def test_a_shell_gets_the_choices(monkeypatch, capsys, shell, line, choices):
    monkeypatch.setenv("COMP_LINE", line)
    monkeypatch.setenv("COMP_POINT", str(len(line)))
    assert in_process("--shell-completion", f"query={shell}") == 0
    assert capsys.readouterr().out.split() == choices


def test_the_page_says_how_to_install_it(capsys):
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    [given] = re.findall(r'eval "\$\(python run.py (.*?)\)"', page)
    assert in_process(*given.split()) == 0
    shown = capsys.readouterr().out
    assert "complete -o nospace -o default -F hydra_bash_completion python" in shown
