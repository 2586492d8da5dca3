"""The files of ``conf/claim``, and the choice of claims by name."""

import math
from collections import Counter
from typing import Any

import pytest
import yaml

from sweeps.claims.claim import QUESTIONS, TIERS, all_claims, choose, read_claim
from tests.helpers.refusals import refused

OWN: dict[str, Any] = {
    "statement": "More is better.",
    "place": "Table 9",
    "quote": {"text": "We find more.", "section": "3", "read": "2026-11-25"},
    "fidelity": dict.fromkeys(QUESTIONS, True),
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
    assert tiers["laptop"] >= 50
    assert tiers["bench"] >= 10
    assert tiers["paper"] >= 20


def test_what_cannot_run_says_what_it_needs():
    for claim in all_claims().values():
        assert (claim.needs is None) == bool(claim.systems and claim.tiers), claim.name


def test_twenty_claims_are_contested():
    assert sum(claim.contested for claim in all_claims().values()) == 20


def test_seeds_of_claims_are_neither_those_of_pilots_nor_of_replications():
    for claim in all_claims().values():
        for tier in claim.tiers:
            assert len(claim.seeds(tier)) >= {"laptop": 5}.get(tier, 3), claim.name
            assert max(claim.seeds(tier)) < 11, claim.name


def test_differences_of_bleu_are_shares_of_what_attention_brings():
    """BLEU of a generated corpus reaches 100, so that half a BLEU means less there."""
    for claim in all_claims().values():
        is_share = claim.margin.unit == "attention"
        assert is_share == claim.measure.of_bleu_differences, claim.name
        assert not is_share or claim.margin.value < 0.5, claim.name


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


def test_claims_are_chosen_by_paper_and_by_name():
    of_paper = choose(["bahdanau2015"])
    assert len(of_paper) >= 9
    assert {claim.name.partition(".")[0] for claim in of_paper} == {"bahdanau2015"}
    both = choose(["luong2015.input_feeding", "bahdanau2015.figure2_gap"])
    assert [claim.name for claim in both] == ["luong2015.input_feeding", "bahdanau2015.figure2_gap"]
    assert choose(["all"]) == list(all_claims().values())
    assert choose(["all", "bahdanau2015"]) == choose(["all"])


def test_a_file_of_the_user_is_a_claim(own):
    [claim] = choose([str(own())])
    assert claim.overrides("more", "laptop") == ["tier=laptop", "model=bahdanau"]
    assert claim.margin.written.isoformat() == "2026-11-25"
    assert claim.seeds("laptop") == (1, 2, 3)


def fidelity(why=None, **answers):
    return dict.fromkeys(QUESTIONS, True) | answers | ({} if why is None else {"why": why})


def test_any_no_makes_an_extension(own):
    assert read_claim(own()).extension("laptop") is None
    narrow = {"systems": False, "why": "Ours are narrow."}
    changes: dict[str, Any] = {
        "fidelity": fidelity("Nobody says so.", paper=False),
        "tiers": {"laptop": {"fidelity": narrow}, "paper": {}},
    }
    claim = read_claim(own(**changes))
    assert claim.extension("laptop") == "Nobody says so. Ours are narrow."
    assert claim.extension("paper") == "Nobody says so."
    assert [key for key, yes in claim.answers("laptop").items() if not yes] == ["systems", "paper"]
    assert [key for key, yes in claim.answers("paper").items() if not yes] == ["paper"]


def test_a_margin_may_be_a_share_of_what_attention_brings(own):
    assert read_claim(own()).decision_margin(40.0).size == 1.0
    claim = read_claim(own(margin=SHARE))
    assert claim.decision_margin(40.0) == (2.0, "larger")
    with refused("give its attention in conf/claim/corpora.yaml"):
        claim.decision_margin(None)


def test_a_system_has_its_own_floor_or_the_usual_one(own):
    floors = {"systems": {"less": None}, "why": "that it fails is the claim"}
    claim = read_claim(own(floors=floors))
    assert [claim.floor(system, 30.0) for system in ("more", "less")] == [30.0, None]
    assert read_claim(own()).floor("less", 30.0) == 30.0


SHARE: dict[str, Any] = OWN["margin"] | {"unit": "attention", "value": 0.05}
SLOPES = {"kind": "slope_difference", "more": "more", "less": "less", "log": True}


def level(**limits):
    return {"measure": {"kind": "level", "system": "more"} | limits}


def several(kind, **more):
    systems = OWN["systems"] | {"third": ["model=luong_global"]}
    return {"systems": systems, "measure": {"kind": kind} | more}


THREE = ["more", "less", "third"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"margin": OWN["margin"] | {"value": 0}}, "margin.value=0"),
        ({"margin": OWN["margin"] | {"value": math.inf}}, "margin.value"),
        ({"margin": OWN["margin"] | {"written": "2999-01-01"}}, "a day in the future"),
        ({"margin": {"value": 1.0, "why": "x"}}, "margin.written"),
        ({"margin": SHARE, "measure": SLOPES}, "margin.unit=attention: only a difference of BLEU"),
        ({"quote": {"text": "More."}}, "quote"),
        ({"quote": "read"}, "quote"),
        ({"fidelity": None}, "fidelity: answer systems, measure, regime, lengths, paper with"),
        ({"needs": "time"}, "for a claim that can be run, and for no other"),
        ({"fidelity": fidelity(paper=False)}, "why: give one sentence where an answer is false"),
        ({"fidelity": fidelity("No reason.")}, "why: give one sentence where an answer is false"),
        ({"tiers": {"laptop": {"fidelity": {"regime": True, "why": "x"}}}}, "regime=True"),
        ({"floors": {"systems": {"x": None}, "why": "x"}}, "x is no system of the claim"),
        ({"tiers": {"laptop": {"rungs": [4, 2]}}}, "rungs=[4, 2]: give rising amounts"),
        ({"measure": SLOPES | {"kind": "kept_difference"}}, "measure.kept_difference.long"),
        ({"published": {"unit": "AER (%)", "data": "x", "values": {"more": math.nan}}}, "values"),
        ({"published": {"unit": "AER (%)", "data": "x", "values": {"x": 1}}}, "x is no system"),
        ({"measure": OWN["measure"] | {"less": "none"}}, "none is no system"),
        ({"measure": OWN["measure"] | {"less": "more"}}, "more is named twice"),
        ({"measure": OWN["measure"] | {"lengths": [50, 20]}}, "holds no number; give [20, 50]"),
        ({"measure": OWN["measure"] | {"kind": "agreement", "score": "aer"}}, "leave score out"),
        (level(), "give one of both"),
        (level(above=1, below=2), "give one of both"),
        (several("optimum", rungs=THREE, best="none"), "best=none: give one of the rungs more, "),
        (several("order", order=THREE) | {"says": "no_difference"}, "kind order compares several"),
        (several(**OWN["measure"]), "the measure does not name the system third"),
        ({"systems": OWN["systems"] | {"less": ["tier=paper"]}}, "less: tier=paper belongs to the"),
        ({"tiers": {"laptop": {"systems": {"less": ["seed=4"]}}}}, "less: seed=4 belongs to the"),
        ({"tiers": {"laptop": {"overrides": ["+workers=2"]}}}, "at laptop: +workers=2 belongs"),
        ({"tiers": {"laptop": {"overrides": ["scoring.edges=[5]"]}}}, "scoring.edges=[5] belongs"),
        ({"tiers": {"laptop": {"seeds": [0, 1, 2]}}}, "seeds"),
        ({"tiers": {"laptop": {"seeds": [1, 1, 1]}}}, "seeds=[1, 1, 1]: the same seed trains"),
        ({"tiers": {}}, "tiers: give those where the claim can be run, of laptop, bench, paper; "),
        ({"kind": "difference"}, "kind=difference"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(own, changes, message):
    file = own(**changes)
    with refused(message, str(file)):
        read_claim(file)


@pytest.mark.parametrize("given", [None, "bahdanau", {"a": 1}, [], [["bahdanau2015"]]])
def test_what_names_no_claim_is_told_with_what_there_is(given):
    with refused("claims=", "give all, a paper ("):
        choose(given)


def test_two_claims_of_one_name_are_refused(own):
    file = own()
    other = file.parent / "other" / file.parent.name / file.name
    other.parent.mkdir(parents=True)
    other.with_name("paper.yaml").write_text(file.with_name("paper.yaml").read_text())
    other.write_text(file.read_text())
    assert len(choose([str(file), str(other)])) == 1  # the same claim, twice
    other.write_text(file.read_text().replace("More is", "Less is"))
    with refused("another claim of the command is named", ".mine too"):
        choose([str(file), str(other)])


def test_a_file_that_is_no_claim_is_one_line(own):
    file = own()
    with refused("paper.yaml says where claims are from"):
        choose([str(file.with_name("paper.yaml"))])
    file.write_bytes(b"statement: \xe4\n")
    with refused("mine.yaml: no YAML in UTF-8; "):
        read_claim(file)
    file.with_name("paper.yaml").unlink()
    with refused("paper.yaml: missing"):
        read_claim(file)


def test_a_claim_in_the_current_folder_is_named_by_the_folder(own, monkeypatch):
    file = own()
    monkeypatch.chdir(file.parent)
    [claim] = choose([file.name])
    assert claim.name == f"{file.parent.name}.mine"
