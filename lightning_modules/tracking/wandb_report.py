"""Comparisons, scoreboards and corpora in W&B: a run with what the page shows, and a W&B report.

The report lists the sections of the page in their order, then the compared runs as the server draws
them, then the page itself.
"""

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import wandb
import wandb_workspaces.expr as expr
import wandb_workspaces.reports.v2 as wr
from omegaconf import DictConfig

from datamodules.errors import UserError, one_line
from datamodules.files import write_json
from lightning_modules.runs.paths import TRACKER_REPORT
from lightning_modules.tracking import names
from lightning_modules.tracking.names import PAGE, PICTURES, TABLES, UPLOADED
from lightning_modules.tracking.wandb_run import FailsafeRun, call_with_timeout

log = logging.getLogger(__name__)

SEND_SECONDS = 10.0  # time limit of tables and the page; no training waits for these calls
SAVE_SECONDS = 20.0
MOST_RUNS = 100  # most runs in one panel; W&B's default is ten
LONGEST_TITLE = 128
WIDTH, HALF = 24, 12  # width of a grid of panels, and half of it, in W&B's units
PINNED = (
    *("run:displayName", "config:system.value", "config:seed.value", "config:parameters.value"),
    *("summary:test/bleu", "summary:test/exact", "summary:train/target_tokens_per_second"),
)
"""Columns of the table of runs that stay in sight."""
OVER_SEEDS = "line: mean over seeds; band: lowest and highest seed"

TableData = tuple[Sequence[str], Sequence[Sequence[Any]]]  # columns and rows


class TrackedRun(NamedTuple):
    """A run of W&B that a page is about, and how it is drawn on the page."""

    id: str
    system: str  # `system` in its configuration; equal for all seeds
    colour: str


class ReportSection(NamedTuple):
    """A section of the W&B report: lines of text, and names of figures and tables."""

    heading: str
    lines: Sequence[str]
    figures: Sequence[str]
    tables: Sequence[str]


@dataclass(frozen=True)
class WandbPage:
    """What W&B gets of a page. A page without ``sections`` makes a run and no report."""

    job_type: str
    name: str
    config: Mapping[str, Any]
    summary: Mapping[str, float]  # scores with their intervals, by the names of metrics
    pictures: Mapping[str, Path]
    tables: Mapping[str, TableData]
    page: str | None = None  # the page as HTML
    notes: str | None = None  # the command that made the page, if known
    lines: Mapping[str, Mapping[float, float]] | None = None
    """BLEU by mean length, of the systems and then of the baselines."""
    length_axis: str = ""
    title: str = ""
    description: str = ""
    sections: Sequence[ReportSection] = ()
    runs: Sequence[TrackedRun] = ()  # the runs that the page is about
    studies: Mapping[str, Sequence[str]] | None = None  # settings that each study tuned


def publish_page(page: WandbPage, out: Path, logger: DictConfig, again: str = "") -> None:
    """Log a page as a W&B run, and save a W&B report of it.

    The folder ``out`` keeps the ids of run and report, which a later command there replaces. The
    command ``again`` saves the report later. Raises ``UserError`` if W&B fails, unless
    ``logger.mode`` is ``auto``.
    """
    run = _log_run(page, out, logger)
    if not page.sections:
        return
    if not run.online:
        log.info("W&B report: once the runs are on a server: %s", again)
        return
    try:
        report = build_report(page, logger.project, str(run.run.id))
        log.info("W&B report: %s", call_with_timeout(SAVE_SECONDS, partial(_save, report, out)))
    except Exception as error:
        line = f"W&B does not accept the report ({one_line(error)}); later: {again}"
        if logger.mode == "online":
            raise UserError(line) from None
        log.warning(line)


def metric_names(systems: Iterable[str]) -> dict[str, str]:
    """Return a unique name for each system, without characters that have a meaning in W&B."""
    found: dict[str, str] = {}
    for system in systems:
        plain = re.sub(r"\W+", "_", system).strip("_") or "system"
        numbered = (f"{plain}_{number}" for number in count(2))
        found[system] = next(n for n in chain([plain], numbered) if n not in found.values())
    return found


