"""The outcome of a study: tables, figures and the page, with hostile names of parameters."""

import csv
import io
import json
import math
import re

import optuna
import pytest
from hydra import compose, initialize_config_dir
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial
from rich.console import Console

from lightning_modules.figures.charts import as_spec
from lightning_modules.figures.picture_files import CAPTION, ENDINGS, FLOAT
from lightning_modules.runs.paths import CONF, REPORT
from sweeps.comparison.conditions import equally_tuned
from sweeps.launch.compose import use_hydra_config
from sweeps.report.html import environment
from sweeps.report.sections.studies import STUDY_FIGURES
from sweeps.report.terminal import MOST_JOBS, MOST_LINES
from sweeps.studies.figures import Goal, _outcome, study_figures
from sweeps.studies.outcome import (
    Best,
    StudyOutcome,
    find_outcomes,
    render_outcome,
    study_section,
    write_best,
    write_outcome,
)
from sweeps.studies.plan import open_study, order_of, study_plans
from sweeps.studies.settings import suggest
from sweeps.studies.storage import open_storage, silence_optuna
from sweeps.tasks.study import enqueue, print_outcomes
from tests.helpers.pages import HOSTILE, needs_axe, rows, screen, serious_violations, texts
from tests.helpers.run_folders import WIDTHS
from tests.sweeps.studies.test_studies import sweep_of

RATE, KIND, HEADS = "optimizer.lr", f"{HOSTILE[0]} $x_$^", "+heads"
RATES = FloatDistribution(1e-4, 1e-2, log=True)
KINDS = [HOSTILE[0], "b$_$", None, True]
DONE, PRUNED, FAILED = TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL
CASES = {
    "one trial": (1, [DONE], {"importances"}),
    "pruned and failed": (9, [PRUNED, FAILED, DONE], set()),
    "none finished": (3, [FAILED], {"importances", "trials", "slices"}),
}


def settings(**changed):
    space = {
        RATE: {"type": "float", "low": 1e-4, "high": 1e-2, "log": True},
        KIND: {"type": "categorical", "choices": KINDS},
        HEADS: {"type": "int", "low": 1, "high": 4, "when": {KIND: [None, True]}},
    }
    given = {"name": "a-study", "space": space, "seeds": [1, 2], "sampler": "random", "retries": 0}
    return sweep_of(**(given | changed))


def fill(study, count, states, cost, reports):
    """Conditional, categorical and numeric parameters; values that rise and fall."""
    for number in range(count):
        state = states[number % len(states)]
        params: dict[str, object] = {RATE: 1e-4 * (1 + number * 7 % 50), KIND: KINDS[number % 4]}
        kinds = {RATE: RATES, KIND: CategoricalDistribution(KINDS)}
        if number % 4 > 1:
            params[HEADS], kinds[HEADS] = 1 + number % 3, IntDistribution(1, 4)
        attributes: dict[str, object] = {"slot": number, "cost": cost}
        if state == FAILED:
            attributes["reason"] = f"out of memory {HOSTILE[0]}"
        values = [float(number % 5), 10.0 - number][: len(study.directions)]
        trial = create_trial(
            state=state,
            params=params,
            distributions=kinds,
            values=values if state == DONE else None,
            intermediate_values=reports or ({} if state == DONE else {10: 1.0, 20: 2.0}),
            user_attrs=attributes,
        )
        study.add_trial(trial)


def made(folder, count=6, states=(DONE,), cost=("target_tokens", 1000), reports=None, **changed):
    silence_optuna()
    sweep = settings(**changed)
    study = optuna.create_study(study_name=sweep.name, directions=sweep.directions)
    study.set_user_attr("identity", {"list of overrides": [f"data={HOSTILE[0]}"]})
    study.set_metric_names(list(sweep.objectives))
    fill(study, count, states, dict([cost]), reports)
    best = Best(3, "validation BLEU 4.00", {KIND: HOSTILE[0]}, f"python run.py {HOSTILE[0]}")
    return StudyOutcome(sweep, study, folder, [best] if DONE in states else [], cost[0])


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    outcome = made(tmp_path_factory.mktemp("a study"), 9, [PRUNED, DONE, DONE, FAILED])
    write_outcome(outcome, WIDTHS)
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


