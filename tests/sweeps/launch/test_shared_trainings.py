"""Jobs that differ only in how a model is tested share one training."""

import numpy as np
import pytest
from hydra import initialize_config_dir
from omegaconf import open_dict

from lightning_modules.runs.files import read_arrays, read_predictions
from lightning_modules.runs.paths import STATISTICS
from sweeps.launch.compose import composed, use_hydra_config
from sweeps.launch.shared_trainings import training_of, turns_of
from tests.helpers.commands import TESTED, TINY, in_process, places
from tests.helpers.run_folders import result_of
from tests.helpers.variants import CONF

QUICK = ["model=seq2seq", "logger=none", "scoring.resamples=100", "scoring.metrics=[bleu]"]
ORACLE = "decoding.length=reference"


def test_the_first_job_of_each_training_has_the_first_turn():
    assert turns_of(["a", "b", "a", "c", "b", "a"], []) == ([0, 1, 3], {2: 0, 4: 1, 5: 0})


def test_jobs_that_share_no_training_all_have_the_first_turn():
    assert turns_of([None, "a", None], []) == ([0, 1, 2], {})
    assert turns_of([], []) == ([], {})


def test_a_job_with_checkpoints_waits_for_no_other():
    assert turns_of(["a", "a", "a"], [1]) == ([0, 1], {2: 0})
    assert turns_of(["a", "a"], [0]) == ([0], {1: 0})  # and others wait for it still


def training(*overrides: str) -> str | None:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = composed(["model=seq2seq", *overrides])
    with open_dict(config):
        config.hydra.runtime.output_dir = "somewhere"
    with use_hydra_config(config):
        return training_of(config)


def test_a_training_is_the_same_whatever_tests_it():
    first = training()
    assert first is not None
    for test in (ORACLE, "decoding=greedy", "scoring.edges=[10,30]"):
        assert training(test) == first
    for other in ("seed=2", "data.train_max_words=30", "model.hidden_size=7"):
        assert training(other) != first


@pytest.mark.parametrize(
    "given", ["force=true", "budget.rungs=[5]", "task=test checkpoint=somewhere"]
)
def test_no_training_is_shared_that_is_made_anew_or_in_parts(given):
    assert training(*given.split()) is None


@pytest.mark.long
def test_one_training_is_tested_in_two_ways(space):
    """The second test is the one that ``task=test`` makes of the first run."""
    out = space / "lengths"
    given = [*TINY, *QUICK, *places(space), "hydra/launcher=basic", f"hydra.sweep.dir={out}"]
    probabilities = "scoring.probabilities=true"
    assert in_process("-m", *given, "decoding.length=null,reference", probabilities) == 0
    free, oracle = out / "0", out / "1"
    assert result_of(free).training == result_of(oracle).training  # to the second
    counted = [read_arrays(run / STATISTICS) or {} for run in (free, oracle)]
    for statistics in counted:
        sums, positions = np.split(statistics["eos"], 2, axis=1)
        assert positions.sum(1).tolist() == statistics["likelihood"][:, 1].tolist()
        assert (sums <= positions).all()
    tokens = [statistics["output_likelihood"][:, 1].tolist() for statistics in counted]
    assert tokens[1] == counted[1]["likelihood"][:, 1].tolist() != tokens[0]
    again = space / "again"
    test = [*TESTED, *QUICK[1:], *places(space), ORACLE, f"hydra.run.dir={again}"]
    assert in_process("task=test", f"checkpoint={free}", *test) == 0
    assert read_predictions(again) == read_predictions(oracle)
    assert read_predictions(again) != read_predictions(free)
