"""Pages of results: figures equal the recorded ones, of the corpus as it is."""

import json
import re
import subprocess
from dataclasses import replace

import pytest

from datamodules.errors import UserError
from datamodules.files import write_json, write_text
from datamodules.grammar.corpus import EDITION
from sweeps.claims.findings import FINDINGS_JSON, FoundClaim, FoundClaims
from sweeps.claims.scoreboard import NOT_RUN, TITLE
from sweeps.claims.scoreboard_tables import SEEDS_NAME
from tests.helpers.commands import ROOT
from tests.helpers.run_folders import make_run
from tests.tools.findings import (
    CLAIMS,
    FINDINGS,
    REGION,
    STATED,
    claims_page,
    copy_claims,
    edition_at,
    insert,
    read_table,
    stated,
    table,
)

WITHOUT_CORPUS = {"parity.md", "performance.md", "gpu.md"}
"""Pages whose figures do not come from the built-in corpus."""
RESULTS = FINDINGS / "results"
PAGES = {page.name: page.read_text(encoding="utf-8") for page in sorted(FINDINGS.glob("*.md"))}


@pytest.mark.parametrize("page", PAGES)
def test_figures_equal_the_recorded_ones(page):
    """If not: python -m tests.tools.findings."""
    assert insert(PAGES[page], RESULTS) == PAGES[page]


@pytest.mark.parametrize("page", sorted(PAGES.keys() - WITHOUT_CORPUS))
def test_a_page_is_of_the_edition_of_today(page):
    """After a new edition: make a page anew (docs/project/findings.md), or remove it."""
    assert {int(found) for found in STATED.findall(PAGES[page])} == {EDITION}


def test_the_page_of_claims_has_the_verdicts_of_the_tables():
    """If not: python -m tests.tools.findings."""
    page = PAGES["claims.md"]
    assert claims_page(page, FINDINGS / CLAIMS) == page
    registered = {
        content["sha256"]: content["content"]["claims"]
        for file in (FINDINGS / CLAIMS).glob("registration_*.json")
        if (content := json.loads(file.read_text(encoding="utf-8")))
    }
    boards = [
        json.loads(file.read_text(encoding="utf-8"))["found"]
        for file in (FINDINGS / CLAIMS).glob("findings_*.json")
    ]
    for board in boards:
        run = [row for row in board["claims"] if row["outcome"] != NOT_RUN]
        assert {row["claim"] for row in run} <= {*registered[board["registration"]]}
        for row in run:
            [line] = re.findall(rf"^\| `{row['claim']}` \|.*$", page, re.M)
            assert f"| {row['outcome']} |" in line


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout of git")
def test_a_scoreboard_is_copied_and_its_claims_are_on_the_page(tmp_path, monkeypatch):
    pages, board = tmp_path / "pages", tmp_path / "outputs" / "claims" / "laptop"
    monkeypatch.setattr("tests.tools.findings.FINDINGS", pages)
    head = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(head, cwd=ROOT, capture_output=True, text=True, check=True)
    make_run(tmp_path / "outputs" / "runs" / "0", git_commit=commit.stdout.strip())
    one = FoundClaim("paper.one", "It helps.", "supported", "Supported: it does.", p=0.01)
    found = FoundClaims(
        "at laptop scale", 8e5, "800,000 target tokens", "f00d", ["seeds: 3"], [one]
    )
    write_json(board / FINDINGS_JSON, found.as_json())
    write_text(board / "tables" / f"{SEEDS_NAME}.csv", "claim,score\npaper.one,30\n")
    copy_claims(board)
    [copied] = (pages / CLAIMS).glob("*.csv")
    assert copied.read_text() == "claim,score\npaper.one,30\n"
    page = claims_page("# Old\n\n<!-- by hand -->\n\nhow\n\n<!-- end -->\n\nold", pages / CLAIMS)
    assert page.startswith(f"# {TITLE}\n\n*Edition {EDITION} of the built-in corpus, commit ")
    assert "\n\n<!-- by hand -->\n\nhow\n\n<!-- end -->\n\n**1 claim: 1 supported" in page
    assert "- `paper.one`: It helps. Supported: it does.\n" in page
    assert "old" not in page
    [file] = (pages / CLAIMS).glob("findings_*.json")
    write_text(file.with_name("findings_2026-01-01.json"), file.read_text())
    with pytest.raises(UserError, match=r"on several scoreboards: paper\.one"):
        claims_page("", pages / CLAIMS)
    elsewhere = replace(found, scope="elsewhere", claims=[replace(one, claim="paper.two")])
    content = json.loads(file.read_text()) | {"found": elsewhere.as_json()}
    write_json(file.with_name("findings_2026-01-01.json"), content)
    with pytest.raises(UserError, match="scoreboards of one scope are needed"):
        claims_page("", pages / CLAIMS)
    write_json(board / FINDINGS_JSON, elsewhere.as_json())
    with pytest.raises(UserError, match="has other claims"):
        copy_claims(board)
    make_run(tmp_path / "outputs" / "runs" / "1", git_commit="0" * 40)
    with pytest.raises(UserError, match="runs of one commit are needed"):
        copy_claims(board)


def test_every_recorded_result_is_shown():
    shown = {match["name"] for text in PAGES.values() for match in REGION.finditer(text)}
    assert {file.stem for file in RESULTS.glob("*.json")} == shown


def test_a_region_is_filled(tmp_path):
    rows = [["system", "BLEU"], ["a \\| b", "1.0"]]
    content = {"commit": "89ac01cd", "edition": 3, "date": "2026-01-31", "tables": {"scores": rows}}
    (tmp_path / "own.json").write_text(json.dumps(content), encoding="utf-8")
    regions = ("results: own", "results: own scores")
    text = "".join(f"<!-- {region} -->\nold\n<!-- end -->\n\n" for region in regions)
    page = insert(text, tmp_path)
    assert STATED.findall(page) == ["3"]
    assert stated(content) in page
    assert "old" not in page
    (tmp_path / "scores.md").write_text(f"A title\n\n{table(rows)}\n", encoding="utf-8")
    assert read_table(tmp_path / "scores.md") == rows
    assert insert(page, tmp_path) == page


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout of git")
def test_the_edition_is_that_of_the_commit():
    with pytest.raises(UserError, match="git knows no edition"):
        edition_at("0" * 40)
    for file in RESULTS.glob("*.json"):
        content = json.loads(file.read_text(encoding="utf-8"))
        commits = content["commit"].split(" and ")  # trainings may be of several
        assert all(re.fullmatch(r"[0-9a-f]{8}", commit) for commit in commits)
        assert 1 <= content["edition"] <= EDITION
