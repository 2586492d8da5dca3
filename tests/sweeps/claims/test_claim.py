"""The files of ``conf/claim``, and the choice of claims by name."""

import math
from collections import Counter
from typing import Any

import pytest
import yaml

from datamodules.errors import UserError
from sweeps.claims.claim import TIERS, all_claims, choose, read_claim
from tests.helpers.commands import ROOT

OWN: dict[str, Any] = {
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


TABLES_COPIED = {"bahdanau2015", "britz2017", "luong2015", "sutskever2014", "vaswani2017"}
"""Papers whose tables the published values come from; other values are from further texts."""


def test_published_values_from_other_texts_are_marked():
    for claim in all_claims().values():
        paper, copied = claim.name.partition(".")[0], claim.figures == "copied from the paper"
        assert paper in TABLES_COPIED or not copied, claim.name


RECIPES = {"cho2014": "bahdanau2015", "luong2015": "luong2015_dropout"}


def test_the_paper_tier_trains_as_the_paper_did():
    """Luong et al. train without dropout for the rows of input feeding."""
    for claim in all_claims().values():
        paper = claim.name.partition(".")[0]
        if "paper" in claim.tiers:
            [recipe] = [each for each in claim.tiers["paper"].overrides if "recipe=" in each]
            known = RECIPES.get(paper, paper)
            own = "luong2015" if claim.name == "luong2015.input_feeding" else known
            assert recipe == f"recipe={own}", claim.name


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("dropout", {"with": [], "without": ["model.dropout=0.0"]}),
        ("key_size", {"whole": [], "small": ["model.key_size=16"]}),
        ("depth", {"more": [], "fewer": ["model.encoder_layers=2", "model.decoder_layers=2"]}),
        (
            "width",
            {
                "wide": ["model.width=1024", "optimizer.lr=4.9e-4"],
                "narrow": ["model.width=256", "optimizer.lr=9.9e-4"],
            },
        ),
    ],
)
def test_the_paper_tier_has_the_rows_of_table_3(name, changed):
    claim = all_claims()[f"vaswani2017.{name}"]
    tier = claim.tiers["paper"]
    assert {key: [*own] for key, own in tier.systems.items()} == {
        key: ["model=transformer_base", *more] for key, more in changed.items()
    }
    assert "data.test_sets=[newstest2013]" in tier.overrides


def test_a_claim_on_german_to_english_is_run_on_it():
    tier = all_claims()["luong2015.input_feeding"].tiers["paper"]
    assert {"data.source=de", "data.target=en", "data.test_sets=[newstest2015]"} <= {
        *tier.overrides
    }
    assert all("model.dropout=0.0" in own for own in tier.systems.values())


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
        ({"margin": OWN["margin"] | {"value": math.inf}}, "margin.value"),
        ({"margin": OWN["margin"] | {"value": 1e300}}, "margin.value"),
        ({"margin": OWN["margin"] | {"value": True}}, "margin.value"),
        ({"published": {"unit": "AER (%)", "data": "x", "values": {"more": math.nan}}}, "values"),
        ({"tiers": {"laptop": {"seeds": [0, 1, 2]}}}, "seeds"),
        ({"needs": ""}, "needs"),
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
            {"measure": {"kind": "optimum", "rungs": ["more", "less", "third"], "best": "none"}},
            "best=none: give one of the rungs more, less",
        ),
        (
            {"measure": {"kind": "agreement", "more": "more", "less": "less", "score": "aer"}},
            "leave score out",
        ),
        ({"tiers": {"laptop": {"seeds": []}}}, "tiers.laptop.seeds"),
        ({"tiers": {"laptop": {"seeds": [1, 1, 1]}}}, "seeds=[1, 1, 1]: the same seed trains"),
        (
            {"measure": {"kind": "difference", "more": "more", "less": "more"}},
            "more is named twice",
        ),
        ({"measure": {"kind": "order", "order": ["more", "less", "more"]}}, "more is named twice"),
        (
            {
                "systems": OWN["systems"] | {"third": ["model=luong_global"]},
                "measure": {"kind": "order", "order": ["more", "less", "third"]},
                "says": "no_difference",
            },
            "says=no_difference: kind order compares several systems",
        ),
        (
            {"measure": OWN["measure"] | {"lengths": [50, 20]}},
            "lengths=[50, 20]: holds no number; give [20, 50]",
        ),
        (
            {"systems": OWN["systems"] | {"third": ["model=luong_global"]}},
            "the measure does not name the system third",
        ),
        (
            {"systems": OWN["systems"] | {"less": ["model=seq2seq", "tier=paper"]}},
            "less: tier=paper belongs to the command",
        ),
        (
            {"tiers": {"laptop": {"systems": {"less": ["model=seq2seq", "seed=4"]}}}},
            "less: seed=4 belongs to the command",
        ),
        ({"tiers": {"laptop": {"overrides": ["+workers=2"]}}}, "at laptop: +workers=2 belongs"),
        (
            {"tiers": {"laptop": {"overrides": ["scoring.edges=[5,10]"]}}},
            "at laptop: scoring.edges=[5,10] belongs to the command",
        ),
        ({"margin": OWN["margin"] | {"written": "2999-01-01"}}, "a day in the future"),
        ({"tiers": {"desk": {}}}, "tiers.desk"),
        (
            {"tiers": {}},
            "tiers: give those where the claim can be run, of laptop, bench, paper; or",
        ),
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
    assert OWN["statement"] not in str(raised.value)  # not the whole file


@pytest.mark.parametrize("given", [None, 3, {"a": 1}, [], [["bahdanau2015"]], [None]])
def test_what_names_no_claim_is_told_with_what_there_is(given):
    with pytest.raises(UserError, match=r"^claims=.*give all, a paper \([^\n]*$"):
        choose(given)


def test_two_claims_of_one_name_are_refused(own):
    file = own()
    other = file.parent / "other" / file.parent.name / file.name
    other.parent.mkdir(parents=True)
    other.with_name("paper.yaml").write_text(file.with_name("paper.yaml").read_text())
    other.write_text(file.read_text())
    assert len(choose([str(file), str(other)])) == 1  # the same claim, twice
    other.write_text(file.read_text().replace("More is", "Less is"))
    with pytest.raises(UserError, match=r"another claim of the command is named \S+\.mine too"):
        choose([str(file), str(other)])


def test_a_file_that_is_no_claim_is_one_line(own):
    file = own()
    with pytest.raises(UserError, match=r"paper\.yaml says where claims are from"):
        choose([str(file.with_name("paper.yaml"))])
    file.write_bytes(b"statement: \xe4\n")
    with pytest.raises(UserError, match=r"mine\.yaml: no YAML in UTF-8; [^\n]*$"):
        read_claim(file)


def test_a_claim_in_the_current_folder_is_named_by_the_folder(own, monkeypatch):
    file = own()
    monkeypatch.chdir(file.parent)
    [claim] = choose([file.name])
    assert claim.name == f"{file.parent.name}.mine"


def test_a_folder_without_a_paper_is_told(own):
    file = own()
    file.with_name("paper.yaml").unlink()
    with pytest.raises(UserError, match=r"paper\.yaml: missing"):
        read_claim(file)
