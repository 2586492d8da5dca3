"""The examples of a page of ``docs/plugs``: files to write, and commands to run."""

import re
import shlex
from pathlib import Path

from tests.helpers.commands import ROOT

BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def example(page: str, folder: Path) -> list[list[str]]:
    """Write the files of a page into ``folder``; return the arguments of each ``run.py`` command.

    A block is a file if its first line is a comment with the file's name, ``# my_window.py``.
    Commands stand in blocks of ``sh``, one a line. Give ``PYTHONPATH=folder`` to run the commands.
    """
    text = (ROOT / "docs" / "plugs" / f"{page}.md").read_text(encoding="utf-8")
    commands = []
    for language, content in BLOCK.findall(text):
        name = re.match(r"# (\S+\.\w+)\n", content)
        if name:
            file = folder / name[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        elif language == "sh":
            lines = [shlex.split(line, comments=True) for line in content.splitlines()]
            commands += [words[2:] for words in lines if words[:2] == ["python", "run.py"]]
    assert commands, page
    return commands