def _log_run(page: WandbPage, out: Path, logger: DictConfig) -> FailsafeRun:
    run = FailsafeRun(
        project=logger.project,
        name=page.name,
        group=page.job_type,
        job_type=page.job_type,
        tags=[page.job_type, names.tag_of(page.name)],
        save_dir=logger.save_dir,
        folder=str(out),
        mode=logger.mode,
        finish_seconds=logger.finish_seconds,
        replace=True,
    )
    run.label([], page.notes)
    run.send(lambda each: each.config.update(dict(page.config), allow_val_change=True))
    run.log_scores(page.summary)
    if page.lines:
        run.send(partial(_log_chart, lines=page.lines, axis=page.length_axis), SEND_SECONDS)
    run.send(partial(_log_pictures, page=page))
    run.send(partial(_log_tables, page=page), SEND_SECONDS)
    run.close()
    return run


def _log_chart(run: wandb.Run, lines: Mapping[str, Mapping[float, float]], axis: str) -> None:
    """Log one chart with a line for each system."""
    chart = wandb.plot.line_series(
        xs=[list(line) for line in lines.values()],
        ys=[list(line.values()) for line in lines.values()],
        keys=list(lines),
        title="BLEU against sentence length",
        xname=axis,
    )
    run.log({names.CURVE: chart})


def _log_pictures(run: wandb.Run, page: WandbPage) -> None:
    """Log the files of figures by name, each with the text in the file beside it as its caption."""
    images = {}
    for name, file in page.pictures.items():
        text = file.with_suffix(".txt")  # charts.CAPTION, whose file imports Altair
        caption = text.read_text(encoding="utf-8") if text.is_file() else ""
        caption = f"{_words(name)}: {page.name}\n{caption}".strip()
        images[f"{PICTURES}/{name}"] = wandb.Image(str(file), caption=caption)
    run.log(images)


def _log_tables(run: wandb.Run, page: WandbPage) -> None:
    """Log the tables, and the page itself."""
    logged: dict[str, Any] = {
        f"{TABLES}/{name}": wandb.Table(
            columns=list[str | int](columns), data=list(rows), allow_mixed_types=True
        )
        for name, (columns, rows) in page.tables.items()
    }
    if page.page is not None:
        logged[PAGE] = wandb.Html(page.page, inject=False)
    run.log(logged)


def build_report(page: WandbPage, project: str, run: str) -> wr.Report:
    """Build the report of a page without a call to the server; its entity stays empty.

    ``run`` is the id of the page's own W&B run.
    """
    own = _runset("the comparison", [run])
    blocks: list[Any] = [wr.TableOfContents()]
    for section in _joined(page.sections):
        panels = [_media(f"{PICTURES}/{name}", _words(name)) for name in section.figures]
        panels += [_table(f"{TABLES}/{name}") for name in section.tables]
        if section.lines or panels:
            blocks.append(wr.H1(section.heading))
        if section.lines:
            blocks.append(wr.UnorderedList(items=list(section.lines)))
        if panels:
            blocks.append(_grid(own, panels))
    if page.runs:
        blocks += [wr.H1("The runs"), *_run_grids(page.runs, page.length_axis)]
    if page.studies:
        blocks += [wr.H1("The trials"), *(_trials(*study) for study in page.studies.items())]
    if page.page is not None:
        blocks += [wr.H1("The page"), _grid(own, [_media(PAGE, page.title)])]
    blocks += [wr.H1("What was uploaded"), wr.P(f"{UPLOADED[0].upper()}{UPLOADED[1:]}.")]
    title = page.title
    return wr.Report(
        project=project,
        entity="",
        title=title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
        description=page.description,
        width="fluid",
        blocks=blocks,
    )


def _joined(sections: Sequence[ReportSection]) -> list[ReportSection]:
    """Return one section for each heading."""
    by_heading: dict[str, list[ReportSection]] = {}
    for section in sections:
        by_heading.setdefault(section.heading, []).append(section)
    return [
        ReportSection(heading, *(list(chain(*(each[part] for each in same))) for part in (1, 2, 3)))
        for heading, same in by_heading.items()
    ]


def _words(name: str) -> str:
    """Return the name of a figure as a title."""
    return name.replace("_", " ")


def _save(report: wr.Report, out: Path) -> str:
    """Save the report on the server, as the one that the folder knows, and return its address."""
    with suppress(OSError, ValueError, LookupError, TypeError):  # none was saved from here
        report.id = json.loads((out / TRACKER_REPORT).read_text(encoding="utf-8"))["id"]
    report.entity = str(wandb.Api().default_entity)
    report.save()
    write_json(out / TRACKER_REPORT, {"id": report.id, "url": str(report.url)})
    return str(report.url)


def _media(key: str, title: str) -> Any:
    layout = wr.Layout(w=WIDTH, h=16)
    return wr.MediaBrowser(title=title, media_keys=[key], num_columns=1, layout=layout)


