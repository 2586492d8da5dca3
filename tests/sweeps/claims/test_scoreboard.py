"""The scoreboard: every claim appears in its place, numbers are those of the verdicts."""

import csv
import io
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from omegaconf import DictConfig
from rich.console import Console

from lightning_modules.figures.forest_chart import forest_chart
from lightning_modules.figures.palette import LOOKS, looks_of
from lightning_modules.metrics.resampling import Interval
from lightning_modules.runs.schema import Alarm
from sweeps.claims.card_charts import effects_of_seeds, keys_of, system_looks, where_it_falls
from sweeps.claims.cards import card_of, compare_with_published
from sweeps.claims.claim import all_claims
from sweeps.claims.evidence import CorpusResult
from sweeps.claims.findings import FoundClaims, findings
from sweeps.claims.forecast import last_verdicts, list_claims
from sweeps.claims.judgement import judge_all
from sweeps.claims.scoreboard import (
    NO_VERDICT,
    NOT_RUN,
    TAKEN_BACK,
    Scale,
    alarms_of_claims,
    effect_in_words,
    in_order,
    summary,
    unsettled,
    wrong_verdicts,
)
from sweeps.claims.scoreboard_page import publish_scoreboard, write_scoreboard
from sweeps.claims.scoreboard_tables import cost_of, effects_of, scoreboard, seeds_table
from sweeps.claims.trajectory import Extrapolation, HeldOut
from sweeps.claims.verdict import Margin, Outcome, Verdict
from sweeps.report.terminal import FOR_PAGE, MOST_LINES
from sweeps.tasks.claims import print_results
from tests.helpers.run_folders import SCORING, WIDTHS
from tests.sweeps.claims.claim_results import (
    QUOTE,
    RUNGS,
    SEEDS,
    TWO,
    a_result,
    by_name,
    evidence,
    on_corpus,
    results,
    said_of,
)
from tests.sweeps.claims.claim_runs import a_claim, finished_plan
from tests.sweeps.comparison.pdflatex import assert_compiles, pdflatex

LAPTOP = Scale("laptop")
SWAPPED = {"kind": "difference", "more": "none", "less": "attention"}
ORDER = {"kind": "order", "order": ["attention", "none", "transformer"]}


def cells(table, key):
    place = [column.key for column in table.columns].index(key)
    return {row[0].removeprefix("paper."): row[place] for row in table.rows}


def test_claims_stand_by_outcome_then_effect_and_extensions_apart():
    names = [one.claim.name for one in in_order(results())]
    assert names == [
        "paper.holds", "paper.weak", "paper.turned", "paper.nothing", "paper.crosses",
        "paper.unfair", "paper.lost", "paper.else", "paper.regime",
    ]  # fmt: skip


def test_every_claim_has_a_row_with_its_verdict_and_its_reason():
    table = scoreboard(results(), LAPTOP)
    assert cells(table, "verdict") == {
        "holds": "supported",
        "weak": "supported",
        "turned": "reversed",
        "nothing": "negligible",
        "crosses": "undecided",
        "unfair": "not a fair test",
        "lost": "no verdict",
        "else": "not run",
        "regime": "supported",
    }
    assert cells(table, "corrected")["weak"] == "undecided"
    assert cells(table, "collapsed")["crosses"] == 1
    assert cells(table, "budget")["holds"] == 800_000
    why = cells(table, "why")
    assert why["else"] == "needs a thing"
    assert why["lost"] == "attention, seed 1: was not trained"
    assert why["crosses"].startswith("“none” was still learning")
    assert cells(table, "minutes")["holds"] == 20  # two corpora; rungs are one training


def test_claims_and_extensions_are_counted_apart():
    assert summary(results(), LAPTOP) == (
        "7 claims: 2 supported, 1 reversed, 1 negligible, 1 undecided, 1 not a fair test and "
        "1 no verdict (after the corrections: 1 supported); 1 extension: 1 supported (after the "
        "corrections: none decided); 1 not run; at laptop scale on a synthetic corpus, up to "
        "800,000 target tokens"
    )


