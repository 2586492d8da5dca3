"""Figures on the pages of ``docs/findings``: recorded from a comparison, inserted into pages.

``python -m tests.tools.findings quickstart=COMPARISON_DIR`` writes ``results/quickstart.json``
there: commit, edition of the built-in corpus, date, and the tables that pages show; then it fills
the pages, as it does without arguments. A page marks what is inserted: from a line ``<!-- results:
quickstart -->`` (where the figures come from) or ``<!-- results: quickstart bleu_by_length -->`` (a
table) to a line ``<!-- end -->``.

``claims=SCOREBOARD_DIR`` copies what a scoreboard of ``task=claims`` found, and its table of seeds,
to ``claims/``, by the day on which it was found; ``claims.md`` has the claims of all scoreboards
there, each with its last verdict.
"""

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from datamodules.errors import UserError
from datamodules.files import write_json, write_text
from lightning_modules.runs.files import read_result
from lightning_modules.runs.paths import RESULT, TABLES
from sweeps.claims.findings import FINDINGS_JSON, FoundClaims, findings
from sweeps.claims.scoreboard import NO_VERDICT, NOT_RUN
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


class Board(NamedTuple):
    """What a scoreboard found on a day, as ``claims/`` keeps it."""

    day: str
    content: dict[str, Any]  # commit, edition and date, and what was found
    seeds: str  # its table of all runs, as CSV

    @property
    def found(self) -> FoundClaims:
        """What was found about each claim."""
        return FoundClaims.read(self.content["found"])

    @property
    def longest(self) -> dict[str, float]:
        """The largest budget of each claim that was run."""
        amounts: dict[str, float] = {}
        for row in csv.DictReader(io.StringIO(self.seeds)):
            amounts[row["claim"]] = max(amounts.get(row["claim"], 0.0), float(row["rung"]))
        return amounts


def boards_in(folder: Path) -> list[Board]:
    """Return what ``claims/`` has, by day."""
    found = []
    for file in sorted(folder.glob(f"{FOUND}_*.json")):
        day = file.stem.removeprefix(f"{FOUND}_")
        seeds = (folder / f"{SEEDS_NAME}_{day}.csv").read_text(encoding="utf-8")
        found.append(Board(day, json.loads(file.read_text(encoding="utf-8")), seeds))
    return found


def copy_claims(board: Path) -> None:
    """Copy what a scoreboard found, with the commit of its runs, which lie where it lies.

    Raises ``UserError`` if runs differ in commit, if other claims were copied on that day, if the
    registration was not published, or if the page cannot be made with it. Nothing is then written.
    """
    runs = [read_result(file.parent) for file in board.parents[1].glob(f"runs/*/{RESULT}")]
    commits = {run.git_commit for run in runs if run is not None}
    if len(commits) != 1 or None in commits:
        raise UserError(f"{board}: runs of one commit are needed")
    [commit] = map(str, commits)
    file, folder = board / FINDINGS_JSON, FINDINGS / CLAIMS
    found = json.loads(file.read_text(encoding="utf-8"))
    day = date.fromtimestamp(file.stat().st_mtime).isoformat()
    content = {"commit": commit[:8], "edition": edition_at(commit), "date": day, "found": found}
    seeds = (board / TABLES / f"{SEEDS_NAME}.csv").read_text(encoding="utf-8")
    new, others = Board(day, content, seeds), []
    for each in boards_in(folder):
        if each.day != day:
            others.append(each)
        elif _names(each.found) != _names(new.found):
            raise UserError(
                f"{folder}: has other claims of {day}; judge the claims of a day in one command"
            )
    if new.found.registration not in (None, *registrations(folder)):
        raise UserError(f"{folder}: has no registration {new.found.registration}; copy it there")
    claims_page("", sorted([*others, new]))
    write_json(folder / f"{FOUND}_{day}.json", content)
    write_text(folder / f"{SEEDS_NAME}_{day}.csv", seeds)


def registrations(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the claims of each registration that ``claims/`` has, by its hash."""
    files = folder.glob("registration_*.json")
    contents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    return {each["sha256"]: each["content"]["claims"] for each in contents}


def _names(found: FoundClaims) -> list[str]:
    return sorted(claim.claim for claim in found.claims)


def claims_page(text: str, boards: Sequence[Board]) -> str:
    """Return the page of claims with what scoreboards found, given by day.

    A claim that was judged again with a larger budget has its last verdict; the page lists earlier
    ones. Raises ``UserError`` if a claim was judged again with no larger budget, if scoreboards
    differ in their scope, or if there is none.
    """
    if len(scopes := {board.found.scope for board in boards}) != 1:
        raise UserError(f"scoreboards of one scope are needed, not {sorted(scopes)}")
    last: dict[str, Board] = {}
    before: list[str] = []
    for board in boards:
        for claim in board.found.claims:
            earlier = last.get(claim.claim)
            if earlier is not None and claim.outcome in (NOT_RUN, NO_VERDICT):
                continue  # an earlier verdict stays
            last[claim.claim] = board
            if earlier is None or claim.claim not in earlier.longest:
                continue
            said = next(each for each in earlier.found.claims if each.claim == claim.claim)
            if board.longest.get(claim.claim, 0.0) <= earlier.longest[claim.claim]:
                raise UserError(
                    f"{claim.claim}: was judged on {earlier.day} and {board.day}; a later verdict "
                    "needs a larger budget"
                )
            before.append(
                f"- `{claim.claim}`, {earlier.day}, up to {earlier.longest[claim.claim]:,.0f} "
                f"{str(earlier.found.until).partition(' ')[2]}: {said.outcome}, {said.effect}"
            )
    kept_of = [
        replace(
            board.found, claims=[each for each in board.found.claims if last[each.claim] is board]
        )
        for board in boards
        if board in last.values()
    ]
    title, _, made = findings(kept_of).partition("\n")
    if before:
        made = "\n".join([made.rstrip(), "", "## Judged before, with smaller budgets", "", *before])
    kept = BY_HAND.search(text)
    said_of = [*(stated(board.content) for board in boards), *([kept[0]] if kept else [])]
    return "\n\n".join([title, *said_of, made.strip()]) + "\n"


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
            new = claims_page(new, boards_in(FINDINGS / CLAIMS))
        if new != text:
            write_text(page, new)
            print(f"filled {page}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except UserError as error:
        sys.exit(f"error: {error}")
