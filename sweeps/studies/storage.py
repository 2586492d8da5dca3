"""The storage of studies: a journal file, or a database that several machines share."""

import json
import logging
import warnings
from itertools import islice
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from sqlalchemy.exc import SQLAlchemyError

from datamodules.errors import UserError
from lightning_modules.runs.redaction import redacted
from sweeps.studies.optuna_internals import PATIENCE_SECONDS, PatientDatabase, first_line, patiently
from sweeps.studies.plan import RequeueTrial
from sweeps.studies.settings import Sweep

log = logging.getLogger(__name__)

JOURNAL = "study.journal"
SILENT_SECONDS = 10
"""Longest wait for a connection to a database, and for an answer of its network."""


def open_storage(sweep: Sweep, folder: Path, patience: float = PATIENCE_SECONDS) -> BaseStorage:
    """Open the storage of a study; missing files and tables are made.

    A database may be silent for ``patience`` seconds. Raises ``UserError`` for a storage that
    cannot be reached, or that another version of Optuna has made.
    """
    address = sweep.storage
    if address is None or "://" not in address:
        return _open_journal(folder / JOURNAL if address is None else Path(address))
    open_database = patiently(PatientDatabase, patience)
    try:
        opened: BaseStorage = open_database(
            address,
            engine_kwargs=_engine_options(address),
            heartbeat_interval=sweep.heartbeat_seconds,
            grace_period=3 * sweep.heartbeat_seconds,
            heartbeat_stale_trial_callback=RequeueTrial(sweep.retries),
        )
        return opened
    except (SQLAlchemyError, RuntimeError, ImportError, ValueError, StorageInternalError) as error:
        raise UserError(f"sweep.storage={redacted(address)}: {first_line(error)}") from None


def _engine_options(address: str) -> dict[str, Any]:
    """Return options of SQLAlchemy; a PostgreSQL server that hangs counts as silent."""
    options: dict[str, Any] = {"pool_pre_ping": True}
    if address.startswith("postgresql"):
        options["connect_args"] = {
            "connect_timeout": SILENT_SECONDS,
            "tcp_user_timeout": 1000 * SILENT_SECONDS,
        }
    return options


def _open_journal(file: Path) -> BaseStorage:
    """Open or make a journal; Optuna itself would append to any file."""
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


def silence_optuna() -> None:
    """Keep Optuna's messages off the log, and its warnings of experimental features."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", ExperimentalWarning)
