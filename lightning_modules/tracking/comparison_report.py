"""A W&B Report of a comparison, built of plain blocks: figures of the server beside our own."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import wandb
import wandb_workspaces.expr as expr
import wandb_workspaces.reports.v2 as wr

from datamodules.files import write_json
from lightning_modules.runs.paths import TRACKER_REPORT
from lightning_modules.tracking import report_blocks as blocks
from lightning_modules.tracking.comparison_run import PAGE, PICTURES, TABLES
from lightning_modules.tracking.mode import call_with_timeout
from lightning_modules.tracking.names import BY_LENGTH, LENGTH, STEP, TRIAL_BLEU

SAVE_SECONDS = 20.0
MOST_RUNS = 100
"""Most runs in one panel; W&B's default is ten."""
LONGEST_TITLE = 128
WIDTH = 24
"""Width of a grid of panels, in W&B's units."""
HALF = WIDTH // 2
SYSTEM = wr.Config("system")
OVER_SEEDS = "line: mean over seeds; band: lowest and highest seed"


def build_report(
    title: str,
    description: str,
    sections: Sequence[tuple[str, Sequence[blocks.Block]]],
    project: str,
    comparison: str,
    runs: Sequence[str],
) -> wr.Report:
    """Build the report without a call to the server; its entity stays empty.

    Args:
        title: title of the report, cut where it is too long.
        description: what the report is about, in a line.
        sections: headings with their blocks. Blocks of runs are left out without runs.
        project: W&B project.
        comparison: id of the comparison's W&B run.
        runs: ids of the compared runs.
    """
    made: list[Any] = [wr.TableOfContents()]
    for heading, described in sections:
        parts = [part for block in described for part in _block(block, comparison, runs)]
        if parts:
            made += [wr.H1(heading), *parts]
    page = _grid(_comparison(comparison), _pictures([PAGE]))
    made += [wr.H1("The page of the comparison"), page]
    return wr.Report(
        project=project,
        entity="",
        title=title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
        description=description,
        width="fluid",
        blocks=made,
    )


def write_report(report: wr.Report, out: Path) -> None:
    """Write the report in W&B's format, so that ``task=report`` can publish it.

    The report keeps the id of an earlier file, so that W&B updates the same report.
    """
    known = _known(out / TRACKER_REPORT)
    report.id = known.get("id", "")
    _write(report, out, known.get("url"))


def save_report(report: wr.Report, out: Path) -> str:
    """Save the report on the server and return its address.

    Raises ``TimeoutError`` when the server takes too long, or an error of W&B's client.
    """

    def save() -> str:
        report.entity = str(wandb.Api().default_entity)
        report.save()
        return str(report.url)

    url = call_with_timeout(SAVE_SECONDS, save)
    _write(report, out, url)
    return url


def _write(report: wr.Report, out: Path, url: str | None) -> None:
    spec = report._to_model().spec.model_dump_json(by_alias=True, exclude_none=True)
    header = {"id": report.id, "url": url, "project": report.project, "title": report.title}
    content = header | {"description": report.description, "spec": json.loads(spec)}
    write_json(out / TRACKER_REPORT, content)


