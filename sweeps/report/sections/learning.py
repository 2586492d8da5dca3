"""How the systems learned: BLEU and losses along the training, and whether the loss still falls."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import isfinite
from typing import Any, Literal, NamedTuple

import altair as alt
from typing_extensions import override

from lightning_modules.figures.charts import (
    KEY,
    TRAINING,
    Chart,
    Width,
    data_of,
    highlighting,
    style_of,
)
from lightning_modules.figures.lines import MARGIN, finish_chart, looks_scales, rounded_out
from lightning_modules.figures.system_looks import end_labels, labels_fit, legend_of, letter_colours
from lightning_modules.figures.text_sizes import fitted
from lightning_modules.metrics.systems import System
from lightning_modules.runs.files import BrokenFileError, read_history, read_learning_curve
from lightning_modules.runs.schema import ERRORS, STILL_FALLS, Convergence, HistoryPoint, LossPoint
from sweeps.comparison.collect import Comparison
from sweeps.comparison.score_tables import system_column
from sweeps.comparison.tables import Cell, Column, Table
from sweeps.report.sections import Section

log = logging.getLogger(__name__)

COLUMNS = [
    Column("seed", "seed", "count"),
    Column("target_tokens", "target tokens", "count"),
    Column("seconds", "seconds of training", "number"),
    Column("train_loss", "training loss (nats per token)", "number", 3),
    Column("val_loss", "validation loss (nats per token)", "number", 3),
    Column("val_bleu", "validation BLEU", "number", 2),
    Column("attention_spread", "spread of attention", "number", 2),
    Column("learning_rate", "learning rate", "number", 6),
    Column("gradient_norm", "gradient norm", "number", 2),
]
CONVERGENCE = [
    Column("seed", "seed", "count"),
    Column("fall", "loss fell, last half (%)", "number"),
    Column("fall_error", "±", "number"),
    Column("last_fifth_fall", "loss fell, last fifth (%)", "number"),
    Column("last_fifth_bleu", "share of BLEU from the last fifth (%)", "number"),
    Column("source_gain", "loss saved by the source (%)", "number"),
    Column("judgement", "judgement"),
]
TITLES = {column.key: column.title for column in COLUMNS}
Pace = Literal["target_tokens", "seconds"]
PACES: tuple[Pace, ...] = ("target_tokens", "seconds")  # columns of the horizontal axes
MEASURES = {
    "bleu": ("val_bleu",),
    "loss": ("train_loss", "val_loss"),
    "rate": ("learning_rate",),
    "gradient": ("gradient_norm",),
}
"""Columns that each figure draws; there is no figure of columns that no run has."""
UNITS = {
    "bleu": "validation BLEU",
    "loss": "loss (nats a target token)",
    "rate": "learning rate",
    "gradient": "gradient norm, before clipping",
}
FINER = {"val_loss", "learning_rate"}
"""Columns that the finer learning curve has too, with more points."""


class Learning(Section):
    """Learning curves; nothing without recorded validations."""

    template = '{% include "sections/learning.html.j2" %}'

    @property
    @override
    def heading(self) -> str:
        return "How it learned" if self.findings.alone else "How the systems learned"

    @cached_property
    def _curves(self) -> list["LearningCurve"]:
        return learning_curves(self.findings.comparison)

    @override
    def tables(self) -> Sequence[Table]:
        runs = len(self.findings.comparison.runs)
        tables = [learning_table(self._curves, runs)] if self._curves else []
        return [*tables, *convergence_tables(self.findings.comparison)]

    @override
    def figures(self, width: Width) -> Mapping[str, Chart]:
        return learning_figures(self._curves, width, self.paces) if self._curves else {}

    @property
    def paces(self) -> Sequence[Pace]:
        """Horizontal axes; the curves of one run look the same against its seconds."""
        return PACES[:1] if self.findings.alone else PACES


class LearningCurve(NamedTuple):
    """The validations of one run, and its validation loss between them."""

    system: System
    seed: int
    points: Sequence[HistoryPoint]
    losses: Sequence[LossPoint]  # points of `learning_curve.csv`; none without the file

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table by column, the system first."""
        run = {"system": self.system.name, "seed": self.seed}
        return [run | point.model_dump() for point in self.points]

    @property
    def drawn(self) -> list[dict[str, Any]]:
        """The rows of the figures, with what ``losses`` have in place of what ``points`` have."""
        run = {"system": self.system.label, "seed": self.seed}
        finer = {
            each for each in FINER for point in self.losses if getattr(point, each) is not None
        }
        return [
            *(run | point.model_dump(exclude=finer) for point in self.points),
            *(run | point.model_dump(include={*PACES, *finer}) for point in self.losses),
        ]