def test_one_decided_verdict_in_twenty_may_be_wrong():
    decided = [Outcome.SUPPORTED] * 30 + [Outcome.NEGLIGIBLE] * 9 + [Outcome.REVERSED]
    others = [Outcome.UNDECIDED] * 9 + [Outcome.NOT_FAIR, NO_VERDICT, NOT_RUN]
    assert wrong_verdicts([*decided, *others]) == (
        "Each decided verdict is wrong with a probability of at most 5%: of 40, at most 2.00 are "
        "expected to be wrong."
    )
    assert wrong_verdicts(others) == ""


@pytest.mark.parametrize(
    ("outcome", "says", "where"),
    [
        (Outcome.SUPPORTED, "larger", "all of the interval lies above 1.00"),
        (Outcome.SUPPORTED, "not_smaller", "all of the interval lies above −1.00"),
        (Outcome.SUPPORTED, "no_difference", "the 90% interval lies inside ±1.00"),
        (Outcome.REVERSED, "larger", "all of the interval lies beyond 1.00"),
        (Outcome.REVERSED, "no_difference", "all of the interval lies outside ±1.00"),
        (Outcome.NEGLIGIBLE, "larger", "the 90% interval lies inside ±1.00"),
    ],
)
def test_a_verdict_is_a_sentence_with_its_scope_and_its_interval(outcome, says, where):
    corpus = replace(on_corpus((1, 2, 2.5), outcome), margin=Margin(1.0, says))
    said = said_of(a_result("one", corpus), LAPTOP)
    scope = "at laptop scale on a synthetic corpus"
    words, numbers = said.split(". After 800,000 target tokens: ")
    assert words.startswith(f"{str(outcome).capitalize()} {scope}: ")
    assert not any(letter.isdigit() for letter in words)
    assert numbers.startswith("2.50 [1.50, 3.50] BLEU (attention ")
    assert f"; {where}" in numbers


def of_level(low, effect, high, **level):
    verdict = Verdict(Outcome.UNDECIDED, effect, Interval(low, high), 1.0, 5)
    measure = {"kind": "level", "system": "attention", "score": "aer"} | level
    systems = {"attention": ["model=bahdanau"]}
    return effect_in_words(a_claim(measure=measure, systems=systems), verdict)


def test_the_effect_of_a_claim_about_a_level_is_a_value_and_its_distance():
    assert of_level(17.4, 19.3, 21.2, below=50.0) == (
        "alignment error 30.70%, 19.30 [17.40, 21.20] below 50%"
    )
    assert of_level(-3.0, -1.0, 1.0, below=50.0) == (
        "alignment error 51.00%, 1.00 [−1.00, 3.00] above 50%"
    )
    kept = {"kind": "kept", "score": "bleu", "long": [11, 20], "short": [1, 10], "above": 0.5}
    assert of_level(-0.1, 0.0, 0.1, **kept).endswith(" 0.50, 0.00 [−0.10, 0.10] above 0.5")


def test_a_slope_of_a_logarithm_is_told_in_percent():
    verdict = Verdict(Outcome.SUPPORTED, float(np.log(2)), Interval(0.6, 0.8), 0.001, 5)
    falls = {"kind": "slope", "system": "none", "sign": -1, "log": True}
    said = effect_in_words(a_claim(measure=falls, systems={"none": ["model=seq2seq"]}), verdict)
    interval = "fall of the logarithm: 0.69 [0.60, 0.80]"
    assert said == f"BLEU falls by 50% for every ten words ({interval})"
    gap = {"kind": "slope_difference", "more": "attention", "less": "none", "log": True}
    assert effect_in_words(a_claim(measure=gap), verdict).startswith(
        "BLEU of “attention” divided by that of “none” rises by 100% for every ten words ("
    )


