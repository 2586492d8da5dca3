"""LaTeX tables, set by the pdflatex of the system."""

import re
import shutil
import subprocess

import pytest

from sweeps.comparison.table_files import as_latex

pdflatex = pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
ROUNDING = 0.5  # points that a line may be too long without anybody seeing it


def assert_compiles(folder, tables, of):
    """Compile tables in a document of the class ``of``, such as ``twocolumn,article``.

    Fails for an error, a line that is too wide, and a character that the fonts lack.
    """
    options, _, kind = of.rpartition(",")
    texts = map(as_latex, tables)
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
