"""The figures of a comparison, described once in Vega-Lite for the page and for print."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import altair as alt

from datamodules.files import whole_file
from lightning_modules.metrics.lengths import BucketScore
from sweeps import wording
from sweeps.comparison import Comparison, Spread, Variant

# Okabe and Ito's colours, told apart by colour-blind readers; yellow is left out on white.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
# One shape fewer than colours, so that pairs repeat only after 42 lines.
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
SCALES = {"svg": 1, "png": 2, "pdf": 1}


def length_curve(comparison: Comparison, width: int | Literal["container"] = 620) -> alt.LayerChart:
    """BLEU against sentence length, one line a variant, the mean over its seeds.

    A thin bar spans the lowest and the highest seed; the dashed rule stands at the longest
    training sentence; ``n`` under a bucket counts its test sentences.
    """
    spans = _spans(comparison.buckets)
    # A limit beyond the last bucket marks nothing: all of the test is within it.
    limits = [limit for limit in comparison.train_limits if limit < spans[-1][1]]
    rules = [layer for row, limit in enumerate(limits) for layer in _limit_rule(limit, spans, row)]
    # On a page the legend must fit a phone; the tables name every label in full.
    legend = _legend(comparison, label_limit=240 if width == "container" else 540)
    return (
        alt.layer(*rules, *_score_layers(comparison, spans, legend))
        .properties(width=width, height=340)
        .configure_view(stroke=None)
        .configure_axis(titleFontSize=12)
        .configure_legend(labelFontSize=12)
    )


def _spans(buckets: Sequence[BucketScore]) -> list[tuple[float, float]]:
    """Where each bucket lies on the length axis; the open one is drawn as wide as the one before.

    Bounds are halfway between two lengths: the bucket of 11 to 20 words spans 10.5 to 20.5.
    """
    spans: list[tuple[float, float]] = []
    width = 10.0
    for bucket in buckets:
        low = bucket.length_low - 0.5
        width = width if bucket.length_high is None else bucket.length_high + 0.5 - low
        spans.append((low, low + width))
    return spans


def _score_layers(
    comparison: Comparison, spans: Sequence[tuple[float, float]], legend: alt.Legend
) -> list[alt.Chart]:
    places = [sum(span) / 2 for span in spans]
    labels = [variant.label for variant in comparison.variants]
    highlighted = alt.selection_point(fields=["variant"], bind="legend")
    scores = alt.Chart(alt.Data(values=_points(comparison, places))).encode(
        x=alt.X(
            "place:Q",
            title=f"{_unit(comparison)} length (words)",
            scale=alt.Scale(domain=[min(map(min, spans)), max(map(max, spans))], nice=False),
            axis=_bucket_axis(comparison.buckets, places),
        ),
        y=alt.Y("bleu:Q", title="BLEU", scale=alt.Scale(zero=True, nice=True)),
        color=alt.Color("variant:N", title=None, scale=_scale(labels, COLOURS), legend=legend),
        opacity=alt.when(highlighted).then(alt.value(1)).otherwise(alt.value(0.15)),
        tooltip=[
            alt.Tooltip("variant:N", title="variant"),
            alt.Tooltip("bucket:N", title=f"{_unit(comparison)} words"),
            alt.Tooltip("bleu:Q", title="BLEU", format=".2f"),
            alt.Tooltip("seeds:N", title="seeds"),
            alt.Tooltip("sentences:Q", title="sentences"),
        ],
    )
    shape = alt.Shape("variant:N", title=None, scale=_scale(labels, SHAPES), legend=legend)
    return [
        scores.mark_line(strokeWidth=2),
        scores.mark_rule(strokeWidth=1.5).encode(y="low:Q", y2="high:Q"),
        scores.mark_point(filled=True, size=80).encode(shape=shape).add_params(highlighted),
    ]


def _points(comparison: Comparison, places: Sequence[float]) -> list[dict[str, object]]:
    at = {bucket.bounds: place for bucket, place in zip(comparison.buckets, places, strict=True)}
    return [
        {
            "variant": variant.label,
            "place": at[mean.bucket.bounds],
            "bucket": mean.bucket.label,
            "sentences": mean.bucket.sentences,
            "bleu": mean.bleu.mean,
            "low": mean.bleu.low,
            "high": mean.bleu.high,
            "seeds": _seeds(variant, mean.bleu),
        }
        for variant in comparison.variants
        for mean in variant.buckets
        if mean.bleu is not None
    ]


def _seeds(variant: Variant, bleu: Spread) -> str:
    seeds = wording.seeds(variant)
    return seeds if bleu.low == bleu.high else f"{seeds}: {bleu.low:.2f} to {bleu.high:.2f}"


def _unit(comparison: Comparison) -> str:
    """``source`` or ``target``: on which side words are counted."""
    return comparison.runs[0].result.length_unit.split()[0]


def _bucket_axis(buckets: Sequence[BucketScore], places: Sequence[float]) -> alt.Axis:
    names = [
        f"'{place:g}': ['{bucket.label}', 'n = {bucket.sentences}']"
        for bucket, place in zip(buckets, places, strict=True)
    ]
    return alt.Axis(
        values=list(places),
        labelExpr=f"{{{', '.join(names)}}}[datum.value]",
        labelOverlap="parity",
        grid=False,
    )


def _legend(comparison: Comparison, label_limit: int) -> alt.Legend:
    # Two columns still fit a phone; long labels (with overrides in them) need a row each.
    longest = max(len(variant.label) for variant in comparison.variants)
    columns = 1 if longest > 18 else 2
    return alt.Legend(orient="bottom", columns=columns, labelLimit=label_limit)


def _scale(labels: Sequence[str], values: Sequence[str]) -> alt.Scale:
    return alt.Scale(domain=labels, range=[values[i % len(values)] for i in range(len(labels))])


def _limit_rule(
    limit: int, spans: Sequence[tuple[float, float]], row: int
) -> tuple[alt.Chart, alt.Chart]:
    """The rule at the training limit, and its name above the plot; ``row`` keeps names apart."""
    place = limit + 0.5
    # The name of a rule near either end runs inwards, so that it is not cut off there.
    share = (place - spans[0][0]) / (spans[-1][1] - spans[0][0])
    align: Literal["left", "center", "right"] = "center"
    if not 1 / 3 < share < 2 / 3:
        align = "left" if share < 1 / 2 else "right"
    base = alt.Chart(alt.Data(values=[{"place": place}])).encode(x="place:Q")
    text = base.mark_text(
        text=f"longest training sentence: {limit} words",
        align=align,
        baseline="bottom",
        color="#555",
    )
    rule = base.mark_rule(strokeDash=[5, 4], color="#777")
    return rule, text.encode(y=alt.value(-4 - 14 * row))


def save_figure(chart: alt.LayerChart, stem: Path) -> list[Path]:
    """Write ``stem.svg``, ``stem.png`` (at double size) and ``stem.pdf``, each whole or not."""
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in SCALES]
    for path, scale in zip(paths, SCALES.values(), strict=True):
        with whole_file(path) as temporary:
            chart.save(str(temporary), scale_factor=scale)
    return paths