def test_a_verdict_that_is_none_says_why():
    named = by_name()
    said = {name: said_of(one, LAPTOP) for name, one in named.items()}
    ended = "corpus: “none” was still learning when training ended; the interval is wide, too. "
    assert f"{ended}After 800,0" in said["crosses"]
    moved = "the effect rises from −8.0 to +4.0, crosses 0 near 504 k"
    each = "(at each budget: −8.0, −2.0, +4.0)"
    assert said["crosses"].endswith(f" From 200,000 to 800,000 target tokens, {moved} {each}.")
    assert said["unfair"].endswith(": it reaches 5.9 BLEU, and its floor is 20.0.")
    assert "Undecided after the corrections for many claims." in said["weak"]
    assert said["lost"] == "No verdict: attention, seed 1: was not trained."
    assert said["else"] == "Not run: needs a thing."


def test_any_number_of_claims_takes_25_lines_failed_ones_first():
    console = Console(width=80, file=io.StringIO(), record=True)
    print_results(results() * 12, LAPTOP, console)
    lines = console.export_text().splitlines()
    assert len(lines) <= MOST_LINES - FOR_PAGE
    assert lines[0].startswith("✗ no verdict paper.lost: attention, seed 1: was not trained")
    assert "✗ 10 more failed; the page names all" in lines
    assert any("of 108, the page has all" in line for line in lines)
    assert any(line.startswith("not run, the page says why: paper.else") for line in lines)
    assert any(line.startswith("paper.holds") for line in lines)


def test_claims_open_with_the_trainings_that_learned_too_little(tmp_path, no_pictures):
    """Those of the last rung alone: the first rungs are short on purpose."""
    made = [one for one in results() if one.verdict is not None][:2]
    alarm = Alarm(kind="alike", text="2% as many word pairs as the references")
    for rung in made[0].corpora[0].rungs:
        first = next(iter(rung.evidence.runs.values()))[0]
        first.result.alarms.append(alarm)
    alarms = alarms_of_claims(made)
    assert alarms is not None
    assert alarms.alarmed == 1
    [(heading, runs)] = alarms.lines
    assert heading.startswith("Translations of different sentences are alike")
    assert runs.startswith(f"{made[0].claim.name}, ")
    assert runs.endswith(f"({alarm.text})")
    page = write_scoreboard(made, LAPTOP, WIDTHS, tmp_path).read_text(encoding="utf-8")
    assert page.index(str(alarms.title)) < page.index("<h2>Claims")
    console = Console(width=80, file=io.StringIO(), record=True)
    print_results(made, LAPTOP, console)
    assert console.export_text().startswith(f"✗ {alarms.title}")
    assert alarms_of_claims([one for one in results() if one.verdict is not None]) is None


def test_a_floor_and_the_end_of_learning_are_the_gates_alone(tmp_path, no_pictures):
    """A training above the claim's floor may be below another one."""
    made = [by_name()["holds"]]
    for run in made[0].corpora[0].rungs[-1].evidence.runs["none"]:
        run.result.alarms += [
            Alarm(kind="below", text="BLEU 31.0 at 1–10 words, phrase table 45.6"),
            Alarm(kind="rising", text="BLEU rose by 9%"),
        ]
        run.result.training.convergence.fall = 0.3
    assert alarms_of_claims(made) is None
    page = write_scoreboard(made, LAPTOP, WIDTHS, tmp_path).read_text(encoding="utf-8")
    assert "phrase table" not in page
    assert "floor: the systems have learned to translate short sentences" in page


def test_what_a_tick_says_of_the_end_of_training_is_what_the_verdict_says():
    card, _ = card_of(by_name()["crosses"], LAPTOP)
    checks = {yes: words for yes, words in dict(card["checks"])["Gates"] if "plateau" in words}
    assert [*checks] == [False]
    assert "left out" in next(w for _, w in dict(card["checks"])["Gates"] if "collapse" in w)
    assert not any("train" in words and "long" in words for _, words in card["checks"][1][1])
    said = str(unsettled(results(), LAPTOP))
    assert said.startswith("1 of 1 undecided verdicts")
    assert said.endswith("rungs=[200_000,400_000,800_000,1_600_000].")
    assert unsettled([by_name()["holds"]], LAPTOP) is None


