"""Hydra callback around a multirun: a table while it runs, a comparison at its end."""

import atexit
import sys
import traceback
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from lightning_modules.redaction import redact_multirun

TRAINING = "lightning_modules.tasks.train.train"


class ComparisonCallback(Callback):
    """Compare the jobs of a sweep once all have ended, into the sweep's own folder.

    The process exits with status 1 when a job failed and 2 when none finished. ``SystemExit`` is
    the only way out: Hydra turns the exceptions of a callback into warnings and exits with 0.
    """

    def __init__(self) -> None:
        self._table: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """Hydra sends a copy to each job; the table stays here."""
        return {"_table": None}

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Show a table of the jobs where there is a terminal; else they print lines."""
        HydraConfig.instance().set_config(config)  # Hydra sets it for jobs alone
        atexit.register(redact_multirun, Path(config.hydra.sweep.dir))
        if not sys.stdout.isatty() or config.task != TRAINING:
            return
        from rich.console import Console

        from sweeps.live import LiveTable, jobs_of

        self._table = LiveTable(Path(config.hydra.sweep.dir), jobs_of(config), Console())
        self._table.start()

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Build and print the comparison, if the jobs were runs at all."""
        if self._table is not None:
            self._table.stop()
        # Hydra makes this object for every command; figures and pages load only here.
        from lightning_modules.run_folder import FAILURE, RESULT, find_runs
        from lightning_modules.settings import build_scoring
        from sweeps.compare import build_comparison
        from sweeps.errors import as_user_error, stop
        from sweeps.publishing import tell

        out = Path(config.hydra.sweep.dir)
        jobs = find_runs(out)
        if not any((job / name).is_file() for job in jobs for name in (RESULT, FAILURE)):
            return
        try:
            findings = build_comparison(jobs, out, build_scoring(config))
            tell(findings, out, config.logger)
        except Exception as error:
            mistake = as_user_error(error)
            if mistake is None:
                traceback.print_exc()
                raise SystemExit(1) from None
            stop(f"error: {mistake}", 2)
        if findings.comparison.failed:
            raise SystemExit(1)
