"""Build a comparison from run folders, into a folder of its own or, once more, into the same."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from datamodules.errors import UserError
from lightning_modules.run_folder import COMPARISON, find_runs
from lightning_modules.settings import Scoring, build_scoring
from sweeps.comparison import collect
from sweeps.conditions import equally_tuned
from sweeps.evaluation.evaluation import evaluate
from sweeps.findings import Findings, find, read_comparison
from sweeps.publishing import tell, write_all

if TYPE_CHECKING:  # Optuna and torch load where there are studies
    from sweeps.studies.section import StudySection

MULTIRUN = "multirun.yaml"
"""Hydra's own record of what a multirun was asked for."""


def compare(config: DictConfig) -> None:
    """Task: compare ``config.runs``, each a run folder or a folder of runs.

    Raises ``UserError`` when there is nothing to compare.
    """
    named = [config.runs] if isinstance(config.runs, str) else list(config.runs or [])
    if not named:
        raise UserError("nothing to compare: name run folders, like runs=[DIR,DIR]")
    runs: list[Path] = []
    for folder in map(Path, named):
        found = find_runs(folder)
        if not found:
            raise UserError(f"{folder} is no run and holds none: name the folder of a run or sweep")
        runs += found
    out = Path(HydraConfig.get().runtime.output_dir)
    tell(build_comparison(runs, out, build_scoring(config)), out, config.logger)


def report(config: DictConfig) -> None:
    """Task: build the report of ``config.runs``, a folder with runs, again and in that folder.

    A comparison is built of its own runs and scored as it was. Raises ``UserError`` for a folder
    that is none of runs.
    """
    if not isinstance(config.runs, str):
        raise UserError(f"runs={config.runs}: give one folder; task=compare takes several")
    out = Path(config.runs)
    if not (out / COMPARISON).is_file():
        runs, scoring = find_runs(out), build_scoring(config)
    else:
        own = [given for given in HydraConfig.get().overrides.task if given.startswith("scoring.")]
        if own:
            raise UserError(
                f"{own[0]}: task=report keeps to the scoring that it finds; to score "
                f"anew give task=compare runs=[{out}]"
            )
        runs, scoring = read_comparison(out)
    if not runs:
        raise UserError(f"runs={out}: holds no runs; name the folder of a comparison or of runs")
    tell(build_comparison(runs, out, scoring), out, config.logger)


def studies_of(out: Path) -> "StudySection | None":
    """What the studies of ``comparison=tuned`` found, ``None`` for any other comparison."""
    file = out / MULTIRUN
    if not (out / "studies").is_dir() or not file.is_file():
        return None
    from sweeps.studies.course import find_outcomes
    from sweeps.studies.section import study_section

    config = OmegaConf.load(file)
    assert isinstance(config, DictConfig)
    return study_section(find_outcomes(config))


def build_comparison(run_dirs: Sequence[Path], out: Path, scoring: Scoring) -> Findings:
    """Compare runs and write what was found into ``out``, each file whole or not at all.

    Where ``out`` has the studies that tuned the runs, they are told with them.

    Raises ``UserError`` that names the failures when no run finished.
    """
    comparison = collect(run_dirs, scoring.ter)
    if not comparison.runs:
        jobs: dict[str, list[str]] = {}
        for job in comparison.failed:
            jobs.setdefault(job.error, []).append(job.label)
        causes = "; ".join(f"{error} ({', '.join(labels)})" for error, labels in jobs.items())
        raise UserError(f"no run finished, so there is nothing to compare: {causes}")
    evaluation = evaluate([variant.system for variant in comparison.variants], scoring)
    studies = studies_of(out)
    if studies is not None:
        tuning = equally_tuned(studies.tables["studies"], studies.kind)
        comparison = replace(comparison, conditions=[*comparison.conditions, tuning])
    findings = find(out.resolve().name, evaluation, comparison, studies)
    write_all(findings, out)
    return findings
