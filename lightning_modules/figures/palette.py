"""The look of each system: a colour, mark and dash, the same on every page, figure and terminal."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from hashlib import sha256
from itertools import product
from typing import NamedTuple

COLOURS = ("#333333", "#1248e0", "#a02a04", "#0f9f70", "#b468bf", "#600c7b", "#f05a1e")
"""Each has a contrast of 3:1 with white; colour-blind readers can tell them apart."""
LETTERS = {"#0f9f70": "#0b8058", "#b468bf": "#a04eac", "#f05a1e": "#c8430b"}
"""Darker shades for letters, which take a contrast of 4.5:1."""
GLYPHS = {
    "circle": "●", "square": "■", "triangle-up": "▲", "diamond": "◆", "cross": "✚",
    "triangle-down": "▼", "triangle-right": "▶", "triangle-left": "◀",
}  # fmt: skip
"""Marks of Vega, and the letters that show them in a text."""
SHAPES = tuple(GLYPHS)
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2))
PLAIN = DASHES[0]
SPLIT_COLOURS = ("#1c2430", "#949494", "#96690a")
"""Colours of the parts of a corpus, which no system has: training, validation, test."""


class Look(NamedTuple):
    """Colour, mark and dash of a line."""

    colour: str
    shape: str
    dash: tuple[float, ...]

    @property
    def glyph(self) -> str:
        """The mark as a letter."""
        return GLYPHS[self.shape]


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
FREE_LOOKS = [
    look
    for dash, shape, colour in product(DASHES, SHAPES, COLOURS)
    if (look := Look(colour, shape, dash)) not in LOOKS.values()
]
"""Looks that no file of ``conf/model`` has."""


def looks_of(names: Iterable[str]) -> dict[str, Look]:
    """Return the look of each system; no two of one figure look alike.

    A system is named as in a comparison: by a file of ``conf/model``, then by the overrides that
    tell it from others of its model. It has the look of its model, alone and in any company; of
    several systems of one model those with overrides have the colour alone. Any other name gets a
    look chosen by a hash of the name, in a colour and with a mark that no other system of the
    figure has, if any are left.
    """
    names = list(names)
    models = {name: model_of(name) for name in names}
    counts = Counter(models.values())
    looks = {
        name: LOOKS[model]
        for name, model in models.items()
        if model is not None and (name == model or counts[model] == 1)
    }
    # Systems of a model first, so that their looks do not depend on other names.
    for name in sorted(models.keys() - looks.keys(), key=lambda name: (models[name] is None, name)):
        looks[name] = _free_look(name, looks.values())
    return {name: looks[name] for name in names}


def model_of(name: str) -> str | None:
    """Return the file of ``conf/model`` that a system's name begins with, if there is one."""
    model = name.partition(",")[0].partition(" #")[0]
    return model if model in LOOKS else None


def _free_look(name: str, used: Collection[Look]) -> Look:
    model, order = model_of(name), [*_in_order_of(name)]
    if model is not None:
        own = LOOKS[model]
        marks = {look.shape for look in used if look.colour == own.colour}
        same = [look for look in order if look.colour == own.colour and look not in used]
        if same:
            return min(
                same,
                key=lambda look: (look.shape in marks, look.shape == own.shape, look.dash != PLAIN),
            )
    colours, shapes = (Counter(look[part] for look in used) for part in (0, 1))
    return min(
        order,
        key=lambda look: (
            look in used,
            colours[look.colour],
            shapes[look.shape],
            look.dash != PLAIN,
        ),
    )


def _in_order_of(name: str) -> Iterator[Look]:
    """Yield all free looks, from one on that a hash of the name chooses."""
    first = int.from_bytes(sha256(name.encode()).digest()) % len(FREE_LOOKS)
    yield from FREE_LOOKS[first:]
    yield from FREE_LOOKS[:first]
