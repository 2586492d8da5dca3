"""The private parts of Optuna that the harness uses; a test fails where Optuna changes one."""

import logging
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from optuna.exceptions import StorageInternalError
from optuna.storages import BaseStorage, RDBStorage
from optuna.trial import FrozenTrial
from sqlalchemy.exc import InterfaceError, OperationalError, PendingRollbackError, SQLAlchemyError

from lightning_modules.runs.redaction import redacted

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 120.0
"""How long a database may be silent, as during a restart."""
UNREACHABLE = (OperationalError, InterfaceError, PendingRollbackError)
"""Errors of a lost connection.

``PendingRollbackError`` comes when Optuna uses the session again after one of the others.
"""
CACHE_CALLS = {
    *("record_heartbeat", "_get_stale_trial_ids", "_create_new_trial", "_get_trials"),
    *("_get_best_trial_id", "_set_trial_param", "get_trial_id_from_study_id_trial_number"),
}
"""Methods of the database that Optuna's cache calls besides the public ones."""


class PatientDatabase(RDBStorage):
    """A database that may restart while workers use it: each method waits for the connection."""


def patiently(method: Callable[..., Any], patience: float = PATIENCE_SECONDS) -> Callable[..., Any]:
    """Return ``method``, called again for ``patience`` seconds while the database is silent."""

    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        until = time.monotonic() + patience
        while True:
            try:
                return method(*arguments, **named)
            except (StorageInternalError, SQLAlchemyError) as error:
                if not _is_unreachable(error) or time.monotonic() > until:
                    raise
                log.warning("the storage does not answer (%s); trying again", first_line(error))
                time.sleep(1)

    return call


for _name in sorted(BaseStorage.__abstractmethods__ | CACHE_CALLS):
    setattr(PatientDatabase, _name, patiently(getattr(RDBStorage, _name)))


def storage_id(trial: FrozenTrial) -> int:
    """Return the id of a trial in its storage, which no public attribute has."""
    return trial._trial_id


def first_line(error: Exception) -> str:
    """Return the first line of an error of a storage, without passwords."""
    return str(redacted(str(error.__cause__ or error).strip().splitlines()[0]))


def _is_unreachable(error: Exception) -> bool:
    return any(isinstance(one, UNREACHABLE) for one in (error, error.__cause__))
