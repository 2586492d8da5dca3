"""The pages: links, the index, and the names in the commands that they show."""

import re
from pathlib import Path

import pytest

from datamodules.grammar.corpus import EDITION
from tests.helpers.commands import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CODE = re.compile(r"^```.*?^```", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = ("http://", "https://", "mailto:", "../../actions/")  # the last: pages of the host
GROUPS = ("comparison", "model", "data", "tokenizer", "scheduler", "optimizer", "callbacks",
          "decoding", "cleaning", "condition", "budget", "trainer", "logger", "tier", "report",
          "recipe", "sweep")  # fmt: skip
"""Groups of the configuration whose choices are files."""
STAND_INS = {ROOT / "docs" / "project" / name for name in ("contributing.md", "changelog.md")}
"""On the site, the files of that name at the top of the repository."""
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def prose(page: Path) -> str:
    return CODE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.M):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        repeated = next(n for n in range(100) if (f"{slug}-{n}" if n else slug) not in found)
        found.add(f"{slug}-{repeated}" if repeated else slug)
    return found


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_somewhere(page):
    broken = []
    for link in LINK.findall(prose(page)):
        if link.startswith(ELSEWHERE):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_the_index_lists_every_page():
    index = ROOT / "docs" / "index.md"
    listed = {
        (index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(prose(index))
    }
    parts = (ROOT / "docs" / "how_to" / "extend" / "README.md").parent  # has a list of its own
    pages = {page for page in PAGES if page.parent != parts and page.name != "README.md"}
    pages -= STAND_INS
    assert pages - listed == {index}
    own = parts / "README.md"
    listed = {(parts / link).resolve() for link in LINK.findall(prose(own))}
    assert set(parts.glob("*.md")) - listed == {own}


def shown() -> list[tuple[str, str]]:
    """Return group and choice of each such override in a command of ``run.py``, in any page."""
    found = set()
    for page in PAGES:
        if page.parent.name == "extend":  # examples have files of their own
            continue
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for command in re.findall(r"run\.py ([^\n`]*)", text):
            for group, given in re.findall(
                rf"(?<!\S)({'|'.join(GROUPS)})=([a-z][a-z0-9_,]*)", command
            ):
                found |= {(group, choice) for choice in given.split(",") if choice}
    return sorted(found)


def test_the_choices_that_pages_show_exist():
    missing = [
        f"{group}={choice}"
        for group, choice in shown()
        if not (ROOT / "conf" / group / f"{choice}.yaml").is_file() and choice not in ("null",)
    ]
    assert missing == []


def test_pages_know_the_edition_of_the_built_in_corpus():
    """After a new edition: make the pages of results anew, or say which edition they have."""
    said = {
        edition
        for page in PAGES
        for edition in re.findall(r"\bin\s+its\s+(\w+)", page.read_text(encoding="utf-8"))
        if edition in ORDINALS
    }
    assert said == {ORDINALS[EDITION - 1]}
