"""What a study found: its tables, Optuna's figures and its page, whatever its parameters' names."""

import csv
import io
import json

import matplotlib as mpl
import optuna
import pytest
from hydra import compose, initialize_config_dir
from matplotlib import pyplot
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from datamodules.errors import UserError
from sweeps.conditions import equally_tuned
from sweeps.errors import CONF
from sweeps.page import environment
from sweeps.studies import course
from sweeps.studies.best import Best
from sweeps.studies.compose import current
from sweeps.studies.outcome import Outcome
from sweeps.studies.page import write_outcome
from sweeps.studies.performance import Search, performance_table
from sweeps.studies.plots import draw_pictures
from sweeps.studies.section import study_section
from sweeps.studies.settings import Sweep, build_sweep
from sweeps.studies.space import suggest
from sweeps.studies.storage import open_storage, quiet
from sweeps.studies.study import open_study
from tests.hostile import HOSTILE
from tests.pages import rows, texts

RATE, KIND, HEADS = "optimizer.lr", f"{HOSTILE[0]} $x_$^", "+heads"
RATES = FloatDistribution(1e-4, 1e-2, log=True)
KINDS = [HOSTILE[0], "b$_$", None, True]
DONE, PRUNED, FAILED = TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL
CASES = {
    "one trial": (1, [DONE], {"importances", "intermediate_values"}),
    "two trials": (2, [DONE], {"intermediate_values"}),
    "pruned and failed": (9, [PRUNED, FAILED, DONE], set()),
    "none finished": (3, [FAILED], {"importances", "history", "slices",
                                    "intermediate_values", "parallel_coordinates"}),
}  # fmt: skip


def settings(**changed):
    space = {
        RATE: {"type": "float", "low": 1e-4, "high": 1e-2, "log": True},
        KIND: {"type": "categorical", "choices": KINDS},
        HEADS: {"type": "int", "low": 1, "high": 4, "when": {KIND: [None, True]}},
    }
    given = {
        "name": "a-study", "space": space, "trials": 6, "seeds": [1, 2], "objectives": ["bleu"],
        "sampler": "random", "sampler_seed": 1, "pruner": "none", "warmup_trials": 0, "known": [],
        "storage": None, "workers": 1, "worker": 0, "retries": 0,
        "heartbeat_seconds": 20,
    }  # fmt: skip
    return Sweep.model_validate(given | changed)


def fill(study, count, states, cost):
    """Conditional, categorical and numeric parameters; values that rise and fall."""
    for number in range(count):
        state = states[number % len(states)]
        params: dict[str, object] = {RATE: 1e-4 * (1 + number * 7 % 50), KIND: KINDS[number % 4]}
        kinds = {RATE: RATES, KIND: CategoricalDistribution(KINDS)}
        if number % 4 > 1:
            params[HEADS], kinds[HEADS] = 1 + number % 3, IntDistribution(1, 4)
        told: dict[str, object] = {"slot": number, "cost": cost}
        if state == FAILED:
            told["reason"] = f"out of memory {HOSTILE[0]}"
        trial = create_trial(
            state=state,
            params=params,
            distributions=kinds,
            values=[float(number % 5), 10.0 - number][: len(study.directions)]
            if state == DONE
            else None,
            intermediate_values={} if state == DONE else {10: 1.0, 20: 2.0},
            user_attrs=told,
        )
        study.add_trial(trial)


def made(folder, count=6, states=(DONE,), cost=("target_tokens", 1000), **changed):
    quiet()
    sweep = settings(**changed)
    study = optuna.create_study(study_name=sweep.name, directions=sweep.directions)
    study.set_user_attr("identity", {"list of overrides": [f"data={HOSTILE[0]}"]})
    study.set_metric_names(list(sweep.objectives))
    fill(study, count, states, dict([cost]))
    best = Best(3, "bleu 4", {KIND: HOSTILE[0]}, f"python run.py {HOSTILE[0]}")
    return Outcome(sweep, study, folder, [best] if DONE in states else [], cost[0])


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    outcome = made(tmp_path_factory.mktemp("a study"), 9, [PRUNED, DONE, DONE, FAILED])
    write_outcome(outcome)
    return outcome


