"""The scoreboard: every claim appears, numbers are those of the verdicts, files are complete."""

import csv
import io
import json
import shutil
from dataclasses import replace

import pytest
from omegaconf import DictConfig
from pydantic import ValidationError
from rich.console import Console

from lightning_modules.figures.forest_chart import forest_chart
from sweeps.claims.evidence import add_untuned_verdicts, judge_all
from sweeps.claims.forecast import last_verdicts, list_claims
from sweeps.claims.plan import SkippedClaim
from sweeps.claims.published_bleu import FLAVOURS
from sweeps.claims.scoreboard import Scale, effects_of, scoreboard, summary
from sweeps.claims.scoreboard_page import (
    claim_lines,
    compare_with_published,
    publish_scoreboard,
    write_scoreboard,
)
from sweeps.report.terminal import FOR_PAGE, MOST_LINES
from sweeps.tasks.claims import print_results
from tests.helpers.pages import needs_axe, screen, serious_violations
from tests.helpers.run_folders import SCORING, TEXT, make_run
from tests.sweeps.claims.claim_runs import VARIANTS, a_claim, plan_of
from tests.sweeps.comparison.pdflatex import assert_compiles, pdflatex

BLEU = {"unit": "BLEU", "flavour": "multi-bleu, tokenised", "data": "a corpus"}
TWO = BLEU | {"values": {"attention": 26.75, "none": 17.82}}
BEYOND = {"kind": "beyond", "more": "attention", "less": "none"}
SWAPPED = {"kind": "difference", "more": "none", "less": "attention"}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A claim that holds, one that does not, one that lacks a run, and one that cannot be run."""
    folder = tmp_path_factory.mktemp("claims")
    systems = {"transformer": ["model=transformer"], "none": ["model=seq2seq"]}
    lost = {"kind": "difference", "more": "transformer", "less": "none"}
    claims = [
        a_claim("holds", published=TWO),
        a_claim("fails", measure=SWAPPED),
        a_claim("lost", systems=systems, measure=lost),
    ]
    unknown = a_claim("else", needs="a thing", systems={}, tiers={})
    plan = replace(plan_of(folder, *claims), skipped=[SkippedClaim(unknown, "needs a thing")])
    shutil.rmtree(folder / "transformer-1")
    return judge_all(plan, SCORING)


def test_every_claim_has_a_row_with_its_verdict(judged):
    rows = {row[0]: row for row in scoreboard(judged, Scale("laptop")).rows}
    titles = [column.key for column in scoreboard(judged, Scale("laptop")).columns]
    verdict = {name: row[titles.index("verdict")] for name, row in rows.items()}
    assert verdict == {
        "paper.holds": "held",
        "paper.fails": "did not hold",
        "paper.lost": "no verdict",
        "paper.else": "not run",
    }
    assert rows["paper.else"][titles.index("why")] == "needs a thing"
    assert rows["paper.lost"][titles.index("why")] == "transformer, seed 1: was not trained"
    assert summary(judged, Scale("laptop")) == (
        "4 claims: 1 held, 1 did not hold, 0 not decidable, 1 without a verdict, 1 not run; "
        "after Holm's correction over all: 1 held, 1 did not hold, 0 not decidable; "
        "at laptop scale on a synthetic corpus"
    )


def test_any_number_of_claims_takes_25_lines_failed_ones_first(judged):
    console = Console(width=80, file=io.StringIO(), record=True)
    print_results(judged * 12, Scale("laptop"), console)
    lines = console.export_text().splitlines()
    assert len(lines) <= MOST_LINES - FOR_PAGE
    assert lines[0].startswith("✗ no verdict paper.lost: transformer, seed 1: was not trained")
    assert "✗ 10 more failed; the page names all" in lines
    assert any("of 48, the page has all" in line for line in lines)
    assert any(line.startswith("not run, the page says why: paper.else") for line in lines)
    assert any(line.startswith("paper.holds") for line in lines)


def test_the_files_have_every_claim(judged, tmp_path):
    page = write_scoreboard(judged, Scale("laptop"), tmp_path)
    text = page.read_text()
    assert all(f'id="{one.claim.name}"' in text for one in judged)
    assert "not run: needs a thing" in text
    assert text.count("rests on the 90% interval") == 2  # below the forest plot and the table
    assert "26.75" in text
    with (tmp_path / "tables" / "claims.csv").open() as file:
        rows = {row["claim"]: row for row in csv.DictReader(file)}
    assert rows["paper.else"]["why"] == "needs a thing"
    effect = judged[0].verdict.effect
    assert float(rows["paper.holds"]["ours"]) == pytest.approx(effect)
    content = json.loads((tmp_path / "tables" / "claims.json").read_text())
    assert content["rows"][0]["ours"]["value"] == pytest.approx(effect)
    assert "did not hold" in (tmp_path / "tables" / "claims.tex").read_text()
    for width in ("", "_column"):
        assert (tmp_path / "figures" / f"forest{width}.pdf").is_file()


def test_the_list_of_claims_has_the_last_verdicts(judged, tmp_path):
    write_scoreboard(judged, Scale("laptop"), tmp_path / "claims" / "laptop")
    tiers = {"laptop": {}, "bench": {"seeds": [1, 2]}, "paper": {"needs": "a corpus"}}
    claims = [a_claim("holds", tiers=tiers), a_claim("lost"), a_claim("new", needs="a part")]
    console = Console(width=80, record=True)
    console.print(list_claims([*claims, a_claim("else")], last_verdicts(tmp_path)))
    text = " ".join(console.export_text().split())
    assert "laptop: not run, 6 runs" in text  # another command could not run it
    assert "laptop: held, 6.3 min; bench: not run, 4 runs; paper: needs a corpus" in text
    assert "laptop: no verdict paper.new" in text
    assert "laptop: needs a part" in text


def test_a_tier_that_the_command_changed_is_told_and_is_not_in_the_list(judged, tmp_path):
    scale = Scale.of("laptop", ["budget.updates=9", "logger=none", "data.root=here"])
    assert scale.scope == "at laptop scale on a synthetic corpus, changed by budget.updates=9"
    page = write_scoreboard(judged, scale, tmp_path / "claims" / "laptop").read_text()
    assert summary(judged, scale).endswith(scale.scope)
    assert page.count("budget.updates=9</code>") > 1  # the overrides of each system
    assert last_verdicts(tmp_path) == {}


@pytest.mark.parametrize(
    "damaged", ["", "{", "[]", '{"rows": []}', '{"origin": {"tier": "laptop"}, "rows": [{}]}']
)
def test_a_damaged_scoreboard_is_named_and_the_others_are_read(judged, tmp_path, caplog, damaged):
    write_scoreboard(judged, Scale("laptop"), tmp_path / "claims" / "laptop")
    file = tmp_path / "claims" / "broken" / "tables" / "claims.json"
    file.parent.mkdir(parents=True)
    file.write_text(damaged)
    assert last_verdicts(tmp_path)["paper.holds", "laptop"].startswith("held")
    assert f"{file}: no table of claims" in caplog.text


@pytest.mark.parametrize(
    ("says", "range_of_effects"),
    [
        ("larger", "above 1.0"),
        ("not_smaller", "above −1.0"),
        ("no_difference", "between −1.0 and 1.0"),
    ],
)
def test_the_page_says_where_the_effect_must_lie(tmp_path, says, range_of_effects):
    judged = judge_all(plan_of(tmp_path, a_claim(says=says)), SCORING)
    page = write_scoreboard(judged, Scale("laptop"), tmp_path / "out").read_text()
    assert f"<dt>To hold</dt><dd>the effect is {range_of_effects}</dd>" in page


def test_the_page_shows_what_was_run(tmp_path):
    """With what the tier adds and replaces, and with the learning rates of the runs."""
    other = ["model=seq2seq", "model.cell=lstm"]
    tier = {"overrides": ["data.train_max_words=50"], "systems": {"none": other}}
    claim = a_claim("tiers", tiers={"laptop": tier})
    judged = judge_all(plan_of(tmp_path, claim), SCORING)
    text = write_scoreboard(judged, Scale("laptop"), tmp_path / "out").read_text()
    assert "tier=laptop data.train_max_words=50 model=bahdanau<" in text
    assert "tier=laptop data.train_max_words=50 model=seq2seq model.cell=lstm<" in text
    assert "attention 0.004, none 0.004; not tuned" in " ".join(text.split())
    assert "by hand" not in text


def test_verdicts_on_trained_lengths_stand_beside(tmp_path):
    """The column is there where at least one claim has such a verdict, and empty for others."""
    about_length = a_claim("beyond", measure=BEYOND)
    judged = judge_all(plan_of(tmp_path, a_claim(), about_length, train_max_words=10), SCORING)
    table = scoreboard(judged, Scale("laptop"))
    titles = [column.key for column in table.columns]
    first, second = [row[titles.index("on_trained")] for row in table.rows]
    assert judged[0].on_trained is not None
    assert first == str(judged[0].on_trained.outcome)
    assert second is None
    page = write_scoreboard(judged, Scale("laptop"), tmp_path / "out").read_text()
    assert page.count("<dt>On trained lengths</dt>") == 1


@pdflatex
def test_the_table_compiles_within_the_line(judged, tmp_path):
    assert_compiles(tmp_path, [scoreboard(judged, Scale("laptop"))], "article")


def test_a_verdict_on_tuned_systems_has_the_untuned_beside_it(judged, tmp_path):
    holds, fails, lost, _ = judged
    tuned = add_untuned_verdicts(judged, [replace(fails, claim=holds.claim), lost])
    table = scoreboard(tuned, Scale("laptop"))
    rows = [dict(zip([c.key for c in table.columns], row, strict=True)) for row in table.rows]
    assert [row["verdict"] for row in rows] == ["held", "did not hold", "no verdict", "not run"]
    assert [row["untuned"] for row in rows] == ["did not hold", None, None, None]
    assert table.origin["learning rates"] == "tuned alike"
    effect = getattr(rows[0]["untuned_effect"], "value", None)
    assert effect == pytest.approx(fails.verdict.effect)
    place = tmp_path / "claims" / "laptop"
    page = write_scoreboard(tuned, Scale("laptop"), place).read_text()
    assert "verdict, untuned" in page
    assert page.count("tuned alike: of half, once and twice") == 2
    assert last_verdicts(tmp_path)["paper.holds", "laptop"] == "held, tuned alike, 6.3 min"


def test_effects_are_multiples_of_margins(judged):
    said = "Forest plot of 2 effects. held: paper.holds. did not hold: paper.fails."
    assert forest_chart(effects_of(judged), "container").description == said
    margin = {"value": 4.0, "why": "four", "written": "2026-11-25"}
    wide = replace(judged[0], claim=a_claim("holds", published=TWO, margin=margin))
    [one], [quarter] = effects_of(judged[:1]), effects_of([wide])
    assert one.effect == pytest.approx(judged[0].verdict.effect)
    assert one.published == pytest.approx(26.75 - 17.82)
    for key in ("effect", "low", "high", "published"):
        assert getattr(quarter, key) == pytest.approx(getattr(one, key) / 4)


def test_published_effects_need_values_in_the_unit_of_the_claim():
    assert a_claim(published=TWO).published_effect == pytest.approx(8.93)
    assert a_claim(published=TWO, measure=SWAPPED).published_effect == pytest.approx(-8.93)
    assert a_claim().published_effect is None
    assert a_claim(published=BLEU | {"values": {"none": 17.82}}).published_effect is None
    assert a_claim(published=TWO, measure=BEYOND).published_effect is None
    share = {"unit": "length ratio", "data": "a corpus", "values": {"none": 0.86}}
    below = {"kind": "level", "system": "none", "score": "length_ratio", "below": 1.0}
    assert a_claim(published=share, measure=below).published_effect == pytest.approx(0.14)
    in_bleu = {"kind": "level", "system": "none", "below": 1.0}
    assert a_claim(published=share, measure=in_bleu).published_effect is None


def test_ours_stands_beside_in_the_flavour_of_the_paper(judged):
    claim, evidence = judged[0].claim, judged[0].evidence
    found = compare_with_published(claim, evidence)
    assert found is not None
    # The made sentences have no punctuation: all tokenisers agree.
    assert [*found.ours.values()] == pytest.approx(judged[0].means, abs=0.5)
    assert found.agreement is None
    assert compare_with_published(judged[1].claim, evidence) is None


def test_sentences_without_unknown_words_are_those_of_the_claims_own_systems(tmp_path):
    """What systems of other claims do not know changes nothing, though the test set is shared."""
    systems = {"transformer": ["model=transformer"], "none": ["model=seq2seq"]}
    measure = {"kind": "difference", "more": "transformer", "less": "none"}
    unlike = {"attention": {0, 3}, "none": {3, 7}, "transformer": {20}}
    for system, unknown in unlike.items():
        for seed in (1, 2, 3):
            make_run(tmp_path / f"{system}-{seed}", VARIANTS[system], seed, unknown=unknown)
    published = TWO | {"flavour": "multi-bleu, tokenised, no UNK"}
    claims = [a_claim("other", systems=systems, measure=measure), a_claim(published=published)]
    [_, one] = judge_all(plan_of(tmp_path, *claims), SCORING)
    assert one.evidence is not None
    found = compare_with_published(one.claim, one.evidence)
    assert found is not None
    whole = FLAVOURS["multi-bleu, tokenised"]
    for system, ours in found.ours.items():
        scores = []
        for run in one.evidence.runs[system]:
            kept = [n for n in range(len(run.test.references)) if n not in {0, 3, 7}]
            hypotheses = [run.output.hypotheses[n] for n in kept]
            references = [run.test.references[n] for n in kept]
            scores.append(whole.score(hypotheses, references, "fr"))
        assert ours == pytest.approx(sum(scores) / 3)


def test_without_a_sentence_nothing_stands_beside(tmp_path):
    published = TWO | {"flavour": "multi-bleu, tokenised, no UNK"}
    every = set(range(len(TEXT.references)))
    [one] = judge_all(plan_of(tmp_path, a_claim(published=published), unknown=every), SCORING)
    assert one.evidence is not None
    assert compare_with_published(one.claim, one.evidence) is None


def test_curves_have_a_point_for_each_system_and_length(judged):
    evidence, claim = judged[0].evidence, judged[0].claim
    lines = claim_lines(evidence, claim, "container")
    points = {(point["system"], point["group"]): point for point in lines.points}
    groups = {bucket.bounds.label for bucket in evidence.lengths.buckets}
    assert {*points} == {(s, g) for s in ("attention", "none") for g in groups}
    for point in points.values():
        assert point["low"] < point["score"] < point["high"]


@pytest.mark.long
@pytest.mark.chromium
def test_a_claim_of_the_table_leads_to_its_curves(browser, judged, tmp_path):
    from selenium.webdriver.support.ui import WebDriverWait

    page = write_scoreboard(judged, Scale("laptop"), tmp_path)
    browser.get_log("browser")
    browser.get(page.as_uri())
    browser.find_element("css selector", "#claims a[href='#paper.holds']").click()
    find = "const fold = document.getElementById('paper.holds'); return fold.open && "
    drawn = find + "fold.querySelectorAll('svg.marks').length"
    WebDriverWait(browser, 20, poll_frequency=0.05).until(lambda _: browser.execute_script(drawn))
    assert not browser.execute_script("return document.getElementById('paper.fails').open")
    assert browser.get_log("browser") == []


@pytest.fixture
def unfolded(browser, judged, tmp_path):
    browser.get(write_scoreboard(judged, Scale("laptop"), tmp_path).as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
    return browser


@needs_axe
@pytest.mark.chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_the_scoreboard(unfolded, scheme):
    with screen(unfolded, scheme=scheme):
        assert serious_violations(unfolded) == []


@pytest.mark.long
@pytest.mark.chromium
@pytest.mark.parametrize("width", [390, 1400])
def test_the_scoreboard_needs_no_sideways_scrolling(unfolded, width):
    with screen(unfolded, width=width):
        content = unfolded.execute_script("return document.documentElement.scrollWidth")
    assert content <= width


def test_published_curves_lie_beside_ours_and_say_what_they_are(judged):
    curves = {"none": [[45, 12.0], [5, 25.5]]}
    published = TWO | {"curves": curves, "read_off": True}
    lines = claim_lines(judged[0].evidence, a_claim(published=published), "container")
    line, *_ = lines.others
    drawn = line.to_dict()["data"]["values"]
    assert [(each["place"], each["score"]) for each in drawn] == [(5.0, 25.5), (45.0, 12.0)]
    assert {each["name"] for each in drawn} == {"none, published, read off"}
    assert lines.range[0] <= 12.0 <= 25.5 <= lines.range[1]
    with pytest.raises(ValidationError, match="other is no system"):
        a_claim(published=TWO | {"curves": {"other": [[5, 1.0]]}})


def test_wandb_gets_every_verdict(judged, tmp_path, monkeypatch):
    pages = []
    monkeypatch.setattr(
        "lightning_modules.tracking.wandb_report.publish_page",
        lambda page, *_, **__: pages.append(page),
    )
    write_scoreboard(judged, Scale("laptop"), tmp_path)
    publish_scoreboard(judged, Scale("laptop"), tmp_path, DictConfig({}))
    [data] = pages
    assert data.description == summary(judged, Scale("laptop"))
    assert data.config["verdicts"]["paper.lost"] == "no verdict"
    assert data.summary["claim/paper.holds"] == judged[0].verdict.effect
    assert data.summary["claim/paper.holds_low"] == judged[0].verdict.interval[0]
    assert "claim/paper.lost" not in data.summary
    assert data.pictures["forest"].is_file()
    _, rows = data.tables["claims"]
    assert len(rows) == 4
    assert "paper.fails" in data.page
