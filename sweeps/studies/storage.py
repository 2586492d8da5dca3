"""Where studies live: a journal file, or a database that several machines share."""

import json
import logging
import time
import warnings
from collections.abc import Callable
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from sqlalchemy.exc import (
    InterfaceError,
    OperationalError,
    PendingRollbackError,
    SQLAlchemyError,
)

from datamodules.errors import UserError
from lightning_modules.redaction import redacted
from sweeps.studies.places import WaitAgain
from sweeps.studies.settings import Sweep

log = logging.getLogger(__name__)

JOURNAL = "study.journal"
PATIENCE_SECONDS = 120.0
"""For a database that is being restarted."""
UNREACHABLE = (OperationalError, InterfaceError, PendingRollbackError)
"""What a lost connection looks like; the last, where Optuna went on after one of the others."""


def open_storage(sweep: Sweep, folder: Path, patience: float = PATIENCE_SECONDS) -> BaseStorage:
    """Open the storage of a study; files and tables are made where there are none.

    A database may be silent for ``patience`` seconds. Raises ``UserError`` for a storage that
    cannot be reached, or is of another version of Optuna.
    """
    address = sweep.storage
    if address is None or "://" not in address:
        return _open_journal(folder / JOURNAL if address is None else Path(address))
    open_database = _patiently(_Patient, patience)
    try:
        opened: BaseStorage = open_database(
            address,
            engine_kwargs={"pool_pre_ping": True},
            heartbeat_interval=sweep.heartbeat_seconds,
            grace_period=3 * sweep.heartbeat_seconds,
            heartbeat_stale_trial_callback=WaitAgain(sweep.retries),
        )
        return opened
    except (SQLAlchemyError, RuntimeError, ImportError, ValueError, StorageInternalError) as error:
        raise UserError(f"sweep.storage={redacted(address)}: {_first_line(error)}") from None


def _open_journal(file: Path) -> BaseStorage:
    """Open or make one; Optuna itself would write to the end of whatever file it is given."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        if file.exists():
            with file.open(encoding="utf-8") as lines:
                _ = [json.loads(line)["op_code"] for line in islice(lines, 1)]
        return JournalStorage(JournalFileBackend(str(file)))
    except (ValueError, KeyError, TypeError):
        raise UserError(
            f"sweep.storage={file}: is no journal of a study, or a damaged one; give another file, "
            f"or sqlite:///{file} for a database"
        ) from None


def _patiently(
    method: Callable[..., Any], patience: float = PATIENCE_SECONDS
) -> Callable[..., Any]:
    """Call a method again while the database cannot be reached."""

    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        until = time.monotonic() + patience
        while True:
            try:
                return method(*arguments, **named)
            except (StorageInternalError, SQLAlchemyError) as error:
                if not _is_unreachable(error) or time.monotonic() > until:
                    raise
                log.warning("the storage does not answer (%s); trying again", _first_line(error))
                time.sleep(1)

    return call


def _is_unreachable(error: Exception) -> bool:
    either = (error, error.__cause__)
    return any(isinstance(one, UNREACHABLE) for one in either)


def _first_line(error: Exception) -> str:
    return str(redacted(str(error.__cause__ or error).strip().splitlines()[0]))


class _Patient(RDBStorage):
    """A database that may be restarted while workers are at it."""


OF_THE_CACHE = {
    *("record_heartbeat", "_get_stale_trial_ids", "_create_new_trial", "_get_trials"),
    *("_get_best_trial_id", "_set_trial_param"),
}
"""What Optuna's cache in front of the database calls besides."""
for _name in sorted(BaseStorage.__abstractmethods__ | OF_THE_CACHE):
    setattr(_Patient, _name, _patiently(getattr(RDBStorage, _name)))


def quiet() -> None:
    """Leave telling what happens to us, and rely on what Optuna calls experimental."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", ExperimentalWarning)
