"""Charts of a search on one sentence: the tree of a beam, and where a translation ends.

A page draws them anew for every sentence: they are described once, with named data.
"""

from collections.abc import Mapping
from typing import Any

import altair as alt

from lightning_modules.figures.charts import GREY, Chart, style_of, tooltip
from lightning_modules.figures.lines import finish_chart, looks_scales
from lightning_modules.figures.system_looks import legend_of

BEAM, ENDS = "beam", "ends"
"""Names of the described charts."""
INK = "#1248e0"
"""Colour of the best hypothesis."""
ROW = 26
"""Height of a step of the tree, in pixels."""
_STYLE = style_of("container")


def search_charts(labels: Mapping[str, str]) -> dict[str, Chart]:
    """Return the descriptions by their names, for systems with these ``labels`` by name."""
    return {BEAM: _beam(), ENDS: _ends(labels)}


def _beam() -> Chart:
    """Prefixes that a search keeps: a row for each step, the best prefix of a step at the left.

    Data: ``nodes`` (step, place, piece, label, probability, total, best) and ``links`` (step,
    place, before, from, best); steps count from 1, and step 0 is the empty prefix.
    """
    place: dict[str, Any] = {
        "title": "place in the beam",
        "scale": alt.Scale(zero=False, nice=False, padding=60),
        "axis": alt.Axis(orient="top", grid=False, tickMinStep=1, format="d"),
    }
    step: dict[str, Any] = {
        "title": "token of the translation",
        "scale": alt.Scale(reverse=True, zero=False, nice=False, padding=ROW / 2),
        "axis": alt.Axis(grid=False, tickMinStep=1, format="d"),
    }
    colour = alt.when("datum.best").then(alt.value(INK)).otherwise(alt.value(GREY))
    links = (
        alt.Chart(alt.NamedData(name="links"))
        .mark_rule(opacity=0.6, aria=False)
        .encode(
            x=alt.X("from:Q", **place),
            x2=alt.X2("place:Q"),
            y=alt.Y("before:Q", **step),
            y2=alt.Y2("step:Q"),
            color=colour,
            strokeWidth=alt.when("datum.best").then(alt.value(3)).otherwise(alt.value(1)),
        )
    )
    numbers = {"probability": "probability", "total": "log-probability so far"}
    nodes = alt.Chart(alt.NamedData(name="nodes")).encode(
        x=alt.X("place:Q", **place),
        y=alt.Y("step:Q", **step),
        color=colour,
        tooltip=tooltip("piece", numbers=numbers),
    )
    # White around the letters, where a line runs behind them.
    paper = nodes.mark_text(stroke="white", strokeWidth=5, fontSize=_STYLE.type, aria=False)
    names = nodes.mark_text(fontSize=_STYLE.type)
    layers = [links, *(each.encode(text=alt.Text("label:N")) for each in (paper, names))]
    return finish_chart(alt.layer(*layers), "container", "")


def _ends(labels: Mapping[str, str]) -> Chart:
    """Probability of the end at each step of the best hypothesis, a line for each system.

    Data: ``ends`` (system, step, eos, wins); a filled mark stands where no token is more probable
    than the end.
    """
    colour, shape, dash = looks_scales(labels)
    legend = legend_of(list(labels.values()), "container")
    base = alt.Chart(alt.NamedData(name="ends")).encode(
        x=alt.X(
            "step:Q",
            title="token of the translation",
            scale=alt.Scale(zero=False, nice=False, padding=14),
            axis=alt.Axis(grid=False, tickMinStep=1, format="d"),
        ),
        y=alt.Y("eos:Q", title="probability that it ends", scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("system:N", title=None, scale=colour, legend=legend),
        tooltip=tooltip("system", numbers={"step": "token", "eos": "probability"}),
    )
    line = base.mark_line(strokeWidth=_STYLE.line).encode(
        strokeDash=alt.StrokeDash("system:N", title=None, scale=dash, legend=legend)
    )
    filled = (
        alt.when("datum.wins")
        .then(alt.Fill("system:N", scale=colour, legend=legend))
        .otherwise(alt.value("white"))
    )
    marks = base.mark_point(size=_STYLE.mark, strokeWidth=_STYLE.line / 2).encode(
        shape=alt.Shape("system:N", title=None, scale=shape, legend=legend), fill=filled
    )
    return finish_chart(alt.layer(line, marks), "container", "")
