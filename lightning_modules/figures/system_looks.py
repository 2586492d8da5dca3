"""The look of each system: a colour, mark and dash, the same in every figure; legends, labels."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import cycle, product
from typing import Any, NamedTuple

import altair as alt

from lightning_modules.figures.charts import GREY, Width, data_of, style_of
from lightning_modules.figures.text_sizes import text_width

COLOURS = ("#333333", "#1248e0", "#a02a04", "#0f9f70", "#b468bf", "#600c7b", "#f05a1e")
"""Each has a contrast of 3:1 with white; colour-blind readers can tell them apart."""
LETTERS = {"#0f9f70": "#0b8058", "#b468bf": "#a04eac", "#f05a1e": "#c8430b"}
"""Darker shades for letters, which take a contrast of 4.5:1."""
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right",
    "triangle-left",
)  # fmt: skip
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2))
PLAIN = DASHES[0]


class Look(NamedTuple):
    """Colour, mark and dash of a line."""

    colour: str
    shape: str
    dash: tuple[float, ...]


_SYSTEMS = (
    (0, "circle", "seq2seq", "rnnencdec"),
    (0, "triangle-down", "seq2seq_reversed", "sutskever2014"),
    (1, "square", "bahdanau", "rnnsearch"),
    (2, "triangle-up", "luong_global", "luong_global_dot"),
    (2, "circle", "luong_general", "luong_global_general"),
    (2, "square", "luong_concat", "luong_global_concat"),
    (2, "diamond", "luong_location", "luong_global_location"),
    (2, "cross", "luong_scaled_dot"),
    (2, "triangle-down", "luong_cosine"),
    (2, "triangle-right", "luong_linear"),
    (2, "triangle-left", "luong_multi_head"),
    (3, "diamond", "luong_local", "luong_local_m"),
    (3, "triangle-right", "luong_predictive", "luong_local_p"),
    (3, "square", "luong_local_near"),
    (3, "triangle-left", "luong_predictive_near"),
    (4, "cross", "transformer", "transformer_base", "transformer_big"),
    (4, "circle", "positions_relative"),
    (4, "diamond", "positions_alibi"),
    (4, "square", "positions_gru"),
    (5, "circle", "ladder_1_behind"),
    (5, "square", "ladder_2_layers"),
    (5, "triangle-up", "ladder_3_heads"),
    (5, "diamond", "ladder_4_positions"),
    (5, "cross", "ladder_5_feed_forward"),
    (5, "triangle-down", "ladder_6_residual"),
    (5, "triangle-right", "ladder_7_every"),
    (5, "triangle-left", "ladder_8_encoder"),
    (6, "circle", "retnet_decoder"),
    (6, "square", "gated_linear_decoder"),
    (6, "triangle-up", "gated_delta_decoder"),
    (6, "diamond", "mamba2_decoder"),
    (6, "cross", "retnet"),
    (6, "triangle-down", "gated_linear"),
    (6, "triangle-right", "gated_delta"),
    (6, "triangle-left", "mamba2"),
)
"""Number of a colour, mark, and files of ``conf/model``, published sizes last. The systems of one
paper share a colour."""
LOOKS = {
    name: Look(COLOURS[colour], shape, dash)
    for colour, shape, *names in _SYSTEMS
    for name, dash in zip(names, DASHES, strict=False)
}
"""Looks of the files of ``conf/model``; published sizes have dashes."""
_VARIANTS = set(LOOKS.values())
EVERY_LOOK = [Look(c, s, d) for d, s, c in product(DASHES, SHAPES, COLOURS)]


def looks_of(names: Iterable[str]) -> dict[str, Look]:
    """Return the look of each system; no two of one figure look alike.

    A name without a look of its own gets one chosen by a hash of the name, in a colour and with a
    mark that no other system of the figure has, if any are left, and that is no variant's look.
    """
    names = list(names)
    looks = {name: LOOKS[name] for name in names if name in LOOKS}
    for name in sorted(set(names) - looks.keys()):
        looks[name] = _free_look(name, list(looks.values()))
    return {name: looks[name] for name in names}


def _free_look(name: str, used: list[Look]) -> Look:
    first = int.from_bytes(sha256(name.encode()).digest()) % len(EVERY_LOOK)
    colours, shapes = (Counter(look[part] for look in used) for part in (0, 1))
    return min(
        EVERY_LOOK[first:] + EVERY_LOOK[:first],
        key=lambda look: (
            look in used,
            look in _VARIANTS,
            colours[look.colour],
            shapes[look.shape],
            look.dash != PLAIN,
        ),
    )


BASELINE_DASHES = ((4, 3), (1.5, 2), (6, 2, 1.5, 2))


def baseline_looks(labels: Iterable[str]) -> dict[str, Look]:
    """Return the looks of baselines by their labels: dashed lines in grey, without marks."""
    looks = zip(labels, cycle(BASELINE_DASHES))
    return {label: Look(GREY, "stroke", dash) for label, dash in looks}


def letter_colours(labels: Mapping[str, str], baselines: Iterable[str] = ()) -> dict[str, str]:
    """Return the colours of names by label, given the systems' labels by name."""
    looks = {labels[name]: look for name, look in looks_of(labels).items()}
    looks |= baseline_looks(baselines)
    return {label: LETTERS.get(look.colour, look.colour) for label, look in looks.items()}


