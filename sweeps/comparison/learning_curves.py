"""Learning curves of the runs of a comparison."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from lightning_modules.figures.charts import Chart, data_of
from lightning_modules.figures.lines import COLOURS, SHAPES, Width, finished, legend_of, scale_of
from lightning_modules.metrics.systems import System
from lightning_modules.runs.reader import BrokenFileError, read_history
from lightning_modules.runs.schema import HistoryPoint
from sweeps.comparison.collect import Comparison, Run
from sweeps.evaluation.score_tables import system_column
from sweeps.evaluation.tables import Column, Table

log = logging.getLogger(__name__)

COLUMNS = [
    Column("seed", "seed", "count"),
    Column("target_tokens", "target tokens", "count"),
    Column("seconds", "seconds of training", "number"),
    Column("train_loss", "training loss (nats per token)", "number", 3),
    Column("val_loss", "validation loss (nats per token)", "number", 3),
    Column("val_bleu", "validation BLEU", "number", 2),
]
Pace = Literal["target_tokens", "seconds"]
PACES: tuple[Pace, ...] = ("target_tokens", "seconds")
"""Columns of the horizontal axes."""
MEASURES = {"bleu": ("val_bleu",), "loss": ("train_loss", "val_loss")}
"""Columns that each figure draws."""


@dataclass(frozen=True)
class LearningCurve:
    """The validations of one run."""

    system: System
    seed: int
    points: Sequence[HistoryPoint]
    """Progress at each validation; never empty."""


def learning_curves(comparison: Comparison) -> list[LearningCurve]:
    """Return the curve of every run that has a readable history."""
    curves = [
        LearningCurve(variant.system, run.result.seed, _history(run))
        for variant in comparison.variants
        for run in variant.runs
    ]
    return [curve for curve in curves if curve.points]


def _history(run: Run) -> Sequence[HistoryPoint]:
    try:
        return list(read_history(run.folder))
    except BrokenFileError as error:
        log.warning("%s is left out of the learning curves: %s", run.folder, error)
        return []


def learning_table(curves: Sequence[LearningCurve], runs: int) -> Table:
    """Return a table with a row for each validation of each of so many ``runs``."""
    return Table(
        "learning",
        "Learning curves",
        [system_column(each.system for each in curves), *COLUMNS],
        [list(row.values()) for row in _rows(curves)],
        {"runs": f"{len(curves)} of {runs}"},
        "A row for each validation: target tokens trained on and the seconds they took, the mean "
        "training loss since the validation before, with label smoothing as trained, and loss and "
        "BLEU on the validation sentences.",
    )


def _rows(curves: Sequence[LearningCurve]) -> list[dict[str, Any]]:
    """Return the rows of the table, with the columns of systems first."""
    return [
        {"system": curve.system.name, "seed": curve.seed, **point.model_dump()}
        for curve in curves
        for point in curve.points
    ]


def learning_figures(curves: Sequence[LearningCurve], width: Width = 620) -> dict[str, Chart]:
    """Return figures of BLEU and of losses, by tokens and by seconds, one line for each run."""
    labels = {curve.system.name: curve.system.label for curve in curves}
    rows = [row | {"system": labels[row["system"]]} for row in _rows(curves)]
    return {
        f"learning_{measure}_by_{pace}": _figure(rows, pace, columns, width)
        for measure, columns in MEASURES.items()
        for pace in PACES
    }


def _figure(
    rows: Sequence[Mapping[str, Any]], pace: Pace, measured: Sequence[str], width: Width
) -> Chart:
    names = list(dict.fromkeys(row["system"] for row in rows))
    titles = {column.key: column.title for column in COLUMNS}
    legend = legend_of(names, label_limit=240 if width == "container" else 540)
    shared = ("system", "seed", *PACES)
    points = [
        {**{name: row[name] for name in shared}, "what": titles[key], "value": row[key]}
        for row in rows
        for key in measured
    ]
    unit = "validation BLEU" if len(measured) == 1 else "loss (nats a target token)"
    highlighted = alt.selection_point(fields=["system"], bind="legend")
    base = alt.Chart().encode(
        x=alt.X(f"{pace}:Q", title=titles[pace], axis=alt.Axis(grid=False, tickCount=6)),
        y=alt.Y("value:Q", title=unit, scale=alt.Scale(zero=False)),
        color=alt.Color("system:N", title=None, scale=scale_of(names, COLOURS), legend=legend),
        detail=["seed:N", "what:N"],
        opacity=alt.when(highlighted).then(alt.value(1)).otherwise(alt.value(0.15)),
        tooltip=[
            alt.Tooltip("system:N"),
            alt.Tooltip("seed:N"),
            alt.Tooltip("what:N"),
            alt.Tooltip("value:Q", format=".3~f"),
            *(alt.Tooltip(f"{key}:Q", title=titles[key], format=",.6~r") for key in PACES),
        ],
    )
    lines = base.mark_line(strokeWidth=2)
    if len(measured) > 1:
        dashes = alt.Scale(domain=[titles[key] for key in measured], range=[[4, 3], [1, 0]])
        kinds = alt.Legend(orient="bottom", columns=1, symbolType="stroke", labelLimit=240)
        dash = alt.StrokeDash("what:N", title=None, scale=dashes, legend=kinds)
        lines = lines.encode(strokeDash=dash)
    shape = alt.Shape("system:N", title=None, scale=scale_of(names, SHAPES), legend=legend)
    marks = base.mark_point(size=40, filled=True).encode(shape=shape).add_params(highlighted)
    chart = alt.layer(lines, marks, data=data_of(points))
    return finished(chart, width, "One line a seed.")
