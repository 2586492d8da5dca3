"""Figures on the pages of ``docs/findings``: recorded from a comparison, inserted into pages.

``python -m tests.tools.findings quickstart=COMPARISON_DIR`` writes ``results/quickstart.json``
there: commit, edition of the built-in corpus, date, and the tables that pages show; then it fills
the pages, as it does without arguments. A page marks what is inserted: from a line ``<!-- results:
quickstart -->`` (where the figures come from) or ``<!-- results: quickstart bleu_by_length -->`` (a
table) to a line ``<!-- end -->``.

``claims=SCOREBOARD_DIR`` copies what a scoreboard of ``task=claims`` found, and its table of seeds,
to ``claims/``, by the day on which it was found; ``claims.md`` has the claims of all scoreboards
there.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

from datamodules.errors import UserError
from datamodules.files import write_json, write_text
from lightning_modules.runs.files import read_result
from lightning_modules.runs.paths import RESULT, TABLES
from sweeps.claims.findings import FINDINGS_JSON, FoundClaims, findings
from sweeps.claims.scoreboard_tables import SEEDS_NAME
from sweeps.comparison.record import origin_of, read_comparison
from tests.helpers.commands import ROOT

FINDINGS = ROOT / "docs" / "findings"
CORPUS = "datamodules.grammar.GrammarCorpus"
CLAIMS, FOUND = "claims", "findings"
REGION = re.compile(
    r"^<!-- results: (?P<name>\w+)(?: (?P<table>\S+))? -->$.*?^<!-- end -->$", re.M | re.S
)
BY_HAND = re.compile(r"^<!-- by hand -->$.*?^<!-- end -->$", re.M | re.S)
"""What stays on the page of claims when it is made anew."""
STATED = re.compile(r"^\*Edition (\d+) of the built-in corpus, .+\.\*$", re.M)
"""What each page states, inserted or written by hand."""


def record(folder: Path, tables: list[str]) -> dict[str, Any]:
    """Return what pages say of the comparison in ``folder``, with these tables of its ``tables``.

    Raises ``UserError`` if its runs differ in commit, or were not trained on the built-in corpus.
    """
    comparison = read_comparison(folder)
    commits = {run.git_commit for run in comparison.runs}
    if len(commits) != 1 or None in commits:
        raise UserError(f"{folder}: runs of one commit are needed; train anew with force=true")
    for run in comparison.runs:
        if run.config["data"]["_target_"] != CORPUS:
            raise UserError(f"{folder}: {run.label} was not trained on the built-in corpus")
    [commit] = commits
    return {
        "commit": str(commit)[:8],
        "edition": edition_at(str(commit)),
        "date": origin_of(folder, comparison.folders(folder)).date,
        "tables": {name: read_table(folder / "tables" / f"{name}.md") for name in tables},
    }


def edition_at(commit: str) -> int:
    """Return the edition of the built-in corpus at a commit. Raises ``UserError`` if unknown."""
    file = f"{commit}:datamodules/grammar/corpus.py"
    shown = subprocess.run(["git", "show", file], cwd=ROOT, capture_output=True, text=True)
    found = re.search(r"^EDITION = (\d+)", shown.stdout, re.M)
    if found is None:
        raise UserError(f"{commit}: git knows no edition of the built-in corpus at this commit")
    return int(found[1])


def read_table(file: Path) -> list[list[str]]:
    """Return the cells of a Markdown table, its header first, without the rule below it."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in (lines[0], *lines[2:])]
    return [[cell.strip() for cell in row] for row in rows]


def insert(text: str, results: Path) -> str:
    """Return a page with its regions filled from the files in ``results``."""

    def filled(match: re.Match[str]) -> str:
        content = json.loads((results / f"{match['name']}.json").read_text(encoding="utf-8"))
        first = match[0].partition("\n")[0]
        body = table(content["tables"][match["table"]]) if match["table"] else stated(content)
        return f"{first}\n\n{body}\n\n<!-- end -->"

    return REGION.sub(filled, text)


