"""A comparison as a W&B Report: figures of the server beside the figures of the harness."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import wandb
import wandb_workspaces.expr as expr
import wandb_workspaces.reports.v2 as wr

from datamodules.files import write_json
from lightning_modules.tracking.mode import call_with_timeout
from lightning_modules.tracking.names import BY_LENGTH, LENGTH, STEP, TRIAL_BLEU
from sweeps.evaluation.evaluation import Evaluation
from sweeps.report.contents import FIGURES, TABLES, Findings
from sweeps.report.html import NAMED_TABLES, method
from sweeps.report.wandb_run import PAGE, run_ids

FILE = "wandb_report.json"
SAVE_SECONDS = 20.0
MOST_RUNS = 100
"""Most runs in one panel; W&B's default is ten."""
LONGEST_TITLE = 128
WIDTH = 24
"""Width of a grid of panels, in W&B's units."""
HALF = WIDTH // 2
SYSTEM = wr.Config("system")
OVER_SEEDS = "line: mean over seeds; band: lowest and highest seed"


def build_report(findings: Findings, project: str, comparison: str) -> wr.Report:
    """Build the report without a call to the server; its entity stays empty.

    Args:
        findings: findings of the comparison.
        project: W&B project.
        comparison: id of the comparison's W&B run.
    """
    comparison_run = _runset("the comparison", [comparison])
    ids = run_ids(findings)
    blocks: list[Any] = [
        wr.TableOfContents(),
        wr.H1("What was found"),
        wr.UnorderedList(items=_finding_lines(findings)),
        wr.H1("BLEU against length"),
        *([_curve_grid(findings.evaluation, ids)] if ids else []),
        _picture_grid(comparison_run, [f"{FIGURES}/{name}" for name in findings.printed]),
        *(_run_blocks(ids) if ids else []),
        *(_study_blocks(findings.studies.parameters) if findings.studies else []),
        wr.H1("Tables"),
        _table_grid(comparison_run, [name for name in NAMED_TABLES if name in findings.tables]),
        wr.H1("The page of the comparison"),
        _picture_grid(comparison_run, [PAGE]),
        wr.H1("Method"),
        wr.UnorderedList(items=_method_lines(findings)),
    ]
    systems = ", ".join(system.name for system in findings.evaluation.systems)
    return wr.Report(
        project=project,
        entity="",
        title=_shortened(f"{findings.name}: {systems}"),
        description="BLEU against sentence length under controlled conditions",
        width="fluid",
        blocks=blocks,
    )


def write_report(report: wr.Report, out: Path) -> None:
    """Write the report in W&B's format, so that ``task=report`` can publish it.

    The report keeps the id of an earlier file, so that W&B updates the same report.
    """
    report.id = _known_id(out / FILE)
    _write(report, out)


def save_report(report: wr.Report, out: Path) -> str:
    """Save the report on the server and return its address.

    Raises ``TimeoutError`` when the server takes too long, or an error of W&B's client.
    """

    def save() -> str:
        report.entity = str(wandb.Api().default_entity)
        report.save()
        return str(report.url)

    url = call_with_timeout(SAVE_SECONDS, save)
    _write(report, out)
    return url


def _write(report: wr.Report, out: Path) -> None:
    spec = report._to_model().spec.model_dump_json(by_alias=True, exclude_none=True)
    header = {"id": report.id, "project": report.project, "title": report.title}
    write_json(out / FILE, header | {"description": report.description, "spec": json.loads(spec)})


