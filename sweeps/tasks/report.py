"""``task=report``: build the report of a comparison again, in its own folder."""

from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from datamodules.errors import UserError, validated
from lightning_modules.runs.files import find_runs
from lightning_modules.runs.paths import COMPARISON
from lightning_modules.testing.scoring import Scoring
from sweeps.comparison.record import read_comparison
from sweeps.report.publish import publish
from sweeps.report.report import ReportSettings
from sweeps.tasks.compare import build_comparison, end_for_failures


def report(config: DictConfig) -> None:
    """Task: build the report of ``config.runs``, a folder with runs, again and in that folder.

    The runs of a comparison are scored as before. Raises ``UserError`` for a folder without runs,
    and ends the program with status 1 if a job failed or a run is broken.
    """
    overrides = HydraConfig.get().overrides.task
    if not isinstance(config.runs, str):
        raise UserError(f"runs={config.runs}: give one folder; task=compare takes several")
    out = Path(config.runs)
    recorded = (out / COMPARISON).is_file()
    if recorded:
        asked = [override for override in overrides if override.startswith("scoring.")]
        if asked:
            raise UserError(
                f"{asked[0]}: task=report keeps to the scoring that it finds; to score anew give "
                f"task=compare runs=[{out}]"
            )
        comparison = read_comparison(out)
        runs, scoring = comparison.folders(out), comparison.scoring
    else:
        runs, scoring = find_runs(out), validated(Scoring, config.scoring, "scoring")
    if not runs:
        raise UserError(f"runs={out}: holds no runs; name the folder of a comparison or of runs")
    sections = validated(ReportSettings, config.report, "report")
    again = build_comparison(runs, out, scoring, sections, recorded)
    publish(again, out, config.logger)
    end_for_failures(again)
