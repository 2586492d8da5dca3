"""Bands of failures: they fill the panel, and their names stand inside."""

import numpy as np
import pytest

from lightning_modules.figures.failure_bands import (
    HEIGHT,
    LOOKS,
    NARROWEST,
    Bands,
    failure_panel,
    failure_panels,
)
from lightning_modules.figures.text_sizes import text_width
from lightning_modules.metrics.bootstrap import Estimate
from lightning_modules.metrics.failures import TranslationKind
from lightning_modules.metrics.lengths import Bounds
from tests.helpers.run_folders import COLUMN, TEXT_WIDTH

SHARES = {Bounds(1, 10): [50, 30, 5, 10, 5], Bounds(11, 20): [20, 30, 10, 0, 40]}


def bands(label="a system", bounds=tuple(SHARES)):
    return Bands(
        label,
        {
            each: {
                kind: Estimate(float(share))
                for kind, share in zip(TranslationKind, SHARES[each], strict=True)
            }
            for each in bounds
        },
        {each: each.low + 4.567 for each in bounds},
        dict.fromkeys(bounds, 40),
    )


def test_bands_lie_one_on_the_other_and_fill_the_panel():
    rows = list(bands().rows)
    for place in {row["place"] for row in rows}:
        at = [row for row in rows if row["place"] == place]
        assert [row["from"] for row in at] == [0, *(row["to"] for row in at[:-1])]
        assert at[-1]["to"] == 100
        assert [row["kind"] for row in at] == [kind.label for kind in TranslationKind]


def test_every_kind_has_a_look_and_a_description_in_words():
    assert LOOKS.keys() == set(TranslationKind)
    assert bands().details == (
        "a system, at 1–10: 50% right, 30% wrong words, 5% unknown "
        "word, 10% too short, 5% too long or looping; at 11–20: 20% right, 30% wrong words, 10% "
        "unknown word, 0% too short, 40% too long or looping."
    )


def named(spec):
    """The names that stand in bands, with their places."""
    values = list(spec.get("datasets", {}).values())
    values += [each["data"]["values"] for each in spec["layer"] if "values" in each.get("data", {})]
    return {row["name"]: row for data in values for row in data if "name" in row}


@pytest.mark.parametrize(
    ("bounds", "names"),
    [
        (tuple(SHARES), {"right", "wrong words", "too long or looping"}),
        (tuple(SHARES)[:1], {"right", "wrong words", "too short"}),
    ],
)
def test_a_panel_names_the_bands_that_have_room(bounds, names):
    """One length group alone is a bar, since an area would have no width."""
    spec = failure_panel(bands(bounds=bounds), "Length", "A note.").to_dict()
    marks = [layer["mark"]["type"] for layer in spec["layer"]]
    assert marks[0] == ("area" if len(bounds) > 1 else "bar")
    assert named(spec).keys() == names


def test_a_name_lies_inside_its_band_along_its_whole_length():
    """In the last of five groups a third is too long, in a band that is too thin for a label."""
    shares = [[60, 30, 0, 5, 5], [60, 30, 0, 5, 5], [30, 60, 0, 5, 5], [80, 10, 0, 5, 5]]
    every = [Bounds(10 * n + 1, 10 * n + 10) for n in range(5)]
    of = Bands(
        "a system",
        {
            each: {k: Estimate(float(s)) for k, s in zip(TranslationKind, found, strict=True)}
            for each, found in zip(every, [*shares, [40, 10, 0, 10, 40]], strict=True)
        },
        {each: float(each.low) for each in every},
        dict.fromkeys(every, 40),
    )
    found = named(failure_panel(of, "Length", "A note.").to_dict())
    assert found.keys() == {"right", "wrong words"}
    for kind, row in found.items():
        corners = [each for each in of.rows if each["kind"] == kind]
        half = text_width(kind, 12) / NARROWEST * 40 / 2
        for place in np.linspace(row["place"] - half, row["place"] + half, 50):
            low, high = (
                np.interp(place, [c["place"] for c in corners], [c[end] for c in corners])
                for end in ("from", "to")
            )
            room = 100 * 12 / HEIGHT / 2  # half a line of type
            assert low <= row["from"] - room < row["from"] + room <= high


@pytest.mark.parametrize(("width", "columns"), [(TEXT_WIDTH, 3), (COLUMN, 2)])
def test_a_file_has_all_systems_side_by_side(width, columns):
    every = [bands(f"system {number}") for number in range(5)]
    spec = failure_panels(every, "Length", "A note.", width).to_dict()
    assert spec["columns"] == columns
    assert [panel["title"]["text"] for panel in spec["concat"]] == [each.label for each in every]
    room = sum(panel["width"] for panel in spec["concat"][:columns])
    assert room < width
    assert spec["usermeta"]["caption"] == "How the translations fail, by length. A note."


@pytest.mark.parametrize("groups", [2, 3, 6, 7, 12])
@pytest.mark.parametrize("width", [TEXT_WIDTH, COLUMN])
def test_the_named_lengths_of_a_file_are_evenly_spaced(groups, width):
    """Every group has a name, or every second one and so on; the first always has one."""
    shares = dict(zip(TranslationKind, map(Estimate, [20.0] * 5), strict=True))
    every = [Bounds(10 * n + 1, 10 * n + 10) for n in range(groups)]
    places, sentences = {each: float(each.low) for each in every}, dict.fromkeys(every, 40)
    of = Bands("a system", dict.fromkeys(every, shares), places, sentences)
    spec = failure_panels([of, of], "Length", "A note.", width).to_dict()
    values = spec["concat"][0]["layer"][0]["encoding"]["x"]["axis"]["values"]
    assert values[0] == 1
    assert len(values) > 1
    assert len(set(np.diff(values))) == 1
