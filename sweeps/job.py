"""One Hydra job: its task, and what becomes of an error."""

import errno
import logging
import sys
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from hydra.utils import get_method
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from datamodules.files import write_json

log = logging.getLogger(__name__)


def run_job(config: DictConfig) -> float | None:
    """Run ``config.task`` and return its score.

    Alone, a mistake of the user ends the program with one line and status 2. In a multirun it is
    written to the job's ``failure.json``, so that the other jobs go on; so is a defect, with its
    traceback in the job's log.
    """
    try:
        missing = sorted(OmegaConf.missing_keys(config))
        if missing:
            raise UserError(f"{missing[0]} has no value: give {missing[0]}=...")
        score: float | None = get_method(config.task)(config)
        return score
    except Exception as error:
        mistake = as_user_error(error)
        if HydraConfig.get().mode == RunMode.MULTIRUN:
            _record_failure(config, mistake or error)
            return None
        if mistake is None:
            raise
        print(f"error: {mistake}", file=sys.stderr)
        raise SystemExit(2) from None


def as_user_error(error: Exception) -> UserError | None:
    """Return the error as one line for the user, or None if it is a defect of the harness."""
    if isinstance(error, UserError):
        return error
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return UserError(
            f"{error.filename or 'the disk'}: {error.strerror}; make room, or write elsewhere "
            "with outputs=DIR"
        )
    return None


def _record_failure(config: DictConfig, error: Exception) -> None:
    hydra = HydraConfig.get()
    text = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
    line = " ".join(text.split())
    log.error("%s seed %s failed: %s", config.variant, config.seed, line)
    if not isinstance(error, UserError):
        log.error("traceback", exc_info=error)
    failure = {
        "variant": config.variant,
        "seed": config.seed,
        "overrides": list(hydra.overrides.task),
        "error": line,
    }
    write_json(Path(hydra.runtime.output_dir) / "failure.json", failure)
