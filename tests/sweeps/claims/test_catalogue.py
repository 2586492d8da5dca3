"""The files of ``conf/claim``, and the choice of claims by name."""

from collections import Counter

import pytest
import yaml

from datamodules.errors import UserError
from sweeps.claims.catalogue import CLAIMS, all_claims, choose, read_claim
from sweeps.claims.claim import TIERS
from tests.helpers.commands import ROOT

OWN = {
    "statement": "More is better.",
    "place": "Table 9",
    "figures": "not verified",
    "systems": {"more": ["model=bahdanau"], "less": ["model=seq2seq"]},
    "measure": {"kind": "difference", "more": "more", "less": "less"},
    "margin": {"value": 1.0, "why": "one BLEU", "written": "2026-11-25"},
    "tiers": {"laptop": {"seeds": [1, 2, 3]}},
}


@pytest.fixture
def own(tmp_path):
    def write(**changes):
        paper = {"authors": "A", "year": 2026, "title": "B", "link": "https://example.org"}
        (tmp_path / "paper.yaml").write_text(yaml.safe_dump(paper))
        file = tmp_path / "mine.yaml"
        file.write_text(yaml.safe_dump(OWN | changes))
        return file

    return write


def test_there_are_claims_of_every_tier():
    claims = all_claims().values()
    tiers = Counter(tier for claim in claims for tier in TIERS if claim.why_not(tier) is None)
    assert len(claims) >= 35
    assert tiers["laptop"] >= 24
    assert tiers["bench"] >= 6
    page = (ROOT / "docs" / "claims.md").read_text()
    assert f"There are {len(claims)} claims" in page
    assert f"{tiers['laptop']} can be run at `laptop`" in page
    for tier in ("bench", "paper"):
        assert f"{tiers[tier]} at `{tier}`" in page


def test_what_cannot_run_says_what_it_needs():
    for claim in all_claims().values():
        assert (claim.needs is None) == bool(claim.systems and claim.tiers), claim.name


def test_published_values_of_unread_papers_are_marked():
    for file in CLAIMS.glob("*/*.yaml"):
        if file.name != "paper.yaml":
            assert read_claim(file).figures in file.read_text()


def test_claims_are_chosen_by_paper_and_by_name():
    of_paper = choose(["bahdanau2015"])
    assert len(of_paper) >= 9
    assert {claim.name.partition(".")[0] for claim in of_paper} == {"bahdanau2015"}
    both = choose(["luong2015.input_feeding", "bahdanau2015.figure2_gap"])
    assert [claim.name for claim in both] == ["luong2015.input_feeding", "bahdanau2015.figure2_gap"]
    assert choose(["all"]) == list(all_claims().values())
    assert choose(["all", "bahdanau2015"]) == choose(["all"])


def test_an_unknown_claim_is_told_with_what_there_is():
    with pytest.raises(UserError, match=r"claims=bahdanau: no such claim; give all, a paper \("):
        choose(["bahdanau"])


def test_a_file_of_the_user_is_a_claim(own):
    [claim] = choose([str(own())])
    assert claim.overrides("more", "laptop") == ["tier=laptop", "model=bahdanau"]
    assert claim.margin.written.isoformat() == "2026-11-25"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"margin": {"value": 0, "why": "x", "written": "2026-11-25"}}, "margin.value=0"),
        ({"margin": {"value": 1.0, "why": "x"}}, "margin.written"),
        ({"measure": {"kind": "difference", "more": "more", "less": "none"}}, "none is no system"),
        (
            {"published": {"unit": "AER (%)", "data": "x", "values": {"other": 1}}},
            "other is no system",
        ),
        ({"measure": {"kind": "level", "system": "more"}}, "give one of both"),
        (
            {"measure": {"kind": "level", "system": "more", "above": 1, "below": 2}},
            "give one of both",
        ),
        (
            {"measure": {"kind": "optimum", "rungs": ["more", "less", "more"], "best": "none"}},
            "best=none: give one of the rungs more, less",
        ),
        (
            {"measure": {"kind": "agreement", "more": "more", "less": "less", "score": "aer"}},
            "leave score out",
        ),
        ({"tiers": {"laptop": {"seeds": []}}}, "tiers.laptop.seeds"),
        ({"tiers": {"desk": {}}}, "tiers.desk"),
        ({"kind": "difference"}, "kind=difference"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(own, changes, message):
    file = own(**changes)
    with pytest.raises(UserError) as raised:
        read_claim(file)
    assert message in str(raised.value)
    assert str(file) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_folder_without_a_paper_is_told(own):
    file = own()
    file.with_name("paper.yaml").unlink()
    with pytest.raises(UserError, match=r"paper\.yaml: missing"):
        read_claim(file)