def test_the_number_of_a_trial_is_a_column_where_a_trial_was_replaced(tmp_path):
    outcome = made(tmp_path, 2)
    assert "number" not in outcome.trials_table.fields
    outcome.study.add_trial(create_trial(value=1.0, user_attrs={"slot": 1}))
    again = StudyOutcome(outcome.sweep, outcome.study, tmp_path, outcome.best, outcome.kind)
    place = again.trials_table.fields.index("number")
    assert [row[place] for row in again.trials_table.values] == [0, 1, 2]


@pytest.mark.parametrize(
    ("case", "answer"),
    [
        ({}, "Trial 3 is the best of 6 finished trials: validation BLEU 4.00."),
        ({"states": (FAILED,)}, "No trial has finished."),
        (
            {"objectives": ["bleu", "parameters"]},
            "1 of 6 finished trials is beaten by none in both validation BLEU and parameters.",
        ),
    ],
)
def test_a_sentence_says_what_a_study_has_found(tmp_path, case, answer):
    outcome = made(tmp_path, **case)
    assert outcome.answer == answer
    page = render_outcome(outcome, study_section([outcome]))
    assert page.index('id="answer"') < page.index("<h2>")
    assert answer in page


def test_values_have_the_same_digits_in_card_and_table(tmp_path, monkeypatch):
    monkeypatch.setattr("sweeps.studies.outcome.as_experiment", lambda _: "")
    study = made(tmp_path, 1)
    [trial] = study.study.trials
    best = write_best(trial, study.sweep, [], tmp_path)
    assert best.scores == "validation BLEU 0.00"
    place = study.trials_table.fields.index("bleu")
    assert study.trials_table.shown[0][place] == "0.00"


def test_a_finished_trial_pays_for_those_that_came_to_nothing(studied):
    curve = read(studied, "search_performance")
    values = [1.0, 2.0, 0.0, 1.0]  # of the trials 1, 2, 5 and 6
    assert len(curve) == len(values)
    assert float(curve[0]["expected"]) == pytest.approx(sum(values) / 4)
    assert [int(row["target_tokens"]) for row in curve] == [2250, 4500, 6750, 9000]


def test_a_trial_that_was_taken_up_again_is_paid_for_once(tmp_path):
    outcome = made(tmp_path, 2)
    for tokens in (1500, 4000):
        attempt = create_trial(
            state=FAILED, user_attrs={"slot": 5, "cost": {"target_tokens": tokens}}
        )
        outcome.study.add_trial(attempt)
    assert outcome.target_tokens == 2 * 1000 + 4000


@pytest.mark.parametrize(
    ("first", "second", "holds", "text"),
    [
        ({}, {}, True, "6 trials, 6,000 target tokens for each system"),
        ({}, {"count": 7}, False, "one: 6 trials, 6,000 target tokens; two: 7 trials, 7,000"),
        ({}, {"cost": ("target_tokens", 1001)}, False, "two: 6 trials, 6,006 target tokens"),
        ({"cost": ("flops", 1e12)}, {"cost": ("flops", 1.009e12)}, True, "6.054e+12 FLOPs"),
        ({"cost": ("seconds", 60.0)}, {"cost": ("seconds", 61.0)}, False, "366 seconds"),
    ],
)
def test_studies_are_equal_in_what_their_budget_counts(tmp_path, first, second, holds, text):
    outcomes = [made(tmp_path, name="one", **first), made(tmp_path, name="two", **second)]
    section = study_section(outcomes)
    condition = equally_tuned(section.costs, section.kind)
    assert condition.holds is holds
    assert text in condition.text


