"""Tab completion, as the function of a shell asks for it."""

import re

import pytest

from tests.helpers.commands import ROOT, run


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize(
    ("line", "choices"),
    [
        ("python run.py model=bah", ["model=bahdanau"]),
        ("python run.py -m seed=1,2 optimizer.l", ["optimizer.lr="]),
        ("python run.py decod", ["decoding.", "decoding="]),
    ],
)
def test_a_shell_gets_the_choices(shell, line, choices):
    asked = {"COMP_LINE": line, "COMP_POINT": str(len(line))}
    done = run("--shell-completion", f"query={shell}", **asked)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == choices


def test_the_page_says_how_to_install_it():
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    [given] = re.findall(r'eval "\$\(python run.py (.*?)\)"', page)
    done = run(*given.split())
    assert done.returncode == 0, done.stderr
    assert "complete -o nospace -o default -F hydra_bash_completion python" in done.stdout
