"""Corrections within papers and over papers, against tables worked out by hand."""

from sweeps.claims.families import correct, over_papers
from sweeps.claims.verdict import Outcome, Verdict

SUPPORTED, UNDECIDED = Outcome.SUPPORTED, Outcome.UNDECIDED


def verdict(p, outcome=None):
    return Verdict(outcome or (SUPPORTED if p <= 0.05 else UNDECIDED), 2.0, None, p, 5)


def test_claims_are_corrected_within_their_paper():
    found = correct({"a.x": verdict(0.01), "a.y": verdict(0.03), "b.x": verdict(0.03)}, [])
    assert {name: each.p for name, each in found.items()} == {"a.x": 0.03, "a.y": 0.03, "b.x": 0.03}
    assert all(each.outcome is SUPPORTED for each in found.values())
    more = {f"a.{number}": verdict(0.02) for number in range(3)}
    assert {each.outcome for each in correct(more, []).values()} == {UNDECIDED}


def test_extensions_are_families_of_their_own():
    claims = {"a.x": verdict(0.03), "a.y": verdict(0.03)}
    assert {each.outcome for each in correct(claims, []).values()} == {UNDECIDED}
    assert {each.outcome for each in correct(claims, ["a.y"]).values()} == {SUPPORTED}


def test_papers_are_corrected_by_their_smallest_p_values():
    """Benjamini and Hochberg: p(k) n / k, from the largest on never rising."""
    assert over_papers([0.01, 0.02, 0.03, 0.5]) == [0.04, 0.04, 0.04, 0.5]
    assert over_papers([]) == []
    many = {f"{paper}.x": verdict(0.04 if paper == "p0" else 0.9) for paper in ("p0", "p1", "p2")}
    found = correct(many, [])
    assert found["p0.x"].outcome is UNDECIDED
    assert found["p0.x"].reason == (
        "p = 0.12 after the correction over the claims of the paper and over papers"
    )


def test_what_no_effect_decided_stays_as_it_is():
    unfair = verdict(1.0, Outcome.NOT_FAIR)
    found = correct({"a.x": unfair, "a.y": verdict(0.02)}, [])
    assert found["a.x"].outcome is Outcome.NOT_FAIR
    assert found["a.y"].p == 0.04
