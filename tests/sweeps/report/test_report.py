"""Files and output of a comparison."""

import csv
import io
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from datamodules.corpus import examples_of
from lightning_modules.figures.lines import figures_of
from lightning_modules.figures.picture_files import CAPTION, ENDINGS, FLOAT
from lightning_modules.metrics.systems import System
from lightning_modules.metrics.text_metrics import sentence_bleu
from lightning_modules.metrics.words import PLAIN
from sweeps.comparison.collect import Comparison, collect
from sweeps.comparison.evaluation import RESAMPLES_FOR_A_TEST, evaluate
from sweeps.comparison.table_files import FORMATS
from sweeps.report.findings import Findings
from sweeps.report.html import render_report
from sweeps.report.publish import write_figures, write_report
from sweeps.report.report import make_report
from sweeps.report.sections.length_curves import length_lines
from sweeps.report.sentence_cards import hypothesis_parts, reference_parts, sentence_cards, words_of
from sweeps.report.terminal import print_findings
from sweeps.tasks.compare import build_comparison
from tests.helpers.run_folders import (
    COLUMN,
    REPORT,
    SCORING,
    TEXT,
    Text,
    findings_of,
    make_failure,
    make_run,
    translations,
    unsealed,
)
from tests.helpers.svg_texts import cut_off, overlaps


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A comparison of three variants, one with two seeds, and a failed job, in its folder."""
    out = tmp_path_factory.mktemp("sweep")
    runs = [
        make_run(out / "0", "none", 1),
        make_run(out / "1", "luong", 1),
        make_run(out / "2", "luong", 2),
        make_run(out / "3", "transformer", 1, parameters=2_000_000),
        make_failure(out / "4", "bahdanau", error="out of [red]memory[/red]"),
    ]
    report = build_comparison(runs, out, SCORING, REPORT)
    write_figures(report, out)
    return report, out


def report_of(runs, scoring=SCORING):
    return make_report(findings_of(runs, scoring), REPORT)


@pytest.mark.long
def test_the_files_are_all_there_and_nothing_is_left_half_written(built):
    report, out = built
    files = {path.name for path in out.iterdir() if path.is_file()}
    assert files == {"comparison.json", "report.html", "bleu_by_length.csv"}
    tables = {path.name for path in (out / "tables").iterdir()}
    assert tables == {f"{name}.{ending}" for name in report.tables for ending in FORMATS}
    assert {"scores.csv", "bleu_significance.tex", "aer_by_length.md"} < tables
    figures = {path.name for path in (out / "figures").iterdir()}
    names = {name.partition(".")[0] for name in figures}
    assert {"bleu_by_length", "ter_by_length", "aer_by_length", "words_by_frequency"} < names
    pictures = {f"{name}.{ending}" for name in names for ending in ENDINGS}
    captions = figures - pictures
    assert pictures < figures
    texts = {f"{name}.{ending}" for name in names for ending in (CAPTION, FLOAT)}
    assert captions == texts
    assert names == report.figures.keys() | {f"{name}_column" for name in report.figures}
    for name in names:
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (out / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (out / "figures" / f"{name}.svg").read_text().startswith("<svg")
    page = (out / "report.html").read_text()
    for words in ("Lines: means over seeds; ", "thin bars: lowest to highest seed"):
        assert words in page


@pytest.mark.long
def test_no_text_of_a_figure_stands_on_another_or_is_cut_off(built):
    _, out = built
    found = {}
    for file in sorted((out / "figures").glob("*.svg")):
        svg = file.read_text(encoding="utf-8")
        if wrong := [*overlaps(svg), *cut_off(svg)]:
            found[file.name] = wrong
    assert not found


@pytest.mark.long
def test_the_csv_has_every_run_and_bucket_once(built):
    _, out = built
    with (out / "bleu_by_length.csv").open() as file:
        rows = list(csv.DictReader(file))
    first = ["variant", "seed", "length_low", "length_high", "sentences", "bleu"]
    assert list(rows[0])[:8] == [*first, "bleu_low", "bleu_high"]
    assert {"chrf", "ter", "perplexity", "aer"} < rows[0].keys()
    keys = [(row["variant"], row["seed"], row["length_low"]) for row in rows]
    assert len(set(keys)) == len(keys) == 4 * 3
    for row in rows:
        assert float(row["bleu_low"]) <= float(row["bleu"]) <= float(row["bleu_high"])
        assert (row["aer"] == "") == (row["variant"] == "none")


@pytest.mark.long
@pytest.mark.exhaustive
def test_limits_of_training_are_drawn_on_axes_of_words_alone(tmp_path):
    run = make_run(tmp_path / "0")
    for unit, drawn in (("source_words", True), ("reference_tokens", False)):
        chart = report_of([run], SCORING.model_copy(update={"unit": unit})).figures[
            "bleu_by_length"
        ]
        assert ("longest training sentence" in chart.to_json()) == drawn


def test_all_layers_of_a_curve_share_the_axis_of_lengths(tmp_path):
    """The rule of the longest training sentence too: with an axis of its own, names were lost."""
    evaluation = findings_of([make_run(tmp_path / "0")]).evaluation
    bleu = next(each for each in evaluation.metrics if each.name == "bleu")
    lines = length_lines(evaluation, bleu, COLUMN, limits=[15])
    spec = figures_of("bleu", lines, COLUMN)["bleu"].to_dict()
    encodings = [layer.get("encoding", {}) for layer in spec["layer"]]
    axes = [each["x"].get("axis", {}).get("values") for each in encodings if "x" in each]
    assert len(axes) > 2
    assert axes == [[lines.points[place]["place"] for place in range(3)]] * len(axes)


@pytest.mark.long
def test_alignment_errors_are_shown_where_there_are_any(built, tmp_path):
    _, out = built
    scores = json.loads((out / "tables" / "attention_scores.json").read_text())["rows"]
    assert {row["system"]: row["aer"] is None for row in scores} == {
        "none": True, "luong": False, "transformer": False,
    }  # fmt: skip
    none = report_of([make_run(tmp_path / "0", "none")])
    assert "alignment error" not in render_report(none)
    output = io.StringIO()
    print_findings(none.findings, Console(width=100, file=output))
    assert "AER" not in output.getvalue()


@pytest.mark.long
def test_the_json_holds_scoring_runs_conditions_and_failures(built):
    report, out = built
    comparison = json.loads((out / "comparison.json").read_text())
    assert comparison["scoring"]["resamples"] == SCORING.resamples
    assert comparison["tables"] == list(report.tables)
    assert {system["name"]: system["seeds"] for system in comparison["systems"]} == {
        "none": [1], "luong": [1, 2], "transformer": [1],
    }  # fmt: skip
    luong = [run for run in comparison["runs"] if run["label"] == "luong"]
    assert [(run["folder"], run["seed"]) for run in luong] == [("1", 1), ("2", 2)]
    assert {c["name"]: c["holds"] for c in comparison["conditions"]}["parameters"] is False
    assert comparison["failed"] == [
        {"label": "bahdanau, seed 1", "folder": "4", "error": "out of [red]memory[/red]"}
    ]


@pytest.mark.long
@pytest.mark.parametrize("width", [80, 100])
def test_the_terminal_shows_it_all_within_its_width(built, width):
    report, _ = built
    console = Console(width=width, file=io.StringIO(), color_system=None, record=True)
    print_findings(report.findings, console)
    text = console.export_text()
    assert all(len(line) <= width for line in text.splitlines())
    evaluation = report.findings.evaluation
    whole = evaluation.estimate(evaluation.systems[1], None, "bleu")
    shown = f"{whole.value:.1f} [{whole.low:.1f}, {whole.high:.1f}] ± {whole.deviation:.1f}"
    for words in ("21–30", "EM", "AER", shown):
        assert words in text
    assert "✗ NOT HELD parameters" in text
    assert text.startswith("✗ failed job bahdanau, seed 1")
    assert "[red]memory[/red]" in text


@pytest.mark.long
def test_the_page_has_every_table_once_what_is_wrong_and_no_path(built):
    """The page may be mailed without its folder."""
    report, out = built
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Not a fair comparison: 1 of 20 conditions not held" in page
    assert "✗ NOT HELD" in page
    assert "out of [red]memory[/red]" in page
    assert len(page.encode()) < 3_000_000
    for name in report.tables.keys() - {"main", "sentences_by_score", "failures_by_length"}:
        assert page.count(f'<table id="{name}" ') == 1
    shown = page.partition("<script")[0]
    addresses = re.findall('<a [^>]*href="([^"]*)"', shown)
    assert addresses
    for address in addresses:
        assert address.startswith("#")
        assert f'id="{address[1:]}"' in shown


def cards(runs):
    [group] = report_of(runs).findings.evaluation.groups
    return sentence_cards(group)


@pytest.mark.long
def test_cards_show_a_readable_sentence_and_those_on_which_systems_differ(tmp_path):
    hypotheses = {variant: list(TEXT.references) for variant in ("luong", "none")}
    hypotheses["none"][5] = "?"
    hypotheses["none"][3] = hypotheses["none"][3].rpartition(" ")[0]
    runs = [
        make_run(tmp_path / variant, variant, hypotheses=lines)
        for variant, lines in hypotheses.items()
    ]
    first, second, third, *_ = cards(runs)
    words = [len(line.split()) for line in TEXT.sources]
    assert 10 <= words[first.number] <= 20
    assert first.source == TEXT.sources[first.number]
    assert {second.number, third.number} == {5, 3}
    second, third = sorted((second, third), key=lambda card: -card.number)
    assert [each.hypothesis for each in second.translations] == [TEXT.references[5], "?"]
    assert [each.bleu for each in second.translations] == pytest.approx([100, 0])
    luong, none = first.translations
    assert luong.heat_map is not None
    assert np.shape(luong.heat_map["weights"]) == (words[first.number],) * 2
    assert none.heat_map is None
    assert "no attention" in none.note


def test_a_map_for_papers_says_which_sentence_it_shows_and_why(tmp_path):
    runs = [make_run(tmp_path / name, name) for name in ("luong", "bahdanau")]
    found = findings_of(runs)
    [card, *_] = [each for each in found.examples.cards if each.translations[0].panel]
    for translation in card.translations:
        assert translation.panel is not None
        assert translation.panel.chosen == f"Sentence {card.number}: {card.why}"


@pytest.mark.long
def test_the_first_card_is_typical_of_every_system(tmp_path):
    """No other sentence as easily read is nearer to what all systems usually reach."""
    runs = [make_run(tmp_path / name, name) for name in ("luong", "none", "transformer")]
    [group] = report_of(runs).findings.evaluation.groups
    scores = np.stack([sentence_bleu(each.outputs[0].statistics) for each in group.systems])
    furthest = np.abs(scores - np.median(scores, axis=1, keepdims=True)).max(0)
    readable = [n for n, line in enumerate(TEXT.sources) if 10 <= len(line.split()) <= 20]
    assert furthest[sentence_cards(group)[0].number] == min(furthest[readable])


def test_without_sentences_of_a_readable_length_the_shortest_comes_first(tmp_path):
    """It is not said to be typical, since it is compared with none."""
    lines = [" ".join(["le"] * words) for words in (30, 25, 40)]
    runs = [
        make_run(tmp_path / name, name, text=Text(lines, lines, None)) for name in ("luong", "none")
    ]
    [group] = report_of(runs).findings.evaluation.groups
    assert sentence_cards(group)[0].why == "25 words, easily read"


@pytest.mark.long
def test_cards_underline_what_the_reference_has_not_at_that_place():
    assert hypothesis_parts("a b b c e", "a b c d e", PLAIN) == [
        ("a b ", ""),
        ("b", "wrong"),
        (" c e", ""),
    ]
    assert hypothesis_parts("x y", "a", PLAIN) == [("x y", "wrong")]
    assert hypothesis_parts("", "a", PLAIN) == []


def test_words_of_a_reference_are_marked_that_no_translation_has():
    assert reference_parts("a b c d", ["a x", "a d"], PLAIN) == [
        ("a ", ""),
        ("b c", "missed"),
        (" d", ""),
    ]
    assert reference_parts("a b", ["b", "a"], PLAIN) == [("a b", "")]
    assert reference_parts("a b c", ["c a b"], PLAIN) == [("a b ", ""), ("c", "missed")]  # moved
    assert reference_parts("a b", [""], PLAIN) == [("a b", "missed")]
    repeats = "b c d e b c d e b c d e"
    assert reference_parts("a b c d e", [repeats], PLAIN) == [("a", "missed"), (" b c d e", "")]


def test_parts_are_cut_into_words_as_a_map_has_them():
    parts = hypothesis_parts(" a bx  b\u00a0c e", "a b c d e", PLAIN)
    words = words_of(parts)
    assert ["".join(text for text, _ in word) for word in words] == ["a", "bx", "b", "c", "e"]
    assert words[0] == [("a", "")]
    assert words[1] == [("bx", "wrong")]
    cut: Any = [("l'", ""), ("eau la", "wrong"), (" ", ""), ("", "loop"), ("mer", "loop")]
    assert words_of(cut) == [[("l'", ""), ("eau", "wrong")], [("la", "wrong")], [("mer", "loop")]]
    assert words_of([]) == []


@pytest.mark.long
def test_recorded_heads_bring_their_sentences_and_their_mean(tmp_path):
    [plain] = cards([make_run(tmp_path / "0", hypotheses=TEXT.references)])
    other = 0 if plain.number else 1
    size = len(TEXT.references[other].split())
    heads = np.random.default_rng(0).dirichlet(np.ones(size), (2, 4, size))
    run = make_run(tmp_path / "1", hypotheses=TEXT.references, heads={other: heads})
    first, second = cards([run])
    assert (first.number, second.number) == (plain.number, other)
    assert first.translations[0].heat_map == plain.translations[0].heat_map
    drawn = np.array(second.translations[0].heat_map["heads"]) / 1000
    assert drawn[:, :4] == pytest.approx(heads, abs=1e-3)
    assert drawn[:, 4] == pytest.approx(heads.mean(1), abs=1e-3)


@pytest.mark.long
def test_heads_of_another_translation_or_in_a_broken_file_are_left_out(tmp_path):
    run = make_run(tmp_path / "0", heads={0: np.ones((2, 2, 1, 99))})
    assert all("heads" not in card.translations[0].heat_map for card in cards([run]))
    (run / "head_attention.npz").write_bytes(b"PK")
    [card] = cards([run])
    assert card.translations[0].heat_map is not None


@pytest.mark.long
def test_a_translation_without_words_has_no_chart(tmp_path):
    silent = [""] * len(TEXT.references)
    [card] = cards([make_run(tmp_path / "0", hypotheses=silent)])
    assert card.translations[0].heat_map is None
    report = report_of([tmp_path / "0", make_run(tmp_path / "1", "luong")])
    sources = "; ".join(f"“{source}”" for source in examples_of(TEXT.sources))
    told = f"{len(silent)} of {len(silent)} translations are empty: {sources}"
    assert f"bahdanau, seed 1: {told}" in render_report(report)
    [summary] = [part for part in report.parts if part.name == "summary"]
    assert f"warning, bahdanau, seed 1: {told}" in summary.lines
    console = Console(width=300, file=io.StringIO(), color_system=None, record=True)
    print_findings(report.findings, console)
    found = f"warnings: translations of “bahdanau”: bahdanau, seed 1: {told.partition(': ')[0]}"
    assert found in console.export_text()


@pytest.mark.long
@pytest.mark.parametrize(
    ("content", "note"),
    [(None, "No attention was recorded."), (b"PK", "{run}/attention.npz cannot be read: ")],
)
def test_an_unreadable_attention_is_said_on_its_card(tmp_path, content, note):
    run = unsealed(make_run(tmp_path / "0"))
    (run / "attention.npz").unlink()
    if content:
        (run / "attention.npz").write_bytes(content)
    [card] = cards([run])
    assert card.translations[0].heat_map is None
    assert card.translations[0].note.startswith(note.format(run=run))


NOTHING = Comparison([], [], [])


@pytest.fixture
def undrawn(monkeypatch):
    """Draw no pictures, which take most of the time."""
    monkeypatch.setattr("sweeps.report.report.Part.figures", {})
    monkeypatch.setattr("sweeps.report.report.Part.files", {})


def systems_of(*folders):
    return collect(folders).systems


def test_every_test_of_many_systems_can_be_significant(tmp_path):
    """No p-value is below 1 / (resamples + 1), and Holm multiplies the smallest by the tests."""
    [good] = systems_of(make_run(tmp_path / "0", hypotheses=TEXT.references))
    [bad] = systems_of(make_run(tmp_path / "1", hypotheses=["x"] * len(TEXT.references)))
    several = [
        System(f"{kind} {number}", good.test, system.outputs)
        for kind, system in (("good", good), ("bad", bad))
        for number in range(4)
    ]
    scoring = SCORING.model_copy(update={"resamples": 100})
    evaluation = evaluate(several, scoring)
    table = make_report(Findings("x", evaluation, NOTHING), REPORT).tables["bleu_significance"]
    keys = [column.key for column in table.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
    assert evaluation.test_draws.count == RESAMPLES_FOR_A_TEST * len(rows) > 100
    assert table.origin["resamples"] == evaluation.test_draws.count
    assert evaluation.draws.count == 100
    for row in rows:
        differ = str(row["first"]).split()[0] != str(row["second"]).split()[0]
        for method in ("p_bootstrap_holm", "p_randomisation_holm"):
            p = row[method]
            assert isinstance(p, float)
            assert (p < 0.05) == differ


def test_few_tests_take_the_resamples_that_were_asked_for(tmp_path):
    runs = [make_run(tmp_path / "0", "none"), make_run(tmp_path / "1", "luong")]
    scoring = SCORING.model_copy(update={"resamples": 5000})
    assert evaluate(systems_of(*runs), scoring).test_draws.count == 5000


def test_only_its_own_earlier_files_are_removed(tmp_path, undrawn):
    two = [make_run(tmp_path / "0", "none"), make_run(tmp_path / "1", "luong")]
    out = tmp_path / "out"
    write_report(report_of(two), out)
    write_figures(report_of(two), out)
    assert (out / "tables" / "bleu_significance.csv").is_file()
    for kind in ("tables", "figures"):
        (out / kind).mkdir(exist_ok=True)
        (out / kind / "mine.png").write_text("kept")
    write_report(report_of(two[:1]), out)
    assert not (out / "tables" / "bleu_significance.csv").exists()
    assert (out / "tables" / "scores.csv").is_file()
    assert (out / "tables" / "mine.png").read_text() == "kept"
    assert (out / "figures" / "mine.png").read_text() == "kept"


def test_the_order_of_runs_does_not_move_words_between_groups(tmp_path):
    """The runs were trained on other texts: words that both know have the first run's counts."""
    first = make_run(tmp_path / "0", "none")
    hypotheses = translations(TEXT.references, "none")
    second = unsealed(make_run(tmp_path / "1", "luong", hypotheses=hypotheses))
    content = json.loads((second / "word_counts.json").read_text())
    content["target"] = dict.fromkeys(content["target"], 5000) | {"new": 7}
    (second / "word_counts.json").write_text(json.dumps(content))
    [test] = {system.test for system in systems_of(first, second)}
    counts = json.loads((first / "word_counts.json").read_text())["target"]
    assert test.reference_counts == {"new": 7} | {**content["target"], **counts}


def test_what_a_test_set_lacks_comes_from_the_runs(tmp_path):
    [system] = systems_of(make_run(tmp_path / "0"))
    whole = system.test
    bare = replace(whole, gold=None, reference_counts=None)
    bare.complete(whole)
    assert bare.gold == whole.gold
    assert bare.reference_counts == whole.reference_counts
    given = replace(whole, reference_counts={"a": 1})
    given.complete(replace(whole, reference_counts={"a": 2, "b": 3}))
    assert given.reference_counts == {"a": 1, "b": 3}


def test_alignment_tables_tell_the_step(tmp_path):
    runs = [
        make_run(tmp_path / step, step, config={"scoring": {"attention_step": step}})
        for step in ("predicted", "read")
    ]
    tables = report_of(runs).tables
    assert tables["aer_by_length"].origin["attention step"] == "predicted/read"
    assert "attention step" not in tables["bleu_by_length"].origin
    none = report_of([make_run(tmp_path / "0", "none")])
    assert "attention step" not in none.tables["scores"].origin
