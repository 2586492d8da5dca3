"""Texts in CSV: no spreadsheet runs them, and they read back."""

import math

from hypothesis import example, given
from hypothesis import strategies as st

from datamodules.files import as_cell, from_cell


@given(st.text() | st.sampled_from("=+-@\t\r'").flatmap(lambda c: st.text().map(c.__add__)))
@example("-0")
@example("\t1")
@example("+1_0")
@example("-inf")
def test_texts_read_back_and_begin_no_formula(text):
    cell = as_cell(text)
    if cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        assert cell[0] in "+-"
        assert math.isfinite(float(cell))
        assert set(cell[1:]) <= set("0123456789.")
    assert from_cell(cell) == text


def test_numbers_stay_numbers():
    assert [as_cell(value) for value in (-1, -0.5, None)] == [-1, -0.5, None]
