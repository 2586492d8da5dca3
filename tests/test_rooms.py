"""The folders: the length of modules, and the direction of imports between folders."""

import ast
from pathlib import Path

import pytest

from tests.helpers.commands import ROOT

LIGHTNING_MODULES = (
    *("tasks", "tracking", "testing", "training", "ranks", "decoding", "figures", "variants"),
    *("runs", "attention", "metrics", "kernels"),
)
"""Folders of ``lightning_modules``: each may import from the folders to its right."""
SWEEPS = ("tasks", "studies", "claims", "explorer", "report", "launch", "comparison")
"""Folders of ``sweeps``, in the same kind of order."""
PACKAGES = ("attention_bench", "sweeps", "lightning_modules", "datamodules")
"""The packages, in the same kind of order."""
MOST_LINES = 600
"""Of a module: what a reader wants to read in one go."""


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imports_of(file: Path) -> set[str]:
    """Return the dotted names that a file imports, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def arrows_up(package: str, order: tuple[str, ...]) -> list[str]:
    """Return the imports from a folder to a folder on its left in ``order``."""
    rank = {name: place for place, name in enumerate(order)}
    imports = []
    for file in modules(package):
        room = rank.get(file.relative_to(ROOT / package).parts[0], -1)  # a module is beside all
        for name in imports_of(file):
            parts = name.split(".")
            if parts[0] == package and len(parts) > 1 and rank.get(parts[1], 99) < room:
                imports.append(f"{file.relative_to(ROOT)} imports {name}")
    return sorted(imports)


@pytest.mark.parametrize(
    ("package", "order"), [("lightning_modules", LIGHTNING_MODULES), ("sweeps", SWEEPS)]
)
def test_imports_run_one_way(package, order):
    folders = {path.parent.name for path in (ROOT / package).glob("*/*.py")}
    assert folders == set(order)
    assert arrows_up(package, order) == []


def test_packages_import_one_way():
    for place, package in enumerate(PACKAGES):
        above = {*PACKAGES[:place], "tests", "run"}
        for file in modules(package):
            if file.name != "__main__.py":  # the command itself
                assert not {name.split(".")[0] for name in imports_of(file)} & above, file


def test_wandb_is_known_to_tracking_alone():
    files = [file for package in PACKAGES for file in modules(package)]
    for file in [*files, ROOT / "run.py"]:
        roots = {name.split(".")[0] for name in imports_of(file)}
        known = file.is_relative_to(ROOT / "lightning_modules" / "tracking")
        assert known or not roots & {"wandb", "wandb_workspaces"}, file


def test_no_module_is_too_long():
    files = [file for package in (*PACKAGES, "tests") for file in modules(package)]
    lengths = {str(file): len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    assert {file: length for file, length in lengths.items() if length > MOST_LINES} == {}


def test_tests_mirror_the_tree():
    """Each folder of tests of a package has its folder of code."""
    for package in PACKAGES:
        for folder in (ROOT / "tests" / package).rglob("*/"):
            if folder.name != "__pycache__":
                assert (ROOT / folder.relative_to(ROOT / "tests")).is_dir(), folder


def test_the_map_names_every_room():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## The map")[2]
    tree = text.split("```")[1]
    rooms = {*LIGHTNING_MODULES, *SWEEPS}
    assert [room for room in sorted(rooms) if f"    {room}/ " not in tree] == []
