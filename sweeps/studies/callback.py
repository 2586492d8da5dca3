"""Hydra callback around the workers of a study: its plan before, its outcome after."""

import atexit
import sys
import traceback
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from lightning_modules.redaction import redact_multirun
from sweeps.callback import ComparisonCallback


class StudyCallback(Callback):
    """Plan a study before its workers start, tell what it found once they have ended.

    The process exits with status 2 for a mistake, before anything is trained, and when no trial
    finished. As in ``ComparisonCallback``, ``SystemExit`` is the only way out.
    """

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Make the study in its storage, or find it again."""
        self._run("begin", config)
        atexit.register(redact_multirun, Path(config.hydra.sweep.dir))

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Write and print the outcome."""
        self._run("end", config)

    def _run(self, what: str, config: DictConfig) -> None:
        HydraConfig.instance().set_config(config)  # Hydra sets it for jobs alone
        # Hydra makes this object for every command; Optuna loads only here.
        from sweeps.errors import as_user_error, stop
        from sweeps.studies import course

        try:
            getattr(course, what)(config)
        except Exception as error:
            mistake = as_user_error(error)
            if mistake is None:
                traceback.print_exc()
                sys.exit(1)
            stop(f"error: {mistake}", 2)


class TunedCallback(StudyCallback):
    """The same around several studies, and then the comparison of the runs after them."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Tell what the studies found, then compare."""
        super().on_multirun_end(config, **kwargs)
        ComparisonCallback().on_multirun_end(config, **kwargs)