def _known(file: Path) -> dict[str, Any]:
    """Return the content of the file of an earlier report; nothing without a readable file."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _block(block: blocks.Block, comparison: str, ids: Sequence[str]) -> list[Any]:
    """Return the parts of a block; none for a block of runs without runs."""
    match block:
        case blocks.Lines(items):
            return [wr.UnorderedList(items=list(items))]
        case blocks.Pictures(names):
            keys = [f"{PICTURES}/{name}" for name in names]
            return [_grid(_comparison(comparison), _pictures(keys))]
        case blocks.Tables(names):
            return [_grid(_comparison(comparison), _tables(names))]
        case blocks.TrialPlots(study, settings):
            trials = wr.Runset(name=study, filters=[expr.Metric("Group") == study])
            return [wr.PanelGrid(runsets=[trials], panels=_trial_panels(study, settings))]
    if not ids:
        return []
    if isinstance(block, blocks.RunTable):
        comparer = wr.RunComparer(diff_only="split", layout=wr.Layout(0, 0, WIDTH, 12))
        return [wr.PanelGrid(runsets=[_run_table(ids)], panels=[comparer])]
    return [wr.PanelGrid(runsets=[_runset("runs", ids)], panels=_run_panels(block))]


def _run_panels(block: blocks.Block) -> list[Any]:
    match block:
        case blocks.LengthCurves(axis):
            return _length_panels(axis)
        case blocks.RunCurves(measures):
            return [
                _line(
                    f"{measure} ({OVER_SEEDS})",
                    STEP,
                    [measure],
                    title_x="updates",
                    layout=wr.Layout(HALF * (place % 2), 8 * (place // 2), HALF, 8),
                )
                for place, measure in enumerate(measures)
            ]
        case blocks.RunMedia(titles):
            return [
                wr.MediaBrowser(
                    title=title,
                    media_keys=[key],
                    mode="grid",
                    grid_x_axis="run",
                    grid_y_axis="step",
                    layout=wr.Layout(0, 12 * row, WIDTH, 12),
                )
                for row, (key, title) in enumerate(titles.items())
            ]
    raise AssertionError(block)


def _runset(name: str, ids: Sequence[str], **shown: Any) -> wr.Runset:
    return wr.Runset(name=name, filters=[expr.Metric("ID").isin(list(ids))], **shown)


def _comparison(id: str) -> wr.Runset:
    return _runset("the comparison", [id])


def _run_table(ids: Sequence[str]) -> wr.Runset:
    order = [wr.OrderBy(wr.SummaryMetric("test/bleu"), ascending=False)]
    columns = [
        *("run:displayName", "config:system.value", "config:seed.value", "config:parameters.value"),
        *("summary:test/bleu", "summary:test/exact", "summary:train/target_tokens_per_second"),
    ]
    return _runset("runs", ids, order=order, pinned_columns=columns)


def _length_panels(axis: str) -> list[Any]:
    """Return figures that the server draws from the logged rows of the runs."""
    curve = _line(
        f"BLEU against length ({OVER_SEEDS})",
        LENGTH,
        [BY_LENGTH[0]],
        title_x=f"{axis}: upper end of the bucket",
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
    return [curve, bars]


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


def _trial_panels(study: str, settings: Sequence[str]) -> list[Any]:
    """Return figures that the server draws from the runs of the trials."""
    tuned = [wr.Config(name.lstrip("+")) for name in settings]
    axes: list[Any] = [*tuned, wr.SummaryMetric(TRIAL_BLEU)]
    return [
        wr.ParallelCoordinatesPlot(
            title=study,
            columns=[wr.ParallelCoordinatesPlotColumn(metric=axis) for axis in axes],
            layout=wr.Layout(0, 0, 2 * WIDTH // 3, 10),
        ),
        wr.ParameterImportancePlot(
            with_respect_to=TRIAL_BLEU, layout=wr.Layout(2 * WIDTH // 3, 0, WIDTH // 3, 10)
        ),
    ]


def _grid(runset: wr.Runset, panels: list[Any]) -> wr.PanelGrid:
    return wr.PanelGrid(runsets=[runset], hide_run_sets=True, panels=panels)


def _pictures(keys: Sequence[str]) -> list[Any]:
    return [
        wr.MediaBrowser(
            title=key, media_keys=[key], num_columns=1, layout=wr.Layout(0, 16 * row, WIDTH, 16)
        )
        for row, key in enumerate(keys)
    ]


def _tables(names: Sequence[str]) -> list[Any]:
    return [
        wr.WeavePanelSummaryTable(
            table_name=f"{TABLES}/{name}", layout=wr.Layout(0, 10 * row, WIDTH, 10)
        )
        for row, name in enumerate(names)
    ]
