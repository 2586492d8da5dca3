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
from sweeps.claims.scoreboard import NO_VERDICT, NOT_RUN, TITLE
from sweeps.claims.scoreboard_tables import SEEDS_NAME
from sweeps.claims.verdict import LEVEL
from tests.helpers.commands import ROOT
from tests.helpers.run_folders import make_run
from tests.tools.findings import (
    CLAIMS,
    FINDINGS,
    REGION,
    STATED,
    Board,
    boards_in,
    claims_page,
    copy_claims,
    edition_at,
    insert,
    read_table,
    registrations,
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
    boards = boards_in(FINDINGS / CLAIMS)
    assert claims_page(page, boards) == page
    registered = registrations(FINDINGS / CLAIMS)
    last: dict[str, FoundClaim] = {}
    for board in boards:
        run = {one.claim: one for one in board.found.claims if one.outcome != NOT_RUN}
        assert run.keys() == board.longest.keys()  # of the table of all runs
        if board.found.registration is not None:
            assert run.keys() <= registered[board.found.registration].keys()
        last |= run
    for claim, one in last.items():
        [line] = re.findall(rf"^\| `{claim}` \|.*$", page, re.M)
        *_, outcome, corrected = line.strip("| ").split(" | ")
        assert outcome == one.outcome
        # No correction finds more than the claim alone, and the first step of Holm's asks most.
        paper = [each for each in last if each.split(".")[0] == claim.split(".")[0]]
        assert corrected in (one.outcome, "undecided")
        if one.p is not None and one.p > LEVEL:
            assert corrected == "undecided"
        if one.p is not None and len(last) * len(paper) * one.p <= LEVEL:
            assert corrected == one.outcome


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
    seeds = "claim,rung,score\npaper.one,400000.0,20\npaper.one,800000.0,30\n"
    write_json(board / FINDINGS_JSON, found.as_json())
    write_text(board / "tables" / f"{SEEDS_NAME}.csv", seeds)
    with pytest.raises(UserError, match="has no registration f00d"):
        copy_claims(board)
    assert boards_in(pages / CLAIMS) == []
    registration = {"sha256": "f00d", "content": {"claims": {"paper.one": {}}}}
    write_json(pages / CLAIMS / "registration_2026-01-01.json", registration)
    copy_claims(board)
    [copied] = (pages / CLAIMS).glob("*.csv")
    assert copied.read_text() == seeds
    boards = boards_in(pages / CLAIMS)
    page = claims_page("# Old\n\n<!-- by hand -->\n\nhow\n\n<!-- end -->\n\nold", boards)
    edition = edition_at("HEAD")
    assert page.startswith(f"# {TITLE}\n\n*Edition {edition} of the built-in corpus, commit ")
    assert "\n\n<!-- by hand -->\n\nhow\n\n<!-- end -->\n\n**1 claim: 1 supported" in page
    assert "- `paper.one`: It helps. Supported: it does.\n" in page
    assert "old" not in page
    elsewhere = replace(found, scope="elsewhere", claims=[replace(one, claim="paper.two")])
    other = boards[0]._replace(content=boards[0].content | {"found": elsewhere.as_json()})
    with pytest.raises(UserError, match="scoreboards of one scope are needed"):
        claims_page("", [*boards, other])
    with pytest.raises(UserError, match="scoreboards of one scope are needed"):
        claims_page("", [])
    write_json(board / FINDINGS_JSON, elsewhere.as_json())
    with pytest.raises(UserError, match="has other claims of"):
        copy_claims(board)
    assert boards_in(pages / CLAIMS) == boards
    make_run(tmp_path / "outputs" / "runs" / "1", git_commit="0" * 40)
    with pytest.raises(UserError, match="runs of one commit are needed"):
        copy_claims(board)


def judged(day, outcome, *claims, rung=400_000):
    """A scoreboard of some claims, all judged alike at a rung."""
    found = FoundClaims(
        "at laptop scale",
        float(rung),
        f"{rung:,} target tokens",
        None,
        [],
        [FoundClaim(claim, f"{claim} helps.", outcome, "Why.", p=1e-9) for claim in claims],
    )
    seeds = "".join(f"{claim},{rung}\n" for claim in claims)
    content = {"commit": "89ac01cd", "edition": 3, "date": day, "found": found.as_json()}
    return Board(day, content, f"claim,rung\n{seeds}")


def test_a_claim_has_its_last_verdict_and_earlier_ones_are_listed():
    first = judged("2026-01-01", "undecided", "a.one", "a.two", "b.one")
    later = judged("2026-01-03", "supported", "a.one", "b.one", rung=800_000)
    page = claims_page("", [first, later])
    assert "**3 claims: 2 supported and 1 undecided" in page
    assert page.count("| `a.one` |") == 1
    *_, before = page.partition("## Judged before, with smaller budgets\n\n")
    assert before.splitlines() == [
        f"- `{claim}`, 2026-01-01, up to 400,000 target tokens: undecided, –"
        for claim in ("a.one", "b.one")
    ]
    lost = judged("2026-01-04", NO_VERDICT, "a.one", rung=1_600_000)
    stays = claims_page("", [first, later, lost])
    assert "**3 claims: 2 supported and 1 undecided" in stays
    whole = judged("2026-01-03", "supported", "a.one", "a.two", "b.one", rung=800_000)
    assert "89ac01cd, 2026-01-01" in claims_page("", [first, whole])  # its date stays
    with pytest.raises(UserError, match=r"^a\.one: was judged on 2026-01-01 and 2026-01-03; a "):
        claims_page("", [first, judged("2026-01-03", "supported", "a.one")])


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
