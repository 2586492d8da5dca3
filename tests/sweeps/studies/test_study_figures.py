"""The figures of a study hold its trials as Optuna has them."""

import json
import math
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.importance import get_param_importances
from optuna.trial import TrialState, create_trial

from lightning_modules.figures.charts import as_spec
from lightning_modules.figures.picture_files import ENDINGS, save_chart
from sweeps.studies.figures import TITLES, expected_best, search_performance, study_figures
from sweeps.studies.settings import hydra_value
from tests.helpers.pages import HOSTILE

KIND, HEADS = HOSTILE[0], "+heads[0].'\"$"
KINDS = [HOSTILE[0], "a.b[c]", None, True, 1.5]
RANGES: dict[str, BaseDistribution] = {
    "rate": FloatDistribution(1e-4, 1e-2, log=True),
    KIND: CategoricalDistribution(KINDS),
    HEADS: IntDistribution(1, 8),
}
DONE, PRUNED, FAILED = TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL
NUMBERS = st.floats(-1e6, 1e6)
TRIALS: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.builds(
        dict,
        state=st.sampled_from([DONE, DONE, PRUNED, FAILED]),
        values=st.tuples(NUMBERS, NUMBERS),
        rate=st.floats(1e-4, 1e-2),
        kind=st.sampled_from(KINDS),
        heads=st.none() | st.integers(1, 8),
        reports=st.dictionaries(st.integers(0, 9), st.floats(), max_size=4),
    ),
    min_size=1,
    max_size=5,
)
examples = settings(deadline=None, derandomize=True, max_examples=12, database=None)


def study_of(trials, *directions):
    study = optuna.create_study(directions=directions)
    for each in trials:
        params = {"rate": each["rate"], KIND: each["kind"]}
        if each["heads"]:
            params[HEADS] = each["heads"]
        trial = create_trial(
            state=each["state"],
            params=params,
            distributions={name: RANGES[name] for name in params},
            values=each["values"][: len(directions)] if each["state"] == DONE else None,
            intermediate_values=each["reports"],
        )
        study.add_trial(trial)
    return study


def charts(study, *objectives):
    """The figures that are drawn, as a browser reads them."""
    figures = study_figures(study, objectives)
    assert not [each.why_not for each in figures if "cannot be drawn" in each.why_not]
    return {
        each.name: json.loads(json.dumps(as_spec(each.chart), allow_nan=False))
        for each in figures
        if each.chart
    }


def rows(spec, *place):
    """The data of a chart, or of a part of it."""
    part = spec
    for step in place:
        part = part[step]
    return part.get("data", spec.get("data"))["values"]


def finished(study):
    return study.get_trials(states=[DONE])


@examples
@given(TRIALS, st.sampled_from(["bleu", "loss"]))
def test_the_best_so_far_never_falls_back_and_ends_at_the_best_value(trials, objective):
    study = study_of(trials, "maximize" if objective == "bleu" else "minimize")
    drawn, done = charts(study, objective), finished(study)
    assert ("trials" in drawn) == bool(done)
    if done:
        points = rows(drawn["trials"], "layer", 0)
        assert [(row["trial"], row["value"]) for row in points] == [
            (trial.number, trial.value) for trial in done
        ]
        best = [row["best"] for row in points]
        assert best == sorted(best, reverse=objective == "loss")
        assert best[-1] == study.best_value


@pytest.mark.long
@examples
@given(TRIALS)
def test_the_front_is_that_of_the_best_trials(trials):
    study = study_of(trials, "maximize", "minimize")
    drawn, done = charts(study, "bleu", "parameters"), finished(study)
    assert ("trials" in drawn) == bool(done)
    if done:
        points = rows(drawn["trials"])
        assert [[row["x"], row["y"]] for row in points] == [trial.values for trial in done]
        front = {row["trial"] for row in points if row["kind"] == "Pareto front"}
        assert front == {trial.number for trial in study.best_trials}


@examples
@given(TRIALS)
def test_slices_hold_every_finished_trial_once_for_each_of_its_parameters(trials):
    study = study_of(trials, "maximize")
    slices, done = charts(study, "bleu").get("slices", {"concat": []}), finished(study)
    names = list(dict.fromkeys(name for trial in done for name in trial.params))
    assert len(slices["concat"]) == len(names)
    for place, name in enumerate(names):
        points = [
            (row["trial"], row["value"], row["setting"]) for row in rows(slices, "concat", place)
        ]
        assert points == [
            (trial.number, trial.value, hydra_value(setting) if name == KIND else setting)
            for trial in done
            for setting in [trial.params[name] for _ in range(name in trial.params)]
        ]