@pytest.mark.parametrize(("seen", "told"), [(3.0, ": 4.00 [3.00, 5.00]; "), (3.1, ": none; ")])
def test_a_law_that_foretold_the_last_rung_wrongly_has_no_limit(seen, told):
    corpus = on_corpus((1, 2, 3), Outcome.SUPPORTED)
    assert corpus.trajectory is not None
    held_out = HeldOut(2.5, Interval(2.0, 3.0), seen)
    effect = Extrapolation(4.0, Interval(3.0, 5.0), held_out)
    corpus = replace(corpus, trajectory=replace(corpus.trajectory, effect=effect))
    card = json.dumps(card_of(a_result("one", corpus), LAPTOP), default=str)
    assert f"effect, extrapolated, not measured{told}from the smaller budgets, 2.5" in card


def test_rungs_and_shared_trainings_cost_once():
    corpus = on_corpus((1, 2, 3), Outcome.SUPPORTED)
    once, twice = (cost_of([a_result(f"{n}", corpus) for n in range(many)]) for many in (1, 2))
    assert once == twice
    assert once.trainings < once.tests == len(RUNGS) * 2 * len(SEEDS)


def test_a_quote_names_its_place_as_a_reader_would():
    places = {"5.2.2": "Section 5.2.2", "abstract": "Abstract", "Table 1": "Table 1"}
    for section, place in places.items():
        one = a_result("one", quote=QUOTE | {"section": section}, statement="It falls.")
        assert card_of(replace(one, not_run="no"), LAPTOP)[0]["quoted"] == place


def test_the_files_have_every_claim_and_every_training(tmp_path):
    page = write_scoreboard(results(), LAPTOP, WIDTHS, tmp_path)
    text = page.read_text()
    assert all(f'id="{one.claim.name}"' in text for one in results())
    with (tmp_path / "tables" / "claims.csv").open() as file:
        rows = {row["claim"]: row for row in csv.DictReader(file)}
    assert rows["paper.else"]["why"] == "needs a thing"
    assert float(rows["paper.holds"]["ours"]) == 35.9
    content = json.loads((tmp_path / "tables" / "claims.json").read_text())
    assert content["rows"][0]["ours"]["value"] == 35.9
    with (tmp_path / "tables" / "claims_seeds.csv").open() as file:
        trainings = [row for row in csv.DictReader(file) if row["claim"] == "paper.crosses"]
    assert len(trainings) == len(RUNGS) * len(SEEDS) * 2
    collapsed = [row for row in trainings if row["collapsed"] == "yes"]
    assert {(row["system"], row["seed"]) for row in collapsed} == {("none", "3")}
    assert {(row["score"], row["bleu"]) for row in collapsed} == {("", "3.3")}
    assert "paper.holds" in (tmp_path / "claims.md").read_text()
    for width in ("", "_column"):
        assert (tmp_path / "figures" / f"forest{width}.pdf").is_file()


def test_scores_of_seeds_are_those_of_the_verdict():
    corpus = on_corpus((1, 2, 3), Outcome.SUPPORTED)
    table = seeds_table([a_result("one", corpus)], LAPTOP)
    scores = [row[5] for row in table.rows if row[2:4] == [RUNGS[-1], "attention"]]
    assert scores == pytest.approx(corpus.rungs[-1].values["attention"])
    bleu = [row[6] for row in table.rows if row[2:4] == [RUNGS[-1], "attention"]]
    assert bleu == pytest.approx([85.0 + seed / 10 for seed in SEEDS])


