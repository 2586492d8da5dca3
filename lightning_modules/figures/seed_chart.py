"""The scores of all seeds as dots, with the mean of each system and its interval."""

from collections.abc import Mapping

import altair as alt

from lightning_modules.figures.charts import TRAINING, Chart, Width, data_of, style_of, tooltip
from lightning_modules.figures.lines import finish_chart, looks_scales
from lightning_modules.figures.system_looks import LONGEST_LABEL, renamed, short_labels
from lightning_modules.metrics.bootstrap import Estimate

ROW = 2.6  # height of a system's row, in sizes of type


def seed_chart(
    scores: Mapping[str, tuple[Estimate, list[int]]],
    labels: Mapping[str, str],
    title: str,
    note: str,
    width: Width,
) -> Chart:
    """Draw a row for each system, by its label: its score and seeds, dots with the mean as a line.

    ``labels`` are the systems' by name.
    """
    shown = [label for label in labels.values() if label in scores]
    seeds = [
        {"system": label, "seed": seed, "score": score}
        for label in shown
        for seed, score in zip(scores[label][1], scores[label][0].seeds, strict=True)
    ]
    means = [
        {"system": label, "score": each.value, "low": each.low, "high": each.high}
        for label, (each, _) in scores.items()
    ]
    style = style_of(width)
    colour, shape, _ = looks_scales(labels)
    limit = 22 * style.type if width == "container" else LONGEST_LABEL * width
    y = alt.Y(
        "system:N",
        sort=shown,
        title=None,
        axis=alt.Axis(
            ticks=False,
            domain=False,
            grid=False,
            labelLimit=limit,
            labelExpr=renamed(short_labels(shown, width)),
        ),
    )
    x = alt.X("score:Q", title=title, scale=alt.Scale(zero=False, padding=10))
    hue = alt.Color("system:N", scale=colour, legend=None)
    mean = alt.Chart(data_of(means)).encode(
        y=y,
        color=hue,
        tooltip=tooltip("system", numbers={"score": "mean", "low": "95% from", "high": "to"}),
    )
    chart = alt.layer(
        mean.mark_rule(strokeWidth=3 * style.line, opacity=0.25).encode(
            x=alt.X("low:Q"), x2=alt.X2("high:Q")
        ),
        mean.mark_tick(thickness=style.line, size=1.6 * style.type).encode(x=x),
        alt.Chart(data_of(seeds))
        .mark_point(size=style.mark, filled=True, opacity=0.85)
        .encode(
            x=x,
            y=y,
            color=hue,
            shape=alt.Shape("system:N", scale=shape, legend=None),
            tooltip=tooltip("training", numbers={"score": title}),
        )
        .transform_calculate(training=TRAINING),
    )
    said = " ".join(
        f"{label}: {', '.join(f'{score:.1f}' for score in scores[label][0].seeds)}."
        for label in shown
    )
    finished = finish_chart(chart, width, note, "", f"{title} of each seed.", said)
    drawn: Chart = finished.properties(height=ROW * style.type * len(shown))
    return drawn