AXIS = 4.2  # room of an axis with numbers and a title beside the plot, in sizes of type
LINE_HEIGHT = 1.3  # height of a line of a title, in sizes of type
SYMBOL, GAP = 1.25, 0.75  # room of a symbol of a legend before its label, and between columns
PAGE = 640
"""Width of the plot on a page, nearly."""
ROOMY = 1.15  # how much wider the fonts of browsers may be
_AUTHORS = re.compile(r" \([^()]*et al\.\)")


def legend_of(
    labels: Sequence[str], width: Width, beside: bool = False, title: str | list[str] = ""
) -> alt.Legend | None:
    """Return a legend in as few rows as the width needs.

    With labels ``beside`` its lines, a figure in a file has a legend in one row or none. ``title``
    is that of the vertical axis, which may have lines.
    """
    style = style_of(width)
    short = short_labels(labels, width)
    shown = [short[label] for label in labels]
    by_columns = {
        columns: _width(shown, columns, style.type) for columns in range(1, len(shown) + 1)
    }
    limit = 0.0
    if width == "container":
        columns: int | alt.ExprRef = alt.ExprRef(_chosen(by_columns))
    else:
        lines = 1 if isinstance(title, str) else len(title)
        room = width - (AXIS + LINE_HEIGHT * (lines - 1)) * style.type
        columns = max((n for n, needed in by_columns.items() if needed <= room), default=1)
        limit = room - SYMBOL * style.type
        if beside and columns < len(labels):
            return None
    # symbolOpacity: the band is pale, but its symbol in the legend must not be pale.
    legend = alt.Legend(
        orient="bottom",
        columns=columns,
        symbolOpacity=1,
        symbolLimit=len(labels),  # Vega's own limit is 30
        columnPadding=GAP * style.type,
        labelLimit=limit,
    )
    if shown != list(labels):
        legend.labelExpr = renamed(dict(zip(labels, shown, strict=True)))
    return legend


def renamed(names: Mapping[str, str | list[str]]) -> str:
    """Return the expression of labels that stand for others; a list has their lines."""
    return f"{json.dumps(names)}[datum.label]"


def short_labels(labels: Iterable[str], width: Width) -> dict[str, str]:
    """Return what a figure writes for each label.

    A narrow one leaves out authors in brackets, where the labels differ without them.
    """
    labels = list(labels)
    short = {label: _AUTHORS.sub("", label) for label in labels}
    differ = len(set(short.values())) == len(short)
    return short if differ and not style_of(width).labelled else {label: label for label in labels}


def _width(labels: Sequence[str], columns: int, type: float) -> float:
    """Return the width of a legend with as many columns, each as wide as its widest label."""
    widest = [
        max(text_width(label, type) for label in labels[column::columns])
        for column in range(columns)
    ]
    return sum(widest) + type * (SYMBOL * columns + GAP * (columns - 1))


