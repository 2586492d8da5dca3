"""The word list of a language: its file ``words.txt``.

A line ``[SECTION]`` begins a section and ``#`` a comment; any other line holds the name of a
concept and the forms of the language, separated by ``|``.
"""

from functools import cache
from importlib.resources import files

from datamodules.grammar.languages.language import POSSIBLE, PREPOSITION, Piece, Word, piece

Section = dict[str, list[str]]
"""Cells after the name of each concept."""


@cache
def read_sections(package: str, name: str = "words.txt") -> dict[str, Section]:
    """Read all sections of a file in ``package``."""
    sections: dict[str, Section] = {}
    for line in files(package).joinpath(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            concept, *cells = (cell.strip() for cell in line.split("|"))
            section[concept] = cells
    return sections


def read_expressions(sections: dict[str, Section]) -> dict[str, Piece]:
    """Return the pieces of the sections ``prepositions`` and ``expressions``.

    All words of a preposition play the same role. In other expressions, ``/`` and the numbers of
    roles may follow a word (``la/1? semaine/1 dernière/0``, with ``?`` after a role with possible
    links); without numbers, a word plays the role of its position.
    """
    pieces = {
        name: piece((word, (PREPOSITION,)) for word in cells[0].split())
        for name, cells in sections["prepositions"].items()
    }
    for name, cells in sections["expressions"].items():
        words = enumerate(cells[0].split())
        pieces[name] = piece(_word(text, position) for position, text in words)
    return pieces


def _word(marked: str, position: int) -> Word:
    text, _, numbers = marked.partition("/")
    if not numbers:
        return text, (2 * position,)
    return text, tuple(
        2 * int(number.rstrip("?")) + POSSIBLE * number.endswith("?")
        for number in numbers.split(",")
    )