def test_an_interrupted_trial_counts_once_and_one_that_was_given_up_does_not(tmp_path):
    """``comparison=tuned`` compares the efforts of the systems."""
    straight, interrupted = made(tmp_path, name="one"), made(tmp_path, name="two")
    lost = create_trial(state=FAILED, user_attrs={"slot": 2, "cost": {"target_tokens": 400}})
    interrupted.study.add_trial(lost)
    assert equally_tuned([straight.cost, interrupted.cost], "target_tokens").holds
    given_up = made(tmp_path, 5, name="three")
    given_up.study.add_trial(
        create_trial(state=FAILED, user_attrs={"slot": 5, "cost": {"target_tokens": 1000}})
    )
    condition = equally_tuned([straight.cost, given_up.cost], "target_tokens")
    assert not condition.holds
    assert "three: 5 trials" in condition.text


def with_values(folder, bleus, losses, **changed):
    """Return the outcome of a study whose trials have these results."""
    sweep = settings(**changed)
    study = optuna.create_study(directions=sweep.directions)
    for slot, (bleu, loss) in enumerate(zip(bleus, losses, strict=True)):
        values = [bleu, loss][: len(sweep.objectives)]
        study.add_trial(create_trial(values=values, user_attrs={"slot": slot, "loss": loss}))
    return StudyOutcome(sweep, study, folder, [], "target_tokens")


@pytest.mark.parametrize(
    ("bleus", "best", "doubt"),
    [
        ([0.0, 0.0, 0.0], 1, "validation BLEU is 0 in every trial"),
        ([0.0, 5.0, 5.0], 1, "2 trials have the best bleu; the one of lowest loss is taken"),
        ([0.0, 5.0, 6.0], 2, ""),
    ],
)
def test_the_lower_loss_decides_between_trials_of_equal_bleu(tmp_path, capsys, bleus, best, doubt):
    outcome = with_values(tmp_path, bleus, [3.0, 1.0, 2.0])
    ordered = sorted(outcome.finished, key=lambda trial: order_of(trial, outcome.upwards))
    assert ordered[0].user_attrs["slot"] == best
    assert outcome.doubt.startswith(doubt)
    assert bool(outcome.doubt) == bool(doubt)
    assert f"in trial {best}" in _outcome(outcome.finished, [Goal(0, "BLEU", True)])


def test_the_oldest_of_trials_of_equal_loss_is_taken(tmp_path):
    outcome = with_values(tmp_path, [2.0, 1.0, 1.0], [2.0, 1.0, 1.0], objectives=["loss"])
    assert outcome.doubt == "2 trials have the best loss; the oldest is taken"
    ordered = sorted(outcome.finished, key=lambda trial: order_of(trial, outcome.upwards))
    assert ordered[0].user_attrs["slot"] == 1


def test_a_front_of_trials_without_bleu_is_doubted_too(tmp_path):
    outcome = with_values(tmp_path, [0.0, 0.0], [2.0, 3.0], objectives=["bleu", "loss"])
    assert outcome.doubt.startswith("validation BLEU is 0 in every trial")


@pytest.mark.parametrize("case", CASES)
def test_figures_that_cannot_be_drawn_say_why(tmp_path, case):
    count, states, missing = CASES[case]
    figures = study_figures(made(tmp_path, count, states).study, ["bleu"])
    assert {each.name for each in figures if each.why_not} == missing
    for each in figures:
        assert "cannot be drawn" not in each.why_not
        assert (each.chart is None) == bool(each.why_not)


def test_two_objectives_have_a_front(tmp_path):
    outcome = made(tmp_path, objectives=["bleu", "loss"])
    figures = study_figures(outcome.study, ["bleu", "loss"])
    assert [each.name for each in figures if each.chart] == ["importances", "trials", "slices"]


