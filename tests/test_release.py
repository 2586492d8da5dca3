"""The version of a release: one number in four files."""

import re
import tomllib

from tests.helpers.commands import ROOT


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    shown = re.search(r"^  version = \{(\S+)\},$", (ROOT / "README.md").read_text("utf-8"), re.M)
    headings = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert cited is not None
    assert shown is not None
    assert {project["version"], cited[1], shown[1]} == {headings[0]}
