"""Alarms: a floor on short sentences, alike translations, and validation BLEU that still rises."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightning_modules.metrics.curves import CurvePoint
from lightning_modules.metrics.lengths import THIN, Bounds
from lightning_modules.metrics.words import PLAIN
from lightning_modules.runs.files import RunScores
from lightning_modules.runs.schema import Baseline, Convergence, Prediction, Result, Training
from lightning_modules.testing.alarms import (
    ALIKE,
    RISES,
    alarms_of,
    floor_of,
    in_a_line,
    word_pairs,
)
from tests.helpers.run_folders import SCORING

WORDS = [f"w{number}" for number in range(40)]
DIFFERENT = [" ".join(pair) for pair in zip(WORDS, WORDS[1:] + WORDS[:1], strict=True)]
"""As many word pairs as lines."""


def point(low: int, high: int, bleu: float | None, sentences: int = THIN) -> CurvePoint:
    scores = {} if bleu is None else {"bleu": bleu}
    return CurvePoint("a", 1, Bounds(low, high), sentences, scores, None, "")


def baseline(**bleu: float) -> Baseline:
    lengths = {name.strip("_").replace("_", "–"): {"bleu": score} for name, score in bleu.items()}
    return Baseline(scores={"bleu": 50}, by_length=lengths)


def alarms(hypotheses=None, references=None, curve=(), baselines=None, **convergence):
    references = references or DIFFERENT
    lines = zip(references, hypotheses or references, strict=True)
    result = Result(
        variant="a",
        seed=1,
        scores={"bleu": 1},
        baselines=baselines or {},
        training=Training(convergence=Convergence(**convergence)),
    )
    predictions = [
        Prediction(id=number, source="x", reference=reference, hypothesis=hypothesis)
        for number, (reference, hypothesis) in enumerate(lines)
    ]
    return alarms_of(RunScores(result, predictions, {}, curve=curve), SCORING)


def test_a_run_that_learned_has_no_alarm():
    floors = {"phrase table": baseline(_1_10=40.0), "copy": baseline(_1_10=99.0)}
    assert alarms(curve=[point(1, 10, 40.0)], baselines=floors, last_fifth_bleu=0.01) == []
    assert alarms() == []


@pytest.mark.parametrize("name", ["phrase table", "nearest copy"])
def test_a_run_below_no_model_on_short_sentences_is_told(name):
    [alarm] = alarms(curve=[point(1, 10, 39.94)], baselines={name: baseline(_1_10=40.0)})
    assert alarm.kind == "below"
    assert in_a_line(alarm) == (
        "on short sentences worse than a translation without a model: BLEU 39.9 at 1–10 words, "
        f"{name} 40.0"
    )


@pytest.mark.parametrize(
    ("learned", "told"),
    [
        ({"fall": 0.01, "fall_error": 0.001}, True),
        ({"fall": 0.03, "fall_error": 0.001}, False),
        ({"fall": 0.08, "fall_error": 0.05}, False),  # not clearly, but it may
        ({"fall": 0.01, "fall_error": 0.001, "last_fifth_bleu": 2 * RISES}, False),
        ({}, False),
    ],
)
def test_a_run_below_the_floor_whose_loss_no_longer_falls_is_not_told_to_train_longer(
    learned, told
):
    floors = {"nearest copy": baseline(_1_10=40.0)}
    alarm, *_ = alarms(curve=[point(1, 10, 39.0)], baselines=floors, **learned)
    assert ("its loss no longer falls" in alarm.text) == told


def test_the_floor_is_that_of_the_shortest_group_with_enough_sentences():
    floors = {"phrase table": baseline(_1_10=90.0, _11_20=40.0, _21_30=90.0)}
    curve = [point(1, 10, 1.0, THIN - 1), point(11, 20, 41.0), point(21, 30, 1.0)]
    assert alarms(curve=curve, baselines=floors) == []
    floors["phrase table"].by_length["11–20"]["bleu"] = 42.0
    [alarm] = alarms(curve=curve, baselines=floors)
    assert "11–20 words" in alarm.text


def test_the_phrase_table_comes_before_the_nearest_copy_and_a_copy_is_no_floor():
    floors = {
        "nearest copy": baseline(_1_10=1.0),
        "phrase table": baseline(_1_10=2.0),
        "copy": baseline(_1_10=3.0),
    }
    assert floor_of(floors, "1–10") == ("phrase table", 2.0)
    assert floor_of({"copy": floors["copy"]}, "1–10") is None
    assert floor_of(floors, "11–20") is None


def test_alike_translations_are_told_with_an_example():
    assert alarms(["le lundi"] * 39 + ["w0 w1"]) == []  # a twentieth of 40 pairs
    [alarm] = alarms(["le lundi"] * 40)
    assert alarm.kind == "alike"
    assert alarm.text == "1 different word pairs, the references have 40; such as “le lundi”"
    assert len(set(DIFFERENT)) * ALIKE == 2


@given(st.lists(st.text("abc ", max_size=12), max_size=8))
def test_word_pairs_are_those_of_each_line(lines):
    assert word_pairs(lines, PLAIN) == {pair for line in lines for pair in pairwise(line.split())}


@pytest.mark.parametrize("share", [RISES - 1e-9, RISES, 0.3])
def test_a_training_that_stopped_while_bleu_rose_is_told(share):
    found = alarms(last_fifth_bleu=share, last_fifth_fall=0.031)
    assert [each.kind for each in found] == ["rising"] * (share >= RISES)
    for each in found:
        assert each.text == (
            f"the last fifth brought {share:.0%} of the last validation BLEU, and took 3.1% off "
            "the loss"
        )


def test_the_worst_alarm_comes_first():
    floors = {"phrase table": baseline(_1_10=40.0)}
    found = alarms(["x"] * 40, curve=[point(1, 10, 0.0)], baselines=floors, last_fifth_bleu=0.5)
    assert [each.kind for each in found] == ["below", "alike", "rising"]