def test_the_files_are_all_there(studied):
    figures = {path.name for path in (studied.folder / "figures").iterdir()}
    names = {"importances", "trials", "slices"}
    curves = {f"search_performance_by_{pace}" for pace in ("trials", "target_tokens")}
    names |= curves | {f"{name}_column" for name in curves}
    drawn = {f"{name}.{ending}" for name in names for ending in ENDINGS}
    texts = {f"{name}.{CAPTION}" for name in names}
    texts |= {f"{name}.{FLOAT}" for name in names if name.startswith("search_")}
    assert figures == drawn | texts
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for name in drawn:
        path = studied.folder / "figures" / name
        assert path.read_bytes().startswith(starts[path.suffix[1:]])


def test_a_figure_that_is_no_longer_drawn_leaves_no_file(tmp_path):
    (tmp_path / "figures").mkdir()
    for name in ("importances", "trials"):
        for ending in ENDINGS:
            (tmp_path / "figures" / f"{name}.{ending}").touch()
    write_outcome(made(tmp_path, 1), WIDTHS)
    assert not list((tmp_path / "figures").glob("importances.*"))
    assert all(path.stat().st_size for path in (tmp_path / "figures").iterdir())


def test_the_page_of_200_trials_is_small(tmp_path):
    reports = {step: 20 + math.sin(step) for step in range(100)}
    goals = ["bleu", "loss"]
    outcome = made(tmp_path, 200, [DONE, DONE, PRUNED], reports=reports, objectives=goals)
    page = render_outcome(outcome, study_section([outcome]))
    assert len(page.encode()) < 2_000_000


def test_studies_stand_together_in_one_section(tmp_path):
    names = ("none", "luong")
    outcomes = [
        made(tmp_path / name, count, name=name) for name, count in zip(names, (3, 5), strict=True)
    ]
    section = study_section(outcomes)
    assert [row[:3] for row in section.studies.rows] == [["none", 3, 3], ["luong", 5, 5]]
    assert len(section.performance.rows) == 3 + 5
    curves = section.curves("container")
    for chart in curves.values():
        assert '"domain": ["none", "luong"]' in json.dumps(as_spec(chart))
    assert {name: len(drawn) for name, drawn in section.figures.items()} == dict.fromkeys(names, 3)
    macro = '{% from "studies.html.j2" import study_section %}{{ study_section(section, names) }}'
    page = environment().from_string(macro).render(section=section, names=STUDY_FIGURES)
    assert [page.count(f"<h3><bdi>{name}</bdi></h3>") for name in names] == [1, 1]
    specs = section.charts(STUDY_FIGURES)
    assert set(specs) == {f"{study}-{figure}" for study in names for figure in STUDY_FIGURES}
    assert sorted(re.findall('data-figure="([^"]*)"', page)) == sorted([*specs, *curves])


@pytest.mark.parametrize("studies", [1, 5])
def test_the_end_of_studies_takes_25_lines_failed_trials_first(tmp_path, monkeypatch, studies):
    def unwritten(outcome, widths):
        return outcome.folder / REPORT

    monkeypatch.setattr("sweeps.tasks.study.write_outcome", unwritten)
    names = [f"study-{number}" for number in range(studies)]
    outcomes = [made(tmp_path / name, 6, [FAILED, DONE], name=name) for name in names]
    console = Console(width=80, file=io.StringIO(), record=True)
    print_outcomes(outcomes, WIDTHS, console)
    lines = console.export_text().splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[0].startswith("✗ failed trial 0 of study study-0: out of memory")
    assert f"✗ {3 * studies - MOST_JOBS} more failed; the page names all" in lines
    for name in names:
        assert any(line.startswith(f"study {name}: ") for line in lines)
        assert f"open {tmp_path / name}/report.html in a browser" in lines


