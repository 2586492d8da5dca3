"""How wide text is in the font of figures, by the metrics of Helvetica and Liberation Sans."""

import textwrap
import unicodedata

FONT = "Liberation Sans, Helvetica, Arial, sans-serif"
"""The font of figures in files; it is inside of the library that draws them."""
_EM = 1000  # units of a size of type
_WIDTHS = {
    "ijl": 222, " !,./:;I[\\]ft·": 278, "'": 191, "|": 260, "()-r`": 333, "{}": 334, '"': 355,
    "*": 389, "^": 469, "Jcksvxyz": 500, "#$?L_–": 556, "0123456789": 556, "abdeghnopqu": 556,
    "+<=>~−×±": 584, "FTZ": 611, "&ABEKPSVXY": 667, "CDHNRUw": 722, "GOQ": 778, "Mm": 833, "%": 889,
    "W": 944, "—…": 1000, "@": 1015,
}  # fmt: skip
_BY_LETTER = {letter: width for letters, width in _WIDTHS.items() for letter in letters}
_USUAL = 600  # of a letter that the table lacks


def text_width(text: str, size: float) -> float:
    """Return the width of a line of text in type of this ``size``, in the unit of the size."""
    return size / _EM * sum(map(_width, unicodedata.normalize("NFD", text)))


def _width(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    usual = _EM if unicodedata.east_asian_width(letter) in "WF" else _USUAL
    return _BY_LETTER.get(letter, usual)


def fitted(text: str, room: float, size: float) -> str | list[str]:
    """Return a text, or its lines if it is wider than ``room``: no word is broken."""
    needed = text_width(text, size)
    if needed <= room:
        return text
    return textwrap.wrap(text, max(1, int(len(text) * room / needed)), break_long_words=False)
