"""Where studies live: a journal file, or a database that several machines share."""

import logging
import time
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import (
    BaseStorage,
    JournalStorage,
    RDBStorage,
)
from optuna.storages.journal import JournalFileBackend
from sqlalchemy.exc import SQLAlchemyError

from datamodules.errors import UserError
from lightning_modules.redaction import redacted
from sweeps.studies.settings import Sweep
from sweeps.studies.study import WaitAgain

log = logging.getLogger(__name__)

JOURNAL = "study.journal"
PATIENCE_SECONDS = 120.0
"""For a database that is being restarted."""


def open_storage(sweep: Sweep, folder: Path) -> BaseStorage:
    """Open the storage of a study; files and tables are made where there are none.

    Raises ``UserError`` for one that cannot be reached, or is of another version of Optuna.
    """
    address = sweep.storage
    if address is None or "://" not in address:
        file = folder / JOURNAL if address is None else Path(address)
        file.parent.mkdir(parents=True, exist_ok=True)
        return JournalStorage(JournalFileBackend(str(file)))
    try:
        return _Patient(
            address,
            engine_kwargs={"pool_pre_ping": True},
            heartbeat_interval=sweep.heartbeat_seconds,
            grace_period=3 * sweep.heartbeat_seconds,
            heartbeat_stale_trial_callback=WaitAgain(sweep.retries),
        )
    except (SQLAlchemyError, RuntimeError, ImportError, ValueError, StorageInternalError) as error:
        why = redacted(str(error.__cause__ or error).strip().splitlines()[0])
        raise UserError(f"sweep.storage={redacted(address)}: {why}") from None


def _patiently(method: Callable[..., Any]) -> Callable[..., Any]:
    """Call a method again while the database cannot be reached."""

    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return method(*arguments, **named)
            except StorageInternalError as error:
                if time.monotonic() > until:
                    raise
                log.warning("the storage does not answer (%s); trying again", _first_line(error))
                time.sleep(1)

    return call


def _first_line(error: Exception) -> str:
    return str(redacted(str(error.__cause__ or error).strip().splitlines()[0]))


class _Patient(RDBStorage):
    """A database that may be restarted while workers are at it."""


for _name in sorted(BaseStorage.__abstractmethods__ | {"record_heartbeat"}):
    setattr(_Patient, _name, _patiently(getattr(RDBStorage, _name)))


def quiet() -> None:
    """Leave telling what happens to us, and rely on what Optuna calls experimental."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", ExperimentalWarning)
