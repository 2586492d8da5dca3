"""Bands of failures: they fill the panel, and their names stand inside."""

import pytest

from lightning_modules.figures.failure_bands import (
    LEAST_LABELLED,
    LOOKS,
    Bands,
    failure_panel,
    failure_panels,
)
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


@pytest.mark.parametrize("bounds", [tuple(SHARES), tuple(SHARES)[:1]])
def test_a_panel_names_the_bands_that_have_room(bounds):
    """One length group alone is a bar, since an area would have no width."""
    spec = failure_panel(bands(bounds=bounds), "Length", "A note.").to_dict()
    marks = [layer["mark"]["type"] for layer in spec["layer"]]
    assert marks[0] == ("area" if len(bounds) > 1 else "bar")
    assert "text" in marks
    values = list(spec.get("datasets", {}).values())
    values += [each["data"]["values"] for each in spec["layer"] if "values" in each.get("data", {})]
    names = {row["name"] for data in values for row in data if "name" in row}
    expected = {
        kind.label
        for kind in TranslationKind
        if max(SHARES[each][kind] for each in bounds) >= LEAST_LABELLED
    }
    assert names == expected


@pytest.mark.parametrize(("width", "columns"), [(TEXT_WIDTH, 3), (COLUMN, 2)])
def test_a_file_has_all_systems_side_by_side(width, columns):
    every = [bands(f"system {number}") for number in range(5)]
    spec = failure_panels(every, "Length", "A note.", width).to_dict()
    assert spec["columns"] == columns
    assert [panel["title"]["text"] for panel in spec["concat"]] == [each.label for each in every]
    room = sum(panel["width"] for panel in spec["concat"][:columns])
    assert room < width
    assert spec["usermeta"]["caption"] == "How the translations fail, by length. A note."
