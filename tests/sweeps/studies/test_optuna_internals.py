"""The private parts of Optuna are where ``optuna_internals`` expects them."""

import inspect
import re

import optuna
from optuna.storages import BaseStorage, RDBStorage
from optuna.storages import _cached_storage as cached_storage

from sweeps.studies.optuna_internals import CACHE_CALLS, PatientDatabase, storage_id


def test_every_method_that_asks_the_database_is_patient():
    """Besides the patient methods, Optuna's cache reads two settings of the heartbeat."""
    source = inspect.getsource(cached_storage)
    called = set(re.findall(r"self\._backend\.(\w+)\(", source))
    assert called
    patient = BaseStorage.__abstractmethods__ | CACHE_CALLS
    assert called - patient == {"get_heartbeat_interval", "get_heartbeat_stale_trial_callback"}
    for name in patient:
        assert getattr(PatientDatabase, name).__wrapped__ is getattr(RDBStorage, name)


def test_a_trial_has_the_id_of_its_storage():
    study = optuna.create_study()
    trial = study.ask()
    [frozen] = study.get_trials()
    assert study._storage.get_trial(storage_id(frozen)).number == trial.number
