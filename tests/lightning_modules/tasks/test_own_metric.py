"""The metric of ``docs/how_to/extend/metric.md``: trained with, compared, reported, evaluated."""

import csv
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from lightning_modules.runs.files import read_predictions
from tests.helpers.commands import TINY, example, inside, places, succeed, write

pytestmark = pytest.mark.long

NO_TRACKER = "logger=none"


@pytest.fixture(scope="module")
def compared(space) -> Path:
    """Two runs and their comparison, made with the page's command."""
    [command] = example("metric", space)
    multirun = [part for part in command if not part.startswith(("-m", "scoring."))]
    [metrics] = [part for part in command if part.startswith("scoring.")]
    tiny = [part for part in TINY if not part.startswith("scoring.")]
    folder = space / "comparison"
    where = [NO_TRACKER, f"hydra.sweep.dir={folder}", *places(space)]
    output = succeed("-m", *multirun, *tiny, metrics, *where, PYTHONPATH=str(space))
    assert "same length (%) " in output
    return folder


def rows(folder: Path, table: str):
    return json.loads((folder / "tables" / f"{table}.json").read_text(encoding="utf-8"))["rows"]


def content(file: Path):
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.exhaustive
def test_a_run_has_the_score_in_its_last_column(compared):
    result = content(compared / "0" / "result.json")
    pairs = [(line.hypothesis, line.reference) for line in read_predictions(compared / "0")]
    same = 100 * np.mean([len(one.split()) == len(other.split()) for one, other in pairs])
    assert result["scores"]["same_length"] == pytest.approx(same)
    assert {"bleu", "same_length"} <= result["scores"].keys()
    assert not {"chrf", "chrf++", "ter"} & result["scores"].keys()
    with np.load(compared / "0" / "statistics.npz") as statistics:
        assert statistics["same_length"].shape == (24, 2)
        assert not {"chrf", "ter"} & set(statistics)
    for folder in (compared / "0", compared):
        with (folder / "bleu_by_length.csv").open(encoding="utf-8", newline="") as file:
            header, first, *_ = csv.reader(file)
        origin = ["signature", "resamples", "resampling_seed"]
        assert header[-5:] == ["coverage", "same_length", *origin]
        assert first[-4] != ""


@pytest.mark.exhaustive
def test_the_comparison_shows_it(compared):
    for row in rows(compared, "scores")[:2]:  # the systems; the baselines after them lack it
        assert 0 <= row["same_length"]["value"] <= 100
    assert (compared / "figures" / "same_length_by_length.svg").is_file()
    names = content(compared / "comparison.json")["tables"]
    assert "same_length_by_length" in names
    assert "same_length_by_length" in (compared / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def gone(monkeypatch):
    """The user's module cannot be imported in this process."""
    monkeypatch.delitem(sys.modules, "my_metric", raising=False)


@pytest.fixture
def there(gone, space, monkeypatch):
    monkeypatch.syspath_prepend(space)
    yield
    sys.modules.pop("my_metric", None)


@pytest.mark.exhaustive
def test_a_comparison_shows_what_its_runs_recorded(compared, space, there, quick_reports):
    """The command lists chrF, which is counted, and not the user's metric."""
    again = space / "again"
    inside("task=compare", f"runs={compared}", NO_TRACKER, f"hydra.run.dir={again}")
    [first, *_] = rows(again, "scores")
    assert first["same_length"] == rows(compared, "scores")[0]["same_length"]
    assert {"chrf", "chrf++"} <= first.keys()


@pytest.mark.exhaustive
def test_a_metric_that_is_gone_is_left_out_with_a_line(compared, space, gone, quick_reports, capfd):
    copy = space / "copy"
    shutil.copytree(compared, copy)
    inside("task=report", f"runs={copy}", NO_TRACKER)
    shown = capfd.readouterr()
    assert (shown.out + shown.err).count("my_metric.SameLength: cannot be imported") == 1
    assert "same_length" not in rows(copy, "scores")[0]
    assert "same_length" in rows(compared, "scores")[0]


@pytest.mark.exhaustive
def test_text_files_are_evaluated_with_it(compared, space, there, quick_reports):
    lines = [f"the sentence number {number} ." for number in range(40)]
    references = write(space / "ref", lines)
    halves = write(space / "half", [*lines[:20], *(["nothing ."] * 20)])
    files = [f"references={references}", f"systems.whole={references}", f"systems.half={halves}"]
    more = ["scoring.unit=reference_words", "scoring.metrics=[my_metric.SameLength]"]
    folder = f"hydra.run.dir={space}/evaluated"
    inside("task=evaluate", *files, *more, NO_TRACKER, folder)
    made = {
        row["system"]: row["same_length"]["value"] for row in rows(space / "evaluated", "scores")
    }
    assert made == {"whole": 100, "half": 50}
    [whole, *_] = rows(space / "evaluated", "same_length_significance")
    assert whole["difference"]["value"] == 50
    assert whole["p_bootstrap"] < 0.05
    assert "chrf_by_length" not in content(space / "evaluated" / "comparison.json")["tables"]
