"""What ``pip install`` installs: every file that the code reads, and nothing else."""

import tomllib
from fnmatch import fnmatchcase

import pytest
from setuptools import find_namespace_packages

from tests.helpers.commands import ROOT
from tests.test_rooms import PACKAGES

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TOOL = PROJECT["tool"]["setuptools"]


def files_in(package):
    found = (ROOT / package).rglob("*")
    return [file for file in found if file.is_file() and file.suffix not in (".py", ".pyc")]


def is_matched(place, pattern):
    """Return whether a pattern of package data has a path; ``**`` is any number of folders."""
    return any(fnmatchcase(place, each) for each in (pattern, pattern.removeprefix("**/")))


@pytest.mark.parametrize("top", [*PACKAGES, "conf"])
def test_every_file_that_is_no_module_is_package_data(top):
    for file in files_in(top):
        of = [
            (name, pattern)
            for name, patterns in TOOL["package-data"].items()
            for pattern in patterns
            if file.is_relative_to(ROOT.joinpath(*name.split(".")))
        ]
        assert any(
            is_matched(file.relative_to(ROOT.joinpath(*name.split("."))).as_posix(), pattern)
            for name, pattern in of
        ), file


def test_the_packages_are_the_rooms():
    found = find_namespace_packages(str(ROOT), include=TOOL["packages"]["find"]["include"])
    assert {name.split(".")[0] for name in found} == {*PACKAGES, "conf"}
    assert TOOL["py-modules"] == ["run"]


def test_the_development_extra_has_the_others():
    """But for those of a GPU, which take 700 MB, and of the site, which one long test builds."""
    extras = PROJECT["project"]["optional-dependencies"]
    [others] = [each for each in extras["dev"] if each.startswith("attention-bench[")]
    named = others.partition("[")[2].rstrip("]").split(",")
    assert set(named) == {*extras} - {"dev", "docs", "gpu", "linear"}
