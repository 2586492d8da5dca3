"""Where the texts of an SVG stand: whether they overlap, and whether any is cut off."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from lightning_modules.figures.text_sizes import text_width

ABOVE, BELOW = 0.72, 0.2  # of the baseline, in sizes of type
TOUCH = 0.5  # points by which boxes may overlap: letters do not fill them
_CALL = re.compile(r"(translate|rotate|scale)\(([^)]*)\)")


class Box(NamedTuple):
    """What stands somewhere in a picture, with the corners ``(4, 2)`` around it."""

    what: str
    corners: NDArray[np.float64]
    is_text: bool


def boxes(svg: str) -> list[Box]:
    """Return the visible texts of a picture, line by line, and the marks of its points."""
    return list(_boxes(ElementTree.fromstring(svg), np.eye(3), False))


def overlaps(svg: str) -> list[tuple[str, str]]:
    """Return the pairs of texts, and of a text and a mark, of which one stands on the other."""
    pairs = combinations(boxes(svg), 2)
    return [
        (one.what, other.what)
        for one, other in pairs
        if (one.is_text or other.is_text) and _overlap(one.corners, other.corners)
    ]


def cut_off(svg: str) -> list[str]:
    """Return the texts that stick out of the picture."""
    _, _, wide, high = map(float, ElementTree.fromstring(svg).attrib["viewBox"].split())
    return [
        each.what
        for each in boxes(svg)
        if each.is_text
        and (
            each.corners.min() < -TOUCH
            or (each.corners.max(0) > (wide + TOUCH, high + TOUCH)).any()
        )
    ]


def _boxes(element: ElementTree.Element, outer: NDArray[np.float64], marks: bool) -> Iterator[Box]:
    given = element.attrib
    if float(given.get("opacity", 1)) == 0 or given.get("display") == "none":
        return
    inner = outer @ _matrix(given.get("transform", ""))
    tag, kinds = element.tag.rpartition("}")[2], given.get("class", "")
    drawn = "mark-symbol" in kinds and "role-mark" in kinds
    marks = (marks or drawn) and "clip-path" not in given  # what is clipped may end anywhere
    if tag == "text":
        yield from _lines(element, inner)
    elif tag == "path" and marks:
        reach = max(map(abs, _numbers(given.get("d", ""))), default=0.0)
        yield Box("a mark", _placed(inner, -reach, -reach, reach, reach), False)
    for child in element if tag != "text" else ():
        yield from _boxes(child, inner, marks)


def _lines(element: ElementTree.Element, matrix: NDArray[np.float64]) -> Iterator[Box]:
    size = float(element.attrib["font-size"].removesuffix("px"))
    anchor, y = element.attrib.get("text-anchor", "start"), 0.0
    for part in list(element) or [element]:
        text = part.text or ""
        y += float(part.attrib.get("dy", 0)) if part is not element else 0.0
        width = text_width(text, size)
        left = {"start": 0.0, "middle": -width / 2, "end": -width}[anchor]
        corners = _placed(matrix, left, y - ABOVE * size, left + width, y + BELOW * size)
        if text.strip():
            yield Box(text, corners, True)


def _placed(
    matrix: NDArray[np.float64], left: float, top: float, right: float, bottom: float
) -> NDArray[np.float64]:
    corners = np.array([[left, top, 1], [right, top, 1], [right, bottom, 1], [left, bottom, 1]])
    return (corners @ matrix.T)[:, :2]


def _matrix(transform: str) -> NDArray[np.float64]:
    made = np.eye(3)
    for name, arguments in _CALL.findall(transform):
        first, *more = _numbers(arguments)
        step = np.eye(3)
        if name == "translate":
            step[:2, 2] = first, *(more or [0.0])
        elif name == "scale":
            step[0, 0], step[1, 1] = first, *(more or [first])
        else:
            turn = np.radians(first)
            step[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
        made = made @ step
    return made


def _numbers(text: str) -> list[float]:
    return [float(each) for each in re.findall(r"-?\d*\.?\d+(?:e-?\d+)?", text)]


def _overlap(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Return whether two rectangles overlap: no line of the sides' directions separates them."""
    for corners in (one, other):
        for side in (corners[1] - corners[0], corners[2] - corners[1]):
            length = np.hypot(*side)
            if not length:
                return False
            places: Sequence[NDArray[np.float64]] = [each @ side / length for each in (one, other)]
            if min(p.max() for p in places) - max(p.min() for p in places) <= TOUCH:
                return False
    return True
