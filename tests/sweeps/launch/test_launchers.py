"""A user's launcher, which Hydra finds in a package of the namespace ``hydra_plugins``."""

import json
import os
import shutil
import subprocess
import sys

import optuna
import pytest
from optuna.trial import TrialState

from tests.helpers.commands import ROOT, TINY, example, mistake, places, succeed
from tests.lightning_modules.runs.test_redaction import PLANTED

QUICK = ["model=bahdanau", "scale=0.1", "decoding=greedy", "scoring.resamples=100", "logger=none"]


@pytest.mark.exhaustive
@pytest.mark.long
def test_a_launcher_of_ones_own_runs_the_jobs(tmp_path):
    """The example of the page, in a process that has not looked for plugins yet."""
    [command] = example("launcher", tmp_path)
    folder = tmp_path / "jobs"
    arguments = [*command, *QUICK, *TINY, *places(tmp_path), f"hydra.sweep.dir={folder}"]
    done = subprocess.run(
        [sys.executable, "run.py", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = (line for line in done.stdout.splitlines() if line.startswith("number "))
    assert first.startswith("number 0: seed=1 ")
    assert second.startswith("number 1: seed=2 ")
    seeds = [json.loads((folder / job / "result.json").read_text())["seed"] for job in "01"]
    assert seeds == [1, 2]
    assert (folder / "report.html").is_file()


def test_a_wrong_launcher_is_told_in_a_line(tmp_path):
    line = mistake("-m", "hydra/launcher=nosuch", *QUICK, *TINY, *places(tmp_path))
    assert "hydra/launcher=nosuch: no such choice; give one of basic, " in line
    assert "side_by_side" in line


SYSTEM = f"{os.environ['PATH']}:/usr/sbin:/sbin"
MISSING = [name for name in ("slurmctld", "munged") if shutil.which(name, path=SYSTEM) is None]
SUBMITTED = [
    "hydra/launcher=submitit_slurm",
    "hydra.launcher.cpus_per_task=1",
    "hydra.launcher.mem_gb=1",
    "logger=none",
]

ON_SLURM = (
    pytest.mark.slurm,
    pytest.mark.long,
    pytest.mark.skipif(bool(MISSING), reason=f"{' and '.join(MISSING)} not installed"),
)


def on_slurm(test):
    """Mark a test that starts a SLURM of this machine alone."""
    for mark in ON_SLURM:
        test = mark(test)
    return test


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The environment of commands for a cluster, which ends with the tests."""
    folder = tmp_path_factory.mktemp("cluster")
    script = ROOT / "tests" / "helpers" / "slurm.sh"
    subprocess.run([script, "start", folder], check=True, timeout=60)
    yield {"SLURM_CONF": str(folder / "slurm.conf")}
    subprocess.run([script, "stop", folder], check=True, timeout=60)


@on_slurm
def test_a_multirun_of_four_jobs_ends_in_one_comparison(cluster, tmp_path):
    secret = f"+trainer.default_root_dir='{tmp_path}/x?password={PLANTED}'"
    lists = ["model=seq2seq,seq2seq_reversed", "seed=1,2"]
    output = succeed("-m", *SUBMITTED, *lists, *TINY, *places(tmp_path), secret, **cluster)
    [sweep] = (tmp_path / "outputs" / "comparisons").iterdir()
    assert sorted(result.parent.name for result in sweep.glob("*/result.json")) == list("0123")
    assert (sweep / "report.html").is_file()
    assert len(list((sweep / ".submitit").glob("*/*_log.out"))) == 4
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [file for file in files if PLANTED.encode() in file.read_bytes()] == []
    assert PLANTED not in output


@on_slurm
def test_ranks_that_srun_starts_train_one_model(cluster, tmp_path):
    given = ["trainer=ddp_cpu", *TINY, *places(tmp_path), "logger=none"]
    done = subprocess.run(
        ["srun", "--nodes=1", "--ntasks-per-node=2", "--mem=2G", sys.executable, "run.py", *given],
        cwd=ROOT,
        env=os.environ | cluster | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("test BLEU") == 1
    [run] = (tmp_path / "outputs" / "runs").iterdir()
    assert (run / "result.json").is_file()


@on_slurm
@pytest.mark.exhaustive
def test_a_study_of_two_workers_ends_with_the_trials_it_was_to_have(cluster, tmp_path):
    few = ["sweep=recurrent", "sweep.name=few", "sweep.trials=4", "sweep.workers=2"]
    succeed(*SUBMITTED, *few, "sweep.pruner=none", *TINY, *places(tmp_path), **cluster)
    folder = tmp_path / "outputs" / "studies" / "few"
    study = optuna.load_study(study_name="few", storage=f"sqlite:///{folder / 'study.db'}")
    states = [trial.state for trial in study.trials if "slot" in trial.user_attrs]
    assert states == [TrialState.COMPLETE] * 4
    logs = [(folder / f"worker-{number}" / "run.log").read_text() for number in (0, 1)]
    lines = [line for log in logs for line in log.splitlines() if line.startswith("few trial ")]
    assert sorted(line.split()[2] for line in lines) == list("00112233")  # begun, ended
    assert len(list((folder / ".submitit").glob("*/*_log.out"))) == 2
