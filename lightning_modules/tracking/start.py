"""Starting a W&B run, or going on with the one of an interrupted training."""

import logging
import os
from functools import partial
from pathlib import Path
from typing import Any

import wandb
from pydantic import PositiveFloat, validate_call

from datamodules.errors import UserError
from datamodules.files import write_text
from lightning_modules.run_folder import TRACKER_ID
from lightning_modules.tracking.mode import Mode, choose_mode, in_a_line
from lightning_modules.tracking.tracker import Tracker

log = logging.getLogger(__name__)

INIT_SECONDS = {"auto": 3.0, "online": 20.0}
"""What a server gets to take a run: more where the user insists on it."""


@validate_call
def wandb_logger(
    project: str,
    name: str,
    group: str,
    tags: list[str],
    save_dir: Path,
    folder: Path,
    mode: Mode = "auto",
    artifacts: bool = False,
    finish_seconds: PositiveFloat = 4.0,
) -> Tracker:
    """Start a run of its own, also beside others in the same process.

    Everything W&B writes goes under ``save_dir``. ``folder`` is the training's: it keeps the run's
    id, with which a resumed training goes on in the same run.

    Raises ``UserError`` if no run can be started in the ``mode`` that was asked for.
    """
    try:
        save_dir.mkdir(parents=True, exist_ok=True)
        _keep_to(save_dir)
        start = _starter(mode, finish_seconds, dir=save_dir, **_identity(folder))
        about: dict[str, Any] = {"project": project, "name": name, "group": group, "tags": tags}
        chosen, reason = choose_mode(mode)
        try:
            run = start(mode=chosen, **about)
        except Exception as error:
            if mode != "auto" or chosen == "offline":
                raise
            chosen, reason = "offline", in_a_line(error)
            run = start(mode=chosen, **about)
        write_text(folder / TRACKER_ID, f"{run.id}\n")
    except Exception as error:
        raise UserError(
            f"W&B does not start ({in_a_line(error)}); give logger.mode=offline or logger=none"
        ) from None
    tracker = Tracker(run, artifacts)
    if chosen == "online":
        log.info("W&B online: %s", run.url)
    elif chosen == "offline":
        log.info("W&B offline (%s); later: %s", reason, tracker.sync_command)
    return tracker


def _keep_to(save_dir: Path) -> None:
    for variable, name in (("WANDB_DATA_DIR", "data"), ("WANDB_CACHE_DIR", "cache")):
        os.environ.setdefault(variable, str(save_dir.absolute() / "wandb" / name))
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    wandb.setup(settings=wandb.Settings(silent=True))


def _identity(folder: Path) -> dict[str, str]:
    known = folder / TRACKER_ID
    if known.is_file():
        return {"id": known.read_text(encoding="utf-8").strip(), "resume": "allow"}
    return {}


def _starter(mode: Mode, finish_seconds: float, **arguments: Any) -> "partial[wandb.Run]":
    settings = wandb.Settings(
        silent=True,
        console="off",
        init_timeout=INIT_SECONDS.get(mode, 3.0),
        finish_timeout=finish_seconds,
        finish_timeout_raises=True,
        # The command line and the address of a repository may hold a password.
        x_disable_meta=True,
        disable_git=True,
        disable_code=True,
        x_save_requirements=False,
    )
    return partial(
        wandb.init, job_type="train", reinit="create_new", settings=settings, **arguments
    )