def stated(content: dict[str, Any]) -> str:
    """Return the line that says where figures come from."""
    return (
        f"*Edition {content['edition']} of the built-in corpus, commit {content['commit']}, "
        f"{content['date']}.*"
    )


def table(rows: list[list[str]]) -> str:
    """Return rows as a Markdown table; the first is the header."""
    header, *lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([header, f"|{'---|' * len(rows[0])}", *lines])


def tables_of(name: str) -> list[str]:
    """Return the tables of a result that pages show."""
    pages = (page.read_text(encoding="utf-8") for page in sorted(FINDINGS.glob("*.md")))
    found = (match for text in pages for match in REGION.finditer(text))
    return sorted({one["table"] for one in found if one["name"] == name and one["table"]})


def copy_claims(board: Path) -> None:
    """Copy what a scoreboard found, with the commit of its runs, which lie where it lies.

    Raises ``UserError`` if they differ in commit, or if other claims were copied on that day.
    """
    runs = [read_result(file.parent) for file in board.parents[1].glob(f"runs/*/{RESULT}")]
    commits = {run.git_commit for run in runs if run is not None}
    if len(commits) != 1 or None in commits:
        raise UserError(f"{board}: runs of one commit are needed")
    [commit] = map(str, commits)
    file = board / FINDINGS_JSON
    found = json.loads(file.read_text(encoding="utf-8"))
    day = date.fromtimestamp(file.stat().st_mtime).isoformat()
    content = {"commit": commit[:8], "edition": edition_at(commit), "date": day, "found": found}
    copy = FINDINGS / CLAIMS / f"{FOUND}_{day}.json"
    if copy.exists():
        before = json.loads(copy.read_text(encoding="utf-8"))["found"]
        if _names(before) != _names(found):
            raise UserError(f"{copy}: has other claims; judge the claims of a day in one command")
    write_json(copy, content)
    seeds = (board / TABLES / f"{SEEDS_NAME}.csv").read_text(encoding="utf-8")
    write_text(FINDINGS / CLAIMS / f"{SEEDS_NAME}_{day}.csv", seeds)


def _names(found: dict[str, Any]) -> list[str]:
    return sorted(claim["claim"] for claim in found["claims"])


def claims_page(text: str, folder: Path) -> str:
    """Return the page of claims with what scoreboards found, which ``folder`` has.

    Raises ``UserError`` if two of them have a claim, or differ in their scope.
    """
    files = sorted(folder.glob(f"{FOUND}_*.json"))
    boards = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    found = [FoundClaims.read(board["found"]) for board in boards]
    claims = Counter(one.claim for board in found for one in board.claims)
    if twice := [name for name, count in claims.items() if count > 1]:
        raise UserError(f"{folder}: on several scoreboards: {', '.join(twice)}")
    if len(scopes := {board.scope for board in found}) > 1:
        raise UserError(f"{folder}: scoreboards of one scope are needed, not {sorted(scopes)}")
    title, _, made = findings(found).partition("\n")
    kept = BY_HAND.search(text)
    said = [*map(stated, boards), *([kept[0]] if kept else [])]
    return "\n\n".join([title, *said, made.strip()]) + "\n"


def main(arguments: list[str]) -> None:
    """Record what is given as ``NAME=COMPARISON_DIR``, then fill every page."""
    results = FINDINGS / "results"
    for name, _, folder in (argument.partition("=") for argument in arguments):
        if name == CLAIMS:
            copy_claims(Path(folder))
            continue
        content = record(Path(folder), tables_of(name))
        text = json.dumps(content, ensure_ascii=False, indent=1)
        write_text(results / f"{name}.json", text + "\n")
    fill_pages()


def fill_pages() -> None:
    """Insert the recorded results into every page."""
    for page in sorted(FINDINGS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        new = insert(text, FINDINGS / "results")
        if page.stem == CLAIMS:
            new = claims_page(new, FINDINGS / CLAIMS)
        if new != text:
            write_text(page, new)
            print(f"filled {page}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UserError as error:
        sys.exit(f"error: {error}")
