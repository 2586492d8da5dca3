"""``task=compare``, and the comparison at the end of many jobs."""

import json
import subprocess
import sys

import pytest
from omegaconf import OmegaConf

from lightning_modules.runs.files import find_runs
from lightning_modules.runs.paths import TRACKER_ID
from sweeps.tasks.compare import build_comparison, compare_jobs
from tests.helpers.commands import ROOT, TINY, in_process, inside, mistake, places
from tests.helpers.refusals import refused
from tests.helpers.run_folders import REPORT, SCORING, make_failure, make_run


def test_no_finished_run_is_the_users_matter(tmp_path):
    failed = [make_failure(tmp_path / "0"), make_failure(tmp_path / "1", "none", error="no data")]
    with refused("the loss is not a number (luong, seed 1); no data (none, seed 1)"):
        build_comparison(failed, tmp_path, SCORING, REPORT)
    assert not (tmp_path / "report.html").exists()


def test_the_end_of_other_multiruns_leaves_no_comparison(tmp_path):
    (tmp_path / "0" / ".hydra").mkdir(parents=True)
    compare_jobs(OmegaConf.create({}), dict.fromkeys(find_runs(tmp_path), "a job"), tmp_path)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("run", {"altair", "torch", "jinja2", "numpy", "pydantic", "rich"}),
        ("sweeps.report.wandb_comparison", {"torch", "pytorch_lightning"}),
    ],
)
def test_what_trains_nothing_loads_nothing_heavy(module, heavy):
    code = f"import sys, {module}; print({heavy} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout == "set()\n"


@pytest.mark.long
def test_runs_and_folders_of_runs_are_compared(tmp_path, quick_reports):
    make_run(tmp_path / "one", "none")
    make_run(tmp_path / "many" / "0", "luong")
    make_run(tmp_path / "many" / "1", "transformer")
    inside(
        "task=compare", f"runs=[{tmp_path}/one,{tmp_path}/many]", "scoring.resamples=100",
        "logger=none", f"hydra.run.dir={tmp_path}/compared",
    )  # fmt: skip
    comparison = json.loads((tmp_path / "compared" / "comparison.json").read_text())
    labels = [run["label"] for run in comparison["runs"]]
    assert labels == ["none", "luong", "transformer"]


@pytest.mark.long
@pytest.mark.parametrize("task", ["compare", "report"])
def test_the_tracker_gets_what_it_has_runs_of(tmp_path, quick_reports, monkeypatch, task):
    """Runs with logger=none are compared without W&B, unless the command names the logger."""
    published: list[object] = []
    monkeypatch.setattr(
        "sweeps.report.wandb_comparison.publish_comparison", lambda *given: published.append(given)
    )
    runs = tmp_path / "runs"
    make_run(runs / "0", "none")
    run = make_run(runs / "1", "luong")
    given = [f"task={task}", f"runs={runs}", f"hydra.run.dir={tmp_path}/out"]
    if task == "compare":
        given.append("scoring.resamples=100")
    inside(*given)
    assert not published
    inside(*given, "logger=wandb")
    assert len(published) == 1
    (run / TRACKER_ID).write_text("abc")
    inside(*given)
    assert len(published) == 2
    inside(*given, "logger=none")
    assert len(published) == 2


@pytest.mark.parametrize(
    ("runs", "words"), [("[]", "nothing to compare"), ("nowhere", "runs=nowhere: does not exist")]
)
def test_runs_that_are_missing_are_named(tmp_path, runs, words):
    given = ["logger=none", f"hydra.run.dir={tmp_path}"]
    assert words in mistake("task=compare", f"runs={runs}", *given)


def test_a_multirun_of_failed_jobs_alone_ends_without_a_report(tmp_path, capfd):
    status = in_process(
        "-m", *TINY, "batching.max_tokens=5,6", *places(tmp_path), "logger=none",
        f"hydra.sweep.dir={tmp_path}/sweep", "hydra/launcher=basic",
    )  # fmt: skip
    output = "".join(capfd.readouterr())
    assert status == 2
    assert "error: no run finished" in output
    assert "Traceback" not in output
    assert not (tmp_path / "sweep" / "report.html").exists()