def _known_id(file: Path) -> str:
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["id"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _runset(name: str, ids: Sequence[str], **shown: Any) -> wr.Runset:
    return wr.Runset(name=name, filters=[expr.Metric("ID").isin(list(ids))], **shown)


def _finding_lines(findings: Findings) -> list[Any]:
    comparison = findings.comparison
    conditions = [
        f"{'held' if condition.holds else 'NOT HELD'}, {condition.name}: {condition.text}"
        for condition in comparison.conditions
    ]
    failed = [f"failed, {job.label}: {job.error}" for job in comparison.failed]
    return [*findings.conclusions, *conditions, *failed]


def _curve_grid(evaluation: Evaluation, ids: Sequence[str]) -> wr.PanelGrid:
    """Return the figures that the server draws from the logged rows of the runs."""
    curve = _line(
        f"BLEU against length ({OVER_SEEDS})",
        LENGTH,
        [BY_LENGTH[0]],
        title_x=f"{evaluation.scoring.length_axis}: upper end of the bucket",
        title_y="BLEU",
        layout=wr.Layout(0, 0, HALF, 12),
    )
    bars = wr.BarPlot(
        title="BLEU on the whole test set",
        metrics=["test/bleu"],
        orientation="v",
        groupby=SYSTEM,
        groupby_aggfunc="mean",
        groupby_rangefunc="minmax",
        max_runs_to_show=MOST_RUNS,
        max_bars_to_show=MOST_RUNS,
        layout=wr.Layout(HALF, 0, HALF, 12),
    )
    return wr.PanelGrid(runsets=[_runset("runs", ids)], panels=[curve, bars])


def _line(title: str, x: str, y: list[Any], **more: Any) -> wr.LinePlot:
    return wr.LinePlot(
        title=title,
        x=x,
        y=y,
        groupby=SYSTEM,
        groupby_aggfunc="mean",
        groupby_rangefunc="minmax",
        smoothing_type="none",
        # The server's default buckets would move the few points of a curve.
        point_visualization_method="sampling",
        max_runs_to_show=MOST_RUNS,
        **more,
    )


def _run_blocks(ids: Sequence[str]) -> list[Any]:
    """Return blocks of the runs: table, differences, learning curves and attention."""
    order = [wr.OrderBy(wr.SummaryMetric("test/bleu"), ascending=False)]
    columns = [
        *("run:displayName", "config:system.value", "config:seed.value", "config:parameters.value"),
        *("summary:test/bleu", "summary:train/target_tokens_per_second"),
    ]
    table = _runset("runs", ids, order=order, pinned_columns=columns)
    comparer = wr.RunComparer(diff_only="split", layout=wr.Layout(0, 0, WIDTH, 12))
    measures = ("val/bleu", "val/loss", "train/loss", "train/target_tokens_per_second")
    places = [wr.Layout(HALF * (n % 2), 8 * (n // 2), HALF, 8) for n in range(len(measures))]
    learning: list[Any] = [
        _line(f"{measure} ({OVER_SEEDS})", STEP, [measure], title_x="updates", layout=place)
        for measure, place in zip(measures, places, strict=True)
    ]
    attention: list[Any] = [
        wr.MediaBrowser(
            title=title,
            media_keys=[key],
            mode="grid",
            grid_x_axis="run",
            grid_y_axis="step",
            layout=wr.Layout(0, 12 * row, WIDTH, 12),
        )
        for row, (key, title) in enumerate(
            (
                ("attention/test", "where each model looks when it translates"),
                ("attention/validation", "attention as it forms, at each validation"),
            )
        )
    ]
    return [
        wr.H1("Runs"),
        wr.PanelGrid(runsets=[table], panels=[comparer]),
        wr.H1("Learning"),
        wr.PanelGrid(runsets=[_runset("runs", ids)], panels=learning),
        wr.H1("Attention"),
        wr.PanelGrid(runsets=[_runset("runs", ids)], panels=attention),
    ]


def _study_blocks(parameters: Mapping[str, Sequence[str]]) -> list[Any]:
    """Return blocks of the tuning, which the server draws from the runs of the trials."""
    grids = []
    for study, names in parameters.items():
        settings = [wr.Config(name.lstrip("+")) for name in names]
        axes: list[Any] = [*settings, wr.SummaryMetric(TRIAL_BLEU)]
        panels: list[Any] = [
            wr.ParallelCoordinatesPlot(
                title=study,
                columns=[wr.ParallelCoordinatesPlotColumn(metric=axis) for axis in axes],
                layout=wr.Layout(0, 0, 2 * WIDTH // 3, 10),
            ),
            wr.ParameterImportancePlot(
                with_respect_to=TRIAL_BLEU, layout=wr.Layout(2 * WIDTH // 3, 0, WIDTH // 3, 10)
            ),
        ]
        trials = wr.Runset(name=study, filters=[expr.Metric("Group") == study])
        grids.append(wr.PanelGrid(runsets=[trials], panels=panels))
    return [wr.H1("Tuning"), *grids]


def _picture_grid(runset: wr.Runset, keys: Sequence[str]) -> wr.PanelGrid:
    panels: list[Any] = [
        wr.MediaBrowser(
            title=key, media_keys=[key], num_columns=1, layout=wr.Layout(0, 16 * row, WIDTH, 16)
        )
        for row, key in enumerate(keys)
    ]
    return wr.PanelGrid(runsets=[runset], hide_run_sets=True, panels=panels)


def _table_grid(runset: wr.Runset, names: Sequence[str]) -> wr.PanelGrid:
    panels: list[Any] = [
        wr.WeavePanelSummaryTable(
            table_name=f"{TABLES}/{name}", layout=wr.Layout(0, 10 * row, WIDTH, 10)
        )
        for row, name in enumerate(names)
    ]
    return wr.PanelGrid(runsets=[runset], hide_run_sets=True, panels=panels)


def _method_lines(findings: Findings) -> list[Any]:
    return [f"{aspect}: {line}" for aspect, lines in method(findings) for line in lines]


def _shortened(title: str) -> str:
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"
