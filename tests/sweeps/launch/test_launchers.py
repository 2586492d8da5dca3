"""A user's launcher, which Hydra finds in a package of the namespace ``hydra_plugins``."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from tests.helpers.commands import ROOT, TINY, example, mistake, places, run, succeed
from tests.helpers.postgres import postgres
from tests.lightning_modules.runs.test_redaction import PLANTED

QUICK = ["model=bahdanau", "scale=0.1", "decoding=greedy", "scoring.resamples=100", "logger=none"]
POSTGRESQL = "sweep.storage=postgresql://me@localhost:1/studies"


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


def programs(folder, **scripts):
    """Make programs in ``folder``; return a ``PATH`` that has these alone, and Python."""
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return f"{folder}:{Path(sys.executable).parent}"


def refused_on_slurm(tmp_path, path, *arguments):
    """Run a command for SLURM that must end before any job; return its one line."""
    given = [*arguments, "hydra/launcher=submitit_slurm", *QUICK, *TINY, *places(tmp_path)]
    done = run(*given, PATH=path)
    assert done.returncode == 2, done.stderr
    *of_sbatch, line = done.stderr.splitlines()
    assert all(each.startswith("sbatch: ") for each in of_sbatch)
    return line


@pytest.mark.parametrize("start", [["-m", "seed=1,2"], ["sweep=recurrent", POSTGRESQL]])
def test_a_machine_without_slurm_is_told_in_a_line(tmp_path, start):
    line = refused_on_slurm(tmp_path, programs(tmp_path), *start)
    assert line.startswith("error: hydra/launcher=submitit_slurm: this machine has no sbatch; ")
    assert not (tmp_path / "outputs").exists()


def test_what_sbatch_refuses_is_told_in_a_line(tmp_path):
    no = "echo 'sbatch: error: invalid partition specified: gpus' >&2; exit 1"
    line = refused_on_slurm(tmp_path, programs(tmp_path, sbatch=no, srun=""), "-m", "seed=1,2")
    assert line == (
        "error: sbatch: error: invalid partition specified: gpus; correct "
        "hydra.launcher.KEY=VALUE, such as hydra.launcher.partition=NAME"
    )


@pytest.mark.parametrize("storage", ["null", "my.db", "sqlite:///my.db"])
@pytest.mark.parametrize("study", ["sweep=recurrent", "comparison=tuned"])
def test_a_study_on_slurm_is_refused_with_a_file_as_its_database(tmp_path, study, storage):
    path = programs(tmp_path, sbatch="", srun="")
    line = refused_on_slurm(tmp_path, path, study, f"sweep.storage={storage}")
    assert line.startswith(f"error: sweep.storage={storage}: nodes of a cluster cannot share ")
    assert "sweep.storage=postgresql://" in line
    assert not (tmp_path / "outputs").exists()


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
    folder = tmp_path / "outputs" / "studies" / "few"
    with postgres() as server:
        few += ["sweep.pruner=none", f"sweep.storage={server.address}"]
        succeed(*SUBMITTED, *few, *TINY, *places(tmp_path), **cluster)
        study = optuna.load_study(study_name="few", storage=server.address)
        trials = study.trials
    states = [trial.state for trial in trials if "slot" in trial.user_attrs]
    assert states == [TrialState.COMPLETE] * 4
    logs = [(folder / f"worker-{number}" / "run.log").read_text() for number in (0, 1)]
    lines = [line for log in logs for line in log.splitlines() if line.startswith("few trial ")]
    assert sorted(line.split()[2] for line in lines) == list("00112233")  # begun, ended
    assert len(list((folder / ".submitit").glob("*/*_log.out"))) == 2
