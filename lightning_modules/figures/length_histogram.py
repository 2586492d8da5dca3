"""How many sentences of each length a corpus has."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import altair as alt

from datamodules.statistics.record import CorpusStatistics
from lightning_modules.figures.charts import Chart, data_of
from lightning_modules.figures.lines import finished
from lightning_modules.figures.looks import COLOURS
from lightning_modules.figures.sizes import KEY, TEXT, Width, style_of

DASHES = ([1, 0], [4, 3])
"""Lines of the source side, and of the target side."""


def length_histogram(
    statistics: CorpusStatistics, languages: tuple[str, str], title: str, width: Width = TEXT
) -> Chart:
    """Draw the share of sentences against their length in words, a line for each split and side.

    Args:
        statistics: statistics of a corpus.
        languages: codes of the source and of the target language.
        title: title above the figure.
        width: width of the figure.
    """
    sides = [f"{side} ({code})" for side, code in zip(("source", "target"), languages, strict=True)]
    splits = list(statistics.splits)
    labels = bin_labels(statistics.bins)
    names = ", ".join(f"'{low}': '{label}'" for low, label in labels.items())
    axis = alt.Axis(
        labelExpr=f"{{{names}}}[datum.value]", labelAngle=-60, labelOverlap="greedy", grid=False
    )
    # The first colour is that of systems without attention.
    colours = alt.Scale(domain=splits, range=list(COLOURS[1 : len(splits) + 1]))
    dashes = alt.Scale(domain=sides, range=list(DASHES))
    kinds = alt.Legend(orient="bottom", columns=1, symbolType="stroke", symbolSize=KEY)
    legend = alt.Legend(orient="bottom", columns=1)
    highlighted = alt.selection_point(fields=["split"], bind="legend")
    line = alt.Chart(data_of(_points(statistics, sides, labels))).mark_line(
        strokeWidth=style_of(width).line
    )
    chart = line.encode(
        x=alt.X("bin:O", sort=statistics.bins, title="Sentence length (words)", axis=axis),
        y=alt.Y("share:Q", title="sentences (%)"),
        color=alt.Color("split:N", title=None, scale=colours, legend=legend),
        strokeDash=alt.StrokeDash("side:N", title=None, scale=dashes, legend=kinds),
        opacity=alt.when(highlighted).then(alt.value(1)).otherwise(alt.value(0.15)),
        tooltip=[
            alt.Tooltip("split:N"),
            alt.Tooltip("side:N"),
            alt.Tooltip("words:N"),
            alt.Tooltip("sentences:Q", format=","),
            alt.Tooltip("share:Q", title="%", format=".3~f"),
        ],
    )
    return finished(chart.add_params(highlighted), width, "", title, _described(statistics, sides))


def _described(statistics: CorpusStatistics, sides: Sequence[str]) -> str:
    """Return the number of sentences and the mean lengths of each split in words."""
    said = ["Share of sentences (%) against sentence length (words)."]
    for split, by_side in statistics.splits.items():
        means = ", ".join(
            f"{found.in_words.mean:.1f} words on the {side} side"
            for side, found in zip(sides, by_side.values(), strict=True)
        )
        said.append(f"{split}: {means}.")
    return " ".join(said)


def bin_labels(bins: Sequence[int]) -> dict[int, str]:
    """Return the lengths of each bin in words, such as ``6–10``, by its least length."""
    ends = [f"{low}" if after == low + 1 else f"{low}–{after - 1}" for low, after in pairwise(bins)]
    return dict(zip(bins, [*ends, f"{bins[-1]}+"], strict=True))


def _points(
    statistics: CorpusStatistics, sides: Sequence[str], labels: Mapping[int, str]
) -> Iterator[dict[str, object]]:
    for split, by_side in statistics.splits.items():
        for side, found in zip(sides, by_side.values(), strict=True):
            sentences = max(1, sum(found.histogram))
            for (low, label), count in zip(labels.items(), found.histogram, strict=True):
                yield {
                    "split": split, "side": side, "bin": low, "words": label,
                    "sentences": count, "share": 100 * count / sentences,
                }  # fmt: skip
