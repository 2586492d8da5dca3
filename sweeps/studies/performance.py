"""What searches are expected to find, by what they may cost: the curve of Dodge et al. (2019)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt

from lightning_modules.charts import Chart
from lightning_modules.metrics.budgets import expected_best
from sweeps.evaluation.figures import COLOURS, SHAPES, Width, finished, legend_of, scale_of
from sweeps.evaluation.tables import Cell, Column, Table

NAME = "search_performance"
TITLES = {
    "bleu": "validation BLEU",
    "loss": "validation loss (nats)",
    "parameters": "parameters",
    "seconds": "seconds of training",
}
"""Of objectives."""
DECIMALS = {"bleu": 2, "loss": 3, "parameters": 0, "seconds": 1}
Pace = Literal["trials", "target_tokens"]
PACES: dict[Pace, str] = {"trials": "finished trials", "target_tokens": "target tokens"}
"""What is spent."""
NOTE = (
    "Mean and standard deviation of the best of n trials, drawn with replacement from those that "
    "finished (Dodge et al., 2019), so that even the last is below the best that was found. "
    "A trial costs what the study has cost, pruned and failed trials included, shared out among "
    "those that finished. Draws are independent; those of a sampler that learns are not, and "
    "their curve says what they came to, not what fewer of them would have."
)


@dataclass(frozen=True)
class Search:
    """What a study found, and what it took."""

    values: Sequence[float]
    """Of its finished trials."""
    target_tokens: float
    """Of one of them."""


def performance_table(searches: Mapping[str, Search], objective: str, largest: bool) -> Table:
    """A row for each study and number of trials."""
    title, decimals = TITLES[objective], DECIMALS[objective] + 1
    columns = [
        Column("study", "study"),
        Column("trials", PACES["trials"], "count"),
        Column("target_tokens", PACES["target_tokens"], "count"),
        Column("expected", f"expected best {title}", "number", decimals),
        Column("deviation", "standard deviation", "number", decimals),
        Column("low", "from", "number", decimals),
        Column("high", "to", "number", decimals),
    ]
    rows: list[list[Cell]] = [
        [name, n, round(n * search.target_tokens), *map(float, expected)]
        for name, search in searches.items()
        if search.values
        for n, expected in enumerate(
            zip(*expected_best(search.values, largest), strict=True), start=1
        )
    ]
    return Table(NAME, "Search performance", columns, rows, {"objective": objective}, NOTE)


def performance_curves(table: Table, width: Width = 620) -> dict[str, Chart]:
    """The table's rows against trials and against target tokens, one line a study."""
    return {f"{NAME}_by_{pace}": _curve(table, pace, width) for pace in PACES}


def _curve(table: Table, pace: Pace, width: Width) -> Chart:
    keys = [column.key for column in table.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
    names = list(dict.fromkeys(str(row["study"]) for row in rows))
    titles = dict(zip(keys, table.titles, strict=True))
    legend = legend_of(names, label_limit=240 if width == "container" else 540)
    highlighted = alt.selection_point(fields=["study"], bind="legend")
    axis = alt.Axis(grid=False, tickMinStep=1, format="~s" if pace == "target_tokens" else "d")
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X(f"{pace}:Q", title=titles[pace], axis=axis, scale=alt.Scale(nice=False)),
        color=alt.Color("study:N", title=None, scale=scale_of(names, COLOURS), legend=legend),
        tooltip=[
            alt.Tooltip("study:N"),
            *(alt.Tooltip(f"{key}:Q", title=PACES[key], format=",d") for key in PACES),
            *(alt.Tooltip(f"{key}:Q", title=titles[key], format=",.4~r") for key in keys[3:]),
        ],
    )
    shown = base.encode(
        y=alt.Y("expected:Q", title=titles["expected"], scale=alt.Scale(zero=False)),
        opacity=alt.when(highlighted).then(alt.value(1)).otherwise(alt.value(0.15)),
    )
    band = base.mark_area().encode(
        y="low:Q",
        y2="high:Q",
        opacity=alt.when(highlighted).then(alt.value(0.16)).otherwise(alt.value(0.03)),
    )
    shape = alt.Shape("study:N", title=None, scale=scale_of(names, SHAPES), legend=legend)
    marks = shown.mark_point(size=40, filled=True).encode(shape=shape).add_params(highlighted)
    told = "Bands: one standard deviation of the best of n draws."
    return finished(alt.layer(band, shown.mark_line(strokeWidth=2), marks), width, told)
