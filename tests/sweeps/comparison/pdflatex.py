"""LaTeX tables, set by the pdflatex of the system."""

import re
import shutil
import subprocess

import pytest

from sweeps.comparison.table_files import as_latex

pdflatex = pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
ROUNDING = 0.5  # points that a line may be too long without anybody seeing it
ACL = "twocolumn,acl"
"""Two columns as wide as those of ACL, 3.03 inches."""
WIDTHS = r"\textwidth=16cm\columnsep=0.6cm\hsize=7.7cm\columnwidth=7.7cm\linewidth=7.7cm"


def assert_compiles(folder, tables, of):
    """Compile tables in a document of the class ``of``, such as ``twocolumn,article`` or ``ACL``.

    Fails for an error, a line that is too wide, and a character that the fonts lack.
    """
    _assert_compiles(folder, map(as_latex, tables), of)


def assert_floats_compile(folder):
    """Compile the floats of figures in the folder, in two columns as wide as those of ACL."""
    names = sorted(path.name for path in folder.glob("*.tex"))
    _assert_compiles(folder, [rf"\input{{{name}}}" for name in names], ACL)


def _assert_compiles(folder, texts, of):
    if of == ACL:
        texts, of = [WIDTHS, *texts], "twocolumn,article"
    options, _, kind = of.rpartition(",")
    (folder / "all.tex").write_text(
        f"\\documentclass[{options}]{{{kind}}}\n\\usepackage{{booktabs,graphicx}}\n"
        "\\begin{document}\n" + "\n\\clearpage\n".join(texts) + "\n\\end{document}\n",
        encoding="utf-8",
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout[-2000:]
    log = (folder / "all.log").read_text(encoding="utf-8", errors="replace")
    too_wide = re.findall(r"Overfull \\hbox \(([\d.]+)pt.*", log)
    assert all(float(each) < ROUNDING for each in too_wide), log
    assert "Missing character" not in log
