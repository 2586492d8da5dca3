"""Looks of systems: constant, distinct, and visible to every reader."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import yaml

from lightning_modules.figures.charts import GREY
from lightning_modules.figures.system_looks import COLOURS, LOOKS, looks_of

ROOT = Path(__file__).parents[3]
LOOK_LABELS = {
    file.stem: yaml.safe_load(file.read_text(encoding="utf-8"))["label"]
    for file in (ROOT / "conf" / "model").glob("*.yaml")
}
HEADLINE = ("seq2seq", "bahdanau", "luong_global", "luong_local", "transformer")
VISIONS = {
    "of three cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
"""What other eyes see of linear RGB: Machado, Oliveira and Fernandes 2009, severity 1."""
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.072175],
        [0.0193339, 0.119192, 0.9503041],
    ]
)
WHITE = np.ones(3)


def rgb(colour):
    return np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255


def linear(colour):
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """The contrast of WCAG 2.2."""
    low, high = sorted(float(XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour):
    """CIELAB of linear RGB."""
    relative = XYZ @ np.clip(colour, 0, 1) / (XYZ @ WHITE)
    x, y, z = np.where(
        relative > 216 / 24389, np.cbrt(relative), (24389 / 27 * relative + 16) / 116
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def at_night(colour):
    """The colour under the filter of dark pages: the matrices are those of CSS Filter Effects."""
    css = (ROOT / "sweeps/report/templates/report.css").read_text(encoding="utf-8")
    [share] = re.findall(r"filter: invert\((\S+)\) hue-rotate\(180deg\)", css)
    inverted = colour * (1 - 2 * float(share)) + float(share)
    luma = np.array([0.213, 0.715, 0.072])
    return np.clip(2 * np.full((3, 3), luma) @ inverted - inverted, 0, 1)


@pytest.mark.parametrize("colour", [*COLOURS, GREY])
def test_every_colour_stands_out_from_paper_by_day_and_by_night(colour):
    assert contrast(rgb(colour), WHITE) >= 3
    assert contrast(at_night(rgb(colour)), at_night(WHITE)) >= 3


@pytest.mark.parametrize("vision", VISIONS)
def test_colour_blind_readers_tell_the_systems_of_the_quickstart_apart(vision):
    seen = [lab(VISIONS[vision] @ linear(rgb(LOOKS[name].colour))) for name in HEADLINE]
    for one, other in combinations(seen, 2):
        assert np.linalg.norm(one - other) > 25  # a difference of 2.3 is just noticeable


def test_marks_tell_the_systems_of_the_quickstart_apart_without_colours():
    assert len({LOOKS[name].shape for name in HEADLINE}) == len(HEADLINE)


def test_every_variant_has_a_label_and_a_look_of_its_own():
    assert LOOKS.keys() == LOOK_LABELS.keys()
    assert len(set(LOOK_LABELS.values())) == len(LOOK_LABELS)
    assert len(set(LOOKS.values())) == len(LOOKS)


def test_a_variant_keeps_its_look_in_any_company():
    alone = {name: looks_of([name])[name] for name in LOOKS}
    assert looks_of(reversed([*LOOKS, "mine", "other"])).items() >= alone.items()


def test_unknown_names_have_looks_that_neither_order_nor_process_changes():
    names = ["google", "ours", "theirs", "bahdanau, data=text"]
    assert looks_of(names) == looks_of(reversed(names))
    assert list(looks_of(names)) == names
    assert looks_of(["ours"])["ours"].dash == (1, 0)
    assert len({look.colour for look in looks_of(names).values()}) == len(names)


def test_no_two_of_many_systems_look_alike():
    looks = looks_of([*LOOKS, *(f"system {number}" for number in range(100))])
    assert len(set(looks.values())) == len(looks)