def read(outcome, table):
    text = (outcome.folder / "tables" / f"{table}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def test_every_trial_is_a_row_with_its_settings_and_its_reason(studied):
    read_rows = read(studied, "trials")
    assert [row["slot"] for row in read_rows] == [str(slot) for slot in range(9)]
    assert [row["state"] for row in read_rows[:4]] == ["pruned", "complete", "complete", "fail"]
    assert [row["bleu"] for row in read_rows[:4]] == ["", "1.0", "2.0", ""]
    assert read_rows[3]["reason"] == f"out of memory {HOSTILE[0]}"
    assert [row[KIND] for row in read_rows[:4]] == [HOSTILE[0], "b$_$", "null", "true"]
    assert [row[HEADS] for row in read_rows[:4]] == ["", "", "3", "1"]
    for row in read_rows:
        assert float(row[RATE]) == studied.study.trials[int(row["slot"])].params[RATE]
        assert (row["sampler"], row["seeds"]) == ("random (seed 1)", "1, 2")


def test_a_finished_trial_pays_for_those_that_came_to_nothing(studied):
    found = read(studied, "search_performance")
    values = [1.0, 2.0, 0.0, 1.0]  # of the trials 1, 2, 5 and 6
    assert len(found) == len(values)
    assert float(found[0]["expected"]) == pytest.approx(sum(values) / 4)
    assert [int(row["target_tokens"]) for row in found] == [2250, 4500, 6750, 9000]


def test_the_lowest_loss_is_the_best():
    table = performance_table({"a": Search([3.0, 1.0], 10.0)}, "loss", largest=False)
    assert [row[3] for row in table.rows] == [2.0, 1.5]


def test_a_trial_that_was_taken_up_again_is_paid_for_once(tmp_path):
    outcome = made(tmp_path, 2)
    for tokens in (1500, 4000):
        attempt = create_trial(
            state=FAILED, user_attrs={"slot": 5, "cost": {"target_tokens": tokens}}
        )
        outcome.study.add_trial(attempt)
    assert outcome.target_tokens == 2 * 1000 + 4000


@pytest.mark.parametrize(
    ("first", "second", "holds", "told"),
    [
        ({}, {}, True, "6 trials, 6,000 target tokens for each system"),
        ({}, {"count": 7}, False, "one: 6 trials, 6,000 target tokens; two: 7 trials, 7,000"),
        ({}, {"cost": ("target_tokens", 1001)}, False, "two: 6 trials, 6,006 target tokens"),
        (
            {"cost": ("flops", 1e12)},
            {"cost": ("flops", 1.009e12)},
            True,
            "one: 6 trials, 6e+12 FLOPs; two: 6 trials, 6.054e+12 FLOPs",
        ),
        ({"cost": ("seconds", 60.0)}, {"cost": ("seconds", 61.0)}, False, "366 seconds"),
    ],
)
def test_studies_are_equal_in_what_their_budget_counts(tmp_path, first, second, holds, told):
    outcomes = [made(tmp_path, name="one", **first), made(tmp_path, name="two", **second)]
    section = study_section(outcomes)
    found = equally_tuned(section.tables["studies"], section.kind)
    assert found.holds is holds
    assert told in found.text


@pytest.mark.parametrize("case", CASES)
def test_figures_that_cannot_be_drawn_say_why(tmp_path, case):
    count, states, missing = CASES[case]
    pictures = draw_pictures(made(tmp_path, count, states).study, ["bleu"])
    assert {each.name for each in pictures if each.why_not} == missing
    for each in pictures:
        assert "Optuna does not" not in each.why_not
        assert bool(each.svg) == bool(each.png) == (not each.why_not)


def test_two_objectives_have_a_front(tmp_path):
    outcome = made(tmp_path, objectives=["bleu", "loss"])
    drawn = [each.name for each in draw_pictures(outcome.study, ["bleu", "loss"]) if each.svg]
    assert drawn == [
        "importances", "pareto_front", "history_bleu", "history_loss", "parallel_coordinates",
        "slices_bleu", "slices_loss",
    ]  # fmt: skip


def test_one_parameter_has_no_rivals(tmp_path):
    study = optuna.create_study()
    for value in (1.0, 2.0):
        study.add_trial(create_trial(value=value, params={RATE: 1e-3}, distributions={RATE: RATES}))
    importances, *others = draw_pictures(study, ["loss"])
    assert importances.why_not == "takes two parameters"
    assert {each.name for each in others if each.svg} == {
        "history", "parallel_coordinates", "slices",
    }  # fmt: skip


def test_the_users_own_drawing_is_left_alone(tmp_path):
    pyplot.switch_backend("svg")
    try:
        own = pyplot.figure()
        style = dict(mpl.rcParams)
        draw_pictures(made(tmp_path, 2).study, ["bleu"])
        assert mpl.get_backend() == "svg"
        assert dict(mpl.rcParams) == style
        assert pyplot.get_fignums() == [own.number]
    finally:
        pyplot.close("all")
        pyplot.switch_backend("agg")


def test_the_files_are_all_there_and_the_page_is_small(studied):
    figures = {path.name for path in (studied.folder / "figures").iterdir()}
    names = {"importances", "history", "intermediate_values", "parallel_coordinates", "slices"}
    curves = {f"search_performance_by_{pace}" for pace in ("trials", "target_tokens")}
    assert figures == {f"{name}.{ending}" for name in names for ending in ("svg", "png")} | {
        f"{name}.{ending}" for name in curves for ending in ("svg", "png", "pdf")
    }
    assert (studied.folder / "report.html").stat().st_size < 2_000_000


def test_studies_stand_together_in_one_section(tmp_path):
    names = ("none", "luong")
    outcomes = [
        made(tmp_path / name, count, name=name) for name, count in zip(names, (3, 5), strict=True)
    ]
    section = study_section(outcomes)
    assert [row[:3] for row in section.tables["studies"].rows] == [["none", 3, 3], ["luong", 5, 5]]
    assert len(section.tables["search_performance"].rows) == 3 + 5
    for chart in section.curves("container").values():
        assert '"domain": ["none", "luong"]' in json.dumps(chart.to_dict(validate=False))
    assert {name: len(drawn) for name, drawn in section.pictures.items()} == dict.fromkeys(names, 5)
    called = '{% from "studies.html.j2" import study_section %}{{ study_section(section) }}'
    shown = environment().from_string(called).render(section=section)
    assert [shown.count(f"<h3><bdi>{name}</bdi></h3>") for name in names] == [1, 1]
    assert shown.count("<img ") == 2 * 2  # importances and parallel coordinates
    for name in section.curves("container"):
        assert shown.count(f'data-figure="{name}"') == 1


def test_the_end_of_a_study_writes_it_all_even_where_nothing_finished(tmp_path, capsys):
    given = ["sweep=recurrent", "model=bahdanau", "sweep.trials=3", f"outputs={tmp_path}"]
    folder = tmp_path / "studies" / "recurrent-bahdanau"
    with initialize_config_dir(str(CONF), version_base=None):
        config = compose("config", given, return_hydra_config=True)
        with current(config):
            course.begin(config)
            sweep = build_sweep(config)
            study = open_study(sweep, open_storage(sweep, folder))
            trials = [study.ask() for _ in range(3)]
            for trial in trials[:2]:
                study.tell(trial, state=FAILED)
            with pytest.raises(UserError, match="no trial finished"):
                course.end(config)
            assert "No trial finished" in (folder / "report.html").read_text(encoding="utf-8")
            suggest(trials[2], sweep.space)
            study.tell(trials[2], 12.5)
            course.end(config)
    said = capsys.readouterr().out
    assert f"open {folder}/report.html in a browser" in said
    command = f"--config-dir {folder} +experiment=recurrent-bahdanau seed=1"
    assert command in said
    assert command in (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def study_page(browser, studied):
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get_log("browser")
    browser.get((studied.folder / "report.html").as_uri())
    drawn = "return document.querySelectorAll('.chart svg.marks').length"
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script(drawn) == 1)
    return browser


@pytest.mark.chromium
def test_no_hostile_name_runs_and_nothing_else_is_loaded(study_page, studied):
    assert study_page.get_log("browser") == []
    assert study_page.execute_script("return document.scripts.length") == 5
    loaded = "return performance.getEntriesByType('resource').map(entry => entry.name)"
    assert [url for url in study_page.execute_script(loaded) if not url.startswith("data:")] == []
    assert HOSTILE[0] in " ".join(texts(study_page, "pre code"))
    assert texts(study_page, "#failed li bdi") == [f"out of memory {HOSTILE[0]}"] * 2
    for row, shown in zip(studied.trials_table.shown, rows(study_page, "trials"), strict=True):
        assert row == shown


@pytest.mark.chromium
def test_the_pictures_are_seen_and_the_curve_has_a_point_a_trial(study_page):
    widths = "return [...document.images].map(image => image.naturalWidth)"
    assert len(study_page.execute_script(widths)) == 5
    assert all(study_page.execute_script(widths))
    assert len(texts(study_page, ".chart svg .mark-symbol.role-mark path")) == 4


@pytest.mark.chromium
def test_trials_sort_by_their_values(study_page):
    header = "document.querySelector('#trials thead').rows[0].cells[3].querySelector('button')"
    study_page.execute_script(f"{header}.click(); {header}.click()")
    assert [row[3] for row in rows(study_page, "trials")][:5] == [
        "2.00",
        "1.00",
        "1.00",
        "0.00",
        "–",
    ]


@pytest.mark.chromium
def test_a_phone_scrolls_a_study_downwards_alone(study_page):
    narrow = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    study_page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    sizes = "return [document.documentElement.scrollWidth, window.innerWidth]"
    content, window = study_page.execute_script(sizes)
    study_page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert content <= window == 390