def test_the_list_of_claims_has_the_last_verdicts(tmp_path, no_pictures):
    write_scoreboard(results(), LAPTOP, WIDTHS, tmp_path / "claims" / "laptop")
    tiers = {"laptop": {}, "bench": {"seeds": [1, 2]}, "paper": {"needs": "a corpus"}}
    claims = [
        a_claim("holds", tiers=tiers),
        a_claim("lost"),
        a_claim("new", needs="a part", fidelity=None),
    ]
    console = Console(width=80, record=True)
    console.print(list_claims([*claims, a_claim("else")], last_verdicts(tmp_path)))
    text = " ".join(console.export_text().split())
    assert "laptop: not run, 6 training runs" in text  # another command could not run it
    assert (
        "laptop: supported, 20.0 min; bench: not run, 4 training runs; paper: needs a corpus"
        in text
    )
    assert "laptop: no verdict paper.new" in text


def test_a_tier_that_the_command_changed_is_told_and_is_not_in_the_list(tmp_path, no_pictures):
    given = ["batching.max_tokens=9", "logger=none", "data.root=here", "data.skip_empty=true"]
    scale = Scale.of("laptop", given)
    assert scale.scope == "at laptop scale on a synthetic corpus, changed by batching.max_tokens=9"
    page = write_scoreboard(results(), scale, WIDTHS, tmp_path / "claims" / "laptop").read_text()
    assert scale.scope in summary(results(), scale)
    assert page.count("batching.max_tokens=9</code>") > 1  # the overrides of each system
    assert last_verdicts(tmp_path) == {}


@pytest.mark.parametrize(
    "damaged", ["", "{", "[]", '{"rows": []}', '{"origin": {"tier": "laptop"}, "rows": [{}]}']
)
def test_a_damaged_scoreboard_is_named_and_the_others_are_read(
    tmp_path, caplog, damaged, no_pictures
):
    write_scoreboard(results(), LAPTOP, WIDTHS, tmp_path / "claims" / "laptop")
    file = tmp_path / "claims" / "broken" / "tables" / "claims.json"
    file.parent.mkdir(parents=True)
    file.write_text(damaged)
    assert last_verdicts(tmp_path)["paper.holds", "laptop"].startswith("supported")
    assert f"{file}: no table of claims" in caplog.text


def test_a_registration_and_what_deviates_are_named(tmp_path, no_pictures):
    scale = Scale.of("laptop", [], "f00d" * 16, ["rungs: 2, registered 3"])
    page = write_scoreboard(results(), scale, WIDTHS, tmp_path).read_text()
    assert f'Registered before the first run: <code><abbr title="{"f00d" * 16}">f00df00<' in page
    assert "<li>rungs: 2, registered 3</li>" in page
    written = (tmp_path / "claims.md").read_text()
    assert "f00d" * 16 in written
    assert "rungs: 2, registered 3" in written
    assert scoreboard(results(), scale).origin["registration"] == "f00d" * 16


def test_the_findings_have_each_claim_once_in_words_and_once_in_the_table():
    text = findings([FoundClaims.of(results(), LAPTOP)])
    assert text.startswith("# Published claims, tested again\n\n**7 claims: 2 supported,")
    for name in ("holds", "weak", "turned", "nothing", "crosses", "unfair", "lost", "regime"):
        assert text.count(f"`paper.{name}`") == 2
    assert text.index("## Claims") < text.index("## Extensions") < text.index("## Not run")
    assert "- `paper.else`: needs a thing" in text
    [holds] = [line for line in text.splitlines() if line.startswith("| `paper.holds`")]
    assert "| 8.93 |" in holds  # published


