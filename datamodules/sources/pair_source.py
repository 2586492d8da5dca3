"""Where the pairs of a split stand: in two line-aligned files, or in another kind of source."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from typing_extensions import override

from datamodules.errors import UserError
from datamodules.lines import COMPRESSED, read_blocks
from datamodules.writing.places import what_is

Block = tuple[Sequence[str], Sequence[str]]
"""Source and target lines of neighbouring pairs."""
EXPANSION = 4
"""About how many bytes of text there are for each byte of a compressed file."""


class PairSource(ABC):
    """Pairs that are read in order, a block at a time."""

    name: str
    """Name of the pairs as a test set."""
    sides: tuple[str, str]
    """Where the source side and the target side stand, for messages."""
    files: tuple[Path, ...] = ()
    """Files whose content decides the pairs."""
    identity: str = ""
    """What decides the pairs besides the content of the files."""
    unit: str = "line"
    """What ``first`` counts."""
    first: int = 1
    """Number of the first pair."""

    @property
    def text_bytes(self) -> float:
        """About how many bytes of UTF-8 the pairs have."""
        sizes = {file: file.stat().st_size for file in self.files}
        return sum(size * EXPANSION ** (file.suffix in COMPRESSED) for file, size in sizes.items())

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield all pairs. Raises ``UserError`` if they cannot be read."""


@dataclass
class TwoFiles(PairSource):
    """Two line-aligned files."""

    name: str
    pair: tuple[Path, Path]

    def __post_init__(self) -> None:
        self.files = self.pair
        self.sides = str(self.pair[0]), str(self.pair[1])

    @override
    def blocks(self) -> Iterator[Block]:
        for source, target in zip_longest(*map(read_blocks, self.pair), fillvalue=()):
            if len(source) != len(target):
                _refuse_unequal(self.pair)
            yield source, target


def find_file(folder: Path, name: str) -> Path | None:
    """Return a file of a folder, plain or else compressed; None if there is none.

    Raises ``UserError`` for something that is no file.
    """
    for path in (folder / f"{name}{suffix}" for suffix in ("", *COMPRESSED)):
        if path.is_file():
            return path
        if path.exists() or path.is_symlink():
            raise UserError(f"{path} {what_is(path)}, but a file is needed")
    return None


def _refuse_unequal(files: Sequence[Path]) -> None:
    counts = [sum(map(len, read_blocks(file))) for file in files]
    raise UserError(
        f"{files[0]} has {counts[0]} lines but {files[1]} has {counts[1]}: line n of one must "
        "translate line n of the other; mend the files or set data.root=..."
    )
