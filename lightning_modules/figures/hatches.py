"""Hatched bars: systems that print in the same grey differ by the lines in their bars."""

import re
from collections.abc import Mapping

from lightning_modules.figures.palette import SHAPES, looks_of

_SIZE = 3  # side of the tile that a pattern repeats, in points
_LINES = {
    "circle": "",  # plain
    "square": "M-1 1L1-1M0 3L3 0M2 4L4 2",
    "triangle-up": "M-1 2L1 4M0 0L3 3M2-1L4 1",
    "diamond": "M0 3L3 0M0 0L3 3",
    "cross": "M1 1.5H2M1.5 1V2",
    "triangle-down": "M0 1.5H3",
    "triangle-right": "M1.5 0V3",
    "triangle-left": "M0 1.5H3M1.5 0V3",
}
"""The lines of each hatch, by the mark that its system has in other figures."""
_USED = re.compile(r"url\(#(hatch-([a-z-]+)-([0-9a-f]{6}))\)")


def hatches_of(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the fill of the bars of each system by its label, given labels by name.

    The hatch is that of the system's mark, or another where two systems share a mark.
    """
    fills: dict[str, str] = {}
    free = list(SHAPES)
    for name, look in looks_of(labels).items():
        shape = look.shape if look.shape in free or not free else free[0]
        if shape in free:
            free.remove(shape)
        fills[labels[name]] = f"url(#hatch-{shape}-{look.colour[1:]})"
    return fills


def with_hatches(svg: str) -> str:
    """Return an SVG with the definitions of all hatches that it uses."""
    used = dict.fromkeys(_USED.findall(svg))
    if not used:
        return svg
    patterns = "".join(_pattern(*each) for each in used)
    head, end, rest = svg.partition(">")
    return f"{head}{end}<defs>{patterns}</defs>{rest}"


def _pattern(name: str, shape: str, colour: str) -> str:
    lines = _LINES[shape]
    ground = "#ffffff" if lines else f"#{colour}"
    return (
        f'<pattern id="{name}" width="{_SIZE}" height="{_SIZE}" patternUnits="userSpaceOnUse">'
        f'<rect width="{_SIZE}" height="{_SIZE}" fill="{ground}"/>'
        f'<path d="{lines}" fill="none" stroke="#{colour}" stroke-width="0.8"/></pattern>'
    )