def test_findings_of_several_scoreboards_are_corrected_over_all_their_papers(tmp_path, no_pictures):
    write_scoreboard(results(), Scale("laptop", registration="f00d" * 16), WIDTHS, tmp_path)
    board = FoundClaims.read(json.loads((tmp_path / "findings.json").read_text()))
    assert findings([board]) == (tmp_path / "claims.md").read_text()

    def another(paper, p):
        one = replace(board.claims[0], claim=f"{paper}.one", p=p, outcome="supported", multiple=99)
        return replace(board, claims=[one], budget=1.6e6, until="1,600,000 target tokens")

    alone, others = findings([another("a", 0.04)]), [another("b", 0.9), another("c", 0.9)]
    assert "1 claim: 1 supported (after the corrections: 1 supported)" in alone
    assert TAKEN_BACK not in alone
    text = findings([board, another("a", 0.04), *others])
    [row] = [line for line in text.splitlines() if line.startswith("| `a.one`")]
    assert row.endswith("| supported | undecided |")
    assert text.count(f". {TAKEN_BACK} ") == text.count("| supported | undecided |")
    assert "up to 1,600,000 target tokens.**" in text
    assert (
        text.count(f"Registered before the first run, and nothing deviates: `{'f00d' * 16}`.") == 4
    )
    assert text.index("| `a.one`") < text.index("| `paper.holds`")  # larger, in margins


@pdflatex
def test_the_table_compiles_within_the_line(tmp_path):
    assert_compiles(tmp_path, [scoreboard(results(), LAPTOP)], "article")


def test_effects_are_multiples_of_margins_and_those_of_unfair_tests_are_left_out():
    effects = {each.claim: each for each in effects_of(results())}
    assert "paper.unfair" not in effects
    assert "paper.lost" not in effects
    one = effects["paper.holds"]
    assert (one.effect, one.low, one.high) == pytest.approx((35.9, 34.9, 36.9))
    assert one.published == pytest.approx(26.75 - 17.82)
    wide = replace(on_corpus((1, 2, 3), Outcome.SUPPORTED), margin=Margin(4.0))
    [quarter] = effects_of([a_result("one", wide)])
    assert quarter.effect == pytest.approx(0.75)
    said = forest_chart([*effects.values()], "container").description
    assert "reversed: paper.turned. negligible: paper.nothing." in said


def test_effects_of_seeds_are_of_the_seeds_that_all_systems_have():
    corpus = on_corpus((1, 2, 3), Outcome.UNDECIDED, collapsed={"none": [3]})
    rung = corpus.rungs[-1]
    found = effects_of_seeds(a_claim(), rung)
    assert [*found] == [1, 2, 4, 5]
    first, second = rung.values["attention"], rung.values["none"]
    assert found[5] == pytest.approx(first[4] - second[3])
    three = on_corpus((9, 9, 9), Outcome.SUPPORTED, systems=("attention", "none", "transformer"))
    ladder = effects_of_seeds(a_claim(measure=ORDER), three.rungs[-1])
    assert all(-1 <= tau <= 1 for tau in ladder.values())


def test_a_card_has_a_dot_for_each_seed_at_each_rung():
    card, charts = card_of(by_name()["crosses"], LAPTOP)
    [(corpus, [ladder, systems])] = card["figures"]
    assert corpus == "en-fr"
    data = charts[ladder].datasets
    assert len(data["seeds"]) == len(RUNGS) * 4
    assert [row["effect"] for row in data["rungs"]] == [-8, -2, 4]
    assert data["margin"] == [{"low": -1.0, "high": 1.0}]
    over, under = charts[systems].datasets["labels"]
    assert (over["over"], over["under"], under["over"], under["under"]) == (
        *("attention", ""),
        *("", "none"),
    )
    assert over["value"] > under["value"]
    dots = charts[systems].datasets["seeds"]
    assert [row["collapsed"] for row in dots] == [False] * 9 * len(RUNGS) + [True] * len(RUNGS)
    assert any(line.startswith("Collapsed on en-fr: none, seed 3") for line in card["found"])
    assert np.isfinite([row["value"] for row in charts[systems].datasets["means"]]).all()


def test_ends_of_three_curves_have_no_names():
    three = on_corpus((9, 9, 9), Outcome.SUPPORTED, systems=("attention", "none", "transformer"))
    card, charts = card_of(a_result("one", three, measure=ORDER), LAPTOP)
    [(_, [_, systems])] = card["figures"]
    labels = charts[systems].datasets["labels"]
    assert {(row["over"], row["under"]) for row in labels} == {("", "")}


