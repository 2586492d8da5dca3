"""Any text as LaTeX that a stock pdflatex sets, and how wide the text is about to be."""

import re
import unicodedata

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    '"': r"\textquotedblright{}", "`": r"\`{}",
    "[": "{[}", "]": "{]}", "*": "{*}",  # \\ would take these as its options
    "\u2212": r"\ensuremath{-}", "±": r"\ensuremath{\pm}", "×": r"\ensuremath{\times}",
    "→": r"\ensuremath{\rightarrow}", "≤": r"\ensuremath{\leq}", "≥": r"\ensuremath{\geq}",
    "≈": r"\ensuremath{\approx}", "·": r"\ensuremath{\cdot}", "°": r"\ensuremath{^\circ}",
    "µ": r"\ensuremath{\mu}", "–": r"\textendash{}", "—": r"\textemdash{}",
    "“": r"\textquotedblleft{}", "”": r"\textquotedblright{}",
    "‘": r"\textquoteleft{}", "’": r"\textquoteright{}", "…": r"\ldots{}",
    "§": r"\ensuremath{\mathsection}", "¿": r"\textquestiondown{}", "¡": r"\textexclamdown{}",
    "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}",
    "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
    "†": r"\ensuremath{\dagger}", "▲": r"\ensuremath{\triangle}", "▼": r"\ensuremath{\nabla}",
    "\u00a0": "~", "\u202f": "~",
}  # fmt: skip
"""Characters that LaTeX would read as commands, or that its first font encoding lacks."""
ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d",
    "\u0327": "c", "\u0331": "b",
}  # fmt: skip
"""LaTeX's commands for combining marks."""
BREAK = re.compile(r"(?<=[_.,:;=|/+)])(?=[^\d\s])|(?<=\S)(?=[\u0250-\u1dff\u2e80-\U0010ffff])")
"""Places where a long word may go on in the next line: in no number, before each foreign letter."""

WIDTHS = {
    0.29: "il.,:;'|![]", 0.4: "jtfr()-s ", 0.52: "0123456789aceozvxy/*?+=<>",
    0.84: "mw%&\u2212±ACDGHKNOQRUVX", 1.03: "MW@×→≤≥≈—…",
}  # fmt: skip
"""Upper bounds of the widths of characters in Computer Modern, in em."""
EMS = {character: ems for ems, characters in WIDTHS.items() for character in characters}


def latex_text(text: str) -> str:
    """Escape a text. A character that pdflatex's fonts lack becomes ``U+4E2D``."""
    parts = BREAK.split(unicodedata.normalize("NFC", text))
    return r"\allowbreak{}".join("".join(map(_escaped, part)) for part in parts)


def _escaped(character: str) -> str:
    if character in SPECIAL:
        return SPECIAL[character]
    return character if " " <= character <= "~" else _accented(character)


def _accented(character: str) -> str:
    """Write a letter with its accents; a letter or an accent that LaTeX lacks by its number."""
    base, *marks = tuple(unicodedata.normalize("NFD", character))
    if not (base.isascii() and base.isalpha() and all(mark in ACCENTS for mark in marks) and marks):
        return f"U+{ord(character):04X}"
    written = {"i": r"\i", "j": r"\j"}.get(base, base)
    for mark in marks:
        written = f"\\{ACCENTS[mark]}{{{written}}}"
    return written


def width(text: str) -> float:
    """Return a width in em that the text surely fits."""
    return sum(map(_ems, unicodedata.normalize("NFC", text)))


def longest_part(text: str) -> float:
    """Return the width in em of the longest part that no line end may divide."""
    parts = [part for word in text.split() for part in BREAK.split(word)]
    return max(map(width, parts), default=0.0)


def _ems(character: str) -> float:
    if not (character in SPECIAL or character.isascii() or _accented(character).startswith("\\")):
        return 4.6  # U+4E2D
    return EMS.get(character, 0.75 if character.isupper() else 0.56)
