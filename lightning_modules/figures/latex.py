"""Text and figures as LaTeX has them."""

import re
import unicodedata

FIGURE = r"""% Needs \usepackage{{graphicx}}, and \graphicspath{{{{FOLDER/}}}} of the figures.
\begin{{{environment}}}
\centering
\includegraphics[width={share}\linewidth]{{{name}}}
\caption{{{caption}}}
\label{{fig:{name}}}
\end{{{environment}}}
"""
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
    "†": r"\ensuremath{\dagger}", "‡": r"\ensuremath{\ddagger}",
    "▲": r"\ensuremath{\triangle}", "▼": r"\ensuremath{\nabla}",
    "\u00a0": "~", "\u202f": "~",
}  # fmt: skip
"""Characters that LaTeX would read as commands, or that its first font encoding lacks."""
ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u",
    "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d",
    "\u0327": "c", "\u0331": "b",
}  # fmt: skip
"""LaTeX's commands for combining marks."""
BREAK = re.compile(r"(?<=[_.,:;=|/+)])(?=[^\d\s.,:;)])|(?<=\S)(?=[\u0250-\u1dff\u2e80-\U0010ffff])")
"""Places where a line may end inside a word: in no number, before each foreign letter."""


def latex_figure(name: str, caption: str, share: float, wide: bool) -> str:
    """Return the float of a figure whose files have this ``name``.

    The picture takes a ``share`` of the width of its column, or of the page if it is ``wide``.
    """
    return FIGURE.format(
        environment="figure*" if wide else "figure",
        share="" if share > 0.99 else f"{share:.2f}",
        name=name,
        caption=latex_text(caption),
    )


def latex_text(text: str) -> str:
    """Escape a text. A character that pdflatex's fonts lack becomes ``U+4E2D``."""
    parts = BREAK.split(unicodedata.normalize("NFC", text))
    return r"\allowbreak{}".join("".join(map(_latex_character, part)) for part in parts)


def _latex_character(character: str) -> str:
    """Write a letter with its accents; a letter or an accent that LaTeX lacks by its number."""
    if character in SPECIAL:
        return SPECIAL[character]
    if " " <= character <= "~":
        return character
    base, *marks = tuple(unicodedata.normalize("NFD", character))
    if not (base.isascii() and base.isalpha() and all(mark in ACCENTS for mark in marks) and marks):
        return f"U+{ord(character):04X}"
    written = {"i": r"\i", "j": r"\j"}.get(base, base)
    for mark in marks:
        written = f"\\{ACCENTS[mark]}{{{written}}}"
    return written