def _chosen(by_columns: dict[int, float]) -> str:
    """Return the most columns that fit the page, as an expression of Vega."""
    chosen = "1"
    for columns, needed in by_columns.items():
        chosen = f"containerSize()[0] >= {ROOMY * needed + 54:.0f} ? {columns} : {chosen}"
    return chosen


LABEL_GAP = 1.15  # least distance of two labels, as a share of the type
LONGEST_LABEL = 0.45  # of a label beside the lines, as a share of the width of a file
ROOM = "containerSize()[0] >= 600"
"""Whether a page is wide enough for labels beside the plot; a phone shows the legend alone."""


def labels_fit(labels: Collection[str], width: Width) -> bool:
    """Return whether each line can have its label at its end; else the legend names them all."""
    style = style_of(width)
    if not style.labelled or (len(labels) - 1) * LABEL_GAP * style.type > style.height:
        return False
    return width == "container" or _longest(labels, style.type) <= LONGEST_LABEL * width


def plot_room(labels: Collection[str], width: Width) -> float:
    """Return about how wide the plot is, beside its axis and the labels of its lines."""
    if width == "container":
        return PAGE
    style = style_of(width)
    beside = _longest(labels, style.type) + 4 if labels_fit(labels, width) else 0
    return width - AXIS * style.type - beside


def _longest(labels: Iterable[str], type: float) -> float:
    return max((text_width(label, type) for label in labels), default=0)


def end_labels(
    points: Sequence[Mapping[str, Any]],
    colours: Mapping[str, str],
    x: alt.X,
    ends: tuple[float, float],
    width: Width,
    y: str = "score",
) -> list[alt.Chart]:
    """Return layers that write the label of each line beside its last point, right of the plot.

    ``points`` are those of the lines, each line's from left to right; ``y`` is their field on the
    vertical axis, whose least and greatest values are ``ends``. ``colours`` are those of the
    letters by label.
    """
    style = style_of(width)
    last: dict[str, Mapping[str, Any]] = {}
    for point in points:
        if not (point.get("thin") and point["system"] in last):
            last[point["system"]] = point
    shown = [each for each in last.values() if ends[0] <= each[y] <= ends[1]]
    if not shown:
        return []
    unit = style.height / (ends[1] - ends[0])
    wanted = [(ends[1] - each[y]) * unit for each in shown]
    places = spread(wanted, LABEL_GAP * style.type, style.height)
    rows = [
        {**each, "at": ends[1] - place / unit, "colour": colours[each["system"]]}
        for each, place in zip(shown, places, strict=True)
    ]
    base = alt.Chart(data_of(rows)).encode(color=alt.Color("colour:N", scale=None))
    if width == "container":
        base = base.transform_filter(ROOM)
    leader = base.mark_rule(strokeWidth=0.5 * style.line, strokeDash=[1, 2]).encode(
        x=x, y=f"{y}:Q", x2=alt.value("width"), y2="at:Q"
    )
    text = base.mark_text(align="left", dx=3, fontSize=style.type).encode(
        x=alt.value("width"), y="at:Q", text="system:N"
    )
    return [leader, text]


def spread(wanted: Sequence[float], gap: float, height: float) -> list[float]:
    """Return places near the ``wanted`` ones, at least ``gap`` apart, from 0 to ``height``.

    Where there is no room for all, the gaps are smaller and equal.
    """
    gap = min(gap, height / max(1, len(wanted) - 1))
    order = sorted(range(len(wanted)), key=lambda number: wanted[number])
    # Blocks of touching labels, each at the mean of its places, until no two touch.
    blocks: list[list[int]] = []
    for number in order:
        blocks.append([number])
        while len(blocks) > 1 and _top(blocks[-1], wanted, gap, height) < (
            _top(blocks[-2], wanted, gap, height) + gap * len(blocks[-2])
        ):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    places = [0.0] * len(wanted)
    for block in blocks:
        for row, number in enumerate(block):
            places[number] = _top(block, wanted, gap, height) + row * gap
    return places


def _top(block: Sequence[int], wanted: Sequence[float], gap: float, height: float) -> float:
    """Return the place of the first label of a block, so that the block is centred and inside."""
    centre = sum(wanted[number] for number in block) / len(block)
    length = gap * (len(block) - 1)
    return min(max(0.0, centre - length / 2), height - length)