def learning_curves(comparison: Comparison) -> list[LearningCurve]:
    """Return the curve of every run that has a readable history."""
    curves = []
    for system, runs in comparison.by_system.items():
        for run in runs:
            try:
                if points := read_history(run.folder):
                    losses = read_learning_curve(run.folder)
                    curves.append(LearningCurve(system, run.result.seed, points, losses))
            except BrokenFileError as error:
                log.warning("%s; left out of the learning curves", error)
    return curves


def learning_table(curves: Sequence[LearningCurve], runs: int) -> Table:
    """Return a table with a row for each validation of each of so many ``runs``."""
    return Table(
        "learning",
        "Learning curves",
        [system_column(each.system for each in curves), *COLUMNS],
        [list(row.values()) for curve in curves for row in curve.rows],
        {"runs": f"{len(curves)} of {runs}"},
        "A row for each validation: target tokens trained on and the seconds they took, the mean "
        "training loss since the validation before, with label smoothing as trained, and loss, "
        "BLEU and the spread of attention (0: all weight on one source token, 1: equal weights) on "
        "the validation sentences; the learning rate of the next update, and the mean norm of the "
        "gradients since the validation before, before clipping.",
    )


def convergence_tables(comparison: Comparison) -> Iterator[Table]:
    """Yield a table with a row for each run that has recorded how far it learned; none without."""
    rows: list[list[Cell]] = []
    for system, runs in comparison.by_system.items():
        for run in runs:
            learned = run.result.training.convergence
            shares = [getattr(learned, column.key) for column in CONVERGENCE[1:-1]]
            if any(share is not None for share in shares):
                cells = [None if share is None else 100 * share for share in shares]
                rows.append([system.name, run.result.seed, *cells, _judgement(learned)])
    if rows:
        yield Table(
            "convergence",
            "How far the systems have come",
            [system_column(comparison.by_system), *CONVERGENCE],
            rows,
            {"runs": f"{len(rows)} of {len(comparison.runs)}"},
            "Shares by which the validation loss fell over the last half of the target tokens "
            "(± standard error over the sentences) and over the last fifth; the share of the last "
            "validation BLEU that the last fifth gained; the share of the loss of a reference that "
            f"its own source saves against another's. A loss still falls above {STILL_FALLS:.0%} "
            f"and {ERRORS:.0f} standard errors a doubling.",
        )


def _judgement(learned: Convergence) -> str:
    if not learned.began:
        return "does not translate yet"
    if learned.fall is None:
        return "shorter than a doubling"
    return "still falls: train longer" if learned.still_falls else "no longer falls"


def learning_figures(
    curves: Sequence[LearningCurve], width: Width, paces: Sequence[Pace] = PACES
) -> dict[str, Chart]:
    """Return figures of each of ``MEASURES`` by tokens and by seconds, one line for each run."""
    labels = {curve.system.name: curve.system.label for curve in curves}
    rows = [row for curve in curves for row in curve.drawn]
    return {
        f"learning_{measure}_by_{pace}": _figure(rows, labels, pace, measure, width)
        for measure, columns in MEASURES.items()
        for pace in paces
        if any(row.get(column) is not None for row in rows for column in columns)
    }


