"""A study whose trials take two ranks each."""

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from tests.helpers.commands import TINY, places, succeed


@pytest.mark.exhaustive
@pytest.mark.long
def test_a_trial_of_two_ranks_is_pruned_on_both(tmp_path):
    good = "{optimizer.lr: 0.01, label_smoothing: 0.0, model.dropout: 0.0}"
    bad = "{optimizer.lr: 0.0003, label_smoothing: 0.2, model.dropout: 0.4}"
    study = ["sweep=recurrent", "sweep.name=ranks", "sweep.trials=2", "sweep.workers=1"]
    study += ["sweep.warmup_trials=1", "sweep.objectives=[loss]", f"sweep.known=[{good},{bad}]"]
    succeed(*study, "trainer=ddp_cpu", *TINY, *places(tmp_path), "logger=none")
    journal = tmp_path / "outputs" / "studies" / "ranks" / "study.journal"
    storage = JournalStorage(JournalFileBackend(str(journal)))
    first, second = optuna.load_study(study_name="ranks", storage=storage).trials
    assert (first.state, second.state) == (TrialState.COMPLETE, TrialState.PRUNED)
    tokens = [trial.user_attrs["cost"]["target_tokens"] for trial in (first, second)]
    assert tokens[0] > tokens[1] > 0