@pytest.mark.long
def test_the_end_of_a_study_writes_it_all_even_where_nothing_finished(tmp_path, capsys):
    overrides = ["sweep=recurrent", "model=bahdanau", "sweep.trials=3", f"outputs={tmp_path}"]
    folder = tmp_path / "studies" / "recurrent-bahdanau"

    def show():
        print_outcomes(find_outcomes(plans, folder, "target_tokens"), WIDTHS, Console(width=200))

    with initialize_config_dir(str(CONF), version_base=None):
        config = compose("config", overrides, return_hydra_config=True)
        with use_hydra_config(config):
            plans = study_plans(config, overrides, folder)
            assert enqueue(plans, folder) == 3
            [plan] = plans
            study = open_study(plan.sweep, open_storage(plan.sweep, folder))
            trials = [study.ask() for _ in range(3)]
            for trial in trials[:2]:
                study.tell(trial, state=FAILED)
            show()
            assert "No trial finished" in (folder / "report.html").read_text(encoding="utf-8")
            suggest(trials[2], plan.sweep.space)
            study.tell(trials[2], 12.5)
            show()
    printed = capsys.readouterr().out
    assert f"open {folder}/report.html in a browser" in printed
    command = f"--config-dir {folder} +experiment=recurrent-bahdanau seed=1"
    assert command in printed
    assert command in (folder / "report.html").read_text(encoding="utf-8")


SHOWN = {
    "search_performance_by_trials": ("symbol", 4),
    "a-study-importances": ("rect", 3),
    "a-study-trials": ("symbol", 4),
    "a-study-slices": ("symbol", 4 + 4 + 2),
}
"""Charts of the page, with their marks and the number of these."""


@pytest.fixture(scope="module")
def study_page(browser, studied):
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get_log("browser")
    browser.get((studied.folder / "report.html").as_uri())
    drawn = "return document.querySelectorAll('.chart svg.marks').length"
    WebDriverWait(browser, 60).until(lambda _: browser.execute_script(drawn) == len(SHOWN))
    return browser


@pytest.mark.chromium
def test_no_hostile_name_runs_and_nothing_else_is_loaded(study_page, studied):
    assert study_page.get_log("browser") == []
    assert study_page.execute_script("return document.scripts.length") == 4
    loaded = "return performance.getEntriesByType('resource').map(entry => entry.name)"
    assert [url for url in study_page.execute_script(loaded) if not url.startswith("data:")] == []
    assert HOSTILE[0] in " ".join(texts(study_page, "pre code"))
    assert texts(study_page, "#failed li bdi") == [f"out of memory {HOSTILE[0]}"] * 2
    for row, shown in zip(studied.trials_table.shown, rows(study_page, "trials"), strict=True):
        assert row == shown


@pytest.mark.chromium
def test_the_charts_are_seen_with_every_trial(study_page):
    count = (
        "return document.querySelectorAll(`[data-figure=${arguments[0]}] ${arguments[1]}`).length"
    )
    for name, (marks, number) in SHOWN.items():
        assert study_page.execute_script(count, name, f".role-mark.mark-{marks} path") == number
    widths = "return [...document.querySelectorAll('.chart svg')].map(svg => svg.clientWidth)"
    assert min(study_page.execute_script(widths)) > 300


@pytest.mark.chromium
def test_the_mark_under_the_pointer_shows_a_hostile_name(study_page):
    from selenium.webdriver.common.action_chains import ActionChains

    label = f"[data-figure=a-study-importances] path[aria-label*='parameter: {HOSTILE[0]}']"
    mark = study_page.find_element("css selector", label)
    ActionChains(study_page).scroll_to_element(mark).move_to_element(mark).perform()
    assert HOSTILE[0] in texts(study_page, "#vg-tooltip-element")[0]
    assert study_page.execute_script("return document.scripts.length") == 4


@pytest.mark.chromium
@pytest.mark.parametrize("width", [390, 1400])
def test_a_study_is_scrolled_downwards_alone(study_page, width):
    with screen(study_page, width):
        sizes = "return [document.documentElement.scrollWidth, window.innerWidth]"
        content, window = study_page.execute_script(sizes)
    assert content <= window == width


@needs_axe
@pytest.mark.chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_a_study(study_page, scheme):
    with screen(study_page, scheme=scheme):
        assert serious_violations(study_page) == []