def rates(study):
    """Trials whose BLEU depends on the rate, and whose loss depends on the heads."""
    for number in range(40):
        params = {"rate": 1e-4 * (1 + number * 7 % 40), HEADS: 1 + number * 3 % 8}
        trial = create_trial(
            values=[params["rate"] * 1e4, 1.0 * params[HEADS]][: len(study.directions)],
            params=params,
            distributions={name: RANGES[name] for name in params},
        )
        study.add_trial(trial)
    return study


def test_importances_are_those_of_optuna_for_each_objective():
    single = rates(optuna.create_study(direction="maximize"))
    several = rates(optuna.create_study(directions=["maximize", "minimize"]))
    importances: dict[str, dict[str, float]] = {}
    for row in rows(charts(several, "bleu", "loss")["importances"], "layer", 0):
        importances.setdefault(row["objective"], {})[row["parameter"]] = row["importance"]
    assert importances[TITLES["bleu"]] == get_param_importances(single)
    assert importances[TITLES["loss"]][HEADS] > 0.5
    alone = rows(charts(single, "bleu")["importances"], "layer", 0)
    assert {row["parameter"]: row["importance"] for row in alone} == get_param_importances(single)


@pytest.mark.parametrize(
    ("outcome", "why_not"),
    [
        (ValueError("no\nluck"), "cannot be drawn (ValueError: no luck)"),
        ([{"rate": math.nan}], "cannot be drawn (ValueError: Out of range float values"),
    ],
)
def test_a_figure_that_fails_leaves_the_others(monkeypatch, outcome, why_not):
    importances = mock.Mock(side_effect=outcome)
    monkeypatch.setattr("sweeps.studies.figures.get_param_importances", importances)
    first, *others = study_figures(rates(optuna.create_study()), ["loss"])
    assert first.why_not.startswith(why_not)
    assert [each.name for each in others if each.chart] == ["trials", "slices"]


def test_one_parameter_has_no_rivals():
    study = optuna.create_study()
    for value in (1.0, 2.0):
        trial = create_trial(value=value, params={HEADS: 1}, distributions={HEADS: RANGES[HEADS]})
        study.add_trial(trial)
    assert study_figures(study, ["loss"])[0].why_not == "takes two parameters"
    assert list(charts(study, "loss")) == ["trials", "slices"]


def test_an_infinite_value_is_left_out():
    study = rates(optuna.create_study())
    study.add_trial(create_trial(value=math.inf))
    assert len(rows(charts(study, "loss")["trials"], "layer", 0)) == 40


def test_files_hold_names_with_control_characters(tmp_path):
    """An SVG with such a character would end the process."""
    names = ["a\x00\x1b", "</text>\ud800\ufffe"]
    study = optuna.create_study()
    for place, name in enumerate([*names, *names]):
        kinds: dict[str, BaseDistribution] = {
            each: CategoricalDistribution(names) for each in names
        }
        params = dict.fromkeys(names, name)
        study.add_trial(create_trial(value=place, params=params, distributions=kinds))
    for figure in study_figures(study, ["loss"]):
        if figure.chart:
            save_chart(figure.chart, tmp_path / figure.name)
    assert len(list(tmp_path.iterdir())) == 3 * (len(ENDINGS) + 1)  # and a caption


SCORES = st.lists(st.sampled_from([0.0, 12.5, 12.5, 20.25, 31.0, -3.0]), min_size=1, max_size=5)


@examples
@given(SCORES, st.booleans())
def test_the_expected_best_of_n_draws_is_that_of_all_tuples(scores, largest):
    best = max if largest else min
    for n, (value, deviation) in enumerate(zip(*expected_best(scores, largest), strict=True), 1):
        drawn = np.array([best(each) for each in product(scores, repeat=n)])
        assert value == pytest.approx(drawn.mean())
        assert deviation == pytest.approx(drawn.std(), abs=1e-7)


@examples
@given(SCORES, st.booleans())
def test_more_trials_find_no_worse_and_the_band_ends_at_the_extremes(scores, largest):
    points = search_performance("a", scores, 10.0, largest)
    steps = np.diff([point.expected for point in points])
    assert (steps >= -1e-9).all() if largest else (steps <= 1e-9).all()
    assert all(min(scores) <= point.low <= point.high <= max(scores) for point in points)


def test_many_draws_approach_the_best():
    values, _ = expected_best([*np.linspace(10, 20, 200), 21.0], largest=True)
    assert 20.5 < values[-1] < 21.0  # with replacement: the best may not be drawn
