"""What a search is expected to find, by its number of trials (Dodge et al., 2019)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import altair as alt
import numpy as np

from lightning_modules.figures.charts import Chart, Width, data_of
from lightning_modules.figures.lines import finish_chart
from lightning_modules.metrics.metric import Array
from sweeps.comparison.tables import Column, Table
from sweeps.studies.figures import DECIMALS, TITLES, colours_and_shapes

NAME = "search_performance"
PACES = {"trials": "finished trials", "target_tokens": "target tokens"}
"""Costs of a search, with their titles."""
EXPECTED = ("expected", "deviation", "low", "high")
"""Columns of the expected best value of a search."""
NOTE = (
    "Mean and standard deviation of the best of n trials, drawn with replacement from those that "
    "finished (Dodge et al., 2019), so that even the last is below the best that was found. "
    "A trial costs what the study has cost, pruned and failed trials included, shared out among "
    "those that finished. Draws are independent; those of a sampler that learns are not, and "
    "their curve says what they came to, not what fewer of them would have."
)


class Search(NamedTuple):
    """Values that a study has found, and their cost."""

    values: Sequence[float]  # values of the finished trials
    target_tokens: float  # target tokens for each finished trial


class SearchPoint(NamedTuple):
    """What a study is expected to find with a number of trials."""

    study: str
    trials: int
    target_tokens: int
    expected: float  # mean of the best value
    deviation: float
    low: float
    high: float


def search_performance(searches: Mapping[str, Search], largest: bool) -> list[SearchPoint]:
    """Return a point for each study and number of finished trials."""
    return [
        SearchPoint(name, n, round(n * search.target_tokens), *map(float, expected))
        for name, search in searches.items()
        if search.values
        for n, expected in enumerate(zip(*expected_best(search.values, largest), strict=True), 1)
    ]


def performance_table(points: Sequence[SearchPoint], objective: str) -> Table:
    """Return a row for each point."""
    decimals = DECIMALS[objective] + 1
    titles = _performance_titles(objective)
    columns = [
        Column("study", titles["study"]),
        Column("trials", titles["trials"], "count"),
        Column("target_tokens", titles["target_tokens"], "count"),
        *(Column(key, titles[key], "number", decimals) for key in EXPECTED),
    ]
    return Table(NAME, "Search performance", columns, points, {"objective": objective}, NOTE)


def _performance_titles(objective: str) -> dict[str, str]:
    expected = (f"expected best {TITLES[objective]}", "standard deviation", "from", "to")
    return {"study": "study", **PACES, **dict(zip(EXPECTED, expected, strict=True))}


def performance_curves(
    points: Sequence[SearchPoint], objective: str, width: Width
) -> dict[str, Chart]:
    """Draw points against trials and against target tokens, one line for each study."""
    paces = PACES if points else ()
    return {f"{NAME}_by_{pace}": _curve(points, objective, pace, width) for pace in paces}


def _curve(points: Sequence[SearchPoint], objective: str, pace: str, width: Width) -> Chart:
    names = list(dict.fromkeys(point.study for point in points))
    titles = _performance_titles(objective)
    colour, shape = colours_and_shapes("study", names, width)
    highlighted = alt.selection_point(fields=["study"], bind="legend")
    axis = alt.Axis(grid=False, tickMinStep=1, format="~s" if pace == "target_tokens" else "d")
    base = alt.Chart().encode(
        x=alt.X(f"{pace}:Q", title=titles[pace], axis=axis, scale=alt.Scale(nice=False)),
        color=colour,
        tooltip=[
            alt.Tooltip("study:N"),
            *(alt.Tooltip(f"{key}:Q", title=PACES[key], format=",d") for key in PACES),
            *(alt.Tooltip(f"{key}:Q", title=titles[key], format=",.4~r") for key in EXPECTED),
        ],
    )
    clear = alt.when(highlighted).then(alt.value(1)).otherwise(alt.value(0.15))
    pale = alt.when(highlighted).then(alt.value(0.16)).otherwise(alt.value(0.03))
    y = alt.Y("expected:Q", title=titles["expected"], scale=alt.Scale(zero=False))
    band = base.mark_area().encode(y="low:Q", y2="high:Q", opacity=pale)
    shown = base.encode(y=y, opacity=clear)
    marks = shown.mark_point(size=40, filled=True).encode(shape=shape).add_params(highlighted)
    note = "Bands: one standard deviation of the best of n draws."
    data = data_of(point._asdict() for point in points)
    ends = {point.study: point for point in points}
    last_points = " ".join(
        f"{name}: {end.expected:.4g} after {getattr(end, pace):,}." for name, end in ends.items()
    )
    chart = alt.layer(band, shown.mark_line(strokeWidth=2), marks, data=data)
    description = f"{titles['expected']} against {titles[pace]}. {last_points}"
    return finish_chart(chart, width, note, description=description)


class Expected(NamedTuple):
    """Distribution of the best of n draws from N values: arrays with an entry for n = 1 … N."""

    value: Array  # mean of the best of n draws
    deviation: Array  # standard deviation of the best of n draws
    low: Array
    high: Array
    """Mean less (``low``) and plus one deviation, but within the smallest and largest value."""


def expected_best(values: Sequence[float], largest: bool = True) -> Expected:
    """Return the expected best of n draws from N ``values``, as Dodge et al. (2019) do.

    Draws are with replacement: the best of n draws is at most v with probability F(v)ⁿ, where F(v)
    is the share of the N values that are at most v. With ``largest=False`` the lowest value is the
    best. Raises ``ValueError`` without values.
    """
    if not len(values):
        raise ValueError("there is nothing to draw from")
    if not largest:
        value, deviation, low, high = expected_best([-each for each in values])
        return Expected(-value, deviation, -high, -low)
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    count = len(ordered)
    draws = np.arange(1, count + 1)[:, None]
    # How equal values share their probability does not matter: the sums are the same.
    mass = np.diff((np.arange(count + 1) / count) ** draws, axis=1)
    value = mass @ ordered
    deviation = np.sqrt((mass * (ordered - value[:, None]) ** 2).sum(axis=1))
    low, high = (np.clip(value + d, ordered[0], ordered[-1]) for d in (-deviation, deviation))
    return Expected(value, deviation, low, high)
