"""What a terminal gets of a comparison: failed jobs first, at most 25 lines, the main table."""

import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from lightning_modules.figures.palette import looks_of
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.pair_tests import PairTest
from lightning_modules.metrics.systems import EvalSet
from sweeps.comparison.collect import Comparison, FailedJob
from sweeps.comparison.conditions import Condition
from sweeps.comparison.evaluation import evaluate
from sweeps.comparison.record import Origin
from sweeps.report.alarms import Alarms
from sweeps.report.findings import Findings
from sweeps.report.group_tests import size
from sweeps.report.terminal import FOR_PAGE, MOST_LINES, alarm_lines, print_findings, shorten
from tests.helpers.failing_systems import LENGTHS, looping, system
from tests.helpers.made_text import corrupted, made_references, translated
from tests.helpers.run_folders import findings_of, make_run, scoring_of

LONG = "Luong global, dot with data.reordering=1, model.layers=2, optimizer.lr=0.00123"


def found(count, failed=0, label="系统", phrase_table=False):
    """Findings on ``count`` systems, each better than the one before; a phrase table is perfect."""
    rng = np.random.default_rng(0)
    references = made_references(60, rng, longest=25)
    test = EvalSet(references, references)
    systems = [
        translated(f"{label} {number}", test, corrupted(references, 0.5 - 0.01 * number, rng))
        for number in range(count)
    ]
    if phrase_table:
        [output] = systems[0].outputs
        systems[0] = replace(
            systems[0],
            outputs=[
                replace(output, baselines={"phrase table": references, "nearest copy": references})
            ],
        )
    evaluation = evaluate(systems, scoring_of(edges=[10, 20, 30], resamples=100, metrics=["bleu"]))
    why = "the loss is not a number " * 20
    place = Path("/a/long/way/to/outputs/comparisons/sweep-2026-11-27_16-46-22-262132-0a1b2c3d")
    jobs = [FailedJob(f"{LONG} {n}", place / str(n), why) for n in range(failed)]
    conditions = [
        Condition(f"condition {n}", False, "why " * 99, by_design=False) for n in range(12)
    ]
    return Findings("x", evaluation, Comparison([], jobs, conditions))


def printed(findings, width=80):
    console = Console(width=width, file=io.StringIO(), color_system=None, record=True)
    print_findings(findings, console)
    return console.export_text()


@pytest.mark.parametrize(("count", "failed"), [(2, 1), (3, 0), (20, 7)])
@pytest.mark.parametrize("label", ["system", LONG])
def test_any_number_of_systems_takes_25_lines(count, failed, label):
    text = printed(found(count, failed, label))
    assert len(text.splitlines()) <= MOST_LINES - FOR_PAGE
    assert all(len(line) <= 80 for line in text.splitlines())
    assert text.startswith("✗ failed job") == bool(failed)
    assert ("5 more failed; the page names all" in text) == (failed == 7)
    assert "NOT HELD condition 0, condition 1, condition 2 and 9 more; the page says why" in (
        " ".join(text.split())
    )
    if not failed:
        assert f"{label} 2"[-8:] in text  # the last is the best


def test_a_table_that_is_too_wide_has_fewer_lengths_and_no_folded_names():
    text = printed(found(5, label="Luong global, dot, with a long name"))
    assert len(re.findall(r"^\S Luong global, dot, with a long name \d ", text, re.M)) == 5
    assert "21–30" in text
    assert "11–20" not in text


def test_the_highest_of_many_systems_are_shown():
    text = printed(found(20), width=120)
    assert "highest of 20" in text
    rows = [line.split()[2] for line in text.splitlines() if line[2:].startswith("系统 ")]
    assert "19" in rows
    assert "0" not in rows


@pytest.mark.parametrize(
    ("designed", "line"),
    [
        (0, "✓ 6 of 6 conditions of a fair comparison hold"),
        (1, "✓ 5 of 6 conditions of a fair comparison hold; condition 0 differs by design"),
        (2, "✓ 4 of 6 conditions of a fair comparison hold; condition 0 and condition 1 differ by"),
        (4, "✓ 2 of 6 conditions of a fair comparison hold; 4 others differ by design"),
    ],
)
def test_a_fair_comparison_names_what_differs_by_design(designed, line):
    conditions = [Condition(f"condition {n}", True, "", n < designed) for n in range(6)]
    findings = replace(found(7), comparison=Comparison([], [], conditions))
    text = printed(findings, width=120)
    assert line in text
    assert "highest of" not in text  # seven systems fit


