"""How many sentences each system has in each group, such as ten ranges of sentence BLEU."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from lightning_modules.figures.charts import Chart, data_of
from lightning_modules.figures.legends import legend_of
from lightning_modules.figures.lines import finished, looks_scales
from lightning_modules.figures.sizes import TEXT, Width


def count_histogram(
    rows: Sequence[Mapping[str, Any]],
    labels: Mapping[str, str],
    groups: Sequence[str],
    title: str,
    note: str,
    width: Width = TEXT,
) -> Chart:
    """Draw the number of sentences against their group, a bar for each system.

    Args:
        rows: ``system`` (its label), ``group``, ``sentences``, and ``bleu`` of these sentences.
        labels: labels of the systems by name, in the order of the legend.
        groups: all groups in order, those without sentences too.
        title: title of the groups.
        note: where the numbers come from.
        width: width of the figure.
    """
    highlighted = alt.selection_point(fields=["system"], bind="legend")
    legend = legend_of(list(labels.values()), width)
    colour, _, _ = looks_scales(labels)
    axis = alt.Axis(labelAngle=-45, labelOverlap=False, grid=False)
    bars = alt.Chart(data_of(rows)).mark_bar()
    chart = bars.encode(
        x=alt.X("group:O", sort=list(groups), title=title, axis=axis).scale(domain=list(groups)),
        xOffset=alt.XOffset("system:N", sort=list(labels.values())),
        y=alt.Y("sentences:Q", title="sentences"),
        color=alt.Color("system:N", title=None, scale=colour, legend=legend),
        opacity=alt.when(highlighted).then(alt.value(1)).otherwise(alt.value(0.15)),
        tooltip=[
            alt.Tooltip("system:N"),
            alt.Tooltip("group:N", title=title),
            alt.Tooltip("sentences:Q", format=",.1f"),
            alt.Tooltip("bleu:Q", title="their corpus BLEU", format=".1f"),
        ],
    )
    said = _description(rows, labels.values(), title)
    note = f"Bars stand in the order of the legend. {note}"
    return finished(chart.add_params(highlighted), width, note, description=said)


def _description(rows: Sequence[Mapping[str, Any]], labels: Iterable[str], title: str) -> str:
    """Return in words which group has most sentences of each system."""
    said = [f"Number of sentences against {title}."]
    for label in labels:
        own = [row for row in rows if row["system"] == label and row["sentences"]]
        if own:
            most = max(own, key=lambda row: float(row["sentences"]))
            said.append(f"{label}: most in {most['group']}, {most['sentences']:.0f}.")
    return " ".join(said)
