"""Lines of systems with bands and seeds, described once in Vega-Lite for the page and for print."""

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from lightning_modules.figures.charts import Chart
from lightning_modules.metrics.uncertainty.bootstrap_scores import Estimate

Width = int | Literal["container"]
# Okabe and Ito's colours, distinct for colour-blind readers; yellow is too pale on white.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
GREY = "#777"
# One shape fewer than colours, so that pairs repeat only after 42 lines.
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]


def point(system: str, group: str, estimate: Estimate) -> dict[str, object]:
    """Return the data of a point: the score of a system on a group of sentences or words."""
    return {
        "system": system,
        "group": group,
        "score": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "worst seed": min(estimate.seeds, default=estimate.value),
        "best seed": max(estimate.seeds, default=estimate.value),
    }


def lines(
    x: alt.X, label: str, from_zero: bool, names: Sequence[str], width: Width
) -> list[alt.Chart]:
    """Return layers that draw points of ``point`` with their ``thin``: bands, lines, seeds, marks.

    Args:
        x: the horizontal axis.
        label: title of the vertical axis.
        from_zero: whether the vertical axis begins at 0.
        names: names of the systems in the order of the legend.
        width: width of the figure in pixels, or ``container``.
    """
    highlighted = alt.selection_point(fields=["system"], bind="legend")
    legend = legend_of(names, label_limit=240 if width == "container" else 540)
    base = alt.Chart().encode(
        x=x,
        color=alt.Color("system:N", title=None, scale=scale_of(names, COLOURS), legend=legend),
        tooltip=[
            alt.Tooltip("system:N"),
            alt.Tooltip("group:N"),
            alt.Tooltip("score:Q", title=label, format=".3~f"),
            alt.Tooltip("low:Q", title="95% from", format=".3~f"),
            alt.Tooltip("high:Q", title="to", format=".3~f"),
            alt.Tooltip("worst seed:Q", title="lowest seed", format=".3~f"),
            alt.Tooltip("best seed:Q", title="highest seed", format=".3~f"),
        ],
    )
    shown = base.encode(
        y=alt.Y("score:Q", title=label, scale=alt.Scale(zero=from_zero)),
        opacity=alt.when(highlighted).then(alt.value(1)).otherwise(alt.value(0.15)),
    )
    band = base.mark_area().encode(
        y=alt.Y("low:Q"),
        y2="high:Q",
        opacity=alt.when(highlighted).then(alt.value(0.16)).otherwise(alt.value(0.03)),
    )
    seeds = shown.mark_rule(strokeWidth=1.5).encode(y="worst seed:Q", y2="best seed:Q")
    shape = alt.Shape("system:N", title=None, scale=scale_of(names, SHAPES), legend=legend)
    hollow = (
        alt.when("datum.thin")
        .then(alt.value("white"))
        .otherwise(alt.Fill("system:N", scale=scale_of(names, COLOURS), legend=legend))
    )
    marks = shown.mark_point(size=80).encode(shape=shape, fill=hollow).add_params(highlighted)
    return [band, shown.mark_line(strokeWidth=2), seeds, marks]


def finished(chart: Chart, width: Width, note: str, title: str = "") -> Chart:
    """Set the sizes of a figure; put ``title`` above it, and small ``note`` above a printed one."""
    look = alt.Config(
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(titleFontSize=12),
        legend=alt.LegendConfig(labelFontSize=12),
    )
    given: dict[str, Any] = {"width": width, "height": 340, "config": look}
    # The page has the note beside the figure, and may be narrow.
    small = "" if width == "container" else note
    if title:
        given["title"] = alt.TitleParams(
            title, subtitle=small, anchor="start", fontSize=13, subtitleFontSize=8,
            subtitleColor=GREY, offset=18,
        )  # fmt: skip
    elif small:
        given["title"] = alt.TitleParams(
            small, anchor="start", fontSize=8, fontWeight="normal", color=GREY, offset=18
        )
    finished: Chart = chart.properties(**given)
    return finished


def legend_of(names: Sequence[str], label_limit: int) -> alt.Legend:
    """Return a legend below the figure, with labels of at most ``label_limit`` pixels."""
    # Two columns fit a phone, except for long labels, such as labels with overrides.
    columns = 1 if max(map(len, names)) > 18 else 2
    # symbolOpacity: the band is pale, but its symbol in the legend must not be pale.
    return alt.Legend(orient="bottom", columns=columns, labelLimit=label_limit, symbolOpacity=1)


def scale_of(names: Sequence[str], values: Sequence[str]) -> alt.Scale:
    """Return a scale from names to ``values``, in order, starting again after the last value."""
    return alt.Scale(domain=names, range=[values[i % len(values)] for i in range(len(names))])
