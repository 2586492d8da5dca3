"""The storage of studies: a database of Optuna, with heartbeats of the running trials."""

import logging
import time
import warnings
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.trial import TrialState
from sqlalchemy.exc import SQLAlchemyError

from datamodules.errors import UserError
from lightning_modules.runs.redaction import redacted
from sweeps.studies.settings import Sweep, hydra_value

log = logging.getLogger(__name__)

DATABASE = "study.db"  # SQLite file in the folder of a study
SILENT_SECONDS = 10  # longest wait for a connection to a server, and for an answer of its network
PATIENCE_SECONDS = 120.0  # how long a database may be silent, as during a restart


def open_storage(sweep: Sweep, folder: Path) -> BaseStorage:
    """Open the storage of a study; missing files and tables are made.

    Raises ``UserError`` for a storage that cannot be reached, or that another version of Optuna has
    made.
    """
    address = sweep.storage or str(folder / DATABASE)
    if "://" not in address:
        Path(address).parent.mkdir(parents=True, exist_ok=True)
        address = f"sqlite:///{address}"
    try:
        return RDBStorage(
            address,
            engine_kwargs={"pool_pre_ping": True, "connect_args": _connection_options(address)},
            heartbeat_interval=sweep.heartbeat_seconds,
            grace_period=3 * sweep.heartbeat_seconds,
            heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(sweep.retries),
        )
    except (SQLAlchemyError, RuntimeError, ImportError, ValueError, StorageInternalError) as error:
        why = redacted(str(error.__cause__ or error).strip().splitlines()[0])
        raise UserError(f"sweep.storage={redacted(address)}: {why}") from None


def check_nodes(sweep: Sweep) -> None:
    """Raise ``UserError`` for a storage that workers on several machines cannot share.

    SQLite relies on locks of files, which network file systems do not keep.
    """
    if (sweep.storage or "sqlite").startswith("sqlite") or "://" not in str(sweep.storage):
        raise UserError(
            f"sweep.storage={hydra_value(sweep.storage)}: nodes of a cluster cannot share an "
            "SQLite file; give sweep.storage=postgresql://USER@HOST/DATABASE, or run the whole "
            "study on one node with hydra/launcher=workers"
        )


def _connection_options(address: str) -> dict[str, Any]:
    if address.startswith("sqlite"):
        return {"timeout": PATIENCE_SECONDS}  # while other workers write
    if address.startswith("postgresql"):  # a server that hangs counts as silent
        return {"connect_timeout": SILENT_SECONDS, "tcp_user_timeout": 1000 * SILENT_SECONDS}
    return {}


def give_first_heartbeats(study: optuna.Study, storage: BaseStorage, known: set[int]) -> None:
    """Record a heartbeat for each running trial of the study that is not ``known`` yet.

    A worker that dies before the first heartbeat of its trial leaves a trial that Optuna never
    counts as lost. With this heartbeat it does, after three more intervals.
    """
    if not isinstance(storage, RDBStorage):
        return
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    study_id = storage.get_study_id_from_name(study.study_name)
    for number in {trial.number for trial in running} - known:
        storage.record_heartbeat(storage.get_trial_id_from_study_id_trial_number(study_id, number))
        known.add(number)


def wait_for_storage(sweep: Sweep, folder: Path) -> None:
    """Wait for a database that restarts. Raises ``UserError`` after ``PATIENCE_SECONDS``."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            open_storage(sweep, folder)
            return
        except UserError as error:
            if time.monotonic() > until:
                raise
            log.warning("the storage does not answer (%s); trying again", error)
            time.sleep(1)


def silence_optuna() -> None:
    """Keep Optuna's messages off the log, and its warnings of experimental features."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", ExperimentalWarning)