def test_a_card_has_a_forest_of_its_corpora_and_their_ladders():
    card, charts = card_of(by_name()["holds"], LAPTOP)
    assert [corpus for corpus, _ in card["figures"]] == ["en-fr", "en-de"]
    [forest] = card["forests"]
    assert [row["corpus"] for row in charts[forest].datasets["corpora"]] == [
        "draw-1", "draw-2", "draw-3",
    ]  # fmt: skip
    said = " ".join(card["found"])
    assert "On en-de: supported, 31.00 [30.00, 32.00]." in said
    assert "Over 3 synthetic corpora: 0.25 [0.20, 0.30] (share of the attention effect)" in said
    assert "in a new corpus [0.05, 0.45]; supported." in said


def test_a_claim_about_length_shows_scores_by_length(tmp_path, no_pictures):
    measure = {"kind": "kept_difference", "more": "attention", "less": "none"}
    claim = a_claim(
        measure=measure | {"long": [11, 20], "short": [1, 10]},
        published=TWO | {"curves": {"none": [[15, 12.0], [5, 25.5]]}},
    )
    judged = judge_all(finished_plan(tmp_path, claim), SCORING)
    card, charts = card_of(judged[0], LAPTOP)
    [(_, [*_, by_length])] = card["figures"]
    data = charts[by_length].datasets
    assert len(data["seeds"]) == 2 * 2 * 3  # systems, lengths, seeds
    for row in data["means"][:4]:
        same = [one for one in data["seeds"] if (one["system"], one["place"]) == (
            row["system"], row["place"])]  # fmt: skip
        assert row["value"] == pytest.approx(np.mean([one["value"] for one in same]))
    published = [(row["place"], row["value"]) for row in data["means"][4:]]
    assert published == [(5.0, 25.5), (15.0, 12.0)]
    text = write_scoreboard(judged, LAPTOP, WIDTHS, tmp_path / "out").read_text()
    assert "share of BLEU kept on long sentences" in text


def test_a_claim_without_runs_has_a_card_without_charts():
    for name in ("lost", "else"):
        card, charts = card_of(by_name()[name], LAPTOP)
        assert charts == {}
        assert card["words"]


def test_a_system_has_the_colour_of_its_model_and_no_two_of_a_claim_look_alike():
    for claim in all_claims().values():
        for tier in claim.tiers:
            looks = system_looks(claim, tier)
            assert len({(look.colour, look.shape) for look in looks.values()}) == len(looks)
    looks = system_looks(a_claim(), "laptop")
    assert looks == {"attention": LOOKS["bahdanau"], "none": LOOKS["seq2seq"]}
    twice = {"attention": ["model=bahdanau"], "none": ["model=bahdanau", "model.dropout=0.2"]}
    first, second = system_looks(a_claim(systems=twice), "laptop").values()
    assert first.colour == second.colour == LOOKS["bahdanau"].colour