def _points(
    rows: Sequence[Mapping[str, Any]], pace: Pace, columns: Sequence[str]
) -> list[dict[str, Any]]:
    """Return a point for each finite value; ``what`` names the column."""
    return [
        {
            **{name: row[name] for name in ("system", "seed", pace)},
            "what": _kind(key),
            "value": float(f"{row[key]:.6g}"),
        }
        for row in rows
        for key in columns
        if row.get(key) is not None and isfinite(row[key])
    ]


def _kind(column: str) -> str:
    return TITLES[column].partition(" (")[0]  # the axis has the unit


def _figure(
    rows: Sequence[Mapping[str, Any]],
    labels: Mapping[str, str],
    pace: Pace,
    measure: str,
    width: Width,
) -> Chart:
    """Draw the columns of each run as lines against the pace; training losses are dashed."""
    columns, unit = MEASURES[measure], UNITS[measure]
    points, style, losses = _points(rows, pace, columns), style_of(width), len(columns) > 1
    values = [point["value"] for point in points]
    ends = rounded_out(min(values), max(values)) if values else (0.0, 1.0)
    x_end = max((point[pace] for point in points), default=1.0)
    colour, shape, _ = looks_scales(labels)
    labelled = labels_fit(labels, width)
    y_title = fitted(unit, style.height, style.type)
    several = len(labels) > 1
    legend = legend_of(list(labels.values()), width, labelled, y_title) if several else None
    highlighted, clear = highlighting("system")
    # Vega complains about a scale without ends where a narrow card leaves the labels of lines out.
    x = alt.X(
        f"{pace}:Q",
        title=TITLES[pace],
        scale=alt.Scale(domain=[0, (1 + MARGIN) * x_end], nice=False),
        axis=alt.Axis(grid=False, tickCount=6, format="~s"),
    )
    base = (
        alt.Chart()
        .transform_calculate(training=TRAINING)
        .encode(
            x=x,
            y=alt.Y(
                "value:Q", title=y_title, scale=alt.Scale(domain=list(ends), nice=False, zero=False)
            ),
            color=alt.Color("system:N", title=None, scale=colour, legend=legend),
            detail=[alt.Detail("seed:N"), alt.Detail("what:N")],
            opacity=clear,
            tooltip=[
                alt.Tooltip("training:N"),
                alt.Tooltip("what:N"),
                alt.Tooltip("value:Q", format=".3~f"),
                alt.Tooltip(f"{pace}:Q", title=TITLES[pace], format=",.6~r"),
            ],
        )
    )
    lines, note = base.mark_line(strokeWidth=style.line), "One line a seed."
    if losses:
        lines = lines.encode(strokeDash=_dashes(list(map(_kind, columns))))
        note += " The training loss is that of training, with label smoothing."
    marks = base.mark_point(size=style.mark / 2, filled=True).encode(
        shape=alt.Shape("system:N", title=None, scale=shape, legend=legend)
    )
    colours = letter_colours(labels)
    names = end_labels(points, colours, x, ends, width, clear, "value") if labelled else []
    chart = alt.layer(lines, marks.add_params(highlighted), *names, data=data_of(points))
    subject = f"{unit[0].upper()}{unit[1:]} against {TITLES[pace]}."
    return finish_chart(chart, width, note, "", subject, _last_values(points, labels, pace))


def _dashes(kinds: Sequence[str]) -> alt.StrokeDash:
    scale = alt.Scale(domain=list(kinds), range=[[4, 3], [1, 0]])
    legend = alt.Legend(
        orient="bottom", columns=2, symbolType="stroke", symbolSize=KEY, clipHeight=14
    )
    return alt.StrokeDash("what:N", title=None, scale=scale, legend=legend)


def _last_values(points: Sequence[Mapping[str, Any]], labels: Mapping[str, str], pace: Pace) -> str:
    """Return the last value of the first seed of each system in words."""
    said = ["After the last validation of a seed:"]
    for label in labels.values():
        of_system = [point for point in points if point["system"] == label]
        seed = [point for point in of_system if point["seed"] == of_system[0]["seed"]]
        said += [f"{label}: {seed[-1]['value']:.3g} after {seed[-1][pace]:,.0f}."] if seed else []
    return " ".join(said)
