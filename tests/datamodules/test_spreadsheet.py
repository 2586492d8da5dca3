"""Texts in CSV: no spreadsheet runs them, and they read back."""

from hypothesis import example, given
from hypothesis import strategies as st

from datamodules.spreadsheet import as_cell, from_cell


@given(st.text() | st.sampled_from("=+-@\t\r'").flatmap(lambda c: st.text().map(c.__add__)))
@example("-0")
@example("\t1")
def test_texts_read_back_and_begin_no_formula(text):
    cell = as_cell(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert from_cell(cell) == text


def test_numbers_stay_numbers():
    assert [as_cell(value) for value in (-1, -0.5, None)] == [-1, -0.5, None]
