"""The site: ``make docs`` builds it with Sphinx, MyST and Furo, into ``build/docs``.

Pages are plain Markdown, so that hosts of repositories show them too; they hold no directives. The
contents of the site are the links of ``index.md``, in their order.
"""

import posixpath
import re
from pathlib import Path

from sphinx.application import Sphinx

project = "attention-bench"
extensions = ["myst_parser", "sphinx_copybutton"]
html_theme = "furo"  # has a dark mode, and a search without a server
html_title = project
html_copy_source = False
myst_heading_anchors = 4
copybutton_prompt_text = "$ "

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "CONTRIBUTING.md": "docs/project/contributing.md",
    "CHANGELOG.md": "docs/project/changelog.md",
    "README.md": "docs/index.md",
}
"""Pages outside of this folder, and the pages of the site that stand for them."""
SECTIONS = {
    "docs/tutorials": "Tutorials",
    "docs/how_to": "How to",
    "docs/reference": "Reference",
    "docs/explanation": "Explanation",
    "docs/findings": "Findings",
    "docs/teach": "Teaching",
    "docs/project": "The project",
}
"""Folders, and their headings in the contents."""
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+\.md)")


def resolve(link: str, page: str) -> str:
    """Return the path in the repository of what a page links to."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    return OUTSIDE.get(path, path)


def relink(text: str, page: str, shown: str) -> str:
    """Return the text of ``page`` with links for the place of the page ``shown``."""
    folder = posixpath.dirname(shown)
    return LINK.sub(lambda m: f"]({posixpath.relpath(resolve(m[1], page), folder)}", text)


def contents(text: str, page: str) -> str:
    """Return tables of contents of the pages that a list of pages links to."""
    pages = dict.fromkeys(resolve(link, page) for link in LINK.findall(text))
    folder = posixpath.dirname(page)
    sections = SECTIONS if page == "docs/index.md" else {folder: ""}
    tables = []
    for section, caption in sections.items():
        names = [
            posixpath.relpath(name.removesuffix(".md"), folder)
            for name in pages
            if name != page and (posixpath.dirname(name) == section or is_list(name, section))
        ]
        if names:
            options = ":hidden:\n" + (f":caption: {caption}\n" if caption else "")
            tables.append(f"\n```{{toctree}}\n{options}\n" + "\n".join(names) + "\n```\n")
    return "".join(tables)


def is_list(page: str, section: str) -> bool:
    """Return whether a page is the list of a folder inside a section."""
    return page.startswith(f"{section}/") and page.endswith("/README.md")


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Give Sphinx the text of a page: from outside where it lies there, with contents in lists."""
    shown = page = f"docs/{docname}.md"
    for outside, stands in OUTSIDE.items():
        if stands == shown and shown != "docs/index.md":
            page = outside
            app.env.note_dependency(str(ROOT / outside))
            source[0] = (ROOT / outside).read_text(encoding="utf-8")
    source[0] = relink(source[0], page, shown)
    if docname == "index" or docname.endswith("/README"):
        source[0] += contents(source[0], shown)


def setup(app: Sphinx) -> None:
    """Connect ``read`` to the event of a page that was read."""
    app.connect("source-read", read)