@pytest.mark.parametrize("count", [2, 6, 7, 8, 20])
def test_translations_without_a_model_are_left_out_before_systems(count):
    """However high their BLEU is."""
    text = printed(found(count, phrase_table=True), width=120)
    shown = len(re.findall(r"^\S 系统 [0-9]", text, re.MULTILINE))
    baselines = {name for name in ("phrase table", "nearest copy") if f"  {name}" in text}
    assert shown == count or not baselines
    if shown < count:
        assert f"the {shown} highest of {count}" in " ".join(text.split())
    elif len(baselines) < 2:
        assert f"; without {'copy' if baselines else 'phrase table and copy'}" in text


@pytest.mark.parametrize("weak", [(), (0,), (0, 2)])
def test_systems_that_have_learned_too_little_are_marked(weak):
    findings = found(3)
    findings.__dict__["too_weak"] = [findings.evaluation.systems[number] for number in weak]
    findings.__dict__["alarms"] = Alarms(3, {"alike": ["a"]}, 1) if weak else None
    text = " ".join(printed(findings).split())
    assert [f"系统 {number}‡" in text for number in range(3)] == [n in weak for n in range(3)]
    assert ("learned too little (‡); translations of" in text) == bool(weak)


def test_where_there_is_room_the_terminal_says_how_translations_fail():
    """In a comparison of two; the table of many systems takes all lines."""
    [first, second] = (system("a", looping, share=1.0), system("b"))
    few = Findings("x", evaluate([first, second], LENGTHS), Comparison([], [], []))
    assert few.reason
    assert few.reason in " ".join(printed(few).split())
    names = [f"a long name of system number {number}" for number in range(16)]
    systems = [first, *(replace(second, name=name, label=name) for name in names)]
    many = Findings("x", evaluate(systems, LENGTHS), Comparison([], [], []))
    assert many.reason
    text = printed(many)
    assert many.reason not in " ".join(text.split())
    assert len(text.splitlines()) <= MOST_LINES - FOR_PAGE


def test_the_next_step_is_printed(tmp_path):
    runs = [make_run(tmp_path / name, name) for name in ("none", "luong")]
    command = "python run.py comparison=quickstart"
    text = " ".join(printed(findings_of(runs, origin=Origin(command=command))).split())
    assert f"Every system has one seed. To be surer: {command} seed=1,2,3 (about " in text


def test_a_system_has_its_mark():
    rows = printed(found(3, label="bahdanau, seed")).splitlines()
    marked = [row for row in rows if row[2:].startswith("bahdanau, seed ")]
    looks = looks_of(f"bahdanau, seed {number}" for number in range(3))
    assert [row[0] for row in marked] == [look.glyph for look in looks.values()]


def test_trainings_that_were_still_improving_are_one_line_and_no_alarm():
    [line] = alarm_lines(Alarms(5, {}, 0, [0.07, 0.12, 0.1], [0.3], 4))
    assert line.plain == (
        "4 of 5 training runs were still improving when they ended: train longer."
    )
    [alone] = alarm_lines(Alarms(1, {}, 0, [0.07], improved=1, longer="budget.updates=40"))
    assert alone.plain == (
        "Still improving when the training ended: train longer with budget.updates=40."
    )
    first, _ = alarm_lines(Alarms(2, {"alike": ["a"]}, 1, [0.07], improved=1))
    assert first.plain.startswith("✗ 1 of 2 training runs has learned too little; translations of")


def test_the_failure_has_name_folder_and_error():
    text = " ".join(printed(found(2, 1), width=400).split())
    assert f"{shorten(LONG + ' 0', 40)} (/a/long/way/to/" in text
    assert "-0a1b2c3d/0): the loss is not a number" in text


def test_a_long_warning_is_cut_at_its_end():
    """Cut in its middle, it made no sense."""
    findings = found(2)
    warning = "the vocabulary has 89 tokens, fewer than it was asked for " + "and more " * 30
    findings.__dict__["suspicions"] = {"the corpus": [warning]}
    text = " ".join(printed(findings).split())
    assert "warnings: the corpus: the vocabulary has 89 tokens, fewer than it was asked" in text
    assert " and more and …" in text or " and more …" in text


def test_a_difference_that_counts_is_not_shown_as_nothing():
    tested = PairTest("a", "b", "all", 60, Estimate(-0.031, -0.04, -0.02), 0.01, 0.01, None)
    assert size(tested) == "0.03 [0.02, 0.04]"


def test_a_shortened_text_keeps_both_ends():
    assert shorten("a\nb", 10) == "a b"
    assert shorten("abcdefghijk", 9) == "abc … ijk"
