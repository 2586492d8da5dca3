"""A registration: its hash, what deviates, and files that were changed."""

import json

import pytest

from sweeps.claims.registration import NAME, RegisteredFile, compare, registered_content
from tests.helpers.refusals import refused
from tests.sweeps.claims.claim_runs import a_claim, plan_of


def content(folder, *claims, overrides=(), **changes):
    plan = plan_of(folder, *claims, made=False, **changes)
    return registered_content(plan, overrides, {})


@pytest.fixture
def registered(tmp_path):
    """A registration of two claims, written and read."""
    file = tmp_path / NAME
    RegisteredFile.of(content(tmp_path, a_claim(), a_claim("two"))).write(file)
    return RegisteredFile.read(file)


def test_nothing_deviates_from_the_same_command(registered, tmp_path):
    again = compare(registered, content(tmp_path, a_claim(), a_claim("two")))
    assert again.deviations == []
    assert len(again.sha256) == 64
    assert again.sha256 in again.text()
    assert compare(registered, content(tmp_path, a_claim("two"))).deviations == []  # a part of it


def test_what_decides_a_verdict_is_registered(registered):
    claim = registered.content["claims"]["paper.one"]
    assert claim["claim"]["margin"]["value"] == 1.0
    assert claim["rungs"] == [1000]
    assert claim["corpora"]["en-fr"]["trained seeds"] == [1, 2, 3]
    assert {*registered.content["code"]} == {"training", "testing", "analysis"}
    assert registered.content["analysis"]["verdict.LEVEL"] == 0.05


def test_what_deviates_is_listed(registered, tmp_path):
    margin = {"value": 0.5, "why": "half", "written": "2026-11-25"}
    claims = [a_claim(margin=margin), a_claim("three")]
    now = content(tmp_path, *claims, seeds=[1, 2, 3, 4], overrides=["model.dropout=0.1"])
    assert compare(registered, now).deviations == [
        "paper.three: not registered",
        "claims.paper.one.claim.margin.value: 0.5, registered 1.0",
        "claims.paper.one.claim.margin.why: half, registered one BLEU",
        "claims.paper.one.corpora.en-fr.trained seeds: [1, 2, 3, 4], registered [1, 2, 3]",
        "overrides: ['model.dropout=0.1'], registered []",
    ]


def test_where_files_lie_is_not_registered_and_does_not_deviate(registered, tmp_path):
    given = ["outputs=/a/folder", "logger=none", "claims=all"]
    now = content(tmp_path, a_claim(), overrides=given)
    assert now["overrides"] == []
    assert compare(registered, now).deviations == []
    earlier = RegisteredFile.of(now | {"overrides": ["outputs=/another"]})
    assert compare(earlier, now).deviations == []


def test_corpora_that_wait_are_named_in_one_line(tmp_path):
    file = tmp_path / NAME
    written = content(tmp_path, a_claim(), a_claim("two"))
    for claim in written["claims"].values():
        claim["corpora"] |= dict.fromkeys(("en-de", "draw-1"), claim["corpora"]["en-fr"])
    RegisteredFile.of(written).write(file)
    now = content(tmp_path, a_claim(), a_claim("two"))
    found = compare(RegisteredFile.read(file), now)
    assert found.deviations == ["corpora not run: draw-1, en-de"]


@pytest.mark.parametrize("change", ["margin", "hash", "no content", "no JSON"])
def test_a_changed_file_is_refused_in_one_line(registered, tmp_path, change):
    file = tmp_path / NAME
    written = json.loads(file.read_text())
    if change == "margin":
        written["content"]["claims"]["paper.one"]["claim"]["margin"]["value"] = 0.1
    elif change == "hash":
        written["sha256"] = "0" * 64
    elif change == "no content":
        del written["content"]
    file.write_text("{" if change == "no JSON" else json.dumps(written))
    changed = "was changed after" if change in ("margin", "hash") else "no registration; give"
    with refused(f"registration={file}: {changed}"):
        RegisteredFile.read(file)
