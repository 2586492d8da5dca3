"""Gold word alignments beside a test set, in the Pharaoh format."""

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from datamodules.errors import UserError
from datamodules.lines import read_lines

OPTION = "data.alignments.test"
_LINK = re.compile(r"([0-9]+)[-?]([0-9]+)")


class GoldLinks:
    """The lines of a file of gold alignments, one for each pair of the test split, in order.

    A line holds links ``i-j`` (sure) and ``i?j`` (possible), source word first, counted from 0.
    """

    def __init__(self, file: Path) -> None:
        """Read the file. Raises ``UserError`` if it cannot be read."""
        self._file = file
        self._count = 0
        self._lines = read_lines(file, OPTION)
        self._rest = iter(self._lines)

    def take(self, source: Sequence[str], target: Sequence[str]) -> list[str]:
        """Return the lines of the next pairs. Raises ``UserError`` for a missing or wrong line."""
        lines = list(islice(self._rest, len(source)))
        if len(lines) < len(source):
            raise UserError(self._unequal("more"))
        pairs = zip(lines, source, target, strict=True)
        for number, (line, *sides) in enumerate(pairs, self._count + 1):
            lengths = [len(side.split()) for side in sides]
            for link in line.split():
                self._check(link, number, lengths)
        self._count += len(lines)
        return lines

    def check_end(self) -> None:
        """Raise ``UserError`` if lines are left after the last pair."""
        if self._count < len(self._lines):
            raise UserError(self._unequal(f"{self._count}"))

    def _check(self, link: str, number: int, lengths: Sequence[int]) -> None:
        match = _LINK.fullmatch(link)
        if match is None:
            problem = f"{link!r} is no link like 0-0 or 1?2"
        elif any(int(word) >= length for word, length in zip(match.groups(), lengths, strict=True)):
            problem = (
                f"{link} points past its sentence pair ({lengths[0]} source and {lengths[1]} "
                "target words, counted from 0)"
            )
        else:
            return
        raise UserError(f"{self._file}, line {number}: {problem}: mend it or set {OPTION}=...")

    def _unequal(self, pairs: str) -> str:
        return (
            f"{self._file} has {len(self._lines)} lines, but the test split has {pairs} pairs: "
            f"write one line for each, empty where nothing is linked, or set {OPTION}=..."
        )