def _table(key: str) -> Any:
    return wr.WeavePanelSummaryTable(table_name=key, layout=wr.Layout(w=WIDTH, h=10))


def _grid(runset: wr.Runset, panels: list[Any]) -> wr.PanelGrid:
    return wr.PanelGrid(runsets=[runset], hide_run_sets=True, panels=panels)


def _runset(name: str, ids: Sequence[str], **shown: Any) -> wr.Runset:
    return wr.Runset(name=name, filters=[expr.Metric("ID").isin(list(ids))], **shown)


def _run_grids(runs: Sequence[TrackedRun], length_axis: str) -> list[wr.PanelGrid]:
    """Return figures that the server draws from the logged rows of the runs, and their table.

    Runs and systems have the colours of the page.
    """
    ids = [run.id for run in runs]
    curve = _line(
        f"BLEU of the runs against length ({OVER_SEEDS})",
        names.LENGTH,
        names.BY_LENGTH[0],
        title_x=f"{length_axis}: upper end of the bucket",
        title_y="BLEU",
    )
    bars = wr.BarPlot(
        title="BLEU on the whole test set",
        metrics=["test/bleu"],
        orientation="v",
        max_bars_to_show=MOST_RUNS,
        **_over_seeds(),
    )
    failures = wr.BarPlot(
        title="How they fail: share of the test translations (%)",
        metrics=list(names.FAILURES),
        orientation="v",
        max_bars_to_show=MOST_RUNS,
        **_over_seeds(),
    )
    learning = [
        _line(f"{title} ({OVER_SEEDS})", names.STEP, measure, title_x="updates", title_y=title)
        for measure, title in names.MEASURES.items()
    ]
    shown: Any = {"mode": "grid", "grid_x_axis": "run", "grid_y_axis": "step"}
    wide = wr.Layout(w=WIDTH, h=12)
    media = [
        wr.MediaBrowser(title=title, media_keys=[key], layout=wide, **shown)
        for key, title in names.MEDIA.items()
    ]
    by_bleu = wr.OrderBy(wr.SummaryMetric("test/bleu"), ascending=False)
    table = _runset("runs", ids, order=[by_bleu], pinned_columns=[*PINNED])
    panels: list[Any] = [curve, bars, failures, *learning, *media]
    colours: dict[str | wr.RunsetGroup, str | dict[Any, Any]] = {run.id: run.colour for run in runs}
    for run in runs:
        key = wr.RunsetGroupKey(wr.Config("system"), run.system)
        colours[wr.RunsetGroup("runs", (key,))] = run.colour
    return [
        wr.PanelGrid(runsets=[_runset("runs", ids)], panels=panels, custom_run_colors=colours),
        wr.PanelGrid(runsets=[table], panels=[wr.RunComparer(diff_only="split", layout=wide)]),
    ]


def _over_seeds() -> dict[str, Any]:
    """Return the arguments of a panel that draws the mean, lowest and highest seed of a system."""
    return {
        "groupby": wr.Config("system"),
        "groupby_aggfunc": "mean",
        "groupby_rangefunc": "minmax",
        "max_runs_to_show": MOST_RUNS,
        "layout": wr.Layout(w=HALF, h=8),
    }


def _line(title: str, x: str, y: str, **titles: Any) -> wr.LinePlot:
    return wr.LinePlot(
        title=title,
        x=x,
        y=[y],
        smoothing_type="none",
        # The server's default buckets would move the few points of a curve.
        point_visualization_method="sampling",
        **_over_seeds(),
        **titles,
    )


def _trials(study: str, settings: Sequence[str]) -> wr.PanelGrid:
    """Return figures that the server draws from the runs of a study's trials."""
    axes: list[Any] = [
        *(wr.Config(name.lstrip("+")) for name in settings),
        wr.SummaryMetric(names.TRIAL_BLEU),
    ]
    columns = [wr.ParallelCoordinatesPlotColumn(metric=axis) for axis in axes]
    panels: list[Any] = [
        wr.ParallelCoordinatesPlot(title=study, columns=columns, layout=wr.Layout(w=16, h=10)),
        wr.ParameterImportancePlot(with_respect_to=names.TRIAL_BLEU, layout=wr.Layout(w=8, h=10)),
    ]
    trials = wr.Runset(name=study, filters=[expr.Metric("Group") == study])
    return wr.PanelGrid(runsets=[trials], panels=panels)
