"""How many threads compute, and how they wait for each other."""

import os
import subprocess
import sys

import pytest
import torch
from joblib import Parallel, delayed

from lightning_modules.kernels.threads import (
    SMALL,
    SPINS,
    WAITING,
    bound_waiting,
    default_threads,
    use_one_thread_if_small,
    use_threads,
)
from lightning_modules.runs.files import read_result
from tests.helpers.commands import ROOT, TINY, inside, places


@pytest.fixture
def no_choice(monkeypatch):
    """An environment in which the user has not said how threads wait."""
    for name in WAITING:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def two_processors(monkeypatch):
    """A process that may use two threads."""
    before = torch.get_num_threads()
    for place in ("kernels.threads", "ranks.launch"):
        monkeypatch.setattr(f"lightning_modules.{place}.default_threads", lambda: 2)
    yield
    torch.set_num_threads(before)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="torch brings another OpenMP")
def test_a_command_bounds_waiting_before_openmp_is_loaded(no_choice, tmp_path):
    """GNU's OpenMP says what it has read when it is loaded, here with torch."""
    wrong = ["model._target_=lightning_modules.None", f"hydra.run.dir={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "run.py", *wrong],
        cwd=ROOT,
        env=os.environ | {"OMP_DISPLAY_ENV": "verbose"},
        capture_output=True,
        text=True,
    )
    assert f"GOMP_SPINCOUNT = '{SPINS}'" in done.stderr


@pytest.mark.parametrize("name", WAITING)
def test_the_choice_of_the_user_stays(no_choice, monkeypatch, name):
    monkeypatch.setenv(name, "active")
    bound_waiting()
    assert {each: os.environ[each] for each in WAITING if each in os.environ} == {name: "active"}


def test_jobs_side_by_side_wait_alike(no_choice, monkeypatch):
    monkeypatch.setenv("GOMP_SPINCOUNT", "")  # so that it is removed again
    monkeypatch.delenv("GOMP_SPINCOUNT")
    bound_waiting()
    found = Parallel(n_jobs=2)(delayed(os.environ.get)("GOMP_SPINCOUNT") for _ in range(2))
    assert found == [str(SPINS)] * 2


def test_a_small_recurrent_model_trains_with_one_thread(two_processors):
    use_threads(None)
    use_one_thread_if_small(None, SMALL)
    assert torch.get_num_threads() == 2
    use_one_thread_if_small(None, SMALL - 1)
    assert torch.get_num_threads() == 1
    use_threads(None)  # the next job of the same process
    assert torch.get_num_threads() == 2


def test_a_given_number_holds_for_any_size(two_processors):
    use_threads(2)
    use_one_thread_if_small(2, 10)
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("asked", [1, None])
def test_the_default_is_that_of_the_start(asked):
    at_start = default_threads()
    before = torch.get_num_threads()
    try:
        use_threads(asked)
        assert default_threads() == at_start
    finally:
        torch.set_num_threads(before)


@pytest.mark.long
@pytest.mark.parametrize(("model", "threads"), [("seq2seq", 1), ("transformer", 2)])
def test_a_run_records_its_threads(two_processors, tmp_path, model, threads):
    given = [each for each in TINY if not each.startswith("threads")]
    given += ["budget.target_tokens=1000", "decoding=greedy"]
    folder = tmp_path / "run"
    inside(*given, f"model={model}", *places(tmp_path), "logger=none", f"hydra.run.dir={folder}")
    result = read_result(folder)
    assert result is not None
    assert result.environment.model_dump()["threads"] == threads