def test_the_key_of_a_system_has_the_label_of_its_model():
    """A claim names systems by their part in it; a name that the label has is not repeated."""
    labels = {"with": "Bahdanau, additive", "dot": "Luong global, dot (Luong et al.)"}
    runs = {
        system: [
            SimpleNamespace(
                result=SimpleNamespace(variant=system, overrides=[], config={"label": label})
            )
        ]
        for system, label in labels.items()
    }
    corpus: Any = SimpleNamespace(rungs=[SimpleNamespace(evidence=SimpleNamespace(runs=runs))])
    [changed] = runs["changed"] = [
        SimpleNamespace(result=SimpleNamespace(**vars(runs["with"][0].result)))
    ]
    changed.result.overrides = ["model.attention=null"]
    looks = looks_of(["with", "dot", "lost", "changed"])
    assert [key.words for key in keys_of(looks, [corpus])] == [
        "with: Bahdanau, additive", "Luong global, dot", "lost", "changed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        (
            (40, 20, 18, 16),
            "Nearly all (83%) of the fall of BLEU is between sentences of 5 and of 15",
        ),
        ((40, 15, 16, 17), "All of the fall of BLEU is between sentences of 5 and of 15"),
        ((40, 30, 20, 10), None),
        ((10, 20, 30, 40), None),
        ((40, 10), None),
    ],
)
def test_a_slope_that_one_step_makes_is_told(monkeypatch, scores, told):
    """Means over seeds of the system that the claim measures."""
    points = [
        {"system": system, "place": 5.0 + 10 * place, "value": score * factor}
        for place, score in enumerate(scores)
        for system, factor in (("none", 0.9), ("none", 1.1), ("attention", 7))
    ]
    monkeypatch.setattr("sweeps.claims.card_charts._length_points", lambda *_: points)
    falls = {"kind": "slope", "system": "none", "sign": -1, "log": True}
    said = where_it_falls(on_corpus([1.0], Outcome.SUPPORTED), a_claim(measure=falls))
    assert said == (told and f"{told} words on average.")
    assert where_it_falls(on_corpus([1.0], Outcome.SUPPORTED), a_claim()) is None


def test_published_effects_need_values_in_the_unit_of_the_claim():
    assert a_claim(published=TWO).published_effect == pytest.approx(8.93)
    assert a_claim(published=TWO, measure=SWAPPED).published_effect == pytest.approx(-8.93)
    assert a_claim().published_effect is None
    assert a_claim(published=TWO | {"values": {"none": 17.82}}).published_effect is None
    share = {"unit": "length ratio", "data": "a corpus", "values": {"none": 0.86}}
    below = {"kind": "level", "system": "none", "score": "length_ratio", "below": 1.0}
    assert a_claim(published=share, measure=below).published_effect == pytest.approx(0.14)
    in_bleu = {"kind": "level", "system": "none", "below": 1.0}
    assert a_claim(published=share, measure=in_bleu).published_effect is None


def test_on_the_built_in_corpus_recorded_bleu_stands_beside_published_values():
    runs = evidence(["attention", "none"], RUNGS[-1])
    found = compare_with_published(a_claim(published=TWO), runs, "laptop")
    assert found is not None
    expected = np.mean([85 + seed / 10 for seed in SEEDS])
    assert found.ours == pytest.approx({"attention": expected, "none": expected})
    assert found.agreement is None
    assert compare_with_published(a_claim(), runs, "laptop") is None


def test_wandb_gets_every_verdict(tmp_path, monkeypatch, no_pictures):
    pages = []
    monkeypatch.setattr(
        "lightning_modules.tracking.wandb_report.publish_page",
        lambda page, *_, **__: pages.append(page),
    )
    write_scoreboard(results(), LAPTOP, WIDTHS, tmp_path)
    publish_scoreboard(results(), LAPTOP, tmp_path, DictConfig({}))
    [data] = pages
    assert data.description == summary(results(), LAPTOP)
    assert data.config["verdicts"]["paper.lost"] == "no verdict"
    assert data.summary["claim/paper.holds"] == 35.9
    assert data.summary["claim/paper.holds_low"] == 34.9
    assert "claim/paper.lost" not in data.summary
    _, rows = data.tables["claims"]
    assert len(rows) == len(results())
    _, trainings = data.tables["claims_seeds"]
    assert len(trainings) > len(rows)


def test_a_claim_that_failed_on_its_first_corpus_shows_the_others(tmp_path, no_pictures):
    failed = CorpusResult("en-fr", failure="was not trained")
    one = a_result("half", failed, on_corpus((1, 2, 3), Outcome.SUPPORTED, "en-de"))
    card, charts = card_of(one, LAPTOP)
    assert [corpus for corpus, _ in card["figures"]] == ["en-de"]
    assert charts
    assert "was not trained" in write_scoreboard([one], LAPTOP, WIDTHS, tmp_path).read_text()
