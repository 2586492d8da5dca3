"""How effects and scores move with the budget: ladders, and the forest of one claim's corpora.

A page has dozens of each. So a chart is described once, and a card brings its data: a
``DataChart``. Altair takes longer to describe a chart than a browser takes to draw it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from lightning_modules.figures.charts import GREY, Chart, style_of, tooltip
from lightning_modules.figures.forest_chart import SQUARE
from lightning_modules.figures.lines import finish_chart

INK = "#1c2430"
PALE = "#e3e6ea"
LADDER, SYSTEMS, LENGTHS, CORPORA = "ladder", "systems", "lengths", "corpora"
"""Names of the described charts."""
MEAN = "mean of the corpora"
KEYS = {
    "a corpus, its 95% interval": (
        INK,
        "M-1,-.1L-.5,-.1A.5,.5,0,0,1,.5,-.1L1,-.1L1,.1L.5,.1A.5,.5,0,0,1,-.5,.1L-1,.1Z",
    ),
    MEAN: (INK, "diamond"),
    "95% of new corpora": (GREY, "M-1,-.1L-.3,-.1L-.3,.1L-1,.1ZM.3,-.1L1,-.1L1,.1L.3,.1Z"),
    "too small to count": (PALE, SQUARE),
}
"""Colour and mark of what the legend of a forest of corpora explains."""
_STYLE = style_of("container")
HEIGHT, ROW = 220, 24  # of a ladder, and of a row of the forest
Rows = Sequence[Mapping[str, Any]]


class DataChart(NamedTuple):
    """Data of a chart that another describes: the ``like`` of ``shared_charts``."""

    like: str
    datasets: Mapping[str, Rows]
    title: str
    description: str
    height: float = HEIGHT
    subtitle: str = ""  # what is on the y axis

    @property
    def spec(self) -> dict[str, Any]:
        """What the page puts over the description; numbers have five digits."""
        datasets = {
            name: [{key: _short(value) for key, value in row.items()} for row in rows]
            for name, rows in self.datasets.items()
        }
        title = {"text": self.title, "subtitle": self.subtitle, "offset": 8}
        own = self._asdict() | {"datasets": datasets, "title": title}
        del own["subtitle"]
        return own


def _short(value: object) -> object:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def shared_charts() -> dict[str, Chart]:
    """Return the descriptions by their names; their data are named, and empty."""
    return {LADDER: _ladder(), SYSTEMS: _systems(), LENGTHS: _lengths(), CORPORA: _corpora()}


def _ladder() -> Chart:
    """Effect of a claim at each rung: seeds as dots, the mean with its 95% interval.

    Data: ``margin`` (low, high), ``seeds`` (rung, seed, effect), ``rungs`` (rung, effect, low,
    high).
    """
    seeds = _of("seeds").encode(x=_budget("rungs"), y=_value("effect"), detail=alt.Detail("seed:N"))
    rungs = _of("rungs").encode(
        x=_budget("rungs"),
        tooltip=tooltip(numbers={"rung": "tokens", "effect": "effect", **_INTERVAL}),
    )
    layers = [
        *_margin(alt.Y("low:Q"), alt.Y2("high:Q"), "y"),
        seeds.mark_line(strokeWidth=0.75, color=GREY, opacity=0.35, aria=False),
        seeds.mark_point(size=30, color=GREY, opacity=0.8).encode(
            tooltip=tooltip(numbers={"seed": "seed", "rung": "tokens", "effect": "effect"})
        ),
        rungs.mark_line(strokeWidth=_STYLE.line, color=INK).encode(y=_value("effect")),
        rungs.mark_rule(strokeWidth=_STYLE.line, color=INK).encode(
            y=_value("low"), y2=alt.Y2("high:Q")
        ),
        rungs.mark_point(size=_STYLE.mark, filled=True, color=INK, opacity=1).encode(
            y=_value("effect")
        ),
    ]
    return _finished(layers)


def _systems() -> Chart:
    """Values of systems at each rung; data as ``_of_systems`` has them, by ``rung``."""
    return _finished(_of_systems(_budget("means")))


def _lengths() -> Chart:
    """Scores of systems against length; data as ``_of_systems`` has them, by ``place``."""
    axis, scale = alt.Axis(grid=False), alt.Scale(zero=False, nice=False, padding=12)
    return _finished(_of_systems(alt.X("place:Q", title="source words", axis=axis, scale=scale)))


def _of_systems(x: alt.X) -> list[alt.Chart]:
    """Return layers of seeds as dots, means as lines, and collapsed trainings as crosses.

    Data: ``seeds`` (system, seed, value, collapsed, colour, shape), ``means`` (system, value,
    colour, dash) and ``labels`` (over, under, value, colour), all with the field of ``x``.
    """
    colour = alt.Color("colour:N", scale=None)
    said = tooltip("system", numbers={"seed": "seed", "value": "value"})
    seeds = _of("seeds").encode(x=x, y=_value("value"), color=colour, tooltip=said)
    means = _of("means").encode(x=x, y=_value("value"), color=colour, detail=alt.Detail("system:N"))
    # No filter: Vega complains about the scale of a layer without a row.
    dots = seeds.mark_point(filled=True, opacity=0.75).encode(
        shape=alt.Shape("shape:N", scale=None),
        size=alt.when("datum.collapsed").then(alt.value(0)).otherwise(alt.value(30)),
    )
    crosses = seeds.transform_calculate(cross="datum.collapsed ? '×' : ''")
    labels = _of("labels").encode(x=x, y=_value("value"), color=colour)
    return [
        means.mark_line(strokeWidth=_STYLE.line).encode(
            strokeDash=alt.StrokeDash("dash:N", scale=None)
        ),
        dots,
        crosses.mark_text(fontSize=16).encode(text=alt.Text("cross:N")),
        *(
            labels.mark_text(align="right", dx=4, dy=dy, fontWeight="bold").encode(
                text=alt.Text(f"{side}:N")
            )
            for side, dy in (("over", -17), ("under", 18))
        ),
    ]


def _corpora() -> Chart:
    """Effects on several corpora at the last rung, on a common scale, and pooled.

    Data: ``margin`` (low, high), ``corpora`` (corpus, effect, low, high), ``pooled`` (the same, and
    from, to: the prediction interval).
    """
    y = alt.Y(
        "corpus:N",
        sort=None,
        title=None,
        axis=alt.Axis(ticks=False, domain=False, grid=False, labelLimit=0),
    )
    x = alt.X("low:Q", title=None, scale=alt.Scale(zero=True, nice=False, padding=10))
    numbers = {"effect": "effect", **_INTERVAL}
    corpora = _of("corpora").encode(y=y, tooltip=tooltip("corpus", numbers=numbers))
    pooled = _of("pooled").encode(
        y=y,
        tooltip=tooltip(
            "corpus", numbers=numbers | {"from": "in a new corpus from", "to": "to (new corpus)"}
        ),
    )
    scales = [
        alt.Scale(domain=list(KEYS), range=[look[part] for look in KEYS.values()])
        for part in (0, 1)
    ]
    columns = alt.ExprRef("containerSize()[0] >= 420 ? 2 : 1")
    legend = alt.Legend(orient="bottom", title=None, columns=columns)
    layers = [
        *_margin(alt.X("low:Q"), alt.X2("high:Q"), "x"),
        corpora.mark_rule(strokeWidth=_STYLE.line, color=INK).encode(x=x, x2=alt.X2("high:Q")),
        corpora.mark_point(size=_STYLE.mark, filled=True, color=INK, opacity=1).encode(
            x=alt.X("effect:Q")
        ),
        pooled.mark_rule(strokeWidth=1, strokeDash=[3, 3], color=GREY).encode(
            x=alt.X("from:Q"), x2=alt.X2("to:Q")
        ),
        pooled.mark_rule(strokeWidth=2 * _STYLE.line, color=INK).encode(
            x=alt.X("low:Q"), x2=alt.X2("high:Q")
        ),
        pooled.transform_calculate(key=f"'{MEAN}'")
        .mark_point(size=1.6 * _STYLE.mark, filled=True, opacity=1)
        .encode(
            x=alt.X("effect:Q"),
            color=alt.Color("key:N", scale=scales[0], legend=legend),
            shape=alt.Shape("key:N", scale=scales[1], legend=legend),
        ),
    ]
    return _finished(layers)


_INTERVAL = {"low": "95% from", "high": "to"}


def _of(data: str) -> alt.Chart:
    return alt.Chart(alt.NamedData(name=data))


def _budget(data: str) -> alt.X:
    """Return the axis of the rungs, with a tick at each rung of the data."""
    rungs = alt.ExprRef(f"pluck(data('{data}'), 'rung')")
    return alt.X(
        "rung:Q",
        title="budget (target tokens)",
        scale=alt.Scale(type="log", nice=False, padding=18),
        axis=alt.Axis(values=rungs, format="~s", grid=False, labelOverlap="greedy"),
    )


def _value(field: str) -> alt.Y:
    return alt.Y(f"{field}:Q", title=None, scale=alt.Scale(zero=False, padding=8))


def _margin(low: Any, high: Any, along: str) -> Iterator[alt.Chart]:
    """Yield the band of effects that are too small to count, and the rule at 0."""
    ends = {along: low, f"{along}2": high}
    yield _of("margin").mark_rect(color=PALE, opacity=1, aria=False).encode(**ends)
    zero = alt.Chart(alt.NamedData(name="margin")).transform_calculate(zero="0")
    yield zero.mark_rule(color=GREY, aria=False).encode(**{along: "zero:Q"})


def _finished(layers: Sequence[alt.Chart]) -> Chart:
    return finish_chart(alt.layer(*layers), "container", "")
