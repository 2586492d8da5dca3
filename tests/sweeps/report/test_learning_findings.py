"""What a report says of the use of the source, and of what more training would change."""

import re
from typing import Any

import pytest

from sweeps.comparison.numbers import format_duration
from sweeps.comparison.record import Origin
from sweeps.report.costs import total_time
from sweeps.report.html import render_report
from sweeps.report.learning_findings import learning_findings, next_step
from sweeps.report.report import make_report
from tests.helpers.run_folders import (
    CONFIG,
    REPORT,
    TEXT,
    findings_of,
    make_failure,
    make_run,
    result,
)

MANY = ("none", "location", "luong", "local", "transformer", "bahdanau")


def compared(folder, **systems):
    """Return a comparison of runs whose trainings ended so."""
    runs = []
    for number, (variant, ends) in enumerate(systems.items()):
        for seed, end in enumerate(ends, start=1):
            training = {**result()["training"], "convergence": end}
            place = folder / f"{number}-{seed}"
            runs.append(make_run(place, variant, seed=seed, training=training))
    return findings_of(runs).comparison


def told(folder, best, **systems):
    """Return what is found about runs whose trainings ended so, and how."""
    comparison = compared(folder, **systems)
    [system] = [each for each in comparison.by_system if each.name == best]
    return [(each.claim, each.test) for each in learning_findings(comparison, system)]


def end(fall=None, gain=None, error=0.01):
    return {
        **({} if fall is None else {"fall": fall, "fall_error": error}),
        **({} if gain is None else {"source_gain": gain, "source_gain_error": error}),
    }


def test_the_use_of_the_source_and_the_last_half_are_told_the_largest_first(tmp_path):
    source, more = told(
        tmp_path, "bahdanau", none=[end(0.1, 0.05), end(0.2, 0.15)], bahdanau=[end(0.3, 0.6, 0.02)]
    )
    assert source == (
        "Given the right source rather than another sentence's, the validation loss is lower by "
        "60% (“bahdanau”) and 10% (“none”)",
        "no test: means over seeds; standard errors over sentences of at most 2.0%",
    )
    assert more[0] == (
        "Over the last half of the training, the validation loss fell by 30% (“bahdanau”) and 15% "
        "(“none”). “bahdanau”, which has the highest BLEU, also learned fastest at the end"
    )


@pytest.mark.parametrize(("fall", "may_change"), [(0.28, False), (0.32, False), (0.34, True)])
def test_the_order_may_change_where_another_loss_falls_faster_beyond_its_errors(
    tmp_path, fall, may_change
):
    [(claim, _)] = told(tmp_path, "bahdanau", none=[end(fall)], bahdanau=[end(0.3)])
    assert claim.endswith("the order may change") == may_change
    assert ("“none” learned faster at the end" in claim) == may_change
    assert ("No other system clearly learned faster" in claim) != may_change


def test_a_loss_that_rises_has_not_learned(tmp_path):
    [(claim, _)] = told(tmp_path, "bahdanau", none=[end(-0.07)], bahdanau=[end(-0.01)])
    assert "the validation loss changed by +1% (“bahdanau”) and +7% (“none”)" in claim
    assert "learned fastest" not in claim


def test_the_time_of_a_training_counts_once_however_often_it_is_tested(tmp_path):
    tests: list[dict[str, Any]] = [{"beam_size": 1}, {"beam_size": 4}]
    runs = [
        make_run(tmp_path / f"{n}", "bahdanau", config=CONFIG | {"decoding": each})
        for n, each in enumerate(tests)
    ]
    runs.append(make_run(tmp_path / "other", "luong"))
    found = findings_of(runs).comparison
    seconds = [run.result.training.seconds or 0.0 for run in found.runs]
    assert total_time(found) == format_duration(seconds[0] + seconds[2])
    step = next_step(found, None, "budget.updates=60", one_seed=False)
    assert step is not None
    assert step.seconds == pytest.approx(2 * (seconds[0] + seconds[2]))


def test_a_failed_seed_is_trained_by_the_same_command(tmp_path):
    runs = [make_run(tmp_path / name, name) for name in ("none", "luong")]
    failed = make_failure(tmp_path / "failed", error="no data")
    assert findings_of(runs).next_step is not None
    assert findings_of([*runs, failed]).next_step is None


def test_of_many_systems_the_ends_and_the_best_are_told(tmp_path):
    runs = {name: [end(0.1 + place / 10)] for place, name in enumerate(MANY)}
    [(claim, _)] = told(tmp_path, "luong", **runs)
    listed, between, _ = claim.partition("loss fell by ")[2].split(". ")
    assert re.findall(r"\d+%", listed) == ["60%", "30%", "10%"]
    assert "“luong”" in listed
    assert between == "3 more lie between"


