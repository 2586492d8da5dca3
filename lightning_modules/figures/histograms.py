"""How many sentences each system has in each group, such as ten ranges of sentence BLEU."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt

from datamodules.corpus_statistics import CorpusStatistics
from lightning_modules.figures.charts import KEY, Chart, Width, data_of, highlighting, style_of
from lightning_modules.figures.hatches import hatches_of
from lightning_modules.figures.lines import finish_chart, looks_scales
from lightning_modules.figures.palette import SPLIT_COLOURS
from lightning_modules.figures.system_looks import legend_of


def count_histogram(
    rows: Sequence[Mapping[str, Any]],
    labels: Mapping[str, str],
    groups: Sequence[str],
    title: str,
    note: str,
    width: Width,
) -> Chart:
    """Draw the number of sentences against their group, a bar for each system, hatched in files.

    ``rows`` have ``system`` (its label), ``group``, ``sentences``, and ``bleu`` of these sentences.
    ``labels`` are the systems' by name, in the order of the legend; ``groups`` are all groups in
    order, those without sentences too, whose title is ``title``. ``note`` tells where the numbers
    come from.
    """
    highlighted, opacity = highlighting("system")
    legend = legend_of(list(labels.values()), width)
    colour, _, _ = looks_scales(labels)
    axis = alt.Axis(
        labelAngle=0,
        labelOverlap="parity",
        labelExpr="replace(datum.label, / to <? ?/, '–')",
        grid=False,
    )
    filling = colour
    if width != "container":
        hatches = hatches_of(labels)
        filling = alt.Scale(domain=list(hatches), range=list(hatches.values()))
    fill = alt.Fill("system:N", title=None, scale=filling, legend=legend)
    bars = alt.Chart(data_of(rows)).mark_bar(strokeWidth=0.5)
    chart = bars.encode(
        x=alt.X("group:O", sort=list(groups), title=title, axis=axis).scale(domain=list(groups)),
        xOffset=alt.XOffset("system:N", sort=list(labels.values())),
        y=alt.Y("sentences:Q", title="sentences"),
        fill=fill,
        stroke=alt.Stroke("system:N", title=None, scale=colour, legend=legend),
        opacity=opacity,
        tooltip=[
            alt.Tooltip("system:N"),
            alt.Tooltip("group:N", title=title),
            alt.Tooltip("sentences:Q", format=",.1f"),
            alt.Tooltip("bleu:Q", title="their corpus BLEU", format=".1f"),
        ],
    )
    note = f"Bars stand in the order of the legend. {note}"
    subject = f"Number of sentences against {title}."
    said = _details(rows, labels.values())
    return finish_chart(chart.add_params(highlighted), width, note, "", subject, said)


def _details(rows: Sequence[Mapping[str, Any]], labels: Iterable[str]) -> str:
    """Return in words which group has most sentences of each system."""
    said = []
    for label in labels:
        own = [row for row in rows if row["system"] == label and row["sentences"]]
        if own:
            most = max(own, key=lambda row: float(row["sentences"]))
            said.append(f"{label}: most in {most['group']}, {most['sentences']:.0f}.")
    return " ".join(said)


DASHES = ([1, 0], [4, 3])  # lines of the source side, and of the target side


def length_histogram(
    statistics: CorpusStatistics, languages: tuple[str, str], corpus: str, width: Width
) -> Chart:
    """Draw the share of sentences against their length in words, a line for each split and side."""
    title = f"Sentence lengths of the corpus {corpus}"
    sides = [f"{side} ({code})" for side, code in zip(("source", "target"), languages, strict=True)]
    splits = list(statistics.splits)
    labels = bin_labels(statistics.bins)
    names = ", ".join(f"'{low}': '{label}'" for low, label in labels.items())
    axis = alt.Axis(
        labelExpr=f"{{{names}}}[datum.value]",
        labelAngle=0,
        labelOverlap="greedy",
        labelSeparation=4,
        grid=False,
    )
    colours = alt.Scale(domain=splits, range=list(SPLIT_COLOURS[: len(splits)]))
    dashes = alt.Scale(domain=sides, range=list(DASHES))
    kinds = alt.Legend(
        orient="bottom", columns=2, symbolType="stroke", symbolSize=KEY, clipHeight=14
    )
    legend = alt.Legend(orient="bottom", columns=3)
    highlighted, opacity = highlighting("split")
    line = alt.Chart(data_of(_points(statistics, sides, labels))).mark_line(
        strokeWidth=style_of(width).line
    )
    chart = line.encode(
        x=alt.X("bin:O", sort=statistics.bins, title="Sentence length (words)", axis=axis),
        y=alt.Y("share:Q", title="sentences (%)"),
        color=alt.Color("split:N", title=None, scale=colours, legend=legend),
        strokeDash=alt.StrokeDash("side:N", title=None, scale=dashes, legend=kinds),
        opacity=opacity,
        tooltip=[
            alt.Tooltip("split:N"),
            alt.Tooltip("side:N"),
            alt.Tooltip("words:N"),
            alt.Tooltip("sentences:Q", format=","),
            alt.Tooltip("share:Q", title="%", format=".3~f"),
        ],
    )
    subject = f"{title}: share of sentences (%) against sentence length (words)."
    said = _mean_lengths(statistics, sides)
    return finish_chart(chart.add_params(highlighted), width, "", title, subject, said)


def _mean_lengths(statistics: CorpusStatistics, sides: Sequence[str]) -> str:
    """Return the mean lengths of each split in words."""
    said = []
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
