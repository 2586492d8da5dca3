"""Systems compared on contrastive pairs: who chose between the same pairs, tests, tables."""

import numpy as np
import pytest

from datamodules.contrast_pairs import ContrastPair
from lightning_modules.metrics.contrast_choices import Choices
from lightning_modules.runs.checksums import BrokenFileError
from lightning_modules.runs.files import read_run, write_arrays
from lightning_modules.runs.paths import CONTRAST
from sweeps.comparison.collect import collect
from sweeps.comparison.evaluation import evaluate
from sweeps.report.findings import Findings
from sweeps.report.html import render_report
from sweeps.report.report import make_report
from sweeps.report.sections.agreement import contrasts
from sweeps.report.terminal import print_report
from tests.helpers.run_folders import REPORT, SCORING, make_run

PAIRS = [
    ContrastPair(f"s {n}", f"t {n}", f"w {n}", ("number", "case")[n % 2], 1 + n % 12, n % 3 == 0)
    for n in range(240)
]


def chosen(share: float, pairs=PAIRS) -> Choices:
    """Right choices in about ``share`` of the pairs, drawn with a fixed seed."""
    margins = np.where(np.random.default_rng(7).random(len(pairs)) < share, 1.0, -1.0)
    return Choices.of(pairs, np.ones(len(pairs)), 1 + margins)


@pytest.fixture
def folder(tmp_path):
    make_run(tmp_path / "0", "good", choices=chosen(0.9))
    make_run(tmp_path / "1", "bad", choices=chosen(0.5))
    make_run(tmp_path / "2", "old")
    make_run(tmp_path / "3", "other", choices=chosen(0.9, PAIRS[:100]))
    return tmp_path


@pytest.fixture
def findings(folder):
    comparison = collect([folder / str(number) for number in range(4)])
    evaluation = evaluate([variant.system for variant in comparison.variants], SCORING)
    return Findings("a sweep", evaluation, comparison)


def test_systems_are_compared_on_the_same_pairs_only(findings):
    first, second = contrasts(findings.evaluation)
    assert [system.name for system in first.systems] == ["good", "bad"]
    assert [system.name for system in second.systems] == ["other"]
    assert not second.tests.tests
    tested = {each.test.subset: each for each in first.tests.tests}
    wanted = {"all pairs", "number", "case", "no attractor", "attractor"}
    assert set(tested) == wanted | {"distance 1–5", "distance 6–10", "distance 11–15"}
    assert tested["all pairs"].p_bootstrap < 0.05
    assert tested["all pairs"].p_randomisation < 0.05
    assert tested["all pairs"].test.difference.value == pytest.approx(
        100 * (chosen(0.9).right_choices - chosen(0.5).right_choices).mean()
    )


@pytest.mark.long
def test_every_form_of_the_report_has_the_choices(findings, capsys, tmp_path):
    from rich.console import Console

    report = make_report(findings, REPORT)
    names = {"contrast_by_distance", "contrast_by_category", "contrast_every_distance"}
    assert names | {"contrast_significance", "contrast_by_distance_2"} <= set(report.tables)
    assert "contrast_by_distance" in report.figures
    page = render_report(report)
    assert "Agreement against distance" in page
    assert page.index('data-figure="bleu_by_length"') < page.index(
        'data-figure="contrast_by_distance"'
    )
    print_report(report, Console(width=80))
    printed = capsys.readouterr().out
    table = printed.split("Right choices between two translations")[1]
    [good] = [line for line in table.splitlines() if line.startswith("good")][:1]
    assert len(good.split()) == 7  # name, all with its interval, three ranges of distances


@pytest.mark.long
def test_without_choices_there_is_no_section(tmp_path):
    make_run(tmp_path / "0", "old")
    comparison = collect([tmp_path / "0"])
    evaluation = evaluate([variant.system for variant in comparison.variants], SCORING)
    report = make_report(Findings("a sweep", evaluation, comparison), REPORT)
    assert not any(name.startswith("contrast") for name in report.tables)
    assert "Agreement against distance" not in render_report(report)


@pytest.mark.parametrize("damage", ["lacks", "longer"])
def test_a_damaged_file_is_named(folder, damage):
    arrays = chosen(0.5)._asdict()
    if damage == "lacks":
        del arrays["right"]
    else:
        arrays["right"] = np.ones(3)
    write_arrays(folder / "2" / CONTRAST, arrays)
    with pytest.raises(BrokenFileError, match=r"contrast\.npz cannot be read"):
        read_run(folder / "2")
