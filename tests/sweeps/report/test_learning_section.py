"""What a report says of how far the trainings have come."""

import pytest

from lightning_modules.runs.files import write_learning_curve
from lightning_modules.runs.schema import LossPoint
from sweeps.comparison.collect import collect
from sweeps.report.html import render_report
from sweeps.report.report import make_report
from sweeps.report.sections.learning import learning_curves, learning_figures
from tests.helpers.run_folders import (
    COLUMN,
    REPORT,
    findings_of,
    history,
    make_run,
    result,
    unsealed,
)


def made(folder, variant, **convergence):
    training = {**result()["training"], "convergence": convergence}
    return make_run(folder, variant, training=training, history=history())


def test_a_report_says_how_far_each_training_has_come(tmp_path):
    runs = [
        made(tmp_path / "0", "none", fall=0.12, fall_error=0.01, last_fifth_bleu=0.2),
        made(tmp_path / "1", "luong", fall=0.04, fall_error=0.01, source_gain=0.5),
        made(tmp_path / "2", "bahdanau", fall=0.01, fall_error=0.01),
        made(tmp_path / "3", "transformer", fall=0.3, source_gain=0.01, source_gain_error=0.001),
        make_run(tmp_path / "4", "location"),
    ]
    findings = findings_of(runs)
    report = make_report(findings, REPORT)
    table = report.tables["convergence"]
    judged = {row[0]: row[-1] for row in table.shown}
    assert judged == {
        "none": "still falls: train longer",
        "luong": "still falls: train longer",
        "bahdanau": "no longer falls",
        "transformer": "does not translate yet",
    }
    assert [row[2:4] for row in table.shown][:2] == [["12.0", "1.0"], ["4.0", "1.0"]]
    assert table.origin == {"runs": "4 of 5"}
    sentence = (
        "3 of 5 training runs were still improving when they ended: over the last half, the "
        "validation loss fell by 4% to 30%."
    )
    assert findings.alarms is not None
    assert str(findings.alarms.improving).startswith(sentence)
    page = render_report(report)
    assert page.count(sentence) == 1
    assert "does not translate yet" in page
    [summary] = [part for part in report.parts if part.name == "summary"]
    assert findings.alarms.improving in summary.lines


def test_a_report_of_runs_that_learned_says_nothing(tmp_path):
    findings = findings_of([made(tmp_path / "0", "none", fall=0.01), make_run(tmp_path / "1")])
    assert findings.alarms is None
    assert 'id="still-improving"' not in render_report(make_report(findings, REPORT))


@pytest.mark.parametrize("fine", [True, False])
def test_figures_of_losses_and_rates_have_the_points_of_the_learning_curve(tmp_path, fine):
    folder = unsealed(make_run(tmp_path / "0", "luong", history=history(validations=2)))
    points = [
        LossPoint(updates=rung, target_tokens=100 * rung, seconds=rung, val_loss=7 / rung,
                  error=None, fall=None, fall_error=None, learning_rate=1e-3 / rung)
        for rung in (1, 2, 4)
    ]  # fmt: skip
    if fine:
        write_learning_curve(folder, points)
    [curve] = learning_curves(collect([folder]))
    for column in ("val_loss", "learning_rate"):
        drawn = [row[column] for row in curve.drawn if column in row]
        assert drawn == [getattr(each, column) for each in (points if fine else curve.points)]
    assert len(curve.rows) == 2
    figures = learning_figures([curve], COLUMN)
    values = figures["learning_loss_by_target_tokens"].to_dict()["data"]["values"]
    assert len(values) == 2 + (3 if fine else 2)
