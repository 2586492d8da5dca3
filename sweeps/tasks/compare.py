"""``task=compare`` and ``task=report``: a comparison of run folders, or of a multirun's jobs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from datamodules.errors import UserError, validated
from lightning_modules.runs.files import find_runs, read_tracker_id
from lightning_modules.runs.job import given_overrides
from lightning_modules.runs.paths import COMPARISON, FAILURE, MULTIRUN, REPORT, RESULT, STUDIES
from lightning_modules.runs.settings import key_of
from lightning_modules.testing.scoring import Scoring
from sweeps.comparison.collect import collect
from sweeps.comparison.conditions import equally_tuned, not_tuned
from sweeps.comparison.evaluation import evaluate
from sweeps.comparison.record import origin_of, read_comparison
from sweeps.launch.compose import use_hydra_config
from sweeps.launch.jobs import JobPlan, combinations, run_jobs
from sweeps.launch.live import Enter, Label, labels_of, marked_labels, shown_phases, silent
from sweeps.report.findings import Findings, StudySection
from sweeps.report.publish import publish, write_report
from sweeps.report.report import Report, ReportSettings, check_sections, make_report
from sweeps.report.run_page import write_run_report
from sweeps.report.terminal import MOST_JOBS, print_findings, print_page


def compare(config: DictConfig) -> None:
    """Task: compare ``config.runs``, each a run folder or a folder of runs.

    Raises ``UserError`` when there is nothing to compare, and ends the program with status 1 if a
    job failed or a run is broken; ``report`` and ``compare_jobs`` do so too.
    """
    named = [config.runs] if isinstance(config.runs, str) else list(config.runs or [])
    if not named:
        raise UserError("nothing to compare: name run folders, like runs=[DIR,DIR]")
    _compare_and_publish(config, runs_in(named), Path(HydraConfig.get().runtime.output_dir))


def runs_in(named: Sequence[str | Path]) -> list[Path]:
    """Return the run folders that are named, each itself or by a folder of runs.

    Raises ``UserError`` for a folder without runs.
    """
    runs: list[Path] = []
    for folder in map(Path, named):
        inside = find_runs(folder)
        if not inside:
            raise UserError(f"{folder} is not a run and holds none: name a folder of runs")
        runs += inside
    return runs


def report(config: DictConfig) -> None:
    """Task: build the report of ``config.runs``, a folder with runs or a run, again in that folder.

    The runs of a comparison are scored as before.
    """
    if not isinstance(config.runs, str):
        raise UserError(f"runs={config.runs}: give one folder; task=compare takes several")
    out, scoring = Path(config.runs), None
    if (out / RESULT).is_file():
        made, _ = write_run_report(config, out)
        print_findings(made.findings, console := Console())
        print_page(out / REPORT, console)
        return
    if (out / COMPARISON).is_file():
        overrides = given_overrides(HydraConfig.get())
        asked = [override for override in overrides if override.startswith("scoring.")]
        if asked:
            raise UserError(
                f"{asked[0]}: task=report keeps to the scoring that it finds; to score anew give "
                f"task=compare runs=[{out}]"
            )
        comparison = read_comparison(out)
        runs, scoring = comparison.folders(out), comparison.scoring
    else:
        runs = find_runs(out)
    if not runs:
        raise UserError(f"runs={out}: holds no runs; name the folder of a comparison or of runs")
    _compare_and_publish(config, runs, out, scoring)


def train_and_compare(config: DictConfig) -> None:
    """Run a job for every combination of the lists of a command, and compare the runs.

    ``config`` has Hydra's node.
    """
    check_sections(config)
    out, jobs = Path(config.hydra.sweep.dir), combinations(config)
    labels = labels_of(jobs)
    labelled = zip(jobs, labels, strict=True)
    folders = run_jobs(config, [JobPlan(job, None, label) for job, label in labelled])
    compare_jobs(config, dict(zip(folders, marked_labels(jobs, labels), strict=True)), out)


def compare_jobs(config: DictConfig, jobs: Mapping[Path, Label], out: Path) -> None:
    """Compare jobs in ``out``, the folder of their command; do nothing if none was a run.

    ``jobs`` are the folders with the labels by which a terminal shows the jobs meanwhile.
    """
    if any((job / name).is_file() for job in jobs for name in (RESULT, FAILURE)):
        _compare_and_publish(config, [*jobs], out, labels=jobs)


def _compare_and_publish(
    config: DictConfig,
    runs: Sequence[Path],
    out: Path,
    recorded: Scoring | None = None,
    labels: Mapping[Path, Label] | None = None,
) -> None:
    scoring = recorded or validated(Scoring, config.scoring, "scoring")
    settings = validated(ReportSettings, config.report, "report")
    with shown_phases(labels) as enter:
        made = build_comparison(runs, out, scoring, settings, recorded is not None, enter)
    publish(made, out, config.logger if _is_tracked(runs) else None)
    if made.findings.comparison.failed:
        raise SystemExit(1)


def _is_tracked(runs: Sequence[Path]) -> bool:
    """Return whether the tracker gets a comparison: it has a run, or the command names a logger."""
    overrides = map(key_of, given_overrides(HydraConfig.get()))
    named = any(key.partition(".")[0] == "logger" for key in overrides)
    return named or any(read_tracker_id(run) is not None for run in runs)


def build_comparison(
    run_dirs: Sequence[Path],
    out: Path,
    scoring: Scoring,
    settings: ReportSettings,
    recorded: bool = False,
    enter: Enter = silent,
) -> Report:
    """Compare runs and write page and tables into ``out``, each file whole or not at all.

    ``enter`` is told what is done. Raises ``UserError`` as ``report_of`` does.
    """
    report = report_of(run_dirs, out, scoring, settings, recorded, enter)
    enter("writing the page")
    write_report(report, out)
    return report


def report_of(
    run_dirs: Sequence[Path],
    out: Path,
    scoring: Scoring,
    settings: ReportSettings,
    recorded: bool = False,
    enter: Enter = silent,
) -> Report:
    """Compare runs and return the report; no file is written.

    ``out`` is the folder of the comparison, which need not exist: studies in ``out`` that tuned the
    runs join the report. With ``recorded``, ``scoring`` is that of an earlier comparison, whose
    metrics may be gone. ``enter`` is told what is done. Raises ``UserError`` that names the
    failures when no run finished, or for a metric that cannot be used.
    """
    enter(f"reading {len(run_dirs)} run{'' if len(run_dirs) == 1 else 's'}")
    studies = studies_of(out)
    tuned = studies.tuned if studies else ()
    comparison = collect(run_dirs, scoring.metrics, recorded, tuned, scoring)
    if not comparison.runs:
        jobs: dict[str, list[str]] = {}
        for job in comparison.failed:
            jobs.setdefault(job.error, []).append(job.label)
        causes = "; ".join(f"{error} ({_listed(labels)})" for error, labels in jobs.items())
        raise UserError(f"no run finished, so there is nothing to compare: {causes}")
    enter("scoring, with intervals and tests")
    evaluation = evaluate(comparison.systems, scoring)
    tuning = equally_tuned(studies.costs, studies.kind) if studies else not_tuned()
    comparison.conditions.append(tuning)
    origin = origin_of(out, [run.folder for run in comparison.runs])
    findings = Findings(out.resolve().name, evaluation, comparison, studies, origin)
    return make_report(findings, settings)


def _listed(labels: Sequence[str]) -> str:
    more = len(labels) - MOST_JOBS
    return ", ".join([*labels[:MOST_JOBS], *([f"{more} more"] if more > 0 else [])])


def studies_of(out: Path) -> StudySection | None:
    """Return the section on the studies of ``comparison=tuned``; None for any other comparison."""
    file = out / MULTIRUN
    if not (out / STUDIES).is_dir() or not file.is_file():
        return None
    # These load Optuna and torch.
    from lightning_modules.training.budgets import kind_of
    from sweeps.studies.outcome import find_outcomes, study_section
    from sweeps.studies.plan import study_plans

    config = OmegaConf.load(file)
    assert isinstance(config, DictConfig)
    with use_hydra_config(config):
        plans = study_plans(config, given_overrides(config.hydra), out)
        return study_section(find_outcomes(plans, out, kind_of(config)))