@pytest.mark.parametrize(
    "systems",
    [
        {"bahdanau": [end(0.3, 0.6)]},
        {"none": [end()], "bahdanau": [end(0.3, 0.6)]},
        {"none": [end(0.1, 0.1)], "luong": [end(0.1, 0.1)], "bahdanau": [end(0.3, 0.6), end()]},
    ],
)
def test_nothing_is_told_of_one_system_or_without_the_best(tmp_path, systems):
    assert told(tmp_path, "bahdanau", **systems) == []


def clue(folder, lost, gains, error=0.01):
    """Return the clue about runs with such shares, of which one has ``lost`` all words."""
    runs = [
        make_run(
            folder / name,
            name,
            hypotheses=["le"] * len(TEXT.references) if name == lost else None,
            training={**result()["training"], "convergence": end(gain=gain, error=error)},
        )
        for name, gain in gains.items()
    ]
    found = findings_of(runs)
    page = render_report(make_report(found, REPORT))
    assert ("A clue to why: " in page) == (found.clue is not None)
    return found.clue


THREE = {"none": 0.3, "luong": 0.66, "bahdanau": 0.77}


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        (
            THREE,
            r"“none” uses its source less\..* its loss is 30% lower \(with the others 66% to 77%",
        ),
        ({"none": 0.3, "bahdanau": 0.77}, r"its loss is 30% lower \(with “bahdanau” 77%\)\.$"),
        (THREE | {"none": 0.4}, None),  # more than half of the next
        (THREE | {"luong": 0.31}, None),
        (THREE | {"none": -0.02, "luong": 0.0}, None),  # within the errors
    ],
)
def test_the_system_with_the_lowest_bleu_may_use_its_source_much_less(tmp_path, gains, said):
    found = clue(tmp_path, "none", gains)
    assert found is None if said is None else re.search(said, found or "")


def test_the_page_lists_a_value_for_each_system(tmp_path):
    gains = {"none": 0.1, "bahdanau": 0.6}
    runs = [
        make_run(
            tmp_path / name, name, training={**result()["training"], "convergence": end(gain=gain)}
        )
        for name, gain in gains.items()
    ]
    page = render_report(make_report(findings_of(runs), REPORT))
    of_topic = page[page.index("<dt>Use of the source</dt>") :]
    [listed, *_] = re.findall(r'<ul class="values">(.*?)</ul>', of_topic, re.DOTALL)
    items = [re.sub(r"<[^>]+>", "", item).split() for item in listed.split("</li>")[:-1]]
    assert items == [["bahdanau", "60%"], ["none", "10%"]]


COMMAND = "python run.py comparison=quickstart seed=7 'data.name=a b' budget.target_tokens=400_000"


@pytest.mark.parametrize(
    ("longer", "one_seed", "command", "step", "more"),
    [
        ("", False, COMMAND, None, 0),
        ("", True, COMMAND, f"{COMMAND.replace(' seed=7', '')} seed=1,2,3", 3),
        ("budget.target_tokens=800_000", False, COMMAND, COMMAND.replace("400_000", "800_000"), 2),
        (
            "budget.updates=60",
            True,
            "python run.py task=compare 'runs=[a,b]'",
            "budget.updates=60 seed=1,2,3",
            6,
        ),
        ("budget.updates=60", True, None, "budget.updates=60 seed=1,2,3", 6),
        (
            "budget.updates=60",
            False,
            "python run.py task=train model=bahdanau",
            "python run.py task=train model=bahdanau budget.updates=60",
            2,
        ),
    ],
)
def test_the_next_step_is_the_command_with_what_is_missing(
    tmp_path, longer, one_seed, command, step, more
):
    comparison = compared(tmp_path, none=[end()], bahdanau=[end()])
    found = next_step(comparison, command, longer, one_seed)
    if step is None:
        assert found is None
    else:
        assert found is not None
        assert found.command == step
        took = sum(run.result.training.seconds or 0 for run in comparison.runs)
        assert found.seconds == pytest.approx(more * took)


def test_the_next_step_stands_on_the_page(tmp_path):
    """It asks for three seeds where systems have one, and for nothing where they have two."""
    runs = [
        make_run(tmp_path / f"{name}{seed}", name, seed)
        for name in ("none", "luong")
        for seed in (1, 2)
    ]
    origin = Origin(command="python run.py comparison=quickstart")
    page = render_report(make_report(findings_of(runs[::2], origin=origin), REPORT))
    [shown] = re.findall(r'id="next">(.*?)</p>', page)
    assert "<code>python run.py comparison=quickstart seed=1,2,3</code>" in shown
    assert "of training)" in shown
    assert findings_of(runs, origin=origin).next_step is None


def test_a_system_that_uses_its_source_less_explains_no_higher_bleu(tmp_path):
    assert clue(tmp_path, "bahdanau", THREE) is None
