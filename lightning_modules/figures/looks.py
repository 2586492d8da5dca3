"""The look of each system: one colour, mark and dash, whatever its company in a figure."""

from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from itertools import product
from typing import NamedTuple

COLOURS = ("#333333", "#1248e0", "#a02a04", "#0f9f70", "#b468bf", "#600c7b", "#f05a1e")
"""Each has a contrast of 3:1 with white, and is told from the others by colour-blind readers."""
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
    dash: tuple[int, ...]


def _family(colour: str, shapes: str, *names: str, published: tuple[str, ...] = ()) -> Iterable:
    """Yield the looks of systems of one colour, those of published size with dashes."""
    marks = shapes.split()
    for name, shape in zip(names, marks, strict=True):
        yield name, Look(colour, shape, PLAIN)
    for name, shape in zip(published, marks, strict=False):
        yield name, Look(colour, shape, DASHES[1])


LOOKS: dict[str, Look] = dict(
    [
        *_family(
            COLOURS[0],
            "circle triangle-down",
            *("seq2seq", "seq2seq_reversed"),
            published=("rnnencdec", "sutskever2014"),
        ),
        *_family(COLOURS[1], "square", "bahdanau", published=("rnnsearch",)),
        *_family(
            COLOURS[2],
            " ".join(["triangle-up", *(shape for shape in SHAPES if shape != "triangle-up")]),
            *("luong_global", "luong_general", "luong_concat", "luong_location"),
            *("luong_scaled_dot", "luong_cosine", "luong_linear", "luong_multi_head"),
            published=(
                *("luong_global_dot", "luong_global_general", "luong_global_concat"),
                "luong_global_location",
            ),
        ),
        *_family(
            COLOURS[3],
            "diamond triangle-right square triangle-left",
            *("luong_local", "luong_predictive", "luong_local_near", "luong_predictive_near"),
            published=("luong_local_m", "luong_local_p"),
        ),
        *_family(COLOURS[4], "cross", "transformer", published=("transformer_base",)),
        ("transformer_big", Look(COLOURS[4], "cross", DASHES[2])),
    ]
)
"""Looks of the files of ``conf/model``: the systems of one paper share a colour."""
EVERY_LOOK = [Look(c, s, d) for d, s, c in product(DASHES, SHAPES, COLOURS)]


def looks_of(names: Iterable[str]) -> dict[str, Look]:
    """Return the look of each system; no two of one figure look alike.

    A name without a look of its own gets one that its letters choose, in a colour and with a mark
    that no other system of the figure has, if any are left.
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
            colours[look.colour],
            shapes[look.shape],
            look.dash != PLAIN,
        ),
    )
