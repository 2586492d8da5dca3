"""Hydra callback that ends a multirun with a comparison of its jobs."""

import traceback
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig


class ComparisonCallback(Callback):
    """Compare the jobs of a sweep once all have ended, into the sweep's own folder.

    The process exits with status 1 when a job failed and 2 when none finished. ``SystemExit`` is
    the only way out: Hydra turns the exceptions of a callback into warnings and exits with 0.
    """

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Build and print the comparison, if the jobs were runs at all."""
        # Hydra makes this object for every command; figures and pages load only here.
        from rich.console import Console

        from lightning_modules.run_folder import FAILURE, RESULT, find_runs
        from lightning_modules.settings import build_scoring
        from sweeps.compare import REPORT, build_comparison
        from sweeps.errors import as_user_error, stop
        from sweeps.summary import print_findings

        out = Path(config.hydra.sweep.dir)
        jobs = find_runs(out)
        if not any((job / name).is_file() for job in jobs for name in (RESULT, FAILURE)):
            return
        try:
            findings = build_comparison(jobs, out, build_scoring(config))
        except Exception as error:
            mistake = as_user_error(error)
            if mistake is None:
                traceback.print_exc()
                raise SystemExit(1) from None
            stop(f"error: {mistake}", 2)
        print_findings(findings, out / REPORT, Console())
        if findings.comparison.failed:
            raise SystemExit(1)
