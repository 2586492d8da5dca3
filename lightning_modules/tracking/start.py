"""Start a W&B run, or resume the run of an interrupted training."""

import logging
import os
import re
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

import wandb

from datamodules.errors import UserError, one_line
from lightning_modules.runs.files import read_tracker_id, write_tracker_id
from lightning_modules.runs.provenance import git_commit
from lightning_modules.tracking.mode import Mode, choose_mode, sync_command

log = logging.getLogger(__name__)

INIT_SECONDS = {"auto": 3.0, "online": 20.0}
"""Time limit for the server to take a run; longer if the user asks for ``online``."""
LONGEST_NAME = 40
"""Most characters of a run's name in its id."""


def start_run(
    save_dir: Path,
    folder: Path,
    mode: Mode,
    finish_seconds: float,
    replace: bool = False,
    **labels: Any,
) -> wandb.Run:
    """Start a new run, also beside other runs of the process, and log its address.

    The id begins with the name of the run: ``wandb leet`` lists runs by their ids.

    Args:
        save_dir: folder under which W&B writes everything.
        folder: folder of the training or comparison. It keeps the run's id, so that a resumed
            training continues the same run.
        mode: ``auto`` never fails.
        finish_seconds: time limit for the end of the run.
        replace: whether an earlier run of the ``folder`` is replaced, not continued.
        labels: project, name, group, tags, notes and job type.

    Raises ``UserError`` if no run can be started in the ``mode`` that was asked for.
    """
    try:
        save_dir.mkdir(parents=True, exist_ok=True)
        _keep_to(save_dir)
        identity = _identity(folder, labels["name"], replace)
        start = _starter(mode, finish_seconds, dir=save_dir, **identity, **labels)
        chosen, reason = choose_mode(mode)
        try:
            run = start(mode=chosen)
        except Exception as error:
            if mode != "auto" or chosen == "offline":
                raise
            chosen, reason = "offline", one_line(error)
            run = start(mode=chosen)
        write_tracker_id(folder, str(run.id))
    except Exception as error:
        raise UserError(
            f"W&B does not start ({one_line(error)}); give logger.mode=offline or logger=none"
        ) from None
    if chosen == "online":
        log.info("W&B online: %s", run.url)
    elif chosen == "offline":
        log.info("W&B offline (%s); later: %s", reason, sync_command(Path(run.dir).parent))
    return run


def _keep_to(save_dir: Path) -> None:
    for variable, name in (("WANDB_DATA_DIR", "data"), ("WANDB_CACHE_DIR", "cache")):
        os.environ.setdefault(variable, str(save_dir.absolute() / "wandb" / name))
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    wandb.setup(settings=wandb.Settings(silent=True))


def _identity(folder: Path, name: str, replace: bool) -> dict[str, str]:
    """Return the id; without ``resume``, W&B writes a known run anew."""
    known = read_tracker_id(folder)
    if known is None:
        return {"id": new_id(name)}
    return {"id": known} if replace else {"id": known, "resume": "allow"}


def new_id(name: str) -> str:
    """Return a new id that begins with a name, in characters that are safe in addresses."""
    plain = re.sub(r"[^A-Za-z0-9_.]+", "-", name)[:LONGEST_NAME].strip("-.")
    return "-".join(filter(None, [plain, token_hex(4)]))


def _starter(mode: Mode, finish_seconds: float, **arguments: Any) -> "partial[wandb.Run]":
    settings = wandb.Settings(
        silent=True,
        console="off",
        init_timeout=INIT_SECONDS.get(mode, 3.0),
        finish_timeout=finish_seconds,
        finish_timeout_raises=True,
        # What W&B itself notes of command line and repository may hold a password.
        x_disable_meta=True,
        disable_git=True,
        disable_code=True,
        x_save_requirements=False,
        git_commit=(git_commit() or "").partition("+")[0] or None,
    )
    return partial(wandb.init, reinit="create_new", settings=settings, **arguments)
