"""The notebooks: their form, and every cell in order, with trainings of seconds."""

import ast
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import pytest

import attention_bench as ab
from attention_bench import training
from tests.helpers.commands import BLOCK, ROOT, TINY, inside, places

FOLDER = ROOT / "docs" / "teach"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
TO_FILL = re.compile(r"# Task \d+: fill in .*")
"""First line of a cell that the class fills; the solution has the same."""
MAGIC = re.compile(r"^( *)%pip .*$", re.M)
SMALL = [*TINY, "data.test_size=60", "scoring.resamples=200"]


def cells(notebook: Path, kind: str) -> list[str]:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == kind]


def solutions() -> dict[str, str]:
    """Return the code of each solution by its first line."""
    text = (FOLDER / "lab_solutions.md").read_text(encoding="utf-8")
    return {code.split("\n", 1)[0]: code for language, code in BLOCK.findall(text)
            if language == "python"}  # fmt: skip


def run_cell(cell: str, namespace: dict[str, Any]) -> None:
    """Run a cell and show the value of its last line, as a notebook does."""
    tree = ast.parse(MAGIC.sub(r"\1raise AssertionError('installs what is there')", cell))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), namespace)
    if isinstance(last, ast.Expr):
        shown = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
        if isinstance(shown, alt.TopLevelMixin):
            bundle = shown._repr_mimebundle_(None, None)
            assert bundle is not None
            assert "image/svg+xml" in bundle
        else:
            assert shown is None or getattr(shown, "_repr_html_", shown.__repr__)()


def run_notebook(notebook: Path, filled: Mapping[str, str]) -> dict[str, Any]:
    """Run the cells in a fresh namespace, those to fill as they are filled; return it."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(notebook, "code"):
        run_cell(filled.get(cell.split("\n", 1)[0], cell), namespace)
    return namespace


@pytest.fixture(scope="module")
def in_seconds(space):
    """Train in this process, and little; charts are as before afterwards."""
    train, compare, renderer = ab.train, ab.compare, alt.renderers.active

    def run_inside(given, log):
        inside(*given)
        return 0, ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "run_command", run_inside)
        patch.setattr(ab, "train", lambda *given: train(*given, *SMALL, *places(space)))
        patch.setattr(ab, "compare", lambda runs: compare(runs, "scoring.resamples=200"))
        yield
    alt.renderers.enable(renderer)


@pytest.mark.long
def test_the_figure_is_drawn_by_its_cells(in_seconds):
    made = run_notebook(FOLDER / "figure2.ipynb", {})
    assert [made[name].result.variant for name in ("without", "attention")] == [
        "seq2seq", "bahdanau"
    ]  # fmt: skip
    assert made["heat_map"].gold


@pytest.mark.long
def test_the_lab_works_with_the_solutions(in_seconds):
    """Its own checks pass; the interval is Student's, 4.303 standard errors for three values."""
    made = run_notebook(FOLDER / "lab.ipynb", solutions())
    low, high = made["interval"]([0.50, 0.45, 0.46])
    assert (low + high) / 2 == pytest.approx(0.47)
    assert (high - low) / 2 == pytest.approx(4.302653 * (0.0007 / 3) ** 0.5)
    assert made["second"].unfair == []


def test_each_cell_to_fill_has_a_solution():
    to_fill = [first for cell in cells(FOLDER / "lab.ipynb", "code")
               if TO_FILL.fullmatch(first := cell.split("\n", 1)[0])]  # fmt: skip
    assert list(solutions()) == to_fill


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_outputs_are_stored(notebook):
    """So that changes are small; a cell has an id, by which tools tell cells apart."""
    text = notebook.read_text(encoding="utf-8")
    content = json.loads(text)
    assert text == json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in code] == [([], None)] * len(code)
    assert len({cell["id"] for cell in content["cells"]}) == len(content["cells"])


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_form_is_that_of_notebooks(notebook):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is missing: form not checked")
    nbformat.validate(nbformat.read(notebook, as_version=nbformat.NO_CONVERT))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_address_is_that_of_the_readme(notebook):
    """It stands in one cell; a placeholder, ``URL``, until the project is published."""
    cloned = re.search(r"git clone (\S+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert cloned
    code = "\n".join(cells(notebook, "code"))
    assert re.findall(r"git\+(\S+)", code) == [cloned[1]]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_lead_somewhere(notebook):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", "".join(cells(notebook, "markdown")))
    assert [link for link in links if not (notebook.parent / link).exists()] == []
